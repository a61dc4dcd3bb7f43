"""Sources whose columns change from one day to the next, as those of NYSE TAQ did."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import colonnade as cn
from colonnade import col

FIRST, SECOND = dt.date(2017, 12, 29), dt.date(2022, 1, 3)
KEYS = {"part_by": "sym", "sort_by": "time"}


@pytest.fixture
def database(tmp_path: Path) -> cn.Database:
    return cn.create(tmp_path / "db")


def trades(day: dt.date, volume: list[int], dtype: pl.DataType) -> pl.DataFrame:
    start = dt.datetime.combine(day, dt.time(9, 30))
    return pl.DataFrame(
        {
            "sym": ["A"] * len(volume),
            "time": [start + dt.timedelta(seconds=second) for second in range(len(volume))],
            "volume": pl.Series(volume, dtype=dtype),
        }
    )


def files_of(table: cn.Table) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in table._ref.path.rglob("*.col")}


# ---- volume: short to int in 2018


def test_volumes_become_ints_where_the_caller_widens_and_no_file_is_written_anew(database: cn.Database):
    database.ingest("trade", trades(FIRST, [100, 32_767], pl.Int16), **KEYS)
    trade = database["trade"]
    before = files_of(trade)
    with pytest.raises(cn.RowError, match="--widen"):
        database.ingest("trade", trades(SECOND, [100, 40_000], pl.Int32))
    database.ingest("trade", trades(SECOND, [100, 40_000], pl.Int32), widen=True)

    assert str(trade.schema.columns["volume"]) == "int32"
    assert before.items() < files_of(trade).items()
    assert trade.select("volume").collect()["volume"].to_list() == [100, 32_767, 100, 40_000]
    assert trade.group_by().agg(v=col("volume").sum()).collect()["v"].to_list() == [72_967]
    assert trade.where(col("volume") > 32_766).select("volume").collect().height == 2
    assert database.verify().is_empty()


def test_wider_values_that_fit_go_in_without_a_change_of_the_type(database: cn.Database):
    database.ingest("trade", trades(FIRST, [100], pl.Int16), **KEYS)
    database.ingest("trade", trades(SECOND, [200], pl.Int64))

    assert str(database["trade"].schema.columns["volume"]) == "int16"


def text_file(folder: Path, day: dt.date, volume: int) -> Path:
    path = folder / f"{day}.csv"
    path.write_text(f"sym,time,volume\nA,{day} 09:30:00,{volume}\n")
    return path


@pytest.mark.parametrize(
    ("volume", "types", "expected"),
    [(40_000, {"volume": "int32"}, "int32"), (40_000, None, "int64"), (30_000, None, "int16")],
)
def test_a_text_file_widens_by_its_described_type_or_by_values_that_do_not_fit(
    database: cn.Database, tmp_path: Path, volume: int, types: dict[str, str] | None, expected: str
):
    database.ingest("trade", text_file(tmp_path, FIRST, 100), types={"volume": "int16"}, **KEYS)
    if volume == 40_000:
        with pytest.raises(cn.RowError, match="40000"):
            database.ingest("trade", text_file(tmp_path, SECOND, volume))
    database.ingest("trade", text_file(tmp_path, SECOND, volume), types=types, widen=True)

    assert str(database["trade"].schema.columns["volume"]) == expected
    assert database["trade"].select("volume").collect()["volume"].to_list() == [100, volume]


def test_a_type_that_is_not_wider_is_refused_and_the_table_stays(database: cn.Database):
    database.ingest("trade", trades(FIRST, [100], pl.Int32), **KEYS)
    floats = trades(SECOND, [1], pl.Int32).with_columns(volume=pl.lit(1.5))

    with pytest.raises(cn.RowError, match=r"1\.5"):
        database.ingest("trade", floats, widen=True)
    assert database["trade"].version == 1


def test_another_zone_is_no_wider_type(database: cn.Database):
    frame = trades(FIRST, [1], pl.Int16).with_columns(pl.col("time").dt.replace_time_zone("UTC"))
    database.ingest("trade", frame, **KEYS)
    elsewhere = trades(SECOND, [1], pl.Int32).with_columns(
        pl.col("time").dt.replace_time_zone("America/New_York")
    )
    database.ingest("trade", elsewhere, widen=True)

    assert database["trade"].schema.columns["time"].zone == "UTC"


# ---- quote prices: real to float in 2022


def test_quote_prices_become_floats_and_older_ones_are_the_same_numbers(database: cn.Database):
    old = pl.Series([185.64, 185.65, None, np.nan], dtype=pl.Float32)
    new = pl.Series([185.64, 185.65, None, np.nan], dtype=pl.Float64)
    quotes = trades(FIRST, [1, 2, 3, 4], pl.Int16).rename({"volume": "size"})
    database.ingest("quote", quotes.with_columns(bid=old), **KEYS)
    later = quotes.with_columns(pl.col("time") + pl.duration(days=1_466), bid=new)
    with pytest.raises(cn.RowError, match="--widen"):
        database.ingest("quote", later)
    database.ingest("quote", later, widen=True)
    quote = database["quote"]

    found = quote.select("bid").collect()["bid"]
    assert found.dtype == pl.Float64
    assert found.equals(pl.concat([old.cast(pl.Float64), new]).alias("bid"), null_equal=True)
    exact = float(np.float32(185.64))
    assert quote.where(bid=exact).collect().height == 1
    assert quote.where(bid=185.64).collect().height == 1
    assert quote.group_by("date").agg(low=col("bid").min()).collect()["low"].to_list() == [exact, 185.64]


# ---- NBBO: 28 to 30 columns

FLAGS = [
    "Quote_Condition", "Sequence_Number", "National_BBO_Ind", "FINRA_BBO_Indicator",
    "FINRA_ADF_MPID_Indicator", "Quote_Cancel_Correction", "Source_Of_Quote", "NBBO_Quote_Condition",
    "Best_Bid_Exchange", "Best_Bid_Price", "Best_Bid_Size", "Best_Bid_FINRA_Market_Maker_ID",
    "Best_Offer_Exchange", "Best_Offer_Price", "Best_Offer_Size", "Best_Offer_FINRA_Market_Maker_ID",
    "LULD_Indicator", "LULD_NBBO_Indicator", "SIP_Generated_Message_Identifier", "Participant_Timestamp",
    "FINRA_ADF_Timestamp",
]  # fmt: skip
NBBO_28 = ["Time", "Exchange", "Symbol", "Bid_Price", "Bid_Size", "Offer_Price", "Offer_Size", *FLAGS]
NEW = ["Best_Bid_Quote_Condition", "Best_Offer_Quote_Condition", "Security_Status_Indicator"]
NBBO_30 = [*(name for name in NBBO_28 if name != "NBBO_Quote_Condition"), *NEW]
DESCRIPTION = """
delimiter = "|"
quote = ""
file = '(?P<date>\\d{8})'
columns = [
    { name = "Time", layout = "HHMMSSnnnnnnnnn" },
    { name = "Participant_Timestamp", layout = "HHMMSSnnnnnnnnn" },
    { name = "FINRA_ADF_Timestamp", layout = "HHMMSSnnnnnnnnn" },
]
[table]
part_by = "Symbol"
sort_by = "Time"
"""


def nbbo(folder: Path, day: dt.date, names: list[str]) -> Path:
    values = {
        "Time": "093000123456789", "Exchange": "N", "Symbol": "IBM", "Bid_Price": "185.64", "Bid_Size": "3",
        "Offer_Price": "185.7", "Offer_Size": "2", "Sequence_Number": "17", "Best_Bid_Price": "185.64",
        "Best_Bid_Quote_Condition": "R", "Best_Offer_Quote_Condition": "R", "NBBO_Quote_Condition": "R",
        "Security_Status_Indicator": "A", "Participant_Timestamp": "093000123450000",
    }  # fmt: skip
    path = folder / f"EQY_US_ALL_NBBO_{day:%Y%m%d}"
    path.write_text(
        "\n".join("|".join(row) for row in (names, [values.get(name, "") for name in names])) + "\n"
    )
    return path


def test_nbbo_files_of_28_columns_are_followed_by_files_of_30(database: cn.Database, tmp_path: Path):
    (tmp_path / "nbbo.toml").write_text(DESCRIPTION)
    old, new = nbbo(tmp_path, FIRST, NBBO_28), nbbo(tmp_path, SECOND, NBBO_30)
    database.ingest("nbbo", old, format=tmp_path / "nbbo.toml")
    assert (len(NBBO_28), len(NBBO_30)) == (28, 30)
    with pytest.raises(cn.SchemaError, match="new_columns"):
        database.ingest("nbbo", new, format=tmp_path / "nbbo.toml")
    with pytest.warns(cn.MissingColumnWarning, match="NBBO_Quote_Condition") as warned:
        database.ingest("nbbo", new, format=tmp_path / "nbbo.toml", new_columns="add")
    table = database["nbbo"]

    assert len(warned) == 1
    assert len(table.schema.columns) == 31
    found = table.select("NBBO_Quote_Condition", *NEW).collect(symbols="string")
    assert found.rows() == [("R", None, None, None), (None, "R", "R", "A")]
    assert table.where(col("Security_Status_Indicator").is_null()).collect().height == 1
    assert database.verify().is_empty()


# ---- several sources at once


def test_sources_of_one_ingest_make_a_table_that_holds_them_all(database: cn.Database):
    frames = [
        trades(FIRST, [1], pl.Int16),
        trades(SECOND, [70_000], pl.Int32).with_columns(venue=pl.lit("N")),
        trades(dt.date(2023, 1, 3), [2**40], pl.Int64),
    ]
    with pytest.warns(cn.MissingColumnWarning, match="frame 1, frame 3 lack 'venue'"):
        database.ingest("trade", frames, new_columns="add", widen=True, **KEYS)

    assert database["trade"].select("volume", "venue").collect(symbols="string").rows() == [
        (1, None),
        (70_000, "N"),
        (2**40, None),
    ]


def test_a_stream_that_is_read_once_may_have_a_new_column(database: cn.Database):
    database.ingest("trade", trades(FIRST, [1], pl.Int16), **KEYS)
    table = trades(SECOND, [2], pl.Int16).with_columns(fee=pl.lit(0.5)).to_arrow()
    database.ingest("trade", table.to_reader(), new_columns="add")

    assert database["trade"].select("fee").collect()["fee"].to_list() == [None, 0.5]


def test_an_added_column_plays_a_role_that_nothing_played(database: cn.Database):
    database.ingest("trade", trades(FIRST, [1], pl.Int16), **KEYS)
    database.ingest("trade", trades(SECOND, [2], pl.Int16).with_columns(price=pl.lit(9.5)), new_columns="add")

    assert database["trade"].roles["price"] == "price"
    assert database["trade"].where(date=SECOND).bars("1m").collect()["close"].to_list() == [9.5]


def test_rows_known_by_a_key_are_known_in_the_wider_type_too(database: cn.Database):
    database.ingest("trade", trades(FIRST, [1, 2], pl.Int16), **KEYS)
    more = trades(FIRST, [1, 2, 3], pl.Int32)
    database.ingest("trade", more, mode="append", key=["time", "volume"], widen=True)

    assert database["trade"].row_count == 3


def test_a_wrong_word_for_new_columns_is_refused(database: cn.Database):
    with pytest.raises(cn.SchemaError, match="new_columns"):
        database.ingest("trade", trades(FIRST, [1], pl.Int16), new_columns="keep", **KEYS)
