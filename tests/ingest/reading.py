"""What the tests of ingest share: reading a source alone, and reading a table back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from colonnade.ingest.bad_rows import BadRows
from colonnade.ingest.description import ColumnDescription, SourceDescription
from colonnade.ingest.request import Request
from colonnade.ingest.text_source import open_text
from colonnade.store.column_values import canonical_type
from colonnade.store.database import DatabaseStore
from colonnade.store.table_source import open_source


def description(*columns: dict[str, Any], **source: Any) -> SourceDescription:
    """Make a description from column keys."""
    return SourceDescription("mine", columns=tuple(ColumnDescription(**c) for c in columns), **source)


def parsed(
    path: Path,
    described: SourceDescription | None = None,
    *,
    piece_bytes: int = 1 << 20,
    bad: Path | None = None,
    **request: Any,
) -> pl.DataFrame:
    """Give all rows of a text file as one canonical frame."""
    frames = []
    wanted = Request(table="trade", description=described, piece_bytes=piece_bytes, threads=1, **request)
    with BadRows(bad) as rows:
        for opened in open_text(path, wanted, rows, None):
            frames.append(pl.DataFrame(schema={n: canonical_type(t) for n, t in opened.columns.items()}))
            frames += list(opened.frames)
    return pl.concat(frames)


def database(folder: Path) -> DatabaseStore:
    """Make an empty database that need not survive a power cut."""
    return DatabaseStore.create(folder / "db", durable=False)


def stored(db: DatabaseStore, table: str = "trade") -> pl.DataFrame:
    """Give all rows of a table, partition after partition and part after part, with their days first."""
    source = open_source(db.path / table)
    frames = []
    for days in source.values.tolist():
        for part in source.partition(days).parts:
            columns = [
                part.column(name).read(0, part.row_count).alias(name) for name in source.schema.columns
            ]
            frames.append(pl.DataFrame(columns).with_columns(days=pl.lit(days)))
    return pl.concat(frames).with_columns(pl.col(pl.Categorical).cast(pl.String))
