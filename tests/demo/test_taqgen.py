"""The synthetic day: seeded, consistent, and like the day that the study describes."""

import math

import polars as pl
import pytest

from colonnade.demo.taqgen import make_day, write_quote_files, write_trade_file


@pytest.fixture(scope="module")
def day():
    return make_day(trades=200_000, quotes=200_000)


def test_same_seed_gives_same_rows_and_another_seed_others():
    first, again, other = (make_day(trades=500, quotes=900, seed=seed) for seed in (1, 1, 2))

    assert first.trade.equals(again.trade)
    assert first.quote.equals(again.quote)
    assert not first.trade.equals(other.trade)


def test_day_has_the_rows_asked_for(day):
    assert day.trade.height == 200_000
    assert day.quote.height == 200_000


@pytest.mark.parametrize("table", ["trade", "quote"])
def test_rows_are_parted_by_symbol_and_ascend_in_time(day, table):
    keys = getattr(day, table).select("Symbol", "Time")

    assert keys.equals(keys.sort("Symbol", "Time", maintain_order=True))


def test_every_traded_symbol_is_quoted(day):
    assert set(day.trade["Symbol"]) == set(day.quote["Symbol"])


def test_trades_happen_near_the_quotes_that_they_see(day):
    joined = day.trade.join_asof(day.quote, on="Time", by="Symbol", check_sortedness=False).drop_nulls(
        "Bid_Price"
    )
    middle = (pl.col("Bid_Price") + pl.col("Offer_Price")) / 2

    distance = joined.select(((pl.col("TradePrice") - middle) / middle).abs().median()).item()

    assert distance < 0.002


@pytest.mark.parametrize(
    ("table", "column", "changes_percent", "entropy_bits"),
    [  # of the study's day: rows that differ from the one before, entropy of the values
        ("trade", "Exchange", 52.1, 3.4),
        ("trade", "SaleCondition", 45.3, 3.1),
        ("trade", "TradeVolume", 80.0, 5.5),
        ("trade", "TradeReportingFacility", 11.2, 0.5),
        ("trade", "TradeThroughExemptIndicator", 22.6, 0.9),
        ("quote", "Exchange", 75.7, 3.7),
        ("quote", "Bid_Size", 61.8, 3.9),
        ("quote", "National_BBO_Ind", 29.5, 1.7),
        ("quote", "Retail_Interest_Indicator", 15.8, 0.6),
    ],
)
def test_column_changes_and_spreads_as_in_the_study(day, table, column, changes_percent, entropy_bits):
    values = getattr(day, table)[column]
    shares = values.value_counts()["count"] / len(values)

    changes = 100 * values.ne_missing(values.shift()).mean()
    entropy = -sum(share * math.log2(share) for share in shares)

    assert changes == pytest.approx(changes_percent, rel=0.2)
    assert entropy == pytest.approx(entropy_bits, abs=0.6)


def test_prices_are_decimals_of_the_tick_grid(day):
    for column, digits in (("TradePrice", 4), ("Bid_Price", 2), ("Offer_Price", 2)):
        values = day.trade[column] if column == "TradePrice" else day.quote[column]
        assert (values == values.round(digits)).all()
        assert (values > 0).all()


def test_trade_file_is_what_nyse_writes(tmp_path):
    day = make_day(trades=300, quotes=300)

    path = write_trade_file(day.trade, tmp_path)

    lines = path.read_text().splitlines()
    assert path.name == "EQY_US_ALL_TRADE_20240102"
    assert lines[0].startswith("Time|Exchange|Symbol|Sale Condition|Trade Volume|Trade Price|")
    assert {line.count("|") for line in lines} == {14}
    assert lines[-1].startswith("END|20240102|300|")
    assert len(lines) == 302


def test_clock_digits_keep_their_leading_zero(tmp_path):
    day = make_day(trades=300, quotes=300)

    path = write_trade_file(day.trade, tmp_path)

    first = path.read_text().splitlines()[1].split("|")[0]
    assert len(first) == 15
    assert first.startswith("09")


def test_quote_files_are_one_a_letter_and_hold_every_row(tmp_path):
    day = make_day(trades=300, quotes=3000)

    paths = write_quote_files(day.quote, tmp_path)

    assert [path.name for path in paths[:2]] == [
        "SPLITS_US_ALL_BBO_A_20240102",
        "SPLITS_US_ALL_BBO_B_20240102",
    ]
    assert len(paths) == 26
    assert sum(len(path.read_text().splitlines()) - 2 for path in paths) == 3000
