"""Trading dates, sessions and buckets follow the clock of the table's zone, daylight saving included."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colonnade as cn
from colonnade import col
from databases import table_of
from reference.trading_date import clock_ns, trading_date, wall_clock

ZONES = ("America/Chicago", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC")
HOUR = 3_600_000_000_000
AROUND = [  # instants near changes of the clocks, a new year, and 1970
    np.datetime64("2024-03-10T07:00", "ns"),
    np.datetime64("2024-11-03T06:00", "ns"),
    np.datetime64("2024-10-05T15:30", "ns"),
    np.datetime64("2023-12-31T23:00", "ns"),
    np.datetime64("1970-01-01T00:00", "ns"),
]


def instants() -> st.SearchStrategy[list[int]]:
    near = st.builds(
        lambda base, minutes: int(base.astype(np.int64)) + minutes * 60_000_000_000,
        st.sampled_from(AROUND),
        st.integers(-3_000, 3_000),
    )
    return st.lists(near, min_size=1, max_size=30)


def frame_of(times: list[int], zone: str | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"sym": ["ES"] * len(times), "time": times, "price": [1.0] * len(times), "n": range(len(times))}
    ).with_columns(pl.col("time").cast(pl.Datetime("ns", zone)))


@given(
    times=instants(),
    zone=st.sampled_from(ZONES),
    day_start=st.sampled_from([None, "17:00", "18:00", "00:30"]),
)
def test_rows_lie_in_the_partition_of_their_trading_date(times, zone, day_start):
    start = 0 if day_start is None else clock_ns(day_start)
    expected: dict[dt.date, int] = {}
    for time in times:
        date = trading_date(time, zone, start)
        expected[date] = expected.get(date, 0) + 1
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(
            Path(folder), frame_of(times, "UTC"), part_by="sym", sort_by="time", tz=zone, day_start=day_start
        )

        counts = table.group_by("date").agg(n=cn.len()).collect()

    assert counts.rows() == sorted(expected.items())


@given(times=instants(), zone=st.sampled_from(ZONES))
def test_a_time_of_day_is_meant_in_the_zone_of_the_table(times, zone):
    low, high = clock_ns("09:30"), clock_ns("16:00")
    expected = sorted(n for n, time in enumerate(times) if low <= wall_clock(time, zone)[1] <= high)
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame_of(times, "UTC"), part_by="sym", sort_by="time", tz=zone)

        found = table.where(time=cn.between("09:30", "16:00")).collect()

    assert sorted(found["n"].to_list()) == expected


def test_hours_of_a_zone_with_a_half_hour_begin_at_its_midnight(tmp_path):
    times = [
        int(np.datetime64("2024-01-02T03:45", "ns").astype(np.int64)) + m * 60_000_000_000 for m in range(90)
    ]
    table = table_of(tmp_path, frame_of(times, "UTC"), part_by="sym", sort_by="time", tz="Asia/Kolkata")

    found = table.group_by(col("time").bucket("1h")).agg(n=cn.len()).collect()

    # 03:45 UTC is 09:15 in Kolkata
    assert found["n"].to_list() == [45, 45]
    assert [start % HOUR for start in found["time"].to_physical()] == [HOUR // 2] * 2


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "Australia/Lord_Howe"])
def test_buckets_have_the_type_of_their_column(tmp_path, zone):
    table = table_of(tmp_path, frame_of([0, 1, HOUR], zone), part_by="sym", sort_by="time")

    found = table.group_by(col("time").bucket("1m")).agg(n=cn.len()).collect()

    assert found.schema["time"] == pl.Datetime("ns", zone)
    assert found["time"].to_physical().to_list() == [0, HOUR]


def test_wall_clock_times_need_no_zone(tmp_path):
    times = [0, 23 * HOUR, 24 * HOUR - 1, 24 * HOUR]
    table = table_of(tmp_path, frame_of(times, None), part_by="sym", sort_by="time", day_start="18:00")

    counts = table.group_by("date").agg(n=cn.len()).collect()

    assert counts.rows() == [(dt.date(1970, 1, 1), 1), (dt.date(1970, 1, 2), 3)]


def test_bars_of_a_time_of_day_never_mix_dates(tmp_path):
    frame = pl.DataFrame(
        {
            "sym": ["A"] * 4,
            "time": [HOUR, HOUR + 1, HOUR, HOUR + 2],
            "price": [1.0, 2.0, 3.0, 4.0],
            "size": [1] * 4,
        }
    ).with_columns(pl.col("time").cast(pl.Time))
    db = cn.create(tmp_path / "db")
    db.ingest("trade", frame[:2], part_by="sym", sort_by="time", date="2024-01-02")
    db.ingest("trade", frame[2:], date="2024-01-03")

    bars = db["trade"].bars("1h").collect()

    assert bars["date"].to_list() == [dt.date(2024, 1, 2), dt.date(2024, 1, 3)]
    assert bars["open"].to_list() == [1.0, 3.0]
    assert bars["close"].to_list() == [2.0, 4.0]
