"""Rows of a scan as a frame, in logical order, filtered; row-wise expressions are calculated by Polars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.query.expr import Node, columns_of
from colonnade.query.plan import Output
from colonnade.query.polars_form import polars_form
from colonnade.query.scan import DATE, PART, START, STOP, SYMBOL, Scan, read_ranges, rows_of
from colonnade.schema import ColumnType, Schema

_KEEP_MANY: Final = 8  # of filtered rows: above one in eight all are decoded


def read_rows(scan: Scan, outputs: Sequence[Output]) -> pl.DataFrame:
    """Give the outputs of all rows that fulfil the scan's conditions."""
    needed = columns_of(*(output.node for output in outputs))
    if not scan.conditions:
        return calculated(scan.schema, read_columns(scan, needed), outputs)
    asked = columns_of(*scan.conditions)
    frame = read_columns(scan, asked)
    mask = frame.select(condition_form(scan.schema, scan.conditions)).to_series()
    rest = [name for name in needed if name not in asked]
    kept = frame.filter(mask).select(name for name in asked if name in needed)
    if rest:
        rows = np.flatnonzero(mask.fill_null(value=False).to_numpy())
        if len(rows) * _KEEP_MANY > len(mask):
            others = read_columns(scan, rest).filter(mask)
        else:
            others = read_columns(pick(scan, rows), rest)
        kept = others if not kept.width else kept.hstack(others)
    elif not kept.width:
        kept = pl.DataFrame(height=int(mask.sum()))
    return calculated(scan.schema, kept, outputs)


def condition_form(schema: Schema, conditions: Iterable[Node]) -> pl.Expr:
    """Give one Polars expression for conditions that all have to hold."""
    columns = types_with_partition(schema)
    return pl.all_horizontal([polars_form(node, columns, schema.zone) for node in conditions])


def calculated(schema: Schema, frame: pl.DataFrame, outputs: Sequence[Output]) -> pl.DataFrame:
    """Calculate outputs from columns, one value a row."""
    columns = types_with_partition(schema)
    forms = [polars_form(output.node, columns, schema.zone).alias(output.name) for output in outputs]
    if not any(columns_of(output.node) for output in outputs):
        return frame.select(pl.repeat(0, frame.height).alias(" ")).with_columns(forms).drop(" ")
    return frame.select(forms)


def types_with_partition(schema: Schema) -> dict[str, ColumnType]:
    """Give the types of all columns, the partition column among them."""
    return {**schema.columns, schema.partition_by: ColumnType("date")}


def read_columns(scan: Scan, names: Sequence[str]) -> pl.DataFrame:
    """Decode columns of all pieces, in logical order, conditions not asked."""
    if not names:
        return pl.DataFrame(height=scan.row_count)
    layout = _layout_of(scan.pieces)
    return pl.DataFrame([_read_column(scan, name, layout) for name in names])


@dataclass(frozen=True, slots=True)
class _Layout:
    """How pieces are read: those of a part at a time, then put in order unless `order` is None."""

    groups: list[NDArray[np.int64]]
    order: pl.Series | None


def _layout_of(pieces: NDArray[np.int64]) -> _Layout:
    """Gather the pieces of each part; the order is that of the pieces, where they go back and forth."""
    number = pieces[:, PART]
    borders = np.flatnonzero(np.diff(number)) + 1
    owners = number[np.concatenate([[0], borders])] if len(number) else number
    if len(np.unique(owners)) == len(owners):
        return _Layout(np.split(pieces, borders), None)
    length = pieces[:, STOP] - pieces[:, START]
    by_part = np.argsort(number, kind="stable")
    groups = np.split(pieces[by_part], np.flatnonzero(np.diff(number[by_part])) + 1)
    before = np.empty(len(pieces), dtype=np.int64)
    before[by_part] = np.cumsum(length[by_part]) - length[by_part]
    rows = rows_of(before, before + length)
    return _Layout(groups, pl.Series(rows).cast(pl.get_index_type()))  # Polars would cast for each column


def _read_column(scan: Scan, name: str, layout: _Layout) -> pl.Series:
    pieces, schema = scan.pieces, scan.schema
    length = pieces[:, STOP] - pieces[:, START]
    if name == schema.partition_by:
        return pl.Series(name, np.repeat(pieces[:, DATE], length).astype(np.int32)).cast(pl.Date)
    dtype = schema.columns[name].polars_type
    if not len(pieces):
        return pl.Series(name, [], dtype=dtype)
    if name == schema.part_by and scan.symbols is not None:
        return symbols_of(scan.symbols, np.repeat(pieces[:, SYMBOL], length)).alias(name)
    read = [_read_part(scan, name, int(group[0, PART]), group) for group in layout.groups]
    series = pl.concat(read, rechunk=True) if len(read) > 1 else read[0]
    return (series if layout.order is None else series.gather(layout.order)).alias(name)


def _read_part(scan: Scan, name: str, number: int, pieces: NDArray[np.int64]) -> pl.Series:
    return read_ranges(scan.parts[number].column(name), pieces[:, START], pieces[:, STOP])


def symbols_of(symbols: pl.Series, codes: NDArray[np.int64]) -> pl.Series:
    """Give the Categorical values of positions in a list of symbols."""
    return symbols.cast(pl.Categorical).gather(pl.Series(codes.astype(np.uint32)))


def pick(scan: Scan, rows: NDArray[np.int64]) -> Scan:
    """Narrow a scan to some of its rows, by their number in it; ascending."""
    pieces = scan.pieces
    length = pieces[:, STOP] - pieces[:, START]
    before = np.cumsum(length) - length
    owner = np.searchsorted(before, rows, side="right") - 1
    picked = pieces[owner]
    picked[:, START] += rows - before[owner]
    picked[:, STOP] = picked[:, START] + 1
    return Scan(scan.schema, scan.parts, picked, scan.symbols, ())
