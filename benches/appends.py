"""Appends of a day in small pieces, and queries after them beside those of the compacted table.

Trades of 25 columns are appended in 390 frames of 20,000 rows, a minute each, and each append is timed. Then
minute bars and an as-of join of all rows are timed, before and after the table is compacted.

    python benches/appends.py [--appends 390] [--rows 20000] [--durability fast]
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import colonnade as cn

MINUTE_NS = 60_000_000_000
OPEN = dt.datetime(2024, 1, 2, 9, 30)  # noqa: DTZ001 - wall clock
SYMBOLS = 500


def minute(number: int, rows: int) -> pl.DataFrame:
    """Make the trades of one minute: 25 columns, skewed symbols, prices that walk by cents."""
    random = np.random.default_rng(number)
    which = random.zipf(1.3, rows) % SYMBOLS
    times = np.sort(random.integers(0, MINUTE_NS, rows)) + number * MINUTE_NS
    columns: dict[str, object] = {
        "time": pl.Series(times).cast(pl.Duration("ns")) + OPEN,
        "sym": pl.Series([f"S{symbol:04d}" for symbol in range(SYMBOLS)]).gather(pl.Series(which)),
        "price": np.round(20 + which + random.normal(size=rows).cumsum() * 0.01, 2),
        "size": (random.integers(1, 10, rows) * 100).astype(np.int32),
        "cond": random.choice(["@", "@ F", "T"], rows),
        "exchange": random.choice(list("ABCDEFGH"), rows),
        "sequence": np.arange(rows) + number * rows,
    }
    columns |= {f"float{at}": np.round(random.normal(size=rows) * 100, 2) for at in range(6)}
    columns |= {f"int{at}": random.integers(0, 1000, rows) for at in range(6)}
    columns |= {f"short{at}": random.integers(0, 100, rows).astype(np.int16) for at in range(3)}
    columns |= {f"flag{at}": random.integers(0, 2, rows) == 1 for at in range(3)}
    return pl.DataFrame(columns).with_columns(pl.col("time").cast(pl.Datetime("ns")))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    options.add_argument("--appends", type=int, default=390)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--durability", choices=("safe", "fast"), default="fast")
    options.add_argument("--repeat", type=int, default=7, help="runs of each query")
    asked = options.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="colonnade-bench-") as folder:
        db = cn.create(Path(folder) / "db")
        seconds = [
            append(db, minute(number, asked.rows), asked.durability) for number in range(asked.appends)
        ]
        print(f"{asked.appends} appends of {asked.rows:,} rows x 25 columns, durability {asked.durability}")
        median, tenth, most = np.quantile(seconds, [0.5, 0.9, 1.0])
        print(
            f"  median {1e3 * median:.0f} ms, nine of ten within {1e3 * tenth:.0f} ms, longest {most:.2f} s"
        )
        compare(db["trade"], asked.repeat)


def append(db: cn.Database, frame: pl.DataFrame, durability: str) -> float:
    started = time.perf_counter()
    db.ingest("trade", frame, part_by="sym", sort_by="time", mode="append", durability=durability)
    return time.perf_counter() - started


def compare(table: cn.Table, repeat: int) -> None:
    appended = table.at(version=table.version)
    parts = table.compact(dry_run=True)["parts"].to_list()
    started = time.perf_counter()
    table.compact(durability="fast")
    print(f"  {parts[0] if parts else 1} parts; compacted in {time.perf_counter() - started:.2f} s")
    compacted = table.at(version=table.version)
    queries: dict[str, Callable[[cn.Table], object]] = {
        "bars of a minute": lambda one: one.bars("1m").collect(),
        "as-of join": lambda one: (
            one.select("sym", "time", "price")
            .asof_join(one.select("sym", "time", "float0"), by="sym", on="time")
            .collect()
        ),
    }
    print(f"  {'':18}{'appended':>10}{'compacted':>11}{'ratio':>7}")
    for name, query in queries.items():
        before, after = (median_ms(query, one, repeat) for one in (appended, compacted))
        print(f"  {name:18}{before:7.0f} ms{after:8.0f} ms{before / after:7.2f}")


def median_ms(query: Callable[[cn.Table], object], table: cn.Table, repeat: int) -> float:
    query(table)
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        query(table)
        seconds.append(time.perf_counter() - started)
    return 1e3 * float(np.median(seconds))


if __name__ == "__main__":
    main()
