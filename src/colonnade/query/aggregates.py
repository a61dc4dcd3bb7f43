"""What an aggregate asks of the kernel, and what its words become.

A mean is a sum and a count, a weighted mean two sums and a count; all others are one kernel aggregate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import ColumnTypeError, IntegerOverflowError
from colonnade.physical import decimal_series
from colonnade.query.bind import Scope, type_of
from colonnade.query.expr import Aggregate, Node, text_of
from colonnade.query.program import AggregateKind
from colonnade.schema import CHAR_NULL, CHARS

Words = list[NDArray[np.int64]]
FLOAT, INT, ORDERED = "float", "int", "ordered"
_EXACT: Final = float(1 << 53)
_SUM_DIGITS: Final = 38  # of a sum of decimals
_FLIP: Final = np.int64(-(1 << 63))


@dataclass(frozen=True, slots=True)
class Slot:
    """One kernel aggregate: its kind and the class of its values."""

    kind: AggregateKind
    values: str

    @property
    def words(self) -> int:
        """Words in an output row: a sum of integers is an int128."""
        return 2 if self.kind == "sum" and self.values != FLOAT else 1


@dataclass(frozen=True, slots=True)
class Value:
    """A key or an aggregate of the result: its type, and what its words are.

    Attributes
    ----------
    values
        `FLOAT`, `INT` or `ORDERED`.
    is_symbol
        Whether words are codes of symbols.
    scale
        Decimal places of what is aggregated, where words are scaled integers.
    """

    name: str
    function: str
    dtype: pl.DataType
    values: str
    is_symbol: bool
    scale: int = 0


def result_type(aggregate: Aggregate, scope: Scope) -> pl.DataType:
    """Give the type of an aggregate's result; raise `ColumnTypeError` where it can't be."""
    if aggregate.operand is None or aggregate.function in ("count", "len"):
        return pl.Int64()
    dtype = type_of(aggregate.operand, scope)
    if aggregate.function in ("min", "max", "first", "last"):
        if isinstance(dtype, pl.List):
            what = f"{aggregate.function} of {text_of(aggregate.operand)}"
            raise ColumnTypeError(f"{what}, which has type {dtype}, isn't possible; lists can be counted")
        return dtype
    for node in (aggregate.operand, aggregate.weight):
        _check_number(aggregate.function, node, scope)
    if isinstance(dtype, pl.Duration) and aggregate.function in ("sum", "mean"):
        return dtype
    if isinstance(dtype, pl.Decimal) and aggregate.function == "sum":
        return pl.Decimal(_SUM_DIGITS, dtype.scale)
    return pl.Int64() if aggregate.function == "sum" and not dtype.is_float() else pl.Float64()


def decimal_scale(node: Node | None, scope: Scope) -> int:
    """Give the decimal places of an expression whose values are kept as scaled integers, else 0."""
    dtype = None if node is None else type_of(node, scope)
    return dtype.scale if isinstance(dtype, pl.Decimal) else 0


def _check_number(function: str, node: Node | None, scope: Scope) -> None:
    if node is None:
        return
    dtype = type_of(node, scope)
    allowed = isinstance(dtype, pl.Duration) and function in ("sum", "mean")
    if not (dtype.is_numeric() or isinstance(dtype, pl.Boolean) or allowed):
        raise ColumnTypeError(f"{function} needs numbers, but {text_of(node)} has type {dtype}")


def finished(value: Value, words: Words, nulls: NDArray[np.bool_], symbols: pl.Series | None) -> pl.Series:
    """Turn the words of an aggregate into its column; `nulls` tells which rows have none."""
    match value.function:
        case "len" | "count":
            return pl.Series(value.name, words[0])
        case "sum":
            return _sum(value, words)
        case "mean":
            return _mean(value, words)
        case "wavg":
            weights = words[1].view(np.float64) if len(words) == 3 else _as_float(words[1], words[2])  # noqa: PLR2004
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = words[0].view(np.float64) / weights
            return _with_nulls(pl.Series(value.name, ratio), words[-1] == 0)
        case _:
            return decoded(value, words[0], nulls, symbols)


def decoded(
    value: Value, word: NDArray[np.int64], nulls: NDArray[np.bool_], symbols: pl.Series | None
) -> pl.Series:
    """Turn words that are values of a column into its type."""
    if value.is_symbol:
        assert symbols is not None  # noqa: S101 - codes come with their symbols
        codes = (np.where(nulls, 0, word) if nulls.any() else word).astype(np.uint32)
        if not len(symbols):
            return pl.Series(value.name, [None] * len(word), dtype=value.dtype)
        series = symbols.cast(pl.Categorical).gather(pl.Series(codes))
        return _with_nulls(series.cast(value.dtype), nulls).alias(value.name)
    dtype = value.dtype
    if value.values == FLOAT:
        series = pl.Series(value.name, word.view(np.float64)).cast(dtype)
    elif value.values == ORDERED:
        series = pl.Series(value.name, (word ^ _FLIP).view(np.uint64)).cast(dtype)
    elif isinstance(dtype, pl.String):
        series = _chars(value.name, word)
    elif isinstance(dtype, pl.Boolean):
        series = pl.Series(value.name, word != 0)
    elif isinstance(dtype, pl.Decimal):
        series = decimal_series(pl.Series(value.name, word), dtype)
    else:
        physical = pl.Int32() if isinstance(dtype, pl.Date) else pl.Int64()
        series = pl.Series(value.name, word).cast(physical).cast(dtype)
    return _with_nulls(series, nulls)


def _chars(name: str, word: NDArray[np.int64]) -> pl.Series:
    texts = pl.Series(
        [None if code == CHAR_NULL else text for code, text in enumerate(CHARS)], dtype=pl.String
    )
    return texts.gather(pl.Series(word.astype(np.uint32))).alias(name)


def _sum(value: Value, words: Words) -> pl.Series:
    if value.values == FLOAT:
        return pl.Series(value.name, words[0].view(np.float64))
    if isinstance(value.dtype, pl.Decimal):
        return decimal_series(_int128(words[0], words[1]), value.dtype).alias(value.name)
    return pl.Series(value.name, _whole(words[0], words[1], value.name)).cast(value.dtype)


def _mean(value: Value, words: Words) -> pl.Series:
    count = words[-1]
    total = words[0].view(np.float64) if value.values == FLOAT else _as_float(words[0], words[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = total / count if value.scale == 0 else _decimal_mean(words, value.scale)
    if isinstance(value.dtype, pl.Duration):
        whole = np.nan_to_num(ratio).astype(np.int64)
        return _with_nulls(pl.Series(value.name, whole).cast(value.dtype), count == 0)
    return _with_nulls(pl.Series(value.name, ratio), count == 0)


def _decimal_mean(words: Words, scale: int) -> NDArray[np.float64]:
    """Divide sums of scaled integers once; where one of the two is no exact float, as Python's integers."""
    low, high, count = words
    total, units = _as_float(low, high), count * 10.0**scale
    ratio: NDArray[np.float64] = total / units
    for place in np.flatnonzero((np.abs(total) >= _EXACT) | (units >= _EXACT)).tolist():
        exact = (int(high[place]) << 64) + (int(low[place]) & ((1 << 64) - 1))
        ratio[place] = exact / (int(count[place]) * 10**scale) if count[place] else np.nan
    return ratio


def _int128(low: NDArray[np.int64], high: NDArray[np.int64]) -> pl.Series:
    """Join the two words of a sum."""
    words = pl.DataFrame({"high": high, "low": low.view(np.uint64)}).cast(pl.Int128)
    whole = pl.col("high") * pl.lit(1 << 64, dtype=pl.Int128) + pl.col("low")
    return words.select(whole).to_series()


def _whole(low: NDArray[np.int64], high: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """Give int128 as int64; raise where one doesn't fit."""
    if (outside := _outside(low, high)) is not None:
        place = int(np.flatnonzero(outside)[0])
        total = (int(high[place]) << 64) + (int(low[place]) & ((1 << 64) - 1))
        raise IntegerOverflowError(
            f"the sum {name!r} is {total}, outside int64; sum a float instead, as in (col(...) * 1.0).sum()"
        )
    return low


def _as_float(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give int128 as the nearest float."""
    result = low.astype(np.float64)
    outside = _outside(low, high)
    for place in () if outside is None else np.flatnonzero(outside).tolist():
        result[place] = float((int(high[place]) << 64) + (int(low[place]) & ((1 << 64) - 1)))
    return result


def _outside(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Tell which int128 don't fit into int64, or None where all do, as sums of volumes."""
    if not high.any() and int(low.min(initial=0)) >= 0:
        return None
    outside: NDArray[np.bool_] = high != (low >> 63)
    return outside if outside.any() else None


def _with_nulls(series: pl.Series, nulls: NDArray[Any]) -> pl.Series:
    if not nulls.any():
        return series
    missing = pl.Series(nulls)
    return pl.select(pl.when(~missing).then(series)).to_series().alias(series.name)
