"""From sources to a committed version: keys, dates, modes, sources known again, what is left of failures."""

from __future__ import annotations

import datetime as dt
import zipfile

import polars as pl
import pytest

from colonnade.errors import (
    AlreadyExistsError,
    AlreadyIngestedError,
    ColumnNotFoundError,
    ColumnTypeError,
    MissingColumnWarning,
    RowError,
    SchemaError,
    SourceError,
)
from colonnade.ingest import writer
from colonnade.ingest.writer import ingest
from ingest.reading import database, stored

KEYS = {"part_by": "sym", "sort_by": "time"}
CSV = """time,sym,price,size
2024-01-03 10:00:00,MSFT,370.5,10
2024-01-02 16:00:00,AAPL,185.6,30
2024-01-02 09:30:00,AAPL,185.5,20
2024-01-02 09:30:00,AAPL,185.4,21
"""


@pytest.fixture
def db(tmp_path):
    return database(tmp_path)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "trades.csv"
    path.write_text(CSV)
    return path


def schema_of(db, table="trade"):
    return db.table(table).current().schema


def test_rows_are_split_by_date_parted_and_sorted(db, file):
    report = ingest(db, "trade", file, **KEYS)

    assert stored(db).select("days", "sym", "size").rows() == [
        (19_724, "AAPL", 20),
        (19_724, "AAPL", 21),
        (19_724, "AAPL", 30),
        (19_725, "MSFT", 10),
    ]
    assert report.partitions == (dt.date(2024, 1, 2), dt.date(2024, 1, 3))
    assert (report.rows, report.bytes_in, report.version) == (4, len(CSV), 1)
    assert report.stored_bytes > 0
    assert report.plain_bytes == 4 * (8 + 4 + 8 + 8)


def test_keys_types_and_roles_are_guessed_without_a_word(db, file):
    ingest(db, "trade", file)

    schema = schema_of(db)
    assert (schema.part_by, schema.sort_by, schema.date_column) == ("sym", "time", "time")
    assert {name: str(kind) for name, kind in schema.columns.items()} == {
        "time": "timestamp",
        "sym": "symbol",
        "price": "float64",
        "size": "int64",
    }
    assert schema.roles == {"symbol": "sym", "time": "time", "price": "price", "size": "size"}


def test_roles_can_be_said(db, file):
    ingest(db, "trade", file, roles={"bid": "price"}, **KEYS)

    assert schema_of(db).roles["bid"] == "price"


@pytest.mark.parametrize("roles", [{"prise": "price"}, {"price": "prise"}])
def test_a_role_or_its_column_that_is_not_there_is_refused(db, file, roles):
    with pytest.raises(SchemaError):
        ingest(db, "trade", file, roles=roles)


def test_dates_that_hold_rows_are_refused_without_a_mode(db, file, tmp_path):
    ingest(db, "trade", file, **KEYS)
    more = tmp_path / "more.csv"
    more.write_text(CSV.replace("10\n", "11\n"))

    with pytest.raises(AlreadyExistsError, match=r"2024-01-02.*mode='append'.*mode='replace'"):
        ingest(db, "trade", more)

    assert db.table("trade").numbers() == [1]


def test_a_new_date_needs_no_mode(db, file, tmp_path):
    ingest(db, "trade", file, **KEYS)
    more = tmp_path / "more.csv"
    more.write_text(CSV.replace("2024-01", "2024-02"))

    assert ingest(db, "trade", more).version == 2


def test_append_adds_a_part_and_replace_takes_the_place(db, file, tmp_path):
    ingest(db, "trade", file, **KEYS)
    more = tmp_path / "more.csv"
    more.write_text("time,sym,price,size\n2024-01-02 12:00:00,AAPL,1,99\n")

    ingest(db, "trade", more, mode="append")
    assert stored(db)["size"].to_list() == [20, 21, 30, 99, 10]

    ingest(db, "trade", more, mode="replace")
    assert stored(db)["size"].to_list() == [99, 10]


def test_the_same_content_under_another_name_is_refused_unless_told(db, file, tmp_path):
    ingest(db, "trade", file, **KEYS)
    copy = tmp_path / "copy.csv"
    copy.write_text(CSV)

    with pytest.raises(AlreadyIngestedError, match="again=True"):
        ingest(db, "trade", copy, mode="append")
    parts = list(db.path.rglob("part-*"))
    assert len(parts) == 2

    ingest(db, "trade", copy, mode="append", again=True)
    assert stored(db).height == 8


def test_several_files_and_patterns_are_one_version(db, tmp_path):
    for day in (2, 3, 4):
        (tmp_path / f"day{day}.csv").write_text(f"time,sym,price,size\n2024-01-0{day} 10:00:00,A,1.5,{day}\n")

    report = ingest(db, "trade", [tmp_path / "day[23].csv", tmp_path / "day4.csv"], **KEYS)

    assert (report.rows, report.version, len(report.partitions)) == (3, 1, 3)


def test_a_later_file_of_one_ingest_may_lack_a_column_of_the_first(db, file, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("time,sym,price\n2024-01-02 12:00:00,AAPL,1\n")

    with pytest.warns(MissingColumnWarning, match=r"other\.csv lacks 'size'"):
        ingest(db, "trade", [file, other], **KEYS)

    assert stored(db)["size"].to_list() == [20, 21, None, 30, 10]


def test_a_later_file_of_one_ingest_has_no_column_more_than_the_first(db, file, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("time,sym,price,size,x\n2024-01-02 12:00:00,AAPL,1,2,3\n")

    with pytest.raises(SchemaError, match="'x'"):
        ingest(db, "trade", [file, other], **KEYS)


def test_a_later_file_is_read_by_the_types_of_the_table(db, file, tmp_path):
    ingest(db, "trade", file, **KEYS)
    more = tmp_path / "more.csv"
    more.write_text("size,price,sym,time\n7,1,2,2024-01-05 12:00:00\n")

    ingest(db, "trade", more)

    assert stored(db).row(4)[:4] == (dt.datetime.fromisoformat("2024-01-05 12:00"), "2", 1.0, 7)


@pytest.mark.parametrize("other", [{"part_by": "size"}, {"sort_by": "price"}, {"tz": "Asia/Tokyo"}])
def test_other_keys_than_the_table_has_are_refused(db, file, other):
    ingest(db, "trade", file, **KEYS)

    with pytest.raises(SchemaError):
        ingest(db, "trade", file, mode="append", again=True, **other)


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ({"part_by": "symbol"}, ColumnNotFoundError),
        ({"sort_by": "sym"}, ColumnTypeError),
        ({"date": "size"}, ColumnTypeError),
        ({"date": "2024-13-01"}, SchemaError),
        ({"tz": "Mars/Olympus"}, SchemaError),
        ({"day_start": "25:00"}, SchemaError),
        ({"mode": "merge"}, SchemaError),
        ({"types": {"prise": "float64"}}, ColumnNotFoundError),
        ({"types": {"price": "money"}}, ColumnTypeError),
        ({"columns": {"price": {"colour": "red"}}}, SourceError),
        ({"compression": {"prise": "zstd"}}, ColumnNotFoundError),
        ({"partition_by": "size"}, SchemaError),
    ],
)
def test_keys_that_cannot_be_are_refused_and_nothing_is_left(db, file, keys, error):
    with pytest.raises(error):
        ingest(db, "trade", file, **keys)

    assert [entry.name for entry in db.path.iterdir()] == ["colonnade.json"]


def test_compression_is_what_was_asked_and_later_what_the_table_has(db, file):
    ingest(db, "trade", file, compression={"default": "plain", "price": "zstd:5@64KiB"}, **KEYS)
    ingest(db, "trade", file, mode="append", again=True)

    store = db.table("trade")
    for part in store.manifest(store.current(), 19_724).parts:
        assert {name: str(entry.compression) for name, entry in part.columns.items()} == {
            "time": "plain",
            "sym": "plain",
            "price": "zstd:5@64KiB",
            "size": "plain",
        }


def test_auto_is_written_down_as_what_it_became(db, file):
    ingest(db, "trade", file, **KEYS)

    compressions = db.table("trade").current().settings["compression"]
    assert set(compressions) == {"time", "sym", "price", "size"}
    assert "auto" not in compressions.values()


def test_a_trading_day_of_a_future_begins_the_evening_before(db):
    times = ["2024-03-10 17:59:59-04:00", "2024-03-10 18:00:00-04:00", "2024-03-11 17:59:59-04:00"]
    frame = pl.DataFrame({"time": pl.Series(times).str.to_datetime("%+", time_unit="us"), "n": [1, 2, 3]})

    ingest(db, "t", frame, sort_by="time", tz="America/New_York", day_start="18:00")

    march_10 = (dt.date(2024, 3, 10) - dt.date(1970, 1, 1)).days
    assert stored(db, "t").select("days", "n").rows() == [(march_10, 1), (march_10 + 1, 2), (march_10 + 1, 3)]


def test_a_date_column_may_tell_the_date_of_times_of_day(db, tmp_path):
    path = tmp_path / "taq.csv"
    path.write_text("date,time,sym\n20240102,93000000,A\n20240103,100000000,A\n")

    ingest(
        db,
        "t",
        path,
        date="date",
        columns={"date": {"layout": "%Y%m%d"}, "time": {"layout": "HHMMSSmmm"}},
        **KEYS,
    )

    assert stored(db, "t")["days"].to_list() == [19_724, 19_725]
    assert stored(db, "t")["time"].to_list() == [dt.time(9, 30), dt.time(10)]


def test_dates_before_1970_are_partitions(db, tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("time,p\n1969-12-31 23:59:59.999999999,1\n1871-01-01,2\n1970-01-01 00:00,3\n")

    ingest(db, "t", path, sort_by="time")

    assert stored(db, "t")["days"].to_list() == [-36_159, -1, 0]


def test_rows_equal_in_every_field_are_all_kept(db):
    frame = pl.DataFrame({"time": [dt.datetime.fromisoformat("2024-01-02")] * 5, "sym": ["A"] * 5})

    assert ingest(db, "t", frame, **KEYS).rows == 5


def test_nothing_tells_the_date_is_an_error_with_the_ways_out(db):
    with pytest.raises(SchemaError, match="date='2024-01-02'"):
        ingest(db, "t", pl.DataFrame({"n": [1]}))


def test_a_column_that_has_the_name_of_the_partition_but_no_date_is_refused(db):
    frame = pl.DataFrame({"date": ["a"], "time": [dt.datetime.fromisoformat("2024-01-02")]})

    with pytest.raises(SchemaError, match="partition_by"):
        ingest(db, "t", frame)


def test_frames_lazy_frames_arrow_and_lists_of_them_are_sources(db, tmp_path):
    frame = pl.DataFrame({"time": [dt.datetime.fromisoformat("2024-01-02")], "n": [1]})
    parquet = tmp_path / "a.parquet"
    frame.write_parquet(parquet)

    report = ingest(db, "t", [frame, frame.lazy(), frame.to_arrow(), parquet], sort_by="time")

    assert report.rows == 4


def test_a_frame_without_rows_adds_nothing_to_a_table(db, file):
    ingest(db, "trade", file, **KEYS)
    empty = pl.read_csv(file, try_parse_dates=True).clear()

    report = ingest(db, "trade", empty, mode="append")

    assert (report.rows, report.version) == (0, 1)


@pytest.mark.parametrize("broken", ["after parts", "while reading"])
def test_a_failure_leaves_the_table_as_it_was(db, file, tmp_path, monkeypatch, broken):
    ingest(db, "trade", file, **KEYS)
    before = sorted(path.relative_to(db.path) for path in db.path.rglob("*"))
    more = tmp_path / "more.csv"
    more.write_text(CSV + ("" if broken == "after parts" else "2024-01-02 09:30:00,AAPL,x,1\n"))
    if broken == "after parts":
        fails = iter([False, True])
        write_part = writer.write_part

        def failing(*args, **kwargs):
            if next(fails):
                raise OSError(28, "no space left on device")
            return write_part(*args, **kwargs)

        monkeypatch.setattr(writer, "write_part", failing)

    with pytest.raises((OSError, RowError)):
        ingest(db, "trade", more, mode="append", memory_bytes=1 << 16)

    assert sorted(path.relative_to(db.path) for path in db.path.rglob("*")) == before


def test_progress_ends_at_the_bytes_of_all_files(db, file):
    seen = []

    ingest(db, "trade", file, progress=lambda done, total: seen.append((done, total)), **KEYS)

    assert seen[-1] == (len(CSV), len(CSV))


def taq_quote(letter: str, rows: int, *, count: int | None = None) -> str:
    names = (
        "Time|Exchange|Symbol|Bid_Price|Bid_Size|Offer_Price|Offer_Size|Quote_Condition|Sequence_Number|"
        "National_BBO_Ind|FINRA_BBO_Indicator|FINRA_ADF_MPID_Indicator|Quote_Cancel_Correction|Source_Of_Quote|"
        "Retail_Interest_Indicator|Short_Sale_Restriction_Indicator|LULD_BBO_Indicator|"
        "SIP_Generated_Message_Identifier|National_BBO_LULD_Indicator|Participant_Timestamp|FINRA_ADF_Timestamp|"
        "FINRA_ADF_Market_Participant_Quote_Indicator"
    )
    line = "04000{0}003243310|P|{1} A|1.5|2|1.6|3|R|{0}|2||||N||||||04000{0}003243310||"
    lines = [line.format(row % 10, letter) for row in range(rows)]
    total = rows if count is None else count
    return "\n".join([names, *lines, f"END|20240102|{total}" + "|" * 20]) + "\n"


def write_quotes(folder, letters: str, **counts) -> list:
    paths = []
    for position, letter in enumerate(letters):
        path = folder / f"SPLITS_US_ALL_BBO_{letter}_20240102"
        path.write_text(taq_quote(letter, position % 3, **counts))
        paths.append(path)
    return paths


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_the_26_quote_files_of_a_day_are_one_source(db, tmp_path):
    paths = write_quotes(tmp_path, ALPHABET)

    report = ingest(db, "quote", paths, format="nyse-taq")

    rows = stored(db, "quote")
    assert report.rows == rows.height == 25
    assert report.partitions == (dt.date(2024, 1, 2),)
    assert rows["time"][0] == dt.time(4, 0, 0, 3243)
    assert rows["sym"][0] == "B A"
    assert rows["security_status_indicator"].null_count() == 25


def test_an_incomplete_set_lists_what_is_missing_unless_told(db, tmp_path):
    paths = write_quotes(tmp_path, ALPHABET.replace("C", "").replace("X", ""))

    with pytest.raises(SourceError, match="C, X are missing"):
        ingest(db, "quote", paths, format="nyse-taq")

    assert ingest(db, "quote", paths, format="nyse-taq", allow_incomplete=True).rows == 24


def test_an_end_line_with_another_count_or_date_is_refused(db, tmp_path):
    paths = write_quotes(tmp_path, ALPHABET, count=9)

    with pytest.raises(SourceError, match="counts 9 rows, but 0 were read"):
        ingest(db, "quote", paths, format="nyse-taq")

    paths = write_quotes(tmp_path, ALPHABET)
    paths[4].write_text(paths[4].read_text().replace("END|20240102", "END|20240103"))
    with pytest.raises(SourceError, match="2024-01-03"):
        ingest(db, "quote", paths, format="nyse-taq")


def test_a_missing_end_line_is_refused_unless_told(db, tmp_path):
    paths = write_quotes(tmp_path, ALPHABET)
    paths[4].write_text("".join(paths[4].read_text().splitlines(keepends=True)[:-1]))

    with pytest.raises(SourceError, match="last line"):
        ingest(db, "quote", paths, format="nyse-taq")

    assert ingest(db, "quote", paths, format="nyse-taq", allow_incomplete=True).rows == 25


def test_each_member_of_a_zip_is_a_symbol_of_its_own(db, tmp_path):
    path = tmp_path / "future_comex_gc_tick_20131007_trade.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for expiry in ("201312", "201310"):
            archive.writestr(
                f"20131007_gc_tick_trade_{expiry}.csv", "1000,1313.8,1,usa,,0\n2000,1314,2,usa,,0\n"
            )

    ingest(db, "trade", path, format="lean")

    assert stored(db)["sym"].to_list() == ["GC_201310"] * 2 + ["GC_201312"] * 2
    assert stored(db)["time"].to_list() == [dt.time(0, 0, 1), dt.time(0, 0, 2)] * 2


def test_small_parts_of_appends_are_merged(db):
    frame = pl.read_csv(CSV.encode(), try_parse_dates=True)
    for _ in range(30):
        ingest(db, "trade", frame, mode="append", **KEYS)

    table = db.table("trade")
    version = table.current()

    assert version.row_counts.tolist() == [90, 30]
    assert all(len(table.manifest(version, days).parts) <= 9 for days in version.values.tolist())


def test_rows_are_there_when_merging_their_parts_fails(db, monkeypatch):
    def fail(*_arguments, **_named):
        raise OSError(28, "No space left on device", "part-0")

    monkeypatch.setattr(writer, "merge_small", fail)
    frame = pl.read_csv(CSV.encode(), try_parse_dates=True)

    with pytest.warns(UserWarning, match="rows were appended to table 'trade'"):
        ingest(db, "trade", frame, mode="append", **KEYS)

    assert stored(db).height == 4
