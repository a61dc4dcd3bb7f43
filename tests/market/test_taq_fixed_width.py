"""NYSE Daily TAQ quotes of the fixed-width era, from the zip they come in."""

from __future__ import annotations

import datetime as dt
import zipfile

import pytest

import colonnade as cn
from colonnade import col
from colonnade.errors import SourceError
from market.real_files import DESCRIPTIONS, facts_of, ingested, totals

FILE = "taq/nyse_taq_bbo_20140206_fixedwidth.zip"


@pytest.fixture(scope="module")
def quote(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("bbo"), "quote", market / FILE, format="taq-bbo-fixed")


def test_quotes_have_the_numbers_of_the_file(market, quote):
    facts = facts_of(market, FILE)

    found = totals(
        quote,
        bid_size=col("bid_size").sum(),
        ask_size=col("ask_size").sum(),
        sequence=col("sequence").sum(),
        min_bid=col("bid").min(),
        max_bid=col("bid").max(),
        min_ask=col("ask").min(),
        max_ask=col("ask").max(),
    )

    assert quote.row_count == facts["rows"]
    assert found["bid_size"] == facts["sum_bid_size"]
    assert found["ask_size"] == facts["sum_ask_size"]
    assert found["sequence"] == facts["sum_sequence_number"]
    assert found["min_bid"] == facts["min_bid_price_1e-4"] / 10_000
    assert found["max_bid"] == facts["max_bid_price_1e-4"] / 10_000
    assert found["min_ask"] == facts["min_ask_price_1e-4"] / 10_000
    assert found["max_ask"] == facts["max_ask_price_1e-4"] / 10_000


def test_times_are_read_from_nine_digits(market, quote):
    facts = facts_of(market, FILE)

    found = totals(quote, first=col("time").min(), last=col("time").max())

    assert f"{found['first']:%H%M%S%f}"[:9] == facts["min_time"]
    assert f"{found['last']:%H%M%S%f}"[:9] == facts["max_time"]


def test_root_and_suffix_make_the_symbol(market, quote):
    symbols = quote.group_by("root", "suffix").agg(rows=col("bid").count()).collect()

    assert symbols.height == facts_of(market, FILE)["distinct_symbols"]
    assert symbols["rows"].sum() == facts_of(market, FILE)["rows"]


def test_the_date_comes_from_the_first_line(quote):
    assert quote.select("date", "time").collect()["date"].unique().to_list() == [dt.date(2014, 2, 6)]


def test_a_record_count_that_does_not_match_is_refused(market, tmp_path):
    with zipfile.ZipFile(market / FILE) as archive:
        lines = archive.read("small_test_data_public").split(b"\r\n")
    cut = tmp_path / "cut_20140206.txt"
    cut.write_bytes(b"\r\n".join(lines[:-10]) + b"\r\n")
    db = cn.create(tmp_path / "db")

    with pytest.raises(SourceError, match=r"9,?994") as caught:
        db.ingest("quote", cut, format=DESCRIPTIONS / "taq-bbo-fixed.toml")

    assert "9985" in str(caught.value).replace(",", "")
    assert "quote" not in db.tables
