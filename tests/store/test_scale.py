"""Many dates: opening, one date of many, one more date, and how many files are open at once."""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import colonnade as cn
from colonnade.store.atomic import publish
from colonnade.store.filenames import VERSIONS, version_name
from colonnade.store.table_source import _OPEN_FILES, close_columns, open_source
from colonnade.store.version_file import PartitionRow, parse_version, write_version

COLUMNS = 30
OPEN_SECONDS = 0.05
MOST_WRITTEN = 2 << 20
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="no strace to see which files open")


def ticks(dates, rows=10, *, first=14_000, columns=COLUMNS):
    days = np.repeat(np.arange(first, first + dates), rows)
    seconds = np.tile(np.arange(rows), dates) + 34_200
    numbers = np.arange(dates * rows)
    frame = {
        "time": pl.Series((days * 86_400 + seconds) * 1_000_000_000).cast(pl.Datetime("ns")),
        "sym": pl.Series(np.tile(["A", "B"], dates * rows // 2)),
    }
    return pl.DataFrame(frame | {f"c{one}": numbers * one % 1_000 for one in range(columns - 2)})


def database_of(path, dates, **shape):
    db = cn.create(path)
    db.ingest("trade", ticks(dates, **shape), part_by="sym", sort_by="time", durability="fast")
    return db


def pretend_dates(table, count):
    """Add dates to a version whose manifests aren't there: whoever reads one of them fails."""
    version = parse_version(table / VERSIONS / version_name(1))
    rows = version.rows()
    last = max(rows)
    for number in range(1, count - len(rows) + 1):
        low = (last + number) * 86_400_000_000_000
        rows[last + number] = PartitionRow(f"{number * 0x9E3779B97F4A7C15 % (1 << 64):016x}", 10, low, low)
    content = write_version(2, version.created_ns + 1, version.schema, version.settings, rows)
    assert publish(table / VERSIONS / version_name(2), content, durable=False)


def opening_seconds(path):
    """Measure in a process of its own, in which nothing was read before."""
    program = (
        "import sys, time, colonnade as cn\n"
        "opened = cn.open\n"
        "start = time.perf_counter()\n"
        "table = opened(sys.argv[1])['trade']\n"
        "rows = table.row_count\n"
        "print(time.perf_counter() - start, rows)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    seconds, rows = ran.stdout.split()
    return float(seconds), int(rows)


def opened_files(path, tmp_path, date):
    """Run a query of one date under strace; give the files of the database that it opened."""
    program = (
        "import sys, colonnade as cn\n"
        "found = cn.open(sys.argv[1])['trade'].where(date=sys.argv[2]).collect()\n"
        "assert found.height == 10\n"
    )
    log = tmp_path / "calls"
    command = ["strace", "-f", "-e", "trace=open,openat,openat2,execve", "-o", str(log)]
    subprocess.run([*command, sys.executable, "-c", program, str(path), date], check=True)
    names = re.findall(r'"([^"]+)"[^"\n]*= \d+$', log.read_text(), re.MULTILINE)
    return {os.path.relpath(name, path) for name in names if name.startswith(f"{path}/")}


def only_of(date):
    return re.compile(rf"colonnade\.json|trade/{VERSIONS}(/\d+\.json)?|trade/date={date}/.+")


def written_since(path, before):
    after = {file: file.stat().st_size for file in path.rglob("*") if file.is_file()}
    return sum(size for file, size in after.items() if file not in before)


@pytest.fixture
def wide(tmp_path):
    """Give a database of some dates whose newest version names ten thousand."""
    path = database_of(tmp_path / "db", 5).path
    pretend_dates(path / "trade", 10_000)
    return path


def test_ten_thousand_dates_of_thirty_columns_open_within_fifty_milliseconds(wide):
    measured = [opening_seconds(wide) for _ in range(10)]

    assert {rows for _, rows in measured} == {100_000}
    assert min(seconds for seconds, _ in measured) < OPEN_SECONDS


@needs_strace
def test_query_of_one_date_opens_only_the_files_of_that_date(wide, tmp_path):
    date = "2008-05-03"

    opened = opened_files(wide, tmp_path, date)

    assert [name for name in opened if only_of(date).fullmatch(name) is None] == []
    assert sum(name.endswith(".col") for name in opened) == COLUMNS


def test_one_more_date_beside_ten_thousand_writes_at_most_two_megabytes(wide):
    before = set(wide.rglob("*"))

    cn.open(wide)["trade"].append(ticks(1, first=30_000))

    assert 0 < written_since(wide, before) < MOST_WRITTEN
    assert len(cn.open(wide)["trade"].partitions) == 10_001


def test_query_over_more_files_than_may_be_open_stays_below_the_limit(tmp_path):
    dates = _OPEN_FILES // 4 + 40
    table = database_of(tmp_path / "db", dates, rows=2, columns=6)["trade"]
    close_columns()
    most = [0]
    done = threading.Event()

    def watch():
        while not done.is_set():
            mapped = set(re.findall(r"/\S+\.col$", Path("/proc/self/maps").read_text(), re.MULTILINE))
            most[0] = max(most[0], len(mapped))
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        rows = table.collect()
        names = [f"c{one}" for one in range(4)]  # all in one task, if rows alone counted
        totals = table.group_by("sym").agg(**{name: cn.col(name).sum() for name in names}).collect()
    finally:
        done.set()
        watcher.join()

    assert rows.height == dates * 2
    assert totals.select(names).sum().equals(rows.select(names).sum())
    assert most[0] <= _OPEN_FILES


@pytest.mark.long
@needs_strace
def test_database_of_ten_thousand_dates_keeps_all_of_it(tmp_path):
    db = database_of(tmp_path / "db", 10_000)
    before = set(db.path.rglob("*"))

    seconds = min(opening_seconds(db.path)[0] for _ in range(3))
    opened = opened_files(db.path, tmp_path, "2015-06-30")
    db["trade"].append(ticks(1, first=30_000))

    assert seconds < OPEN_SECONDS
    assert [name for name in opened if only_of("2015-06-30").fullmatch(name) is None] == []
    assert written_since(db.path, before) < MOST_WRITTEN
    assert open_source(db.path / "trade").row_counts.sum() == 100_010
