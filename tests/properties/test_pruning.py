"""A pruned scan gives what a full scan gives, over blocks small enough that pruning has work to do."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colonnade as cn
import strategies as ours
from colonnade import col
from databases import TICK_KEYS, bits, logical, table_of

ROWS = 60_000
SYMBOLS = [f"S{number:03}" for number in range(40)]
DAYS = 3
FIRST_DAY = dt.date(2024, 1, 2)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Trades of three days: prices walk, sizes are round, some of both are null."""
    random = np.random.default_rng(7)
    start = np.datetime64(FIRST_DAY, "ns").astype(np.int64)
    times = start + random.integers(0, DAYS * ours.DAY_NS, ROWS)
    price = np.round(100 + np.cumsum(random.normal(0, 0.01, ROWS)), 2)
    return pl.DataFrame(
        {
            "sym": random.choice(SYMBOLS, ROWS, p=random.dirichlet(np.full(len(SYMBOLS), 0.3))),
            "time": times.astype("datetime64[ns]"),
            "price": price,
            "size": random.integers(1, 50, ROWS) * 100,
            "seq": np.arange(ROWS),
        }
    ).with_columns(
        price=pl.when(pl.col("seq") % 97 == 0).then(None).otherwise(pl.col("price")),
        size=pl.when(pl.col("seq") % 89 == 0).then(None).otherwise(pl.col("size")),
    )


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory) -> cn.Table:
    pieces = [(0, 20_000), (20_000, 20_100), (20_100, ROWS)]
    return table_of(
        tmp_path_factory.mktemp("pruning"), frame, pieces=pieces, compression="bitpack@4KiB", **TICK_KEYS
    )


def instants() -> st.SearchStrategy[np.datetime64]:
    start = np.datetime64(FIRST_DAY, "ns").astype(np.int64).item()
    return st.integers(-ours.DAY_NS, (DAYS + 1) * ours.DAY_NS).map(lambda ns: np.datetime64(start + ns, "ns"))


@given(low=instants(), width=st.sampled_from([0, 1, 10**9, 10**12, 10**14]))
def test_a_range_of_times_is_found_by_search(table, frame, low, width):
    high = low + np.timedelta64(width, "ns")
    time = pl.col("time").to_physical()
    expected = logical(frame).filter((time >= low.astype(int)) & (time <= high.astype(int)))

    found = table.where(time=cn.between(low, high)).collect()

    assert bits(found.select(frame.columns)) == bits(expected.select(frame.columns))


@given(
    symbols=st.lists(st.sampled_from([*SYMBOLS, "none"]), max_size=4),
    low=st.floats(90, 110),
    width=st.floats(0, 2),
    lot=st.integers(0, 60),
)
def test_symbols_prices_and_sizes_are_found(table, frame, symbols, low, width, lot):
    expected = logical(frame).filter(
        pl.col("sym").is_in(symbols)
        & (pl.col("price") >= low)
        & (pl.col("price") < low + width)
        & (pl.col("size") != lot * 100)
    )

    found = (
        table.where(sym=symbols)
        .where((col("price") >= low) & (col("price") < low + width) & (col("size") != lot * 100))
        .collect()
    )

    assert bits(found.select(frame.columns)) == bits(expected.select(frame.columns))


@given(low=st.integers(-2, DAYS + 2), width=st.integers(0, 3), number=st.integers(0, ROWS))
def test_dates_and_row_numbers_of_the_source_are_found(table, frame, low, width, number):
    first, last = FIRST_DAY + dt.timedelta(low), FIRST_DAY + dt.timedelta(low + width)
    expected = logical(frame).filter(pl.col("date").is_between(first, last) & (pl.col("seq") < number))

    found = table.where(date=cn.between(first, last)).where(col("seq") < number).collect()

    assert bits(found.select(frame.columns)) == bits(expected.select(frame.columns))


@pytest.mark.parametrize(
    ("low", "high"), [("09:30", "16:00"), ("00:00", "00:01"), ("23:59:59.5", "23:59:59.999999999")]
)
def test_a_time_of_day_on_a_timestamp_is_found_on_every_date(table, frame, low, high):
    def clock(text: str) -> int:
        hours, minutes, *rest = text.split(":")
        seconds, _, fraction = (rest[0] if rest else "0").partition(".")
        return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 10**9 + int((fraction + "0" * 9)[:9])

    time_of_day = pl.col("time").to_physical() % ours.DAY_NS
    expected = logical(frame).filter(time_of_day.is_between(clock(low), clock(high)))

    found = table.where(time=cn.between(low, high)).collect()

    assert bits(found.select(frame.columns)) == bits(expected.select(frame.columns))


def test_nothing_matches_null(table, frame):
    expected = logical(frame).filter(pl.col("size") != 100)

    assert table.where(col("size") != 100).collect().height == expected.height
    assert table.where(col("price").is_null()).collect().height == frame["price"].null_count()


def test_a_month_and_the_newest_dates_are_conditions(table, frame):
    assert table.where(date="2024-01").collect().height == frame.height
    assert table.where(date="2024-02").collect().height == 0
    newest = table.where(date=cn.last(1)).collect()
    assert newest.height == logical(frame).filter(pl.col("date") == FIRST_DAY + dt.timedelta(DAYS - 1)).height
