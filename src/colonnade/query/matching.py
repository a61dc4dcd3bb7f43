"""Which rows of one part fulfil conditions, by their number in the part: for those who rewrite parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from colonnade.query.expr import columns_of
from colonnade.query.prune import Conditions, cut_spans, wanted_spans
from colonnade.query.rows import condition_form, read_columns
from colonnade.query.scan import START, STOP, rows_of, scan_spans
from colonnade.schema import Schema
from colonnade.store.source import PartitionSource, PartSource, TableSource


def matching_rows(source: TableSource, conditions: Conditions, value: int, part: int) -> NDArray[np.bool_]:
    """Tell which rows of a part fulfil all conditions but those on the partition column.

    Parameters
    ----------
    source
        The table.
    conditions
        What `split_conditions` gave; `wanted_dates` answers those on the partition column.
    value
        Date of the partition.
    part
        Position of the part in the partition.

    Returns
    -------
    One element a row of the part.
    """
    alone = _PartAsTable(source, value, source.partition(value).parts[part])
    asked = replace(conditions, partitions=())
    matches = np.zeros(alone.part.row_count, dtype=np.bool_)
    for spans in cut_spans(wanted_spans(alone, asked)):
        scan = scan_spans(alone, asked, spans, ())
        rows = rows_of(scan.pieces[:, START], scan.pieces[:, STOP])
        if scan.conditions:
            frame = read_columns(scan, columns_of(*scan.conditions))
            mask = frame.select(condition_form(scan.schema, scan.conditions)).to_series()
            rows = rows[mask.fill_null(value=False).to_numpy()]
        matches[rows] = True
    return matches


@dataclass(frozen=True, slots=True)
class _PartAsPartition:
    """A part as if it were all of its partition, so that rows are numbered as they lie in it."""

    value: int
    parts: Sequence[PartSource]

    @property
    def row_count(self) -> int:
        return self.parts[0].row_count


class _PartAsTable:
    """A part as if it were all of its table; a `TableSource`."""

    def __init__(self, source: TableSource, value: int, part: PartSource) -> None:
        place = slice(int(np.searchsorted(source.values, value)), None)
        self.part = part
        self.name: str = source.name
        self.path: Path = source.path
        self.version: int = source.version
        self.schema: Schema = source.schema
        self.values: NDArray[np.int32] = source.values[place][:1]
        self.row_counts: NDArray[np.int64] = np.array([part.row_count], dtype=np.int64)
        self.sort_min: NDArray[np.int64] = source.sort_min[place][:1]
        self.sort_max: NDArray[np.int64] = source.sort_max[place][:1]

    def partition(self, value: int) -> PartitionSource:
        return _PartAsPartition(value, (self.part,))
