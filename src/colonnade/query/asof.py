"""As-of joins: for each left row the right row of its key at or before its time, within the partition date.

The left's dates and keys decide what is read of the right. Only the keys and times of the right are read to
find the rows; of the other columns just the rows that were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import ColumnTypeError, PlanError
from colonnade.query.expr import Column, IsIn, Literal, columns_of
from colonnade.query.join import payload_names
from colonnade.query.plan import AsofJoin, Output, Plan
from colonnade.query.prune import Conditions, split_conditions, wanted_dates, wanted_spans
from colonnade.query.rows import condition_form, pick, read_columns, read_rows
from colonnade.query.scan import scan_spans
from colonnade.query.values import DAY_NS, wall_clock
from colonnade.schema import ColumnType
from colonnade.store.source import TableSource

_NOTHING: Final = -1
_NO_DATE: Final = -(1 << 40)
_DATE: Final = ColumnType("date")
Rows = NDArray[np.int64]


def joined(left: pl.DataFrame, dates: Rows, join: AsofJoin, source: TableSource) -> pl.DataFrame:
    """Give left rows in their order, with the columns of the right rows they find.

    Parameters
    ----------
    dates
        Partition date of each left row, days since 1970-01-01.
    source
        The right table.
    """
    times, there = _times(left, join, source)
    codes, known = _codes([left[name] for name in join.by], join, source)
    open_rows = np.flatnonzero(there & known)
    found: list[tuple[Rows, pl.DataFrame]] = []
    conditions = split_conditions(join.right)
    usable = wanted_dates(source, conditions)
    payload = payload_names(join, left.columns)
    for date in np.unique(dates[open_rows]).tolist():
        rest = open_rows[dates[open_rows] == date]
        for day in range(date, date - join.lookback_days - 1, -1):
            if not len(rest):
                break
            place = int(np.searchsorted(usable, day))
            if place == len(usable) or int(usable[place]) != day:
                continue
            right = _Right(source, join, conditions, day, _symbols(left, rest, source, join))
            matched = right.match(None if codes is None else codes[rest], times[rest], date)
            hits = matched >= 0
            if hits.any():
                found.append((rest[hits], right.payload(matched[hits], payload)))
            rest = rest[~hits]
    return left.hstack(_scattered(left.height, found, payload, source, join).get_columns())


def _scattered(
    height: int,
    found: list[tuple[Rows, pl.DataFrame]],
    payload: list[tuple[Output, str]],
    source: TableSource,
    join: AsofJoin,
) -> pl.DataFrame:
    """Put what was found beside the left rows; null where nothing was."""
    if not payload:
        return pl.DataFrame()
    if not found:
        empty = _Right(source, join, split_conditions(join.right), None, None).payload(
            np.empty(0, np.int64), payload
        )
        return empty.clear(height) if height else empty
    place = np.full(height, _NOTHING, dtype=np.int64)
    rows = np.concatenate([rows for rows, _ in found])
    place[rows] = np.arange(len(rows))
    frame = pl.concat([frame for _, frame in found], rechunk=True)
    if len(rows) == height and (rows[:-1] < rows[1:]).all():
        return frame
    numbers = pl.Series(place)
    if len(rows) < height:
        numbers = pl.select(pl.when(numbers >= 0).then(numbers)).to_series()
    return frame.select(pl.all().gather(pl.lit(numbers)))


def _times(left: pl.DataFrame, join: AsofJoin, source: TableSource) -> tuple[Rows, NDArray[np.bool_]]:
    """Give the left's times in the unit of the right's, and which are not null."""
    dtype = _right_type(join.on, source)
    series = left[join.on]
    if isinstance(dtype, pl.Datetime):
        mine = series.dtype
        if isinstance(mine, pl.Datetime):
            series = series.cast(pl.Datetime("ns", mine.time_zone))
    elif series.dtype != dtype:
        series = series.cast(dtype)
    there = series.is_not_null().to_numpy()
    return series.to_physical().fill_null(0).cast(pl.Int64).to_numpy(), there


def _right_type(name: str, source: TableSource) -> pl.DataType:
    schema = source.schema
    return pl.Date() if name == schema.partition_by else schema.columns[name].polars_type


def _codes(
    keys: Sequence[pl.Series], join: AsofJoin, source: TableSource
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """Give one row of integers a left key, None without keys, and which rows have all of them."""
    if not keys:
        return None, np.ones(1, dtype=bool)
    columns = [
        _integers(series, _right_type(name, source)) for series, name in zip(keys, join.by, strict=True)
    ]
    known = np.ones(len(keys[0]), dtype=bool)
    for series in keys:
        known &= series.is_not_null().to_numpy()
    return np.column_stack(columns), known


def _integers(series: pl.Series, dtype: pl.DataType) -> NDArray[np.int64]:
    """Give integers that are equal where values are; Categorical codes are the same in the whole process."""
    if isinstance(dtype, (pl.Categorical, pl.String)):
        return series.cast(pl.Categorical).to_physical().fill_null(0).to_numpy().astype(np.int64)
    if series.dtype != dtype:
        try:
            series = series.cast(dtype)
        except pl.exceptions.PolarsError as error:
            raise ColumnTypeError(f"column {series.name!r} can't be compared with {dtype}: {error}") from None
    if dtype.is_float():
        return (series.fill_null(0.0).cast(pl.Float64).to_numpy() + 0.0).view(np.int64)
    return series.to_physical().cast(pl.Int64).fill_null(0).to_numpy()


def _symbols(left: pl.DataFrame, rows: Rows, source: TableSource, join: AsofJoin) -> list[str] | None:
    part_by = source.schema.part_by
    if part_by is None or part_by not in join.by:
        return None
    return left[part_by].gather(pl.Series(rows)).unique().cast(pl.String).to_list()


class _Right:
    """The right rows of one date that may match."""

    def __init__(
        self,
        source: TableSource,
        join: AsofJoin,
        conditions: Conditions,
        date: int | None,
        symbols: list[str] | None,
    ) -> None:
        self.join = join
        self.schema = source.schema
        self.date = date
        plan = join.right
        wanted = Conditions((_on_date(plan, date),), conditions.symbols, conditions.times, conditions.rows)
        if symbols is not None and self.schema.part_by is not None:
            listed = IsIn(Column(self.schema.part_by), tuple(Literal(symbol) for symbol in symbols))
            wanted = replace(wanted, symbols=(*wanted.symbols, listed))
        spans = np.empty((0, 3), dtype=np.int64) if date is None else wanted_spans(source, wanted)
        names = [*join.by, join.on, *columns_of(*(output.node for output, _ in payload_names(join, {})))]
        self.scan = scan_spans(source, wanted, spans, names)
        self.rows: Rows | None = None
        if self.scan.conditions:
            asked = read_columns(self.scan, columns_of(*self.scan.conditions))
            mask = asked.select(condition_form(self.schema, self.scan.conditions)).to_series()
            self.rows = np.flatnonzero(mask.fill_null(value=False).to_numpy())

    def match(self, codes: NDArray[np.int64] | None, times: Rows, date: int) -> Rows:
        """Give for each left key and time the right row, by its number in the scan, or -1."""
        join = self.join
        keys = read_columns(self.scan, [*join.by, join.on])
        if self.rows is not None:
            keys = keys.select(pl.all().gather(pl.lit(pl.Series(self.rows))))
        there = keys.select(pl.all_horizontal(pl.all().is_not_null())).to_series().to_numpy()
        right_times = keys[join.on].to_physical().cast(pl.Int64).fill_null(0).to_numpy()
        if (
            join.on in self.schema.columns
            and self.schema.columns[join.on].kind == "time"
            and self.date is not None
        ):
            times = times + (date - self.date) * DAY_NS  # of an earlier date every time of day is earlier
        if codes is None:
            left_code = np.zeros(len(times), dtype=np.int64)
            right_code = np.zeros(len(right_times), dtype=np.int64)
        else:
            theirs = np.column_stack([_integers(keys[name], keys.schema[name]) for name in join.by])
            left_code, right_code = _same_codes(codes, theirs)
        number = np.flatnonzero(there)
        found = match_rows(
            left_code,
            times,
            right_code[number],
            right_times[number],
            strategy=join.strategy,
            tolerance=join.tolerance,
        )
        inside = np.where(found >= 0, number[found] if len(number) else 0, _NOTHING)
        if self.rows is None or not len(self.rows):
            return inside
        return np.where(inside >= 0, self.rows[np.maximum(inside, 0)], _NOTHING)

    def payload(self, rows: Rows, payload: list[tuple[Output, str]]) -> pl.DataFrame:
        """Read the joined columns of rows of the scan."""
        outputs = [Output(name, output.node) for output, name in payload]
        distinct, place = np.unique(rows, return_inverse=True)
        frame = read_rows(pick(self.scan, distinct), outputs)
        if len(distinct) == len(rows) and (rows[:-1] < rows[1:]).all():
            return frame
        return frame.select(pl.all().gather(pl.lit(pl.Series(place.astype(np.int64)))))


def _on_date(plan: Plan, date: int | None) -> IsIn:
    return IsIn(Column(plan.schema.partition_by), () if date is None else (Literal(date, _DATE),))


def _same_codes(left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Give the rows of two lists of keys numbers, the same for the same key."""
    if left.shape[1] == 1:
        return left[:, 0], right[:, 0]
    _, codes = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    return codes[: len(left)], codes[len(left) :]


def match_rows(
    left_code: Rows,
    left_time: Rows,
    right_code: Rows,
    right_time: Rows,
    *,
    strategy: str,
    tolerance: int | None,
) -> Rows:
    """Give for each left row the matching right row or -1; of equal times the last right row wins."""
    order = np.lexsort((right_time, right_code))  # stable: equal times keep their order
    code, time = right_code[order], right_time[order]
    if not len(order):
        return np.full(len(left_time), _NOTHING, dtype=np.int64)
    before = _last_at_or_before(left_code, left_time, code, time)
    back = _distance(left_code, left_time, code, time, before)
    if strategy == "backward":
        best, distance = before, back
    else:
        after = _first_at_or_after(left_code, left_time, code, time)
        ahead = _distance(left_code, left_time, code, time, after)
        is_ahead = np.full(len(before), fill_value=True) if strategy == "forward" else ahead <= back
        best, distance = np.where(is_ahead, after, before), np.where(is_ahead, ahead, back)
    matches = distance < _FAR
    if tolerance is not None:
        matches &= distance <= np.uint64(tolerance)
    return np.where(matches, order[np.clip(best, 0, len(order) - 1)], _NOTHING)


_FAR: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def _distance(left_code: Rows, left_time: Rows, code: Rows, time: Rows, place: Rows) -> NDArray[np.uint64]:
    inside = (place >= 0) & (place < len(code))
    at = np.clip(place, 0, len(code) - 1)
    inside &= code[at] == left_code
    high, low = np.maximum(time[at], left_time), np.minimum(time[at], left_time)
    return np.where(inside, high.view(np.uint64) - low.view(np.uint64), _FAR)


def _last_at_or_before(left_code: Rows, left_time: Rows, code: Rows, time: Rows) -> Rows:
    """Give the position in the sorted right keys of the last one not above each left key."""
    side = np.concatenate([np.zeros(len(code), np.int8), np.ones(len(left_code), np.int8)])
    order = np.lexsort((side, np.concatenate([time, left_time]), np.concatenate([code, left_code])))
    is_right = order < len(code)
    last = np.cumsum(is_right) - 1
    result = np.empty(len(left_code), dtype=np.int64)
    result[order[~is_right] - len(code)] = last[~is_right]
    return result


def _first_at_or_after(left_code: Rows, left_time: Rows, code: Rows, time: Rows) -> Rows:
    """Give the last position of the smallest right key that is not below each left key."""
    side = np.concatenate([np.ones(len(code), np.int8), np.zeros(len(left_code), np.int8)])
    order = np.lexsort((side, np.concatenate([time, left_time]), np.concatenate([code, left_code])))
    is_right = order < len(code)
    following = np.cumsum(is_right)
    first = np.empty(len(left_code), dtype=np.int64)
    first[order[~is_right] - len(code)] = following[~is_right]
    ends = np.append((code[1:] != code[:-1]) | (time[1:] != time[:-1]), True)
    last_equal = np.flatnonzero(ends)[np.cumsum(ends) - ends]
    return np.where(first < len(code), last_equal[np.minimum(first, len(code) - 1)], len(code))


def dates_of(left: pl.DataFrame, join: AsofJoin, source: TableSource) -> Rows:
    """Give the partition date of each row of a frame: its date column, or the trading date of its time."""
    schema = source.schema
    if schema.partition_by in left.columns:
        if left.schema[schema.partition_by] != pl.Date():
            found = left.schema[schema.partition_by]
            raise ColumnTypeError(
                f"column {schema.partition_by!r} of the left frame is {found}; expected dates"
            )
        return left[schema.partition_by].cast(pl.Int32).cast(pl.Int64).fill_null(_NO_DATE).to_numpy()
    dtype = left.schema[join.on]
    if isinstance(dtype, pl.Datetime) and schema.date_column is not None:
        wall = wall_clock(pl.col(join.on).cast(pl.Datetime("ns", dtype.time_zone)), _zone(source, dtype))
        shift = (DAY_NS - schema.day_start_ns) % DAY_NS
        days = (wall.cast(pl.Int64) + shift) // DAY_NS
        return left.select(days).to_series().fill_null(_NO_DATE).to_numpy()
    if dtype == pl.Date() and join.on == schema.date_column:
        return left[join.on].cast(pl.Int32).cast(pl.Int64).fill_null(_NO_DATE).to_numpy()
    if len(source.values) <= 1:
        return np.full(left.height, source.values[0] if len(source.values) else 0, dtype=np.int64)
    if isinstance(dtype, pl.Datetime):
        times, _ = _times(left, join, source)
        starts = np.maximum.accumulate(source.sort_min)
        place = np.searchsorted(starts, times, side="right") - 1
        return source.values[np.maximum(place, 0)].astype(np.int64)
    raise PlanError(
        f"the left frame has no column {schema.partition_by!r}, and {join.on!r} doesn't tell the date; add it"
        f" with with_columns({schema.partition_by}=...)"
    )


def _zone(source: TableSource, dtype: pl.Datetime) -> str | None:
    return None if dtype.time_zone is None else source.schema.zone or dtype.time_zone
