"""Databases made of frames, and the logical order that their rows must have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

import colonnade as cn

_NUMBERS = count()
TICK_KEYS = {"part_by": "sym", "sort_by": "time", "partition_by": "date"}


def table_of(
    folder: Path,
    frame: pl.DataFrame,
    *,
    pieces: Sequence[tuple[int, int]] | None = None,
    table: str = "trade",
    **keys: Any,
) -> cn.Table:
    """Ingest a frame into a new database, in one piece or appended piece by piece."""
    database = cn.create(folder / f"db{next(_NUMBERS)}")
    for start, stop in pieces or [(0, frame.height)]:
        database.ingest(table, frame[start:stop], mode="append", **keys)
    return database[table]


def logical(
    frame: pl.DataFrame, *, part_by: str | None = "sym", sort_by: str | None = "time"
) -> pl.DataFrame:
    """Give the rows with their date in logical order: date, symbol by bytes (null last), time, arrival."""
    dated = frame.with_columns(date=pl.col("time").dt.date())
    keys = ["date", *(key for key in (part_by, sort_by) if key is not None)]
    return dated.sort(keys, nulls_last=True, maintain_order=True)


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Give a result with text instead of categories."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


def bits(frame: pl.DataFrame) -> list[tuple[str, str, bytes, bytes]]:
    """Give every column as name, type, nulls and raw bytes, so that -0.0 and payloads of NaN count."""
    found = []
    for column in plain(frame):
        physical = column.to_physical()
        if physical.dtype in (pl.String, pl.Boolean, pl.Int128) or physical.dtype.is_nested():
            raw = repr(physical.to_list()).encode()
        else:
            raw = physical.fill_null(0).to_numpy().tobytes()
        found.append((column.name, str(column.dtype), column.is_null().to_numpy().tobytes(), raw))
    return found


def rows_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Give the rows with times as integers of nanoseconds, as the reference takes them."""
    temporal = [name for name, kind in frame.schema.items() if kind == pl.Datetime]
    return plain(frame).with_columns(pl.col(temporal).to_physical()).to_dicts()
