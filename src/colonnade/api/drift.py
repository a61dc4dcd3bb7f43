"""What on disk differs from the table's schema and settings, and what a cast writes, as frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import polars as pl

from colonnade.maintenance.cast import CastFile
from colonnade.schema import Schema, days_to_date
from colonnade.store.entries import PartEntry
from colonnade.store.table_source import StoredTable

_DRIFT: Final = {
    "partition": pl.Date,
    "column": pl.String,
    "difference": pl.String,
    "found": pl.String,
    "expected": pl.String,
    "parts": pl.Int64,
    "rows": pl.Int64,
    "stored_bytes": pl.Int64,
}
_CAST: Final = {"partition": pl.Date, "files": pl.Int64, "rows": pl.Int64, "stored_bytes": pl.Int64}


def drift_frame(source: StoredTable) -> pl.DataFrame:
    """Give one row a partition, column and difference; parts that differ alike are added up."""
    wanted = source.state.settings.get("compression", {})
    records = [
        {"partition": days_to_date(date), **found}
        for date in source.values.tolist()
        for part in source.partition(date).manifest.parts
        for found in _differences(part, source.schema, wanted)
    ]
    keys = list(_DRIFT)[:5]
    together = pl.DataFrame(records, schema=_DRIFT).group_by(keys, maintain_order=True)
    return together.agg(pl.col("parts", "rows", "stored_bytes").sum())


def _differences(part: PartEntry, schema: Schema, wanted: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for name, kind in schema.columns.items():
        entry = part.columns.get(schema.stored_name(name))
        said: list[tuple[str, str | None, str]] = []
        if entry is None:
            said.append(("absent", None, str(kind)))
        else:
            if entry.type != kind:
                said.append(("type", str(entry.type), str(kind)))
            if str(entry.compression) != wanted.get(name, str(entry.compression)):
                said.append(("compression", str(entry.compression), wanted[name]))
        for difference, found, expected in said:
            stored = 0 if entry is None else entry.stored_bytes
            yield {
                "column": name, "difference": difference, "found": found, "expected": expected,
                "parts": 1, "rows": part.row_count, "stored_bytes": stored,
            }  # fmt: skip


def cast_frame(files: Iterable[CastFile]) -> pl.DataFrame:
    """Give one row a partition whose files a cast writes."""
    records = [
        {
            "partition": days_to_date(file.value),
            "files": 1,
            "rows": file.part.row_count,
            "stored_bytes": file.entry.stored_bytes,
        }
        for file in files
    ]
    return pl.DataFrame(records, schema=_CAST).group_by("partition", maintain_order=True).agg(pl.all().sum())
