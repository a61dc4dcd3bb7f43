"""Times written as text or as digits: HHMMSS with a fraction, ISO 8601, strptime patterns."""

from __future__ import annotations

import re
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.schema import ColumnType
from colonnade.store.column_values import with_nulls
from colonnade.store.text import text_to_buffers

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
_CLOCK_WIDTH: Final = 8  # of HH:MM:SS
_NS_DIGITS: Final = 9
_CLOCK_ROWS: Final = 1 << 14  # that fit in cache


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
        return _clock_times(values)
    if kind.kind == "timespan":
        return _clock_times(values).cast(pl.Duration("ns"))
    if has_offset(values):
        if kind.zone is None:  # an instant has no place in a wall clock
            return pl.Series(values.name, [None] * len(values), dtype=kind.polars_type)
        instants = values.str.to_datetime("%+", time_unit="ns", time_zone="UTC", strict=False)
        return instants.dt.convert_time_zone(kind.zone)
    return in_zone(_wall_times(values), kind, ambiguous)


def _clock_times(values: pl.Series) -> pl.Series:
    """Read HH:MM:SS with a fraction; where all have one width, without a pattern for each."""
    found = _clock_ns(values.drop_nulls())
    if found is None:
        return values.str.to_time("%H:%M:%S%.f", strict=False)
    if not values.null_count():
        return pl.Series(values.name, found).cast(pl.Time)
    valid = values.is_not_null().to_numpy()
    ns = np.zeros(len(values), dtype=np.int64)
    ns[valid] = found
    return with_nulls(pl.Series(values.name, ns), valid).cast(pl.Time)


def _clock_ns(texts: pl.Series) -> NDArray[np.int64] | None:
    """Give the nanoseconds of HH:MM:SS with up to nine digits, the same in all; None for any other text."""
    lengths, content = text_to_buffers(texts)
    width = int(lengths[0]) if len(lengths) else 0
    digits = max(width - _CLOCK_WIDTH - 1, 0)
    if width < _CLOCK_WIDTH or width == _CLOCK_WIDTH + 1 or digits > _NS_DIGITS or (lengths != width).any():
        return None
    rows = content.reshape(len(lengths), width)
    ns = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _CLOCK_ROWS):
        columns = np.ascontiguousarray(rows[start : start + _CLOCK_ROWS].T)
        numbers = columns - ord("0")  # what is no digit is above 9
        places = [0, 1, 3, 4, 6, 7, *range(_CLOCK_WIDTH + 1, width)]
        separators = (columns[2] == ord(":")) & (columns[5] == ord(":"))
        if width > _CLOCK_WIDTH:
            separators &= columns[_CLOCK_WIDTH] == ord(".")
        hour, minute, second = (numbers[at].astype(np.int64) * 10 + numbers[at + 1] for at in (0, 3, 6))
        fits = separators & (hour < _HOURS) & (minute < _SIXTY) & (second < _SIXTY)
        if not fits.all() or (numbers[places] > 9).any():  # noqa: PLR2004 - the last digit
            return None
        fraction = np.zeros(columns.shape[1], dtype=np.int64)
        for place in places[6:]:
            fraction = fraction * 10 + numbers[place]
        whole = ((hour * 60 + minute) * 60 + second) * 10**_NS_DIGITS
        ns[start : start + _CLOCK_ROWS] = whole + fraction * 10 ** (_NS_DIGITS - digits)
    return ns


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
