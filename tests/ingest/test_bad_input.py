"""Bad input of every kind is an error that names the thing; nothing of it is committed."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import lzma
import os
import re
import zipfile
from pathlib import Path

import polars as pl
import pytest

from colonnade.errors import (
    AlreadyIngestedError,
    ColonnadeError,
    NotFoundError,
    RowError,
    SchemaError,
    SourceError,
)
from colonnade.ingest.writer import ingest
from ingest.reading import database, description, parsed, stored

try:
    from compression import zstd
except ImportError:
    from backports import zstd

HEADER = "time,sym,price,size\n"
GOOD = HEADER + "".join(f"2024-01-02 09:30:{n:02},AAPL,{n}.5,{n}\n" for n in range(60))
KEYS = {"part_by": "sym", "sort_by": "time"}
DESCRIBED = description(
    {"name": "time", "type": "timestamp"},
    {"name": "sym", "type": "symbol"},
    {"name": "price", "type": "float64"},
    {"name": "size", "type": "int32"},
)

# line 4 of a file, the column at fault, and a word of the reason
BAD_LINES = {
    "a field too few": ("2024-01-02 09:31:00,AAPL,1.5", None, "3 fields instead of 4"),
    "a field too many": ("2024-01-02 09:31:00,AAPL,1.5,1,1", None, "5 fields instead of 4"),
    "a word for a number": ("2024-01-02 09:31:00,AAPL,much,1", "price", "float64"),
    "a decimal for an integer": ("2024-01-02 09:31:00,AAPL,1.5,1.5", "size", "int32"),
    "an integer too large": ("2024-01-02 09:31:00,AAPL,1.5,2147483648", "size", "int32"),
    "a float too large": ("2024-01-02 09:31:00,AAPL,1e999,1", "price", "float64"),
    "a NUL byte in text": ("2024-01-02 09:31:00,AA\0PL,1.5,1", None, "NUL"),
    "a NUL byte in a number": ("2024-01-02 09:31:00,AAPL,1.5,\0", None, "NUL"),
    "a day that is none": ("2024-02-30 09:31:00,AAPL,1.5,1", "time", "timestamp"),
    "an hour that is none": ("2024-01-02 24:31:00,AAPL,1.5,1", "time", "timestamp"),
    "an offset in a wall clock": ("2024-01-02 09:31:00+01:00,AAPL,1.5,1", "time", "timestamp"),
    "no time": (",AAPL,1.5,1", "time", "must have a value"),
    "an open quote": ('2024-01-02 09:31:00,"AAPL,1.5,1', None, ""),
    "text after a quote": ('2024-01-02 09:31:00,"AA"PL,1.5,1', None, "quotes"),
}


@pytest.fixture
def db(tmp_path):
    return database(tmp_path)


def write(folder: Path, content: str | bytes, name: str = "trades.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def with_line_4(line: str) -> str:
    lines = GOOD.splitlines()
    return "\n".join([*lines[:3], line, *lines[3:]]) + "\n"


def assert_nothing_is_left(db) -> None:
    assert db.table_names() == []
    assert [entry.name for entry in db.path.iterdir()] == ["colonnade.json"]


@pytest.mark.parametrize(("line", "column", "reason"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_an_error_with_file_line_and_column(db, tmp_path, line, column, reason):
    path = write(tmp_path, with_line_4(line))

    with pytest.raises(RowError) as caught:
        ingest(db, "trade", path, format=DESCRIBED, **KEYS)

    error = caught.value
    assert (error.file, error.line, error.column) == (str(path), 4, column)
    assert reason in str(error)
    assert_nothing_is_left(db)


@pytest.mark.parametrize(("line", "column"), [(b[0], b[1]) for b in BAD_LINES.values()], ids=BAD_LINES.keys())
def test_a_bad_line_goes_to_the_file_of_bad_rows(db, tmp_path, line, column):
    path = write(tmp_path, with_line_4(line))
    bad = tmp_path / "bad.csv"
    if line.count('"') == 1:
        pytest.skip("an open quote swallows the rows after it")

    report = ingest(db, "trade", path, format=DESCRIBED, bad_rows=bad, **KEYS)

    with bad.open(encoding="utf-8", newline="") as lines:
        (written,) = csv.DictReader(line.replace("\0", "NUL") for line in lines)
    assert (report.rows, report.bad_rows) == (60, 1)
    assert stored(db)["size"].to_list() == list(range(60))
    assert (written["file"], written["line"], written["column"]) == (str(path), "4", column or "")
    assert written["row"] == line.replace("\0", "NUL")


def test_many_bad_rows_are_counted_in_the_order_of_the_file(db, tmp_path):
    lines = [f"2024-01-02 09:30:00,A,{'x' if n % 3 == 0 else n},{n}" for n in range(3_000)]
    path = write(tmp_path, HEADER + "\n".join(lines))
    bad = tmp_path / "bad.csv"

    report = ingest(db, "trade", path, format=DESCRIBED, bad_rows=bad, memory_bytes=1 << 20, **KEYS)

    with bad.open(encoding="utf-8", newline="") as rows:
        numbers = [int(row["line"]) for row in csv.DictReader(rows)]
    assert (report.rows, report.bad_rows) == (2_000, 1_000)
    assert numbers == [n + 2 for n in range(0, 3_000, 3)]


def test_bytes_that_are_not_utf8_are_an_error_with_the_line(db, tmp_path):
    path = write(tmp_path, with_line_4("2024-01-02 09:31:00,AAPX,1.5,1").encode().replace(b"AAPX", b"AA\xff"))

    with pytest.raises(RowError) as caught:
        ingest(db, "trade", path, format=DESCRIBED, **KEYS)

    assert caught.value.line == 4
    assert "UTF-8" in str(caught.value)


def test_a_type_that_was_inferred_is_named_with_the_way_out(db, tmp_path):
    rows = GOOD.removeprefix(HEADER) * 60
    path = write(tmp_path, HEADER + rows + "2024-01-02 09:31:00,AAPL,1.5,1.5\n")

    with pytest.raises(RowError, match="types=") as caught:
        ingest(db, "trade", path, memory_bytes=1 << 20, **KEYS)

    assert (caught.value.line, caught.value.column) == (3_602, "size")


@pytest.mark.parametrize("piece_bytes", [100, 1 << 20])
def test_a_repeated_header_is_no_row(tmp_path, piece_bytes):
    path = write(tmp_path, GOOD + GOOD)

    frame = parsed(path, DESCRIBED, piece_bytes=piece_bytes)

    assert frame.height == 120


def test_blank_lines_and_comments_are_no_rows(tmp_path):
    lines = GOOD.splitlines()
    path = write(tmp_path, "# made by hand\n" + "\n".join([*lines[:3], "", "# more", *lines[3:], "", ""]))
    described = description(*({"name": c.name, "type": c.type} for c in DESCRIBED.columns), comment="#")

    assert parsed(path, described).height == 60


def test_line_numbers_count_comments_blank_lines_and_lines_in_quotes(tmp_path):
    path = write(tmp_path, 'a,b\n1,"x\ny"\n\n#\n2,z\nq,w\n')
    described = description({"name": "a", "type": "int64"}, {"name": "b", "type": "string"}, comment="#")

    with pytest.raises(RowError) as caught:
        parsed(path, described)

    assert caught.value.line == 7


@pytest.mark.parametrize(
    ("name", "pack"),
    [("t.gz", gzip.compress), ("t.xz", lzma.compress), ("t.zst", zstd.compress)],
)
def test_a_compressed_file_cut_at_any_place_is_an_error(db, tmp_path, name, pack):
    whole = pack(GOOD.encode())
    for length in sorted({*range(6, len(whole), max(len(whole) // 25, 1)), len(whole) - 1}):
        path = write(tmp_path, whole[:length], name)

        with pytest.raises(SourceError, match="cut short or damaged"):
            ingest(db, "trade", path, format=DESCRIBED, **KEYS)

    assert_nothing_is_left(db)


def test_a_zip_cut_at_any_place_is_an_error(db, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trades.csv", GOOD)
    whole = packed.getvalue()
    for length in range(6, len(whole), 20):
        path = write(tmp_path, whole[:length], "t.zip")

        with pytest.raises(SourceError, match="cut short or damaged"):
            ingest(db, "trade", path, format=DESCRIBED, **KEYS)

    assert_nothing_is_left(db)


def test_a_zip_with_a_wrong_checksum_is_an_error(db, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("trades.csv", GOOD)
    path = write(tmp_path, packed.getvalue().replace(b"AAPL,7.5", b"AAPL,8.5"), "t.zip")

    with pytest.raises(SourceError, match="cut short or damaged"):
        ingest(db, "trade", path, format=DESCRIBED, **KEYS)

    assert_nothing_is_left(db)


def test_a_zip_of_several_members_asks_which(db, tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", GOOD)
        archive.writestr("b.csv", GOOD)

    with pytest.raises(SourceError, match=r"2 members.*member"):
        ingest(db, "trade", path, **KEYS)


@pytest.mark.parametrize("content", ["", "\n", "\ufeff"])
def test_an_empty_file_is_an_error(db, tmp_path, content):
    with pytest.raises(SourceError, match="empty"):
        ingest(db, "trade", write(tmp_path, content), **KEYS)

    assert_nothing_is_left(db)


def test_a_header_alone_has_no_rows(db, tmp_path):
    with pytest.raises(SourceError, match="no rows"):
        ingest(db, "trade", write(tmp_path, HEADER), format=DESCRIBED, **KEYS)

    assert_nothing_is_left(db)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfea\0,\0b\0",
        b"BZh91AY",
        b"DBN\x01",
        b"PAR1nothing",
        b"ARROW1\0\0nothing",
        b"PK\x03\x04nothing",
    ],
    ids=["UTF-16", "bzip2", "DBN", "Parquet", "Arrow", "zip"],
)
def test_what_cannot_be_read_is_an_error(db, tmp_path, content):
    with pytest.raises(SourceError, match=r"trades\.csv"):
        ingest(db, "trade", write(tmp_path, content), **KEYS)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    assert parsed(write(tmp_path, "\ufeff" + GOOD)).columns == ["time", "sym", "price", "size"]


@pytest.mark.parametrize("source", ["nowhere.csv", "*.nothing", []])
def test_a_source_that_is_not_there_is_an_error(db, tmp_path, source):
    given = tmp_path / source if source else source

    with pytest.raises((NotFoundError, SourceError)):
        ingest(db, "trade", given)


@pytest.mark.parametrize("source", [7, None, {"a": [1]}, object()])
def test_a_thing_that_is_no_source_is_an_error(db, source):
    with pytest.raises(SourceError, match="expected a path"):
        ingest(db, "trade", source)


def test_a_bad_frame_row_is_an_error_with_its_number(db):
    frame = pl.DataFrame({"sym": ["A", "B"], "n": [1, 300]})

    with pytest.raises(RowError) as caught:
        ingest(db, "t", frame, types={"n": "int8"}, date="2024-01-02", part_by="sym")

    assert (caught.value.line, caught.value.column) == (2, "n")
    assert_nothing_is_left(db)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pl.Series("x", [1.5]), "int64"),
        (pl.Series("x", [2**53 + 1]), "float64"),
        (pl.Series("x", [1e300]), "float32"),
        (pl.Series("x", [-1]), "uint8"),
        (pl.Series("x", ["much"]), "float64"),
        (pl.Series("x", [[1, 2]]), "int64"),
        (pl.Series("x", [b"raw"]), "symbol"),
        (pl.Series("x", [1]), "timestamp"),
    ],
)
def test_a_cast_that_would_lose_something_is_refused(db, column, kind):
    with pytest.raises(ColonnadeError, match="x"):
        ingest(db, "t", column.to_frame(), types={"x": kind}, date="2024-01-02")

    assert_nothing_is_left(db)


@pytest.mark.parametrize("dtype", [pl.Null, pl.List(pl.Binary), pl.Decimal(38, 20), pl.Binary])
def test_a_type_that_has_no_place_is_refused_by_name(db, dtype):
    frame = pl.DataFrame({"odd": pl.Series([None, None], dtype=dtype), "n": [1, 2]})

    with pytest.raises(ColonnadeError, match="odd"):
        ingest(db, "t", frame, date="2024-01-02")

    assert_nothing_is_left(db)


# Files that nobody described


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1672531436,90.54,1.1\n1672531471,90.45,1.0\n", "header = false"),
        ("AAPL,2024-01-02 09:30:00,high\n", "header = false"),
        ("time|sym|price\n2024-01-02 09:30:00|AAPL|1\n", "delimiter = '|'"),
        ("time\tsym\n2024-01-02 09:30:00\tAAPL\n", r"delimiter = '\t'"),
        ("time;price\n2024-01-02 09:30:00;1\n", "delimiter = ';'"),
        ('{\n  "results": [\n', "JSON"),
        ('[[1570752011620,"13519807",null]]\n', "JSON"),
        ("[\n1\n", "JSON"),
        ("\0\x0cSymbols,\n", "NUL"),
    ],
)
def test_a_first_line_that_holds_no_names_is_refused(db, tmp_path, content, reason):
    path = write(tmp_path, content)

    with pytest.raises(SourceError) as caught:
        ingest(db, "trade", path, date="2024-01-02")

    assert reason in str(caught.value)
    assert str(path) in str(caught.value)
    assert_nothing_is_left(db)


def test_names_that_look_like_values_are_taken_where_a_description_says_so(db, tmp_path):
    path = write(tmp_path, "price,2024\n1.5,2\n")

    ingest(db, "trade", path, format=description(header=True), date="2024-01-02")

    assert stored(db).columns == ["price", "2024", "days"]


def test_a_file_without_a_date_is_named_and_its_numbers_are_not_given_a_unit(db, tmp_path):
    path = write(tmp_path, "timestamp,sym,price\n1583020803145000,XBT,1\n")

    with pytest.raises(SchemaError) as caught:
        ingest(db, "trade", path)

    for word in (str(path), "s, ms, us or ns", "date='2024-01-02'", "--date 2024-01-02"):
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_called_like_symbols_is_one_however_many_there_are(db, tmp_path, kind):
    frame = pl.DataFrame({"sym": [f"S{n}" for n in range(70_000)], "price": 1.5})
    path = tmp_path / f"many.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)

    ingest(db, "trade", path, date="2024-01-02")

    assert str(db.table("trade").current().schema.columns["sym"]) == "symbol"


# The file of bad rows


def test_a_file_of_bad_rows_replaces_only_its_like(db, tmp_path):
    path = write(tmp_path, with_line_4("2024-01-02 09:31:00,AAPL,much,1"))
    bad = tmp_path / "bad.csv"

    with pytest.raises(SourceError, match="holds something else"):
        ingest(db, "trade", path, format=DESCRIBED, bad_rows=path, **KEYS)
    for mode in (None, "replace"):
        ingest(db, "trade", path, format=DESCRIBED, bad_rows=bad, mode=mode, again=True, **KEYS)

    assert path.read_text() == with_line_4("2024-01-02 09:31:00,AAPL,much,1")
    assert len(bad.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"tz": "Europe/Paris"}, "made without tz, not with 'Europe/Paris'"),
        ({"part_by": "time"}, "made with part_by='sym', not with 'time'"),
        ({"date": "sym"}, "takes its dates from column 'time', not from column 'sym'"),
    ],
)
def test_other_keys_than_the_table_has_are_refused(db, tmp_path, keys, reason):
    path = write(tmp_path, GOOD)
    ingest(db, "trade", path, **KEYS)

    with pytest.raises(SchemaError, match=re.escape(reason)):
        ingest(db, "trade", path, mode="append", again=True, **keys)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_bad_rows_that_can_not_be_written_are_named_and_nothing_is_committed(db, tmp_path):
    path = write(tmp_path, with_line_4("2024-01-02 09:31:00,AAPL,much,1"))

    with pytest.raises(SourceError, match="bad rows to '/dev/full': No space left"):
        ingest(db, "trade", path, format=DESCRIBED, bad_rows="/dev/full", **KEYS)

    assert_nothing_is_left(db)


def test_a_full_disk_is_named_and_leaves_nothing(db, tmp_path, monkeypatch):
    def full(folder, *_, **__):
        folder.mkdir(parents=True)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("colonnade.ingest.writer.write_part", full)

    with pytest.raises(OSError, match="No space left") as caught:
        ingest(db, "trade", write(tmp_path, GOOD), **KEYS)

    assert caught.value.filename == str(db.path / "trade")
    assert_nothing_is_left(db)


def test_blank_lines_before_the_header_are_skipped(db, tmp_path):
    ingest(db, "trade", write(tmp_path, "\r\n\n" + GOOD), **KEYS)

    assert stored(db).height == 60


@pytest.mark.parametrize("content", [HEADER, "\n\n" + HEADER, HEADER.rstrip()])
def test_a_file_without_rows_is_named(db, tmp_path, content):
    path = write(tmp_path, content)

    with pytest.raises(SourceError, match=re.escape(f"{path}: there are no rows")):
        ingest(db, "trade", path, date="2024-01-02")

    assert_nothing_is_left(db)


def test_a_stream_of_arrow_is_refused_as_what_it_is(db, tmp_path):
    path = tmp_path / "trades.arrows"
    pl.DataFrame({"a": [1]}).write_ipc_stream(path)

    with pytest.raises(SourceError, match="stream of Arrow"):
        ingest(db, "trade", path, date="2024-01-02")


def test_equal_files_in_one_ingest_are_refused_unless_told(db, tmp_path):
    first, second = write(tmp_path, GOOD), write(tmp_path, GOOD, "copy.csv")

    for sources in ([first, first], [first, second]):
        with pytest.raises(AlreadyIngestedError, match=r"'trades.csv', which was read before.*--again"):
            ingest(db, "trade", sources, **KEYS)
    assert_nothing_is_left(db)
    ingest(db, "trade", [first, second], again=True, **KEYS)

    assert stored(db).height == 120


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_refused_as_what_it_is(db, tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(SourceError, match="is a pipe or a device"):
        ingest(db, "trade", tmp_path / "pipe")
