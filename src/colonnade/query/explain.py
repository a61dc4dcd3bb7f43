"""What a query would read and do, in a few lines; of the columns only dictionaries and runs are read."""

from __future__ import annotations

import numpy as np

from colonnade.query.expr import Node, text_of
from colonnade.query.plan import Groups, Plan
from colonnade.query.prune import cut_spans, split_conditions, wanted_spans
from colonnade.store.source import TableSource


def explain(source: TableSource, plan: Plan) -> str:
    """Tell partitions, symbols, times, rows, and the work of a plan."""
    conditions = split_conditions(plan)
    spans = wanted_spans(source, conditions)
    rows = int((spans[:, 2] - spans[:, 1]).sum())
    total = int(source.row_counts.sum())
    dates = len(np.unique(spans[:, 0]))
    lines = [
        f"table {plan.table!r}, version {plan.version}",
        f"partitions: {dates:,} of {len(source.values):,}{_listed(conditions.partitions)}",
    ]
    if conditions.symbols:
        lines.append(f"symbols by dictionary:{_listed(conditions.symbols)}")
    if conditions.times:
        lines.append(f"{plan.schema.sort_by} by binary search:{_listed(conditions.times)}")
    if conditions.rows:
        lines.append(f"of the rows:{_listed(conditions.rows)}")
    lines.append(f"rows: up to {rows:,} of {total:,}, in {len(cut_spans(spans))} tasks")
    work = plan.work
    if isinstance(work, Groups):
        lines.append(f"group by: {', '.join(map(str, work.keys)) or 'nothing'}")
        lines.append(f"aggregate: {', '.join(map(str, work.aggregates))}")
        if work.fill is not None:
            lines.append("fill: the previous close")
        return "\n".join(lines)
    lines.append(f"select: {', '.join(map(str, work.outputs))}")
    if work.join is not None:
        join = work.join
        by = f" by {', '.join(join.by)}" if join.by else ""
        right = f"{join.right.table!r}, version {join.right.version}"
        lines.append(f"as-of join: {right}{by} on {join.on}, {join.strategy}")
    if work.conditions:
        lines.append(f"of the joined rows:{_listed(work.conditions)}")
    if work.final is not None:
        lines.append(f"select: {', '.join(map(str, work.final))}")
    return "\n".join(lines)


def _listed(nodes: tuple[Node, ...]) -> str:
    return "".join(f" {text_of(node)};" for node in nodes).rstrip(";")
