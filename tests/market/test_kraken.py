"""Kraken's trade dump: second, price, volume, no header."""

from __future__ import annotations

import pytest

from colonnade import col
from market.real_files import facts_of, ingested, totals

FILE = "kraken/BCHEUR_trades.csv"


@pytest.fixture(scope="module")
def trade(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("kraken"), "trade", market / FILE, format="kraken-trade")


def test_trades_have_the_numbers_of_the_file(market, trade):
    facts = facts_of(market, FILE)

    found = totals(
        trade,
        sum_price=col("price").sum(),
        min_price=col("price").min(),
        max_price=col("price").max(),
        sum_volume=col("size").sum(),
        min_volume=col("size").min(),
        max_volume=col("size").max(),
    )

    assert trade.row_count == facts["rows"]
    assert found == pytest.approx({name: facts[name] for name in found}, rel=1e-9)


def test_seconds_become_times(market, trade):
    facts = facts_of(market, FILE)

    seconds = trade.select("time").collect()["time"].to_physical() // 1_000_000_000

    assert (seconds[0], seconds[-1]) == (int(facts["first_t"]), int(facts["last_t"]))


def test_the_symbol_comes_from_the_file_name(trade):
    assert trade.collect()["sym"].cast(str).unique().to_list() == ["BCHEUR"]
