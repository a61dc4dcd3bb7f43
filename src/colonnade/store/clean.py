"""Removes what no kept version of a table needs: old versions, and files that nobody names.

A version goes once a newer one has been there for `keep_ns`, unless a reader holds its shared lock. Files
that no version names are left from versions that went, or from writers that died; they go once they are older
than `keep_ns`, so a change must be committed within that time of being written. Symbolic links stay.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from colonnade.errors import StaleVersionError
from colonnade.store.atomic import open_to_read
from colonnade.store.filenames import VERSIONS, manifest_name, version_name, version_number
from colonnade.store.version import TableStore

DAY_NS: Final = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What `clean` removed: versions, other files and folders, and their bytes."""

    versions: int
    leftovers: int
    byte_count: int


def clean(table: TableStore, *, keep_ns: int = DAY_NS) -> Cleaned:
    """Remove versions and files that aren't needed and are older than ``keep_ns``."""
    before = time.time_ns() - keep_ns
    removed = [number for number in _outdated(table, before) if _remove_version(table, number)]
    named = _named(table)
    leftovers, byte_count = 0, 0
    for path in _candidates(table.path):
        with contextlib.suppress(FileNotFoundError):  # another process cleans, too
            if path not in named and _newest_change_ns(path) < before:
                byte_count += _byte_count(path)
                _remove(path)
                leftovers += 1
    return Cleaned(len(removed), leftovers, byte_count)


def _outdated(table: TableStore, before: int) -> Iterator[int]:
    """Give the versions whose next version was committed before a time."""
    for number, following in pairwise(table.numbers()):
        if table.read(following).created_ns < before:
            yield number


def _remove_version(table: TableStore, number: int) -> bool:
    """Remove a version file unless a reader holds it."""
    path = table.path / VERSIONS / version_name(number)
    try:
        descriptor = open_to_read(path)
    except StaleVersionError:
        return False  # another process cleans, too
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _named(table: TableStore) -> set[Path]:
    """Give manifests and parts that some version names."""
    named = set()
    for number in table.numbers():
        version = table.read(number)
        for value, content_hash in zip(version.values.tolist(), version.manifests, strict=True):
            folder = table.partition_folder(value, version.schema)
            path = folder / manifest_name(content_hash)
            if path not in named:
                named.add(path)
                named.update(folder / part.folder for part in table.manifest(version, value).parts)
    return named


def _candidates(folder: Path) -> list[Path]:
    """Give what may be a leftover: whatever lies in partitions, and drafts of versions."""
    found = [path for path in (folder / VERSIONS).iterdir() if version_number(path.name) is None]
    for partition in folder.iterdir():
        if "=" in partition.name and not partition.is_symlink():
            found += [path for path in partition.iterdir() if not path.is_symlink()]
    return found


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _newest_change_ns(path: Path) -> int:
    files: list[Path] = [path, *(path.iterdir() if path.is_dir() else ())]
    return max(file.lstat().st_mtime_ns for file in files)


def _byte_count(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.lstat().st_size for file in files)
