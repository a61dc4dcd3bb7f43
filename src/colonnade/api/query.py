"""A query: what is asked of a table, not yet run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import polars as pl

from colonnade.api.words import WORDS
from colonnade.errors import PlanError
from colonnade.query.bind import Scope
from colonnade.query.build import all_columns, bars_of, conditions_of, groups_of, keys_of, outputs_of
from colonnade.query.execute import Engine, at_version, bytes_of, execute, iter_partitions, tasks_of
from colonnade.query.explain import explain
from colonnade.query.expr import Node, unknown_word
from colonnade.query.join import join_of, output_scope
from colonnade.query.plan import Groups, Output, Plan, Rows
from colonnade.query.task import Task
from colonnade.store.table_source import StoredTable, open_source

Symbols = Literal["categorical", "string"]


@dataclass(frozen=True, slots=True)
class TableRef:
    """Which table, and which version of it; None for the newest at the time of asking."""

    path: Path
    version: int | None = None

    def open(self) -> StoredTable:
        """Open the version for reading."""
        return open_source(self.path, self.version)


class Query:
    """A query over one table; every method gives a new one, `collect` runs it.

    Made by the methods of `Table`. ``where`` comes before what it narrows; after ``asof_join`` it narrows the
    joined rows.
    """

    __slots__ = ("_conditions", "_ref", "_scope", "_work")

    def __init__(
        self,
        ref: TableRef,
        scope: Scope,
        conditions: tuple[Node, ...] = (),
        work: Rows | Groups | None = None,
    ) -> None:
        self._ref = ref
        self._scope = scope
        self._conditions = conditions
        self._work = work

    def __getattr__(self, word: str) -> NoReturn:
        raise unknown_word("a query", word, WORDS)

    def where(self, *conditions: Any, **columns: Any) -> Query:  # noqa: ANN401 - values of any kind
        """Keep the rows that fulfil all conditions.

        Parameters
        ----------
        conditions
            Expressions, as ``col("size") > 500``.
        columns
            ``column=value``: a scalar is equal, a list or Series any of, `between` both ends included. Dates
            may be dates, texts (``"2024-03"`` is the month) or `last`; a time of day on a timestamp is meant
            in the table's zone.
        """
        if isinstance(self._work, Groups):
            raise PlanError("where comes before group_by and bars; filter the collected result instead")
        if self._work is not None and self._work.join is not None:
            bound = conditions_of(output_scope(self._plan()), conditions, columns)
            work = replace(self._work, conditions=(*self._work.conditions, *bound))
            return Query(self._ref, self._scope, self._conditions, work)
        bound = conditions_of(self._scope, conditions, columns)
        return Query(self._ref, self._scope, (*self._conditions, *bound), self._work)

    def select(self, *columns: Any, **named: Any) -> Query:  # noqa: ANN401 - names and expressions
        """Choose columns, and calculate new ones: ``select("sym", mid=(col("bid") + col("ask")) / 2)``."""
        if isinstance(self._work, Groups):
            raise PlanError("select comes before group_by and bars; choose from the collected result instead")
        if self._work is not None:
            if self._work.join is None or self._work.final is not None:
                raise PlanError("the query has a select already; write all columns in one")
            final = outputs_of(output_scope(self._plan()), columns, named)
            return Query(self._ref, self._scope, self._conditions, replace(self._work, final=final))
        outputs = outputs_of(self._scope, columns, named)
        return Query(self._ref, self._scope, self._conditions, Rows(outputs))

    def group_by(self, *keys: Any, **named: Any) -> GroupBy:  # noqa: ANN401 - names and expressions
        """Group by columns and buckets; without any, all rows are one group. Follow it with ``agg``."""
        self._check_unshaped("group_by")
        return GroupBy(self, keys_of(self._scope, keys, named))

    def bars(
        self,
        every: Any,  # noqa: ANN401 - text or timedelta
        session: tuple[str, str] | None = None,
        fill: Literal["previous"] | None = None,
        offset: Any = None,  # noqa: ANN401 - text or timedelta
    ) -> Query:
        """Make bars: open, high, low, close, volume, vwap by symbol and time.

        Parameters
        ----------
        every
            Width: ``"1m"``, ``"5s"``, ``"250ms"``, ``"1h"``, ``"1d"``. Buckets are closed and labelled left,
            and aligned to midnight in the table's zone.
        session
            Keep what lies in ``("09:30", "16:00")``, the end not included.
        fill
            ``"previous"`` gives buckets without a trade the previous close and volume 0.
        offset
            Moves the buckets.
        """
        self._check_unshaped("bars")
        conditions, groups = bars_of(self._scope, every, session, fill, offset)
        return Query(self._ref, self._scope, (*self._conditions, *conditions), groups)

    def asof_join(
        self,
        right: Any,  # noqa: ANN401 - Table or Query
        *,
        by: str | list[str] | tuple[str, ...] | None = None,
        on: str,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: Any = None,  # noqa: ANN401 - text, timedelta or number
        lookback: Any = None,  # noqa: ANN401 - text or timedelta
        suffix: str = "_right",
    ) -> Query:
        """Give each row the last row of another table at or before it, within the partition date.

        Parameters
        ----------
        right
            A table or a query over one.
        by
            Columns that must be equal, usually the symbol; null equals nothing.
        on
            The time, in both tables.
        strategy
            ``"backward"``, ``"forward"`` or ``"nearest"``; among equal times the last stored row wins.
        tolerance
            Largest distance, as ``"5s"``.
        lookback
            Days before the row's date that are read for rows that found nothing, as ``"5d"``.
        suffix
            What is added to the name of a right column that the left has, too.
        """
        if isinstance(self._work, Groups):
            raise PlanError("asof_join takes rows; collect the groups and pass them to cn.asof_join")
        if self._work is not None and self._work.join is not None:
            raise PlanError("the query has an as-of join already; collect it and pass it to cn.asof_join")
        outputs = all_columns(self._scope) if self._work is None else self._work.outputs
        join = join_of(
            self._scope, outputs, plan_of(right),
            by=by, on=on, strategy=strategy, tolerance=tolerance, lookback=lookback, suffix=suffix,
        )  # fmt: skip
        return Query(self._ref, self._scope, self._conditions, Rows(outputs, join))

    def collect(
        self,
        threads: int | None = None,
        engine: Engine | None = None,
        *,
        symbols: Symbols = "categorical",
        memory_limit: int | str | None = None,
    ) -> pl.DataFrame:
        """Run the query over the newest version of its table.

        Parameters
        ----------
        threads
            Threads to use; the answer doesn't depend on it.
        engine
            A function from a list of `Task` to their results in order, to run them elsewhere.
        symbols
            ``"string"`` gives symbols as texts.
        memory_limit
            Bytes, or a text such as ``"4GB"``; a larger result is refused before it is read.
        """
        if symbols not in ("categorical", "string"):
            raise PlanError(f"symbols is {symbols!r}; expected 'categorical' or 'string'")
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise PlanError(f"threads is {threads!r}; expected a whole number from 1")
        source = self._ref.open()
        plan = at_version(source, self._plan())
        limit = bytes_of(memory_limit)
        frame = execute(source, plan, threads=threads, engine=engine, memory_limit=limit)
        return (
            frame if symbols == "categorical" else frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
        )

    def explain(self) -> str:
        """Tell what the query would read and do, without reading any row."""
        source = self._ref.open()
        return explain(source, at_version(source, self._plan()))

    def tasks(self) -> list[Task]:
        """Give the independent, picklable pieces of the query; the order is the order of the result."""
        source = self._ref.open()
        return tasks_of(source, at_version(source, self._plan()))

    def iter_partitions(self, threads: int | None = None) -> Iterator[tuple[Any, pl.DataFrame]]:
        """Give date and frame of one partition after the other; memory holds one."""
        source = self._ref.open()
        yield from iter_partitions(source, at_version(source, self._plan()), threads=threads)

    def write_parquet(self, path: str | Path, *, threads: int | None = None) -> None:
        """Run the query and write its result."""
        self.collect(threads=threads).write_parquet(path)

    def _plan(self) -> Plan:
        work = Rows(all_columns(self._scope)) if self._work is None else self._work
        version = self._ref.version or 0
        scope = self._scope
        return Plan(scope.table, str(self._ref.path), version, scope.schema, self._conditions, work)

    def _check_unshaped(self, word: str) -> None:
        if self._work is not None:
            shape = "grouped" if isinstance(self._work, Groups) else "selected or joined"
            raise PlanError(f"{word} needs the table's own rows, but this query has {shape} them already")

    def __repr__(self) -> str:
        return f"<query over {self._scope.table!r}: {self._describe()}; collect() runs it>"

    def _repr_html_(self) -> str:
        return f"<code>{_escaped(repr(self))}</code>"

    def _describe(self) -> str:
        plan = self._plan()
        conditions = f"{len(plan.conditions)} conditions, " if plan.conditions else ""
        if isinstance(plan.work, Groups):
            names = [output.name for output in (*plan.work.keys, *plan.work.aggregates)]
        else:
            names = [output.name for output in plan.work.outputs]
        return conditions + ", ".join(names)


class GroupBy:
    """A query grouped by keys, waiting for its aggregates."""

    __slots__ = ("_keys", "_query")

    def __init__(self, query: Query, keys: tuple[Output, ...]) -> None:
        self._query = query
        self._keys = keys

    def __getattr__(self, word: str) -> NoReturn:
        raise unknown_word("a grouped query", word, {**WORDS, "aggregate": "agg"})

    def agg(self, *aggregates: Any, **named: Any) -> Query:  # noqa: ANN401 - expressions
        """Name the aggregates: ``agg(volume=col("size").sum(), vwap=col("price").wavg(col("size")))``."""
        query = self._query
        groups = groups_of(query._scope, self._keys, aggregates, named)  # noqa: SLF001 - one thing in two classes
        return Query(query._ref, query._scope, query._conditions, groups)  # noqa: SLF001

    def __repr__(self) -> str:
        return f"<grouped query, keys {', '.join(key.name for key in self._keys)}; agg(...) comes next>"


def plan_of(right: Any) -> Plan:  # noqa: ANN401 - Table or Query
    """Give the plan of the right side of a join, at the version that is newest now."""
    query = right if isinstance(right, Query) else vars(type(right)).get("all_rows", _no_query)(right)
    return at_version(query._ref.open(), query._plan())  # noqa: SLF001 - the same module


def _no_query(right: object) -> Query:
    raise PlanError(f"the right side of an as-of join is a table or a query, not {type(right).__name__}")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
