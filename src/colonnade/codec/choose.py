"""The quick rule behind `auto`, and what users may pass as a compression.

The rule encodes a sample in a few ways and takes sizes as they are; it times nothing and reads no workload.
What it chose is written down, so a table never holds `auto`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.errors import ColumnNotFoundError, CompressionError
from colonnade.kernels import encode_blocks
from colonnade.schema import ColumnType

AUTO: Final = "auto"
GOALS: Final = ("fastest", "balanced", "smallest")

Spec = str | tuple[int, int, int] | Compression
CompressionArgument = Spec | Mapping[str, Spec]

_RUNS: Final = 4  # pieces of a sample, spread over the values
_RUN_ROWS: Final = 16 << 10
_WORTH_IT: Final = 0.9  # of the plain size: what saves less than a tenth isn't worth decoding
_TEXT: Final = {"fastest": "lz4", "balanced": "zstd:3", "smallest": "zstd:9"}
# Tried in this order; `fastest` and `balanced` take the first that is worth it, `smallest` the smallest.
_CANDIDATES: Final = {
    "fastest": ("bitpack",),
    "balanced": ("bitpack", "zstd:1"),
    "smallest": ("bitpack", "bitpack+zstd:9", "zstd:9"),
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


def choose(sample: pl.Series, column_type: ColumnType, goal: str = "balanced") -> Compression:
    """Choose the compression of a column from some of its values.

    Parameters
    ----------
    sample
        Values as ingest has them: Polars' type of the column, text for symbols and chars. Some ten
        thousand rows in the table's order tell enough; more are thinned out.
    column_type
        Type of the column.
    goal
        ``fastest`` (no codec), ``balanced`` (a light one where bit-packing does not help) or ``smallest``.

    Raises
    ------
    CompressionError
        If there is no such goal.

    Examples
    --------
    >>> prices = pl.Series([187.41, 187.42, 187.42, 187.40] * 100)
    >>> str(choose(prices, ColumnType("float64")))
    'bitpack'
    """
    if goal not in GOALS:
        raise CompressionError(f"unknown goal {goal!r}; there are {', '.join(GOALS)}")
    if not column_type.has_fixed_width:
        return Compression.parse(_TEXT[goal])
    candidates = [Compression.parse(text) for text in _CANDIDATES[goal]]
    values = _sampled(_stored_values(sample, column_type))
    if not len(values):
        return candidates[0]
    if goal == "smallest":
        return min([*candidates, Compression()], key=lambda candidate: stored_bytes(values, candidate))
    for candidate in candidates:
        if stored_bytes(values, candidate) <= _WORTH_IT * values.nbytes:
            return candidate
    return Compression()


def stored_bytes(values: NDArray[Any], compression: Compression) -> int:
    """Give the bytes that stored values take under a compression, their index left out."""
    block_rows = compression.block_size // values.itemsize
    stored, _ = encode_blocks(
        values, None, None, compression.encoding, compression.codec, compression.level, block_rows, 0
    )
    return len(stored)


def _parsed(spec: Spec) -> Compression | None:
    if isinstance(spec, str) and spec.strip() == AUTO:
        return None
    is_triple = isinstance(spec, tuple) and [type(number) for number in spec] == [int] * 3
    if not (is_triple or isinstance(spec, str | Compression)):
        expected = "text such as 'zstd:10', a triple such as (17, 5, 10), or a mapping of columns to those"
        raise CompressionError(f"can't read compression {spec!r}; expected {expected}")
    return Compression.parse(spec)


def _stored_values(sample: pl.Series, column_type: ColumnType) -> NDArray[Any]:
    """Give values about as they will be stored; codes count within the sample."""
    if column_type.kind in ("symbol", "char"):
        codes = sample.cast(pl.String).rank("dense").fill_null(0)
        return codes.to_numpy().astype(column_type.numpy_type)
    return sample.to_physical().fill_null(0).to_numpy().astype(column_type.numpy_type)


def _sampled(values: NDArray[Any]) -> NDArray[Any]:
    """Give some runs of the values: neighbours tell what deltas are worth."""
    if len(values) <= _RUNS * _RUN_ROWS:
        return np.ascontiguousarray(values)
    starts = np.linspace(0, len(values) - _RUN_ROWS, _RUNS).astype(np.int64)
    return np.concatenate([values[start : start + _RUN_ROWS] for start in starts])
