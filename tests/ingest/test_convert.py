"""Times, zones, scales and nulls as descriptions tell them."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from colonnade.errors import ColumnTypeError, RowError, SchemaError
from colonnade.ingest.writer import ingest
from ingest.reading import database, description, parsed, stored

HOUR = 3_600_000_000_000
DAY = 24 * HOUR


def values(tmp_path, texts: list[str], *, source: dict | None = None, request: dict | None = None, **column):
    """Give the stored values of texts read as a column."""
    path = tmp_path / "rows.csv"
    path.write_text("x,n\n" + "".join(f"{text},1\n" for text in texts))
    frame = parsed(path, description({"name": "x", **column}, **(source or {})), **(request or {}))
    return frame["x"].to_physical().to_list()


def ns(text: str) -> int:
    moment = dt.datetime.fromisoformat(text)
    utc = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (utc - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) * 1_000


def test_offsets_that_change_within_a_column_are_one_instant_each(tmp_path):
    texts = [
        "2024-03-09 09:30:00-05:00",
        "2024-03-11T09:30:00-04:00",
        "2024-03-11 13:30:00Z",
        "2024-03-11T13:30:00.5+0000",
    ]

    found = values(tmp_path, texts, layout="iso", zone="America/New_York")

    assert found == [
        ns("2024-03-09T14:30"),
        *[ns("2024-03-11T13:30")] * 2,
        ns("2024-03-11T13:30") + HOUR // 7200,
    ]


def test_a_wall_clock_in_a_zone_becomes_the_instant(tmp_path):
    texts = ["2024-01-02 09:30:00", "2024-07-02 09:30:00"]

    found = values(tmp_path, texts, type="timestamp", zone="America/New_York")

    assert found == [ns("2024-01-02T14:30"), ns("2024-07-02T13:30")]


@pytest.mark.parametrize("text", ["2024-03-10 02:30:00", "2024-11-03 01:30:00"])
def test_a_wall_clock_that_a_zone_never_showed_or_showed_twice_is_an_error(tmp_path, text):
    with pytest.raises(RowError, match="timestamp"):
        values(tmp_path, [text], type="timestamp", zone="America/New_York")


@pytest.mark.parametrize(("choice", "hour"), [("earliest", 5), ("latest", 6)])
def test_of_two_instants_the_description_chooses(tmp_path, choice, hour):
    found = values(
        tmp_path, ["2024-11-03 01:30:00"], type="timestamp", zone="America/New_York", ambiguous=choice
    )

    assert found == [ns(f"2024-11-03T0{hour}:30")]


def test_seconds_may_have_decimals_to_the_nanosecond(tmp_path):
    found = values(tmp_path, ["1616663618.123456789", "-0.5", "7", "1.10"], unit="s")

    assert found == [1_616_663_618_123_456_789, -500_000_000, 7_000_000_000, 1_100_000_000]


@pytest.mark.parametrize("text", ["1.1234567891", "1,5", "1e9", "9223372037", "9223372036.9", "now"])
def test_a_number_that_is_no_time_in_nanoseconds_is_an_error(tmp_path, text):
    with pytest.raises(RowError):
        values(tmp_path, [f'"{text}"'], unit="s")


@pytest.mark.parametrize("text", ["240000000", "126000000", "120060000", "-1", "9999999999"])
def test_digits_that_are_no_time_of_day_are_an_error(tmp_path, text):
    with pytest.raises(RowError, match="time"):
        values(tmp_path, [text], layout="HHMMSSmmm")


def test_milliseconds_since_midnight_become_instants_of_the_trading_date(tmp_path):
    found = values(
        tmp_path,
        ["34200000"],
        unit="ms",
        epoch="midnight",
        type="timestamp[America/New_York]",
        request={"date": dt.date(2024, 7, 2)},
    )

    assert found == [ns("2024-07-02T13:30")]


def test_milliseconds_since_midnight_need_a_date_to_become_instants(tmp_path):
    with pytest.raises(ColumnTypeError, match="date"):
        values(tmp_path, ["1"], unit="ms", epoch="midnight", type="timestamp")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("%d.%m.%Y %H:%M:%S%.f", "02.01.2024 09:30:00.5", ns("2024-01-02T09:30:00.500000")),
        ("%Y%m%d %H:%M", "20240102 00:00", ns("2024-01-02T00:00")),
        ("%d/%m/%y %H:%M:%S", "02/01/24 09:30:00", ns("2024-01-02T09:30")),
        ("%Y%m%d", "18710201", -36_128),
        ("%H:%M:%S%.f", "09:30:00.000000001", 9 * HOUR + HOUR // 2 + 1),
        ("%Y-%m-%d %H:%M:%S %z", "2024-01-02 09:30:00 +0100", ns("2024-01-02T08:30")),
    ],
)
def test_patterns_read_dates_times_and_timestamps(tmp_path, pattern, text, expected):
    zone = {"zone": "UTC"} if "%z" in pattern else {}

    assert values(tmp_path, [text], layout=pattern, **zone) == [expected]


def test_null_texts_are_null_in_their_column_alone(tmp_path):
    texts = ["9223372036854775807", "5", "", "-"]

    found = values(tmp_path, texts, type="int64", null=("9223372036854775807", "-"))

    assert found == [None, 5, None, None]


def test_an_unsigned_sentinel_may_be_null_in_a_time(tmp_path):
    assert values(tmp_path, ["18446744073709551615", "7"], unit="ns", null=("18446744073709551615",)) == [
        None,
        7,
    ]


def test_null_texts_of_the_source_hold_for_every_column(tmp_path):
    assert values(tmp_path, ["NA", "5"], type="int64", source={"null": ("NA",)}) == [None, 5]


def test_blanks_are_kept_in_text_unless_told(tmp_path):
    assert values(tmp_path, [" O  ", "@"], type="symbol") == [" O  ", "@"]
    assert values(tmp_path, [" O  ", "   "], type="symbol", strip=True) == ["O", None]


def test_an_empty_text_in_quotes_is_no_null(tmp_path):
    assert values(tmp_path, ['""', ""], type="string") == ["", None]


@pytest.mark.parametrize("text", ["true", "True", "1", "Y", "yes", "T"])
def test_what_means_true_is_true(tmp_path, text):
    assert values(tmp_path, [text, "f"], type="bool") == [True, False]


def test_a_char_of_two_bytes_is_an_error(tmp_path):
    with pytest.raises(RowError, match="char"):
        values(tmp_path, ["é"], type="char")


def test_leading_zeros_keep_a_code_text_and_large_integers_exact(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("code,big,huge,price\n00,9007199254740993,18446744073709551615,1.5\n01,-1,7,2\n")

    frame = parsed(path)

    assert frame.schema == {"code": pl.String, "big": pl.Int64, "huge": pl.UInt64, "price": pl.Float64}
    assert frame["big"][0] == 2**53 + 1


def test_text_that_is_nearly_unique_is_a_string_and_other_text_a_symbol(tmp_path):
    db = database(tmp_path)
    path = tmp_path / "rows.csv"
    path.write_text("id,sym\n" + "".join(f"id{n},S{n % 9}\n" for n in range(2_000)))

    ingest(db, "t", path, date="2024-01-02")

    columns = db.table("t").current().schema.columns
    assert (columns["id"].kind, columns["sym"].kind) == ("string", "symbol")


def test_a_scale_does_not_fit_a_table_of_integers(tmp_path):
    db = database(tmp_path)
    path = tmp_path / "rows.csv"
    path.write_text("x\n15000\n")
    ingest(db, "t", path, date="2024-01-02")

    with pytest.raises(SchemaError, match="scale"):
        ingest(db, "t", path, date="2024-01-03", format=description({"name": "x", "scale": 4}))


def test_parquet_times_of_any_unit_come_to_nanoseconds(tmp_path):
    db = database(tmp_path)
    moment = dt.datetime.fromisoformat("2024-01-02 09:30:00.123")
    times = pl.Series("time", [moment], dtype=pl.Datetime("ms"))
    frame = pl.DataFrame({"time": times, "us": times.cast(pl.Datetime("us", "Asia/Tokyo"))})
    frame.write_parquet(tmp_path / "a.parquet")

    ingest(db, "t", tmp_path / "a.parquet", sort_by="time")

    found = stored(db, "t")
    assert found["time"].dtype == pl.Datetime("ns")
    assert found["us"].dtype == pl.Datetime("ns", "Asia/Tokyo")
    assert found["time"].to_physical()[0] == found["us"].to_physical()[0] == ns("2024-01-02T09:30:00.123000")


def test_times_beyond_nanoseconds_are_an_error(tmp_path):
    frame = pl.DataFrame({"time": pl.Series([10**15], dtype=pl.Datetime("ms"))})

    with pytest.raises(RowError, match="time"):
        ingest(database(tmp_path), "t", frame, sort_by="time")
