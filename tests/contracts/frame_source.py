"""What every kind of source of rows must do at ingest; a new one inherits the suite, and gives `write`."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import colonnade as cn
from databases import TICK_KEYS, bits, logical, plain

DAY = dt.date(2024, 1, 2)
TYPES = {"size": "int64", "note": "string"}


def trades() -> pl.DataFrame:
    """Give rows of two dates out of order, with nulls, equal times, and rows equal in every field."""
    noon = dt.datetime(2024, 1, 2, 12)  # noqa: DTZ001 - wall clock
    rows = [
        ("MSFT", noon, 370.6, 100, "a"),
        ("AAPL", noon + dt.timedelta(seconds=1), 185.64, 200, None),
        ("AAPL", noon, None, 300, "b"),
        ("AAPL", noon, 185.63, None, "c"),
        ("MSFT", noon + dt.timedelta(days=1), 371.0, 100, "d"),
        ("MSFT", noon, 370.6, 100, "a"),
        ("龙虾", noon, -0.5, 2**53 + 1, "ü"),
    ]
    schema = {
        "sym": pl.String,
        "time": pl.Datetime("ns"),
        "price": pl.Float64,
        "size": pl.Int64,
        "note": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


class FrameSourceContract:
    """The suite; a subclass gives `write`."""

    is_file = True

    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        """Make a source that holds the rows of a frame."""
        raise NotImplementedError

    @pytest.fixture
    def db(self, tmp_path) -> cn.Database:
        return cn.create(tmp_path / "db")

    def test_rows_come_in_as_they_stand_in_the_source(self, db, tmp_path):
        db.ingest("trade", self.write(trades(), tmp_path), types=TYPES, **TICK_KEYS)

        found = db["trade"].collect()

        expected = logical(trades())
        assert bits(found.select(expected.drop("date").columns)) == bits(expected.drop("date"))

    def test_dates_are_split_by_the_time(self, db, tmp_path):
        db.ingest("trade", self.write(trades(), tmp_path), types=TYPES, **TICK_KEYS)

        counts = db["trade"].group_by("date").agg(n=cn.len()).collect()

        assert counts.rows() == [(DAY, 6), (DAY + dt.timedelta(1), 1)]

    def test_the_report_counts_rows_and_dates(self, db, tmp_path):
        report = db.ingest("trade", self.write(trades(), tmp_path), types=TYPES, **TICK_KEYS)

        assert (report.rows, report.bad_rows) == (7, 0)
        assert report.version == db["trade"].version

    def test_an_unknown_key_is_an_error_that_names_it(self, db, tmp_path):
        source = self.write(trades(), tmp_path)

        with pytest.raises(cn.ColumnNotFoundError) as caught:
            db.ingest("trade", source, part_by="symbol", sort_by="time")

        assert caught.value.name == "symbol"
        assert db.tables == []

    def test_a_missing_column_is_null_with_one_warning(self, db, tmp_path):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        source = self.write(trades().drop("price"), tmp_path)

        with pytest.warns(cn.MissingColumnWarning, match="price") as warned:
            db.ingest("trade", source, mode="append")

        assert len(warned) == 1
        assert db["trade"].row_count == 14
        assert (
            db["trade"].select("price").collect()["price"].null_count() == 7 + trades()["price"].null_count()
        )

    @pytest.mark.parametrize("key", ["sym", "time"])
    def test_a_missing_key_is_an_error_and_nothing_is_committed(self, db, tmp_path, key):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        source = self.write(trades().drop(key), tmp_path)

        with pytest.raises(cn.SchemaError, match=key):
            db.ingest("trade", source, mode="append")

        assert db["trade"].row_count == 7

    def test_a_column_that_is_not_in_the_table_is_an_error(self, db, tmp_path):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        source = self.write(trades().with_columns(venue=pl.lit("X")), tmp_path)

        with pytest.raises(cn.SchemaError, match="venue"):
            db.ingest("trade", source, mode="append")

        assert db["trade"].row_count == 7

    def test_a_new_column_is_left_out_where_the_caller_ignores_it(self, db, tmp_path):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        schema = db["trade"].schema
        source = self.write(trades().with_columns(venue=pl.lit("X")), tmp_path)

        db.ingest("trade", source, mode="append", new_columns="ignore")

        assert db["trade"].row_count == 14
        assert db["trade"].schema == schema

    def test_a_new_column_is_added_where_the_caller_says_so_and_null_before(self, db, tmp_path):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        source = self.write(trades().with_columns(venue=pl.lit("X")), tmp_path)

        db.ingest("trade", source, mode="append", new_columns="add")

        found = db["trade"].select("venue").collect()["venue"]
        assert (found.null_count(), (found == "X").sum()) == (7, 7)
        assert "venue" in db["trade"]._open().state.settings["compression"]

    def test_text_in_a_column_of_numbers_is_an_error_and_nothing_is_committed(self, db, tmp_path):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        wrong = trades().with_columns(price=pl.lit("much"))

        with pytest.raises(cn.ColonnadeError, match="price"):
            db.ingest("trade", self.write(wrong, tmp_path), mode="append")

        assert db["trade"].row_count == 7

    def test_dates_that_hold_rows_are_refused_unless_told(self, db, tmp_path):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        source = self.write(trades().with_columns(pl.col("price") + 1), tmp_path)

        with pytest.raises(cn.ColonnadeError, match="2024-01-02"):
            db.ingest("trade", source)

        assert db["trade"].row_count == 7

    def test_append_comes_after_what_is_there(self, db, tmp_path):
        more = trades().with_columns(pl.col("price") + 1)
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        db.ingest("trade", self.write(more, tmp_path), mode="append")

        found = db["trade"].collect()

        expected = logical(pl.concat([trades(), more])).drop("date")
        assert bits(found.select(expected.columns)) == bits(expected)

    def test_replace_takes_the_place_of_its_dates_alone(self, db, tmp_path):
        first_day = trades().filter(pl.col("time").dt.date() == DAY).head(2)
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)
        db.ingest("trade", self.write(first_day, tmp_path), mode="replace")

        counts = db["trade"].group_by("date").agg(n=cn.len()).collect()

        assert counts.rows() == [(DAY, 2), (DAY + dt.timedelta(1), 1)]

    def test_the_same_source_twice_is_refused_unless_told(self, db, tmp_path):
        source = self.write(trades(), tmp_path)
        db.ingest("trade", source, types=TYPES, **TICK_KEYS)

        if self.is_file:
            with pytest.raises(cn.AlreadyIngestedError):
                db.ingest("trade", source, mode="append")
        db.ingest("trade", source, mode="append", again=True)

        assert db["trade"].row_count == 14

    def test_a_source_without_rows_is_an_error_or_gives_none(self, db, tmp_path):
        db.ingest("trade", trades(), types=TYPES, **TICK_KEYS)

        report = db.ingest("trade", self.write(trades().clear(), tmp_path), mode="append")

        assert report.rows == 0
        assert db["trade"].row_count == 7

    def test_a_given_date_is_the_partition_of_all_rows(self, db, tmp_path):
        source = self.write(trades(), tmp_path)

        db.ingest("trade", source, types=TYPES, date="2020-02-29", **TICK_KEYS)

        counts = db["trade"].group_by("date").agg(n=cn.len()).collect()
        assert counts.rows() == [(dt.date(2020, 2, 29), 7)]
        assert plain(db["trade"].collect())["sym"].to_list()[:3] == ["AAPL", "AAPL", "AAPL"]

    def test_a_column_named_like_the_partition_that_tells_no_date_is_refused(self, db, tmp_path):
        frame = trades().with_columns(date=pl.lit(DAY - dt.timedelta(1_000)))
        source = self.write(frame, tmp_path)

        with pytest.raises(cn.SchemaError, match="partition_by"):
            db.ingest("trade", source, types=TYPES, date="2020-02-29", **TICK_KEYS)

        assert db.tables == []
