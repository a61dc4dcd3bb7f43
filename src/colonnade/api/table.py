"""A table: its schema and partitions, and the beginnings of queries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
import polars as pl

from colonnade.api.drift import cast_frame, drift_frame
from colonnade.api.info import column_info
from colonnade.api.query import GroupBy, Query, TableRef
from colonnade.api.rewrites import DeletePlan, Progress, compact_table, plan_delete, recompress_table
from colonnade.api.scan import scan_query
from colonnade.api.words import WORDS
from colonnade.codec.choose import CompressionArgument
from colonnade.errors import PlanError
from colonnade.ingest.roles import guess_roles
from colonnade.maintenance import alter
from colonnade.maintenance.cast import cast_column, files_to_cast
from colonnade.query.bind import Scope
from colonnade.query.expr import unknown_word
from colonnade.query.plan import Plan
from colonnade.query.points import read_points
from colonnade.query.values import days_between, instant_ns
from colonnade.schema import ColumnType, Schema, days_to_date
from colonnade.store.atomic import is_durable
from colonnade.store.table_source import StoredTable
from colonnade.store.version import TableStore


class Table:
    """A table of a database; made by ``db["trade"]``.

    It reads the newest version at the time of each question; `at` gives one that stays.
    """

    def __init__(self, ref: TableRef, ingest: Callable[..., Any] | None = None) -> None:
        self._ref = ref
        self._ingest = ingest

    def __getattr__(self, word: str) -> NoReturn:
        raise unknown_word("a table", word, WORDS)

    @property
    def name(self) -> str:
        """Name of the table."""
        return self._ref.path.name

    @property
    def schema(self) -> Schema:
        """Columns, types, keys and roles."""
        return self._open().schema

    @property
    def roles(self) -> Mapping[str, str]:
        """Which column is symbol, time, price, size …; given or guessed at the first ingest."""
        return self.schema.roles

    @property
    def version(self) -> int:
        """Number of the version that is read."""
        return self._open().version

    @property
    def row_count(self) -> int:
        """Rows of all partitions."""
        return int(self._open().row_counts.sum())

    @property
    def partitions(self) -> pl.DataFrame:
        """Date and rows of each partition, ascending."""
        source = self._open()
        dates = pl.Series("date", np.array(source.values, dtype=np.int32)).cast(pl.Date)
        return pl.DataFrame([dates, pl.Series("rows", np.array(source.row_counts, dtype=np.int64))])

    def info(self) -> pl.DataFrame:
        """Show what is on disk: a row a partition and column, with its compression, bytes and ratio."""
        return column_info(self._open())

    def drift(self) -> pl.DataFrame:
        """Show what on disk differs from what the table says: columns that parts lack, types, compressions.

        One row a partition, column and difference: ``absent``, ``type`` or ``compression``, with what was
        found and what the table says, the rows and the stored bytes. All of it is read rightly as it is;
        `recompress` brings compressions in line.
        """
        return drift_frame(self._open())

    def at(self, version: int | None = None, time: Any = None) -> Table:  # noqa: ANN401 - text, datetime, NumPy
        """Give the table as it was: at a version, or at a time (UTC unless it says otherwise)."""
        if (version is None) == (time is None):
            raise PlanError("at takes a version or a time, and not both")
        store = TableStore(self._ref.path)
        if version is not None:
            if isinstance(version, bool) or not isinstance(version, int):
                raise PlanError(f"version is {version!r}; expected a whole number")
            return Table(TableRef(self._ref.path, store.read(version).number))
        if isinstance(time, dt.datetime) and time.tzinfo is None:
            time = time.replace(tzinfo=dt.UTC)
        moment = instant_ns(time, "UTC", what="the time")
        return Table(TableRef(self._ref.path, store.at(moment).number))

    def where(self, *conditions: Any, **columns: Any) -> Query:  # noqa: ANN401 - values of any kind
        """Keep the rows that fulfil all conditions; see `Query.where`."""
        return self.all_rows().where(*conditions, **columns)

    def select(self, *columns: Any, **named: Any) -> Query:  # noqa: ANN401 - names and expressions
        """Choose and calculate columns; see `Query.select`."""
        return self.all_rows().select(*columns, **named)

    def group_by(self, *keys: Any, **named: Any) -> GroupBy:  # noqa: ANN401 - names and expressions
        """Group rows; see `Query.group_by`."""
        return self.all_rows().group_by(*keys, **named)

    def bars(self, every: Any, session: Any = None, fill: Any = None, offset: Any = None) -> Query:  # noqa: ANN401
        """Make bars; see `Query.bars`."""
        return self.all_rows().bars(every, session, fill, offset)

    def asof_join(self, right: Any, **options: Any) -> Query:  # noqa: ANN401 - Table or Query
        """Give each row the last row of another table at or before it; see `Query.asof_join`."""
        return self.all_rows().asof_join(right, **options)

    def collect(self, threads: int | None = None, **options: Any) -> pl.DataFrame:  # noqa: ANN401
        """Read all rows; see `Query.collect`."""
        return self.all_rows().collect(threads, **options)

    def all_rows(self) -> Query:
        """Give the query that asks for everything."""
        return Query(self._ref, Scope(self.name, self.schema))

    def scan(self) -> pl.LazyFrame:
        """Give a Polars `LazyFrame` of all rows, for what no query here does; Polars' rules hold for it."""
        return scan_query(self.all_rows(), Scope(self.name, self.schema))

    def rows(self, numbers: Iterable[int]) -> pl.DataFrame:
        """Read rows by their number in the table: by date, then in logical order; in the order asked."""
        return read_points(self._open(), numbers)

    def append(self, frame: Any, **options: Any) -> Any:  # noqa: ANN401 - a frame, a path
        """Add rows; the same as ``db.ingest(name, frame, mode="append")``."""
        return self._ingested(frame, "append", options)

    def replace(self, frame: Any, **options: Any) -> Any:  # noqa: ANN401 - a frame, a path
        """Put rows in the place of all that their dates hold; ``db.ingest(name, frame, mode="replace")``."""
        return self._ingested(frame, "replace", options)

    def _ingested(self, frame: Any, mode: str, options: Mapping[str, Any]) -> Any:  # noqa: ANN401
        if self._ingest is None:
            raise PlanError(
                f"table {self.name!r} is shown at version {self._ref.version}, which can't change"
            )
        return self._ingest(self.name, frame, mode=mode, **options)

    def add_column(self, name: str, type: str) -> None:  # noqa: A002 - the word of the public surface
        """Add a column: null in the rows that are there, whose files stay as they are.

        It gets the role that its name tells, where no other column has it.

        Parameters
        ----------
        name
            Name of the new column, which comes last.
        type
            Its type, as ``"float64"``.

        Examples
        --------
        >>> db["trade"].add_column("venue", "symbol")  # doctest: +SKIP
        """
        kind = ColumnType.parse(type)
        alter.add_column(self._writable(), name, kind, roles=guess_roles({name: kind}))

    def drop_column(self, name: str) -> None:
        """Drop a column; its values don't come back, even if a column of that name is added later.

        Columns that place the rows (``part_by``, ``sort_by``, the column of the trading date) can't be
        dropped. The files go when the versions that know the column are cleaned away.
        """
        alter.drop_column(self._writable(), name)

    def rename_column(self, old: str, new: str) -> None:
        """Give a column another name; keys, roles and settings go along, no file of rows is written."""
        alter.rename_column(self._writable(), old, new)

    def cast_column(
        self,
        name: str,
        type: str,  # noqa: A002 - the word of the public surface
        *,
        apply: bool = True,
        durability: str = "safe",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> pl.DataFrame:
        """Give a column another type, without loss or not at all.

        A wider type (``int16`` to ``int32``, ``float32`` to ``float64``, another zone) is a matter of a
        moment: files stay, and their values are widened as they are read. Any other type writes the column's
        files anew, and a value that would not come back as it was is an error before anything is changed.
        Rows can be appended meanwhile.

        Parameters
        ----------
        name, type
            The column, and its new type as ``"int64"``.
        apply
            False tells what would be written, and writes nothing; whether every value fits isn't looked at.
        durability
            ``"safe"``, or ``"fast"`` without waiting for the disk; see `Database.ingest`.
        threads
            Files written side by side.
        progress
            Called with the bytes written so far and the bytes in all, of plain values.

        Returns
        -------
        Date, files, rows and stored bytes of each partition whose files were written anew.

        Examples
        --------
        >>> db["trade"].cast_column("size", "int64")  # doctest: +SKIP
        """
        kind, store = ColumnType.parse(type), self._writable(durability)
        if not apply:
            return cast_frame(files_to_cast(self._open(), name, kind))
        return cast_frame(cast_column(store, name, kind, threads=threads, watch=progress))

    def drop_partition(self, date: Any) -> list[dt.date]:  # noqa: ANN401 - date, text, NumPy
        """Drop the rows of a date, of a month as ``"2024-03"``, or of a list of them, as one commit.

        Versions from before still have them until they are cleaned away.

        Returns
        -------
        The dates that went.
        """
        spans = [days_between(one, what="the date") for one in (date if isinstance(date, list) else [date])]
        return [days_to_date(day) for day in alter.drop_partitions(self._writable(), spans)]

    def compact(
        self,
        date: Any = None,  # noqa: ANN401 - whatever `where` takes
        *,
        dry_run: bool = False,
        durability: str = "safe",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> pl.DataFrame:
        """Make one part of those that appends left of each date; the order of rows stays what it is.

        Parameters
        ----------
        date
            Which dates, as `where` takes them: a date, a month, a list, ``cn.last(5)``; None for all.
        dry_run
            Tell what would be done, and do nothing.
        durability
            ``"safe"``, or ``"fast"`` without waiting for the disk; see `Database.ingest`.
        threads
            Columns written side by side.
        progress
            Called with the bytes that were done so far, and all of them.

        Returns
        -------
        One row a date that has several parts: ``partition``, ``rows``, ``parts``, ``bytes_before`` and
        ``bytes_after``, which is null in a dry run. Each date is a commit.
        """
        return compact_table(
            self._writable(durability), self._dated(date), dry_run=dry_run, threads=threads, progress=progress
        )

    def recompress(
        self,
        compression: CompressionArgument | None = None,
        *,
        goal: str | None = None,
        columns: str | Collection[str] | None = None,
        date: Any = None,  # noqa: ANN401 - whatever `where` takes
        older_than: Any = None,  # noqa: ANN401 - text or timedelta
        dry_run: bool = False,
        durability: str = "safe",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> pl.DataFrame:
        """Write column files anew under other compressions; the values stay, bit for bit.

        Every new file is decoded and held against the hash of the old values before it counts. Readers and
        appends go on meanwhile. What an interruption leaves undone is done by the next call.

        Parameters
        ----------
        compression
            What ingest takes: ``"zstd:10"``, ``(17, 5, 10)``, or a mapping of columns to those, which leaves
            the columns that it doesn't name as they are unless it has a ``"default"``. Without it, and
            without a goal, files get what the table's settings say.
        goal
            ``"fastest"``, ``"balanced"`` or ``"smallest"``, for columns whose compression is ``"auto"``.
        columns
            Only these.
        date
            Which dates, as `where` takes them; None for all.
        older_than
            Only dates that lie further back than that, as ``"30d"``.
        dry_run
            Tell what would be done, and do nothing.
        durability
            ``"safe"``, or ``"fast"`` without waiting for the disk; see `Database.ingest`.
        threads
            Files written side by side.
        progress
            Called with the bytes of values that were written so far, and all of them.

        Returns
        -------
        One row a date and column that differed: ``partition``, ``column``, compression ``before`` and
        ``after``, ``rows``, ``bytes_before`` and ``bytes_after``, which is null in a dry run.

        Notes
        -----
        A compression that is given for all dates becomes that of rows that are appended later, too.
        """
        return recompress_table(
            self._writable(durability),
            self._dated(date),
            compression,
            goal=goal,
            columns=columns,
            older_than=older_than,
            is_everything=date is None and older_than is None,
            dry_run=dry_run,
            threads=threads,
            progress=progress,
        )

    def delete(self, *conditions: Any, **columns: Any) -> DeletePlan:  # noqa: ANN401 - values of any kind
        """Find the rows that fulfil all conditions; ``apply()`` of the result deletes them.

        Takes what `where` takes. Only parts that hold such rows are written anew.

        Examples
        --------
        >>> plan = db["trade"].delete(date="2024-01-02", sym="TEST")  # doctest: +SKIP
        >>> plan.rows, plan.frame  # doctest: +SKIP
        >>> plan.apply()  # doctest: +SKIP
        """
        if not conditions and not columns:
            raise PlanError(
                "delete takes conditions, as where does; to drop all rows use drop_partition or drop_table"
            )
        plan = self.all_rows().where(*conditions, **columns)._plan()  # noqa: SLF001 - a query is what we need
        return plan_delete(self._writable(), plan)

    def _dated(self, date: Any) -> Plan:  # noqa: ANN401
        rows = self.all_rows()
        dated = rows if date is None else rows.where(**{self.schema.partition_by: date})
        return dated._plan()  # noqa: SLF001 - a query is what we need

    def _writable(self, durability: str = "safe") -> TableStore:
        if self._ref.version is not None:
            raise PlanError(
                f"table {self.name!r} is shown at version {self._ref.version}, which can't change; "
                f"use db[{self.name!r}]"
            )
        return TableStore(self._ref.path, durable=is_durable(durability))

    def _open(self) -> StoredTable:
        return self._ref.open()

    def __repr__(self) -> str:
        source = self._open()
        rows = int(source.row_counts.sum())
        dates = f"{len(source.values):,} partitions"
        return f"<table {self.name!r}: {rows:,} rows in {dates}, version {source.version}>"

    def _repr_html_(self) -> str:
        text = repr(self).replace("<", "&lt;").replace(">", "&gt;")
        return f"<code>{text}</code>"
