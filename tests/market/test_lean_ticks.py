"""LEAN tick files: zips of headerless lines, the date and the symbol in the file's name."""

from __future__ import annotations

import datetime as dt

import pytest

from colonnade import col
from market.real_files import (
    assert_same_bars,
    expected_bars,
    facts_of,
    ingested,
    minute_bars,
    times_of,
    totals,
)

IBM_TRADES = "lean/equity_usa_tick_ibm_20131007_trade.zip"
IBM_QUOTES = "lean/equity_usa_tick_ibm_20131007_quote.zip"
BAC_TRADES = "lean/equity_usa_tick_bac_20131008_trade.zip"
GOLD_TRADES = "lean/future_comex_gc_tick_20131007_trade.zip"
EUROS = ["lean/forex_oanda_tick_eurusd_20140501_quote.zip", "lean/forex_fxcm_tick_eurusd_20140504_quote.zip"]
MS = 1_000_000
SCALE = 10_000  # prices of equities are multiplied by it
ALL, BY_EXCHANGE = 0, 1


@pytest.fixture(scope="module")
def trade(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("lean"), "trade", market / IBM_TRADES, format="lean")


@pytest.fixture(scope="module")
def quote(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("lean"), "quote", market / IBM_QUOTES, format="lean")


def test_trades_have_the_numbers_of_the_file(market, trade):
    facts = facts_of(market, IBM_TRADES)

    found = totals(
        trade,
        size=col("size").sum(),
        low=col("price").min(),
        high=col("price").max(),
        value=(col("price") * col("size")).sum(),
    )

    assert trade.row_count == facts["rows"]
    assert found["size"] == facts["sum_size"]
    assert (found["low"], found["high"]) == (facts["min_price"] / SCALE, facts["max_price"] / SCALE)
    assert found["value"] == pytest.approx(facts["sum_price_x_size"] / SCALE, rel=1e-12)


def test_trades_keep_order_and_milliseconds(market, trade):
    frame = trade.select("time").collect()

    assert times_of(frame, per_unit=MS) == facts_of(market, IBM_TRADES)["time_ms_of_day"]


def test_trades_are_counted_by_exchange(market, trade):
    counts = trade.group_by("exchange").agg(rows=col("price").count()).collect()

    found = dict(zip(counts["exchange"].cast(str), counts["rows"], strict=True))
    assert found == facts_of(market, IBM_TRADES)["exchanges"]


def test_symbol_and_date_come_from_the_file_name(trade):
    frame = trade.select("date", "sym").collect().unique()

    assert frame.select("date", frame["sym"].cast(str)).rows() == [(dt.date(2013, 10, 7), "IBM")]


def test_suspicious_trades_are_counted(market, trade):
    rows = trade.where(col("suspicious")).select("time").collect().height

    assert rows == facts_of(market, IBM_TRADES)["suspicious_rows"]


def test_trades_give_the_expected_minute_bars(market, trade):
    file = facts_of(market, IBM_TRADES)["one_minute_bars"]["file"]

    assert_same_bars(
        minute_bars(trade, time="time"), expected_bars(market, file, unit="ms", price_scale=SCALE)
    )


def test_quotes_have_the_numbers_of_the_file(market, quote):
    facts = facts_of(market, IBM_QUOTES)

    found = totals(
        quote, bid_size=col("bid_size").sum(), ask_size=col("ask_size").sum(), high=col("bid").max()
    )

    assert quote.row_count == facts["rows"]
    assert (found["bid_size"], found["ask_size"]) == (facts["sum_bid_size"], facts["sum_ask_size"])
    assert found["high"] == facts["max_bid_price"] / SCALE


def test_quotes_keep_order_and_milliseconds(market, quote):
    frame = quote.select("time").collect()

    assert times_of(frame, per_unit=MS) == facts_of(market, IBM_QUOTES)["time_ms_of_day"]


@pytest.mark.parametrize(("side", "fact"), [("bid", "rows_without_bid"), ("ask", "rows_without_ask")])
def test_quotes_without_a_side_are_counted(market, quote, side, fact):
    assert quote.where(col(side) == 0).select("time").collect().height == facts_of(market, IBM_QUOTES)[fact]


def test_each_trade_finds_the_last_stored_quote(market, trade, quote):
    facts = facts_of(market, IBM_TRADES)["asof"][ALL]

    joined = trade.asof_join(quote, by="sym", on="time").collect()

    assert joined["bid_size"].count() == facts["matched"]
    assert joined["bid_size"].null_count() == facts["unmatched"]
    assert joined["bid"].sum() == pytest.approx(facts["sum_bid_price"] / SCALE, rel=1e-9)
    assert joined["ask"].sum() == pytest.approx(facts["sum_ask_price"] / SCALE, rel=1e-9)


def test_each_trade_finds_the_last_stored_quote_of_its_exchange(market, tmp_path):
    facts = facts_of(market, IBM_TRADES)["asof"][BY_EXCHANGE]
    trade = ingested(tmp_path, "trade", market / IBM_TRADES, format="lean", part_by="exchange")
    quote = ingested(tmp_path, "quote", market / IBM_QUOTES, format="lean", part_by="exchange")

    joined = trade.asof_join(quote, by="exchange", on="time").collect()

    assert joined["bid_size"].count() == facts["matched"]
    assert joined["bid_size"].null_count() == facts["unmatched"]
    assert joined["bid"].sum() == pytest.approx(facts["sum_bid_price"] / SCALE, rel=1e-9)
    assert joined["ask"].sum() == pytest.approx(facts["sum_ask_price"] / SCALE, rel=1e-9)


def test_rows_equal_in_every_field_are_all_kept(market, tmp_path):
    facts = facts_of(market, BAC_TRADES)
    trade = ingested(tmp_path, "trade", market / BAC_TRADES, format="lean")

    frame = trade.collect()

    assert trade.row_count == frame.height == facts["rows"]
    assert frame.height - frame.unique().height == 14_136
    assert frame["price"].sum() == pytest.approx(facts["sum_column_2"] / SCALE, rel=1e-9)
    assert times_of(frame, per_unit=MS) == facts["time_ms"]


def test_each_contract_of_a_future_is_a_symbol(market, tmp_path):
    facts = facts_of(market, GOLD_TRADES)
    trade = ingested(tmp_path, "trade", market / GOLD_TRADES, format="lean")

    contracts = trade.group_by("sym").agg(rows=col("price").count()).collect()

    assert trade.row_count == facts["rows"]
    assert contracts.height == facts["members"]
    assert contracts["rows"].sum() == facts["rows"]
    assert "GC_201312" in contracts["sym"].cast(str).to_list()
    assert trade.collect()["condition"].null_count() == facts["rows"]


@pytest.mark.parametrize("file", EUROS)
def test_currency_ticks_have_the_numbers_of_the_file(market, tmp_path, file):
    facts = facts_of(market, file)
    quote = ingested(tmp_path, "quote", market / file, format="lean")

    found = totals(quote, bid=col("bid").sum(), ask=col("ask").sum())

    assert quote.row_count == facts["rows"]
    assert found["bid"] == pytest.approx(facts["sum_column_2"], rel=1e-9)
    assert found["ask"] == pytest.approx(facts["sum_last_numeric"], rel=1e-9)
    assert times_of(quote.select("time").collect(), per_unit=MS) == facts["time_ms"]
