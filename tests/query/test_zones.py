"""Wall clock of the table's zone: times of day, bars from midnight, on days on which the clock is changed."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import colonnade as cn
from colonnade import col
from query.tick_tables import plain, table_of

ZONE = "America/New_York"
CHANGES = {"forward": dt.date(2024, 3, 10), "back": dt.date(2024, 11, 3), "none": dt.date(2024, 6, 3)}


def a_day_of(day: dt.date) -> pl.DataFrame:
    """Give a trade every 97 seconds from noon before a day to noon after it."""
    start = dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) - dt.timedelta(hours=8)
    first = int(start.timestamp()) * 10**9
    times = first + np.arange(0, 60 * 3600, 97) * 10**9
    return pl.DataFrame(
        {
            "sym": np.where(np.arange(len(times)) % 3 == 0, "A", "B"),
            "time": pl.Series(times).cast(pl.Datetime("ns", ZONE)),
            "price": np.arange(len(times)) / 4,
            "size": np.ones(len(times), dtype=np.int64),
        }
    )


def dated(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(date=pl.col("time").dt.date()).sort("date", "sym", "time")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("every", ["1m", "30m", "1h", "4h", "1d"])
def test_bars_begin_at_midnight_of_the_zone(tmp_path, change, every):
    frame = a_day_of(CHANGES[change])
    table = table_of(tmp_path / "db", frame, partition_by="date", tz=ZONE)

    found = plain(table.bars(every).collect()).select("sym", "time", "open", "volume")

    expected = dated(frame).group_by("sym", pl.col("time").dt.truncate(every)).agg(
        open=pl.col("price").first(), volume=pl.col("size").sum()
    )  # fmt: skip
    assert_frame_equal(found, expected.sort("sym", "time"))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("low", "high"), [("09:30", "16:00"), ("00:30", "02:30"), ("01:00", "01:59:59.999999999")]
)
def test_a_time_of_day_is_meant_in_the_zone(tmp_path, change, low, high):
    frame = a_day_of(CHANGES[change])
    table = table_of(tmp_path / "db", frame, partition_by="date", tz=ZONE)

    found = plain(table.where(time=cn.between(low, high)).collect())

    clock = pl.col("time").dt.time().is_between(dt.time.fromisoformat(low), dt.time.fromisoformat(high[:15]))
    assert_frame_equal(found, dated(frame).filter(clock).select(found.columns))


def test_odd_widths_begin_anew_at_midnight(tmp_path):
    frame = a_day_of(CHANGES["none"])
    table = table_of(tmp_path / "db", frame, partition_by="date", tz=ZONE)

    found = table.group_by(col("time").bucket("7h")).agg(n=cn.len()).collect()

    assert set(found["time"].dt.hour()) == {0, 7, 14, 21}
    assert found["n"].sum() == frame.height
    conditioned = (
        table.where(col("price").bucket(10) >= 0).group_by(t=col("time").bucket("7h")).agg(n=cn.len())
    )
    assert conditioned.collect()["n"].to_list() == found["n"].to_list()


def test_instants_with_and_without_a_zone_are_conditions(tmp_path):
    frame = a_day_of(CHANGES["none"])
    table = table_of(tmp_path / "db", frame, partition_by="date", tz=ZONE)
    moment = dt.datetime(2024, 6, 3, 13, 30, tzinfo=dt.UTC)

    count = frame.filter(pl.col("time").dt.convert_time_zone("UTC") >= moment).height

    assert table.where(col("time") >= moment).collect().height == count
    assert table.where(col("time") >= "2024-06-03 09:30").collect().height == count
    assert table.where(col("time") >= "2024-06-03T13:30:00Z").collect().height == count
