"""One independent piece of a plan: spans of logical rows that may be run anywhere the table can be opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from colonnade.query.asof import joined
from colonnade.query.expr import Column, columns_of
from colonnade.query.general import Partial, aggregate
from colonnade.query.join import output_scope
from colonnade.query.plan import AsofJoin, Groups, Output, Plan, Rows
from colonnade.query.prune import Spans, split_conditions
from colonnade.query.rows import calculated, condition_form, read_rows
from colonnade.query.scan import scan_spans
from colonnade.store.source import TableSource
from colonnade.store.table_source import open_source

_PARTITION: Final = " date"  # the partition of a left row, beside its outputs


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What to do with some spans of a plan's table; picklable.

    Attributes
    ----------
    spans
        ``(date, first logical row, end)``, about four million rows in all.
    """

    plan: Plan
    spans: Spans

    @property
    def row_count(self) -> int:
        """Rows of the spans, before conditions on times and rows."""
        return int((self.spans[:, 2] - self.spans[:, 1]).sum())

    def run(self, source: TableSource | None = None) -> pl.DataFrame | list[Partial]:
        """Run here; opens the table by path and version where no source is given."""
        opened = open_source(Path(self.plan.path), self.plan.version) if source is None else source
        return run_spans(opened, self.plan, self.spans)

    def __repr__(self) -> str:
        dates = len(np.unique(self.spans[:, 0]))
        table = f"{self.plan.table!r}, version {self.plan.version}"
        return f"Task({table}, {dates} partitions, {self.row_count} rows)"


def run_spans(source: TableSource, plan: Plan, spans: Spans) -> pl.DataFrame | list[Partial]:
    """Read the spans and do the plan's work on them."""
    conditions = split_conditions(plan)
    work = plan.work
    if isinstance(work, Groups):
        nodes = [output.node for output in (*work.keys, *work.aggregates)]
        return aggregate(source, scan_spans(source, conditions, spans, columns_of(*nodes)), work)
    outputs = work.outputs
    if work.join is not None:
        outputs = (*outputs, Output(_PARTITION, Column(plan.schema.partition_by)))
    names = columns_of(*(output.node for output in outputs))
    frame = read_rows(scan_spans(source, conditions, spans, names), outputs)
    return frame if work.join is None else _joined(frame, plan, work, work.join)


def _joined(frame: pl.DataFrame, plan: Plan, work: Rows, join: AsofJoin) -> pl.DataFrame:
    """Join rows, then filter and calculate once more."""
    dates = frame[_PARTITION].to_physical().cast(pl.Int64).to_numpy()
    right = open_source(Path(join.right.path), join.right.version)
    found = joined(frame.drop(_PARTITION), dates, join, right)
    scope = output_scope(plan)
    if work.conditions:
        found = found.filter(condition_form(scope.schema, work.conditions))
    return found if work.final is None else calculated(scope.schema, found, work.final)
