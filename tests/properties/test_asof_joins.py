"""As-of joins are those of the reference, and those of Polars where it has the same rule for equal times."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colonnade as cn
import strategies as ours
from databases import TICK_KEYS, logical, plain, rows_of, table_of
from reference.asof import asof_rows

QUOTE_COLUMNS = {"price": "bid", "size": "bid_size", "cond": "mode", "flag": "firm"}


def quotes(**options) -> st.SearchStrategy[pl.DataFrame]:
    """Give quotes numbered in the order of arrival."""
    return ours.ticks(**options).map(lambda frame: frame.rename(QUOTE_COLUMNS).with_row_index("number"))


def expected_numbers(trades: pl.DataFrame, quotes: pl.DataFrame, **options) -> list[int | None]:
    """Give for each trade, in logical order, the number of its quote, of the same date."""
    left, right = rows_of(logical(trades)), rows_of(logical(quotes))
    rows = asof_rows(
        [row["time"] for row in left],
        [row["time"] for row in right],
        left_keys=[None if row["sym"] is None else (row["date"], row["sym"]) for row in left],
        right_keys=[(row["date"], row["sym"]) for row in right],
        **options,
    )
    return [None if row < 0 else right[row]["number"] for row in rows]


@pytest.mark.parametrize("strategy", ["backward", "forward", "nearest"])
@given(data=st.data(), trades=ours.ticks(min_rows=1), quote_frame=quotes(min_rows=1, max_rows=60))
def test_stored_trades_find_the_quotes_of_the_reference(data, trades, quote_frame, strategy):
    tolerance = data.draw(st.sampled_from([None, 0, 1, 30_000_000_000, 10**12]))
    pieces = data.draw(ours.splits(quote_frame.height))
    with tempfile.TemporaryDirectory() as folder:
        trade = table_of(Path(folder), trades, **TICK_KEYS)
        quote = table_of(Path(folder), quote_frame, pieces=pieces, table="quote", **TICK_KEYS)

        found = trade.asof_join(quote, by="sym", on="time", strategy=strategy, tolerance=tolerance).collect()

    expected = expected_numbers(trades, quote_frame, strategy=strategy, tolerance=tolerance)
    assert found["number"].to_list() == expected


@given(trades=ours.ticks(min_rows=1), quote_frame=quotes(min_rows=1, max_rows=60))
def test_a_frame_finds_the_quotes_in_its_own_order(trades, quote_frame):
    left, right = rows_of(trades.with_columns(date=pl.col("time").dt.date())), rows_of(logical(quote_frame))
    rows = asof_rows(
        [row["time"] for row in left],
        [row["time"] for row in right],
        left_keys=[None if row["sym"] is None else (row["date"], row["sym"]) for row in left],
        right_keys=[(row["date"], row["sym"]) for row in right],
    )
    with tempfile.TemporaryDirectory() as folder:
        quote = table_of(Path(folder), quote_frame, table="quote", **TICK_KEYS)

        found = cn.asof_join(trades, quote, by="sym", on="time")

    assert found["number"].to_list() == [None if row < 0 else right[row]["number"] for row in rows]
    assert plain(found.select(trades.columns)).rows() == trades.rows()


@given(
    trades=ours.ticks(min_rows=1, nulls=False, days=(19_724,)),
    quote_frame=quotes(min_rows=1, max_rows=60, nulls=False, days=(19_724,)),
)
def test_backward_joins_are_those_of_polars(trades, quote_frame):
    expected = logical(trades).join_asof(
        logical(quote_frame).sort("time", maintain_order=True), on="time", by="sym", check_sortedness=False
    )
    with tempfile.TemporaryDirectory() as folder:
        trade = table_of(Path(folder), trades, **TICK_KEYS)
        quote = table_of(Path(folder), quote_frame, table="quote", **TICK_KEYS)

        found = trade.asof_join(quote, by="sym", on="time").collect()

    ordered = expected.sort("sym", "time", maintain_order=True)
    assert found["number"].to_list() == ordered["number"].to_list()


def test_the_last_stored_of_equal_times_wins_over_parts(tmp_path):
    quote_frame = pl.DataFrame({"sym": ["A"] * 4, "time": [5, 5, 5, 9], "bid": [1.0, 2.0, 3.0, 4.0]})
    quote_frame = quote_frame.with_columns(pl.col("time").cast(pl.Datetime("ns")))
    trades = ours.tick_frame([("A", 5, 1.0, 100, "@", True), ("A", 4, 1.0, 100, "@", True)])
    trade = table_of(tmp_path, trades, **TICK_KEYS)
    quote = table_of(tmp_path, quote_frame, pieces=[(0, 2), (2, 3), (3, 4)], table="quote", **TICK_KEYS)

    found = trade.asof_join(quote, by="sym", on="time").collect()

    assert found["bid"].to_list() == [None, 3.0]


def test_a_column_of_the_same_name_keeps_the_left_value(tmp_path):
    trades = ours.tick_frame([("A", 5, 1.0, 100, "@", True)])
    others = ours.tick_frame([("A", 4, 2.0, 200, " O  ", False)])
    trade = table_of(tmp_path, trades, **TICK_KEYS)
    quote = table_of(tmp_path, others, table="quote", **TICK_KEYS)

    found = plain(trade.asof_join(quote, by="sym", on="time").collect())

    assert found.select("price", "price_right", "size_right", "cond_right").row(0) == (1.0, 2.0, 200, " O  ")
