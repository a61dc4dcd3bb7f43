"""Manifests: the immutable files that list the parts and column files of a partition.

A manifest is named by the hash of its content, so a version that names it also fixes what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from colonnade.errors import AlreadyIngestedError, ChecksumError, CorruptionError, HeaderError, located
from colonnade.schema import days_to_date
from colonnade.store.atomic import publish, read_file
from colonnade.store.document import hash_bytes, read_document, write_document
from colonnade.store.entries import (
    PartEntry,
    SourceEntry,
    part_of_json,
    part_to_json,
    source_of_json,
    source_to_json,
)
from colonnade.store.filenames import manifest_name


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a partition holds in some versions of its table.

    Attributes
    ----------
    value
        Date of the partition, days since 1970-01-01.
    parts
        Parts by ascending sequence; at least one.
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
