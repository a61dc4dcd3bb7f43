"""Made the database of format version 2 in this folder; never run again for it, only kept to show how.

`v2_database` holds a table `all`: every type, nulls, every encoding and codec; a date before 1970; parts that
are older than a column that was added, renamed, widened, or dropped and added again under its name; a part
that was compacted, one that rows were deleted from, and column files that were recompressed.
`v2_database_rows.parquet` has the rows that must come out of it, in order.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

import colonnade as cn

NS = 1_000_000_000
KINDS = {
    "seen": "timestamp[America/New_York]", "venue": "char", "cond": "symbol", "note": "string",
    "id": "string", "code": "string",
}  # fmt: skip
COMPRESSIONS = {
    "sym": "runs", "time": "bitpack@4KiB", "seen": "pco:8", "price": "bitpack@4KiB", "size": "pco",
    "ratio": "bytes+zstd:3@4KiB", "lots": "bitpack+zstd:1@4KiB", "step": "plain@4KiB", "tiny": "gzip:6@4KiB",
    "mask": "qipc@4KiB", "count": "bytes@8KiB", "port": "snappy@4KiB", "level": "dict", "flag": "runs+lz4",
    "venue": "dict+zstd:1", "cond": "bitpack", "note": "zstd:5@4KiB", "id": "bitpack", "code": "dict",
    "day": "runs", "clock": "lz4:9@4KiB", "wait": "bitpack+lz4@4KiB", "far": "bitpack", "bid": "pco:4@64KiB",
}  # fmt: skip


def rows(day: int, first: int, count: int) -> pl.DataFrame:
    """Make rows of a date: arithmetic only, no random numbers."""
    row = np.arange(first, first + count)
    start = day * 86_400 * NS
    price = (10_000 + row * 37 % 501) / 100
    price[::97] = np.nan
    frame = pl.DataFrame(
        {
            "sym": [f"S{number:02d}" for number in row % 7],
            "time": pl.Series(start + row * 1_000_003).cast(pl.Datetime("ns")),
            "seen": pl.Series(start + row * 2_000_003).cast(pl.Datetime("ns", "America/New_York")),
            "price": price,
            "ratio": (price / 8).astype(np.float32),
            "size": row * row * 1_000_003 - 5,
            "lots": (row * 100 % 7_001).astype(np.int32),
            "step": (row % 301 - 150).astype(np.int16),
            "tiny": (row % 251 - 125).astype(np.int8),
            "mask": row.astype(np.uint64) * np.uint64(2**54 + 1),
            "count": row.astype(np.uint32) * 3,
            "port": (row * 7 % 65_536).astype(np.uint16),
            "level": (row % 5 * 50).astype(np.uint8),
            "flag": row % 50 < 30,
            "venue": [chr(65 + number) for number in row % 26],
            "cond": [["@", "", "@ é", "T"][number] for number in row % 4],
            "note": ["ein Text € " * int(number) for number in row % 3],
            "id": [str(number * 1_000_003) for number in row],
            "code": [["N", "Q", "龙虾"][number] for number in row % 3],
            "day": pl.Series((row // 100 - 700).astype(np.int32)).cast(pl.Date),
            "clock": pl.Series(row * 7 * NS).cast(pl.Time),
            "wait": pl.Series((row - 500) * NS).cast(pl.Duration("ns")),
            "far": np.where(row % 401 == 0, 2**60, row % 16),
            "bid": np.sqrt(row.astype(np.float64)),
        }
    )
    holes = [
        pl.when(pl.Series((row + number) % 11 == 0)).then(None).otherwise(pl.col(name)).alias(name)
        for number, name in enumerate(frame.columns)
        if name not in ("sym", "time") and number % 2
    ]
    return frame.with_columns(holes)


def main(folder: Path) -> None:
    """Write the database and its rows."""
    db = cn.create(folder / "v2_database")
    old = pl.concat([rows(-400, 0, 300), rows(19_724, 1_000, 1_100)])
    keys = {"part_by": "sym", "sort_by": "time", "partition_by": "date"}
    db.ingest("all", old, compression=COMPRESSIONS, types=KINDS, **keys)
    table = db["all"]
    more = rows(19_724, 1_500, 60)
    table.append(more)
    expected = pl.concat([old, more])

    table.drop_column("bid")
    table.add_column("bid", "int64")
    table.add_column("size code", "uint8")
    table.rename_column("lots", "round lots")
    table.cast_column("step", "int32")
    expected = expected.with_columns(
        pl.lit(None, pl.Int64).alias("bid"),
        pl.lit(None, pl.UInt8).alias("size code"),
        pl.col("step").cast(pl.Int32),
    ).rename({"lots": "round lots"})

    later = rows(19_725, 3_000, 200).rename({"lots": "round lots"})
    number = pl.int_range(pl.len())
    later = later.with_columns(
        number.alias("bid"), (number % 100).cast(pl.UInt8).alias("size code"), pl.col("step").cast(pl.Int32)
    )
    table.append(later)
    table.append(later.tail(5))
    expected = pl.concat([expected, later.select(expected.columns), later.tail(5).select(expected.columns)])

    table.compact(date="2024-01-03")
    table.recompress({"price": "pco:8", "note": "dict+lz4"}, date="2024-01-03")
    table.delete(date="1968-11-27", sym="S03").apply()
    is_deleted = (pl.col("sym") == "S03") & (pl.col("time").dt.date() == pl.date(1968, 11, 27))
    expected = expected.filter(~is_deleted)
    db.clean(keep="0s")

    dated = expected.with_columns(date=pl.col("time").dt.date())
    dated.sort("date", "sym", "time", maintain_order=True).write_parquet(folder / "v2_database_rows.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
