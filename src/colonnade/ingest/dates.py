"""The trading date of each row: given, from a column, or from a clock with its zone and start of day."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final

import polars as pl

from colonnade.errors import ColumnTypeError, SchemaError
from colonnade.schema import Schema, date_to_days, zone_info

_DAY_NS: Final = 86_400_000_000_000
_MAX_DAYS_OF_ONE_OFFSET: Final = 400  # beyond it, asking for the offset of every day costs more than it saves


@dataclass(frozen=True, slots=True)
class DateRule:
    """How the trading date of a row is found.

    Attributes
    ----------
    given
        The date of all rows, or None.
    column
        Date or timestamp column that it is computed from, where it isn't given.
    zone
        Zone in which an instant is read; None takes the clock as it is.
    day_start_ns
        Start of the trading day, as nanoseconds of the day before.
    """

    given: dt.date | None
    column: str | None
    zone: str | None = None
    day_start_ns: int = 0

    @classmethod
    def of(cls, schema: Schema, given: dt.date | None) -> DateRule:
        """Give the rule of a table, or the date that is given instead."""
        return cls(given, schema.date_column, schema.zone, schema.day_start_ns)

    def days(self, frame: pl.DataFrame) -> pl.Series:
        """Give the trading date of each row as days since 1970-01-01; null where the time is null."""
        if self.given is not None:
            return pl.Series("days", [date_to_days(self.given)], dtype=pl.Int32).new_from_index(
                0, frame.height
            )
        if self.column is None:
            raise SchemaError(f"no trading date is given; {WAYS_TO_A_DATE}")
        values = frame[self.column]
        if values.dtype == pl.Date:
            return values.to_physical().rename("days")
        if not isinstance(values.dtype, pl.Datetime):
            reason = f"column {self.column!r} holds {values.dtype}, which tells no date"
            raise ColumnTypeError(f"{reason}; {WAYS_TO_A_DATE}")
        return (self._wall_ns(values) // _DAY_NS).cast(pl.Int32).rename("days")

    def _wall_ns(self, values: pl.Series) -> pl.Series:
        """Give nanoseconds on the clock of the zone, shifted so that the trading day starts at midnight."""
        assert isinstance(values.dtype, pl.Datetime)  # noqa: S101 - the caller asked
        shift = (_DAY_NS - self.day_start_ns) % _DAY_NS
        zone = self.zone or values.dtype.time_zone
        ns = values.to_physical()
        if values.dtype.time_zone is None or zone is None or zone == "UTC" or ns.null_count() == len(ns):
            return ns + shift
        offset = _one_offset_ns(ns, zone)
        if offset is not None:
            return ns + (offset + shift)
        wall = values.dt.convert_time_zone(zone).dt.replace_time_zone(None)
        return wall.to_physical() + shift


WAYS_TO_A_DATE: Final = (
    "pass date='2024-01-02' or --date 2024-01-02 for all rows, or a column's name in its place, "
    "or describe where the date stands (a group named date in the file pattern, or the type of a time column)"
)


def _one_offset_ns(ns: pl.Series, zone: str) -> int | None:
    """Give the offset from UTC where it is the same in the whole range, else None."""
    low, high = ns.min(), ns.max()
    assert isinstance(low, int) and isinstance(high, int)  # noqa: S101, PT018 - not all are null
    days = (high - low) // _DAY_NS + 2
    if days > _MAX_DAYS_OF_ONE_OFFSET:
        return None
    info = zone_info(zone)
    instants = {min(low + step * _DAY_NS, high) // 1_000_000_000 for step in range(days)}
    offsets = {dt.datetime.fromtimestamp(second, info).utcoffset() for second in instants}
    if len(offsets) != 1:
        return None
    offset = offsets.pop()
    return None if offset is None else (offset // dt.timedelta(microseconds=1)) * 1000


def parse_day_start(text: str | None) -> int:
    """Read the start of the trading day, such as ``"18:00"``, as nanoseconds since midnight.

    Examples
    --------
    >>> parse_day_start("18:00") // 3_600_000_000_000
    18
    """
    if text is None:
        return 0
    match = re.fullmatch(r"(\d{1,2}):(\d\d)(?::(\d\d))?", text.strip())
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3] or 0) > 59:  # noqa: PLR2004
        raise SchemaError(f"can't read day_start {text!r}; expected a time of day such as '18:00'")
    seconds = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0)
    return seconds * 1_000_000_000


def given_date(value: object) -> dt.date | None:
    """Give the date that ``date=`` means, or None where it is the name of a column.

    Raises
    ------
    SchemaError
        If it looks like a date and is none.
    """
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    if hasattr(value, "item") and not isinstance(value, str):  # NumPy
        return given_date(value.item())
    if not isinstance(value, str):
        raise SchemaError(f"date is {value!r}; expected a date such as '2024-01-02', or the name of a column")
    try:
        return dt.date.fromisoformat(value.replace(".", "-"))
    except ValueError:
        if re.match(r"\d", value):
            raise SchemaError(f"{value!r} is no date; expected the form '2024-01-02'") from None
        return None
