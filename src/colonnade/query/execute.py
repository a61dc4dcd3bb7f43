"""From a plan to a frame: prune, cut into tasks, run them on threads, combine in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from colonnade.errors import MemoryLimitError, PlanError
from colonnade.query.combine import combine_groups
from colonnade.query.expr import columns_of
from colonnade.query.plan import Groups, Plan
from colonnade.query.prune import Spans, cut_spans, split_conditions, wanted_spans
from colonnade.query.task import Task, run_spans
from colonnade.schema import ColumnType, days_to_date
from colonnade.store.source import TableSource
from colonnade.threads import default_threads, map_ordered

Engine = Callable[[list[Task]], Iterable[Any]]
_OPEN_FILES: Final = 512  # of the tasks that run side by side, where a date is one part
_SIZES: Final = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
}


def tasks_of(source: TableSource, plan: Plan) -> list[Task]:
    """Cut a plan into tasks, in the order in which their results are combined."""
    spans = wanted_spans(source, split_conditions(plan))
    dates = max(_OPEN_FILES // default_threads() // _files_a_date(plan), 1)
    return [Task(plan, group) for group in cut_spans(spans, task_dates=dates)]


def _files_a_date(plan: Plan) -> int:
    """Give how many columns a task reads of each date, those of a joined table included."""
    work = plan.work
    outputs = (*work.keys, *work.aggregates) if isinstance(work, Groups) else work.outputs
    keys = {name for name in (plan.schema.part_by, plan.schema.sort_by) if name is not None}
    names = keys | set(columns_of(*plan.conditions, *(output.node for output in outputs)))
    joined = 0 if isinstance(work, Groups) or work.join is None else _files_a_date(work.join.right)
    return len(names) + joined


def execute(
    source: TableSource,
    plan: Plan,
    *,
    threads: int | None = None,
    engine: Engine | None = None,
    memory_limit: int | None = None,
) -> pl.DataFrame:
    """Run a plan and give its frame."""
    tasks = tasks_of(source, plan)
    check_memory(plan, tasks, memory_limit)
    return combine(source, plan, run(source, tasks, threads=threads, engine=engine))


def run(
    source: TableSource, tasks: list[Task], *, threads: int | None = None, engine: Engine | None = None
) -> Iterator[Any]:
    """Run tasks, here on threads or by an engine; give the results in the order of the tasks."""
    if engine is not None:
        if not callable(engine):
            raise PlanError(
                f"engine is {engine!r}; expected a function from a list of tasks to their results"
            )
        results = list(engine(tasks))
        if len(results) != len(tasks):
            raise PlanError(f"the engine gave {len(results)} results for {len(tasks)} tasks")
        for result in results:
            if not isinstance(result, (pl.DataFrame, list)):
                raise PlanError(f"the engine gave {result!r}; expected what task.run() gives")
        yield from results
    elif len(tasks) <= 1:
        yield from (task.run(source) for task in tasks)
    else:
        yield from map_ordered(lambda task: task.run(source), tasks, threads=threads)


def combine(source: TableSource, plan: Plan, results: Iterable[Any]) -> pl.DataFrame:
    """Make one frame of the results of all tasks; without any, an empty one with the full schema."""
    found = list(results) or [run_spans(source, plan, np.empty((0, 3), dtype=np.int64))]
    if isinstance(plan.work, Groups):
        return combine_groups(plan, plan.work, [partial for partials in found for partial in partials])
    frames: list[pl.DataFrame] = found
    return frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)


def iter_partitions(
    source: TableSource, plan: Plan, *, threads: int | None = None
) -> Iterator[tuple[Any, pl.DataFrame]]:
    """Give the date and the frame of each partition in turn, so that memory holds one."""
    spans = wanted_spans(source, split_conditions(plan))
    for date in np.unique(spans[:, 0]).tolist():
        mine: Spans = spans[spans[:, 0] == date]
        tasks = [Task(plan, group) for group in cut_spans(mine)]
        yield days_to_date(date), combine(source, plan, run(source, tasks, threads=threads))


def check_memory(plan: Plan, tasks: list[Task], limit: int | None) -> None:
    """Refuse a result of rows that can't fit, before anything of it is read.

    Without a limit of the caller the machine's memory is the limit, for results whose size is known exactly.
    """
    if isinstance(plan.work, Groups):
        return
    if limit is None:
        if any(columns_of(node) != [plan.schema.partition_by] for node in plan.conditions):
            return
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    rows = sum(task.row_count for task in tasks)
    width = sum(_width(plan, name) for name in columns_of(*(output.node for output in plan.work.outputs)))
    if rows * width > limit:
        raise MemoryLimitError(
            f"the result has up to {rows:,} rows of {width} bytes, {rows * width:,} bytes in all; "
            f"memory_limit is {limit:,} bytes. Narrow it with where or select, or use iter_partitions()"
        )


def _width(plan: Plan, name: str) -> int:
    kind = plan.schema.columns.get(name, ColumnType("date"))
    return kind.numpy_type.itemsize if kind.has_fixed_width else 16


def bytes_of(limit: int | str | None) -> int | None:
    """Read a size such as ``"4GB"`` or ``"512MiB"``; an integer counts bytes."""
    if limit is None or (isinstance(limit, int) and not isinstance(limit, bool)):
        if limit is not None and limit < 0:
            raise PlanError(f"memory_limit is {limit}; expected 0 bytes or more")
        return limit
    text = str(limit).strip().upper()
    digits = text.rstrip("KMGIB ")
    unit = text[len(digits) :].strip()
    try:
        return int(float(digits) * _SIZES[unit])
    except (ValueError, KeyError):
        raise PlanError(f"memory_limit is {limit!r}; expected bytes or a text such as '4GB'") from None


def at_version(source: TableSource, plan: Plan) -> Plan:
    """Fix a plan to the version that a source reads.

    Raises
    ------
    PlanError
        If a column that it names is gone, or has another type, since the plan was made.
    """
    if source.schema != plan.schema:
        work = plan.work
        outputs = (*work.keys, *work.aggregates) if isinstance(work, Groups) else work.outputs
        for name in columns_of(*plan.conditions, *(output.node for output in outputs)):
            before, now = plan.schema.columns.get(name), source.schema.columns.get(name)
            if before != now:
                told = "is gone" if now is None else f"has the type {now} now"
                raise PlanError(
                    f"column {name!r} of table {source.name!r} {told}, unlike when the query was written; "
                    "write it again"
                )
    return replace(plan, version=source.version, schema=source.schema, path=str(Path(source.path)))
