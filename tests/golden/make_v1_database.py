"""Made the database of format version 1 in this folder; never run again for it, only kept to show how.

`v1_database` holds a table `all` with every type, nulls and several compressions: one date before 1970, one
with two parts. `v1_database_rows.parquet` has the rows that must come out of it, with date and part.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from colonnade.codec.compression import Compression
from colonnade.schema import ColumnType, Schema
from colonnade.store.database import DatabaseStore
from colonnade.store.part import write_part
from colonnade.store.version import Addition, Edits

NS = 1_000_000_000
SCHEMA = Schema(
    {
        "sym": ColumnType("symbol"),
        "time": ColumnType("timestamp"),
        "seen": ColumnType("timestamp", "America/New_York"),
        "price": ColumnType("float64"),
        "ratio": ColumnType("float32"),
        "size": ColumnType("int64"),
        "lots": ColumnType("int32"),
        "step": ColumnType("int16"),
        "tiny": ColumnType("int8"),
        "id": ColumnType("uint64"),
        "count": ColumnType("uint32"),
        "port": ColumnType("uint16"),
        "level": ColumnType("uint8"),
        "flag": ColumnType("bool"),
        "venue": ColumnType("char"),
        "cond": ColumnType("symbol"),
        "note": ColumnType("string"),
        "day": ColumnType("date"),
        "clock": ColumnType("time"),
        "wait": ColumnType("timespan"),
    },
    part_by="sym",
    sort_by="time",
    date_column="time",
    roles={"symbol": "sym", "time": "time", "price": "price"},
)
COMPRESSIONS = ("bitpack@4KiB", "plain@4KiB", "zstd:3@4KiB", "bitpack+zstd:1@4KiB", "lz4@8KiB")


def rows(day: int, part: int, count: int) -> pl.DataFrame:
    """Make the rows of a part: arithmetic only, no random numbers."""
    row = np.arange(count) + 1_000 * part
    start = day * 86_400 * NS
    price = (10_000 + row * 37 % 501) / 100
    price[::97] = np.nan
    frame = pl.DataFrame(
        {
            "sym": [f"S{number:02d}" for number in np.sort(row % 7)],
            "time": pl.Series(start + row * 1_000_003).cast(pl.Datetime("ns")),
            "seen": pl.Series(start + row * 2_000_003).cast(pl.Datetime("ns", "America/New_York")),
            "price": price,
            "ratio": (price / 8).astype(np.float32),
            "size": row * row * 1_000_003 - 5,
            "lots": (row * 100 % 7_001).astype(np.int32),
            "step": (row % 301 - 150).astype(np.int16),
            "tiny": (row % 251 - 125).astype(np.int8),
            "id": row.astype(np.uint64) * np.uint64(2**54 + 1),
            "count": row.astype(np.uint32) * 3,
            "port": (row * 7 % 65_536).astype(np.uint16),
            "level": (row % 256).astype(np.uint8),
            "flag": row % 3 == 0,
            "venue": [chr(65 + number) for number in row % 26],
            "cond": [["@", "", "@ é", "T"][number] for number in row % 4],
            "note": ["ein Text € " * int(number) for number in row % 3],
            "day": pl.Series((row - 700).astype(np.int32)).cast(pl.Date),
            "clock": pl.Series(row * 7 * NS).cast(pl.Time),
            "wait": pl.Series((row - 500) * NS).cast(pl.Duration("ns")),
        }
    )
    holes = [
        pl.when(pl.Series((row + number) % 11 == 0)).then(None).otherwise(pl.col(name)).alias(name)
        for number, name in enumerate(SCHEMA.columns)
        if name not in ("sym", "time") and number % 2
    ]
    return frame.with_columns(holes)


def main(folder: Path) -> None:
    """Write the database and its rows."""
    table = DatabaseStore.create(folder / "v1_database").table("all")
    parts = [(-400, 0, 600), (19_724, 1, 1_500), (19_724, 2, 40)]
    made, version = [], None
    for number, (day, part, count) in enumerate(parts):
        frame = rows(day, part, count)
        made.append(frame.with_columns(partition=pl.lit(day), part=pl.lit(part)))
        specs = {
            name: Compression.parse(COMPRESSIONS[(place + number) % len(COMPRESSIONS)])
            for place, name in enumerate(SCHEMA.columns)
        }
        symbols = {name: frame[name].drop_nulls().unique().sort() for name in ("sym", "cond")}
        target = table.partition_folder(day, SCHEMA)
        entry = write_part(target, SCHEMA, [frame], dictionaries=symbols, compressions=specs)
        edits = Edits(appended={day: Addition((entry,))}, schema=SCHEMA if version is None else None)
        version = table.commit(version, edits)
    pl.concat(made).write_parquet(folder / "v1_database_rows.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
