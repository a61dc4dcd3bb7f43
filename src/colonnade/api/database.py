"""A database: a folder of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import polars as pl

from colonnade.api.query import TableRef
from colonnade.api.table import Table
from colonnade.api.upkeep import clean_tables, copy_tables, list_files
from colonnade.ingest.writer import IngestReport, ingest
from colonnade.maintenance import alter
from colonnade.maintenance.verify import Finding, verify
from colonnade.query.expr import unknown_word
from colonnade.store.database import DatabaseStore

_WORDS: Final = {
    "table": 'db["trade"]',
    "get": 'db["trade"]',
    "read": 'db["trade"]',
    "list_tables": "tables",
    "insert": "ingest",
    "load": "ingest",
    "write": "ingest",
    "import_csv": "ingest",
    "execute": 'db["trade"].where(...)',
    "query": 'db["trade"].where(...)',
}


class Database:
    """Tables in one folder; made by `create` and `open`.

    Examples
    --------
    >>> db = cn.open("db")  # doctest: +SKIP
    >>> db["trade"].where(date="2024-01-02").bars("1m").collect()  # doctest: +SKIP
    """

    def __init__(self, store: DatabaseStore) -> None:
        self._store = store

    def __getattr__(self, word: str) -> NoReturn:
        raise unknown_word("a database", word, _WORDS)

    @property
    def path(self) -> Path:
        """Folder of the database."""
        return self._store.path

    @property
    def tables(self) -> list[str]:
        """Names of the tables, sorted."""
        return self._store.table_names()

    def __getitem__(self, name: str) -> Table:
        return Table(TableRef(self._store.open_table(name).path), self.ingest)

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def ingest(self, table: str, source: Any, **options: Any) -> IngestReport:  # noqa: ANN401 - paths, frames
        """Read rows of files or frames into a table, sorted, parted and split by date.

        Parameters
        ----------
        table
            Name of the table; made at the first ingest.
        source
            A path, several, or a frame: CSV (also .gz, .zst, .xz, .zip), Parquet, Arrow, Polars.
        options
            ``part_by``, ``sort_by``, ``partition_by``, ``date``, ``tz``, ``day_start``, ``format``,
            ``compression``, ``goal``, ``mode``, ``new_columns``, ``widen`` and more; see
            `colonnade.ingest.writer.ingest`. Later calls take the table's keys.
        """
        return ingest(self._store, table, source, **options)

    def drop_table(self, name: str) -> None:
        """Drop a table with all its rows.

        Readers that have it open go on; its files go when its versions are cleaned away. A table of that name
        can be made anew at once.
        """
        alter.drop_table(self._store.open_table(name))

    def clean(self, table: str | None = None, *, keep: Any = "1d", dry_run: bool = False) -> pl.DataFrame:  # noqa: ANN401
        """Remove old versions, and files that no version needs; give how many, a row a table.

        Parameters
        ----------
        table
            Name of a table; None for all, dropped ones included.
        keep
            Span such as ``"1d"``. A version stays for as long after the next one was committed, and longer
            where a reader has it open; so do files of writers that died.
        dry_run
            Give what would be removed, and remove nothing.
        """
        return clean_tables(self._store, table, keep, dry_run=dry_run)

    def files(self, table: str | None = None, *, version: int | None = None) -> pl.DataFrame:
        """List the files of a version of a table, or of the newest of all tables, for tools that copy files.

        Paths are relative to the folder of the database. `clean` with its default leaves them there for a day
        at least.
        """
        return list_files(self._store, table, version)

    def copy(
        self,
        destination: str | Path,
        *,
        tables: Any = None,  # noqa: ANN401 - a name, several
        dates: Any = None,  # noqa: ANN401 - a date, a month, several
        symbols: Any = None,  # noqa: ANN401 - a symbol, several
        columns: Any = None,  # noqa: ANN401 - a name, several
        durability: str = "safe",
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> pl.DataFrame:
        """Copy the newest version of the tables, or some of it, into a new database, and verify it.

        An interrupted copy is no database yet, and goes on when it is called again. Rows, their order and
        compression stay.

        Parameters
        ----------
        destination
            A folder that is new or empty.
        tables, dates, symbols, columns
            One or several to copy; None for all. A date may be a month, ``"2024-03"``. The columns of a
            table's keys come along.
        durability
            See `ingest`.
        threads
            Number of threads; see `threads.default_threads`.
        progress
            Called with the bytes copied so far and the bytes in all.
        """
        return copy_tables(
            self._store,
            destination,
            tables=tables,
            dates=dates,
            symbols=symbols,
            columns=columns,
            durability=durability,
            threads=threads,
            progress=progress,
        )

    def verify(self, table: str | None = None, *, threads: int | None = None) -> pl.DataFrame:
        """Check every checksum, hash, count and order; give what is wrong, one row each."""
        found: list[Finding] = []
        for name in self.tables if table is None else [table]:
            source = TableRef(self._store.open_table(name).path).open()
            found += verify(source, threads=threads).findings
        names = ("table", "partition", "column", "block", "problem", "error")
        types = {name: pl.Int64 if name == "block" else pl.String for name in names}
        return pl.DataFrame(
            [{name: getattr(finding, name) for name in names} for finding in found], schema=types
        )

    def __repr__(self) -> str:
        return f"<database '{self.path}': {', '.join(self.tables) or 'no tables'}>"

    def _repr_html_(self) -> str:
        text = repr(self).replace("<", "&lt;").replace(">", "&gt;")
        return f"<code>{text}</code>"


def create(path: str | Path) -> Database:
    """Create a database in a folder that is new or empty."""
    return Database(DatabaseStore.create(path))


def open_database(path: str | Path) -> Database:
    """Open a database; exported as ``cn.open``."""
    return Database(DatabaseStore.open(path))
