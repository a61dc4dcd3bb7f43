"""The Polars side of the tour on a few rows, against answers worked out by hand."""

import datetime as dt

import polars as pl

from colonnade.demo import peers


def at(minute, second=0):
    return dt.time(9, minute, second)


TRADES = pl.DataFrame(
    {
        "sym": ["A", "A", "A", "B"],
        "time": [at(30, 1), at(30, 59), at(31), at(30)],
        "price": [10.0, 12.0, 11.0, 5.0],
        "size": [100, 300, 50, 10],
    }
).with_columns(pl.col("sym").cast(pl.Categorical))
QUOTES = pl.DataFrame(
    {
        "sym": ["A", "A", "B"],
        "time": [at(30, 1), at(30, 1), at(31)],
        "bid": [1.0, 2.0, 3.0],
        "ask": [1.5, 2.5, 3.5],
    }
).with_columns(pl.col("sym").cast(pl.Categorical))


def test_minute_bars_begin_on_the_minute():
    bars = peers.minute_bars(TRADES).sort(pl.col("sym").cast(pl.String), "time")

    assert bars.rows() == [
        ("A", at(30), 10.0, 12.0, 10.0, 12.0, 400, 11.5),
        ("A", at(31), 11.0, 11.0, 11.0, 11.0, 50, 11.0),
        ("B", at(30), 5.0, 5.0, 5.0, 5.0, 10, 5.0),
    ]


def test_bars_of_symbols_leave_the_others_out():
    assert peers.bars_of_symbols(TRADES, ["B"])["sym"].to_list() == ["B"]


def test_large_trades_include_the_least_size():
    assert peers.large_trades(TRADES, 300).rows() == [("A", 1, 300, 12.0)]


def test_each_trade_gets_the_last_of_the_quotes_at_its_time_and_none_from_later():
    joined = peers.quoted_trades(TRADES, QUOTES)

    assert joined["bid"].to_list() == [2.0, 2.0, 2.0, None]


def test_rows_come_in_the_order_asked_for():
    assert peers.rows_at(TRADES, [3, 0])["price"].to_list() == [5.0, 10.0]
