"""Made the rarer types of format version 2 in this folder; never run again for it, only kept to show how.

`v2_types` holds a table `all` with decimals, months, minutes, seconds, guids and lists, each with nulls,
under several codecs; `v2_types_rows.parquet` has the rows that must come out of it, in order.
"""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import polars as pl

import colonnade as cn

KINDS = {"month": "month", "minute": "minute", "second": "second", "id": "guid"}
COMPRESSIONS = {
    "default": "plain", "price": "bitpack@4KiB", "fine": "pco:8", "month": "dict+zstd:1",
    "minute": "bytes+lz4",
    "id": "zstd:3@4KiB", "levels": "lz4@4KiB", "tags": "zstd:1@4KiB",
}  # fmt: skip
ROWS = 700


def rows() -> pl.DataFrame:
    """Make rows: arithmetic only, no random numbers."""
    numbers = range(ROWS)
    frame = pl.DataFrame(
        {
            "row": numbers,
            "price": pl.Series([Decimal(n * 37 % 501 - 250) / 100 for n in numbers], dtype=pl.Decimal(18, 2)),
            "fine": pl.Series([Decimal(n**5) for n in numbers], dtype=pl.Decimal(18, 0)),
            "month": [dt.date(1960 + n // 12, n % 12 + 1, 1) for n in numbers],
            "minute": [dt.time(n // 60, n % 60) for n in numbers],
            "second": [dt.time(n % 24, n % 60, n % 59) for n in numbers],
            "id": [str(UUID(int=n * (2**64 + 12_345_678_901))) for n in numbers],
            "levels": [[n / 8 + step for step in range(n % 4)] for n in numbers],
            "marks": pl.Series([[n - 300] * (n % 3) for n in numbers], dtype=pl.List(pl.Int16)),
            "tags": [["a" * (n % 5), "龙"][: n % 3] for n in numbers],
            "seen": pl.Series([[n * 1_000_003] * (n % 2) for n in numbers]).cast(pl.List(pl.Datetime("ns"))),
        }
    )
    holes = [
        pl.when(pl.col("row") % 13 != place).then(pl.col(name)).alias(name)
        for place, name in enumerate(frame.columns)
        if name != "row"
    ]
    return frame.with_columns(holes)


def main(folder: Path) -> None:
    """Write the database and its rows."""
    frame = rows()
    db = cn.create(folder / "v2_types")
    db.ingest("all", frame, compression=COMPRESSIONS, types=KINDS, sort_by="row", date="2024-01-02")
    frame.write_parquet(folder / "v2_types_rows.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
