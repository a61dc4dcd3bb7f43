"""Point reads: rows of a table by their number, counted by date, then in logical order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import PlanError
from colonnade.query.bind import Scope
from colonnade.query.build import all_columns
from colonnade.query.expr import columns_of
from colonnade.query.prune import Conditions
from colonnade.query.rows import read_columns
from colonnade.query.scan import START, STOP, Scan, scan_spans
from colonnade.store.source import TableSource


def read_points(source: TableSource, numbers: Iterable[int]) -> pl.DataFrame:
    """Read rows by number, in the order asked; a number may come twice."""
    wanted = _checked(numbers, int(source.row_counts.sum()))
    outputs = all_columns(Scope(source.name, source.schema))
    names = columns_of(*(output.node for output in outputs))
    ascending, place = np.unique(wanted, return_inverse=True)
    ends = np.cumsum(source.row_counts)
    owner = np.searchsorted(ends, ascending, side="right")
    row = ascending - (ends - source.row_counts)[owner]
    spans = np.column_stack([source.values[owner].astype(np.int64), row, row + 1])
    frame = read_columns(_scan_points(source, spans, names), names)
    return (
        frame
        if len(place) == len(ascending) and (place[:-1] < place[1:]).all()
        else frame.select(pl.all().gather(pl.lit(pl.Series(place.astype(np.int64)))))
    )


def _scan_points(source: TableSource, spans: NDArray[np.int64], names: list[str]) -> Scan:
    """Give one piece a row; spans are distinct and ascend."""
    scan = scan_spans(source, Conditions((), (), (), ()), _hulls(spans), names)
    pieces = scan.pieces
    length = pieces[:, STOP] - pieces[:, START]
    return Scan(scan.schema, scan.parts, pieces[length > 0], scan.symbols, ())


def _hulls(spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join neighbours, so that rows next to each other are one span."""
    fresh = np.append(True, (spans[1:, 0] != spans[:-1, 0]) | (spans[1:, 1] != spans[:-1, 2]))
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(spans)) - 1
    return np.column_stack([spans[first, 0], spans[first, 1], spans[last, 2]]) if len(spans) else spans


def _checked(numbers: Iterable[int], row_count: int) -> NDArray[np.int64]:
    try:
        wanted = np.array(numbers if hasattr(numbers, "__len__") else list(numbers))
    except (TypeError, ValueError):
        raise PlanError(f"rows takes row numbers, not {numbers!r}") from None
    if wanted.size == 0:
        return np.empty(0, dtype=np.int64)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        raise PlanError(f"rows takes row numbers, not {numbers!r}")
    outside = wanted[(wanted < 0) | (wanted >= row_count)]
    if len(outside):
        raise PlanError(f"there is no row {int(outside[0])}: the table has rows 0 to {row_count - 1}")
    return wanted.astype(np.int64)
