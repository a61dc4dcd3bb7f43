"""Which files make a version of a table: for those who copy or back up a database with tools of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from colonnade.store.filenames import MARKER, VERSIONS, manifest_name, partition_name, version_name
from colonnade.store.table_source import StoredTable


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a database.

    Attributes
    ----------
    path
        Relative to the folder of the database.
    byte_count
        Its size.
    """

    path: PurePosixPath
    byte_count: int


def marker_file(database: Path) -> StoredFile:
    """Give the file that makes the folder a database."""
    return StoredFile(PurePosixPath(MARKER), (database / MARKER).stat().st_size)


def files_of(source: StoredTable) -> Iterator[StoredFile]:
    """Yield the files of a version of a table, each after those that it names.

    A copy that was cut off so has no version that lacks files.
    """
    table = PurePosixPath(source.name)
    for value, content_hash in zip(source.values.tolist(), source.state.manifests, strict=True):
        name = partition_name(source.schema.partition_by, value)
        for part in source.partition(value).manifest.parts:
            for column in part.columns.values():
                yield StoredFile(table / name / part.folder / column.file, column.stored_bytes)
        manifest = manifest_name(content_hash)
        yield StoredFile(table / name / manifest, (source.path / name / manifest).stat().st_size)
    version = version_name(source.version)
    path = source.path / VERSIONS / version
    yield StoredFile(table / VERSIONS / version, path.stat().st_size)
