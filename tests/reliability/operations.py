"""Changes of a table ``trade``, each beside what must come out of it.

An operation is two functions of the same random numbers: one changes the database, the other a frame of the
rows in the order in which they came, or None where there is no table. A new kind of change is one more entry
in `OPERATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

import colonnade as cn
from databases import TICK_KEYS, bits, logical

DAY_NS: Final = 86_400_000_000_000
DAYS: Final = tuple(range(19_723, 19_735))  # 2024-01-01 to 2024-01-12
SYMBOLS: Final = ("A", "AAPL", "MSFT", "Z€")
COMPRESSIONS: Final = ("plain", "bitpack", "zstd:1@4KiB", "lz4", "bitpack+zstd:3")

Rows = pl.DataFrame | None


def ticks(random: Generator) -> pl.DataFrame:
    """Make trades of one to three dates in no order, many at equal times."""
    rows = int(random.integers(1, 200))
    days = random.choice(DAYS, random.integers(1, 4), replace=False)
    clock = random.integers(0, 500, rows) * 1_000_000_000
    return pl.DataFrame(
        {
            "sym": pl.Series([SYMBOLS[code] for code in random.integers(0, len(SYMBOLS), rows)]),
            "time": pl.Series(random.choice(days, rows) * DAY_NS + clock).cast(pl.Datetime("ns")),
            "price": pl.Series(10_000 + random.integers(-500, 500, rows)) / 100,
            "size": pl.Series(random.integers(1, 50, rows) * 100),
            "cond": pl.Series([("@", "@ F", None)[code] for code in random.integers(0, 3, rows)]),
        }
    )


def dates(frame: pl.DataFrame) -> pl.Series:
    """Give the date of every row, days since 1970-01-01."""
    return frame["time"].dt.date().to_physical()


def append(db: cn.Database, random: Generator) -> None:
    db.ingest("trade", ticks(random), mode="append", **TICK_KEYS)


def appended(rows: Rows, random: Generator) -> Rows:
    frame = ticks(random)
    return frame if rows is None else pl.concat([rows, frame])


def replace(db: cn.Database, random: Generator) -> None:
    db.ingest("trade", ticks(random), mode="replace", **TICK_KEYS)


def replaced(rows: Rows, random: Generator) -> Rows:
    frame = ticks(random)
    if rows is None:
        return frame
    return pl.concat([rows.filter(~dates(rows).is_in(dates(frame).unique().to_list())), frame])


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of change.

    Attributes
    ----------
    run
        Makes the change.
    expect
        Gives the rows that must be there after it.
    """

    run: Callable[[cn.Database, Generator], None]
    expect: Callable[[Rows, Generator], Rows]


OPERATIONS: Final = {
    "append": Operation(append, appended),
    "replace": Operation(replace, replaced),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One change: its kind, and the seed of its random numbers."""

    kind: str
    seed: int

    def run(self, path: Path) -> None:
        """Make the change."""
        OPERATIONS[self.kind].run(cn.open(path), np.random.default_rng(self.seed))

    def expect(self, rows: Rows) -> Rows:
        """Give the rows that must be there after it."""
        return OPERATIONS[self.kind].expect(rows, np.random.default_rng(self.seed))


def random_steps(random: Generator, count: int) -> list[Step]:
    """Draw steps of every kind."""
    kinds = random.choice(sorted(OPERATIONS), count).tolist()
    return [
        Step(kind, seed) for kind, seed in zip(kinds, random.integers(0, 2**31, count).tolist(), strict=True)
    ]


def new_database(path: Path, seed: int = 0) -> Rows:
    """Create a database whose table has rows of several dates; give its rows."""
    random = np.random.default_rng(seed)
    db = cn.create(path)
    frames = [ticks(random) for _ in range(3)]
    compression = dict(zip(frames[0].columns, COMPRESSIONS, strict=True))
    for frame in frames:
        db.ingest("trade", frame, mode="append", compression=compression, **TICK_KEYS)
    return pl.concat(frames)


@dataclass(frozen=True, slots=True)
class Found:
    """What a reader finds: all rows in logical order, or None without the table; and what is damaged."""

    rows: Rows
    problems: tuple[str, ...]

    def is_what_is_expected(self, rows: Rows) -> bool:
        """Whether these are the rows, bit for bit, and nothing is damaged."""
        if self.problems or (self.rows is None) != (rows is None):
            return False
        if self.rows is None or rows is None:
            return True
        if set(self.rows.columns) != set(rows.columns):
            return False
        return bits(self.rows.select(rows.columns)) == bits(logical(rows).select(rows.columns))


def examine(path: Path) -> Found:
    """Read everything, and check everything."""
    db = cn.open(path)
    rows = db["trade"].collect() if "trade" in db else None
    return Found(rows, tuple(db.verify(threads=1)["problem"]))
