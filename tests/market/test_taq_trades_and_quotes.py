"""Raw TAQ trades and quotes of one stock and day, from CSV files as WRDS delivers them."""

from __future__ import annotations

import pytest

import colonnade as cn
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

TRADES = "taq/taq_trades_raw_XXX_2018-01-02.csv.gz"
QUOTES = "taq/taq_quotes_raw_XXX_2018-01-02.csv.gz"
ALL, BY_EXCHANGE = 0, 1


@pytest.fixture(scope="module")
def trade(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("taq"), "trade", market / TRADES, format="wrds-trade")


@pytest.fixture(scope="module")
def quote(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("taq"), "quote", market / QUOTES, format="wrds-quote")


def test_trades_have_the_numbers_of_the_file(market, trade):
    facts = facts_of(market, TRADES)

    found = totals(
        trade,
        size=col("size").sum(),
        low=col("price").min(),
        high=col("price").max(),
        conditions=col("cond").count(),
    )

    assert trade.row_count == facts["rows"]
    assert found["size"] == facts["sum_SIZE"]
    assert (found["low"], found["high"]) == (facts["min_PRICE"], facts["max_PRICE"])
    assert facts["rows"] - found["conditions"] == facts["empty_COND"]


def test_trades_keep_order_and_microseconds(market, trade):
    frame = trade.select("time").collect()

    assert times_of(frame, per_unit=1_000) == facts_of(market, TRADES)["time_us_since_1970_wall_clock_as_utc"]


def test_trades_are_counted_by_exchange(market, trade):
    counts = trade.group_by("exchange").agg(rows=col("price").count()).collect()

    assert (
        dict(zip(counts["exchange"].cast(str), counts["rows"], strict=True))
        == facts_of(market, TRADES)["exchanges"]
    )


def test_trades_are_counted_by_correction(market, trade):
    counts = trade.group_by("correction").agg(rows=col("price").count()).collect()

    found = {str(code): rows for code, rows in counts.iter_rows()}
    assert found == facts_of(market, TRADES)["CORR_values"]


def test_trades_give_the_expected_minute_bars(market, trade):
    expected = expected_bars(market, facts_of(market, TRADES)["one_minute_bars"]["file"], unit="us")

    assert_same_bars(minute_bars(trade, time="time"), expected)


def test_quotes_have_the_numbers_of_the_file(market, quote):
    facts = facts_of(market, QUOTES)

    found = totals(
        quote,
        bid_size=col("bid_size").sum(),
        ask_size=col("ask_size").sum(),
        low=col("bid").min(),
        high=col("bid").max(),
    )

    assert quote.row_count == facts["rows"]
    assert (found["bid_size"], found["ask_size"]) == (facts["sum_BIDSIZ"], facts["sum_OFRSIZ"])
    assert (found["low"], found["high"]) == (facts["min_BID"], facts["max_BID"])


def test_quotes_keep_order_and_microseconds(market, quote):
    frame = quote.select("time").collect()

    assert times_of(frame, per_unit=1_000) == facts_of(market, QUOTES)["time_us_since_1970_wall_clock_as_utc"]


@pytest.mark.parametrize(
    ("condition", "fact"),
    [
        (col("bid") == 0, "zero_BID"),
        (col("ask") == 0, "zero_OFR"),
        ((col("bid") > col("ask")) & (col("bid") > 0) & (col("ask") > 0), "crossed_rows"),
    ],
)
def test_one_sided_and_crossed_quotes_are_found(market, quote, condition, fact):
    assert quote.where(condition).select("time").collect().height == facts_of(market, QUOTES)[fact]


def test_each_trade_finds_the_last_stored_quote(market, trade, quote):
    facts = facts_of(market, TRADES)["asof"][ALL]

    joined = trade.asof_join(quote, by="sym", on="time").collect()

    assert joined["bid"].count() == facts["matched"]
    assert joined["bid"].null_count() == facts["unmatched"]
    assert joined["bid"].sum() == pytest.approx(facts["sum_BID"], rel=1e-9)
    assert joined["ask"].sum() == pytest.approx(facts["sum_OFR"], rel=1e-9)


def test_each_trade_finds_the_last_stored_quote_of_its_exchange(market, tmp_path):
    facts = facts_of(market, TRADES)["asof"][BY_EXCHANGE]
    trade = ingested(tmp_path, "trade", market / TRADES, format="wrds-trade", part_by="exchange")
    quote = ingested(tmp_path, "quote", market / QUOTES, format="wrds-quote", part_by="exchange")

    joined = trade.asof_join(quote, by="exchange", on="time").collect()

    assert joined["bid"].count() == facts["matched"]
    assert joined["bid"].null_count() == facts["unmatched"]
    assert joined["bid"].sum() == pytest.approx(facts["sum_BID"], rel=1e-9)
    assert joined["ask"].sum() == pytest.approx(facts["sum_OFR"], rel=1e-9)


def test_a_frame_of_trades_joins_the_stored_quotes(market, trade, quote):
    facts = facts_of(market, TRADES)["asof"][ALL]

    joined = cn.asof_join(trade.collect(), quote, by="sym", on="time")

    assert joined["bid"].sum() == pytest.approx(facts["sum_BID"], rel=1e-9)
    assert joined["ask"].sum() == pytest.approx(facts["sum_OFR"], rel=1e-9)
