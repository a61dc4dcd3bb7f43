"""Runs and distinct values of text, by the fast way and by the plain one."""

import numpy as np
import polars as pl
import pytest

from colonnade.store.text import distinct_text, run_starts

CASES = {
    "sorted": ["A", "B", "ß", "日本"],
    "with nulls": [None, "A", None, "B"],
    "nothing but nulls": [None],
    "one value": ["A"],
    "empty text": ["", "A", ""],
}


def series(values, rows):
    return pl.Series(values, dtype=pl.String).gather(np.repeat(np.arange(len(values)), rows))


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_runs_begin_where_a_row_differs_from_the_one_before(values):
    text = series(values, 9_000)[: len(values) * 9_000 - 7]
    starts = run_starts(pl.concat([text, text.head(9_000)], rechunk=True))

    kept = [at for at, value in enumerate(values) if at == 0 or value != values[at - 1]]
    again = [] if values[0] == values[-1] else [len(text)]
    assert starts.tolist() == [at * 9_000 for at in kept] + again


def test_short_runs_and_few_rows_are_not_looked_for():
    assert run_starts(pl.Series(["A", "B"] * 50_000)) is None
    assert run_starts(pl.Series(["A"] * 100)) is None


@pytest.mark.parametrize("rows", [1, 3, 20_000])
@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_distinct_values_are_sorted_by_bytes_whatever_the_chunks(values, rows):
    text = series(values, rows)
    chunked = pl.concat([text, text.reverse(), text], rechunk=False)

    expected = sorted({value for value in values if value is not None}, key=str.encode)
    assert distinct_text(chunked).to_list() == expected
    assert distinct_text(text).to_list() == expected
    assert distinct_text(text.clear()).to_list() == []
