"""Every column type in conditions, keys and aggregates; times of day; large unsigned integers."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import colonnade as cn
from colonnade import col
from query.tick_tables import plain

ROWS = 400


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    random = np.random.default_rng(3)
    clock = np.sort(random.integers(0, 86_400, ROWS)) * 10**9
    return pl.DataFrame(
        {
            "clock": pl.Series(clock).cast(pl.Time),
            "big": pl.Series(random.integers(0, 2**64 - 1, ROWS, dtype=np.uint64)),
            "flag": random.integers(0, 2, ROWS).astype(bool),
            "single": random.normal(0, 1, ROWS).astype(np.float32),
            "day": pl.Series(random.integers(-50, 50, ROWS).astype(np.int32)).cast(pl.Date),
            "wait": pl.Series(random.integers(-(10**12), 10**12, ROWS)).cast(pl.Duration("ns")),
            "at": pl.Series(random.integers(-(10**18), 10**18, ROWS)).cast(pl.Datetime("ns")),
            "venue": random.choice(["X", "Y"], ROWS),
        }
    ).with_columns(
        pl.when(pl.int_range(ROWS) % 7 == 0).then(None).otherwise(pl.exclude("clock")).name.keep()
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory) -> cn.Table:
    database = cn.create(tmp_path_factory.mktemp("types") / "db")
    database.ingest("tick", frame, sort_by="clock", date="2024-01-02")
    database.ingest("tick", frame, sort_by="clock", date="2024-01-03")
    return database["tick"]


CONDITIONS = {
    "big": (col("big") >= 2**63, pl.col("big") >= 2**63),
    "big in": (col("big").is_in([5, 2**64 - 1]), pl.col("big").is_in([5, 2**64 - 1])),
    "flag": (col("flag") == True, pl.col("flag")),  # noqa: E712 - an expression
    "bare flag": (col("flag"), pl.col("flag")),
    "not flag": (~col("flag"), ~pl.col("flag")),
    "single": (col("single") * 2 > 0.3, pl.col("single") * 2 > 0.3),
    "day": (col("day") > "1970-01-05", pl.col("day") > dt.date(1970, 1, 5)),
    "month": (col("day") == "1970-01", pl.col("day").dt.strftime("%Y-%m") == "1970-01"),
    "wait": (col("wait") < "5s", pl.col("wait") < dt.timedelta(seconds=5)),
    "at": (col("at") >= "1975-06-01 12:00", pl.col("at") >= dt.datetime(1975, 6, 1, 12)),  # noqa: DTZ001
    "hour": (col("at") < "06:00", pl.col("at").dt.time() < dt.time(6)),
    "difference": (col("at") - col("at") == dt.timedelta(0), pl.col("at") - pl.col("at") == dt.timedelta(0)),
    "clock": (col("clock") >= "12:30", pl.col("clock") >= dt.time(12, 30)),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_on_every_type_are_those_of_polars(table, frame, name):
    ours, theirs = CONDITIONS[name]

    found = table.where(ours, date="2024-01-02")

    expected = frame.filter(theirs)
    assert_frame_equal(plain(found.select(*frame.columns).collect()), expected)
    assert found.group_by().agg(n=cn.len()).collect()["n"].item() == expected.height


@pytest.mark.parametrize("key", ["flag", "day", "venue", "big", "wait", "single"])
def test_every_type_is_a_key(table, frame, key):
    found = table.where(date="2024-01-03").group_by(key).agg(n=cn.len()).collect()

    expected = frame.group_by(key).agg(n=pl.len().cast(pl.Int64)).sort(key, nulls_last=True)
    assert_frame_equal(plain(found), expected)


@pytest.mark.parametrize("name", ["big", "flag", "single", "day", "wait", "at", "venue", "clock"])
def test_every_type_has_a_first_last_least_and_greatest(table, frame, name):
    column, other = col(name), pl.col(name)

    found = table.where(date="2024-01-02").group_by().agg(
        first=column.first(), last=column.last(), low=column.min(), high=column.max(), n=column.count()
    )  # fmt: skip

    expected = frame.select(
        first=other.first(),
        last=other.last(),
        low=other.min(),
        high=other.max(),
        n=other.count().cast(pl.Int64),
    )
    assert_frame_equal(plain(found.collect()), expected)


def test_sums_and_means_of_every_number(table, frame):
    found = table.where(date="2024-01-02").group_by().agg(
        flags=col("flag").sum(), share=col("flag").mean(), single=col("single").mean(), wait=col("wait").sum()
    )  # fmt: skip

    expected = frame.select(
        flags=pl.col("flag").sum().cast(pl.Int64), share=pl.col("flag").mean(),
        single=pl.col("single").cast(pl.Float64).mean(), wait=pl.col("wait").sum(),
    )  # fmt: skip
    assert_frame_equal(found.collect(), expected)


def test_a_time_of_day_as_sort_key_keeps_dates_apart(table, frame):
    assert table.collect().columns == ["date", *frame.columns]

    found = table.group_by("date", col("clock").bucket("1h")).agg(n=cn.len()).collect()

    assert found["n"].sum() == 2 * ROWS
    assert found["date"].n_unique() == 2
    joined = table.asof_join(table.select("big"), on="clock").collect()
    assert joined.height == 2 * ROWS


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (lambda t: t.where(flag="yes"), cn.PlanError),
        (lambda t: t.where(big="a lot"), cn.PlanError),
        (lambda t: t.where(clock="25:00"), cn.PlanError),
        (lambda t: t.where(at="soon"), cn.PlanError),
        (lambda t: t.where(wait="long"), cn.PlanError),
        (lambda t: t.where(venue=3), cn.PlanError),
        (lambda t: t.group_by().agg(x=col("venue").sum()), cn.ColumnTypeError),
        (lambda t: t.group_by().agg(x=col("at").mean()), cn.ColumnTypeError),
        (lambda t: t.select(x=col("venue") + 1), cn.ColumnTypeError),
        (lambda t: t.where(col("big")), cn.ColumnTypeError),
        (lambda t: t.where(col("big").sum() > 3), cn.PlanError),
        (lambda t: t.select(col("big") + 1), cn.PlanError),
        (lambda t: t.group_by("flag").agg(x=col("big")), cn.PlanError),
        (lambda t: t.bars("1m"), cn.SchemaError),
        (lambda t: t.group_by(col("clock").bucket("often")), cn.PlanError),
        (lambda t: t.where(True), cn.PlanError),  # noqa: FBT003
        (lambda t: t.where(clock=cn.last(3)), cn.PlanError),
        (lambda t: t.asof_join(3, on="clock"), cn.PlanError),
        (lambda t: t.asof_join(t, on="clock", strategy="sideways"), cn.PlanError),
        (lambda t: t.asof_join(t, on="clock", by="venture"), cn.ColumnNotFoundError),
        (lambda t: t.asof_join(t, on="clock", tolerance="-5s"), cn.PlanError),
        (lambda t: t.collect(threads=0), cn.PlanError),
        (lambda t: t.collect(memory_limit="much"), cn.PlanError),
    ],
)
def test_what_makes_no_sense_is_an_error_of_ours(table, query, error):
    with pytest.raises(error):
        query(table)


def test_a_frame_made_by_accident_of_and_is_an_error():
    with pytest.raises(cn.PlanError, match="&"):
        bool(col("a") > 1 and col("b") > 1)
