"""Several writers of one table at once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from databases import bits, plain
from reliability.children import child, result_of
from reliability.numbers import WRITER_APPENDS
from reliability.operations import Step, examine, new_database
from reliability.writing import write

SHORT, LONG = WRITER_APPENDS


def ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Give rows in an order that doesn't depend on who came first."""
    return plain(frame).sort(pl.all(), nulls_last=True)


@pytest.mark.parametrize("other", ["append", "compact"])
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
