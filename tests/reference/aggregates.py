"""Grouped aggregates over lists of rows, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reference.sums import float_sum

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate: a function's name, what it reads, and for weighted means the weight."""

    function: str
    value: Callable[[Row], Any] = lambda _: None
    weight: Callable[[Row], Any] = lambda _: None


@dataclass(frozen=True)
class Located:
    """A row with its partition, its symbol, and its number among the symbol's rows of that partition."""

    row: Row
    date: Any
    symbol: Any
    leaf_row: int


def locate(rows: Sequence[Row], *, date: str = "date", part_by: str | None = "sym") -> list[Located]:
    """Number the rows of each symbol in each partition; the rows stand in logical order."""
    counts: dict[tuple[Any, Any], int] = {}
    located = []
    for row in rows:
        symbol = None if part_by is None else row[part_by]
        place = (row[date], symbol)
        located.append(Located(row, row[date], symbol, counts.get(place, 0)))
        counts[place] = counts.get(place, 0) + 1
    return located


def group(
    located: Sequence[Located],
    keys: Callable[[Row], tuple[Any, ...]],
    aggregates: Mapping[str, Aggregate],
    *,
    condition: Callable[[Row], bool | None] = lambda _: True,
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Group the rows for which the condition is true (null is not), and aggregate each group."""
    groups: dict[tuple[Any, ...], list[Located]] = {}
    for entry in located:
        if condition(entry.row):
            groups.setdefault(keys(entry.row), []).append(entry)
    return {
        key: {name: aggregate_rows(entries, aggregate) for name, aggregate in aggregates.items()}
        for key, entries in groups.items()
    }


def aggregate_rows(entries: Sequence[Located], aggregate: Aggregate) -> Any:
    """Aggregate the rows of one group as Polars would: nulls are left out, except by first, last and len."""
    values = [aggregate.value(entry.row) for entry in entries]
    present = [value for value in values if value is not None]
    compute: dict[str, Callable[[], Any]] = {
        "len": lambda: len(values),
        "count": lambda: len(present),
        "first": lambda: values[0],
        "last": lambda: values[-1],
        "min": lambda: _extreme(present, min),
        "max": lambda: _extreme(present, max),
        "sum": lambda: _sum(entries, aggregate.value),
        "mean": lambda: _mean(entries, aggregate.value),
        "wavg": lambda: _weighted_mean(entries, aggregate),
    }
    return compute[aggregate.function]()


def _extreme(present: list[Any], choose: Callable[[list[Any]], Any]) -> Any:
    """NaN only where there is nothing else."""
    numbers = [v for v in present if not (isinstance(v, float) and math.isnan(v))]
    if not numbers:
        return present[0] if present else None
    return choose(numbers)


def _sum(entries: Sequence[Located], value: Callable[[Row], Any]) -> Any:
    values = [value(entry.row) for entry in entries]
    if not any(isinstance(v, float) for v in values):
        return sum(v for v in values if v is not None)
    by_place: dict[tuple[Any, Any], list[Located]] = {}
    for entry in entries:
        by_place.setdefault((entry.date, entry.symbol), []).append(entry)
    total = 0.0
    for place in by_place.values():
        total += float_sum([value(entry.row) for entry in place], [entry.leaf_row for entry in place])
    return total


def _mean(entries: Sequence[Located], value: Callable[[Row], Any]) -> float | None:
    count = sum(value(entry.row) is not None for entry in entries)
    return None if count == 0 else float(_sum(entries, value)) / count


def _weighted_mean(entries: Sequence[Located], aggregate: Aggregate) -> float | None:
    """Sum of value times weight over sum of weight, of the rows where both are there."""

    def product(row: Row) -> float | None:
        value, weight = aggregate.value(row), aggregate.weight(row)
        return None if value is None or weight is None else float(value) * float(weight)

    def weight_of(row: Row) -> Any:
        return None if aggregate.value(row) is None else aggregate.weight(row)

    if all(product(entry.row) is None for entry in entries):
        return None
    total = float(_sum(entries, weight_of))
    numerator = float(_sum(entries, product))
    if total == 0.0:
        return math.nan if numerator == 0.0 or math.isnan(numerator) else math.copysign(math.inf, numerator)
    return numerator / total
