"""Small tables of ticks for the tests of queries: seeded, with ties, nulls and NaN."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

import colonnade as cn

DAY_NS = 86_400_000_000_000
FIRST_DAY = 19_724  # 2024-01-02


def ticks(rows: int = 3_000, *, days: int = 3, seed: int = 1) -> pl.DataFrame:
    """Give trades in the order of arrival: equal times, nulls and NaN among them."""
    random = np.random.default_rng(seed)
    step = DAY_NS // 2_000  # few enough distinct times that many are equal
    times = FIRST_DAY * DAY_NS + random.integers(0, days * 2_000, rows) * step
    prices = np.round(100 + np.cumsum(random.normal(0, 0.05, rows)), 2)
    return pl.DataFrame(
        {
            "sym": random.choice(["AAPL", "MSFT", "Z", "Ä", "a"], rows),
            "time": pl.Series(times).cast(pl.Datetime("ns")),
            "price": prices,
            "size": random.integers(1, 20, rows) * 100,
            "ex": random.choice(["N", "Q", "P"], rows),
            "small": random.integers(-100, 100, rows).astype(np.int8),
            "number": np.arange(rows),
        }
    ).with_columns(
        price=pl.when(pl.col("number") % 11 == 0)
        .then(None)
        .when(pl.col("number") % 13 == 0)
        .then(float("nan"))
        .otherwise(pl.col("price")),
        size=pl.when(pl.col("number") % 17 == 0).then(None).otherwise(pl.col("size")),
        ex=pl.when(pl.col("number") % 19 == 0).then(None).otherwise(pl.col("ex")),
    )


def table_of(
    folder: Path, frame: pl.DataFrame, *, pieces: int = 1, name: str = "trade", **options: object
) -> cn.Table:
    """Ingest a frame in one piece, or appended in several."""
    keys = {"part_by": "sym", "sort_by": "time", **options}
    database = cn.open(folder) if (folder / "colonnade.json").exists() else cn.create(folder)
    cuts = np.linspace(0, frame.height, pieces + 1).astype(int).tolist()
    for start, stop in pairwise(cuts):
        database.ingest(name, frame[start:stop], mode="append", **keys)
    return database[name]


def logical(frame: pl.DataFrame) -> pl.DataFrame:
    """Give the rows by date, symbol, time, arrival."""
    dated = frame.with_columns(date=pl.col("time").dt.date())
    return dated.sort("date", "sym", "time", maintain_order=True, nulls_last=True)


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Give symbols as texts."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
