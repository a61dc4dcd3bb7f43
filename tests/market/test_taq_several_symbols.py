"""Trades of three symbols with times as nanoseconds since 1970, far above 2^53."""

from __future__ import annotations

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

FILE = "taq/multi_trades_ETF_AAA_BBB_20140917.csv.gz"


@pytest.fixture(scope="module")
def trade(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("multi"), "trade", market / FILE, format="multi-trade")


def test_trades_have_the_numbers_of_the_file(market, trade):
    facts = facts_of(market, FILE)

    found = totals(trade, size=col("size").sum(), low=col("price").min(), high=col("price").max())

    assert trade.row_count == facts["rows"]
    assert found == {"size": facts["sum_SIZE"], "low": facts["min_PRICE"], "high": facts["max_PRICE"]}


@pytest.mark.parametrize("symbol", ["AAA", "BBB", "ETF"])
def test_each_symbol_has_its_own_numbers(market, trade, symbol):
    facts = facts_of(market, FILE)["by_symbol"][symbol]
    by_symbol = trade.group_by("sym").agg(
        rows=col("price").count(),
        sum_size=col("size").sum(),
        min_price=col("price").min(),
        max_price=col("price").max(),
        first_ns=col("time").first(),
        last_ns=col("time").last(),
    )

    found = by_symbol.collect()

    row = found.filter(found["sym"].cast(str) == symbol)
    times = {name: row[name].to_physical().item() for name in ("first_ns", "last_ns")}
    assert {**row.row(0, named=True), **times, "sym": None} == {**facts, "sym": None}


def test_nanoseconds_come_back_digit_for_digit(market, trade):
    facts = facts_of(market, FILE)["time_ns"]

    times = sorted(trade.select("time").collect()["time"].to_physical().to_list())

    assert (times[0], times[-1], len(set(times))) == (facts["first"], facts["last"], facts["distinct"])


def test_times_in_file_order_are_those_of_the_file(market, tmp_path):
    facts = facts_of(market, FILE)["time_ns"]
    trade = ingested(tmp_path, "unparted", market / FILE, format="multi-trade-unparted")

    assert times_of(trade.select("time").collect()) == facts


def test_one_symbol_gives_the_expected_minute_bars(market, trade):
    expected = expected_bars(market, facts_of(market, FILE)["one_minute_bars"]["file"], unit="ns")

    assert_same_bars(minute_bars(trade.where(sym="AAA"), time="time"), expected)
