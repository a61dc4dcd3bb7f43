"""Made the database of format version 1 in this folder; never run again for it, only kept to show how.

Two versions of one table: the first date has two parts, one of them appended, the second date one. There are
columns of many types under many compressions.
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

DAYS = (19_724, 19_725)  # 2024-01-02 and the day after
NS_OF_DAY = 86_400_000_000_000
COMPRESSIONS = {
    "sym": "bitpack", "time": "bitpack", "price": "bitpack", "size": "bitpack+zstd:3", "cond": "zstd:3",
    "flag": "plain", "side": "lz4", "rate": "zstd:1@4KiB", "big": "plain@4KiB", "tiny": "bitpack@4KiB",
    "listed": "bitpack", "clock": "plain", "lag": "lz4:9", "sent": "bitpack@4KiB", "venue": "zstd:9",
}  # fmt: skip
SCHEMA = Schema(
    {
        "sym": ColumnType("symbol"),
        "time": ColumnType("timestamp"),
        "price": ColumnType("float64"),
        "size": ColumnType("int64"),
        "cond": ColumnType("string"),
        "flag": ColumnType("bool"),
        "side": ColumnType("char"),
        "rate": ColumnType("float32"),
        "big": ColumnType("uint64"),
        "tiny": ColumnType("int8"),
        "listed": ColumnType("date"),
        "clock": ColumnType("time"),
        "lag": ColumnType("timespan"),
        "sent": ColumnType("timestamp", "America/New_York"),
        "venue": ColumnType("symbol"),
    },
    part_by="sym",
    sort_by="time",
    roles={"symbol": "sym", "time": "time", "price": "price", "size": "size"},
)


def rows(day: int, first: int, count: int) -> pl.DataFrame:
    """Give the rows of one part in order, by arithmetic alone."""
    number = np.arange(first, first + count)
    price = (18_743 + number * 7 % 61) / 100
    price[5:8] = [-0.0, np.inf, 1e300]
    time = day * NS_OF_DAY + (34_200 + number) * 1_000_000_007
    return pl.DataFrame(
        {
            "sym": pl.Series([("AAPL", "BRK.B", "é")[place * 3 // count] for place in range(count)]),
            "time": pl.Series(time).cast(pl.Datetime("ns")),
            "price": pl.Series(price),
            "size": pl.Series([None if n % 11 == 0 else n * 100 for n in number.tolist()], dtype=pl.Int64),
            "cond": pl.Series(["" if n % 3 else f"T {n}" for n in number.tolist()]),
            "flag": pl.Series([None if n % 7 == 0 else n % 2 == 0 for n in number.tolist()]),
            "side": pl.Series([None if n % 13 == 0 else "BS"[n % 2] for n in number.tolist()]),
            "rate": pl.Series((number % 17 / 8).astype(np.float32)),
            "big": pl.Series(number.astype(np.uint64) + np.uint64(2**63)),
            "tiny": pl.Series((number % 256 - 128).astype(np.int8)),
            "listed": pl.Series((number % 400 - 200).astype(np.int32)).cast(pl.Date),
            "clock": pl.Series((34_200 + number) * 1_000_000_000).cast(pl.Time),
            "lag": pl.Series(number * -1_001).cast(pl.Duration("ns")),
            "sent": pl.Series(time - 977).cast(pl.Datetime("ns", "America/New_York")),
            "venue": pl.Series([None if n % 5 == 0 else f"V{n % 4}" for n in number.tolist()]),
        }
    )


PARTS = {
    1: {DAYS[0]: [(0, 700)], DAYS[1]: [(0, 90)]},
    2: {DAYS[0]: [(0, 700), (700, 40)], DAYS[1]: [(0, 90)]},
}


def make(path: Path) -> None:
    """Write the database."""
    table = DatabaseStore.create(path).table("trade")

    def part(day: int, first: int, count: int) -> Addition:
        frame = rows(day, first, count)
        entry = write_part(
            table.partition_folder(day, SCHEMA),
            SCHEMA,
            [frame],
            dictionaries={name: frame[name].drop_nulls().unique().sort() for name in ("sym", "venue")},
            compressions={name: Compression.parse(text) for name, text in COMPRESSIONS.items()},
            durable=False,
        )
        return Addition((entry,))

    created = {day: part(day, *pieces[0]) for day, pieces in PARTS[1].items()}
    base = table.commit(None, Edits(schema=SCHEMA, created=created))
    table.commit(base, Edits(appended={DAYS[0]: part(DAYS[0], 700, 40)}))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
