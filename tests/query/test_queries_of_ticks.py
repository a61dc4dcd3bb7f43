"""Queries of tables of several parts, beside the same in Polars over the frame in logical order."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import colonnade as cn
from colonnade import col
from query.tick_tables import logical, plain, table_of, ticks


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return ticks()


@pytest.fixture(scope="module", params=[1, 3])
def table(request, frame, tmp_path_factory) -> cn.Table:
    return table_of(tmp_path_factory.mktemp("ticks") / "db", frame, pieces=request.param)


CONDITIONS = {
    "size above": (col("size") > 1000, pl.col("size") > 1000),
    "price is null": (col("price").is_null(), pl.col("price").is_null()),
    "exchange": (col("ex") == "N", pl.col("ex") == "N"),
    "exchange is not": (col("ex") != "N", pl.col("ex") != "N"),
    "exchange after": (col("ex") > "N", pl.col("ex") > "N"),
    "exchange in": (col("ex").is_in(["Q", "X"]), pl.col("ex").is_in(["Q", "X"])),
    "either": ((col("ex") == "Q") | (col("price") < 99), (pl.col("ex") == "Q") | (pl.col("price") < 99)),
    "not": (~(col("size") <= 500), ~(pl.col("size") <= 500)),
    "calculated": (col("price") * col("size") > 90_000, pl.col("price") * pl.col("size") > 90_000),
    "narrow integers wrap": (col("small") + 100 > 0, pl.col("small") + 100 > 0),
    "symbol and size": (
        (col("sym") == "Ä") & (col("size") > 100),
        (pl.col("sym") == "Ä") & (pl.col("size") > 100),
    ),
    "not a symbol": (col("sym") != "AAPL", pl.col("sym") != "AAPL"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_select_the_rows_that_polars_selects(table, frame, name):
    ours, theirs = CONDITIONS[name]

    found = plain(table.where(ours).select(*frame.columns).collect())

    assert_frame_equal(found, logical(frame).filter(theirs).select(frame.columns))


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_select_the_same_rows_for_aggregates(table, frame, name):
    ours, theirs = CONDITIONS[name]

    found = table.where(ours).group_by("sym").agg(n=cn.len(), total=col("number").sum()).collect()

    expected = (
        logical(frame)
        .filter(theirs)
        .group_by("sym")
        .agg(n=pl.len().cast(pl.Int64), total=pl.col("number").sum())
    )
    assert_frame_equal(plain(found), expected.sort("sym"))


@pytest.mark.parametrize("keys", [["sym"], ["ex"], ["ex", "sym"], ["date"], ["sym", "date"], ["small"], []])
def test_groups_of_any_keys_are_those_of_polars(table, frame, keys):
    found = table.group_by(*keys).agg(
        n=cn.len(),
        prices=col("price").count(),
        low=col("price").min(),
        high=col("price").max(),
        open=col("number").first(),
        close=col("price").last(),
        volume=col("size").sum(),
        mean=col("size").mean(),
        smallest=col("small").min(),
        text=col("ex").first(),
        symbol=col("sym").max(),
        doubled=(col("small") + col("small")).sum(),
    ).collect()  # fmt: skip

    rows = logical(frame)
    expected = [
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("price").count().cast(pl.Int64).alias("prices"),
        pl.col("price").min().alias("low"),
        pl.col("price").max().alias("high"),
        pl.col("number").first().alias("open"),
        pl.col("price").last().alias("close"),
        pl.col("size").sum().alias("volume"),
        pl.col("size").mean().alias("mean"),
        pl.col("small").min().alias("smallest"),
        pl.col("ex").first().alias("text"),
        pl.col("sym").max().alias("symbol"),
        (pl.col("small") + pl.col("small")).cast(pl.Int64).sum().alias("doubled"),
    ]
    grouped = rows.group_by(keys).agg(expected).sort(keys, nulls_last=True) if keys else rows.select(expected)
    assert_frame_equal(plain(found), grouped)


def test_bars_are_those_of_polars(table, frame):
    found = plain(table.bars("1h").collect())

    weighed = (pl.col("price") * pl.col("size")).sum() / pl.col("size").filter(
        pl.col("price").is_not_null()
    ).sum()
    expected = logical(frame).group_by("sym", pl.col("time").dt.truncate("1h")).agg(
        open=pl.col("price").first(), high=pl.col("price").max(), low=pl.col("price").min(),
        close=pl.col("price").last(), volume=pl.col("size").sum(), vwap=weighed,
    )  # fmt: skip
    assert_frame_equal(found, expected.sort("sym", "time"))


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_do_not_change_the_answer(table, threads):
    query = table.group_by("ex", col("time").bucket("30m")).agg(total=col("price").sum(), n=cn.len())

    assert query.collect(threads=threads).equals(query.collect(threads=1), null_equal=True)


def test_rows_by_number_are_those_of_the_logical_order(table, frame):
    numbers = [0, 2_999, 5, 5, 1_234, 17]

    found = plain(table.rows(numbers))

    assert_frame_equal(found, logical(frame).select(frame.columns)[numbers])


def test_a_row_that_is_not_there_is_an_error(table):
    with pytest.raises(cn.PlanError, match="3000"):
        table.rows([3_000])


def test_dates_are_taken_as_values_of_any_library(table, frame):
    expected = logical(frame).filter(pl.col("date") == dt.date(2024, 1, 3)).height

    for date in ("2024-01-03", dt.date(2024, 1, 3), dt.datetime(2024, 1, 3), np.datetime64("2024-01-03")):  # noqa: DTZ001
        assert table.where(date=date).collect().height == expected
    assert table.where(date=["2024-01-03", "2030-01-01"]).collect().height == expected
    assert (
        table.where(date=cn.last(2)).where(date=cn.between("2024-01-02", "2024-01-03")).collect().height
        == expected
    )


@pytest.mark.parametrize("text", ["yesterday", "2024-13-01", "2024-02-30", "20240102", ""])
def test_text_that_is_no_date_is_an_error(table, text):
    with pytest.raises(cn.PlanError, match="date"):
        table.where(date=text)


def test_unknown_columns_are_named_with_what_is_meant(table):
    with pytest.raises(cn.ColumnNotFoundError, match="Did you mean 'price'"):
        table.select("prise")


@pytest.mark.parametrize(
    ("word", "ours"),
    [("filter", "where"), ("groupby", "group_by"), ("join_asof", "asof_join"), ("with_columns", "select"),
     ("resample", "bars"), ("merge_asof", "asof_join")],
)  # fmt: skip
def test_words_that_we_lack_name_ours(table, word, ours):
    for thing in (table, table.where(size=100)):
        with pytest.raises(cn.UnknownWordError, match=ours):
            getattr(thing, word)


def test_tasks_travel_and_give_the_same_answer(table):
    query = table.where(sym=["a", "Z"]).group_by("ex").agg(total=col("price").sum())

    def elsewhere(tasks):
        return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(task)).run())) for task in tasks]  # noqa: S301

    assert query.collect(engine=elsewhere).equals(query.collect(), null_equal=True)


def test_a_result_above_the_memory_limit_is_refused(table):
    with pytest.raises(cn.MemoryLimitError, match="bytes"):
        table.collect(memory_limit="1KB")


def test_partitions_come_one_by_one(table):
    found = dict(table.where(sym="Z").iter_partitions())

    assert sorted(found) == [dt.date(2024, 1, day) for day in (2, 3, 4)]
    assert_frame_equal(pl.concat(found.values()), table.where(sym="Z").collect())


def test_nothing_found_has_the_types_of_something(table):
    for query in (table.where(sym="none"), table.where(date="1999-01-01"), table.where(col("size") > 10**9)):
        assert query.collect().schema == table.collect().schema
        assert query.bars("1m").collect().schema == table.bars("1m").collect().schema
        assert query.asof_join(table, by="sym", on="time").collect().height == 0


def test_filled_bars_have_no_gap(table):
    found = plain(
        table.where(date="2024-01-02", sym="Z")
        .bars("1h", session=("09:00", "17:00"), fill="previous")
        .collect()
    )

    times = found["time"].dt.hour().to_list()
    assert times == list(range(times[0], 17))
    bars = plain(table.where(date="2024-01-02", sym="Z").bars("1h", session=("09:00", "17:00")).collect())
    assert_frame_equal(found.filter(pl.col("volume") > 0), bars.filter(pl.col("volume") > 0))
