"""Binance: Parquet, Arrow and CSV files of trades, quotes, bars and a depth snapshot."""

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

TRADES = "binance/btcusdt_trades_20210108.parquet"
QUOTES = "binance/btcusdt_quotes_20210108.parquet"
FEATHER = "binance/XRP_ETH_trades.feather"
PUBLIC = "binance/ETHUSDT_public_trades_20230202.csv"
KLINES = "binance/ADABTC-1m-2021-11-27.csv"
DEPTH = "binance/btcusdt_depth_snap.csv"
MS = 1_000_000


@pytest.fixture(scope="module")
def trade(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("binance"), "trade", market / TRADES, format="binance-trade")


@pytest.fixture(scope="module")
def quote(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("binance"), "quote", market / QUOTES, format="binance-quote")


@pytest.fixture(scope="module")
def feather(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("binance"), "feather", market / FEATHER, format="binance-feather")


def test_parquet_trades_have_the_numbers_of_the_file(market, trade):
    facts = facts_of(market, TRADES)

    found = totals(trade, size=col("size").sum(), low=col("price").min(), high=col("price").max())

    assert trade.row_count == facts["rows"]
    assert found["size"] == pytest.approx(facts["sum_quantity"], rel=1e-9)
    assert (found["low"], found["high"]) == (facts["min_price"], facts["max_price"])
    assert times_of(trade.select("time").collect(), per_unit=MS) == facts["timestamp_ms"]


def test_texts_true_and_false_become_booleans(trade):
    frame = trade.collect()

    assert 0 < frame["buyer_maker"].sum() < frame.height
    assert frame["buyer_maker"].null_count() == 0


def test_parquet_trades_give_the_expected_minute_bars(market, trade):
    file = facts_of(market, TRADES)["one_minute_bars"]["file"]

    assert_same_bars(minute_bars(trade, time="time"), expected_bars(market, file, unit="ms"))


def test_parquet_needs_no_description(market, tmp_path):
    trade = ingested(tmp_path, "trade", market / TRADES, sort_by="timestamp")

    assert trade.row_count == facts_of(market, TRADES)["rows"]
    assert trade.schema.columns["trade_id"].kind == "int64"


def test_parquet_quotes_have_the_numbers_of_the_file(market, quote):
    facts = facts_of(market, QUOTES)

    assert quote.row_count == facts["rows"]
    assert times_of(quote.select("time").collect(), per_unit=MS) == facts["timestamp_ms"]
    assert quote.collect()["sym"].cast(str).unique().to_list() == ["BTC/USDT"]


def test_trades_before_the_first_quote_match_none(market, trade, quote):
    facts = facts_of(market, TRADES)["asof"][0]

    joined = trade.asof_join(quote, by="sym", on="time").collect()

    assert joined["bid"].count() == facts["matched"]
    assert joined["bid"].null_count() == facts["unmatched"]
    assert joined["bid"][: facts["unmatched"]].null_count() == facts["unmatched"]
    assert joined["bid"].sum() == pytest.approx(facts["sum_bid"], rel=1e-9)
    assert joined["ask"].sum() == pytest.approx(facts["sum_ask"], rel=1e-9)


def test_feather_trades_have_the_numbers_of_the_file(market, feather):
    facts = facts_of(market, FEATHER)

    found = totals(
        feather,
        size=col("size").sum(),
        low=col("price").min(),
        high=col("price").max(),
        types=col("type").count(),
    )

    assert feather.row_count == facts["rows"]
    assert found["size"] == pytest.approx(facts["sum_amount"], rel=1e-9)
    assert (found["low"], found["high"]) == (facts["min_price"], facts["max_price"])
    assert facts["rows"] - found["types"] == facts["null_type"]
    assert times_of(feather.select("time").collect(), per_unit=MS) == facts["timestamp_ms"]


def test_feather_trades_of_three_days_give_the_expected_minute_bars(market, feather):
    file = facts_of(market, FEATHER)["one_minute_bars"]["file"]

    assert len(feather.partitions) == 3
    assert_same_bars(minute_bars(feather, time="time"), expected_bars(market, file, unit="ms"))


def test_a_csv_whose_first_column_has_no_name_comes_in_by_order(market, tmp_path):
    facts = facts_of(market, PUBLIC)
    trade = ingested(tmp_path, "trade", market / PUBLIC, format="binance-public-trades")

    found = totals(
        trade,
        sum_price=col("price").sum(),
        min_price=col("price").min(),
        max_price=col("price").max(),
        sum_amount=col("size").sum(),
        min_amount=col("size").min(),
        max_amount=col("size").max(),
        sum_cost=col("cost").sum(),
        min_cost=col("cost").min(),
        max_cost=col("cost").max(),
    )
    frame = trade.collect()

    assert trade.row_count == facts["rows"]
    assert found == pytest.approx({name: facts[name] for name in found}, rel=1e-9)
    assert frame["type"].null_count() == facts["nulls"]["type"]
    assert frame["time"].to_physical().to_list() == frame["written"].to_physical().to_list()
    assert frame["time"].to_physical()[0] == int(facts["first_timestamp"]) * MS
    assert frame["time"].to_physical()[-1] == int(facts["last_timestamp"]) * MS
    assert frame["sym"].cast(str).unique().to_list() == ["ETHUSDT"]


def test_klines_without_header_keep_their_eight_decimals(market, tmp_path):
    bar = ingested(tmp_path, "bar", market / KLINES, format="binance-klines")

    frame = bar.collect()

    assert frame.height == 10
    assert frame["open"][0] == 0.00002853
    assert frame["high"][1] == 0.00002860
    assert frame["time"][0] == dt.datetime(2021, 11, 27, tzinfo=dt.UTC)
    assert "ignored" not in frame.columns


def test_a_depth_snapshot_keeps_the_order_of_its_levels(market, tmp_path):
    depth = ingested(tmp_path, "depth", market / DEPTH, format="binance-depth")

    frame = depth.collect()

    bids = frame.filter(frame["side"] == "b")["price"].to_list()
    assert frame.height == 100
    assert frame["time"].n_unique() == 1
    assert bids == sorted(bids, reverse=True)
    assert frame["previous_update_id"].null_count() == 100
    assert frame["last_update_id"].min() > 2**31
