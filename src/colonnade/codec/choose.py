"""The quick rule behind `auto`, and what users may pass as a compression.

The rule encodes a sample in a few ways and takes sizes as they are, and speeds as they are known; it times
nothing and reads no workload. What it chose is written down, so a table never holds `auto`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import polars as pl

from colonnade.codec.compression import Compression
from colonnade.codec.estimate import Estimate, Sample
from colonnade.errors import ColumnNotFoundError, CompressionError
from colonnade.schema import ColumnType
from colonnade.threads import map_ordered

AUTO: Final = "auto"
GOALS: Final = ("fastest", "balanced", "smallest")
DEFAULT_GOAL: Final = (
    "fastest"  # a table is queried about as fast as if it were plain until somebody asks for less
)

Spec = str | tuple[int, int, int] | Compression
CompressionArgument = Spec | Mapping[str, Spec]

# Of the plain size: what saves less isn't worth decoding.
_WORTH_IT: Final = {"fastest": 0.9, "balanced": 0.9, "smallest": 0.99}
_OPAQUE: Final = {"fastest": "lz4", "balanced": "zstd:3", "smallest": "zstd:9"}  # guids and lists, untried
# The least bytes of a row that a nanosecond of decoding must save.
_BYTES_PER_NS: Final = {"fastest": 4, "balanced": 0.05, "smallest": 0}
_YARDSTICK: Final = "lz4:1"  # the whole of a balanced table decodes about as fast


class _Candidates(NamedTuple):
    """What is tried by kind of value; the first is taken where there is nothing to try on."""

    one_byte: tuple[str, ...]
    wider: tuple[str, ...]
    text: tuple[str, ...]

    def of(self, sample: Sample) -> tuple[str, ...]:
        if sample.text is not None:
            return self.text
        return self.one_byte if sample.values.itemsize == 1 else self.wider


_CANDIDATES: Final = {
    "fastest": _Candidates(("bitpack",), ("bitpack", "dict"), ("lz4", "bitpack", "dict")),
    "balanced": _Candidates(
        ("bitpack", "zstd:1", "pco:7"),
        ("bitpack", "pco:7", "pco:8", "zstd:1", "dict"),
        ("zstd:3", "lz4", "bitpack", "pco:7", "pco:8", "dict", "dict+zstd:3"),
    ),
    "smallest": _Candidates(
        ("bitpack", "zstd:1", "zstd:15", "bitpack+zstd:9", "pco:10"),
        ("bitpack", "pco:10", "zstd:9", "bitpack+zstd:9", "bytes+zstd:9", "dict+zstd:9"),
        ("zstd:9", "bitpack", "pco:10", "dict", "dict+zstd:9"),
    ),
}


def requested(
    compression: CompressionArgument | None, columns: Iterable[str], *, where: str = "the table"
) -> dict[str, Compression | None]:
    """Read what a user passed as a compression: one for all columns, or a mapping by column name.

    Parameters
    ----------
    compression
        Text form, kdb+ triple or `Compression` for every column; or a mapping from column names to those,
        with ``"default"`` for the columns that it does not name. None is ``"auto"``.
    columns
        Names of the table's columns.
    where
        What the columns belong to, for messages.

    Returns
    -------
    For each column its compression; None where the rule is to choose.

    Raises
    ------
    ColumnNotFoundError
        If the mapping names a column that isn't there.
    CompressionError
        If a compression can't be read.

    Examples
    --------
    >>> found = requested({"default": "auto", "price": "zstd:10"}, ["price", "size"])
    >>> str(found["price"]), found["size"]
    ('zstd:10', None)
    """
    names = list(columns)
    if not isinstance(compression, Mapping):
        return dict.fromkeys(names, _parsed(AUTO if compression is None else compression))
    for name in compression:
        if name not in names and name != "default":
            raise ColumnNotFoundError(name, names, where=where)
    default = compression.get("default", AUTO)
    return {name: _parsed(compression.get(name, default)) for name in names}


def choose(sample: pl.Series, column_type: ColumnType, goal: str = DEFAULT_GOAL) -> Compression:
    """Choose the compression of one column from some of its values; see `choose_together`.

    Examples
    --------
    >>> prices = pl.Series([187.41, 187.42, 187.42, 187.40] * 100)
    >>> str(choose(prices, ColumnType("float64"), "fastest"))
    'bitpack'
    """
    return choose_together({"": sample}, {"": column_type}, goal)[""]


def choose_together(
    samples: Mapping[str, pl.Series], column_types: Mapping[str, ColumnType], goal: str = DEFAULT_GOAL
) -> dict[str, Compression]:
    """Choose the compressions of columns that are read together, each from some of its values.

    Parameters
    ----------
    samples
        Values as ingest has them: Polars' type of the column, text for symbols and chars. Some ten
        thousand rows in the table's order tell enough; more are thinned out.
    column_types
        Types of these columns, by the same names.
    goal
        ``fastest``: what decodes fastest of that which saves a tenth or more; no codec but for text.
        ``balanced``: the smallest with which all these columns together decode about as fast as under lz4.
        ``smallest``: the smallest, whatever it takes to encode.

    Raises
    ------
    CompressionError
        If there is no such goal.

    Notes
    -----
    A column is encoded in up to seven ways, from 65,536 of its values: a few ms for ``fastest`` and
    ``balanced``, some 40 ms for ``smallest``.
    """
    if goal not in GOALS:
        raise CompressionError(f"unknown goal {goal!r}; there are {', '.join(GOALS)}")
    opaque = {name: Compression.parse(_OPAQUE[goal]) for name in samples if column_types[name].is_opaque}
    names = [name for name in samples if name not in opaque]
    found = dict(
        zip(names, map_ordered(lambda name: Sample.of(samples[name], column_types[name]), names), strict=True)
    )
    estimates = map_ordered(lambda sample: _tried(sample, goal), found.values(), ahead=len(found))
    tried = dict(zip(found, estimates, strict=True))
    chosen = {name: min(estimates, key=lambda one: _cost(one, goal)) for name, estimates in tried.items()}
    if goal == "balanced":
        rows = [sample.estimate(Compression.parse(_YARDSTICK)) for sample in found.values() if sample.rows]
        _fit(chosen, tried, sum(estimate.decode_ns for estimate in rows))
    return opaque | {name: estimate.compression for name, estimate in chosen.items()}


def stored_bytes(values: pl.Series, column_type: ColumnType, compression: Compression) -> int:
    """Give the bytes that a sample of these values takes under a compression, its index left out."""
    return Sample.of(values, column_type).stored_bytes(compression)


def _tried(sample: Sample, goal: str) -> list[Estimate]:
    """Give the compressions that are worth it, else plain."""
    candidates = _CANDIDATES[goal].of(sample)
    if not sample.rows:
        return [Estimate(Compression.parse(candidates[0]), 0, 0)]
    plain = sample.estimate(Compression())
    most = plain.stored_bytes * _WORTH_IT[goal]
    worth_it = [found for found in sample.estimates(candidates) if found.stored_bytes <= most]
    return worth_it or [plain]


def _cost(estimate: Estimate, goal: str) -> tuple[float, float]:
    return estimate.stored_bytes + _BYTES_PER_NS[goal] * estimate.decode_ns, estimate.decode_ns


def _fit(chosen: dict[str, Estimate], tried: Mapping[str, list[Estimate]], most_ns: float) -> None:
    """Take what is faster where it costs the fewest bytes for the time it saves, until all fits the time."""
    while sum(estimate.decode_ns for estimate in chosen.values()) > most_ns:
        steps = [
            ((other.stored_bytes - now.stored_bytes) / (now.decode_ns - other.decode_ns), name, other)
            for name, now in chosen.items()
            for other in tried[name]
            if other.decode_ns < now.decode_ns
        ]
        if not steps:
            return
        _, name, faster = min(steps, key=lambda step: step[:2])
        chosen[name] = faster


def _parsed(spec: Spec) -> Compression | None:
    if isinstance(spec, str) and spec.strip() == AUTO:
        return None
    is_triple = isinstance(spec, tuple) and [type(number) for number in spec] == [int] * 3
    if not (is_triple or isinstance(spec, str | Compression)):
        expected = "text such as 'zstd:10', a triple such as (17, 5, 10), or a mapping of columns to those"
        raise CompressionError(f"can't read compression {spec!r}; expected {expected}")
    return Compression.parse(spec)
