"""A table whose rows all have the number of their generation, so that half a change shows; its users."""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import polars as pl

import colonnade as cn
from databases import TICK_KEYS
from reliability.operations import DAY_NS

NOBODY: Final = 65_534
ROWS: Final = 40  # of each date of a generation
MORE: Final = 7  # of the append that follows
DAYS: Final = (19_723, 19_724)


def generation(number: int, count: int, day: int) -> pl.DataFrame:
    """Make rows that all have the number of their generation."""
    times = pl.Series([day * DAY_NS + second * 1_000_000_000 for second in range(count)])
    return pl.DataFrame({"sym": ["A", "B"] * (count // 2) + ["C"] * (count % 2)}).with_columns(
        time=times.cast(pl.Datetime("ns")), size=pl.lit(number, pl.Int64)
    )


def replace_all(db: cn.Database, number: int) -> None:
    db.ingest(
        "trade", pl.concat([generation(number, ROWS, day) for day in DAYS]), mode="replace", **TICK_KEYS
    )


def write(connection: Connection, path: Path) -> None:
    """Replace everything, append and clean, until told to stop."""
    db = cn.open(path)
    number = 1
    while not connection.poll():
        number += 1
        replace_all(db, number)
        db["trade"].append(generation(number, MORE, DAYS[1]))
        db.clean(keep="0s")
    connection.send(number)


def read(connection: Connection, path: Path, rehearsal: Path, seconds: float) -> None:
    """Read for a while as a user who owns nothing; tell the generations and rows of each read."""
    counted(cn.open(rehearsal)["trade"])  # imports everything while it can
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    table = cn.open(path)["trade"]
    answers: list[list[tuple[int, int]] | None] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            answers.append(counted(table))
        except cn.StaleVersionError:
            answers.append(None)
    connection.send(answers)


def counted(table: cn.Table) -> list[tuple[int, int]]:
    """Count the rows of each generation, by two ways in turn."""
    counts: list[tuple[int, int]] = table.group_by("size").agg(n=cn.len()).collect().rows()
    assert not table.where(cn.col("size") < 0).collect().height
    return counts
