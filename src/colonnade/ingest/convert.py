"""Fields to stored values: text, numbers and times of a source become the canonical column.

One rule for errors: a value that can't be converted becomes null, and the caller compares null counts. So the
fast path costs nothing, and the slow path can tell which rows they were.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from colonnade.errors import ColumnTypeError
from colonnade.ingest.clock import clock_digits, day_ns, in_zone, iso_times, pattern_times
from colonnade.ingest.description import UNIT_NS, ColumnDescription
from colonnade.ingest.rare_types import CONVERSIONS
from colonnade.physical import has_place
from colonnade.schema import ColumnType, date_to_days
from colonnade.store.column_values import canonical_type

_AS_TEXT: Final = ("bool", "decimal", "guid", "list")  # that the CSV reader doesn't read itself
_SHORT: Final = {  # how it may be written, and what makes it a date or a time
    "month": (r"^(\d{4})[-.](\d{2})m?$", "${1}-${2}-01"),
    "minute": (r"^(\d{2}:\d{2})$", "${1}:00"),
    "second": (r"^(\d{2}:\d{2})$", "${1}:00"),
}
_TRUE: Final = ("1", "t", "true", "y", "yes")
_FALSE: Final = ("0", "f", "false", "n", "no")
_EXACT_IN_FLOAT: Final = 1 << 53
_DAY_NS: Final = 86_400_000_000_000
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One field of a source and the column that it becomes.

    Attributes
    ----------
    name
        Name of the column.
    type
        Type of the column.
    description
        How the field is written.
    null
        Texts that mean null.
    strip
        Whether blanks around text are dropped.
    """

    name: str
    type: ColumnType
    description: ColumnDescription
    null: tuple[str, ...] = ()
    strip: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the column holds text as it is."""
        return self.type.kind in ("symbol", "string", "char")

    @property
    def fast_type(self) -> pl.DataType:
        """The Polars type that the CSV reader may read the field as; text where it can't."""
        if self.is_text or self.type.kind in _AS_TEXT or len(self.null) > 1:
            return pl.String()
        if self.description.scale is not None or self.description.unit is not None:
            return pl.Int64()
        if self.type.is_temporal:
            return pl.Int64() if clock_digits(self.description.layout) is not None else pl.String()
        return self.type.polars_type


def cleaned(values: pl.Series, plan: FieldPlan) -> pl.Series:
    """Strip text where the plan says so, and turn what means null into null."""
    if values.dtype != pl.String:
        if not plan.null or values.dtype.is_float() or values.dtype.is_nested():
            return values
        return values.set(values.cast(pl.String).is_in(list(plan.null)), None)
    if plan.strip or not plan.is_text:
        values = values.str.strip_chars(" \t")
        values = values.set(values.str.len_bytes() == 0, None)
    if plan.null:
        values = values.set(values.is_in(list(plan.null)), None)
    return values


def convert(values: pl.Series, plan: FieldPlan, *, date: dt.date | None = None) -> pl.Series:
    """Give the canonical column of cleaned values; null where a value doesn't fit.

    Parameters
    ----------
    values
        Text, or values of a frame or a Parquet file.
    plan
        What the column is, and how the field is written.
    date
        Trading date, for times that count from midnight and become timestamps.

    Raises
    ------
    ColumnTypeError
        If values of this kind never fit; nothing depends on the single row.
    """
    if isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    if values.dtype == pl.Null:
        result = pl.Series(values.name, [None] * len(values), dtype=canonical_type(plan.type))
    elif plan.is_text:
        result = _text(values, plan)
    elif plan.type.kind == "bool":
        result = _bools(values, plan)
    elif plan.type.kind in CONVERSIONS:
        convert_values, expected = CONVERSIONS[plan.type.kind]
        made = convert_values(values, plan.type)
        if made is None:
            raise _never_fits(values.dtype, plan, expected)
        result = made
    elif plan.type.read_as != plan.type:
        result = _coarse_times(values, plan, date)
    elif plan.type.is_temporal:
        result = _times(values, plan, date)
    elif plan.description.scale is not None:
        result = _scaled(values, plan, plan.description.scale)
    else:
        result = _numbers(values, plan)
    return result.alias(plan.name)


def _text(values: pl.Series, plan: FieldPlan) -> pl.Series:
    if values.dtype != pl.String:
        raise _never_fits(values.dtype, plan, "text")
    if plan.description.upper:
        values = values.str.to_uppercase()
    if plan.type.kind == "char":
        values = values.set(values.str.len_bytes() != 1, None)
    return values


def _bools(values: pl.Series, plan: FieldPlan) -> pl.Series:
    if values.dtype == pl.Boolean:
        return values
    if values.dtype.is_integer():
        values = values.cast(pl.String)
    if values.dtype != pl.String:
        raise _never_fits(values.dtype, plan, "true and false")
    known = [*_TRUE, *_FALSE]
    meant = [True] * len(_TRUE) + [False] * len(_FALSE)
    return values.str.to_lowercase().replace_strict(known, meant, default=None, return_dtype=pl.Boolean)


def _numbers(values: pl.Series, plan: FieldPlan) -> pl.Series:
    wanted, given = plan.type.polars_type, values.dtype
    if given == wanted:
        return values
    if given == pl.String:
        result = values.cast(wanted, strict=False)
        return _without_overflow(result, values) if wanted.is_float() else result
    if given.is_decimal() and wanted == pl.Float64:
        return values.cast(pl.String).cast(pl.Float64, strict=False)  # correctly rounded
    if not (given.is_integer() or given.is_float()):
        raise _never_fits(given, plan, "numbers")
    result = values.cast(wanted, strict=False)
    if wanted.is_integer() and given.is_integer():
        return result
    back = result.cast(given, strict=False)
    same = (back == values) | (values.is_nan() if given.is_float() else pl.Series([False]))
    return result.set(~same.fill_null(value=False), None)


def _without_overflow(result: pl.Series, text: pl.Series) -> pl.Series:
    """Turn numbers too large for a float into null; infinities that are written so stay."""
    if not result.is_infinite().any():
        return result
    written = text.str.contains(r"(?i)^[+-]?inf(?:inity)?$")
    return result.set(result.is_infinite() & ~written, None)


def _scaled(values: pl.Series, plan: FieldPlan, scale: int) -> pl.Series:
    numbers = values.cast(pl.Int64, strict=False) if values.dtype == pl.String else values
    if not numbers.dtype.is_integer():
        raise _never_fits(values.dtype, plan, f"whole numbers with {scale} implied decimals")
    # divided by NumPy, because Polars multiplies by the reciprocal, which rounds twice
    quotients = numbers.fill_null(0).to_numpy() / 10.0**scale
    result = pl.Series(values.name, quotients).set(numbers.is_null(), None)
    large = (
        numbers.abs() >= _EXACT_IN_FLOAT if numbers.dtype.is_signed_integer() else numbers >= _EXACT_IN_FLOAT
    )
    if large.any():  # the division of whole numbers rounds once; that of floats would round twice
        exact = [number / 10**scale for number in numbers.filter(large)]
        result = result.scatter(large.arg_true(), exact)
    return result.cast(plan.type.polars_type)


def _times(values: pl.Series, plan: FieldPlan, date: dt.date | None) -> pl.Series:
    described = plan.description
    digits = clock_digits(described.layout)
    if values.dtype.is_temporal():
        return _temporal(values, plan)
    if described.unit is not None:
        ns = _unit_ns(values, plan, UNIT_NS[described.unit])
        return ns_to_times(ns, plan, date if described.epoch == "midnight" else None, described.epoch)
    if digits is not None:
        numbers = values.cast(pl.Int64, strict=False) if values.dtype == pl.String else values
        if not numbers.dtype.is_integer():
            raise _never_fits(values.dtype, plan, f"times written as {described.layout}")
        return ns_to_times(day_ns(numbers.cast(pl.Int64), digits), plan, date, "midnight")
    if values.dtype.is_integer() and described.layout and "%" in described.layout:
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        if described.layout and "%" in described.layout:
            return pattern_times(values, plan.type, described.layout, described.ambiguous)
        return iso_times(values, plan.type, described.ambiguous)
    hint = f"say its unit in a description, or with columns={{{plan.name!r}: {{'unit': 'ms'}}}}"
    raise ColumnTypeError(f"column {plan.name!r} holds {values.dtype}, expected {plan.type}; {hint}")


def _coarse_times(values: pl.Series, plan: FieldPlan, date: dt.date | None) -> pl.Series:
    """Give months, minutes and seconds; what has a rest doesn't fit."""
    if values.dtype == pl.String and plan.description.layout is None:
        values = values.str.replace(*_SHORT[plan.type.kind])
    times = _times(values, replace(plan, type=plan.type.read_as), date)
    return times.set(~has_place(times, plan.type).fill_null(value=False), None)


def ns_to_times(ns: pl.Series, plan: FieldPlan, date: dt.date | None, epoch: str) -> pl.Series:
    """Give times from nanoseconds since 1970, or since midnight of a date."""
    kind = plan.type
    if kind.kind == "timespan":
        return ns.cast(pl.Duration("ns"))
    if kind.kind == "time":
        return ns.set((ns < 0) | (ns >= _DAY_NS), None).cast(pl.Time)
    if kind.kind == "date":
        return (ns // _DAY_NS).cast(pl.Int32).cast(pl.Date)
    if epoch == "1970":
        return ns.cast(pl.Datetime("ns", kind.zone))
    if date is None:
        reason = (
            f"column {plan.name!r} counts from midnight and is a timestamp, but the trading date isn't given"
        )
        raise ColumnTypeError(
            f"{reason}; pass date= or --date, or let the file name tell it, or use the type 'time'"
        )
    wall = (ns + date_to_days(date) * _DAY_NS).cast(pl.Datetime("ns"))
    return in_zone(wall, kind, plan.description.ambiguous)


def _unit_ns(values: pl.Series, plan: FieldPlan, unit_ns: int) -> pl.Series:
    """Give nanoseconds of numbers in a unit; text may have decimals."""
    if values.dtype == pl.String:
        whole = values.str.extract(r"^([+-]?\d+)(?:\.\d+)?$", 1).cast(pl.Int64, strict=False)
        ns = _multiplied(whole, unit_ns)
        if not values.str.contains(".", literal=True).any():
            return ns
        decimals = len(str(unit_ns)) - 1
        digits = values.str.extract(r"\.(\d+)$", 1).fill_null("")
        too_fine = digits.str.strip_chars_end("0").str.len_bytes() > decimals
        part = digits.str.pad_end(decimals, "0").str.slice(0, decimals)
        part = part.set(part.str.len_bytes() == 0, "0").cast(pl.Int64, strict=False)
        sign = 1 - 2 * values.str.starts_with("-").cast(pl.Int64)
        too_large = ns.abs() > _MAX_INT64 - unit_ns  # what the decimals add must not wrap around
        return (ns + part * sign).set(too_fine | too_large, None)
    if not values.dtype.is_integer():
        raise _never_fits(values.dtype, plan, "whole numbers; cast it to integers first")
    if values.dtype == pl.UInt64:
        values = values.cast(pl.Int64, strict=False)
    return _multiplied(values.cast(pl.Int64), unit_ns)


def _multiplied(values: pl.Series, factor: int) -> pl.Series:
    low, high = -(-_MIN_INT64 // -factor) if factor == 1 else -(_MAX_INT64 // factor), _MAX_INT64 // factor
    if factor > 1:
        values = values.set((values < low) | (values > high), None)
    return values * factor


def _temporal(values: pl.Series, plan: FieldPlan) -> pl.Series:
    wanted, given = plan.type, values.dtype
    if given == wanted.polars_type:
        return values
    if isinstance(given, pl.Datetime) and wanted.kind == "timestamp":
        if (given.time_zone is None) != (wanted.zone is None):
            return _zoned(values, plan)
        ns = _datetime_ns(values)
        return ns.dt.convert_time_zone(wanted.zone) if wanted.zone else ns
    if isinstance(given, pl.Duration) and wanted.kind == "timespan":
        per_unit = {"ms": 1_000_000, "us": 1_000, "ns": 1}[given.time_unit]
        return _multiplied(values.to_physical(), per_unit).cast(pl.Duration("ns"))
    raise _never_fits(given, plan, str(wanted))


def _datetime_ns(values: pl.Series) -> pl.Series:
    given = values.dtype
    assert isinstance(given, pl.Datetime)  # noqa: S101 - the caller asked
    per_unit = {"ms": 1_000_000, "us": 1_000, "ns": 1}[given.time_unit]
    return _multiplied(values.to_physical(), per_unit).cast(pl.Datetime("ns", given.time_zone))


def _zoned(values: pl.Series, plan: FieldPlan) -> pl.Series:
    zone = plan.type.zone
    if plan.description.zone is not None and zone is not None:
        return in_zone(_datetime_ns(values), plan.type, plan.description.ambiguous)
    raise _never_fits(values.dtype, plan, f"{plan.type}; say the zone of its wall clock in a description")


def _never_fits(given: pl.DataType, plan: FieldPlan, wanted: str) -> ColumnTypeError:
    reason = f"column {plan.name!r} holds {given}, which doesn't become {plan.type}"
    return ColumnTypeError(f"{reason}: expected {wanted}")
