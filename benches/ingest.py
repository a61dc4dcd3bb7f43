"""Ingest beside Polars writing Parquet, in one run: all cores, medians of wall time, and of processor time.

Prints one table: a sorted frame and CSV files, sorted and not, of a synthetic TAQ day. Polars waits for no
disk, so the comparison is with ``durability="fast"``; what ``"safe"`` takes stands beside it. Before each
run what was written before is on disk, so that none pays for another.

`python benches/ingest.py --trades 2000000 --quotes 4000000 --repeats 3 --only frame`
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import colonnade as cn
from colonnade.demo.taqgen import DATE, make_day

KEYS = {"part_by": "Symbol", "sort_by": "Time", "date": DATE}


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured: a source, what it is measured against, and how many times that it may take."""

    title: str
    peer: Callable[[Path], object]
    source: Any
    goal: str
    at_most: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trades", type=int, default=2_000_000)
    parser.add_argument("--quotes", type=int, default=4_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose title holds this text")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    arguments = parser.parse_args()
    day = make_day(trades=arguments.trades, quotes=arguments.quotes)
    print(
        f"{os.cpu_count()} cores, {arguments.trades:,} trades, {arguments.quotes:,} quotes, "
        f"Polars {pl.__version__}"
    )
    print(
        f"{'':36} {'Polars':>8} {'fast':>8} {'ratio':>6} {'asked':>6} {'cpu':>6} {'safe':>8}  bytes/Parquet"
    )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for case in cases_of(Path(folder), {"trade": day.trade, "quote": day.quote}):
            if arguments.only in case.title:
                report(Path(folder), case, arguments.repeats)


def cases_of(folder: Path, tables: dict[str, pl.DataFrame]) -> list[Case]:
    cases = []
    for name, frame in tables.items():
        cases += [
            Case(f"{name}: frame, fastest / zstd 1", parquet_of(frame, 1), frame, "fastest", 1.0),
            Case(f"{name}: frame, balanced / zstd 10", parquet_of(frame, 10), frame, "balanced", 1.0),
        ]
        for order, rows, at_most in (("sorted", frame, 1.5), ("unsorted", frame.sort("Time"), 2.5)):
            path = folder / f"{name}-{order}.csv"
            rows.write_csv(path)
            peer = parquet_of_csv(path, frame.schema)
            cases.append(Case(f"{name}: {order} CSV, balanced", peer, path, "balanced", at_most))
    return cases


def parquet_of(frame: pl.DataFrame, level: int) -> Callable[[Path], object]:
    return lambda path: frame.write_parquet(path, compression="zstd", compression_level=level)


def parquet_of_csv(csv: Path, schema: pl.Schema) -> Callable[[Path], object]:
    """Give Polars the types, and let it read times, which it does by itself only."""
    known = {name: dtype for name, dtype in schema.items() if not dtype.is_temporal()}
    return lambda path: pl.scan_csv(csv, try_parse_dates=True, schema_overrides=known).sink_parquet(path)


def report(folder: Path, case: Case, repeats: int) -> None:
    peer, fast, safe = [], [], []
    for _ in range(repeats):  # in turn, so that a change of the machine's load meets all
        peer.append(timed(folder / "peer.parquet", case.peer))
        fast.append(timed(folder / "db", lambda path: ingest(path, case, "fast")))
        safe.append(timed(folder / "db", lambda path: ingest(path, case, "safe")))
    shutil.rmtree(folder / "db", ignore_errors=True)
    stored = ingest(folder / "db", case, "fast")
    (peer_wall, peer_cpu), (fast_wall, fast_cpu), (safe_wall, _) = map(medians, (peer, fast, safe))
    ratio = fast_wall / peer_wall
    verdict = "" if ratio <= case.at_most else "  too slow"
    print(
        f"{case.title:36} {peer_wall:7.2f}s {fast_wall:7.2f}s {ratio:6.2f} {case.at_most:6.1f} "
        f"{fast_cpu / peer_cpu:6.2f} {safe_wall:7.2f}s  "
        f"{stored / (folder / 'peer.parquet').stat().st_size:.2f}{verdict}",
        flush=True,
    )


def medians(measured: list[tuple[float, float]]) -> tuple[float, float]:
    walls, processors = zip(*measured, strict=True)
    return statistics.median(walls), statistics.median(processors)


def ingest(path: Path, case: Case, durability: str) -> int:
    told = cn.create(path).ingest("day", case.source, goal=case.goal, durability=durability, **KEYS)
    return told.stored_bytes


def timed(path: Path, work: Callable[[Path], object]) -> tuple[float, float]:
    """Give wall and processor seconds of work that writes to a path that isn't there."""
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    os.sync()
    wall, processor = time.perf_counter(), time.process_time()
    work(path)
    return time.perf_counter() - wall, time.process_time() - processor


if __name__ == "__main__":
    main()
