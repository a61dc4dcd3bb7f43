"""What `auto` makes of the real trades and quotes of one stock on one day, in percent of plain bytes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import colonnade as cn

WIDTHS = {
    "DT": 8,
    "EX": 1,
    "BID": 8,
    "BIDSIZ": 4,
    "OFR": 8,
    "OFRSIZ": 4,
    "COND": 4,
    "SIZE": 4,
    "PRICE": 8,
    "CORR": 2,
}
TYPES = {"BIDSIZ": pl.Int32, "OFRSIZ": pl.Int32, "SIZE": pl.Int32, "CORR": pl.Int16}


def day(market: Path, kind: str) -> pl.DataFrame:
    """Read a file as a table of its day; the one symbol left out."""
    frame = pl.read_csv(market / f"taq/taq_{kind}_raw_XXX_2018-01-02.csv.gz").drop("SYMBOL")
    types = {name: dtype for name, dtype in TYPES.items() if name in frame.columns}
    return frame.cast(types).with_columns(pl.col("DT").str.to_datetime(time_unit="ns"))


@pytest.fixture(scope="module")
def ratio(market, tmp_path_factory):
    """Give a function that ingests a day of quotes or trades, and gives its size."""

    def ratio_of(kind: str, **settings: str) -> float:
        frame = day(market, kind)
        database = cn.create(tmp_path_factory.mktemp(kind) / "db")
        database.ingest(kind, frame, date="2018-01-02", **settings)
        plain = frame.height * sum(WIDTHS[name] for name in frame.columns)
        stored = database[kind].where().collect()
        assert stored.cast({pl.Categorical: pl.String}).equals(frame)
        return 100 * database[kind].info()["stored_bytes"].sum() / plain

    return ratio_of


@pytest.mark.parametrize(("kind", "most"), [("quotes", 6.6), ("trades", 10.3)])
def test_smallest_is_half_of_zstd_10(ratio, kind, most):
    smallest = ratio(kind, goal="smallest")

    assert smallest <= most
    assert smallest <= 0.55 * ratio(kind, compression="zstd:10")


@pytest.mark.parametrize("kind", ["quotes", "trades"])
def test_balanced_is_smaller_than_zstd_10_and_two_fifths_of_lz4(ratio, kind):
    balanced = ratio(kind, goal="balanced")

    assert balanced < ratio(kind, compression="zstd:10")
    assert balanced < 0.4 * ratio(kind, compression="lz4:1")
