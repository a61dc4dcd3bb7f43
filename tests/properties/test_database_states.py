"""A database through its life: every kind of change, reopening, older versions; beside its rows."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import colonnade as cn
import strategies as ours
from colonnade.store.version import TableStore
from databases import TICK_KEYS, bits, logical

FRAMES = ours.ticks(min_rows=1, max_rows=15)
NEW_NAMES = ("lots", "venue id", "μ", "price", "cond")
INTEGERS = {"int16": pl.Int16(), "int32": pl.Int32(), "int64": pl.Int64()}


class DatabaseStates(RuleBasedStateMachine):
    """One table, changed by every kind of write; the model is a frame in the order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="colonnade-states-"))
        self.versions: dict[int, pl.DataFrame] = {}
        self.rows = pl.DataFrame()
        self.drawn_as: dict[str, str | None] = {}  # column to the one of `FRAMES` that it is, None for others

    @property
    def store(self) -> TableStore:
        return TableStore(self.folder / "db" / "trade", durable=False)

    def has_table(self) -> bool:
        return bool(self.drawn_as)

    def columns(self) -> list[str]:
        """Give the columns that may be dropped and renamed."""
        return [name for name in self.drawn_as if name not in ("sym", "time")]

    def integers(self) -> list[str]:
        return [name for name, drawn_as in self.drawn_as.items() if drawn_as is None]

    def has_columns_of_conditions(self) -> bool:
        return all(self.drawn_as.get(name) == name for name in ("price", "size", "cond", "flag"))

    @initialize(frame=FRAMES, compression=ours.compressions())
    def create(self, frame: pl.DataFrame, compression: str) -> None:
        self.db = cn.create(self.folder / "db")
        self.create_table(frame, compression)

    @precondition(lambda self: not self.has_table())
    @rule(frame=FRAMES, compression=ours.compressions())
    def create_table(self, frame: pl.DataFrame, compression: str) -> None:
        self.db.ingest("trade", frame, compression=compression, **TICK_KEYS)
        self.drawn_as = {name: name for name in frame.columns}
        self.rows = frame
        self.remember()

    def remember(self) -> None:
        self.versions[self.db["trade"].version] = self.rows

    def fitting(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Give the frame with the columns that the table has now."""
        count = pl.int_range(pl.len()) - 3
        columns = {
            name: count.cast(self.rows.schema[name]) if drawn_as is None else pl.col(drawn_as)
            for name, drawn_as in self.drawn_as.items()
        }
        return frame.select(**columns)

    @precondition(has_table)
    @rule(frame=FRAMES)
    def append(self, frame: pl.DataFrame) -> None:
        fitting = self.fitting(frame)
        self.db["trade"].append(fitting)
        self.rows = pl.concat([self.rows, fitting])
        self.remember()

    @precondition(has_table)
    @rule(frame=FRAMES)
    def replace(self, frame: pl.DataFrame) -> None:
        fitting = self.fitting(frame)
        dates = fitting["time"].dt.date()
        self.db.ingest("trade", fitting, mode="replace")
        self.rows = pl.concat([self.rows.filter(~pl.col("time").dt.date().is_in(dates.implode())), fitting])
        self.remember()

    @precondition(has_table)
    @rule(frame=FRAMES)
    def ingest_into_dates_that_hold_rows(self, frame: pl.DataFrame) -> None:
        fitting = self.fitting(frame)
        taken = set(self.rows["time"].dt.date()) & set(fitting["time"].dt.date())
        if taken:
            with pytest.raises(cn.ColonnadeError):
                self.db.ingest("trade", fitting)
        else:
            self.db.ingest("trade", fitting)
            self.rows = pl.concat([self.rows, fitting])
            self.remember()

    @precondition(has_table)
    @rule(frame=FRAMES)
    def refuse_what_does_not_fit(self, frame: pl.DataFrame) -> None:
        with pytest.raises(cn.ColonnadeError):
            self.db["trade"].append(self.fitting(frame).with_columns(time=pl.lit("no time")))

    @precondition(has_table)
    @rule()
    def compact(self) -> None:
        self.db["trade"].compact()
        self.remember()

    @precondition(has_table)
    @rule(data=st.data())
    def recompress(self, data: st.DataObject) -> None:
        names = data.draw(st.lists(st.sampled_from(list(self.drawn_as)), unique=True))
        self.db["trade"].recompress({name: data.draw(ours.compressions()) for name in names})
        self.remember()

    @precondition(has_columns_of_conditions)
    @rule(condition=ours.conditions())
    def delete(self, condition: ours.Condition) -> None:
        matches = ours.as_polars(condition).fill_null(value=False)
        doomed = self.rows.filter(matches).height
        plan = self.db["trade"].delete(ours.as_ours(condition))
        assert plan.rows == doomed
        plan.apply()
        self.rows = self.rows.filter(~matches)
        self.remember()

    @precondition(has_table)
    @rule(name=st.sampled_from(NEW_NAMES), kind=st.sampled_from(sorted(INTEGERS)))
    def add_column(self, name: str, kind: str) -> None:
        if name in self.drawn_as:
            with pytest.raises(cn.ColonnadeError):
                self.db["trade"].add_column(name, kind)
            return
        self.db["trade"].add_column(name, kind)
        self.drawn_as[name] = None
        self.rows = self.rows.with_columns(pl.lit(None, INTEGERS[kind]).alias(name))
        self.remember()

    @precondition(columns)
    @rule(data=st.data())
    def drop_column(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.columns()))
        self.db["trade"].drop_column(name)
        del self.drawn_as[name]
        self.rows = self.rows.drop(name)
        self.remember()

    @precondition(columns)
    @rule(data=st.data(), new=st.sampled_from(NEW_NAMES))
    def rename_column(self, data: st.DataObject, new: str) -> None:
        old = data.draw(st.sampled_from(self.columns()))
        if new in self.drawn_as:
            return
        self.db["trade"].rename_column(old, new)
        self.drawn_as = {new if name == old else name: drawn_as for name, drawn_as in self.drawn_as.items()}
        self.rows = self.rows.rename({old: new})
        self.remember()

    @precondition(integers)
    @rule(data=st.data(), kind=st.sampled_from(sorted(INTEGERS)))
    def cast_column(self, data: st.DataObject, kind: str) -> None:
        name = data.draw(st.sampled_from(self.integers()))
        self.db["trade"].cast_column(name, kind)
        self.rows = self.rows.with_columns(pl.col(name).cast(INTEGERS[kind]))
        self.remember()

    @precondition(lambda self: self.has_table() and self.rows.height)
    @rule(data=st.data())
    def drop_partition(self, data: st.DataObject) -> None:
        date = data.draw(st.sampled_from(self.rows["time"].dt.date().unique().sort().to_list()))
        self.db["trade"].drop_partition(date)
        self.rows = self.rows.filter(pl.col("time").dt.date() != date)
        self.remember()

    @precondition(has_table)
    @rule()
    def drop_table(self) -> None:
        self.db.drop_table("trade")
        self.drawn_as = {}
        self.rows = pl.DataFrame()

    @precondition(has_table)
    @rule()
    def clean_all_that_is_old(self) -> None:
        self.db.clean(keep="0s")
        kept = set(self.store.numbers())
        self.versions = {number: rows for number, rows in self.versions.items() if number in kept}

    @rule()
    def reopen(self) -> None:
        self.db = cn.open(self.folder / "db")

    @precondition(lambda self: self.has_table() and len(self.versions) > 1)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.versions)))
        past = self.db["trade"].at(version=version)

        found = past.collect()

        expected = self.versions[version]
        assert bits(found.select(expected.columns)) == bits(logical(expected).select(expected.columns))

    @invariant()
    def the_table_is_what_was_written(self) -> None:
        if not self.has_table():
            return
        table = self.db["trade"]
        found = table.collect()
        assert table.row_count == found.height == self.rows.height
        assert set(found.columns) == set(self.rows.columns)
        assert bits(found.select(self.rows.columns)) == bits(logical(self.rows).select(self.rows.columns))

    @invariant()
    def counts_by_date_are_those_of_the_rows(self) -> None:
        if not self.has_table():
            return
        counts = self.db["trade"].group_by("date").agg(n=cn.len()).collect()
        expected = self.rows.group_by(date=pl.col("time").dt.date()).len().sort("date")
        assert counts.rows() == expected.rows()

    def teardown(self) -> None:
        if self.versions:
            assert self.db.verify(threads=1).height == 0
        shutil.rmtree(self.folder, ignore_errors=True)


DatabaseStates.TestCase.settings = ours.state_machine_settings()
TestDatabaseStates = DatabaseStates.TestCase
