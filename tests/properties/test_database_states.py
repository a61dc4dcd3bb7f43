"""A database through its life: ingest, append, replace, reopen, older versions; beside a list of rows."""

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
from databases import TICK_KEYS, bits, logical

FRAMES = ours.ticks(min_rows=1, max_rows=15)


class DatabaseStates(RuleBasedStateMachine):
    """One table, changed by every kind of write; the model is a frame in the order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="colonnade-states-"))
        self.versions: dict[int, pl.DataFrame] = {}
        self.rows = pl.DataFrame()

    @initialize(frame=FRAMES, compression=ours.compressions())
    def create(self, frame: pl.DataFrame, compression: str) -> None:
        self.db = cn.create(self.folder / "db")
        self.db.ingest("trade", frame, compression=compression, **TICK_KEYS)
        self.rows = frame
        self.remember()

    def remember(self) -> None:
        self.versions[self.db["trade"].version] = self.rows

    @rule(frame=FRAMES)
    def append(self, frame: pl.DataFrame) -> None:
        self.db["trade"].append(frame)
        self.rows = pl.concat([self.rows, frame])
        self.remember()

    @rule(frame=FRAMES)
    def replace(self, frame: pl.DataFrame) -> None:
        dates = frame["time"].dt.date()
        self.db.ingest("trade", frame, mode="replace")
        self.rows = pl.concat([self.rows.filter(~pl.col("time").dt.date().is_in(dates.implode())), frame])
        self.remember()

    @rule(frame=FRAMES)
    def ingest_into_dates_that_hold_rows(self, frame: pl.DataFrame) -> None:
        taken = set(self.rows["time"].dt.date()) & set(frame["time"].dt.date())
        if taken:
            with pytest.raises(cn.ColonnadeError):
                self.db.ingest("trade", frame)
        else:
            self.db.ingest("trade", frame)
            self.rows = pl.concat([self.rows, frame])
            self.remember()

    @rule(frame=FRAMES)
    def refuse_what_does_not_fit(self, frame: pl.DataFrame) -> None:
        with pytest.raises(cn.ColonnadeError):
            self.db["trade"].append(frame.with_columns(price=pl.lit("no number")))

    @rule()
    def reopen(self) -> None:
        self.db = cn.open(self.folder / "db")

    @precondition(lambda self: len(self.versions) > 1)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.versions)))
        past = self.db["trade"].at(version=version)

        found = past.collect()

        expected = self.versions[version]
        assert bits(found.select(expected.columns)) == bits(logical(expected).select(expected.columns))

    @invariant()
    def the_table_is_what_was_written(self) -> None:
        if not self.versions:
            return
        table = self.db["trade"]
        found = table.collect()
        assert table.row_count == found.height == self.rows.height
        assert bits(found.select(self.rows.columns)) == bits(logical(self.rows).select(self.rows.columns))

    @invariant()
    def counts_by_date_are_those_of_the_rows(self) -> None:
        if not self.versions:
            return
        counts = self.db["trade"].group_by("date").agg(n=cn.len()).collect()
        expected = self.rows.group_by(date=pl.col("time").dt.date()).len().sort("date")
        assert counts.rows() == expected.rows()

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


DatabaseStates.TestCase.settings = ours.state_machine_settings()
TestDatabaseStates = DatabaseStates.TestCase
