"""Copies a version of tables into a new database: all of it, or chosen dates, symbols and columns.

The folder gets its marker, without which it is no database, once everything in it was verified. Until then
a file tells what is being copied, and each date that is there has a record; so the same copy, called again
after an interruption, goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from colonnade.errors import (
    AlreadyExistsError,
    ColumnNotFoundError,
    ConflictError,
    CorruptionError,
    NotFoundError,
    SchemaError,
)
from colonnade.maintenance.copy_parts import Range, copy_files, copy_rows, stored_columns, wanted_ranges
from colonnade.maintenance.verify import verify
from colonnade.schema import Schema
from colonnade.store.atomic import lock_alone, make_folders, open_to_read, publish, read_file, sync_folders
from colonnade.store.database import DatabaseStore
from colonnade.store.document import hash_bytes, read_document, write_document
from colonnade.store.entries import part_of_json, part_to_json, source_of_json, source_to_json
from colonnade.store.filenames import MARKER, VERSIONS
from colonnade.store.schema_change import settings_without
from colonnade.store.table_source import StoredPart, StoredPartition, open_source
from colonnade.store.version import Addition, Edits, TableStore

Watch = Callable[[int, int], None]  # called with the bytes copied so far and the bytes in all
_UNFINISHED: Final = ".copying.json"


@dataclass(frozen=True, slots=True)
class Selection:
    """What to copy; None for all.

    Attributes
    ----------
    tables
        Names of tables.
    days
        First and last day of spans of dates, since 1970-01-01.
    symbols
        Values of the column that a table is parted by.
    columns
        Columns; the keys of a table come along. A table has those of them that it has.
    """

    tables: tuple[str, ...] | None = None
    days: tuple[tuple[int, int], ...] | None = None
    symbols: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None

    def has_day(self, value: int) -> bool:
        """Whether a date is wanted."""
        return self.days is None or any(first <= value <= last for first, last in self.days)


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied of a table.

    Attributes
    ----------
    table
        Its name.
    version
        The version that was copied.
    partitions, rows, files, stored_bytes
        What the copy has.
    """

    table: str
    version: int
    partitions: int
    rows: int
    files: int
    stored_bytes: int


def copy_database(
    database: DatabaseStore,
    destination: str | Path,
    selection: Selection,
    *,
    durable: bool = True,
    threads: int | None = None,
    watch: Watch | None = None,
) -> list[Copied]:
    """Copy the newest version of each table into a new database, and verify it.

    Parameters
    ----------
    database
        Where to copy from.
    destination
        A folder that is new or empty, or holds what an interrupted copy of the same selection left.
    selection
        What to copy.
    durable
        Whether the copy survives a power cut.
    threads
        Files copied side by side; None for the default.
    watch
        Called as files are copied.

    Raises
    ------
    AlreadyExistsError
        If there is something else in the destination.
    NotFoundError
        If the database doesn't have what is chosen.
    SchemaError
        If symbols are chosen of a table that isn't parted by any.
    CorruptionError
        If what was copied isn't what it should be, because the database or the copy is damaged.
    ConflictError
        If somebody else makes the same copy.
    """
    target = _target(database, destination)
    names = database.table_names() if selection.tables is None else selection.tables
    tables = [database.open_table(name) for name in dict.fromkeys(names)]
    _check_columns(tables, selection.columns)
    plans = [_TableCopy(table, target, selection, durable=durable) for table in tables]
    if not any(plan.partitions for plan in plans):
        raise NotFoundError(f"there is nothing to copy: no row in '{database.path}' is of what is chosen")
    progress = _Progress(sum(plan.byte_count for plan in plans), watch)
    with _unfinished(target, selection, durable=durable):
        copied = [plan.run(threads, progress.count) for plan in plans]
        for plan in plans:
            plan.verify(threads)
        _finish(target, durable=durable)
    return copied


class _Progress:
    """Adds up what was copied."""

    def __init__(self, total: int, watch: Watch | None) -> None:
        self._total = total
        self._watch = watch
        self._done = 0

    def count(self, byte_count: int) -> None:
        """Add bytes that were copied."""
        self._done += byte_count
        if self._watch is not None:
            self._watch(self._done, self._total)


class _TableCopy:
    """The copy of one table: which parts, as what, and where to."""

    def __init__(
        self, table: TableStore, target: DatabaseStore, selection: Selection, *, durable: bool
    ) -> None:
        self._source = open_source(table.path)
        self._target = target.table(table.name, durable=durable)
        self._selection = selection
        self._durable = durable
        self._schema = _schema_of(self._source.schema, selection.columns)
        if selection.symbols is not None and self._source.schema.part_by is None:
            raise SchemaError(
                f"table {table.name!r} isn't parted by a column of symbols; choose others, or no symbols"
            )
        self.partitions = [
            value
            for value in self._source.values.tolist()
            if selection.has_day(value) and self._has_rows(self._source.partition(value))
        ]
        self.byte_count = sum(
            column.stored_bytes
            for value in self.partitions
            for part in self._source.partition(value).parts
            for column in stored_columns(part.entry, self._schema).values()
        )

    def run(self, threads: int | None, count: Callable[[int], None]) -> Copied:
        """Copy all partitions and commit them as the first version of the copy."""
        additions = {value: self._copied(value, threads, count) for value in self.partitions}
        settings = self._source.state.settings
        for name in set(self._source.schema.columns) - set(self._schema.columns):
            settings = settings_without(settings, name)
        shutil.rmtree(self._target.path / VERSIONS, ignore_errors=True)  # of an interrupted copy
        self._target.commit(None, Edits(schema=self._schema, settings=settings, replaced=additions))
        parts = [part for addition in additions.values() for part in addition.parts]
        columns = [column for part in parts for column in part.columns.values()]
        return Copied(
            self._target.name,
            self._source.version,
            len(additions),
            sum(part.row_count for part in parts),
            len(columns),
            sum(column.stored_bytes for column in columns),
        )

    def verify(self, threads: int | None) -> None:
        """Check everything that was copied, as `verify` does."""
        for finding in verify(open_source(self._target.path), threads=threads).findings:
            place = {
                "table": finding.table,
                "partition": finding.partition,
                "column": finding.column,
                "block": finding.block,
            }
            error = CorruptionError(
                f"the copy isn't what it should be: {finding.problem}; verify the database that was copied, "
                f"remove '{self._target.path}' and copy again"
            )
            error.where = {name: known for name, known in place.items() if known is not None}
            raise error

    def _has_rows(self, partition: StoredPartition) -> bool:
        return self._selection.symbols is None or any(map(self._ranges, partition.parts))

    def _ranges(self, part: StoredPart) -> Sequence[Range]:
        return wanted_ranges(part, self._source.schema.part_by or "", self._selection.symbols or ())

    def _copied(self, value: int, threads: int | None, count: Callable[[int], None]) -> Addition:
        """Copy a partition, or give what was copied before an interruption."""
        partition = self._source.partition(value)
        folder = self._target.partition_folder(value, self._schema)
        record = folder / f".copied-{self._key(value)}"
        if record.is_file():
            count(sum(self._bytes(part) for part in partition.parts))
            return _addition_of_json(read_document(read_file(record), "copied"))
        settings: dict[str, Any] = {"durable": self._durable, "threads": threads, "count": count}
        if self._selection.symbols is None:
            parts = copy_files(partition.parts, self._schema, folder, **settings)
        else:
            chosen = [(part, self._ranges(part)) for part in partition.parts]
            parts = copy_rows(chosen, self._schema, folder, **settings)
        addition = Addition(parts, partition.manifest.sources)
        publish(record, write_document("copied", _addition_to_json(addition)), durable=self._durable)
        return addition

    def _bytes(self, part: StoredPart) -> int:
        return sum(column.stored_bytes for column in stored_columns(part.entry, self._schema).values())

    def _key(self, value: int) -> str:
        """Name what is copied of a partition: nothing else has this name."""
        columns = sorted(map(self._schema.stored_name, self._schema.columns))
        told = [self._source.state.manifest_hash(value), self._selection.symbols, columns]
        return hash_bytes(json.dumps(told).encode())


def _target(database: DatabaseStore, destination: str | Path) -> DatabaseStore:
    folder = Path(os.path.realpath(destination))
    if folder == database.path or database.path in folder.parents:
        raise AlreadyExistsError(f"'{folder}' lies in the database that is copied; choose another folder")
    if folder.exists() and not folder.is_dir():
        raise AlreadyExistsError(f"'{folder}' is a file; expected a new or an empty folder")
    if (folder / MARKER).exists():
        raise AlreadyExistsError(f"there is a database in '{folder}' already; copy to a new folder")
    return DatabaseStore(folder)


@contextmanager
def _unfinished(target: DatabaseStore, selection: Selection, *, durable: bool) -> Iterator[None]:
    """Tell in the folder what is copied there, until it is; hold it against others meanwhile."""
    path = target.path / _UNFINISHED
    told = write_document("copy", asdict(selection))
    if target.path.is_dir() and not path.exists() and any(target.path.iterdir()):
        raise AlreadyExistsError(f"folder '{target.path}' isn't empty; expected a new or an empty folder")
    make_folders(target.path)
    publish(path, told, durable=durable)
    descriptor = open_to_read(path)
    try:
        if not lock_alone(descriptor):
            raise ConflictError(f"'{target.path}' is being copied to by another process")
        if read_file(path) != told:
            raise AlreadyExistsError(
                f"'{target.path}' holds an unfinished copy of something else; choose the same as then, or "
                "remove the folder"
            )
        yield
    finally:
        os.close(descriptor)


def _finish(target: DatabaseStore, *, durable: bool) -> None:
    """Make the folder a database, and remove what an unfinished copy needs."""
    publish(target.path / MARKER, write_document("database", {"tables": "folders"}), durable=durable)
    sync_folders([target.path, target.path.parent], durable=durable)
    for record in target.path.glob("*/*=*/.copied-*"):
        record.unlink()
    (target.path / _UNFINISHED).unlink()


def _check_columns(tables: Sequence[TableStore], columns: tuple[str, ...] | None) -> None:
    known = {name: None for table in tables for name in table.current().schema.columns}
    for name in columns or ():
        if name not in known:
            where = f"table {tables[0].name!r}" if len(tables) == 1 else "any of the tables"
            raise ColumnNotFoundError(name, known, where=where)


def _schema_of(schema: Schema, columns: tuple[str, ...] | None) -> Schema:
    """Give the schema with some of its columns and its keys; what was dropped is forgotten."""
    keys = {schema.part_by, schema.sort_by, schema.date_column}
    kept = {
        name: kind
        for name, kind in schema.columns.items()
        if columns is None or name in keys or name in columns
    }
    return replace(
        schema,
        columns=kept,
        roles={role: name for role, name in schema.roles.items() if name in kept},
        stored={name: stored for name, stored in schema.stored.items() if name in kept},
        retired=(),
    )


def _addition_to_json(addition: Addition) -> dict[str, Any]:
    return {
        "parts": [part_to_json(part) for part in addition.parts],
        "sources": [source_to_json(source) for source in addition.sources],
    }


def _addition_of_json(fields: dict[str, Any]) -> Addition:
    parts = tuple(part_of_json(part) for part in fields["parts"])
    return Addition(parts, tuple(source_of_json(source) for source in fields["sources"]))
