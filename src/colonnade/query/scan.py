"""From spans to pieces: the row ranges of parts that a task reads, in logical order.

A piece is what kernels take: rows of one symbol in one part. The sort key is looked up by binary search.
Where the parts of a partition don't overlap in a symbol's times, their pieces follow each other; where they
do, the rows are merged into scratch columns, and the pieces point there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.kernels import search_sorted
from colonnade.query.expr import Node, columns_of
from colonnade.query.prune import (
    Conditions,
    Interval,
    Spans,
    SymbolTable,
    conjuncts,
    intervals_of,
    positions_of,
    symbol_table,
)
from colonnade.query.scratch import ScratchColumn, ScratchPart
from colonnade.query.zones import skip_blocks
from colonnade.schema import Schema
from colonnade.store.source import PartitionSource, PartSource, TableSource

_HIGHEST: Final = (1 << 63) - 1
_DENSE: Final = 4  # ranges that cover a quarter of their hull are read whole and cut
_FEW_RANGES: Final = 16
_MIN_ENTRY_ROWS: Final = 512  # with fewer rows an entry, sorting all at once is faster than a call for each
PART, START, STOP, SYMBOL, DATE, LEAF_ROW = range(6)
_NO_PIECES: Final = np.empty((0, 6), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a task reads.

    Attributes
    ----------
    pieces
        Shape ``(n, 6)``: position in `parts`, first row, end, symbol (position in `symbols`, -1 without a
        part key), date, rows of the symbol in the partition before the first one; in logical order.
    symbols
        Distinct symbols of all pieces, sorted by bytes, a null last; None without a part key.
    conditions
        What the rows still have to fulfil.
    """

    schema: Schema
    parts: Sequence[Any]
    pieces: NDArray[np.int64]
    symbols: pl.Series | None
    conditions: tuple[Node, ...]

    @property
    def row_count(self) -> int:
        """Rows of all pieces, before the conditions are asked."""
        return int((self.pieces[:, STOP] - self.pieces[:, START]).sum())


def scan_spans(source: TableSource, conditions: Conditions, spans: Spans, columns: Iterable[str]) -> Scan:
    """Find the pieces of spans; `columns` are those that will be read of merged rows."""
    schema = source.schema
    parts: list[PartSource | ScratchPart] = []
    pieces: list[NDArray[np.int64]] = []
    symbols: list[pl.Series] = []
    exact = True
    borders = np.flatnonzero(np.diff(spans[:, 0])) + 1
    read = {*columns, *columns_of(*conditions.rows, *conditions.times)} & set(schema.columns)
    for group in np.split(spans, borders) if len(spans) else []:
        date = int(group[0, 0])
        intervals, said = _intervals_of_date(source, conditions, date)
        exact &= said
        found = _Partition(source.partition(date), schema, frozenset(read)).pieces(group, intervals)
        found.rows[:, PART] += len(parts)
        parts += found.parts
        pieces.append(found.rows)
        if found.symbols is not None:
            symbols.append(found.symbols)
    rows = np.concatenate(pieces) if pieces else _NO_PIECES
    known = _merge_symbols(symbols, pieces, rows) if schema.part_by is not None else None
    left = conditions.rows if exact else (*conditions.rows, *conditions.times)
    return Scan(schema, parts, skip_blocks(schema, parts, rows, conjuncts(left)), known, left)


def _intervals_of_date(
    source: TableSource, conditions: Conditions, date: int
) -> tuple[list[Interval] | None, bool]:
    """Give the intervals of the sort key to look up, None where all rows are wanted."""
    if not conditions.times:
        return None, True
    place = int(np.searchsorted(source.values, date))
    low, high = int(source.sort_min[place]), int(source.sort_max[place])
    intervals, exact = intervals_of(conditions.times, low, high)
    return (None if intervals == [(low, high)] else intervals), exact


def _merge_symbols(
    symbols: list[pl.Series], pieces: list[NDArray[np.int64]], rows: NDArray[np.int64]
) -> pl.Series:
    """Give all partitions one list of symbols, and change the pieces' symbols to positions in it."""
    if not symbols:
        return pl.Series([], dtype=pl.String)
    if all(other is symbols[0] for other in symbols[1:]):
        return symbols[0]
    used = [np.unique(piece[:, SYMBOL]) for piece in pieces]
    named = pl.concat([known.gather(pl.Series(codes)) for known, codes in zip(symbols, used, strict=True)])
    merged = named.unique().sort(nulls_last=True)
    places = positions_of(named, merged)
    lengths = np.cumsum([0, *(len(codes) for codes in used)])
    rows[:, SYMBOL] = np.concatenate(
        [
            places[start + np.searchsorted(codes, piece[:, SYMBOL])]
            for start, codes, piece in zip(lengths, used, pieces, strict=False)
        ]
    )
    return merged


@dataclass(slots=True)
class _Found:
    """Pieces of one partition; `PART` counts in its own parts, scratch behind the stored ones."""

    rows: NDArray[np.int64]
    parts: list[PartSource | ScratchPart]
    symbols: pl.Series | None


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Row ranges of runs: entry (symbol window) each belongs to, part, first row of the run, range."""

    entry: NDArray[np.int64]
    part: NDArray[np.int64]
    run_start: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    def where(self, keep: NDArray[np.generic]) -> _Ranges:
        return _Ranges(
            *(getattr(self, name)[keep] for name in ("entry", "part", "run_start", "start", "stop"))
        )


@dataclass(frozen=True, slots=True)
class _Partition:
    source: PartitionSource
    schema: Schema
    columns: frozenset[str]

    def pieces(self, spans: Spans, intervals: list[Interval] | None) -> _Found:
        """Find the pieces of spans of this partition."""
        parts = list(self.source.parts)
        table = self._table(parts)
        symbol, low, high = _windows(table, spans)
        ranges = _runs_of_windows(table, symbol)
        found = _Found(_NO_PIECES, list(parts), table.symbols if self.schema.part_by else None)
        lookups: list[Interval | None] = [None] if intervals is None else list(intervals)
        rows = []
        for interval in lookups:
            narrowed = ranges if interval is None else self._search(parts, ranges, interval)
            rows.append(self._ordered(found, narrowed, symbol, low, high))
        merged = np.concatenate(rows) if rows else np.empty((0, 6), dtype=np.int64)
        if len(rows) > 1:
            merged = merged[np.lexsort((merged[:, LEAF_ROW], merged[:, SYMBOL]))]
        if self.schema.part_by is None:
            merged[:, SYMBOL] = -1
        found.rows = merged
        return found

    def _table(self, parts: list[PartSource]) -> SymbolTable:
        if self.schema.part_by is not None:
            return symbol_table(self.source, self.schema.part_by)
        runs = np.array([(0, number, 0, part.row_count) for number, part in enumerate(parts)], dtype=np.int64)
        rows = np.array([0, runs[:, 3].sum()], dtype=np.int64)
        return SymbolTable(pl.Series([None], dtype=pl.String), rows, runs.reshape(-1, 4))

    def _search(self, parts: list[PartSource], ranges: _Ranges, interval: Interval) -> _Ranges:
        """Narrow ranges to the rows whose sort key lies in the closed interval."""
        assert self.schema.sort_by is not None  # noqa: S101 - only its conditions make intervals
        start, stop = ranges.start.copy(), ranges.stop.copy()
        for number, part in enumerate(parts):
            mine = np.flatnonzero(ranges.part == number)
            column = part.column(self.schema.sort_by)
            low, high = ranges.start[mine], ranges.stop[mine]
            start[mine] = search(column, low, high, interval[0])
            stop[mine] = search(column, low, high, interval[1] + 1) if interval[1] < _HIGHEST else high
        return _Ranges(ranges.entry, ranges.part, ranges.run_start, start, np.maximum(start, stop))

    def _ordered(
        self,
        found: _Found,
        ranges: _Ranges,
        symbol: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Bring ranges into logical order, merge what overlaps, and clip to the windows."""
        skipped = np.zeros(
            len(symbol), dtype=np.int64
        )  # rows of the symbol before the interval, in all parts
        np.add.at(skipped, ranges.entry, ranges.start - ranges.run_start)
        ranges = ranges.where(ranges.stop > ranges.start)
        if self.schema.sort_by is not None and not _follow_each_other(self.source.parts):
            ranges = self._merged(found, *self._by_time(ranges))
        length = ranges.stop - ranges.start
        before = np.cumsum(length) - length
        first = np.searchsorted(ranges.entry, ranges.entry)  # entries ascend
        leaf_row = skipped[ranges.entry] + before - before[first] if len(before) else before
        cut_front = np.clip(low[ranges.entry] - leaf_row, 0, length)
        cut_back = np.clip(leaf_row + length - high[ranges.entry], 0, length)
        start, stop = ranges.start + cut_front, ranges.stop - cut_back
        date = np.full(len(start), self.source.value, dtype=np.int64)
        rows = np.column_stack([ranges.part, start, stop, symbol[ranges.entry], date, leaf_row + cut_front])
        return np.ascontiguousarray(rows[stop > start])

    def _by_time(self, ranges: _Ranges) -> tuple[_Ranges, NDArray[np.bool_]]:
        """Order the ranges of a symbol by their first key, then part; tell which entries overlap."""
        first = self._keys(ranges.part, ranges.start)
        last = self._keys(ranges.part, ranges.stop - 1)
        order = np.lexsort((ranges.part, first, ranges.entry))
        ranges, first, last = ranges.where(order), first[order], last[order]
        follows = ranges.entry[1:] == ranges.entry[:-1]
        later = (last[:-1] < first[1:]) | ((last[:-1] == first[1:]) & (ranges.part[:-1] < ranges.part[1:]))
        bad = np.unique(ranges.entry[1:][follows & ~later])
        return ranges, np.isin(ranges.entry, bad)

    def _keys(self, part: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self.schema.sort_by is not None  # noqa: S101 - asked by the caller
        keys = np.empty(len(rows), dtype=np.int64)
        for number, source in enumerate(self.source.parts):
            mine = np.flatnonzero(part == number)
            if len(mine):
                keys[mine] = _as_int64(source.column(self.schema.sort_by).take(rows[mine]))
        return keys

    def _merged(self, found: _Found, ranges: _Ranges, overlaps: NDArray[np.bool_]) -> _Ranges:
        """Merge the rows of entries whose parts overlap into a scratch part."""
        if not overlaps.any():
            return ranges
        sort_by = self.schema.sort_by
        assert sort_by is not None  # noqa: S101 - only its order overlaps
        mixed, kept = ranges.where(overlaps), ranges.where(~overlaps)
        entries, keys, series = [], [], {name: [] for name in sorted(self.columns)}  # type: ignore[var-annotated]
        for number, part in enumerate(self.source.parts):
            mine = mixed.where(mixed.part == number)
            if not len(mine.start):
                continue
            entries.append(np.repeat(mine.entry, mine.stop - mine.start))
            keys.append(_as_int64(read_ranges(part.column(sort_by), mine.start, mine.stop)))
            for name, taken in series.items():
                taken.append(read_ranges(part.column(name), mine.start, mine.stop))
        entry = np.concatenate(entries)
        order, owners, first = _merged_order(entry, np.concatenate(keys))
        numbers = pl.Series(order).cast(pl.get_index_type())  # Polars would cast for each column
        columns = {
            name: ScratchColumn.of(pl.concat(taken).gather(numbers), self.schema.columns[name])
            for name, taken in series.items()
        }
        found.parts.append(ScratchPart(columns, len(order)))
        stop = np.append(first[1:], len(order)).astype(np.int64)
        scratch = np.full(len(owners), len(found.parts) - 1, dtype=np.int64)
        together = _Ranges(
            *(
                np.concatenate(pair)
                for pair in (
                    (kept.entry, owners),
                    (kept.part, scratch),
                    (kept.run_start, first),
                    (kept.start, first),
                    (kept.stop, stop),
                )
            )
        )
        return together.where(np.argsort(together.entry, kind="stable"))


def _follow_each_other(parts: Sequence[PartSource]) -> bool:
    """Whether the times of parts ascend from one to the next, so that their order needs no look at rows."""
    bounds = [part.sort_bounds for part in parts]
    return all(
        before is not None and after is not None and before[1] <= after[0]
        for before, after in pairwise(bounds)
    )


def _merged_order(
    entry: NDArray[np.int64], keys: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Order rows by entry and key, equal ones as they come; give the order, the entries, their first rows."""
    counts = np.bincount(entry)
    owners = np.flatnonzero(counts)
    first = np.cumsum(counts[owners]) - counts[owners]
    if len(owners) * _MIN_ENTRY_ROWS > len(entry):
        return np.lexsort((keys, entry)), owners, first
    order = np.argsort(entry, kind="stable")
    for start, stop in zip(first.tolist(), [*first[1:].tolist(), len(entry)], strict=True):
        mine = order[start:stop]  # some sorted runs, which a stable sort merges
        order[start:stop] = mine[np.argsort(keys[mine], kind="stable")]
    return order, owners, first


def _as_int64(keys: pl.Series) -> NDArray[np.int64]:
    """Give keys as integers of their order."""
    physical = keys.to_physical()
    if physical.dtype == pl.UInt64:
        return (physical.fill_null(0).to_numpy() ^ np.uint64(1 << 63)).view(np.int64)
    return physical.fill_null(-(1 << 63)).to_numpy().astype(np.int64, copy=False)


def search(
    column: Any,  # noqa: ANN401 - a column of a stored or scratch part
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    value: int,
) -> NDArray[np.int64]:
    """Find in each range the first row whose key is not below the value, else its end."""
    found = np.empty(len(start), dtype=np.int64)
    if len(start):
        stored = column.kernel_input(int(start.min()), int(stop.max()))
        pieces = np.column_stack([np.zeros(len(start), dtype=np.int64), start, stop])
        search_sorted([stored], np.ascontiguousarray(pieces), value, "left", found)
    return found


def rows_of(start: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the numbers of all rows of ranges, one range after the other."""
    length = stop - start
    before = np.cumsum(length) - length
    rows: NDArray[np.int64] = np.arange(int(length.sum()), dtype=np.int64) + np.repeat(start - before, length)
    return rows


def read_ranges(column: Any, start: NDArray[np.int64], stop: NDArray[np.int64]) -> pl.Series:  # noqa: ANN401
    """Decode row ranges of a column, one after the other."""
    joins = start[1:] == stop[:-1]
    start, stop = start[np.append(True, ~joins)], stop[np.append(~joins, True)]
    if len(start) == 1:
        series: pl.Series = column.read(int(start[0]), int(stop[0]))
        return series
    rows, low, high = int((stop - start).sum()), int(start.min()), int(stop.max())
    if len(start) <= _FEW_RANGES and rows > len(start) * 1024:
        read: list[pl.Series] = [
            column.read(a, b) for a, b in zip(start.tolist(), stop.tolist(), strict=True)
        ]
        return pl.concat(read)
    if rows * _DENSE >= high - low:
        whole: pl.Series = column.read(low, high)
        return whole.gather(pl.Series(rows_of(start - low, stop - low)))
    taken: pl.Series = column.take(rows_of(start, stop))
    return taken


def _windows(table: SymbolTable, spans: Spans) -> tuple[NDArray[np.int64], ...]:
    """Give the symbols that spans touch, and which of each symbol's rows."""
    first = np.searchsorted(table.first_rows, spans[:, 1], side="right") - 1
    after = np.searchsorted(table.first_rows, spans[:, 2], side="left")
    symbol = rows_of(first, after)
    owner = np.repeat(np.arange(len(spans)), after - first)
    base = table.first_rows[symbol]
    low = np.maximum(spans[owner, 1] - base, 0)
    high = np.minimum(spans[owner, 2], table.first_rows[symbol + 1]) - base
    return symbol, low, high


def _runs_of_windows(table: SymbolTable, symbol: NDArray[np.int64]) -> _Ranges:
    """Give the runs of all parts for each window, ordered by window, then part."""
    runs = table.runs
    if len(runs) == len(table.symbols) and (np.diff(runs[:, 0]) > 0).all():
        picked, entry = runs[symbol], np.arange(len(symbol))
    else:
        ordered = runs[np.argsort(runs[:, 0], kind="stable")]
        first = np.searchsorted(ordered[:, 0], symbol)
        after = np.searchsorted(ordered[:, 0], symbol, side="right")
        picked = ordered[rows_of(first, after)]
        entry = np.repeat(np.arange(len(symbol)), after - first)
    start = picked[:, 2]
    return _Ranges(entry, picked[:, 1], start, start, start + picked[:, 3])
