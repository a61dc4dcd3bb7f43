"""Manifests: the immutable files that list the parts and column files of a partition.

A manifest is named by the hash of its content, so a version that names it also fixes what it says.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from colonnade.errors import (
    AlreadyIngestedError,
    ChecksumError,
    ConflictError,
    CorruptionError,
    HeaderError,
    SchemaError,
    located,
)
from colonnade.schema import days_to_date
from colonnade.store.atomic import publish, read_file
from colonnade.store.document import hash_bytes, read_document, write_document
from colonnade.store.entries import (
    ColumnEntry,
    PartEntry,
    SourceEntry,
    part_of_json,
    part_to_json,
    source_of_json,
    source_to_json,
)
from colonnade.store.filenames import manifest_name


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One column file of a part that another takes the place of.

    Attributes
    ----------
    folder
        Folder of the part.
    name
        Name under which the part has the column.
    before
        What the change was prepared on; None where the part had no such column.
    after
        What it is from now on; None where it goes.
    """

    folder: str
    name: str
    before: ColumnEntry | None
    after: ColumnEntry | None


@dataclass(frozen=True, slots=True)
class Change:
    """Named entries of a partition, and what takes their place; the rest may change meanwhile.

    Attributes
    ----------
    removed
        Parts that go, as they were when the change was prepared.
    added
        Parts that come, with their sequence: one made of others spans theirs.
    columns
        Column files that change in parts that stay.
    """

    removed: tuple[PartEntry, ...] = ()
    added: tuple[PartEntry, ...] = ()
    columns: tuple[ColumnChange, ...] = ()

    def __post_init__(self) -> None:
        if not (self.removed or self.added or self.columns):
            raise SchemaError("a change of a partition must name a part or a column file")
        if {part.folder for part in self.removed} & {column.folder for column in self.columns}:
            raise SchemaError("one change can't remove a part and change a column of it")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a partition holds in some versions of its table.

    Attributes
    ----------
    value
        Date of the partition, days since 1970-01-01.
    parts
        Parts by ascending sequence; a committed manifest has at least one.
    sources
        Where the rows came from.
    """

    value: int
    parts: tuple[PartEntry, ...]
    sources: tuple[SourceEntry, ...]

    @property
    def row_count(self) -> int:
        """Rows of all parts."""
        return sum(part.row_count for part in self.parts)

    @property
    def sort_min(self) -> int | None:
        """Smallest stored sort key, or None without a sort key."""
        return min((part.sort_min for part in self.parts if part.sort_min is not None), default=None)

    @property
    def sort_max(self) -> int | None:
        """Largest stored sort key, or None without a sort key."""
        return max((part.sort_max for part in self.parts if part.sort_max is not None), default=None)

    def appended(self, parts: Sequence[PartEntry], sources: Sequence[SourceEntry]) -> Manifest:
        """Give this manifest with more parts, which come after those that it has."""
        last = max((part.sequence[1] for part in self.parts), default=0)
        numbered = (
            replace(part, sequence=(number, number)) for number, part in enumerate(parts, start=last + 1)
        )
        return Manifest(self.value, (*self.parts, *numbered), (*self.sources, *sources))

    def changed(self, change: Change) -> Manifest:
        """Give this manifest with some of its entries changed; without any part where all were removed.

        Raises
        ------
        ConflictError
            If a part or column file isn't what the change was prepared on.
        """
        parts = {part.folder: part for part in self.parts}
        for part in change.removed:
            if parts.pop(part.folder, None) != part:
                raise ConflictError(self._conflict(f"part {part.folder!r}"))
        for column in change.columns:
            holder = parts.get(column.folder)
            if holder is None or holder.columns.get(column.name) != column.before:
                raise ConflictError(self._conflict(f"column {column.name!r} of part {column.folder!r}"))
            columns = dict(holder.columns)
            if column.after is None:
                columns.pop(column.name, None)
            else:
                columns[column.name] = column.after
            parts[column.folder] = replace(holder, columns=columns)
        ordered = sorted([*parts.values(), *change.added], key=lambda part: part.sequence)
        for before, after in pairwise(ordered):
            if before.sequence[1] >= after.sequence[0]:
                raise ConflictError(self._conflict(f"the order of part {after.folder!r}"))
        return replace(self, parts=tuple(ordered))

    def _conflict(self, what: str) -> str:
        date = days_to_date(self.value).isoformat()
        return f"{what} of partition {date} was changed while this change was prepared; read again and retry"

    def check_new(self, sources: Sequence[SourceEntry]) -> None:
        """Raise `AlreadyIngestedError` where a source with the same content is in it."""
        known = {(source.byte_count, source.content_hash): source for source in self.sources}
        for source in sources:
            same = known.get((source.byte_count, source.content_hash))
            if same is not None:
                date = days_to_date(self.value).isoformat()
                reason = f"source {source.name!r} is in partition {date} already, as {same.name!r}"
                raise AlreadyIngestedError(f"{reason}; pass again=True or --again to add its rows once more")


def write_manifest(folder: Path, manifest: Manifest, *, durable: bool) -> str:
    """Write a manifest into the folder of its partition and give the hash that names it."""
    content = write_document(
        "manifest",
        {
            "id": secrets.token_hex(8),
            "date": days_to_date(manifest.value).isoformat(),
            "days": manifest.value,
            "parts": [part_to_json(part) for part in manifest.parts],
            "sources": [source_to_json(source) for source in manifest.sources],
        },
    )
    content_hash = hash_bytes(content)
    publish(folder / manifest_name(content_hash), content, durable=durable)
    return content_hash


def read_manifest_anew(folder: Path, content_hash: str) -> Manifest:
    """Read a manifest, checked against the hash that the version gives.

    Raises
    ------
    StaleVersionError
        If it is gone.
    CorruptionError
        If it isn't what was written.
    """
    name = manifest_name(content_hash)
    with located(file=f"{folder.name}/{name}"):
        content = read_file(folder / name)
        fields = read_document(content, "manifest")
        if hash_bytes(content) != content_hash:
            reason = f"manifest has the hash {hash_bytes(content)}, the version names {content_hash}"
            raise ChecksumError(reason)
        try:
            return Manifest(
                value=int(fields["days"]),
                parts=tuple(part_of_json(part) for part in fields["parts"]),
                sources=tuple(source_of_json(source) for source in fields["sources"]),
            )
        except CorruptionError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise HeaderError(f"manifest holds what can't be: {error!r}") from error


@lru_cache(maxsize=4096)
def read_manifest(folder: Path, content_hash: str) -> Manifest:
    """Read a manifest, or give the one that was read before: the name fixes the content."""
    return read_manifest_anew(folder, content_hash)
