"""Versions of a table, and the commit that makes the next one.

A version file is immutable. Creating the file with the next number is the commit: the hard link to it fails
where another writer was faster, and then the change is laid over the new state. Appends always fit; a change
of named parts or column files fits as long as those are what they were; one that replaces, creates or drops a
partition fails with `ConflictError` where that partition changed meanwhile. A change of the schema fits
unless the schema changed meanwhile, or rows came that it can't read: columns that were added, dropped,
renamed or widened since a part was written don't keep the part out.

Before the link nothing new is visible, and after it everything is, because parts and manifests are on disk
before it. Readers only read: the newest number in the folder is the current version.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from colonnade.errors import (
    AlreadyExistsError,
    ConflictError,
    HeaderError,
    NotFoundError,
    SchemaError,
    StaleVersionError,
    located,
)
from colonnade.schema import Schema, days_to_date
from colonnade.store.atomic import create_file, lock_shared, make_folders, open_to_read, publish, sync_folders
from colonnade.store.entries import PartEntry, SourceEntry
from colonnade.store.filenames import VERSIONS, partition_name, version_name, version_number, writing_name
from colonnade.store.manifest import Change, Manifest, read_manifest, write_manifest
from colonnade.store.schema_change import unread_columns
from colonnade.store.version_file import PartitionRow, Version, is_drop, read_version, write_version
from colonnade.threads import map_ordered

REFUSALS: Final = (
    ConflictError,
    NotFoundError,
    SchemaError,
)  # of a commit of rewritten files: nothing is visible


@dataclass(frozen=True, slots=True)
class Addition:
    """Parts for one partition, and the sources of their rows."""

    parts: tuple[PartEntry, ...]
    sources: tuple[SourceEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Edits:
    """What a commit changes; keys are dates as days since 1970-01-01.

    Attributes
    ----------
    created
        New partitions; it is a conflict if one exists.
    appended
        Parts that come after those that a partition has, which may be none.
    replaced
        What partitions hold from now on, whether they existed or not.
    changed
        Named parts and column files of partitions; a partition that has no part left goes.
    dropped
        Partitions that go.
    schema
        New schema, or None to keep it.
    settings
        New settings of the table, or None to keep them.
    again
        Accept a source that a partition holds already.
    alone
        Accept no other commit since the change was prepared, not even an append.
    """

    created: Mapping[int, Addition] = field(default_factory=dict)
    appended: Mapping[int, Addition] = field(default_factory=dict)
    replaced: Mapping[int, Addition] = field(default_factory=dict)
    changed: Mapping[int, Change] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    schema: Schema | None = None
    settings: Mapping[str, Any] | None = None
    again: bool = False
    alone: bool = False

    def __post_init__(self) -> None:
        kinds = (self.created, self.appended, self.replaced, self.changed, self.dropped)
        groups = [set(kind) for kind in kinds]
        if len(set().union(*groups)) != sum(map(len, groups)):
            raise SchemaError("one change can't touch a partition in two ways")
        for additions in (self.created, self.appended, self.replaced):
            for value, addition in additions.items():
                if not addition.parts:
                    raise SchemaError(f"partition {days_to_date(value)} would have no part; drop it instead")


class TableStore:
    """The versions of one table.

    Parameters
    ----------
    path
        Folder of the table.
    durable
        Whether a commit survives a power cut; see `atomic`.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        self.durable = durable

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.path.name

    def partition_folder(self, value: int, schema: Schema) -> Path:
        """Give the folder of a date's partition; it may not exist."""
        return self.path / partition_name(schema.partition_by, value)

    def numbers(self) -> list[int]:
        """List the versions that are kept, ascending; empty where there is no table."""
        return sorted(number for name in self._names() if (number := version_number(name)) is not None)

    def newest_number(self) -> int | None:
        """Give the number of the newest version, or None where there is no table."""
        ascending = sorted(self._names(), key=lambda name: (len(name), name))  # longer numbers are higher
        found = (version_number(name) for name in reversed(ascending))
        return next((number for number in found if number is not None), None)

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.path / VERSIONS)  # noqa: PTH208 - ten times faster than making paths
        except (FileNotFoundError, NotADirectoryError):
            return []

    def exists(self) -> bool:
        """Whether there is a table, not dropped."""
        number = self.newest_number()
        return number is not None and not is_drop(self.path / VERSIONS / version_name(number))

    def current(self) -> Version:
        """Read the newest version; raise `NotFoundError` where there is no table, or none any more."""
        while True:
            number = self.newest_number()
            if number is None:
                raise NotFoundError(f"no table {self.name!r} in '{self.path.parent}'")
            try:
                version = self._read(number)
            except StaleVersionError:
                if self.newest_number() == number:
                    raise
                continue
            if version.is_dropped:
                raise NotFoundError(f"no table {self.name!r} in '{self.path.parent}'; it was dropped")
            return version

    def read(self, number: int) -> Version:
        """Read a version; raise `NotFoundError` where it isn't kept."""
        try:
            return self._read(number)
        except StaleVersionError:
            numbers = self.numbers()
            kept = f"kept are {numbers[0]} to {numbers[-1]}" if numbers else "there is no such table"
            raise NotFoundError(f"table {self.name!r} has no version {number}; {kept}") from None

    def at(self, time_ns: int) -> Version:
        """Read the newest version that was committed at or before a time, nanoseconds since 1970 UTC."""
        numbers = self.numbers()
        low, high = 0, len(numbers)
        while low < high:
            middle = (low + high) // 2
            if self.read(numbers[middle]).created_ns <= time_ns:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            oldest = f"the oldest kept is {numbers[0]}" if numbers else "there is no such table"
            raise NotFoundError(f"table {self.name!r} has no version that old; {oldest}")
        return self.read(numbers[low - 1])

    def manifest(self, version: Version, value: int) -> Manifest:
        """Read the manifest of a date's partition; raise `NotFoundError` where there is none."""
        content_hash = version.manifest_hash(value)
        date = days_to_date(value).isoformat()
        if content_hash is None:
            raise NotFoundError(f"table {self.name!r} has no partition {date}")
        with located(table=self.name, partition=date):
            manifest = read_manifest(self.partition_folder(value, version.schema), content_hash)
            if manifest.value != value:
                found = days_to_date(manifest.value).isoformat()
                raise HeaderError(f"manifest belongs to partition {found}")
            return manifest

    @contextmanager
    def hold(self, number: int) -> Iterator[Version]:
        """Read a version and keep its files from being cleaned away until the block ends."""
        descriptor = self.lock(number)
        try:
            yield self._read(number)
        finally:
            os.close(descriptor)

    def lock(self, number: int) -> int:
        """Take the reader's shared lock on a version; the caller closes the descriptor to give it back.

        Raises
        ------
        StaleVersionError
            If the version was cleaned away.
        """
        path = self.path / VERSIONS / version_name(number)
        descriptor = open_to_read(path)
        lock_shared(descriptor)
        if os.fstat(descriptor).st_ino != _inode(path):  # cleaned between open and lock
            os.close(descriptor)
            raise StaleVersionError(f"version {number} of table {self.name!r} was cleaned away; read again")
        return descriptor

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep what is written until the block ends from being cleaned away before it is committed.

        A file in the table's folder, which is made if need be, is held with a shared lock meanwhile.
        """
        make_folders(self.path)
        path = writing_name(self.path)
        descriptor = create_file(path)
        try:
            lock_shared(descriptor)
            yield
        finally:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            with suppress(OSError):
                self.path.rmdir()  # of a table that did not come to be

    def create(self, schema: Schema, *, settings: Mapping[str, Any] | None = None) -> Version:
        """Create the table without rows; raise `AlreadyExistsError` where it is there."""
        try:
            return self.commit(None, Edits(schema=schema, settings=settings or {}))
        except ConflictError:
            raise AlreadyExistsError(f"table {self.name!r} exists already in '{self.path.parent}'") from None

    def drop(self) -> Version:
        """Drop the table as one commit; a table that is created under its name goes on from its number."""
        while True:
            newest = self.current()
            number, created_ns = newest.number + 1, max(time.time_ns(), newest.created_ns + 1)
            content = write_version(
                number, created_ns, newest.schema, {}, {}, born=newest.born, is_dropped=True
            )
            if self._publish(number, content):
                return self._read(number)

    def commit(self, base: Version | None, edits: Edits) -> Version:
        """Make the next version.

        The parts must be on disk already. The call tries again after every commit of another writer, until
        the change is in or doesn't fit.

        Parameters
        ----------
        base
            Version on which the change was prepared; None creates the table, and `edits` has its schema.
        edits
            The change.

        Raises
        ------
        ConflictError
            If a partition that is created, replaced or dropped, or a named part or column file changed since
            `base`; or the schema did, and this changes it, too, or brings values of a type that isn't read.
        AlreadyIngestedError
            If an appended source is in the partition already.
        """
        newest = base
        while True:
            if newest is not None:
                newest = self.current()
                self._check_fits(base, newest, edits)
            before = self._dropped() if newest is None else newest
            content = self._prepare(base, newest, edits, before)
            number = 1 if before is None else before.number + 1
            if self._publish(number, content):
                return self._read(number)

    def _dropped(self) -> Version | None:
        """Give the version by which a table of this name was dropped, None where there was none.

        Raises
        ------
        ConflictError
            If there is a table.
        """
        number = self.newest_number()
        before = None if number is None else self._read(number)
        if before is not None and not before.is_dropped:
            raise ConflictError(f"table {self.name!r} was created meanwhile; read it and retry")
        return before

    def _publish(self, number: int, content: bytes) -> bool:
        versions = self.path / VERSIONS
        make_folders(versions)
        sync_folders([self.path, self.path.parent], durable=self.durable)
        if not publish(versions / version_name(number), content, durable=self.durable):
            return False
        sync_folders([versions], durable=self.durable)
        return True

    def _check_fits(self, base: Version | None, newest: Version, edits: Edits) -> None:
        if base is None or newest.number == base.number:
            return
        if newest.born != base.born:
            raise ConflictError(
                f"table {self.name!r} was dropped and created anew, by version {newest.born}, while this "
                "change was prepared; read again and retry"
            )
        if edits.alone:
            raise ConflictError(
                f"table {self.name!r} was changed between version {base.number} and {newest.number}, while "
                "this change was prepared; read again and retry"
            )
        if edits.schema is not None and newest.schema != base.schema:
            raise ConflictError(
                f"the schema of table {self.name!r} was changed by version {newest.number} or before, "
                f"since version {base.number}; read again and retry"
            )
        if edits.settings is not None and newest.settings != base.settings:
            raise ConflictError(
                f"the settings of table {self.name!r} were changed by version {newest.number} or before, "
                f"since version {base.number}; read again and retry"
            )
        for value in (*edits.created, *edits.replaced, *edits.dropped):
            if newest.manifest_hash(value) != base.manifest_hash(value):
                raise ConflictError(
                    f"partition {days_to_date(value)} of table {self.name!r} was changed between version "
                    f"{base.number} and {newest.number}, while this change was prepared; read again and retry"
                )

    def _prepare(
        self, base: Version | None, newest: Version | None, edits: Edits, before: Version | None
    ) -> bytes:
        """Write the manifests of a change; give the content of the version that follows another."""
        schema = edits.schema or (newest.schema if newest else None)
        if schema is None:
            raise SchemaError(f"table {self.name!r} can't be created without a schema")
        if newest is not None and newest.schema.partition_by != schema.partition_by:
            raise SchemaError("the name of the partition column can't change")
        rows = newest.rows() if newest else {}
        manifests = self._manifests(newest, edits)
        for value in [value for value, manifest in manifests.items() if not manifest.parts]:
            del manifests[value], rows[value]
        if base is not None and newest is not None and schema != base.schema:
            self._check_types(base, newest, manifests, schema)
        folders = [self.partition_folder(value, schema) for value in manifests]
        written = map_ordered(self._write_manifest, zip(folders, manifests.values(), strict=True))
        for manifest, content_hash in zip(manifests.values(), written, strict=True):
            bounds = (manifest.sort_min, manifest.sort_max)
            rows[manifest.value] = PartitionRow(content_hash, manifest.row_count, *bounds)
        for value in edits.dropped:
            if rows.pop(value, None) is None:
                raise NotFoundError(f"table {self.name!r} has no partition {days_to_date(value)}")
        settings = edits.settings if edits.settings is not None else (newest.settings if newest else {})
        created_ns = max(time.time_ns(), before.created_ns + 1 if before else 0)
        number = before.number + 1 if before else 1
        born = newest.born if newest else number
        return write_version(number, created_ns, schema, settings, rows, born=born)

    def _check_types(
        self, base: Version, newest: Version, manifests: Mapping[int, Manifest], schema: Schema
    ) -> None:
        """Raise `ConflictError` where a part can't be read by a schema that its writer didn't know.

        Those are the parts of this change where others changed the schema, and the parts of others where this
        change has a schema.
        """
        meanwhile = set()
        if newest.schema != schema:
            known = dict(zip(base.values.tolist(), base.manifests, strict=True))
            now = zip(newest.values.tolist(), newest.manifests, strict=True)
            meanwhile = {value for value, content_hash in now if known.get(value) != content_hash}
        for value in {*manifests, *meanwhile}:
            manifest = manifests[value] if value in manifests else self.manifest(newest, value)
            for name, column, wanted in unread_columns(manifest.parts, schema):
                raise ConflictError(
                    f"column {name!r} of table {self.name!r} was written as {column.type} in partition "
                    f"{days_to_date(value)} while another change made it {wanted}; read again and retry"
                )

    def _write_manifest(self, placed: tuple[Path, Manifest]) -> str:
        folder, manifest = placed
        make_folders(folder)
        content_hash = write_manifest(folder, manifest, durable=self.durable)
        sync_folders([folder], durable=self.durable)
        return content_hash

    def _manifests(self, newest: Version | None, edits: Edits) -> dict[int, Manifest]:
        manifests = {}
        for value, addition in edits.created.items():
            if newest is not None and newest.position(value) is not None:
                reason = f"partition {days_to_date(value)} of table {self.name!r} holds rows already"
                raise AlreadyExistsError(f"{reason}; append to it, or replace it")
            manifests[value] = Manifest(value, (), ()).appended(addition.parts, addition.sources)
        for value, addition in edits.appended.items():
            known = newest is not None and newest.position(value) is not None
            before = self.manifest(newest, value) if newest and known else Manifest(value, (), ())
            if not edits.again:
                before.check_new(addition.sources)
            manifests[value] = before.appended(addition.parts, addition.sources)
        for value, addition in edits.replaced.items():
            manifests[value] = Manifest(value, addition.parts, addition.sources)
        for value, change in edits.changed.items():
            if newest is None or newest.position(value) is None:
                gone = f"partition {days_to_date(value)} of table {self.name!r} is gone"
                raise ConflictError(f"{gone}; read again and retry")
            manifests[value] = self.manifest(newest, value).changed(change)
        return manifests

    def _read(self, number: int) -> Version:
        with located(table=self.name):
            return read_version(self.path / VERSIONS, number)


def _inode(path: Path) -> int | None:
    try:
        return path.stat(follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None
