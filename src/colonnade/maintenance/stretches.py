"""The logical order of the rows of several parts, a stretch at a time, so that memory stays bounded.

Rows are ordered by part key, sort key, sequence of the part, row. A stretch takes at most one range of rows
of each part: some symbols, or a span of the sort key of one symbol that has many rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.schema import SYMBOL_NULL, Schema
from colonnade.store.table_source import PartColumn, StoredPart

STRETCH_ROWS: Final = 1 << 20
_SAMPLE_ROWS: Final = 1 << 12  # a long symbol is cut at keys of every 4,096th row

Runs = NDArray[np.int64]  # (n, 4): symbol over all parts, part, first row, end; by part, then symbol


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of some parts that follow each other in logical order.

    Attributes
    ----------
    ranges
        Part, first row, end; at most one a part, by part.
    picked
        Positions in the rows of the ranges, taken one after the other, in the order wanted; None for all of
        them as they lie.
    row_count
        Rows that it gives.
    """

    ranges: tuple[tuple[int, int, int], ...]
    picked: NDArray[np.int64] | None
    row_count: int


def stretches_of(
    parts: Sequence[StoredPart], schema: Schema, *, row_limit: int = STRETCH_ROWS
) -> Iterator[Stretch]:
    """Give all rows of parts, which are in the order of their sequence, in logical order.

    A stretch has about ``row_limit`` rows; more only where so many rows of a symbol have the same key.
    """
    runs = _runs_of(parts, schema)
    for first, after in _symbol_batches(runs, row_limit):
        mine = runs[(runs[:, 0] >= first) & (runs[:, 0] < after)]
        rows = int((mine[:, 3] - mine[:, 2]).sum())
        if rows <= row_limit:
            yield _stretch(parts, schema, mine)
        elif schema.sort_by is None or len(mine) == 1:  # one symbol, its rows as they came
            yield from _cut(mine, row_limit)
        else:
            for piece in _key_pieces(parts, schema.sort_by, mine, row_limit):
                yield _stretch(parts, schema, piece)


def rows_of(start: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the numbers of all rows of ranges, one range after the other."""
    length = stop - start
    before = np.cumsum(length) - length
    rows: NDArray[np.int64] = np.arange(int(length.sum()), dtype=np.int64) + np.repeat(start - before, length)
    return rows


def _runs_of(parts: Sequence[StoredPart], schema: Schema) -> Runs:
    """Give where each symbol lies in each part; without a part key all rows are of one symbol."""
    if schema.part_by is None:
        return np.array([(0, at, 0, part.row_count) for at, part in enumerate(parts)], dtype=np.int64)
    texts = [part.column(schema.part_by).dictionary for part in parts]
    ordered = pl.concat([text for text in texts if text is not None]).unique().sort()
    found = []
    for at, (part, text) in enumerate(zip(parts, texts, strict=True)):
        stored = part.runs
        assert stored is not None  # noqa: S101 - a column that parts are parted by has runs
        assert text is not None  # noqa: S101 - it is a symbol column
        ranks = np.append(ordered.search_sorted(text).to_numpy().astype(np.int64), len(ordered))
        codes = stored["code"]
        runs = np.empty((len(stored), 4), dtype=np.int64)
        runs[:, 0] = ranks[np.where(codes == SYMBOL_NULL, len(text), codes)]  # null comes last
        runs[:, 1] = at
        runs[:, 2] = stored["first_row"]
        runs[:, 3] = stored["first_row"] + stored["row_count"]
        found.append(runs)
    return np.concatenate(found)


def _symbol_batches(runs: Runs, row_limit: int) -> list[tuple[int, int]]:
    """Cut the symbols into batches of about ``row_limit`` rows: first symbol, and the one after the last."""
    symbols, inverse = np.unique(runs[:, 0], return_inverse=True)
    counts = np.zeros(len(symbols), dtype=np.int64)
    np.add.at(counts, inverse, runs[:, 3] - runs[:, 2])
    batches: list[tuple[int, int]] = []
    rows = row_limit + 1
    for symbol, count in zip(symbols.tolist(), counts.tolist(), strict=True):
        if rows + count > row_limit:
            batches.append((symbol, symbol + 1))
            rows = count
        else:
            batches[-1] = (batches[-1][0], symbol + 1)
            rows += count
    return batches


def _cut(runs: Runs, row_limit: int) -> Iterator[Stretch]:
    """Cut the rows of runs that follow each other in order."""
    for _, part, start, stop in runs.tolist():
        for first in range(start, stop, row_limit):
            last = min(first + row_limit, stop)
            yield Stretch(((part, first, last),), None, last - first)


def _key_pieces(parts: Sequence[StoredPart], sort_by: str, runs: Runs, row_limit: int) -> Iterator[Runs]:
    """Cut the rows of one symbol where the sort key passes values that were sampled."""
    sampled = [
        _SampledKeys(parts[part].column(sort_by), start, stop) for _, part, start, stop in runs.tolist()
    ]
    keys = np.sort(np.concatenate([one.keys for one in sampled]))
    step = max(row_limit // _SAMPLE_ROWS - len(parts), 1)
    borders = [runs[:, 2]]
    borders += [
        np.array([one.first_at_least(key) for one in sampled], dtype=np.int64)
        for key in np.unique(keys[step::step])
    ]
    borders.append(runs[:, 3])
    for start, stop in pairwise(borders):
        piece = runs.copy()
        piece[:, 2], piece[:, 3] = start, stop
        piece = piece[stop > start]
        if len(piece):
            yield piece


class _SampledKeys:
    """Every 4,096th key of a run, and where others lie."""

    def __init__(self, column: PartColumn, start: int, stop: int) -> None:
        self._column = column
        self._start = start
        self._stop = stop
        rows = range(start, stop, _SAMPLE_ROWS)
        self.keys = np.concatenate([column.read_stored(row, row + 1).values for row in rows])

    def first_at_least(self, key: Any) -> int:  # noqa: ANN401 - an integer of the column's type
        """Give the first row whose key isn't below a value, else the end of the run."""
        found = int(np.searchsorted(self.keys, key))
        if found == 0:
            return self._start
        first = self._start + (found - 1) * _SAMPLE_ROWS
        values = self._column.read_stored(first, min(first + _SAMPLE_ROWS, self._stop)).values
        return first + int(np.searchsorted(values, key))


def _stretch(parts: Sequence[StoredPart], schema: Schema, runs: Runs) -> Stretch:
    """Order the rows of runs of adjacent symbols."""
    numbers, first = np.unique(runs[:, 1], return_index=True)
    last = np.append(first[1:], len(runs)) - 1
    ranges = tuple(zip(numbers.tolist(), runs[first, 2].tolist(), runs[last, 3].tolist(), strict=True))
    lengths = runs[last, 3] - runs[first, 2]
    offsets = np.cumsum(lengths) - lengths - runs[first, 2]  # of a part's rows among those of all ranges
    moved = np.repeat(offsets, last - first + 1)
    start, stop = runs[:, 2] + moved, runs[:, 3] + moved
    rows = int(lengths.sum())
    if schema.sort_by is None:
        order = np.lexsort((runs[:, 1], runs[:, 0]))
        return Stretch(ranges, _rows_unless_all(start[order], stop[order]), rows)
    keys = np.concatenate(
        [parts[part].column(schema.sort_by).read_stored(a, b).values for part, a, b in ranges]
    )
    return Stretch(ranges, _by_key(runs[:, 0], runs[:, 1], start, stop, keys), rows)


def _by_key(
    symbol: NDArray[np.int64],
    part: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    keys: NDArray[Any],
) -> NDArray[np.int64] | None:
    """Order runs by symbol and key; only the rows of symbols whose runs overlap in time are sorted."""
    first, last = keys[start], keys[stop - 1]
    order = np.lexsort((part, first, symbol))
    same = symbol[order][1:] == symbol[order][:-1]
    before, after = last[order][:-1], first[order][1:]
    follows = (before < after) | ((before == after) & (part[order][:-1] < part[order][1:]))
    mixed = np.isin(symbol, np.unique(symbol[order][1:][same & ~follows]))
    if not mixed.any():
        return _rows_unless_all(start[order], stop[order])
    order = np.lexsort((part, np.where(mixed, 0, first), symbol))  # runs that overlap by part, for ties
    rows = rows_of(start[order], stop[order])
    length = (stop - start)[order]
    moving = np.flatnonzero(np.repeat(mixed[order], length))
    chosen = rows[moving]
    rows[moving] = chosen[np.lexsort((keys[chosen], np.repeat(symbol[order], length)[moving]))]
    return rows


def _rows_unless_all(start: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.int64] | None:
    return None if np.array_equal(start[1:], stop[:-1]) else rows_of(start, stop)
