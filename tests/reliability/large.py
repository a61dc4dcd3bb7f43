"""A table that takes a while to rewrite, and the rewriting of it."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import polars as pl

import colonnade as cn
from databases import TICK_KEYS
from reliability.operations import DAY_NS, DAYS, SYMBOLS

SLOW = "zstd:19"


def new_large_database(path: Path, rows: int) -> pl.DataFrame:
    """Create a database with this many rows in each of two dates; give them all."""
    random = np.random.default_rng(1)
    day = np.repeat(DAYS[:2], rows) * DAY_NS
    frame = pl.DataFrame(
        {
            "sym": pl.Series(SYMBOLS).gather(random.integers(0, len(SYMBOLS), 2 * rows)),
            "time": pl.Series(day + random.integers(0, DAY_NS, 2 * rows)).cast(pl.Datetime("ns")),
            "price": pl.Series(10_000 + random.integers(-500, 500, 2 * rows)) / 100,
            "size": pl.Series(random.integers(1, 50, 2 * rows) * 100),
            "cond": pl.Series(["@", "@ F", "T"]).gather(random.integers(0, 3, 2 * rows)),
        }
    )
    cn.create(path).ingest("trade", frame, compression="lz4", **TICK_KEYS)
    return frame


def recompress_slowly(connection: Connection, path: Path) -> None:
    """Recompress all columns; tell when it begins and ends."""
    table = cn.open(path)["trade"]
    connection.send(("begun", time.monotonic()))
    table.recompress(SLOW, threads=1)
    connection.send(("done", time.monotonic()))
