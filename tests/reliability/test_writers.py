"""Several writers of one table at once."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import colonnade as cn
from databases import bits, plain
from reliability.children import child, result_of
from reliability.large import SLOW, new_large_database, recompress_slowly
from reliability.numbers import LARGE_ROWS, RACE_CHANGES, WRITER_APPENDS
from reliability.operations import Step, examine, leftovers, new_database, random_steps
from reliability.writing import Oracle, race, write

SHORT, LONG = WRITER_APPENDS
REFUSALS = {
    "ConflictError",
    "NotFoundError",  # the table was dropped
    "ColumnNotFoundError",  # the column was dropped or renamed
    "SchemaError",  # likewise, at ingest
    "PlanError",  # the column was cast
    "StaleVersionError",
}


def ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Give rows in an order that doesn't depend on who came first."""
    return plain(frame).sort(pl.all(), nulls_last=True)


@pytest.mark.parametrize("other", ["append", "compact", "recompress", "clean"])
@pytest.mark.parametrize("appends", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_what_two_writers_do_at_once_is_all_there(tmp_path: Path, other: str, appends: int) -> None:
    path = tmp_path / "db"
    rows = new_database(path)
    mine = [Step("append", seed) for seed in range(appends)]
    theirs = [Step(other, 1_000 + seed) for seed in range(appends)]

    with child(write, path, mine) as first, child(write, path, theirs) as second:
        told = [list(writer.received()) for writer in (first, second)]

    assert all(("done", appends - 1) in messages for messages in told), told
    for step in [*mine, *theirs]:
        rows = step.expect(rows)
    found = result_of(examine, path)
    assert found.problems == ()
    assert rows is not None
    assert bits(ordered(found.rows.select(rows.columns))) == bits(ordered(rows))


@pytest.mark.parametrize("changes", [RACE_CHANGES[0], pytest.param(RACE_CHANGES[1], marks=pytest.mark.long)])
def test_changes_of_every_kind_at_once_are_done_or_refused(tmp_path: Path, changes: int) -> None:
    path = tmp_path / "db"
    new_database(path)

    with ExitStack() as started:
        writers = [
            started.enter_context(child(race, path, random_steps(np.random.default_rng(seed), changes)))
            for seed in range(3)
        ]
        told = [next(writer.received()) for writer in writers]

    assert all(done > changes // 4 for done, _ in told)
    assert {error for _, refused in told for error in refused} <= REFUSALS
    assert result_of(examine, path).problems == ()
    time.sleep(1.1)  # what is younger than a second stays, for clocks that differ
    assert result_of(leftovers, path) == set()


@pytest.mark.parametrize("rounds", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_of_two_replacements_at_once_each_is_whole_or_refused(tmp_path: Path, rounds: int) -> None:
    path = tmp_path / "db"
    rows = new_database(path)
    refused = 0

    for number in range(rounds):
        mine, theirs = Step("replace", number), Step("replace", 1_000 + number)
        with child(write, path, [mine, mine]) as first, child(write, path, [theirs, theirs]) as second:
            told = [list(writer.received()) for writer in (first, second)]
        failed = [word for messages in told for word, _ in messages if word not in {"begun", "done"}]
        assert all("ConflictError" in word for word in failed)
        refused += len(failed)
        in_turn = theirs.expect(mine.expect(rows)), mine.expect(theirs.expect(rows))
        found = result_of(examine, path)
        assert found.problems == ()
        rows = next(
            one
            for one in (*in_turn, mine.expect(rows), theirs.expect(rows))
            if found.is_what_is_expected(one)
        )

    assert refused < 2 * rounds


@pytest.mark.parametrize("rows", [LARGE_ROWS[0], pytest.param(LARGE_ROWS[1], marks=pytest.mark.long)])
def test_appends_go_on_during_a_long_recompression(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "db"
    oracle = Oracle(new_large_database(path, rows))
    large = cn.open(path)["trade"].partitions["date"]
    steps = [Step("append", seed) for seed in range(1_000)]

    with child(recompress_slowly, path) as rewriter, child(write, path, steps) as writer:
        told = [word for word, _ in rewriter.received()]
        writer.kill()
        messages = list(writer.received())

    assert told == ["begun", "done"]
    oracle.check(path, steps, messages)
    assert oracle.acknowledged > 2
    info = cn.open(path)["trade"].info().filter(pl.col("partition").is_in(large.implode()))
    assert info["compression"].str.contains(SLOW, literal=True).all()


@pytest.mark.parametrize("rows", [LARGE_ROWS[0], pytest.param(LARGE_ROWS[1], marks=pytest.mark.long)])
def test_a_recompression_that_was_killed_is_resumed(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "db"
    oracle = Oracle(new_large_database(path, rows))

    with child(recompress_slowly, path) as killed:
        killed.connection.recv()
        time.sleep(0.3)
        killed.kill()
        assert not list(killed.received()), "it was done before it was killed"
    oracle.check(path, [], [])
    with child(recompress_slowly, path) as resumed:
        told = [word for word, _ in resumed.received()]

    assert told == ["begun", "done"]
    oracle.check(path, [], [])
    assert set(cn.open(path)["trade"].info()["compression"]) == {SLOW}
