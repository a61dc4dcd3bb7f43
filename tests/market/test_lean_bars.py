"""LEAN bar files of equities, crypto, futures and an index: minutes, seconds and days."""

from __future__ import annotations

import datetime as dt

import pytest

from colonnade import col
from market.real_files import facts_of, ingested, times_of, totals

MS = 1_000_000
SCALE = 10_000  # prices of equities are multiplied by it

# file, second column, what it is multiplied by, last column
INTRADAY = [
    ("lean/crypto_bybit_minute_btcusdt_20221213_quote.zip", "bid_open", 1, "ask_size"),
    ("lean/crypto_coinbase_second_btcusd_20161008_trade.zip", "open", 1, "volume"),
    ("lean/cryptofuture_dydx_minute_btcusd_20260101_quote.zip", "bid_open", 1, "ask_size"),
    ("lean/equity_india_minute_yesbank_20190709_trade.zip", "open", SCALE, "volume"),
    ("lean/index_ose_minute_n225_20210114_trade.zip", "open", 1, "volume"),
]
DAILY = [
    ("lean/equity_usa_daily_aapl.zip", dt.date(1998, 1, 2)),
    ("lean/equity_usa_daily_uso.zip", dt.date(1998, 1, 2)),
]
FUTURES = "lean/future_eurex_minute_fesx_20240603_trade.zip"


@pytest.mark.parametrize(("file", "second", "scale", "last"), INTRADAY)
def test_intraday_bars_have_the_numbers_of_the_file(market, tmp_path, file, second, scale, last):
    facts = facts_of(market, file)
    bar = ingested(tmp_path, "bar", market / file, format="lean")

    found = totals(bar, second=col(second).sum(), last=col(last).sum())

    assert bar.row_count == facts["rows"]
    assert found["second"] == pytest.approx(facts["sum_column_2"] / scale, rel=1e-9)
    assert found["last"] == pytest.approx(facts["sum_last_numeric"], rel=1e-9)
    assert times_of(bar.select("time").collect(), per_unit=MS) == facts["time_ms"]


@pytest.mark.parametrize(("file", "first"), DAILY)
def test_daily_bars_of_many_years_have_the_numbers_of_the_file(market, tmp_path, file, first):
    facts = facts_of(market, file)
    bar = ingested(tmp_path, "bar", market / file, format="lean", date="2021-03-31")

    found = totals(bar, open=col("open").sum(), volume=col("volume").sum(), first=col("time").min())

    assert bar.row_count == facts["rows"]
    assert found["open"] == pytest.approx(facts["sum_column_2"] / SCALE, rel=1e-9)
    assert found["volume"] == facts["sum_last_numeric"]
    assert found["first"].date() == first


@pytest.mark.long
def test_daily_bars_may_lie_in_a_partition_for_each_day(market, tmp_path):
    file, first = DAILY[0]
    bar = ingested(tmp_path, "bar", market / file, format="lean")

    assert bar.row_count == len(bar.partitions) == facts_of(market, file)["rows"]
    assert bar.where(date=first).collect()["volume"].to_list() == [6_315_000]


def test_each_contract_of_a_future_is_a_symbol(market, tmp_path):
    facts = facts_of(market, FUTURES)
    bar = ingested(tmp_path, "bar", market / FUTURES, format="lean")

    contracts = bar.group_by("sym").agg(rows=col("open").count()).collect()

    assert contracts["sym"].cast(str).to_list() == ["FESX_202406", "FESX_202409"]
    assert (contracts.height, contracts["rows"].sum()) == (facts["members"], facts["rows"])
