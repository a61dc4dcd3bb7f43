"""As-of joins: for each left row the right row of its key at or before its time, within the partition date.

The left's dates and keys decide what is read of the right. Only the keys and times of the right are read to
find the rows; of the other columns just the rows that were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import ColumnTypeError, PlanError
from colonnade.kernels import asof_rows, asof_state_words
from colonnade.query.expr import Column, IsIn, Literal, columns_of
from colonnade.query.join import payload_names
from colonnade.query.plan import AsofJoin, Output, Plan
from colonnade.query.prune import Conditions, split_conditions, wanted_dates, wanted_spans
from colonnade.query.rows import condition_form, pick, read_columns, read_rows
from colonnade.query.scan import scan_spans
from colonnade.query.scratch import plain_input
from colonnade.query.values import DAY_NS, wall_clock
from colonnade.schema import ColumnType
from colonnade.store.source import TableSource

_NOTHING: Final = -1
_STRATEGIES: Final = {"backward": 0, "forward": 1, "nearest": 2}  # as `asof_rows` numbers them
_ROW_BUDGET: Final = 1 << 22  # rows of both sides between two chances for Ctrl-C
_READ_WHOLE: Final = 4  # the right's columns are read whole where one in four rows is wanted
_DENSE_CODES: Final = 1 << 20  # up to so many codes are numbered by their values, without sorting
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
        series = _in_nanoseconds(series)
    elif series.dtype != dtype:
        series = series.cast(dtype)
    there = series.is_not_null().to_numpy()
    return series.to_physical().fill_null(0).cast(pl.Int64).to_numpy(), there


def _in_nanoseconds(series: pl.Series) -> pl.Series:
    if not isinstance(series.dtype, pl.Datetime):
        return series
    try:
        return series.cast(pl.Datetime("ns", series.dtype.time_zone))
    except pl.exceptions.PolarsError:
        reach = "outside what nanoseconds reach, 1677-09-21 to 2262-04-11"
        raise ColumnTypeError(f"column {series.name!r} of the left frame has a time {reach}") from None


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
        mine = np.empty((len(times), 0), np.int64) if codes is None else codes
        theirs = np.empty((len(right_times), 0), np.int64)
        if join.by:
            theirs = np.column_stack([_integers(keys[name], keys.schema[name]) for name in join.by])
        is_group = np.array([name == self.schema.part_by for name in join.by], dtype=bool)
        left_group, right_group, _ = _dense(mine[:, is_group], theirs[:, is_group])
        left_code, right_code, count = _dense(mine[:, ~is_group], theirs[:, ~is_group])
        right = JoinKeys(right_group, right_code, right_times)
        number = np.flatnonzero(there)
        found = match_rows(
            JoinKeys(left_group, left_code, times),
            right if there.all() else right.take(number),
            count,
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
        if len(rows) * _READ_WHOLE >= self.scan.row_count:
            whole = read_rows(replace(self.scan, conditions=()), outputs)
            return whole.select(pl.all().gather(pl.lit(pl.Series(rows))))
        if (rows[:-1] <= rows[1:]).all():  # as for left rows of a table
            fresh = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
            distinct, place = rows[fresh], np.cumsum(fresh) - 1
        else:
            distinct, place = np.unique(rows, return_inverse=True)
        frame = read_rows(pick(self.scan, distinct), outputs)
        if len(distinct) == len(rows) and (place[:-1] < place[1:]).all():
            return frame
        return frame.select(pl.all().gather(pl.lit(pl.Series(place.astype(np.int64)))))


def _on_date(plan: Plan, date: int | None) -> IsIn:
    return IsIn(Column(plan.schema.partition_by), () if date is None else (Literal(date, _DATE),))


def _dense(left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[Rows, Rows, int]:
    """Give two lists of keys numbers from 0, equal for equal keys, and the count of numbers."""
    if not left.shape[1]:
        return np.zeros(len(left), np.int64), np.zeros(len(right), np.int64), 1
    if left.shape[1] == 1:
        one, other = np.ascontiguousarray(left[:, 0]), np.ascontiguousarray(right[:, 0])
        least = min(int(one.min(initial=0)), int(other.min(initial=0)))
        width = max(int(one.max(initial=0)), int(other.max(initial=0))) - least + 1
        if width <= _DENSE_CODES:
            return one - least, other - least, width
    both = np.concatenate([left, right])
    low = both.min(axis=0, initial=0)
    span = both.max(axis=0, initial=0) - low + 1
    if (span > 0).all() and np.prod(span.astype(np.float64)) <= _DENSE_CODES:
        codes = np.zeros(len(both), np.int64)
        for column in range(both.shape[1]):
            codes = codes * span[column] + (both[:, column] - low[column])
        count = int(np.prod(span))
    else:
        distinct, codes = np.unique(both, axis=0, return_inverse=True)
        codes, count = codes.reshape(-1).astype(np.int64), len(distinct)
    return codes[: len(left)], codes[len(left) :], count


@dataclass(frozen=True, slots=True)
class JoinKeys:
    """What rows are matched by: a group that both sides are cut by, a code within it, and a time."""

    group: Rows
    code: Rows
    time: Rows

    def take(self, rows: Rows) -> JoinKeys:
        """Give some of the rows."""
        return JoinKeys(self.group[rows], self.code[rows], self.time[rows])


@dataclass(frozen=True, slots=True)
class Grouped:
    """Keys with each group in one stretch, times ascending in it, equal ones in the order they had.

    Attributes
    ----------
    order
        Row of the original that stands at each place; None where nothing moved.
    group, start, stop
        One element a group, ascending by group: its rows are ``[start, stop)``.
    """

    keys: JoinKeys
    order: Rows | None
    group: Rows
    start: Rows
    stop: Rows

    @classmethod
    def of(cls, keys: JoinKeys) -> Grouped:
        """Put keys in order, unless they lie so: rows of a table do."""
        changes = keys.group[1:] != keys.group[:-1]
        starts = _starts(keys.group)
        is_apart = len(starts) == len(np.unique(keys.group[starts]))
        if is_apart and (changes | (keys.time[1:] >= keys.time[:-1])).all():
            order = None
        else:
            order = np.lexsort((keys.time, keys.group))
            keys = keys.take(order)
            starts = _starts(keys.group)
        stops = np.append(starts[1:], len(keys.group))[: len(starts)]
        by_group = np.argsort(keys.group[starts])
        starts, stops = starts[by_group], stops[by_group]
        return cls(keys, order, keys.group[starts], starts, stops)


def _starts(group: Rows) -> Rows:
    """Give the rows at which a group begins."""
    return np.flatnonzero(np.append(True, group[1:] != group[:-1])[: len(group)])


def match_rows(left: JoinKeys, right: JoinKeys, codes: int, *, strategy: str, tolerance: int | None) -> Rows:
    """Give for each left row the matching right row or -1; of equal times the last right row wins.

    ``codes`` is the number of codes; with one, groups alone decide, which is faster.
    """
    mine, theirs = Grouped.of(left), Grouped.of(right)
    pairs = np.zeros((len(mine.group), 7), np.int64)
    pairs[:, 1], pairs[:, 2], pairs[:, 6] = mine.start, mine.stop, mine.start
    place = np.searchsorted(theirs.group, mine.group)
    place[place == len(theirs.group)] = 0
    if len(theirs.group):
        shared = theirs.group[place] == mine.group
        pairs[shared, 4] = theirs.start[place[shared]]
        pairs[shared, 5] = theirs.stop[place[shared]]
    found = np.full(len(mine.keys.time), _NOTHING, np.int64)
    count = 0 if codes == 1 else codes
    state = np.zeros(asof_state_words(count), np.int64)
    my_code, their_code = ([plain_input(side.keys.code)] if count else [] for side in (mine, theirs))
    my_time, their_time = [plain_input(mine.keys.time)], [plain_input(theirs.keys.time)]
    way, distance = _STRATEGIES[strategy], -1 if tolerance is None else tolerance
    is_done = False
    while not is_done:
        is_done = asof_rows(
            my_time, their_time, my_code, their_code, count, pairs, way, distance, state, found, _ROW_BUDGET
        )
    if theirs.order is not None and len(theirs.order):
        found = np.where(found >= 0, theirs.order[np.maximum(found, 0)], _NOTHING)
    if mine.order is None:
        return found
    result = np.empty_like(found)
    result[mine.order] = found
    return result


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
        wall = wall_clock(pl.col(join.on), _zone(source, dtype))
        shift = (DAY_NS - schema.day_start_ns) % DAY_NS
        days = (wall.cast(pl.Int64) + shift) // DAY_NS
        return (
            _in_nanoseconds(left[join.on]).to_frame().select(days).to_series().fill_null(_NO_DATE).to_numpy()
        )
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
        f"the left frame has no column {schema.partition_by!r}, and {join.on!r} doesn't tell the date; "
        f"add it with with_columns({schema.partition_by}=...)"
    )


def _zone(source: TableSource, dtype: pl.Datetime) -> str | None:
    return None if dtype.time_zone is None else source.schema.zone or dtype.time_zone
