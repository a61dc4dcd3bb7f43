"""Blocks whose zone maps rule them out are not read, and the answer is the same bit for bit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import colonnade as cn
from colonnade import col
from colonnade.query.prune import split_conditions, wanted_spans
from colonnade.query.scan import scan_spans
from query.tick_tables import plain, table_of

ROWS = 60_000


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    random = np.random.default_rng(5)
    start = 19_724 * 86_400 * 10**9
    return pl.DataFrame(
        {
            "sym": np.repeat(["A", "B"], ROWS // 2),
            "time": pl.Series(start + np.arange(ROWS) * 10**9 // 2).cast(pl.Datetime("ns")),
            "price": 100 + np.cumsum(random.normal(0, 0.5, ROWS)),
            "seq": np.arange(ROWS),
        }
    ).with_columns(
        price=pl.when(pl.col("seq") % 5_000 == 7).then(float("nan")).otherwise(pl.col("price"))
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory) -> cn.Table:
    return table_of(tmp_path_factory.mktemp("zones") / "db", frame, compression="bitpack@4KiB")


@pytest.mark.parametrize(("low", "high"), [(100, 900), (29_000, 31_000), (59_999, 59_999), (70_000, 80_000)])
def test_rows_and_sums_are_those_of_a_full_scan(table, frame, low, high):
    query = table.where(col("seq") >= low, col("seq") <= high)
    expected = frame.filter(pl.col("seq").is_between(low, high))

    assert_frame_equal(plain(query.collect()), expected)
    every = table.where(col("seq") + 0 >= low, col("seq") + 0 <= high)  # no zone map answers a sum
    aggregates = {"total": col("price").sum(), "n": cn.len()}
    assert (
        query.group_by("sym")
        .agg(**aggregates)
        .collect()
        .equals(every.group_by("sym").agg(**aggregates).collect())
    )


@pytest.mark.parametrize("bound", [95.0, 100.0, 130.0, 1e9])
def test_nan_is_above_every_number(table, frame, bound):
    assert_frame_equal(
        plain(table.where(col("price") > bound).collect()), frame.filter(pl.col("price") > bound)
    )
    assert_frame_equal(
        plain(table.where(col("price") < bound).collect()), frame.filter(pl.col("price") < bound)
    )


def test_only_blocks_that_may_match_are_read(table):
    source = table.all_rows()._ref.open()
    plan = table.where(col("seq") < 600)._plan()
    conditions = split_conditions(plan)

    scan = scan_spans(source, conditions, wanted_spans(source, conditions), ["price"])

    assert 600 <= scan.row_count < 2_000
