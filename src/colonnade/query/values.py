"""Values that users write, as the integers that columns hold: dates, times of day, instants, spans.

Texts are ISO 8601; `datetime`, NumPy and pandas values are taken as they are. A wall clock without a zone is
meant in the table's zone.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Final

import numpy as np
import polars as pl

from colonnade.errors import PlanError
from colonnade.schema import date_to_days, zone_info

DAY_NS: Final = 86_400_000_000_000
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": DAY_NS,
    "w": 7 * DAY_NS,
}
_SPAN: Final = re.compile(r"(\d+)\s*(ns|us|ms|min|s|m|h|d|w)")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?")
_DATE: Final = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
_INSTANT: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s*(Z|[+-]\d{2}:?\d{2})?"
)


def span_ns(value: Any, *, what: str) -> int:  # noqa: ANN401 - text, timedelta, NumPy or pandas
    """Give a span of time such as ``"1m"``, ``"1h30m"`` or a timedelta as nanoseconds."""
    if isinstance(value, np.timedelta64):
        return int(value.astype("timedelta64[ns]").astype(np.int64))
    if isinstance(value, dt.timedelta):
        whole = (value.days * 86_400 + value.seconds) * 1_000_000_000 + value.microseconds * 1_000
        return whole + int(getattr(value, "nanoseconds", 0))
    if isinstance(value, str):
        text = value.strip()
        sign = -1 if text.startswith("-") else 1
        found = list(_SPAN.finditer(text))
        if found and "".join(match[0] for match in found).replace(" ", "") == text.lstrip("-").replace(
            " ", ""
        ):
            return sign * sum(int(match[1]) * _UNITS[match[2]] for match in found)
    raise PlanError(f"{what} is {value!r}; expected a span such as '1m', '5s', '250ms', '1h' or '1d'")


def clock_ns(value: Any) -> int | None:  # noqa: ANN401
    """Give a time of day as nanoseconds since midnight, None where the value is no time of day."""
    if isinstance(value, dt.time):
        if value.tzinfo is not None:
            raise PlanError(
                f"a time of day has no zone of its own: {value!r}; it is meant in the table's zone"
            )
        return (
            (value.hour * 60 + value.minute) * 60 + value.second
        ) * 1_000_000_000 + value.microsecond * 1_000
    if not isinstance(value, str):
        return None
    match = _CLOCK.fullmatch(value.strip())
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - a clock
        raise PlanError(f"{value!r} is no time of day; expected 00:00 to 23:59:59.999999999")
    return (hour * 3600 + minute * 60 + second) * 1_000_000_000 + int((match[4] or "").ljust(9, "0"))


def days_between(value: Any, *, what: str) -> tuple[int, int]:  # noqa: ANN401
    """Give the first and last day, since 1970-01-01, of a date or of a month such as ``"2024-03"``."""
    if isinstance(value, np.datetime64):
        return _days_of_numpy(value, what)
    if isinstance(value, dt.datetime):
        if value.time() != dt.time.min or _has_nanoseconds(value):
            raise PlanError(f"{what} is {value!r}, which has a time of day; expected a date")
        value = value.date()
    if isinstance(value, dt.date):
        day = date_to_days(value)
        return day, day
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise PlanError(
            f"{what} is {value!r}; expected a date such as '2024-01-02' or a month such as '2024-01'"
        )
    year, month = int(match[1]), int(match[2])
    try:
        if match[3] is not None:
            day = date_to_days(dt.date(year, month, int(match[3])))
            return day, day
        first = dt.date(year, month, 1)
    except ValueError as error:
        raise PlanError(f"{what} is {value!r}: {error}") from None
    following = dt.date(year + month // 12, month % 12 + 1, 1)
    return date_to_days(first), date_to_days(following) - 1


def _has_nanoseconds(value: dt.datetime) -> bool:
    """Tell whether a pandas timestamp has what a datetime can't hold."""
    rest: int = getattr(value, "nanosecond", 0)
    return rest != 0


def _days_of_numpy(value: np.datetime64, what: str) -> tuple[int, int]:
    unit = np.datetime_data(value.dtype)[0]
    if np.isnat(value):
        raise PlanError(f"{what} is NaT; expected a date")
    if unit in ("Y", "M"):
        month = value.astype("datetime64[M]")
        step = 12 if unit == "Y" else 1
        first, after = month.astype("datetime64[D]"), (month + step).astype("datetime64[D]")
        return int(first.astype(np.int64)), int(after.astype(np.int64)) - 1
    day = value.astype("datetime64[D]")
    if day != value:
        raise PlanError(f"{what} is {value!r}, which has a time of day; expected a date")
    return int(day.astype(np.int64)), int(day.astype(np.int64))


def instant_ns(value: Any, zone: str | None, *, what: str) -> int:  # noqa: ANN401
    """Give a point in time as nanoseconds since 1970-01-01, UTC where `zone` is given, else wall clock."""
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            raise PlanError(f"{what} is NaT; expected a point in time")
        return _to_utc(int(value.astype("datetime64[ns]").astype(np.int64)), zone)
    if isinstance(value, dt.datetime):
        return _datetime_ns(value, zone, what)
    if isinstance(value, dt.date):
        return _to_utc(date_to_days(value) * DAY_NS, zone)
    if isinstance(value, str):
        match = _INSTANT.fullmatch(value.strip())
        if match is None:
            first, last = days_between(value, what=what)
            if first == last:
                return _to_utc(first * DAY_NS, zone)
        else:
            return _instant_of_text(match, zone, what)
    raise PlanError(f"{what} is {value!r}; expected a time such as '09:30' or '2024-01-02 09:30:00'")


def _instant_of_text(match: re.Match[str], zone: str | None, what: str) -> int:
    day, _ = days_between(match[1], what=what)
    clock = clock_ns(match[2])
    wall = day * DAY_NS + (clock or 0)
    if match[3] is None:
        return _to_utc(wall, zone)
    if zone is None:
        raise PlanError(f"{what} is {match[0]!r}, with a zone, but the column is wall clock without one")
    if match[3] == "Z":
        return wall
    digits = match[3][1:].replace(":", "")
    shift = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000_000_000
    return wall + shift if match[3][0] == "-" else wall - shift


def _datetime_ns(value: dt.datetime, zone: str | None, what: str) -> int:
    naive = value.replace(tzinfo=None)
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - wall clock
    since = naive.replace(microsecond=0) - epoch
    wall = (since.days * 86_400 + since.seconds) * 1_000_000_000 + value.microsecond * 1_000
    wall += int(getattr(value, "nanosecond", 0))
    offset = value.utcoffset()
    if offset is None:
        return _to_utc(wall, zone)
    if zone is None:
        raise PlanError(f"{what} is {value!r}, with a zone, but the column is wall clock without one")
    return wall - (offset.days * 86_400 + offset.seconds) * 1_000_000_000


def _to_utc(wall_ns: int, zone: str | None) -> int:
    """Turn wall clock into UTC; one that occurs twice is the earlier, one left out is shifted."""
    if zone is None:
        return wall_ns
    seconds, rest = divmod(wall_ns, 1_000_000_000)
    wall = dt.datetime(1970, 1, 1, tzinfo=zone_info(zone)) + dt.timedelta(seconds=seconds)
    offset = wall.utcoffset() or dt.timedelta()
    return (seconds - (offset.days * 86_400 + offset.seconds)) * 1_000_000_000 + rest


def utc_offset_ns(utc_ns: int, zone: str) -> int:
    """Give what a zone's wall clock is ahead of UTC at an instant."""
    instant = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=utc_ns // 1_000_000_000)
    offset = instant.astimezone(zone_info(zone)).utcoffset() or dt.timedelta()
    return (offset.days * 86_400 + offset.seconds) * 1_000_000_000


def offset_segments(low_ns: int, high_ns: int, zone: str | None) -> list[tuple[int, int, int]]:
    """Cut the closed interval of instants where the zone's offset from UTC changes.

    Returns
    -------
    ``(first instant, last instant, offset)`` a segment, ascending; offsets in nanoseconds.
    """
    if zone is None:
        return [(low_ns, high_ns, 0)]
    segments = []
    start, offset = low_ns, utc_offset_ns(low_ns, zone)
    probe = low_ns
    while probe < high_ns:
        following = min(probe + DAY_NS, high_ns)
        changed = utc_offset_ns(following, zone)
        if changed != offset:
            change = _first_change(probe, following, offset, zone)
            segments.append((start, change - 1, offset))
            start, offset = change, utc_offset_ns(change, zone)
            following = change
        probe = following
    segments.append((start, high_ns, offset))
    return segments


def _first_change(low_ns: int, high_ns: int, offset: int, zone: str) -> int:
    """Find the first instant after `low_ns` with another offset; changes fall on whole seconds."""
    low, high = low_ns // 1_000_000_000, -(-high_ns // 1_000_000_000)
    while high - low > 1:
        middle = (low + high) // 2
        if utc_offset_ns(middle * 1_000_000_000, zone) == offset:
            low = middle
        else:
            high = middle
    return high * 1_000_000_000


def wall_clock(instants: pl.Expr, zone: str | None) -> pl.Expr:
    """Give the wall clock of instants, as `Datetime` without a zone."""
    return instants if zone is None else instants.dt.convert_time_zone(zone).dt.replace_time_zone(None)
