"""Writes column files anew under other compressions, and proves that no value changed.

A file is written beside the old one, in the folder of its part, and read back: values, nulls, symbols and
runs must be the same. Some files at a time become one commit, which names only them, so readers and appends
go on. What was committed stays when the work is interrupted; the next run goes on with the files that still
differ.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.errors import ChecksumError, ConflictError, located
from colonnade.store.atomic import sync_folders
from colonnade.store.column_file import ColumnFile
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.entries import ColumnEntry
from colonnade.store.filenames import new_column_name
from colonnade.store.manifest import Change, ColumnChange
from colonnade.store.table_source import StoredPart, StoredTable, open_source
from colonnade.store.values_hash import TextHash, ValuesHash
from colonnade.store.version import REFUSALS, Edits, TableStore
from colonnade.threads import map_ordered

Watch = Callable[[int, int], None]  # called with the plain bytes that were written so far, and all of them
_SLICE_ROWS: Final = 1 << 20
_COMMIT_BYTES: Final = 1 << 29  # of plain values: what an interruption throws away at most, but for one file
_COMMIT_FILES: Final = 1024
_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Recompression:
    """A column file that is written anew.

    Attributes
    ----------
    value
        Date of its partition, days since 1970-01-01.
    part
        Folder of its part.
    column
        Name of the column.
    rows
        Rows of the part.
    before
        What the manifest says of the file.
    compression
        How it is stored from now on.
    after
        What the manifest says of the new file; None in a plan.
    """

    value: int
    part: str
    column: str
    rows: int
    before: ColumnEntry
    compression: Compression
    after: ColumnEntry | None = None


def plan_recompression(
    source: StoredTable, wanted: Mapping[str, Compression], values: Iterable[int]
) -> list[Recompression]:
    """List the column files of partitions whose compression isn't the one wanted for their column."""
    planned = []
    for value in values:
        for part in source.partition(value).parts:
            for name, compression in wanted.items():
                entry = part.column_entry(name)
                if entry is not None and entry.compression != compression:
                    folder, rows = part.entry.folder, part.row_count
                    planned.append(Recompression(value, folder, name, rows, entry, compression))
    return planned


def recompress(
    store: TableStore,
    wanted: Mapping[str, Compression],
    values: Iterable[int],
    *,
    threads: int | None = None,
    watch: Watch | None = None,
) -> list[Recompression]:
    """Write the column files of partitions anew where their compression isn't the one wanted.

    Parameters
    ----------
    store
        The table.
    wanted
        Compression of each column; columns that aren't named stay as they are.
    values
        Dates of the partitions, days since 1970-01-01; those that are gone are left out.
    threads
        Files written side by side; None for the default.
    watch
        Called as files are written.

    Returns
    -------
    What was written, and is in the table.

    Raises
    ------
    ChecksumError
        If a new file doesn't hold what the old one does. It is removed; the table is as it was.
    ConflictError
        If others rewrite the same parts over and over.
    """
    remaining = set(values)
    done: list[Recompression] = []
    for _ in range(_ROUNDS):
        source = open_source(store.path)
        there = [value for value in sorted(remaining) if source.state.position(value) is not None]
        planned = plan_recompression(source, wanted, there)
        remaining = set()
        total = sum(file.before.plain_bytes for file in planned)
        bytes_done = 0
        for files in _batches(planned):
            batch = _Batch(store, threads)
            with contextlib.closing(batch.write(files)) as written:
                for count in written:
                    bytes_done += count
                    if watch is not None:
                        watch(bytes_done, total)
            committed, conflicts = batch.commit()
            done += committed
            remaining |= conflicts
        if not remaining:
            return done
    raise ConflictError(
        f"parts of table {store.name!r} were rewritten again and again meanwhile; retry later"
    )


def _batches(planned: Sequence[Recompression]) -> Iterator[list[Recompression]]:
    """Cut the files into commits."""
    batch: list[Recompression] = []
    bytes_ = 0
    for file in planned:
        batch.append(file)
        bytes_ += file.before.plain_bytes
        if bytes_ >= _COMMIT_BYTES or len(batch) == _COMMIT_FILES:
            yield batch
            batch, bytes_ = [], 0
    if batch:
        yield batch


class _Batch:
    """Files that become one commit; those that don't are removed."""

    def __init__(self, store: TableStore, threads: int | None) -> None:
        self._store = store
        self._threads = threads
        self._source = open_source(store.path)
        self._stopped = threading.Event()
        self._folders: dict[tuple[int, str], Path] = {}
        self._written: list[Recompression] = []
        self._changed: set[int] = set()

    def write(self, files: Sequence[Recompression]) -> Generator[int]:
        """Write files, and yield the plain bytes of each; on an error nothing of them is left."""
        jobs, self._changed = self._jobs(files)
        try:
            yield from map_ordered(self._write, jobs, threads=self._threads, stopped=self._stopped)
            folders = {self._folders[file.value, file.part] for file in self._written}
            sync_folders(sorted(folders), durable=self._store.durable)
        except BaseException:
            self._remove(self._written)
            raise

    def commit(self) -> tuple[list[Recompression], set[int]]:
        """Commit what was written; give the files that are in, and the dates of those that others changed."""
        committed, refused = self._commit(self._written)
        self._remove(refused)
        return committed, self._changed | {file.value for file in refused}

    def _jobs(
        self, files: Sequence[Recompression]
    ) -> tuple[list[tuple[StoredPart, Recompression]], set[int]]:
        """Find the parts of files; give the dates of those that have changed since they were planned, too."""
        jobs, changed = [], set()
        for file in files:
            part = _part_of(self._source, file)
            if part is None:
                changed.add(file.value)
            else:
                self._folders[file.value, file.part] = Path(part.folder)
                jobs.append((part, file))
        return jobs, changed

    def _commit(self, files: Sequence[Recompression]) -> tuple[list[Recompression], list[Recompression]]:
        """Commit files, those of each date alone where others changed some; give those in, and the others."""
        if not files:
            return [], []
        try:
            self._store.commit(self._source.state, _edits(self._source, files))
        except REFUSALS:
            values = sorted({file.value for file in files})
            if len(values) == 1:
                return [], list(files)
            found = [self._commit([file for file in files if file.value == value]) for value in values]
            committed, refused = zip(*found, strict=True)
            return list(chain(*committed)), list(chain(*refused))
        return list(files), []

    def _remove(self, files: Iterable[Recompression]) -> None:
        for file in files:
            if file.after is not None:
                with contextlib.suppress(OSError):
                    (self._folders[file.value, file.part] / file.after.file).unlink()

    def _write(self, job: tuple[StoredPart, Recompression]) -> int:
        part, file = job
        old = part.open_apart(file.column)
        path = Path(part.folder) / new_column_name(file.column)
        writer = ColumnWriter(
            path,
            file.column,
            old.type,
            file.compression,
            symbols=old.dictionary,
            is_parted=old.runs is not None,
        )
        try:
            for start in range(0, old.row_count, _SLICE_ROWS):
                self._check_wanted()
                writer.add_stored(old.read_stored(start, min(start + _SLICE_ROWS, old.row_count)))
            entry = writer.finish(durable=self._store.durable)
            new = ColumnFile(str(path), entry, old.row_count, old.where)
            check_same(old, new)
        except BaseException:
            writer.abandon()
            raise
        self._written.append(replace(file, after=entry))
        return file.before.plain_bytes

    def _check_wanted(self) -> None:
        """End the work of a thread whose result nobody waits for."""
        if self._stopped.is_set():
            raise InterruptedError("the work was stopped")


def _part_of(source: StoredTable, file: Recompression) -> StoredPart | None:
    """Give the part of a file; None where it isn't what it was when the file was planned."""
    if source.state.position(file.value) is None or file.column not in source.schema.columns:
        return None
    parts = source.partition(file.value).parts
    part = next((part for part in parts if part.entry.folder == file.part), None)
    return part if part is not None and part.column_entry(file.column) == file.before else None


def check_same(old: ColumnFile, new: ColumnFile) -> None:
    """Decode a column file that was just written, and compare it with the one it takes the place of.

    Raises
    ------
    ChecksumError
        If values, nulls, symbols or runs differ.
    """
    with located(**old.where):
        found = hash_of(new)
        if found != old.entry.values_hash:
            raise ChecksumError(
                f"hash of the values is {found:016x} in the new file, {old.entry.values_hash:016x} in the old"
            )
        same = {
            "nulls": _equal(old.validity, new.validity) and old.entry.null_count == new.entry.null_count,
            "symbols": _symbols(old) == _symbols(new),
            "runs": _equal(old.runs, new.runs),
        }
        for what, is_same in same.items():
            if not is_same:
                raise ChecksumError(f"{what} in the new file aren't those of the old")


def hash_of(file: ColumnFile) -> int:
    """Decode a column file as a whole, checking every block; give the hash of its values."""
    file.verify()
    values, text = ValuesHash(), TextHash()
    for start in range(0, file.row_count, _SLICE_ROWS):
        rows = file.read_stored(start, min(start + _SLICE_ROWS, file.row_count))
        if file.type.has_fixed_width:
            values.add(rows.values)
        else:
            text.add(rows.values, rows.text)
    return values.finish() if file.type.has_fixed_width else text.finish()


def _equal(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)


def _symbols(file: ColumnFile) -> bytes | None:
    return None if file.symbols is None else file.symbols.section


def _edits(source: StoredTable, files: Sequence[Recompression]) -> Edits:
    changes: dict[int, list[ColumnChange]] = {}
    for file in files:
        stored = source.schema.stored_name(file.column)
        change = ColumnChange(file.part, stored, file.before, file.after)
        changes.setdefault(file.value, []).append(change)
    return Edits(changed={value: Change(columns=tuple(found)) for value, found in changes.items()})
