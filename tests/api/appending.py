"""Frames that another process appends one by one; a module of its own, so that the process can import it."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl

import colonnade as cn

APPENDS, ROWS = 10, 40


def rows(number: int) -> pl.DataFrame:
    """Give the rows of one append."""
    times = pl.Series(range(number * ROWS, (number + 1) * ROWS)) * 1_000_000_000 + 1_704_186_000_000_000_000
    return pl.DataFrame(
        {
            "sym": ["A", "B"] * (ROWS // 2),
            "time": times.cast(pl.Datetime("ns")),
            "size": pl.Series([number] * ROWS, dtype=pl.Int16),
            "price": [number / 4] * ROWS,
        }
    )


def append_all(path: Path) -> None:
    """Append frames one by one; one that conflicts is tried again."""
    warnings.simplefilter("ignore", cn.MissingColumnWarning)
    table = cn.open(path)["trade"]
    for number in range(1, APPENDS):
        while True:
            try:
                table.append(rows(number), durability="fast")
                break
            except cn.ConflictError:
                continue
