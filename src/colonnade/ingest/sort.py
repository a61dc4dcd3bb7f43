"""Rows in any order to partitions in logical order, in bounded memory.

Rows gather in memory. What exceeds the limit is sorted and written to a temporary folder as a run; at the
end the runs are merged, a stretch of symbols (or of one symbol's time) at a time. Rows of equal keys keep the
order of arrival, because runs are merged in the order in which they were written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.ingest.order import DAYS, Groups, in_order
from colonnade.schema import Schema
from colonnade.store.text import distinct_text
from colonnade.threads import map_ordered

_GATHER_SHARE: Final = (
    4  # of the memory for gathered rows: sorting holds them twice, and the parser some more
)
_MERGE_SHARE: Final = 16
_BATCH_ROWS: Final = 1 << 13  # rows of a record batch in a run: the least that is read at once
_SAMPLE_ROWS: Final = 1 << 12
_OUT_ROWS: Final = 1 << 20
_FEW_ROWS: Final = 1 << 16  # columns of fewer rows aren't worth threads
_STRETCHES, _STRETCH_ROWS = 4, 1 << 14  # of a sample


@dataclass(frozen=True, slots=True)
class SortedPartition:
    """The rows of one trading date.

    Attributes
    ----------
    days
        The date as days since 1970-01-01.
    row_count
        Number of rows.
    dictionaries
        Distinct values of each symbol column, sorted by bytes, without null.
    frames
        The rows in logical order, to be read once.
    """

    days: int
    row_count: int
    dictionaries: Mapping[str, pl.Series]
    frames: Iterator[pl.DataFrame]


class Sorter:
    """Takes canonical frames and gives partitions.

    Parameters
    ----------
    schema
        Columns and keys.
    folder
        Temporary folder, made when it is needed and removed at the end.
    memory_bytes
        Memory that gathered and sorted rows may take.

    Attributes
    ----------
    row_count
        Rows taken so far.
    """

    def __init__(self, schema: Schema, folder: Path, memory_bytes: int) -> None:
        self._schema = schema
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._gathered: list[pl.DataFrame] = []
        self._gathered_bytes = 0
        self._runs: list[_Run] = []
        self._end: _Finished | None = None
        self.row_count = 0

    def close(self) -> None:
        """Remove the temporary folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, frame: pl.DataFrame, days: pl.Series) -> None:
        """Take rows in the order of arrival, with their trading dates."""
        self._gathered.append(frame.with_columns(days.alias(DAYS)))
        self.row_count += frame.height
        self._gathered_bytes += int(frame.estimated_size()) + 4 * frame.height
        if self._gathered_bytes > self._memory_bytes // _GATHER_SHARE:
            self._runs.append(self._write_run(self._sorted()))

    def sample(self) -> pl.DataFrame:
        """Give some rows in logical order, from all over the first run; after the last `add`."""
        return self._finished().sample

    @property
    def partition_count(self) -> int:
        """Number of trading dates; after the last `add`."""
        groups = self._finished().groups
        if groups is not None:
            return len(set(groups.days.tolist()))
        return len({days for run in self._runs for days in run.days})

    def partitions(self) -> Iterator[SortedPartition]:
        """Yield the partitions by ascending date; each is to be read before the next."""
        groups = self._finished().groups
        if groups is not None:
            yield from _of_groups(groups, self._schema)
        if not self._runs:
            return
        rows = max(
            self._memory_bytes // _MERGE_SHARE // max(run.row_bytes for run in self._runs), _BATCH_ROWS
        )
        for days in sorted({days for run in self._runs for days in run.days}):
            runs = [run for run in self._runs if days in run.days]
            dictionaries = {
                name: pl.concat([run.days[days].dictionaries[name] for run in runs]).unique().sort()
                for name in _symbol_columns(self._schema)
            }
            count = sum(run.days[days].starts[-1] - run.days[days].starts[0] for run in runs)
            frames = _merged([(run, run.days[days]) for run in runs], self._schema, rows)
            yield SortedPartition(days, int(count), dictionaries, frames)

    def _finished(self) -> _Finished:
        """Sort what is still gathered: it is all there is, or the last run."""
        if self._end is None:
            groups = self._sorted() if self._gathered else None
            if not self._runs and groups is not None:
                self._end = _Finished(groups, _spread(_without_days(groups.frame)))
            else:
                if groups is not None:
                    self._runs.append(self._write_run(groups))
                first = self._runs[0]
                self._end = _Finished(None, _spread(pl.scan_ipc(first.path), first.row_count))
        return self._end

    def _sorted(self) -> Groups:
        frame = pl.concat(self._gathered)
        self._gathered = []
        self._gathered_bytes = 0
        return in_order(frame, self._schema)

    def _write_run(self, groups: Groups) -> _Run:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"run-{len(self._runs):05d}.arrow"
        frame = _without_days(groups.frame)
        frame.write_ipc(path, compression="lz4", record_batch_size=_BATCH_ROWS)
        days = {}
        for date, first, last in _days_of(groups):
            start, stop = int(groups.starts[first]), int(groups.starts[last])
            days[date] = _RunDay(
                groups.symbols[first:last],
                groups.starts[first : last + 1],
                _dictionaries(frame.slice(start, stop - start), self._schema),
            )
        row_bytes = int(frame.estimated_size()) // max(frame.height, 1) + 1
        samples = None
        if self._schema.sort_by is not None:
            keys = frame[self._schema.sort_by].to_physical()
            samples = keys.gather_every(_SAMPLE_ROWS).to_numpy().copy()
        return _Run(path, days, row_bytes, samples, frame.height)


@dataclass(frozen=True, slots=True)
class _Finished:
    """All rows, if they are in memory, and a sample."""

    groups: Groups | None
    sample: pl.DataFrame


@dataclass(frozen=True, slots=True)
class _RunDay:
    """One date of a run: its part keys in order, and where each begins; the last start is the end."""

    symbols: Sequence[str | None]
    starts: NDArray[np.int64]
    dictionaries: Mapping[str, pl.Series]


@dataclass(frozen=True, slots=True)
class _Run:
    """Sorted rows in a file. ``samples`` holds the sort key of every 4,096th row."""

    path: Path
    days: Mapping[int, _RunDay]
    row_bytes: int
    samples: NDArray[Any] | None
    row_count: int

    def read(self, start: int, stop: int) -> pl.DataFrame:
        return pl.scan_ipc(self.path).slice(start, stop - start).collect()

    def first_at_least(self, start: int, stop: int, key: int, column: str) -> int:
        """Give the first row of a sorted stretch whose key is at least ``key``; ``stop`` if there is none."""
        assert self.samples is not None  # noqa: S101 - only called where there is a sort key
        low, high = -(-start // _SAMPLE_ROWS), -(-stop // _SAMPLE_ROWS)
        found = low + int(np.searchsorted(self.samples[low:high], key))
        begin, end = max(start, (found - 1) * _SAMPLE_ROWS), min(stop, found * _SAMPLE_ROWS)
        if begin >= end:
            return begin
        lazy = pl.scan_ipc(self.path).select(column).slice(begin, end - begin)
        return begin + int(np.searchsorted(lazy.collect()[column].to_physical().to_numpy(), key))


def _without_days(frame: pl.DataFrame) -> pl.DataFrame:
    """Give the columns of the table; `drop` would copy them where they have other chunks than the dates."""
    return frame[[name for name in frame.columns if name != DAYS]]


def _spread(rows: pl.DataFrame | pl.LazyFrame, row_count: int | None = None) -> pl.DataFrame:
    """Give stretches of rows from all over a frame."""
    lazy = rows.lazy()
    count = row_count if row_count is not None else lazy.select(pl.len()).collect().item()
    if count <= _STRETCHES * _STRETCH_ROWS:
        return lazy.collect()
    step = (count - _STRETCH_ROWS) // (_STRETCHES - 1)
    return pl.concat([lazy.slice(at * step, _STRETCH_ROWS).collect() for at in range(_STRETCHES)])


Slice = tuple[_Run, int, int]


def _of_groups(groups: Groups, schema: Schema) -> Iterator[SortedPartition]:
    rows = _without_days(groups.frame)
    for date, first, last in _days_of(groups):
        start, stop = int(groups.starts[first]), int(groups.starts[last])
        frame = rows.slice(start, stop - start)
        yield SortedPartition(date, frame.height, _dictionaries(frame, schema), _pieces(frame))


def _pieces(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for at in range(0, frame.height, _OUT_ROWS):
        yield frame.slice(at, _OUT_ROWS)


def _days_of(groups: Groups) -> Iterator[tuple[int, int, int]]:
    """Yield each date with its first group and the one after its last."""
    firsts = np.flatnonzero(np.diff(groups.days.astype(np.int64), prepend=-(1 << 40)))
    for first, last in zip(firsts.tolist(), [*firsts[1:].tolist(), len(groups.days)], strict=True):
        yield int(groups.days[first]), first, last


def _symbol_columns(schema: Schema) -> list[str]:
    return [name for name, kind in schema.columns.items() if kind.kind == "symbol"]


def _dictionaries(frame: pl.DataFrame, schema: Schema) -> dict[str, pl.Series]:
    names = _symbol_columns(schema)
    if frame.height < _FEW_ROWS:
        return {name: frame[name].unique().drop_nulls().sort() for name in names}
    return dict(zip(names, map_ordered(lambda name: distinct_text(frame[name]), names), strict=True))


def _merged(runs: Sequence[tuple[_Run, _RunDay]], schema: Schema, row_limit: int) -> Iterator[pl.DataFrame]:
    """Merge one date of several runs: stretches of symbols that fit in memory, or of one symbol's time."""
    for stretch in _symbol_stretches(runs, row_limit):
        rows = sum(stop - start for _, start, stop in stretch)
        if rows <= row_limit:
            yield _together(stretch, schema)
        elif schema.sort_by is None:
            yield from _one_by_one(stretch, row_limit)
        else:
            for part in _key_stretches(stretch, schema.sort_by, row_limit):
                yield _together(part, schema)


def _symbol_stretches(runs: Sequence[tuple[_Run, _RunDay]], row_limit: int) -> Iterator[list[Slice]]:
    """Cut one date into stretches of symbols with at most ``row_limit`` rows, or of one symbol."""
    counts: dict[str | None, int] = {}
    for _, day in runs:
        for symbol, count in zip(day.symbols, np.diff(day.starts).tolist(), strict=True):
            counts[symbol] = counts.get(symbol, 0) + count
    taken = [0] * len(runs)
    for batch in _symbol_batches(counts, row_limit):
        stretch = []
        for position, (run, day) in enumerate(runs):
            first = last = taken[position]
            while last < len(day.symbols) and day.symbols[last] in batch:
                last += 1
            taken[position] = last
            if last > first:
                stretch.append((run, int(day.starts[first]), int(day.starts[last])))
        yield stretch


def _symbol_batches(counts: Mapping[str | None, int], row_limit: int) -> Iterator[set[str | None]]:
    """Yield symbols in the order of their bytes, as many at a time as have at most ``row_limit`` rows."""
    ordered: list[str | None] = [*sorted((name for name in counts if name is not None), key=str.encode)]
    batch: set[str | None] = set()
    rows = 0
    for symbol in ordered + [None] * (None in counts):
        if batch and rows + counts[symbol] > row_limit:
            yield batch
            batch, rows = set(), 0
        batch.add(symbol)
        rows += counts[symbol]
    if batch:
        yield batch


def _key_stretches(stretch: Sequence[Slice], column: str, row_limit: int) -> Iterator[list[Slice]]:
    """Cut one symbol's rows where the sort key passes sampled values, so that each piece fits in memory."""
    sampled = [
        run.samples[-(-start // _SAMPLE_ROWS) : -(-stop // _SAMPLE_ROWS)]
        for run, start, stop in stretch
        if run.samples is not None
    ]
    keys = np.sort(np.concatenate(sampled))
    step = max(row_limit // _SAMPLE_ROWS - len(stretch), 1)
    begins = [start for _, start, _ in stretch]
    for key in [*np.unique(keys[step::step]).tolist(), None]:
        ends = [
            stop if key is None else run.first_at_least(start, stop, key, column)
            for run, start, stop in stretch
        ]
        part = [
            (run, begin, end)
            for (run, _, _), begin, end in zip(stretch, begins, ends, strict=True)
            if end > begin
        ]
        begins = ends
        if part:
            yield part


def _together(stretch: Sequence[Slice], schema: Schema) -> pl.DataFrame:
    frame = pl.concat([run.read(start, stop) for run, start, stop in stretch], rechunk=True)
    frame = frame.with_columns(pl.lit(0, dtype=pl.Int32).alias(DAYS))
    return _without_days(in_order(frame, schema).frame)


def _one_by_one(stretch: Sequence[Slice], row_limit: int) -> Iterator[pl.DataFrame]:
    for run, start, stop in stretch:
        for at in range(start, stop, row_limit):
            yield run.read(at, min(at + row_limit, stop))
