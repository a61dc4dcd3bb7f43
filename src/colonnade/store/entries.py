"""What a manifest says: parts, column files and sources, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from colonnade.codec.compression import Compression
from colonnade.schema import ColumnType
from colonnade.store.filenames import check_stored_name


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """One column file.

    Attributes
    ----------
    type
        Type of the column.
    file
        File name in the folder of the part.
    stored_bytes
        Size of the file.
    plain_bytes
        Bytes of the values as they lie in memory; for strings, the text and four bytes a row.
    null_count
        Rows without a value.
    compression
        What was asked for; a block that would have grown is plain, as the block index tells.
    values_hash
        Hash of the decoded values, the same under every compression; see `docs/format.md`.
    """

    type: ColumnType
    file: str
    stored_bytes: int
    plain_bytes: int
    null_count: int
    compression: Compression
    values_hash: int


@dataclass(frozen=True, slots=True)
class PartEntry:
    """One part: a sorted run of rows.

    Attributes
    ----------
    folder
        Folder name in the folder of the partition.
    sequence
        First and last sequence number that went into it; a commit of an append sets it.
    row_count
        Number of rows.
    sort_min, sort_max
        Smallest and largest stored sort key, clipped to int64; None without a sort key.
    columns
        Column name to file.
    """

    folder: str
    sequence: tuple[int, int]
    row_count: int
    sort_min: int | None
    sort_max: int | None
    columns: Mapping[str, ColumnEntry]


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source that rows came from, so that the same one twice can be refused.

    Attributes
    ----------
    name
        File name, or what else was given.
    byte_count
        Size of the source.
    content_hash
        Hash of its content.
    """

    name: str
    byte_count: int
    content_hash: int


def part_to_json(part: PartEntry) -> dict[str, Any]:
    """Give a part as JSON has it."""
    return {
        "folder": part.folder,
        "sequence": list(part.sequence),
        "rows": part.row_count,
        "sort_min": part.sort_min,
        "sort_max": part.sort_max,
        "columns": {name: _column_to_json(column) for name, column in part.columns.items()},
    }


def part_of_json(fields: Mapping[str, Any]) -> PartEntry:
    """Read a part from JSON."""
    first, last = fields["sequence"]
    return PartEntry(
        folder=check_stored_name(fields["folder"]),
        sequence=(int(first), int(last)),
        row_count=int(fields["rows"]),
        sort_min=fields["sort_min"],
        sort_max=fields["sort_max"],
        columns={name: _column_of_json(column) for name, column in fields["columns"].items()},
    )


def source_to_json(source: SourceEntry) -> list[Any]:
    """Give a source as JSON has it."""
    return [source.name, source.byte_count, f"{source.content_hash:016x}"]


def source_of_json(fields: list[Any]) -> SourceEntry:
    """Read a source from JSON."""
    name, byte_count, content_hash = fields
    return SourceEntry(str(name), int(byte_count), int(content_hash, 16))


_parse_type = lru_cache(maxsize=256)(ColumnType.parse)  # a table has few, its manifests many of each
_parse_compression = lru_cache(maxsize=256)(Compression.parse)


def _column_to_json(column: ColumnEntry) -> dict[str, Any]:
    return {
        "type": str(column.type),
        "file": column.file,
        "bytes": column.stored_bytes,
        "plain_bytes": column.plain_bytes,
        "nulls": column.null_count,
        "compression": str(column.compression),
        "hash": f"{column.values_hash:016x}",
    }


def _column_of_json(fields: Mapping[str, Any]) -> ColumnEntry:
    return ColumnEntry(
        type=_parse_type(fields["type"]),
        file=check_stored_name(fields["file"]),
        stored_bytes=int(fields["bytes"]),
        plain_bytes=int(fields["plain_bytes"]),
        null_count=int(fields["nulls"]),
        compression=_parse_compression(fields["compression"]),
        values_hash=int(fields["hash"], 16),
    )
