"""Rows larger than the memory that is allowed are sorted on disk, and the process stays small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROWS = 3_000_000
GROWTH_MB = 200  # in one piece the same ingest grows by some 400

INGEST = """
import sys
from pathlib import Path
from colonnade.ingest.writer import ingest
from colonnade.store.database import DatabaseStore

def peak_mb():
    status = Path("/proc/self/status").read_text()  # ru_maxrss would begin with the size of the parent
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

folder, memory_bytes = Path(sys.argv[1]), int(sys.argv[2])
db = DatabaseStore.create(folder / "db", durable=False)
keys = {"part_by": "sym", "sort_by": "time", "columns": {"time": {"unit": "ns"}}, "threads": 2}
ingest(db, "warm", folder / "small.csv", **keys)
before = peak_mb()
report = ingest(db, "trade", folder / "large.csv", memory_bytes=memory_bytes, **keys)
print(report.rows, peak_mb() - before)
"""


def grown(folder, memory_bytes: int) -> tuple[int, float]:
    command = [sys.executable, "-c", INGEST, str(folder), str(memory_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    rows, growth_mb = done.stdout.split()
    return int(rows), float(growth_mb)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_memory_stays_bounded_while_unsorted_rows_are_sorted_on_disk(tmp_path):
    random = np.random.default_rng(7)
    start = 1_704_153_600_000_000_000
    rows = pl.DataFrame(
        {
            "time": start + random.integers(0, 86_400_000_000_000, ROWS),
            "sym": pl.Series(random.integers(0, 5_000, ROWS)).cast(pl.String),
            "price": np.round(random.uniform(10, 500, ROWS), 2),
            "size": random.integers(1, 10_000, ROWS),
        }
    )
    rows.write_csv(tmp_path / "large.csv")
    rows.head(100).write_csv(tmp_path / "small.csv")

    count, growth_mb = grown(tmp_path, 32 << 20)

    assert count == ROWS
    assert growth_mb < GROWTH_MB
    assert not list((tmp_path / "db").rglob("*.arrow"))
