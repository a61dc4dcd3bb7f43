"""Gives a column another type: for free where older parts are read as the new type, else file by file.

Only the column's files are written anew, in the folders of their parts; rows can be appended meanwhile. A
value that wouldn't come back as it was stops everything before anything is changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from colonnade.codec.choose import choose
from colonnade.codec.compression import Compression
from colonnade.errors import ColumnTypeError, ConflictError
from colonnade.maintenance.lossless import check_way, converted
from colonnade.schema import ColumnType, Schema, days_to_date
from colonnade.store.atomic import sync_folders
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.entries import ColumnEntry
from colonnade.store.filenames import new_column_name
from colonnade.store.manifest import Change, ColumnChange
from colonnade.store.schema_change import is_read_as, with_type
from colonnade.store.table_source import StoredPart, StoredTable, open_source
from colonnade.store.version import REFUSALS, Edits, TableStore
from colonnade.threads import map_ordered

_SLICE_ROWS: Final = 1 << 20
_TRIES: Final = 20  # rows are appended, or parts merged, so often while one cast is written

Watch = Callable[[int, int], None]  # called with the plain bytes that were written so far, and all of them


@dataclass(frozen=True, slots=True)
class CastFile:
    """A column file that a cast writes anew."""

    value: int
    part: StoredPart
    entry: ColumnEntry

    @property
    def key(self) -> tuple[int, str, str]:
        """What tells the file from all others of the table."""
        return self.value, self.part.entry.folder, self.entry.file


def files_to_cast(source: StoredTable, name: str, kind: ColumnType) -> list[CastFile]:
    """List the files of a column that aren't read as a type, so that a cast writes them anew.

    Raises
    ------
    ColumnNotFoundError
        If there is no such column.
    ColumnTypeError
        If values of the column's type never become the new one, or the column is a key and must not.
    """
    have = source.schema.column(name, where=f"table {source.name!r}")
    with_type(source.schema, name, kind, table=source.name)
    if is_read_as(have, kind):
        return []  # what is read as the one is read as the other
    check_way(have, kind, column=name)
    found = []
    for value in source.values.tolist():
        for part in source.partition(value).parts:
            entry = part.column_entry(name)
            if entry is not None and not is_read_as(entry.type, kind):
                found.append(CastFile(value, part, entry))
    return found


def cast_column(
    table: TableStore,
    name: str,
    kind: ColumnType,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
) -> list[CastFile]:
    """Give a column another type.

    Parameters
    ----------
    table
        The table.
    name
        The column.
    kind
        Its new type.
    threads
        Files written side by side; None for the default.
    watch
        Called as files are written.

    Returns
    -------
    The files that others took the place of; none where older values are read as the new type.

    Raises
    ------
    ColumnTypeError
        If some value doesn't become the type without loss; nothing is changed then.
    ConflictError
        If the schema changes meanwhile, or what is cast changes again and again.
    """
    writing = _Writing(table, name, kind, threads, watch)
    first = table.current()
    with table.writing():
        for _ in range(_TRIES):
            source = open_source(table.path)
            if source.schema != first.schema:
                break
            try:
                files = files_to_cast(source, name, kind)
                edits = writing.edits(source, files)
            except BaseException:
                writing.remove_unused()
                raise
            try:
                table.commit(source.state, edits)
            except ConflictError:
                continue
            except REFUSALS:
                writing.remove_unused()
                raise
            writing.keep(edits)
            writing.remove_unused()  # of parts that went meanwhile
            return files
    writing.remove_unused()
    raise ConflictError(
        f"table {table.name!r} was changed while column {name!r} was cast; read again and retry"
    )


class _Writing:
    """The files of one cast; those that no commit took are removed at the end."""

    def __init__(
        self, table: TableStore, name: str, kind: ColumnType, threads: int | None, watch: Watch | None
    ) -> None:
        self._table = table
        self._name = name
        self._kind = kind
        self._threads = threads
        self._watch = watch
        self._paths: dict[str, Path] = {}
        self._written: dict[tuple[int, str, str], ColumnEntry] = {}

    def edits(self, source: StoredTable, files: list[CastFile]) -> Edits:
        """Write the files that aren't yet, and give the change that brings them in."""
        fresh = [file for file in files if file.key not in self._written]
        total, done = sum(file.entry.plain_bytes for file in fresh), 0
        have = source.schema.columns[self._name]
        for file, entry in map_ordered(lambda one: self._write(one, have), fresh, threads=self._threads):
            self._written[file.key] = entry
            done += file.entry.plain_bytes
            if self._watch is not None:
                self._watch(done, total)
        folders = {Path(file.part.folder) for file in fresh}
        sync_folders(sorted(folders), durable=self._table.durable)
        changes: dict[int, list[ColumnChange]] = {}
        stored = source.schema.stored_name(self._name)
        for file in files:
            after = self._written[file.key]
            change = ColumnChange(file.part.entry.folder, stored, file.entry, after)
            changes.setdefault(file.value, []).append(change)
        return Edits(
            schema=with_type(source.schema, self._name, self._kind, table=source.name),
            settings=self._settings(source, files),
            changed={value: Change(columns=tuple(found)) for value, found in changes.items()},
        )

    def keep(self, edits: Edits) -> None:
        """Take note that the files of a change are in the table."""
        for change in edits.changed.values():
            for column in change.columns:
                if column.after is not None:
                    self._paths.pop(column.after.file, None)

    def remove_unused(self) -> None:
        """Remove the files that no commit took."""
        for path in self._paths.values():
            with contextlib.suppress(OSError):
                path.unlink()

    def _settings(self, source: StoredTable, files: list[CastFile]) -> dict[str, Any] | None:
        """Give the settings with a compression that the new type takes, where the old one's doesn't fit."""
        known = source.state.settings.get("compression", {})
        if self._name not in known or _keeps_width(source.schema, self._name, self._kind) or not files:
            return None
        compression = str(self._written[files[-1].key].compression)
        return {**source.state.settings, "compression": {**known, self._name: compression}}

    def _write(self, file: CastFile, have: ColumnType) -> tuple[CastFile, ColumnEntry]:
        symbols = None
        if self._kind.kind == "symbol":
            found = [rows.drop_nulls().unique() for rows in self._rows(file, have)]
            symbols = pl.concat(found).unique().sort() if found else pl.Series([], dtype=pl.String)
        path = Path(file.part.folder) / new_column_name(self._name)
        writer: ColumnWriter | None = None
        try:
            for rows in self._rows(file, have):
                if writer is None:
                    self._paths[path.name] = path
                    compression = self._compression(file, have, rows)
                    writer = ColumnWriter(path, self._name, self._kind, compression, symbols=symbols)
                writer.add(rows)
            assert writer is not None  # noqa: S101 - a part has rows
            return file, writer.finish(durable=self._table.durable)
        except BaseException:
            if writer is not None:
                writer.abandon()
            raise

    def _rows(self, file: CastFile, have: ColumnType) -> Iterator[pl.Series]:
        """Yield the rows of a file in the new type."""
        column = file.part.column(self._name)
        for start in range(0, max(file.part.row_count, 1), _SLICE_ROWS):
            values = column.read(start, min(start + _SLICE_ROWS, file.part.row_count))
            found = converted(values, have, self._kind)
            wrong = values.is_not_null() & found.is_null()
            if wrong.any():
                row = wrong.arg_max() or 0
                raise ColumnTypeError(
                    f"column {self._name!r} of table {self._table.name!r}: {_shown(values, row)} in row "
                    f"{start + row} of part {file.part.entry.folder!r} of {days_to_date(file.value)} "
                    f"doesn't become {self._kind} without loss; nothing was changed"
                )
            yield found

    def _compression(self, file: CastFile, have: ColumnType, rows: pl.Series) -> Compression:
        keeps = have.has_fixed_width == self._kind.has_fixed_width
        return file.entry.compression if keeps else choose(rows, self._kind)


def _keeps_width(schema: Schema, name: str, kind: ColumnType) -> bool:
    return schema.columns[name].has_fixed_width == kind.has_fixed_width


def _shown(values: pl.Series, row: int) -> str:
    text: str = values[row : row + 1].cast(pl.String).item()
    return text if values.dtype.is_numeric() else repr(text)
