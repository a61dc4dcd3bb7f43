"""Rows are left out for their key only where a key is named, and then the first one stays."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import colonnade as cn
from colonnade.errors import ColumnNotFoundError, ConflictError, SchemaError
from colonnade.ingest import writer

DAY = "2024-01-02"


def rows(*numbers: int, price: float = 1.0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "sym": ["A" if number % 2 else "B" for number in numbers],
            "time": pl.Series([number * 10 for number in numbers]).cast(pl.Time),
            "seq": numbers,
            "price": [price] * len(numbers),
        }
    )


def table_of(db: cn.Database) -> list[tuple[int, float]]:
    frame = db["trade"].select("seq", "price").collect().sort("seq", maintain_order=True)
    return frame.rows()


@pytest.fixture
def db(tmp_path: Path) -> cn.Database:
    db = cn.create(tmp_path / "db")
    db.ingest("trade", rows(1, 2, 3), part_by="sym", sort_by="time", date=DAY)
    return db


def test_equal_rows_stay_without_a_key(db: cn.Database) -> None:
    report = db.ingest("trade", rows(3, 3, 4), date=DAY, mode="append")

    assert (report.rows, report.known_rows) == (3, 0)
    assert [seq for seq, _ in table_of(db)] == [1, 2, 3, 3, 3, 4]


def test_rows_of_a_stored_key_are_left_out(db: cn.Database) -> None:
    report = db.ingest("trade", rows(2, 3, 4, price=9.0), date=DAY, mode="append", key=["seq"])

    assert (report.rows, report.known_rows) == (1, 2)
    assert table_of(db) == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 9.0)]


def test_the_first_of_equal_keys_stays_within_a_source(db: cn.Database) -> None:
    again = pl.concat([rows(7, price=1.5), rows(7, price=2.5)])

    report = db.ingest("trade", again, date=DAY, mode="append", key=["sym", "seq"])

    assert (report.rows, report.known_rows) == (1, 1)
    assert table_of(db)[-1] == (7, 1.5)


def test_keys_count_within_a_date_only(db: cn.Database) -> None:
    report = db.ingest("trade", rows(1, 2), date="2024-01-03", mode="append", key=["seq"])

    assert (report.rows, report.known_rows) == (2, 0)


def test_a_null_is_equal_to_a_null(db: cn.Database) -> None:
    missing = rows(8, 9).with_columns(seq=pl.lit(None, dtype=pl.Int64))

    db.ingest("trade", missing, date=DAY, mode="append", key=["seq", "sym"])
    report = db.ingest("trade", missing.with_columns(price=3.0), date=DAY, mode="append", key=["seq", "sym"])

    assert (report.rows, report.known_rows) == (0, 2)


def test_nothing_new_makes_no_version(db: cn.Database) -> None:
    before = db["trade"].version

    report = db.ingest("trade", rows(1, 2, 3, price=5.0), date=DAY, mode="append", key=["seq"])

    assert (report.rows, report.known_rows, report.version) == (0, 3, before)
    assert db["trade"].version == before


def test_replacing_looks_at_new_rows_alone(db: cn.Database) -> None:
    report = db.ingest("trade", rows(3, 3, 4, price=2.0), date=DAY, mode="replace", key=["seq"])

    assert (report.rows, report.known_rows) == (2, 1)
    assert table_of(db) == [(3, 2.0), (4, 2.0)]


def test_a_key_that_cannot_be_is_refused(db: cn.Database) -> None:
    with pytest.raises(ColumnNotFoundError, match="number"):
        db.ingest("trade", rows(9), date=DAY, mode="append", key=["number"])
    for key in ([], ["seq", "seq"]):
        with pytest.raises(SchemaError, match="key"):
            db.ingest("trade", rows(9), date=DAY, mode="append", key=key)
    assert db["trade"].row_count == 3


def test_another_commit_meanwhile_is_a_conflict(db: cn.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    real = writer.write_part

    def write_late(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(writer, "write_part", real)
        db.ingest("trade", rows(4), date=DAY, mode="append")
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "write_part", write_late)

    with pytest.raises(ConflictError):
        db.ingest("trade", rows(4, 5), date=DAY, mode="append", key=["seq"])
    assert [seq for seq, _ in table_of(db)] == [1, 2, 3, 4]
