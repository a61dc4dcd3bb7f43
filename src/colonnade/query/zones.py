"""Blocks in which no row can fulfil a condition, by their zone maps; pieces are cut around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from colonnade.query.expr import Binary, Column, Literal, Node
from colonnade.schema import Schema
from colonnade.store.zone_map import has_nan, zone_bounds

PART, START, STOP, LEAF_ROW = 0, 1, 2, 5
_WORTH: Final = 0.875  # of the blocks; where more are left, cutting costs more than it saves
_KINDS: Final = ("int", "uint", "float64", "date", "time")
Test = tuple[str, str, Any]


def skip_blocks(
    schema: Schema, parts: Sequence[Any], pieces: NDArray[np.int64], conditions: Sequence[Node]
) -> NDArray[np.int64]:
    """Cut blocks out of pieces in which no row can fulfil all conditions; the order stays."""
    tests = [test for node in conditions if (test := _test_of(node, schema)) is not None]
    if not tests or not len(pieces):
        return pieces
    cut, owners = [], []
    for part in np.unique(pieces[:, PART]).tolist():
        owner = np.flatnonzero(pieces[:, PART] == part)
        mine = pieces[owner]
        for name, op, value in tests:
            column = parts[part].column(name)
            may = _may_match(column, op, value)
            if may.mean() <= _WORTH:
                mine, kept = _cut(mine, may, column.block_rows)
                owner = owner[kept]
        cut.append(mine)
        owners.append(owner)
    order = np.argsort(np.concatenate(owners), kind="stable")
    return np.ascontiguousarray(np.concatenate(cut)[order])


def _test_of(node: Node, schema: Schema) -> Test | None:
    """Give column, comparison and value of a condition that zone maps answer."""
    match node:
        case Binary("==" | "<" | "<=" | ">" | ">=" as op, Column(name), Literal(value)):
            if name not in schema.columns or isinstance(value, bool):
                return None
            kind = schema.columns[name].kind
            if kind == "float64":
                fits = isinstance(value, (int, float)) and not math.isnan(value) and abs(value) < 1 << 53
            else:
                fits = isinstance(value, int) and kind.startswith(_KINDS)
            return (name, op, value) if fits else None
    return None


def _may_match(column: Any, op: str, value: Any) -> NDArray[np.bool_]:  # noqa: ANN401
    """Tell of each block whether a row of it may fulfil a comparison; one without bounds may, nulls can't."""
    index = column.index
    low, high, known = zone_bounds(index, column.type)
    nan = has_nan(index)  # NaN is above all
    match op:
        case "==":
            may = (low <= value) & (high >= value)
        case "<":
            may = low < value
        case "<=":
            may = low <= value
        case ">":
            may = (high > value) | nan
        case _:
            may = (high >= value) | nan
    has_values = index["null_count"] < index["rows"]  # a null fulfils no comparison
    found: NDArray[np.bool_] = (may | ~known) & has_values
    return found


def _cut(
    pieces: NDArray[np.int64], may: NDArray[np.bool_], block_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Narrow pieces to the blocks that may match; also give the piece that each of the new ones is from."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], may, [False]]).astype(np.int8)))
    starts, stops = edges[::2] * block_rows, edges[1::2] * block_rows
    first = np.searchsorted(stops, pieces[:, START], side="right")
    after = np.searchsorted(starts, pieces[:, STOP], side="left")
    counts = np.maximum(after - first, 0)
    owner = np.repeat(np.arange(len(pieces)), counts)
    before = np.cumsum(counts) - counts
    interval = np.arange(len(owner)) - np.repeat(before - first, counts)
    cut = pieces[owner]
    start = np.maximum(cut[:, START], starts[interval])
    cut[:, LEAF_ROW] += start - cut[:, START]
    cut[:, START] = start
    cut[:, STOP] = np.minimum(cut[:, STOP], stops[interval])
    return cut, owner
