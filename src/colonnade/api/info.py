"""What is on disk, column by column: the frame that ``info`` shows."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from colonnade.schema import days_to_date
from colonnade.store.table_source import StoredTable

_SCHEMA: Final = {
    "partition": pl.Date,
    "column": pl.String,
    "type": pl.String,
    "compression": pl.String,
    "rows": pl.Int64,
    "plain_bytes": pl.Int64,
    "stored_bytes": pl.Int64,
    "ratio": pl.Float64,
    "tier": pl.String,
}


def column_info(source: StoredTable) -> pl.DataFrame:
    """Give one row a partition and column; of several parts the bytes are added, compressions listed."""
    records: list[dict[str, Any]] = []
    for date in source.values.tolist():
        manifest = source.partition(date).manifest
        for name, kind in source.schema.columns.items():
            stored_name = source.schema.stored_name(name)
            found = [part.columns.get(stored_name) for part in manifest.parts]
            entries = [entry for entry in found if entry is not None]  # older parts may lack the column
            plain = sum(entry.plain_bytes for entry in entries)
            stored = sum(entry.stored_bytes for entry in entries)
            records.append(
                {
                    "partition": days_to_date(date),
                    "column": name,
                    "type": str(kind),
                    "compression": ", ".join(dict.fromkeys(str(entry.compression) for entry in entries))
                    or None,
                    "rows": manifest.row_count,
                    "plain_bytes": plain,
                    "stored_bytes": stored,
                    "ratio": plain / stored if stored else None,
                    "tier": "hot",
                }
            )
    return pl.DataFrame(records, schema=_SCHEMA)
