"""The logical order of rows: trading date, part key, sort key, then the order of arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.schema import Schema
from colonnade.store.text import run_starts
from colonnade.threads import map_ordered

DAYS: Final = "\0days"  # the trading date beside the columns of a table; no column can have this name
_DIGIT: Final = 1 << 16
_MIN_GROUP_ROWS: Final = 512  # with fewer rows a group, sorting all at once is faster than a call for each


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows in logical order, and where each pair of date and part key lies.

    Attributes
    ----------
    frame
        Sorted rows, with `DAYS` as the last column.
    days
        Date of each group.
    symbols
        Part key of each group; None for a null one, and everywhere without a part key.
    starts
        First row of each group, and at the end the number of rows.
    """

    frame: pl.DataFrame
    days: NDArray[np.int32]
    symbols: list[str | None]
    starts: NDArray[np.int64]


def in_order(frame: pl.DataFrame, schema: Schema) -> Groups:
    """Sort rows stably; rows that are in order already are not moved.

    ``frame`` has the columns of the schema and `DAYS`.
    """
    days = frame[DAYS].to_numpy()
    distinct_days, day_rank = _ranked(days)
    names, codes = _symbol_codes(frame, schema.part_by)
    group = day_rank * (len(names) + 1) + codes
    keys = None if schema.sort_by is None else frame[schema.sort_by].to_physical().to_numpy()
    order = _order(group, keys)
    if order is not None:
        whole = map_ordered(pl.Series.rechunk, frame.get_columns())  # gathering from chunks is far slower
        frame = pl.DataFrame(list(whole))[pl.Series(order)] if len(order) else frame
        group = group[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    found = group[starts]
    ranks, positions = found // (len(names) + 1), found % (len(names) + 1)
    labels: list[str | None] = [*names, None]
    return Groups(
        frame,
        distinct_days[ranks],
        [labels[position] for position in positions.tolist()],
        np.append(starts, len(group)),
    )


def _ranked(days: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    if len(days) and (days[0] == days).all():
        return days[:1], np.zeros(len(days), dtype=np.int64)
    distinct, ranks = np.unique(days, return_inverse=True)
    return distinct, ranks.astype(np.int64, copy=False)


def _symbol_codes(frame: pl.DataFrame, part_by: str | None) -> tuple[list[str], NDArray[np.int64]]:
    """Give the distinct part keys sorted by bytes, and the place of each row's key there; null comes last."""
    if part_by is None:
        return [], np.zeros(frame.height, dtype=np.int64)
    values = frame[part_by].rechunk()
    starts = run_starts(values)
    heads = values if starts is None else values.gather(starts)
    names = heads.unique().drop_nulls().sort()
    codes = heads.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(len(names)).to_numpy()
    if starts is not None:
        codes = np.repeat(codes, np.diff(starts, append=frame.height))
    return names.to_list(), codes


def _order(group: NDArray[np.int64], keys: NDArray[Any] | None) -> NDArray[np.uint32] | None:
    """Give the stable order by group and key; None where the rows are in it."""
    if _is_sorted(group, keys):
        return None
    order = _stable_order(group)
    if keys is None:
        return order
    grouped, group_keys = group[order], keys[order]
    if _is_sorted(grouped, group_keys):
        return order
    starts = np.flatnonzero(np.diff(grouped, prepend=-1))
    if len(starts) * _MIN_GROUP_ROWS <= len(order):  # groups fit in cache, one at a time
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
            within = np.argsort(group_keys[start:stop], kind="stable")
            order[start:stop] = order[start:stop][within]
        return order
    by_key = np.argsort(keys, kind="stable").astype(np.uint32)
    return by_key[_stable_order(group[by_key])]


def _is_sorted(group: NDArray[np.int64], keys: NDArray[Any] | None) -> bool:
    rises = group[1:] > group[:-1]
    same = group[1:] == group[:-1]
    if keys is not None:
        same &= keys[1:] >= keys[:-1]
    return bool((rises | same).all())


def _stable_order(values: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Sort by 16 bits at a time, which NumPy does by counting."""
    order = np.argsort((values % _DIGIT).astype(np.uint16), kind="stable").astype(np.uint32)
    high = values // _DIGIT
    while high.any():
        order = order[np.argsort((high[order] % _DIGIT).astype(np.uint16), kind="stable")]
        high = high // _DIGIT
    return order
