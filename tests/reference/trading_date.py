"""Trading dates and wall clocks, one instant at a time."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo


def wall_clock(instant_ns: int, zone: str | None) -> tuple[dt.date, int]:
    """Give the date and the nanoseconds since midnight that a clock in the zone shows."""
    seconds, fraction = divmod(instant_ns, 1_000_000_000)
    shown = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    local = shown if zone is None else shown.astimezone(ZoneInfo(zone))
    return local.date(), (local.hour * 3_600 + local.minute * 60 + local.second) * 1_000_000_000 + fraction


def trading_date(instant_ns: int, zone: str | None = None, day_start_ns: int = 0) -> dt.date:
    """Give the date that an instant is traded on: from ``day_start`` on, that of the next day."""
    date, clock = wall_clock(instant_ns, zone)
    return date + dt.timedelta(1) if day_start_ns and clock >= day_start_ns else date


def clock_ns(text: str) -> int:
    """Read ``HH:MM`` or ``HH:MM:SS``."""
    hours, minutes, seconds = (
        int(part) for part in (f"{text}:00" if text.count(":") == 1 else text).split(":")
    )
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000
