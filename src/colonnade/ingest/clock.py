"""Times written as text or as digits: HHMMSS with a fraction, ISO 8601, strptime patterns."""

from __future__ import annotations

import re
from typing import Final, Literal

import polars as pl

from colonnade.schema import ColumnType

_CLOCK: Final = re.compile(r"HHMMSS(m{3}|u{6}|n{9})?")
_ISO_WALL: Final = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
)
_AMBIGUOUS: Final[dict[str, Literal["earliest", "latest", "null"]]] = {
    "error": "null",
    "earliest": "earliest",
    "latest": "latest",
}
_OFFSET: Final = r"(?:Z|z|[+-]\d\d:?\d\d)$"
_HOURS, _SIXTY = 24, 60


def clock_digits(layout: str | None) -> int | None:
    """Give the digits after the seconds in a layout such as ``HHMMSSmmm``; None for other layouts."""
    match = _CLOCK.fullmatch(layout or "")
    return None if match is None else len(match[1] or "")


def day_ns(numbers: pl.Series, digits: int) -> pl.Series:
    """Give nanoseconds since midnight of HHMMSS and a fraction read as one number; null where it is no time.

    Leading zeros that were lost don't matter to the number.
    """
    frame = numbers.rename("x").to_frame()
    hms = pl.col("x") // 10**digits
    hour, minute, second = hms // 10_000, hms // 100 % 100, hms % 100
    ns = ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + pl.col("x") % 10**digits * 10 ** (9 - digits)
    valid = (pl.col("x") >= 0) & (hour < _HOURS) & (minute < _SIXTY) & (second < _SIXTY)
    return frame.select(pl.when(valid).then(ns)).to_series()


def pattern_times(values: pl.Series, kind: ColumnType, pattern: str, ambiguous: str) -> pl.Series:
    """Read text by a strptime pattern; null where it doesn't fit."""
    pattern = pattern.replace(".%f", "%.f")
    if kind.kind == "date":
        return values.str.to_date(pattern, strict=False)
    if kind.kind == "time":
        return values.str.to_time(pattern, strict=False)
    if "%z" in pattern or "%:z" in pattern or "%+" in pattern:
        instants = values.str.to_datetime(pattern, time_unit="ns", time_zone="UTC", strict=False)
        return instants.dt.convert_time_zone(kind.zone or "UTC").cast(kind.polars_type)
    return in_zone(values.str.to_datetime(pattern, time_unit="ns", strict=False), kind, ambiguous)


def iso_times(values: pl.Series, kind: ColumnType, ambiguous: str) -> pl.Series:
    """Read ISO 8601 dates, times of day and timestamps, with or without offset; null where it is none."""
    if kind.kind == "date":
        return values.str.to_date("%Y-%m-%d", strict=False)
    if kind.kind == "time":
        return values.str.to_time("%H:%M:%S%.f", strict=False)
    if kind.kind == "timespan":
        return values.str.to_time("%H:%M:%S%.f", strict=False).cast(pl.Duration("ns"))
    if has_offset(values):
        if kind.zone is None:  # an instant has no place in a wall clock
            return pl.Series(values.name, [None] * len(values), dtype=kind.polars_type)
        instants = values.str.to_datetime("%+", time_unit="ns", time_zone="UTC", strict=False)
        return instants.dt.convert_time_zone(kind.zone)
    return in_zone(_wall_times(values), kind, ambiguous)


def has_offset(values: pl.Series) -> bool:
    """Whether ISO text carries offsets from UTC, judged by the first value that isn't null."""
    first = _first(values)
    return first is not None and re.search(_OFFSET, first[10:]) is not None


def _first(values: pl.Series) -> str | None:
    position = values.is_not_null().arg_max()
    return None if position is None else values[position]


def _wall_times(values: pl.Series) -> pl.Series:
    first = _first(values) or ""
    formats = sorted(_ISO_WALL, key=lambda pattern: ("T" in pattern) != ("T" in first))
    result = values.str.to_datetime(formats[0], time_unit="ns", strict=False)
    for pattern in formats[1:]:
        if result.null_count() == values.null_count():
            return result
        result = result.fill_null(values.str.to_datetime(pattern, time_unit="ns", strict=False))
    if result.null_count() > values.null_count():
        result = result.fill_null(values.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("ns")))
    return result


def in_zone(wall: pl.Series, kind: ColumnType, ambiguous: str) -> pl.Series:
    """Give the instants of wall clock times; null where the clock showed it never, or twice."""
    if kind.zone is None:
        return wall
    return wall.dt.replace_time_zone(kind.zone, ambiguous=_AMBIGUOUS[ambiguous], non_existent="null")
