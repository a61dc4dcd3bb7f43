"""Minute bars beside DuckDB and Polars in one run: one thread, warm, medians.

Prints one table. `python benches/bars.py --rows 20000000 --repeats 7`.
"""

from __future__ import annotations

import os

os.environ["POLARS_MAX_THREADS"] = "1"  # before Polars is imported: one thread for every system

import argparse
import datetime as dt
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl

import colonnade as cn
from trades import SIX, trades

COMPRESSIONS = {"plain": "plain", "bitpack": "bitpack"}
DAY = dt.date(2023, 11, 14)


def main() -> None:
    """Run every case and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--folder", type=Path, help="where to put the databases (default: a temporary folder)"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        bench_one_day(Path(folder), arguments.rows, arguments.repeats)
        bench_many_days(Path(folder), arguments.repeats)


def bench_one_day(folder: Path, rows: int, repeats: int) -> None:
    """Time the bars of all and of six tickers of one day."""
    frame = trades(rows, day=(DAY - dt.date(1970, 1, 1)).days)
    tables = {}
    for name, compression in COMPRESSIONS.items():
        db = cn.create(folder / name)
        start = time.perf_counter()
        db.ingest("trade", frame, part_by="sym", sort_by="time", partition_by="date", compression=compression)
        print(f"ingest {name}: {time.perf_counter() - start:.1f} s")
        tables[name] = db["trade"]
    info = tables["bitpack"].info().filter(pl.col("column").is_in(["time", "price", "size"]))
    print(f"bit-packed time, price and size: {info['stored_bytes'].sum() / rows:.2f} bytes a row")
    database = duckdb.connect(str(folder / "peer.duckdb"), config={"threads": 1})
    database.execute("create table trade as select * from frame")
    database.execute("checkpoint")
    in_memory = frame.with_columns(pl.col("sym").cast(pl.Categorical))

    for title, symbols in (("minute bars, all tickers", None), ("minute bars, 6 tickers", SIX)):
        cases = {f"colonnade {name}": bars_of(table, symbols) for name, table in tables.items()}
        cases["DuckDB, own file"] = duckdb_bars(database, symbols)
        cases["Polars, in memory"] = polars_bars(in_memory, symbols)
        check_equal(*(call() for name, call in cases.items() if name != "DuckDB, own file"))
        report(f"{title}, {rows:,} rows", cases, repeats)


def bench_many_days(folder: Path, repeats: int) -> None:
    """Time one symbol over 250 small partitions."""
    db = cn.create(folder / "year")
    for number in range(250):
        day = DAY + dt.timedelta(days=number)
        frame = trades(20_000, tickers=50, day=(day - dt.date(1970, 1, 1)).days, seed=number)
        db.ingest("trade", frame, part_by="sym", sort_by="time", partition_by="date", compression="bitpack")
    trade = db["trade"]
    cases = {
        "rows, 3 columns": lambda: trade.where(sym="AAPL").select("time", "price", "size").collect(threads=1),
        "minute bars": lambda: trade.where(sym="AAPL").bars("1m").collect(threads=1),
    }
    report("one symbol over 250 partitions of 20,000 rows", cases, repeats)


def bars_of(table: cn.Table, symbols: list[str] | None) -> Callable[[], pl.DataFrame]:
    """Give a call that makes the bars of one day."""
    query = table.where(date=DAY) if symbols is None else table.where(date=DAY, sym=symbols)
    return lambda: query.bars("1m").collect(threads=1)


def duckdb_bars(database: duckdb.DuckDBPyConnection, symbols: list[str] | None) -> Callable[[], pl.DataFrame]:
    """Give a call that makes the bars by DuckDB; on one thread, first and last follow the order of rows."""
    listed = ", ".join(f"'{name}'" for name in symbols or [])
    condition = f"where sym in ({listed})" if symbols else ""
    text = f"""
        select sym, time_bucket(interval 1 minute, time) as minute, first(price) as open, max(price) as high,
               min(price) as low, last(price) as close, sum(size) as volume,
               sum(price * size) / sum(size) as vwap
        from trade {condition} group by all"""  # noqa: S608 - names of our own
    return lambda: database.sql(text).pl()


def polars_bars(frame: pl.DataFrame, symbols: list[str] | None) -> Callable[[], pl.DataFrame]:
    """Give a call that makes the bars by Polars."""
    lazy = frame.lazy() if symbols is None else frame.lazy().filter(pl.col("sym").is_in(symbols))
    price, size = pl.col("price"), pl.col("size").cast(pl.Int64)
    query = lazy.group_by("sym", pl.col("time").dt.truncate("1m")).agg(
        open=price.first(),
        high=price.max(),
        low=price.min(),
        close=price.last(),
        volume=size.sum(),
        vwap=(price * size).sum() / size.sum(),
    )
    return query.collect


def check_equal(plain: pl.DataFrame, packed: pl.DataFrame, peer: pl.DataFrame) -> None:
    """Hold the answers against each other before any is timed."""
    assert plain.equals(packed)
    ours, theirs = (
        frame.with_columns(pl.col("sym").cast(pl.String)).sort("sym", "time") for frame in (plain, peer)
    )
    exact = ["sym", "time", "open", "high", "low", "close", "volume"]
    assert ours.select(exact).equals(theirs.select(exact))
    assert ((ours["vwap"] - theirs["vwap"]).abs() <= 1e-12 * ours["vwap"].abs()).all()


def report(title: str, cases: dict[str, Callable[[], object]], repeats: int) -> None:
    """Time the cases in turns, each timed call right after an untimed one; print medians and ratios."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, call in cases.items():
            call()
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    first = statistics.median(next(iter(seconds.values())))
    print(f"\n{title}")
    for name, times in seconds.items():
        median = statistics.median(times)
        spread = f"{min(times) * 1e3:.1f} to {max(times) * 1e3:.1f}"
        print(f"  {name:24}{median * 1e3:10.1f} ms   ({spread}){median / first:8.2f} x")


if __name__ == "__main__":
    main()
