"""The references are checked themselves: by hand, and against Polars where it follows the same rule."""

from __future__ import annotations

import polars as pl
from hypothesis import given

import strategies as ours
from databases import logical, rows_of
from reference.aggregates import Aggregate, group, locate
from reference.asof import asof_rows
from reference.sums import float_sum, leaf_sum


def test_lanes_are_added_in_a_fixed_tree():
    values = [1e16, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1e16]

    # lane 0 is 1e16 - 1e16; in order of arrival the ones would be lost
    assert leaf_sum(values) == 7.0
    assert sum(values) == 0.0


def test_leaves_are_cut_by_rows_of_the_symbol_and_added_in_order():
    values = [1e16, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1e16]

    assert float_sum(values, range(9), leaf_size=16) == 7.0
    assert float_sum(values, range(9), leaf_size=4) == 6.0  # 1e16 + 2, then 4, then -1e16
    assert float_sum(values, range(0, 36, 4), leaf_size=4) == 0.0  # one leaf for each row


@given(frame=ours.ticks(min_rows=1), condition=ours.conditions())
def test_conditions_select_the_rows_that_polars_selects(frame, condition):
    ordered = logical(frame)

    chosen = [row for row in rows_of(ordered) if ours.holds(condition, row)]

    assert repr(chosen) == repr(rows_of(ordered.filter(ours.as_polars(condition))))


@given(frame=ours.ticks(min_rows=1, price=ours.usual_prices()))
def test_aggregates_are_those_of_polars(frame):
    ordered = logical(frame)
    expected = ordered.group_by("sym", maintain_order=True).agg(
        n=pl.len(),
        count=pl.col("price").count(),
        first=pl.col("price").first(),
        last=pl.col("price").last(),
        min=pl.col("price").min(),
        max=pl.col("price").max(),
        volume=pl.col("size").sum(),
    )

    found = group(
        locate(rows_of(ordered)),
        lambda row: (row["sym"],),
        {
            "n": Aggregate("len"),
            **{
                name: Aggregate(name, lambda row: row["price"])
                for name in ("count", "first", "last", "min", "max")
            },
            "volume": Aggregate("sum", lambda row: row["size"]),
        },
    )

    assert [(*key, *values.values()) for key, values in found.items()] == expected.rows()


@given(left=ours.ticks(min_rows=1, nulls=False), right=ours.ticks(min_rows=1, nulls=False))
def test_backward_joins_are_those_of_polars(left, right):
    left, right = left.sort("time", maintain_order=True), right.sort("time", maintain_order=True)
    expected = left.join_asof(right.with_row_index("row"), on="time", by="sym", check_sortedness=False)

    found = asof_rows(
        left["time"].to_physical().to_list(),
        right["time"].to_physical().to_list(),
        left_keys=left["sym"].to_list(),
        right_keys=right["sym"].to_list(),
    )

    assert found == expected["row"].cast(pl.Int64).fill_null(-1).to_list()
