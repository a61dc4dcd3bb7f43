"""A fragment of NYSE Daily TAQ in its pipe form, whose END line counts the rows of the whole file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import colonnade as cn
from colonnade.errors import SourceError
from market.real_files import facts_of, ingested

FILE = "taq/EQY_US_ALL_TRADE_20161024.fragment.psv"


@pytest.fixture(scope="module")
def trade(market, tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("pipe"), "trade", market / FILE, format="taq-trade-extract")


@pytest.fixture
def whole_file(market, tmp_path) -> Path:
    """The same file with the count that is true of it."""
    text = (market / FILE).read_text("ascii").replace("27052068", "3")
    file = tmp_path / "EQY_US_ALL_TRADE_20161024.psv"
    file.write_text(text, "ascii")
    return file


def test_a_trailer_that_counts_other_rows_is_refused_with_both_counts(market, tmp_path):
    facts = facts_of(market, FILE)
    db = cn.create(tmp_path / "db")

    with pytest.raises(SourceError) as caught:
        db.ingest("trade", market / FILE, format="nyse-taq")

    message = str(caught.value).replace(",", "")
    assert str(facts["trailer_count"]) in message
    assert f" {facts['rows']} " in f" {message} "
    assert "trade" not in db.tables


def test_an_extract_is_taken_when_its_description_does_not_check_the_trailer(market, trade):
    facts = facts_of(market, FILE)

    frame = trade.collect()

    assert frame.height == facts["rows"]
    assert frame["size"].sum() == facts["sum_trade_volume"]
    assert frame["price"].min() == float(facts["min_price"])
    assert frame["price"].max() == float(facts["max_price"])


def test_an_extract_is_taken_when_the_caller_allows_incomplete_files(market, tmp_path):
    trade = ingested(tmp_path, "trade", market / FILE, format="nyse-taq", allow_incomplete=True)

    assert trade.row_count == facts_of(market, FILE)["rows"]


def test_blanks_of_sale_conditions_are_kept(market, trade):
    conditions = trade.collect()["cond"].cast(str).to_list()

    assert conditions == facts_of(market, FILE)["sale_conditions"]


def test_empty_fields_between_pipes_are_null(market, trade):
    facts = facts_of(market, FILE)
    frame = trade.collect()

    assert frame["id"].null_count() == facts["trade_id_nulls"]
    assert frame["trf"].null_count() == facts["trf_nulls"]
    assert frame["trf_time"].null_count() == facts["rows"]


def test_times_keep_their_leading_zero_and_nanoseconds(market, trade):
    facts = facts_of(market, FILE)

    times = trade.collect()["time"].to_physical().to_list()

    def nanoseconds(text: str) -> int:
        hours, minutes, seconds = text.split(":")
        whole, fraction = seconds.split(".")
        return ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 10**9 + int(fraction)

    assert times[0] == nanoseconds(facts["first_time"])
    assert times[-1] == nanoseconds(facts["last_time"])


def test_the_date_comes_from_the_file_name(trade):
    assert trade.select("date", "time").collect()["date"].unique().to_list() == [dt.date(2016, 10, 24)]


def test_the_shipped_format_takes_a_whole_file(whole_file, tmp_path):
    trade = ingested(tmp_path, "trade", whole_file, format="nyse-taq")

    assert trade.row_count == 3
    assert trade.collect()["sym"].cast(str).unique().to_list() == ["A"]


def test_a_file_cut_short_of_its_end_line_is_refused(whole_file, tmp_path):
    lines = whole_file.read_text("ascii").splitlines(keepends=True)
    whole_file.write_text("".join(lines[:-1]), "ascii")
    db = cn.create(tmp_path / "db")

    with pytest.raises(SourceError):
        db.ingest("trade", whole_file, format="nyse-taq")


def test_a_trailer_of_another_date_is_refused(whole_file, tmp_path):
    whole_file.write_text(whole_file.read_text("ascii").replace("END|20161024", "END|20161025"), "ascii")
    db = cn.create(tmp_path / "db")

    with pytest.raises(SourceError, match="2016"):
        db.ingest("trade", whole_file, format="nyse-taq")
