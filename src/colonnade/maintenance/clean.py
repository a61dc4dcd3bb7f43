"""Removes what no kept version of a table needs: old versions, and files that nobody names.

A version goes once a newer one has been there for `keep_ns`, unless a reader holds its shared lock, and what
only it named goes with it. Files that no version ever named are left from writers that died, or are being
written; they go once they are older than `keep_ns` and than every writer at work, who holds a lock
(`TableStore.writing`). A change by a writer without one must be committed within `keep_ns` of being written.

What is named is read before anything is removed, so a damaged manifest stops it. Only names that the package
gives are looked at; symbolic links stay.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from colonnade.errors import ColonnadeError, NotFoundError, StaleVersionError
from colonnade.store.atomic import lock_alone, open_to_read, sync_folders
from colonnade.store.filenames import (
    VERSIONS,
    is_column_name,
    is_manifest_name,
    is_part_name,
    is_temporary,
    is_writing_name,
    manifest_name,
    version_name,
)
from colonnade.store.version import TableStore
from colonnade.store.version_file import Version

DAY_NS: Final = 86_400_000_000_000
_SLACK_NS: Final = 1_000_000_000  # by which the clock of a file system may be behind ours
_NEVER: Final = 1 << 63  # later than any time


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What `clean` removed, or `plan_clean` would.

    Attributes
    ----------
    versions
        Old versions.
    files
        Other files.
    byte_count
        Bytes of both.
    """

    versions: int
    files: int
    byte_count: int


def plan_clean(table: TableStore, *, keep_ns: int = DAY_NS) -> Cleaned:
    """Tell what `clean` would remove now; nothing is changed."""
    return _Cleaning(table, keep_ns, is_plan=True).run()


def clean(table: TableStore, *, keep_ns: int = DAY_NS) -> Cleaned:
    """Remove versions and files that aren't needed and are older than ``keep_ns``.

    Raises
    ------
    CorruptionError
        If a kept version or one of its manifests is damaged: then it isn't known what is needed.
    """
    return _Cleaning(table, keep_ns, is_plan=False).run()


class _Cleaning:
    """One look at a table, and what is removed, or would be."""

    def __init__(self, table: TableStore, keep_ns: int, *, is_plan: bool) -> None:
        self._table = table
        self._before = time.time_ns() - keep_ns
        self._is_plan = is_plan
        self._needed: set[Path] = set()
        self._outdated: set[Path] = set()  # what only versions that went have named
        self._byte_count = 0

    def run(self) -> Cleaned:
        since = min(self._before - _SLACK_NS, _oldest_writer_ns(self._table.path))
        versions = self._remove_versions()
        files = 0
        for path in self._candidates():
            with contextlib.suppress(FileNotFoundError):  # another process cleans, too
                is_old = path in self._outdated or _newest_change_ns(path) < since
                if path not in self._needed and is_old:
                    files += self._remove(path)
        return Cleaned(versions, files, self._byte_count)

    def _remove_versions(self) -> int:
        outdated = self._outdated_versions()
        count = 0
        for number in outdated:
            path = self._table.path / VERSIONS / version_name(number)
            with contextlib.suppress(NotFoundError, StaleVersionError):  # another process cleans, too
                version = self._table.read(number)
                if self._take_version(path):
                    count += 1
                    with contextlib.suppress(ColonnadeError):  # files of a damaged one go by their age
                        self._outdated |= _named(self._table, version)
                else:
                    self._needed |= _named(self._table, version)
        if count and not self._is_plan:  # before the files: a power cut must not bring versions back alone
            sync_folders([self._table.path / VERSIONS], durable=self._table.durable)
        return count

    def _outdated_versions(self) -> list[int]:
        """Give the versions that are old enough to go; note what the others need."""
        while True:
            numbers = self._table.numbers()
            try:
                outdated = [
                    number
                    for number, following in pairwise(numbers)
                    if self._table.read(following).created_ns < self._before
                ]
                for number in numbers[len(outdated) :]:
                    self._needed |= _named(self._table, self._table.read(number))
            except (NotFoundError, StaleVersionError):
                if set(numbers) <= set(self._table.numbers()):
                    raise
                continue  # another process cleans, too
            return outdated

    def _take_version(self, path: Path) -> bool:
        """Remove a version file unless a reader holds it; give whether it went, or would."""
        descriptor = open_to_read(path)
        try:
            if not lock_alone(descriptor):
                return False
            self._byte_count += os.fstat(descriptor).st_size
            if not self._is_plan:
                path.unlink(missing_ok=True)
            return True
        finally:
            os.close(descriptor)

    def _candidates(self) -> Iterator[Path]:
        """Give what may be a leftover: manifests, parts, column files, and drafts of all of them."""
        for entry in _entries(self._table.path):
            if entry.name == VERSIONS:
                yield from (path for path in _entries(entry) if is_temporary(path.name))
            elif is_temporary(entry.name):
                yield entry
            elif "=" in entry.name and entry.is_dir() and not entry.is_symlink():
                yield from self._candidates_of_partition(entry)

    def _candidates_of_partition(self, partition: Path) -> Iterator[Path]:
        for path in _entries(partition):
            if path.is_symlink():
                continue
            if is_part_name(path.name) and path in self._needed:
                yield from (file for file in _entries(path) if is_column_name(file.name))
            elif is_part_name(path.name) or is_manifest_name(path.name) or is_temporary(path.name):
                yield path

    def _remove(self, path: Path) -> int:
        """Remove a file or folder; give the number of files that went, or would."""
        files = [file for file in path.rglob("*") if not file.is_dir()] if path.is_dir() else [path]
        byte_count = sum(file.lstat().st_size for file in files)
        if not self._is_plan:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            if path.parent != self._table.path:
                with contextlib.suppress(OSError):
                    path.parent.rmdir()  # of a partition that holds nothing else
        self._byte_count += byte_count
        return len(files)


def _entries(folder: Path) -> list[Path]:
    """List a folder; empty where another process has removed it."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _named(table: TableStore, version: Version) -> set[Path]:
    """Give the manifests, parts and column files that a version names; not those of dropped columns."""
    known = set(map(version.schema.stored_name, version.schema.columns))
    named = set()
    for value, content_hash in zip(version.values.tolist(), version.manifests, strict=True):
        folder = table.partition_folder(value, version.schema)
        named.add(folder / manifest_name(content_hash))
        for part in table.manifest(version, value).parts:
            named.add(folder / part.folder)
            files = [column.file for name, column in part.columns.items() if name in known]
            named.update(folder / part.folder / file for file in files)
    return named


def _oldest_writer_ns(table: Path) -> int:
    """Give when the oldest writer that is at work began; far in the future where none is."""
    oldest = _NEVER
    for path in table.iterdir():
        if is_writing_name(path.name):
            with contextlib.suppress(StaleVersionError):  # it just ended
                descriptor = open_to_read(path)
                try:
                    if not lock_alone(descriptor):
                        oldest = min(oldest, os.fstat(descriptor).st_mtime_ns)
                finally:
                    os.close(descriptor)
    return oldest


def _newest_change_ns(path: Path) -> int:
    files: list[Path] = [path, *(path.rglob("*") if path.is_dir() else ())]
    return max(file.lstat().st_mtime_ns for file in files)
