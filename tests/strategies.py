"""Hypothesis strategies: values of every type, frames of ticks, compressions, conditions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

from colonnade import col
from reference import where as logic

DAYS = (-1, 0, 19_724)  # 1969-12-31, 1970-01-01, 2024-01-02
DAY_NS = 86_400_000_000_000
SYMBOLS = ("A", "AAPL", "BRK A", "NA", "Z€", "龙虾USDT")
CONDITIONS = ("@", " O  ", " 4 B", "")
ENCODINGS = (
    "plain", "bitpack", "lz4", "lz4:9", "zstd:1", "zstd:-3", "bitpack+lz4", "bitpack+zstd:3", "snappy",
    "gzip:1", "qipc", "runs", "runs+zstd:1", "bytes", "bytes+zstd:1", "bytes+lz4", "dict",
    "dict+lz4", "dict+zstd:1", "pco:8", "pco:3", "lz4:16", "gzip:9",
)  # fmt: skip
BLOCK_SIZES = ("4KiB", "16KiB", "128KiB", "1MiB")


def compressions() -> st.SearchStrategy[str]:
    """Give the text form of a compression."""
    return st.builds("{}@{}".format, st.sampled_from(ENCODINGS), st.sampled_from(BLOCK_SIZES))


def prices() -> st.SearchStrategy[float]:
    """Give decimals as exchanges write them, and every float that is not one."""
    ticks = st.integers(-10_000, 2_000_000).map(lambda k: k / 100)
    fine = st.integers(0, 10**12).map(lambda k: k / 10**8)
    strange = st.sampled_from([0.0, -0.0, 5e-324, 1e300, -1e300, 1 / 3, float("inf"), float("-inf")])
    return st.one_of(ticks, fine, strange, st.floats())


def usual_prices() -> st.SearchStrategy[float]:
    """Give decimals and other finite floats of moderate size, which no order of additions makes infinite."""
    ticks = st.integers(-10_000, 2_000_000).map(lambda k: k / 100)
    return st.one_of(ticks, st.floats(-1e9, 1e9, allow_nan=False))


def sizes() -> st.SearchStrategy[int]:
    """Give sizes: round ones, negative ones, and some above 2^53."""
    return st.one_of(
        st.integers(0, 50).map(lambda lots: lots * 100),
        st.integers(-1_000, 1_000),
        st.integers(2**53, 2**58),
    )


def values_of(kind: str) -> st.SearchStrategy[Any]:
    """Give values of a column type, as Polars takes them; nulls are left to the caller."""
    if kind.startswith(("int", "uint")):
        limits = np.iinfo(kind)
        near = st.integers(max(limits.min, -100), 100)
        return st.one_of(near, st.integers(int(limits.min), int(limits.max)))
    by_kind = {
        "bool": st.booleans(),
        "float32": st.floats(width=32),
        "float64": prices(),
        "char": st.characters(min_codepoint=32, max_codepoint=126),
        "symbol": st.sampled_from(SYMBOLS),
        "string": st.one_of(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
            st.integers(-(2**64), 2**64).map(str),
            st.sampled_from(CONDITIONS),
        ),
        "date": st.integers(-100_000, 100_000).map(lambda days: dt.date(1970, 1, 1) + dt.timedelta(days)),
        "timestamp": st.integers(-(2**62), 2**62),
        "time": st.integers(0, DAY_NS - 1),
        "timespan": st.integers(-(2**62), 2**62),
        "decimal[2]": st.integers(-(10**18) + 1, 10**18 - 1).map(lambda k: Decimal(k).scaleb(-2)),
        "decimal[0]": st.integers(-100, 100).map(Decimal),
        "month": st.builds(dt.date, st.integers(1, 9999), st.integers(1, 12), st.just(1)),
        "minute": st.integers(0, 1439).map(lambda minute: minute * 60_000_000_000),
        "second": st.integers(0, 86_399).map(lambda second: second * 1_000_000_000),
        "guid": st.uuids().map(str),
        "list[int16]": st.lists(st.integers(-(2**15), 2**15 - 1), max_size=4),
        "list[float64]": st.lists(st.floats(allow_nan=False), max_size=4),
        "list[bool]": st.lists(st.booleans(), max_size=4),
        "list[string]": st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=4),
    }
    return by_kind[kind]


KINDS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "char", "symbol", "string", "date", "timestamp", "time", "timespan",
    "decimal[2]", "decimal[0]", "month", "minute", "second", "guid", "list[int16]", "list[float64]",
    "list[bool]", "list[string]",
)  # fmt: skip
DECLARED_KINDS = ("char", "string", "month", "minute", "second", "guid")  # that no Polars type tells
_FRAME_TYPES: Mapping[str, pl.DataType] = {
    "bool": pl.Boolean(), "int8": pl.Int8(), "int16": pl.Int16(), "int32": pl.Int32(), "int64": pl.Int64(),
    "uint8": pl.UInt8(), "uint16": pl.UInt16(), "uint32": pl.UInt32(), "uint64": pl.UInt64(),
    "float32": pl.Float32(), "float64": pl.Float64(), "char": pl.String(), "symbol": pl.String(),
    "string": pl.String(), "date": pl.Date(), "timestamp": pl.Int64(), "time": pl.Int64(),
    "timespan": pl.Int64(), "decimal[2]": pl.Decimal(18, 2), "decimal[0]": pl.Decimal(18, 0),
    "month": pl.Date(), "minute": pl.Int64(), "second": pl.Int64(), "guid": pl.String(),
    "list[int16]": pl.List(pl.Int16), "list[float64]": pl.List(pl.Float64), "list[bool]": pl.List(pl.Boolean),
    "list[string]": pl.List(pl.String),
}  # fmt: skip
_CASTS: Mapping[str, pl.DataType] = {
    "timestamp": pl.Datetime("ns"), "time": pl.Time(), "timespan": pl.Duration("ns"),
    "minute": pl.Time(), "second": pl.Time(),
}  # fmt: skip


def series_of(kind: str, rows: int) -> st.SearchStrategy[pl.Series]:
    """Give a column of a type, named after it, with some nulls, only nulls, or none."""

    def build(values: list[Any]) -> pl.Series:
        column = pl.Series(kind, values, dtype=_FRAME_TYPES[kind])
        return column.cast(_CASTS[kind]) if kind in _CASTS else column

    element = values_of(kind)
    choices = st.one_of(element, st.none() | element, st.none())
    return st.one_of(
        st.lists(element, min_size=rows, max_size=rows),
        st.lists(choices, min_size=rows, max_size=rows),
        st.just([None] * rows),
    ).map(build)


@st.composite
def frames_of_every_type(draw: st.DrawFn, max_rows: int = 12) -> pl.DataFrame:
    """Give a frame with a column of each type and a column ``row`` that counts up."""
    rows = draw(st.integers(1, max_rows))
    columns = [draw(series_of(kind, rows)) for kind in KINDS]
    return pl.DataFrame([pl.Series("row", range(rows), dtype=pl.Int64), *columns])


@st.composite
def ticks(
    draw: st.DrawFn,
    *,
    min_rows: int = 0,
    max_rows: int = 40,
    price: st.SearchStrategy[float] | None = None,
    nulls: bool = True,
    days: tuple[int, ...] = DAYS,
) -> pl.DataFrame:
    """Give trades out of order: few symbols, many equal times, rows equal in every field.

    The columns are sym, time, price, size, cond, flag.
    """
    maybe = (lambda strategy: st.none() | strategy) if nulls else (lambda strategy: strategy)
    clock = st.one_of(
        st.integers(0, 30).map(lambda step: step * 30_000_000_000),  # half minutes: ties and bucket edges
        st.integers(0, 600_000_000_000),
        st.integers(0, DAY_NS - 1),
    )
    row = st.tuples(
        maybe(st.sampled_from(SYMBOLS)),
        st.builds(lambda day, ns: day * DAY_NS + ns, st.sampled_from(days), clock),
        maybe(prices() if price is None else price),
        maybe(sizes()),
        maybe(st.sampled_from(CONDITIONS)),
        maybe(st.booleans()),
    )
    rows = draw(st.lists(row, min_size=min_rows, max_size=max_rows))
    if rows and draw(st.booleans()):
        rows += rows[: draw(st.integers(1, 5))]
    return tick_frame(rows)


def tick_frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Make a frame of trades from rows of (sym, time, price, size, cond, flag)."""
    schema = {
        "sym": pl.String, "time": pl.Int64, "price": pl.Float64, "size": pl.Int64,
        "cond": pl.String, "flag": pl.Boolean,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        pl.col("time").cast(pl.Datetime("ns"))
    )


@st.composite
def splits(draw: st.DrawFn, rows: int, max_parts: int = 4) -> list[tuple[int, int]]:
    """Cut ``[0, rows)`` into consecutive pieces that are not empty."""
    inner = [] if rows < 2 else draw(st.lists(st.integers(1, rows - 1), max_size=max_parts - 1, unique=True))
    edges = [0, *sorted(inner), rows]
    return list(pairwise(edges))


def state_machine_settings() -> settings:
    """Give fewer, longer runs than the profile's: each step writes files."""
    return settings(max_examples=max(settings().max_examples // 2, 5), stateful_step_count=20)


# A condition is drawn once, and then written for Colonnade, for Polars and for one row of the reference.


@dataclass(frozen=True)
class Compare:
    """A column beside a value."""

    column: str
    symbol: str
    value: Any


@dataclass(frozen=True)
class IsNull:
    """Whether a column is null."""

    column: str


@dataclass(frozen=True)
class AnyOf:
    """Whether a column equals one of the values."""

    column: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    inner: Condition


@dataclass(frozen=True)
class Both:
    """Two conditions that must hold."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Either:
    """Two conditions of which one must hold."""

    left: Condition
    right: Condition


Condition = Compare | IsNull | AnyOf | Not | Both | Either


def conditions(max_leaves: int = 4) -> st.SearchStrategy[Condition]:
    """Give conditions over the columns of `ticks`."""
    comparisons = st.sampled_from(list(logic.COMPARISONS))
    times = st.builds(
        lambda day, step: np.datetime64(day * DAY_NS + step * 30_000_000_000, "ns"),
        st.sampled_from(DAYS),
        st.integers(0, 30),
    )
    finite = prices().filter(lambda price: price == price)  # noqa: PLR0124 - not NaN
    leaves: st.SearchStrategy[Condition] = st.one_of(
        st.builds(Compare, st.just("price"), comparisons, finite),
        st.builds(Compare, st.just("size"), comparisons, sizes()),
        st.builds(Compare, st.just("time"), comparisons, times),
        st.builds(
            Compare, st.just("sym"), st.sampled_from(["==", "!="]), st.sampled_from((*SYMBOLS, "none"))
        ),
        st.builds(Compare, st.just("cond"), st.sampled_from(["==", "!="]), st.sampled_from(CONDITIONS)),
        st.builds(IsNull, st.sampled_from(["sym", "price", "size", "cond", "flag"])),
        st.builds(
            AnyOf, st.just("sym"), st.lists(st.sampled_from((*SYMBOLS, "none")), max_size=3).map(tuple)
        ),
        st.builds(AnyOf, st.just("size"), st.lists(sizes(), max_size=3).map(tuple)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Not, inner), st.builds(Both, inner, inner), st.builds(Either, inner, inner)
        ),
        max_leaves=max_leaves,
    )


_PYTHON = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def as_ours(condition: Condition) -> Any:
    """Write a condition as an expression of this package."""
    return _written(condition, column=col, literal=lambda value: value)


def as_polars(condition: Condition) -> pl.Expr:
    """Write a condition as an expression of Polars, over text instead of categories."""

    def literal(value: Any) -> Any:
        if isinstance(value, np.datetime64):
            return pl.lit(int(value.astype(np.int64)), dtype=pl.Int64).cast(pl.Datetime("ns"))
        return value

    return _written(condition, column=pl.col, literal=literal)


def _written(condition: Condition, *, column: Any, literal: Any) -> Any:
    match condition:
        case Compare(name, symbol, value):
            return _PYTHON[symbol](column(name), literal(value))
        case IsNull(name):
            return column(name).is_null()
        case AnyOf(name, values):
            return column(name).is_in(list(values))
        case Not(inner):
            return ~_written(inner, column=column, literal=literal)
        case Both(left, right):
            return _written(left, column=column, literal=literal) & _written(
                right, column=column, literal=literal
            )
        case Either(left, right):
            return _written(left, column=column, literal=literal) | _written(
                right, column=column, literal=literal
            )
    raise AssertionError(condition)


def holds(condition: Condition, row: Mapping[str, Any]) -> bool | None:
    """Decide a condition for one row whose time is an integer of nanoseconds."""
    match condition:
        case Compare(name, symbol, value):
            plain = int(value.astype(np.int64)) if isinstance(value, np.datetime64) else value
            return logic.compare(symbol, row[name], plain)
        case IsNull(name):
            return row[name] is None
        case AnyOf(name, values):
            equal = [logic.compare("==", row[name], value) for value in values]
            return reduce(logic.either, equal, logic.compare("!=", row[name], row[name]))
        case Not(inner):
            return logic.negated(holds(inner, row))
        case Both(left, right):
            return logic.both(holds(left, row), holds(right, row))
        case Either(left, right):
            return logic.either(holds(left, row), holds(right, row))
    raise AssertionError(condition)
