"""Troubles of real files beside those of exchanges' ticks: order, sign, age, alphabet."""

from __future__ import annotations

import datetime as dt

import pytest

import colonnade as cn
from colonnade import col
from market.real_files import facts_of, ingested, times_of, totals

ORDERS = "bitstamp/bitstamp_order_events_20150501.csv.xz"
OIL = "eia/wti_daily.csv"
SHILLER = "shiller/sp500_monthly_1871.csv"
FUNDS = "symbols/funds_symbols.csv.gz"
UNICODE = "symbols/binance_usdm_unicode_symbols.csv"


def test_rows_out_of_order_are_sorted_and_stay_in_order_among_equals(market, tmp_path):
    facts = facts_of(market, ORDERS)
    orders = ingested(tmp_path, "orders", market / ORDERS, format="bitstamp-orders")

    frame = orders.collect()

    assert frame.height == facts["rows"]
    assert frame["price"].sum() == pytest.approx(facts["sum_price"], rel=1e-9)
    assert frame["id"].max() == facts["max_id"]
    assert frame["id"].n_unique() == facts["distinct_ids"]
    for _, rows in frame.with_columns(date=frame["time"].dt.date()).group_by("direction", "date"):
        times = rows["time"].to_physical().to_list()
        received = rows["received"].to_physical().to_list()
        assert times == sorted(times)
        assert all(
            before <= after
            for time, following, before, after in zip(times, times[1:], received, received[1:], strict=False)
            if time == following
        )


def test_late_rows_go_to_the_date_of_their_time(market, tmp_path):
    facts = facts_of(market, ORDERS)
    orders = ingested(tmp_path, "orders", market / ORDERS, format="bitstamp-orders")

    dates = orders.group_by("date").agg(rows=col("price").count(), first=col("time").min()).collect()

    assert dates["rows"].sum() == facts["rows"]
    assert dates["first"].to_physical().min() == facts["exchange_timestamp_ms"]["min"] * 1_000_000
    assert dates["date"][0] == dt.date(2015, 4, 3)


def test_actions_are_counted(market, tmp_path):
    orders = ingested(tmp_path, "orders", market / ORDERS, format="bitstamp-orders")

    counts = orders.group_by("action").agg(rows=col("price").count()).collect()

    assert (
        dict(zip(counts["action"].cast(str), counts["rows"], strict=True))
        == facts_of(market, ORDERS)["actions"]
    )


def test_a_negative_price_is_a_price(market, tmp_path):
    facts = facts_of(market, OIL)
    oil = ingested(tmp_path, "oil", market / OIL, format="wti-daily", date="2026-08-18")

    found = totals(oil, total=col("price").sum(), low=col("price").min(), high=col("price").max())
    negative = oil.where(col("price") < 0).collect()

    assert oil.row_count == facts["rows"]
    assert found["total"] == pytest.approx(facts["sum_Price"], rel=1e-9)
    assert (found["low"], found["high"]) == (facts["min_Price"], facts["max_Price"])
    assert negative.height == facts["negative_rows"]
    assert negative["day"].to_list() == [dt.date(2020, 4, 20)]
    assert negative["price"].to_list() == [facts["price_on_2020_04_20"]]


def test_dates_before_1970_are_dates(market, tmp_path):
    facts = facts_of(market, SHILLER)
    index = ingested(tmp_path, "index", market / SHILLER, format="shiller-monthly", date="2026-06-01")

    found = totals(index, first=col("day").min(), last=col("day").max(), total=col("SP500").sum())

    assert index.row_count == facts["rows"]
    assert found["first"] == dt.date.fromisoformat(facts["first_Date"])
    assert found["last"] == dt.date.fromisoformat(facts["last_Date"])
    assert found["total"] == pytest.approx(facts["sum_SP500"], rel=1e-9)


@pytest.mark.long
def test_dates_before_1970_are_partitions(market, tmp_path):
    index = ingested(tmp_path, "index", market / SHILLER, format="shiller-monthly", date="day")

    early = index.where(date="1871-02-01").collect()

    assert len(index.partitions) == index.row_count == facts_of(market, SHILLER)["rows"]
    assert early["SP500"].to_list() == [4.5]
    assert index.where(date=cn.between("1871-01-01", "1969-12-31")).collect().height == 1_188


def test_more_than_32767_symbols_are_kept_apart(market, tmp_path):
    facts = facts_of(market, FUNDS)
    funds = ingested(tmp_path, "funds", market / FUNDS, format="funds", date="2024-01-02")

    frame = funds.collect()

    symbols = frame["sym"].cast(str)
    assert symbols.n_unique() == facts["distinct_symbols"] == frame.height
    assert max(map(len, symbols)) == facts["max_symbol_chars"]
    assert {name: frame[name].null_count() for name in facts["nulls"]} == facts["nulls"]
    assert symbols.to_list() == sorted(symbols, key=lambda symbol: symbol.encode())
    assert frame["name"].n_unique() == facts["distinct_names"] + 1  # null is one more
    assert sum(not name.isascii() for name in frame["name"].drop_nulls()) == facts["non_ascii_names"]


def test_symbols_in_chinese_are_found(market, tmp_path):
    volume = ingested(tmp_path, "volume", market / UNICODE, format="unicode-symbols", date="2026-01-02")

    assert volume.where(sym="龙虾USDT").collect()["volume"].to_list() == [57_304_070]


def test_order_of_arrival_is_kept_without_keys(market, tmp_path):
    facts = facts_of(market, ORDERS)
    orders = ingested(
        tmp_path, "orders", market / ORDERS, format="bitstamp-orders-unsorted", date="2015-05-01"
    )

    assert times_of(orders.collect(), "time", per_unit=1_000_000) == facts["exchange_timestamp_ms"]
