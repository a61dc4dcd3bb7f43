"""What a plan need not read, by date, dictionary and runs; and what is left, cut into spans.

Conditions are taken apart at their ``&``. Those on the partition column alone are answered from the list of
partitions, those on the part key alone from the dictionaries. `intervals_of` turns those on the sort key into
intervals, which a task looks up by binary search. The rest is for the rows.

A span is ``(date, first, stop)``: logical rows of one partition, whose symbols are all wanted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.query.expr import (
    MIRRORED,
    Binary,
    Column,
    IsIn,
    LastPartitions,
    Literal,
    Node,
    TimeOfDay,
    columns_of,
)
from colonnade.query.plan import Plan
from colonnade.query.polars_form import polars_form
from colonnade.query.values import DAY_NS, offset_segments
from colonnade.schema import SYMBOL_NULL, ColumnType, Schema
from colonnade.store.source import PartitionSource, TableSource

LEAF_ROWS: Final = 1 << 20  # float sums are added leaf by leaf, so tasks are cut between leaves only
TASK_ROWS: Final = 4 * LEAF_ROWS
Spans = NDArray[np.int64]  # shape (n, 3)
_tables: WeakKeyDictionary[PartitionSource, SymbolTable] = WeakKeyDictionary()  # of partitions in use
Interval = tuple[int, int]  # closed

_LOWEST: Final = -(1 << 63)
_HIGHEST: Final = (1 << 63) - 1
_MAX_INTERVALS: Final = 64  # more than this many are a condition on the rows within their hull
_MAX_CLOCK_DAYS: Final = 40  # a partition that spans more is asked row by row


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conjuncts of a plan, by what can answer them."""

    partitions: tuple[Node, ...]
    symbols: tuple[Node, ...]
    times: tuple[Node, ...]
    rows: tuple[Node, ...]


def split_conditions(plan: Plan) -> Conditions:
    """Sort the conjuncts of a plan by what answers them first."""
    schema = plan.schema
    found: dict[str, list[Node]] = {"partitions": [], "symbols": [], "times": [], "rows": []}
    for node in conjuncts(plan.conditions):
        names = columns_of(node)
        if isinstance(node, LastPartitions) or names in ([schema.partition_by], []):
            kind = "partitions"
        elif names == [schema.part_by]:
            kind = "symbols"
        elif names == [schema.sort_by] and is_interval(node, schema):
            kind = "times"
        else:
            kind = "rows"
        found[kind].append(node)
    return Conditions(**{kind: tuple(nodes) for kind, nodes in found.items()})


def conjuncts(nodes: Iterable[Node]) -> list[Node]:
    """Take conditions apart at their ``&``."""
    flat: list[Node] = []
    for node in nodes:
        flat += conjuncts((node.left, node.right)) if isinstance(node, Binary) and node.op == "&" else [node]
    return flat


def wanted_dates(source: TableSource, conditions: Conditions) -> NDArray[np.int32]:
    """Give the dates that fulfil the conditions on the partition column."""
    dates = source.values
    keep = np.ones(len(dates), dtype=bool)
    column = {source.schema.partition_by: ColumnType("date")}
    frame = pl.DataFrame({source.schema.partition_by: pl.Series(np.asarray(dates, np.int32)).cast(pl.Date)})
    newest = [node for node in conditions.partitions if isinstance(node, LastPartitions)]
    for node in conditions.partitions:
        if not isinstance(node, LastPartitions):
            mask = frame.select(pl.repeat(value=True, n=pl.len()) & polars_form(node, column)).to_series()
            keep &= mask.fill_null(value=False).to_numpy()
    for node in newest:
        keep[: max(0, len(dates) - node.count)] = False
    return dates[keep]


# ---- symbols


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """The symbols of one partition over all of its parts, in logical order.

    Attributes
    ----------
    symbols
        Distinct symbols that rows have, sorted by bytes; a null comes last.
    first_rows
        Logical row at which a symbol begins, and one more element: the rows of the partition.
    runs
        One row a (part, symbol), ordered by part, then symbol: position in `symbols`, part, first row in the
        part, rows.
    """

    symbols: pl.Series
    first_rows: NDArray[np.int64]
    runs: NDArray[np.int64]


def symbol_table(partition: PartitionSource, part_by: str) -> SymbolTable:
    """Merge dictionaries and runs of the parts of a partition; those of several parts are kept with it."""
    if len(partition.parts) == 1:
        symbols, runs = _runs_of(partition.parts[0], 0, part_by)
        runs[:, 0] = np.arange(len(runs))
        return _table_of(symbols, runs)
    known = _tables.get(partition)
    if known is not None:
        return known
    found = [_runs_of(part, number, part_by) for number, part in enumerate(partition.parts)]
    named = pl.concat([symbols for symbols, _ in found])
    runs = np.concatenate([runs for _, runs in found])
    symbols = named.unique().sort(nulls_last=True)
    runs[:, 0] = positions_of(named, symbols)
    return _tables.setdefault(partition, _table_of(symbols, runs))


def _table_of(symbols: pl.Series, runs: NDArray[np.int64]) -> SymbolTable:
    counts = np.zeros(len(symbols) + 1, dtype=np.int64)
    np.add.at(counts, runs[:, 0] + 1, runs[:, 3])
    runs.flags.writeable = False
    return SymbolTable(symbols, np.cumsum(counts), runs)


def _runs_of(part: Any, number: int, part_by: str) -> tuple[pl.Series, NDArray[np.int64]]:  # noqa: ANN401
    stored = part.runs
    runs = np.empty((len(stored), 4), dtype=np.int64)
    runs[:, 0] = 0
    runs[:, 1] = number
    runs[:, 2] = stored["first_row"]
    runs[:, 3] = stored["row_count"]
    return symbols_of_codes(part.column(part_by).dictionary, stored["code"]), runs


def symbols_of_codes(dictionary: pl.Series, codes: NDArray[np.uint32]) -> pl.Series:
    """Look codes up in a dictionary; the null code gives null."""
    if len(codes) == len(dictionary) and (not len(codes) or int(codes[-1]) == len(codes) - 1):
        return dictionary  # ascending and distinct, so every symbol in its place
    numbers = pl.Series(np.ascontiguousarray(codes))
    if len(codes) and int(codes[-1]) == SYMBOL_NULL:
        return dictionary.gather(numbers[:-1]).extend_constant(None, 1)
    return dictionary.gather(numbers)


def positions_of(values: pl.Series, symbols: pl.Series) -> NDArray[np.int64]:
    """Give the positions of values in sorted distinct symbols that hold them all; a null stands last."""
    known = symbols.drop_nulls()
    positions = known.search_sorted(values.drop_nulls()).to_numpy().astype(np.int64)
    if not values.null_count():
        return positions
    result = np.full(len(values), len(known), dtype=np.int64)
    result[values.is_not_null().to_numpy()] = positions
    return result


def wanted_symbols(symbols: pl.Series, conditions: tuple[Node, ...], part_by: str) -> NDArray[np.bool_]:
    """Tell which of the sorted symbols fulfil the conditions on the part key."""
    keep = np.ones(len(symbols), dtype=bool)
    for node in conditions:
        names = _listed_symbols(node)
        if names is None:
            frame = pl.DataFrame({part_by: symbols})
            mask = frame.select(polars_form(node, {part_by: ColumnType("symbol")})).to_series()
            keep &= mask.fill_null(value=False).to_numpy()
            continue
        known = symbols[:-1] if len(symbols) and symbols[-1] is None else symbols
        places = known.search_sorted(names).to_numpy()
        inside = places < len(known)
        places, names = places[inside], names.filter(pl.Series(inside))
        hits = places[(known.gather(pl.Series(places)) == names).to_numpy()]
        chosen = np.zeros(len(symbols), dtype=bool)
        chosen[hits] = True
        keep &= chosen
    return keep


def _listed_symbols(node: Node) -> pl.Series | None:
    match node:
        case Binary("==", Column(), Literal(str() as value)):
            return pl.Series([value], dtype=pl.String)
        case IsIn(Column(), values):
            return pl.Series([value.value for value in values], dtype=pl.String)
    return None


# ---- spans


def wanted_spans(source: TableSource, conditions: Conditions) -> Spans:
    """Give the spans that partitions and symbols leave, one a symbol, ascending by date and logical row."""
    dates = wanted_dates(source, conditions)
    if not len(dates):
        return np.empty((0, 3), dtype=np.int64)
    part_by = source.schema.part_by
    if part_by is None or not conditions.symbols:
        counts = source.row_counts[np.searchsorted(source.values, dates)]
        if part_by is None or int(counts.sum()) <= TASK_ROWS:
            return _not_empty(np.column_stack([dates, np.zeros_like(counts), counts]).astype(np.int64))
    spans = []
    chosen: dict[int, tuple[pl.Series, NDArray[np.int64]]] = {}  # dates with equal symbols share one series
    for date in dates.tolist():
        table = symbol_table(source.partition(date), part_by)
        known = chosen.get(id(table.symbols))
        if known is None:
            keep = np.flatnonzero(wanted_symbols(table.symbols, conditions.symbols, part_by))
            chosen[id(table.symbols)] = (table.symbols, keep)  # held, so that no other gets its id
        else:
            keep = known[1]
        if len(keep):
            starts, stops = table.first_rows[keep], table.first_rows[keep + 1]
            spans.append(np.column_stack([np.full(len(keep), date, dtype=np.int64), starts, stops]))
    return _not_empty(np.concatenate(spans)) if spans else np.empty((0, 3), dtype=np.int64)


def cut_spans(spans: Spans, task_rows: int = TASK_ROWS, *, task_dates: int | None = None) -> list[Spans]:
    """Cut spans into tasks of about `task_rows`, between symbols and between leaves of a symbol only.

    A task has at most `task_dates` dates, because it has their files open at once.
    """
    lengths = spans[:, 2] - spans[:, 1]
    pieces = -(-lengths // task_rows)
    owner = np.repeat(np.arange(len(spans)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    cut = spans[owner]
    cut[:, 1] += number * task_rows
    cut[:, 2] = np.minimum(cut[:, 1] + task_rows, cut[:, 2])
    before = np.cumsum(cut[:, 2] - cut[:, 1]) - (cut[:, 2] - cut[:, 1])
    changes = np.diff(before // task_rows) != 0
    if task_dates is not None:
        changes |= np.diff(np.cumsum(np.diff(cut[:, 0], prepend=cut[:1, 0]) != 0) // task_dates) != 0
    borders = np.flatnonzero(changes) + 1
    return [_coalesced(group) for group in np.split(cut, borders)] if len(cut) else []


def _coalesced(spans: Spans) -> Spans:
    """Join spans that follow each other without a gap."""
    fresh = np.ones(len(spans), dtype=bool)
    fresh[1:] = (spans[1:, 0] != spans[:-1, 0]) | (spans[1:, 1] != spans[:-1, 2])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(spans)) - 1
    return np.column_stack([spans[first, 0], spans[first, 1], spans[last, 2]])


def _not_empty(spans: Spans) -> Spans:
    return spans[spans[:, 2] > spans[:, 1]]


# ---- intervals of the sort key


def is_interval(node: Node, schema: Schema) -> bool:
    """Tell whether a condition on the sort key alone is a union of intervals."""
    kind = schema.columns[schema.sort_by or ""]
    if kind.kind == "uint64":
        return False
    match node:
        case TimeOfDay():
            return True
        case Binary(op, Column(), Literal(value)) if op in MIRRORED and op != "!=":
            return isinstance(value, int)
        case IsIn(Column(), values):
            return all(isinstance(value.value, int) for value in values)
        case Binary("|", left, right):
            return is_interval(left, schema) and is_interval(right, schema)
    return False


def intervals_of(nodes: tuple[Node, ...], low: int, high: int) -> tuple[list[Interval], bool]:
    """Give the intervals within ``[low, high]`` that fulfil all conditions, ascending and disjoint.

    Returns
    -------
    The intervals, and whether they say all; if not, the conditions have to be asked of the rows as well.
    """
    result = [(low, high)]
    for node in nodes:
        found = _intervals(node, low, high)
        if found is None or len(found) > _MAX_INTERVALS:
            return [(low, high)], False
        result = _intersection(result, _union(found))
    return result, True


def _intervals(node: Node, low: int, high: int) -> list[Interval] | None:  # noqa: PLR0911 - one case a node
    match node:
        case Binary("==", _, Literal(value)):
            return [(value, value)]
        case Binary("<", _, Literal(value)):
            return [(_LOWEST, value - 1)]
        case Binary("<=", _, Literal(value)):
            return [(_LOWEST, value)]
        case Binary(">", _, Literal(value)):
            return [(value + 1, _HIGHEST)]
        case Binary(">=", _, Literal(value)):
            return [(value, _HIGHEST)]
        case IsIn(_, values):
            return [(value.value, value.value) for value in values]
        case TimeOfDay(_, ranges, zone):
            return clock_intervals(ranges, low, high, zone)
        case Binary("|", left, right):
            one, other = _intervals(left, low, high), _intervals(right, low, high)
            return None if one is None or other is None else one + other
    return None


def clock_intervals(
    ranges: tuple[Interval, ...], low: int, high: int, zone: str | None
) -> list[Interval] | None:
    """Give the instants within ``[low, high]`` at which the wall clock lies in the ranges."""
    if high - low > _MAX_CLOCK_DAYS * DAY_NS:
        return None
    found = []
    for first, last, offset in offset_segments(low, high, zone):
        for day in range((first + offset) // DAY_NS, (last + offset) // DAY_NS + 1):
            midnight = day * DAY_NS - offset
            found += [(max(first, midnight + start), min(last, midnight + stop)) for start, stop in ranges]
    return [(start, stop) for start, stop in found if start <= stop]


def _union(intervals: list[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for low, high in sorted(interval for interval in intervals if interval[0] <= interval[1]):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return merged


def _intersection(one: list[Interval], other: list[Interval]) -> list[Interval]:
    both = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return [(low, high) for low, high in both if low <= high]
