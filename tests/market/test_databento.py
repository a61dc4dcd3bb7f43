"""CME futures and options as the vendor's decoder writes them: prices of 1e-9, times in nanoseconds."""

from __future__ import annotations

import csv
import datetime as dt
import gzip

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

TRADES = "databento/glbx_esu4_trades_20240701.decoded.csv"
TRADES_FACTS = "databento/glbx_esu4_trades_20240701.dbn.zst"  # the same rows
QUOTES = "databento/glbx_esu4_mbp1_20240701.decoded.csv"
ORDERS = "databento/glbx_esh4_mbo_20231224.decoded.csv.gz"
BARS = "databento/glbx_esu4_nqu4_ohlcv1m_20240701.decoded.csv"
OPTIONS = "databento/glbx_es_options_bbo1m_20240509.decoded.csv"
CHICAGO = {"tz": "America/Chicago", "day_start": "17:00"}


@pytest.fixture(scope="module")
def trade(market, tmp_path_factory):
    return ingested(
        tmp_path_factory.mktemp("cme"), "trade", market / TRADES, format="databento-trades", **CHICAGO
    )


@pytest.fixture(scope="module")
def quote(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("cme"), "quote", market / QUOTES, format="databento-mbp1")


def test_trades_have_the_numbers_of_the_file(market, trade):
    facts = facts_of(market, TRADES_FACTS)

    found = totals(trade, size=col("size").sum(), low=col("price").min(), high=col("price").max())

    assert trade.row_count == facts["rows"]
    assert found == {"size": facts["sum_size"], "low": facts["min_price"], "high": facts["max_price"]}


@pytest.mark.parametrize("column", ["ts_recv", "ts_event"])
def test_trades_keep_both_clocks_to_the_nanosecond(market, trade, column):
    frame = trade.select(column).collect()

    assert times_of(frame, column) == facts_of(market, TRADES_FACTS)[column]


def test_a_session_that_crosses_midnight_is_one_trading_date(trade):
    assert trade.select("date", "ts_recv").collect()["date"].unique().to_list() == [dt.date(2024, 7, 2)]


def test_the_same_session_by_utc_dates_is_two_partitions(market, tmp_path):
    trade = ingested(tmp_path, "trade", market / TRADES, format="databento-trades")

    dates = trade.group_by("date").agg(size=col("size").sum()).collect()

    assert dates["date"].to_list() == [dt.date(2024, 7, 1), dt.date(2024, 7, 2)]
    assert dates["size"].sum() == facts_of(market, TRADES_FACTS)["sum_size"]


@pytest.mark.parametrize("keys", [CHICAGO, {}], ids=["one trading date", "two UTC dates"])
def test_trades_give_the_expected_minute_bars(market, tmp_path, keys):
    trade = ingested(tmp_path, "trade", market / TRADES, format="databento-trades", **keys)
    file = facts_of(market, TRADES_FACTS)["one_minute_bars"]["file"]

    assert_same_bars(minute_bars(trade, time="ts_recv"), expected_bars(market, file, unit="ns"))


def test_the_bars_of_the_trades_are_those_of_the_venue(market, tmp_path, trade):
    venue = ingested(tmp_path, "bar", market / BARS, format="databento-ohlcv")
    prices = ("open", "high", "low", "close", "volume")
    ours = trade.bars("1m").collect()

    theirs = venue.where(instrument_id="118").collect()

    found = {row["ts_recv"]: [int(row[name]) for name in prices] for row in ours.iter_rows(named=True)}
    given = {row["time"]: [int(row[name]) for name in prices] for row in theirs.iter_rows(named=True)}
    equal = [minute for minute in found if found[minute] == given[minute]]
    assert len(equal) == facts_of(market, TRADES_FACTS)["minutes_equal_to_vendor_bars"]


def test_two_interleaved_instruments_are_two_symbols(market, tmp_path):
    bar = ingested(tmp_path, "bar", market / BARS, format="databento-ohlcv")
    expected: dict[str, int] = {}
    with (market / BARS).open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            expected[line["instrument_id"]] = expected.get(line["instrument_id"], 0) + int(line["volume"])

    found = bar.group_by("instrument_id").agg(volume=col("volume").sum()).collect()

    assert dict(zip(found["instrument_id"].cast(str), found["volume"], strict=True)) == expected


def test_quotes_have_the_numbers_of_the_file(market, quote):
    facts = facts_of(market, QUOTES)

    found = totals(
        quote,
        sum_size=col("size").sum(),
        min_size=col("size").min(),
        max_size=col("size").max(),
        sum_bid_sz_00=col("bid_size").sum(),
        min_bid_sz_00=col("bid_size").min(),
        max_bid_sz_00=col("bid_size").max(),
        sum_ask_sz_00=col("ask_size").sum(),
        min_ask_sz_00=col("ask_size").min(),
        max_ask_sz_00=col("ask_size").max(),
    )

    assert quote.row_count == facts["rows"]
    assert found == {name: facts[name] for name in found}


def test_quotes_keep_first_and_last_time(market, quote):
    facts = facts_of(market, QUOTES)

    times = times_of(quote.select("ts_recv").collect(), "ts_recv")

    assert (times["first"], times["last"]) == (int(facts["first_ts_recv"]), int(facts["last_ts_recv"]))


def test_scaled_prices_are_the_nearest_decimals(market, quote):
    with (market / QUOTES).open(encoding="utf-8", newline="") as lines:
        written = [int(line["bid_px_00"]) for line in csv.DictReader(lines)]

    assert quote.collect()["bid"].to_list() == [price / 10**9 for price in written]


def test_each_trade_finds_the_quote_that_it_made(market, tmp_path, quote):
    trade = ingested(tmp_path, "trade", market / TRADES, format="databento-trades", **CHICAGO)

    joined = trade.asof_join(quote, by="instrument_id", on="ts_recv").collect()

    assert joined.height == facts_of(market, TRADES_FACTS)["rows"]
    assert joined["bid"].null_count() == 0
    assert (joined["bid"] <= joined["ask"]).all()


def test_orders_of_one_instant_keep_the_order_of_the_file(market, tmp_path):
    facts = facts_of(market, ORDERS)
    order = ingested(tmp_path, "order", market / ORDERS, format="databento-mbo")

    frame = order.collect()

    assert order.row_count == frame.height == facts["rows"]
    assert frame["ts_recv"].to_physical().unique().to_list() == [int(facts["first_ts_recv"])]
    assert frame["order_id"].n_unique() == facts["distinct_order_ids"]
    assert frame["action"].unique().to_list() == list(facts["actions"])
    with gzip.open(market / ORDERS, "rt", encoding="utf-8", newline="") as lines:
        assert frame["order_id"].to_list() == [int(line["order_id"]) for line in csv.DictReader(lines)]


def test_order_ids_are_unsigned(market, tmp_path):
    order = ingested(tmp_path, "order", market / ORDERS, format="databento-mbo")

    facts = facts_of(market, ORDERS)

    found = totals(
        order,
        sum_size=col("size").sum(),
        min_size=col("size").min(),
        max_size=col("size").max(),
        max_order_id=col("order_id").max(),
    )

    assert found == {name: facts[name] for name in found}


def test_option_quotes_come_in_whole(market, tmp_path):
    quote = ingested(tmp_path, "quote", market / OPTIONS, format="databento-bbo")
    with (market / OPTIONS).open(encoding="utf-8", newline="") as lines:
        written = sorted(
            (line["instrument_id"], int(line["ts_recv"]), int(line["ts_event"]), int(line["sequence"]))
            for line in csv.DictReader(lines)
        )

    frame = quote.collect()

    found = zip(
        frame["instrument_id"].cast(str),
        frame["ts_recv"].to_physical(),
        frame["ts_event"].to_physical(),
        frame["sequence"],
        strict=True,
    )
    assert list(found) == written
