"""What is on disk, column by column: the frame that ``info`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from colonnade.codec.compression import Compression
from colonnade.schema import days_to_date
from colonnade.store.table_source import StoredTable

_SCHEMA: Final = {
    "partition": pl.Date,
    "column": pl.String,
    "type": pl.String,
    "compression": pl.String,
    "encoding": pl.String,
    "codec": pl.String,
    "level": pl.Int64,
    "block_size": pl.Int64,
    "rows": pl.Int64,
    "plain_bytes": pl.Int64,
    "stored_bytes": pl.Int64,
    "ratio": pl.Float64,
    "tier": pl.String,
}


def column_info(source: StoredTable) -> pl.DataFrame:
    """Give one row a partition and column; of several parts the bytes are added, compressions listed.

    Encoding, codec, level and block size in bytes are those of the compression; null where parts differ in
    them. A block that would have grown under it is plain.
    """
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
                    **_agreed([entry.compression for entry in entries]),
                    "rows": manifest.row_count,
                    "plain_bytes": plain,
                    "stored_bytes": stored,
                    "ratio": plain / stored if stored else None,
                    "tier": "hot",
                }
            )
    return pl.DataFrame(records, schema=_SCHEMA)


def _agreed(compressions: Sequence[Compression]) -> dict[str, Any]:
    """Give what all compressions have in common, null for the rest."""
    agreed = {}
    for field in ("encoding", "codec", "level", "block_size"):
        found = {getattr(one, field) for one in compressions}
        agreed[field] = found.pop() if len(found) == 1 else None
    return agreed
