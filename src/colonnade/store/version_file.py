"""One version of a table as a value, and as the bytes of its file.

The file has one row a partition, held by column, so that ten thousand partitions open in a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import CorruptionError, HeaderError, located
from colonnade.schema import ColumnType, Schema
from colonnade.store.atomic import file_identity, read_file
from colonnade.store.document import kind_of, read_document, write_document
from colonnade.store.filenames import version_name

_VERSION: Final = "version"
_DROPPED: Final = "dropped"
NO_MIN: Final = -(1 << 63)  # smallest sort key where there is no sort key
NO_MAX: Final = (1 << 63) - 1


class PartitionRow(NamedTuple):
    """What a version says of a partition."""

    manifest_hash: str
    row_count: int
    sort_min: int | None
    sort_max: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One committed state of a table.

    Attributes
    ----------
    number
        Number of the version, from 1.
    created_ns
        When it was committed, nanoseconds since 1970-01-01 UTC; ascends with the number.
    schema
        Columns and keys.
    settings
        Settings of the table, as JSON has them; for example the compression of each column.
    values
        Dates of the partitions, days since 1970-01-01, ascending.
    manifests
        Hash of each partition's manifest.
    row_counts, sort_min, sort_max
        Of each partition; `NO_MIN` and `NO_MAX` without a sort key.
    born
        Number of the version that created the table; higher than 1 where a table of this name was dropped.
    is_dropped
        Whether the table was dropped by this version; it has no partition then.
    """

    number: int
    created_ns: int
    schema: Schema
    settings: Mapping[str, Any]
    values: NDArray[np.int32]
    manifests: tuple[str, ...]
    row_counts: NDArray[np.int64]
    sort_min: NDArray[np.int64]
    sort_max: NDArray[np.int64]
    born: int = 1
    is_dropped: bool = False

    def position(self, value: int) -> int | None:
        """Give the position of a date's partition, or None where there is none."""
        position = int(np.searchsorted(self.values, value))
        found = position < len(self.values) and int(self.values[position]) == value
        return position if found else None

    def manifest_hash(self, value: int) -> str | None:
        """Give the hash of a partition's manifest, or None where there is no such partition."""
        position = self.position(value)
        return None if position is None else self.manifests[position]

    def rows(self) -> dict[int, PartitionRow]:
        """Give what the version says of each partition, by date."""
        columns = (self.row_counts.tolist(), self.sort_min.tolist(), self.sort_max.tolist())
        rows = map(PartitionRow, self.manifests, *columns)
        return dict(zip(self.values.tolist(), rows, strict=True))


def write_version(
    number: int,
    created_ns: int,
    schema: Schema,
    settings: Mapping[str, Any],
    rows: Mapping[int, PartitionRow],
    *,
    born: int = 1,
    is_dropped: bool = False,
) -> bytes:
    """Give the content of a version file."""
    values = sorted(rows)
    ordered = [rows[value] for value in values]
    partitions = {
        "days": values,
        "manifest": [row.manifest_hash for row in ordered],
        "rows": [row.row_count for row in ordered],
        "sort_min": [NO_MIN if row.sort_min is None else row.sort_min for row in ordered],
        "sort_max": [NO_MAX if row.sort_max is None else row.sort_max for row in ordered],
    }
    fields = {
        "number": number,
        "created_ns": created_ns,
        "born": born,
        "schema": _schema_to_json(schema),
        "settings": settings,
        "partitions": partitions,
    }
    return write_document(_DROPPED if is_dropped else _VERSION, fields)


def read_version(folder: Path, number: int) -> Version:
    """Read a version file.

    Raises
    ------
    StaleVersionError
        If it isn't there.
    CorruptionError
        If it isn't what was written.
    UnsupportedVersionError
        If a newer version of the package wrote it.
    """
    path = folder / version_name(number)
    with located(file=f"{folder.name}/{path.name}"):
        version = _parse(path, file_identity(path))
        if version.number != number:
            raise HeaderError(f"the file holds version {version.number}")
        return version


@lru_cache(maxsize=64)
def _parse(path: Path, identity: tuple[int, int, int]) -> Version:
    """Parse a version file; kept as long as the file at the path is the same one."""
    del identity
    return parse_version(path)


def parse_version(path: Path) -> Version:
    """Read a version file anew; see `read_version`, which does so once."""
    content = read_file(path)
    is_dropped = kind_of(content) == _DROPPED
    fields = read_document(content, _DROPPED if is_dropped else _VERSION)
    try:
        partitions = fields["partitions"]
        version = Version(
            number=int(fields["number"]),
            created_ns=int(fields["created_ns"]),
            schema=_schema_of_json(fields["schema"]),
            settings=fields["settings"],
            values=np.array(partitions["days"], dtype=np.int32),
            manifests=tuple(partitions["manifest"]),
            row_counts=np.array(partitions["rows"], dtype=np.int64),
            sort_min=np.array(partitions["sort_min"], dtype=np.int64),
            sort_max=np.array(partitions["sort_max"], dtype=np.int64),
            born=int(fields.get("born", 1)),
            is_dropped=is_dropped,
        )
    except CorruptionError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise HeaderError(f"version holds what can't be: {error!r}") from error
    columns = (version.values, version.row_counts, version.sort_min, version.sort_max)
    if any(column.shape != (len(version.manifests),) for column in columns):
        raise HeaderError("the columns of the version have different lengths")
    if is_dropped and len(version.values):
        raise HeaderError("a table that was dropped has partitions")
    if np.any(np.diff(version.values.astype(np.int64)) <= 0):
        raise HeaderError("the partitions of the version don't ascend")
    for column in columns:
        column.flags.writeable = False
    return version


def is_drop(path: Path) -> bool:
    """Tell by its first bytes whether a version drops the table; False where the file is gone."""
    try:
        with path.open("rb") as file:
            return kind_of(file.read(64)) == _DROPPED
    except FileNotFoundError:
        return False


def _schema_to_json(schema: Schema) -> dict[str, Any]:
    return {
        "columns": [[name, str(type_)] for name, type_ in schema.columns.items()],
        "part_by": schema.part_by,
        "sort_by": schema.sort_by,
        "partition_by": schema.partition_by,
        "date_column": schema.date_column,
        "zone": schema.zone,
        "day_start_ns": schema.day_start_ns,
        "roles": dict(schema.roles),
        "stored": dict(schema.stored),
        "retired": list(schema.retired),
    }


def _schema_of_json(fields: Mapping[str, Any]) -> Schema:
    known = {key: value for key, value in fields.items() if key not in ("columns", "retired")}
    columns = {name: ColumnType.parse(text) for name, text in fields["columns"]}
    return Schema(columns=columns, retired=tuple(fields.get("retired", ())), **known)
