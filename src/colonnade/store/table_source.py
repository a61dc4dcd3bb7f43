"""Our own files as the sources that queries read: the protocols of `source`, over a version of a table.

An open source holds a shared lock on its version file, so that its files are not cleaned away while it lives.
Open column files are kept, the least recently used going first before more than `_OPEN_FILES` are mapped.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import HeaderError, NotFoundError, located
from colonnade.schema import Schema, days_to_date
from colonnade.store.atomic import check_folder, file_identity
from colonnade.store.column_file import ColumnFile, mapped_files
from colonnade.store.entries import ColumnEntry, PartEntry
from colonnade.store.filenames import VERSIONS, version_name
from colonnade.store.manifest import Manifest
from colonnade.store.older_parts import AbsentColumn, WidenedColumn, absent_column
from colonnade.store.schema_change import is_read_as
from colonnade.store.version import TableStore
from colonnade.store.version_file import NO_MAX, Version

_MAX_OPEN_FILES: Final = 1024
_OPENING: Final = 8  # files that other threads may open at the same moment

PartColumn = ColumnFile | WidenedColumn | AbsentColumn


class StoredPart:
    """A part of our files; a `PartSource`."""

    def __init__(self, folder: Path, entry: PartEntry, schema: Schema, where: dict[str, str | int]) -> None:
        self.entry = entry
        self.row_count = entry.row_count
        self.sequence = entry.sequence
        self.sort_bounds = _sort_bounds(entry)
        self._partition = folder
        self._schema = schema
        self.where = where

    @cached_property
    def folder(self) -> str:
        """Folder of the part, known to be one."""
        check_folder(self._partition)
        folder = f"{self._partition}/{self.entry.folder}"
        check_folder(folder)
        return folder

    @property
    def runs(self) -> NDArray[Any] | None:
        """One `RUNS` entry a symbol of ``part_by``, ascending codes; None without such a column."""
        part_by = self._schema.part_by
        return None if part_by is None else self._file(part_by, self._needed_entry(part_by)).runs

    def column(self, name: str) -> PartColumn:
        """Give a column as the table has it; raise `ColumnNotFoundError` where the table has none.

        One that the part lacks has no value in any row, and one that is narrower here is widened.
        """
        return self._as_wanted(name, self._file)

    def column_apart(self, name: str) -> PartColumn:
        """Give a column as `column` does, its file opened anew and with nothing checked yet."""
        return self._as_wanted(name, self._opened)

    def _as_wanted(self, name: str, opened: Callable[[str, ColumnEntry], ColumnFile]) -> PartColumn:
        wanted = self._schema.column(name, where=f"table {self.where['table']!r}")
        entry = self.column_entry(name)
        if entry is None:
            return absent_column(wanted, self.row_count)
        file = opened(name, entry)
        return file if entry.type == wanted else WidenedColumn(file, wanted)

    def column_entry(self, name: str) -> ColumnEntry | None:
        """Give what the manifest says of a column; None where the part is older than the column.

        Raises
        ------
        HeaderError
            If its type isn't one that is read as the table's, or it is a key, which every part must have.
        """
        wanted = self._schema.column(name, where=f"table {self.where['table']!r}")
        entry = self.entry.columns.get(self._schema.stored_name(name))
        if entry is None and name in (self._schema.part_by, self._schema.sort_by):
            with located(**self.where, column=name):
                raise HeaderError(
                    f"part {self.entry.folder!r} lacks the column, by which its rows are placed"
                )
        if entry is not None and not is_read_as(entry.type, wanted):
            with located(**self.where, column=name):
                raise HeaderError(
                    f"part {self.entry.folder!r} holds the type {entry.type}, the table has {wanted}"
                )
        return entry

    def open_apart(self, name: str) -> ColumnFile:
        """Open the file of a column that the part has, anew and with nothing checked yet."""
        return self._opened(name, self._needed_entry(name))

    def _file(self, name: str, entry: ColumnEntry) -> ColumnFile:
        path = self._column_path(entry)
        with _lock:
            column = _columns.get(path)
            if column is not None:
                _columns.move_to_end(path)
                return column
            _make_room()
        return _kept_open(path, self._opened(name, entry))

    def _opened(self, name: str, entry: ColumnEntry) -> ColumnFile:
        return ColumnFile(self._column_path(entry), entry, self.row_count, {**self.where, "column": name})

    def _column_path(self, entry: ColumnEntry) -> str:
        return f"{self.folder}/{entry.file}"

    def _needed_entry(self, name: str) -> ColumnEntry:
        entry = self.column_entry(name)
        if entry is None:
            with located(**self.where, column=name):
                raise HeaderError(f"part {self.entry.folder!r} lacks the column")
        return entry


def _sort_bounds(entry: PartEntry) -> tuple[int, int] | None:
    low, high = entry.sort_min, entry.sort_max
    return None if low is None or high is None or high >= NO_MAX else (low, high)  # uint64 may be clipped


class StoredPartition:
    """A partition of our files; a `PartitionSource`."""

    def __init__(self, folder: Path, manifest: Manifest, schema: Schema, table: str) -> None:
        self.manifest = manifest
        self.value = manifest.value
        self.row_count = manifest.row_count
        where: dict[str, str | int] = {
            "table": table,
            "partition": days_to_date(manifest.value).isoformat(),
        }
        self.parts = tuple(
            StoredPart(folder, part, schema, where)
            for part in sorted(manifest.parts, key=lambda part: part.sequence)
        )


class StoredTable:
    """One version of a table of ours; a `TableSource`. Made by `open_source`."""

    def __init__(self, store: TableStore, version: Version, lock: int) -> None:
        self._store = store
        self._partitions = _partitions_of(version, store.path)
        self.path = store.path
        self.name = store.name
        self.state = version
        self.version = version.number
        self.schema = version.schema
        self.values: NDArray[np.int32] = version.values
        self.row_counts: NDArray[np.int64] = version.row_counts
        self.sort_min: NDArray[np.int64] = version.sort_min
        self.sort_max: NDArray[np.int64] = version.sort_max
        weakref.finalize(self, os.close, lock)

    def partition(self, value: int) -> StoredPartition:
        """Give the partition of a date; raise `NotFoundError` where there is none."""
        known = self._partitions.get(value)
        if known is None:
            manifest = self._store.manifest(self.state, value)
            folder = self._store.partition_folder(value, self.schema)
            known = StoredPartition(folder, manifest, self.schema, self.name)
            self._partitions[value] = known
        return known

    def __reduce__(self) -> tuple[Any, ...]:
        return open_source, (self.path, self.version)


def open_source(path: Path, version: int | None = None) -> StoredTable:
    """Open a version of a table for reading, the newest by default.

    Sources of the same version are one object within a process, for as long as somebody uses it.

    Raises
    ------
    NotFoundError
        If there is no table, or the version isn't kept.
    StaleVersionError
        If the version is cleaned away while it is opened.
    """
    store = TableStore(path)
    state = store.current() if version is None else store.read(version)
    if state.is_dropped:
        raise NotFoundError(f"table {store.name!r} was dropped by version {state.number}")
    key = (str(path), state.number, file_identity(path / VERSIONS / version_name(state.number)))
    with _lock:
        source = _sources.get(key)
        if source is None:
            source = StoredTable(store, state, store.lock(state.number))
            _sources[key] = source
        return source


@lru_cache(maxsize=8)
def _partitions_of(version: Version, path: Path) -> dict[int, StoredPartition]:
    """Keep the partitions that were read of a version for the next query; a version is one object."""
    del version, path
    return {}


def _kept_open(path: str, column: ColumnFile) -> ColumnFile:
    """Keep a column file open; give the one that is open already where another thread was faster."""
    with _lock:
        return _columns.setdefault(path, column)


def _make_room() -> None:
    """Forget the column files that were used least recently; those in use stay mapped as long as they are."""
    while _columns and mapped_files() >= _OPEN_FILES - _OPENING:
        _columns.popitem(last=False)


def close_columns() -> None:
    """Forget every open column file; those in use stay open until they are no longer used."""
    with _lock:
        _columns.clear()


def _open_files() -> int:
    """Give how many maps to keep; before Python 3.13 each holds a descriptor, and half of them are ours."""
    if sys.version_info >= (3, 13):
        return _MAX_OPEN_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else max(min(_MAX_OPEN_FILES, soft // 2), 16)


_OPEN_FILES: Final = _open_files()
_lock = threading.Lock()
_columns: OrderedDict[str, ColumnFile] = OrderedDict()
_sources: weakref.WeakValueDictionary[tuple[str, int, tuple[int, int, int]], StoredTable] = (
    weakref.WeakValueDictionary()
)
