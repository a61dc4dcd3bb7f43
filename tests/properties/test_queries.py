"""A query gives what the reference gives, and what Polars and DuckDB give where they say the same."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colonnade as cn
import strategies as ours
from colonnade import col
from databases import TICK_KEYS, bits, logical, plain, rows_of, table_of
from reference.aggregates import Aggregate, group, locate
from reference.bars import bars, bucket

MINUTE = 60_000_000_000
AGGREGATES = {
    "n": (cn.len(), Aggregate("len")),
    "prices": (col("price").count(), Aggregate("count", lambda row: row["price"])),
    "open": (col("price").first(), Aggregate("first", lambda row: row["price"])),
    "close": (col("price").last(), Aggregate("last", lambda row: row["price"])),
    "low": (col("price").min(), Aggregate("min", lambda row: row["price"])),
    "high": (col("price").max(), Aggregate("max", lambda row: row["price"])),
    "total": (col("price").sum(), Aggregate("sum", lambda row: row["price"])),
    "mean": (col("price").mean(), Aggregate("mean", lambda row: row["price"])),
    "smallest": (col("size").min(), Aggregate("min", lambda row: row["size"])),
    "largest": (col("size").max(), Aggregate("max", lambda row: row["size"])),
    "volume": (col("size").sum(), Aggregate("sum", lambda row: row["size"])),
    "mean_size": (col("size").mean(), Aggregate("mean", lambda row: row["size"])),
    "vwap": (
        col("price").wavg(col("size")),
        Aggregate("wavg", lambda row: row["price"], lambda row: row["size"]),
    ),
    "first_cond": (col("cond").first(), Aggregate("first", lambda row: row["cond"])),
    "last_time": (col("time").last(), Aggregate("last", lambda row: row["time"])),
}
OURS = {name: pair[0] for name, pair in AGGREGATES.items()}
THEIRS = {name: pair[1] for name, pair in AGGREGATES.items()}


def column_of(number: float) -> pl.Expr:
    """Give a column of one number: by a single number Polars divides only nearly."""
    return pl.int_range(pl.len()) * 0 + pl.lit(number)


def same(found: object, expected: object) -> bool:
    """Compare two values; floats by their bits, but any NaN equals any other."""
    if isinstance(found, float) and isinstance(expected, float):
        if math.isnan(found) or math.isnan(expected):
            return math.isnan(found) and math.isnan(expected)
        return found == expected and math.copysign(1, found) == math.copysign(1, expected)
    return found == expected


def assert_groups(found: pl.DataFrame, expected: dict, keys: list[str]) -> None:
    """Compare a grouped result with the reference: the same groups, by ascending keys, the same values."""
    rows = rows_of(found)
    assert [tuple(row[key] for key in keys) for row in rows] == sorted(
        expected, key=lambda key: [(part is None, part) for part in key]
    )
    for row in rows:
        for name, value in expected[tuple(row[key] for key in keys)].items():
            assert same(row[name], value), (name, row, value)


@given(data=st.data(), frame=ours.ticks(min_rows=1, price=ours.usual_prices()), condition=ours.conditions())
def test_groups_by_symbol_and_minute_are_those_of_the_reference(data, frame, condition):
    pieces = data.draw(ours.splits(frame.height))
    located = locate(rows_of(logical(frame)))
    expected = group(
        located,
        lambda row: (row["sym"], bucket(row["time"], MINUTE)),
        THEIRS,
        condition=lambda row: ours.holds(condition, row),
    )
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, pieces=pieces, **TICK_KEYS)

        found = table.where(ours.as_ours(condition)).group_by("sym", col("time").bucket("1m")).agg(**OURS)

        assert_groups(found.collect(), expected, ["sym", "time"])


@given(
    frame=ours.ticks(min_rows=1, price=ours.usual_prices()), keys=st.sampled_from(["cond", "flag", "date"])
)
def test_groups_by_any_column_are_those_of_the_reference(frame, keys):
    located = locate(rows_of(logical(frame)))
    expected = group(located, lambda row: (row[keys],), THEIRS)
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, **TICK_KEYS)

        found = table.group_by(keys).agg(**OURS).collect()

        assert_groups(found, expected, [keys])


@given(frame=ours.ticks(min_rows=1, nulls=False, price=ours.usual_prices()))
def test_bars_are_those_of_the_reference(frame):
    expected = bars(rows_of(logical(frame)), 5 * MINUTE)
    by_start = {(symbol, start): values for (_, symbol, start), values in expected.items()}
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, **TICK_KEYS)

        found = table.bars("5m").collect()

        assert_groups(found, by_start, ["sym", "time"])


@given(frame=ours.ticks(min_rows=1), condition=ours.conditions())
def test_where_selects_the_rows_that_polars_selects(frame, condition):
    expected = logical(frame).filter(ours.as_polars(condition)).select(frame.columns)
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, **TICK_KEYS)

        found = table.where(ours.as_ours(condition)).select(*frame.columns).collect()

        assert bits(found) == bits(expected)


@given(frame=ours.ticks(min_rows=1), condition=ours.conditions())
def test_where_selects_the_rows_that_the_reference_selects(frame, condition):
    expected = [row for row in rows_of(logical(frame)) if ours.holds(condition, row)]
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, **TICK_KEYS)

        found = table.where(ours.as_ours(condition)).select("time", "cond", "flag", "size").collect()

        assert rows_of(found) == [
            {name: row[name] for name in ("time", "cond", "flag", "size")} for row in expected
        ]


@given(frame=ours.ticks(min_rows=1))
def test_computed_columns_are_those_of_polars(frame):
    small = frame.with_columns(size=pl.col("size") % 1_000)
    expected = logical(small).select(
        total=pl.col("price") * pl.col("size"),
        ratio=pl.col("price") / column_of(3.0),
        share=pl.col("size") / column_of(7.0),
        shifted=pl.col("size") + 5,
        product=pl.col("size") * pl.col("size"),
        opposite=-pl.col("price"),
        middle=(pl.col("price") - 1.5) / 2,  # the reciprocal of 2 is exact
    )
    ours_too = {
        "total": col("price") * col("size"),
        "ratio": col("price") / 3,
        "share": col("size") / 7,
        "shifted": col("size") + 5,
        "product": col("size") * col("size"),
        "opposite": -col("price"),
        "middle": (col("price") - 1.5) / 2,
    }
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), small, **TICK_KEYS)

        found = table.select(**ours_too).collect()

        assert found.schema == expected.schema
        for name in expected.columns:
            assert all(map(same, found[name], expected[name])), name


@given(frame=ours.ticks(min_rows=1, price=ours.usual_prices()), condition=ours.conditions())
def test_groups_are_those_of_duckdb(frame, condition):
    rows = logical(frame).filter(ours.as_polars(condition))
    query = """
        select sym, count(*) n, count(price) prices, min(price) low, max(price) high, min(size) smallest,
               max(size) largest, sum(size)::bigint volume
        from rows group by sym order by sym nulls last
    """
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.register("rows", rows)
        expected = connection.execute(query).fetchall()
        table = table_of(Path(folder), frame, **TICK_KEYS)
        names = ("n", "prices", "low", "high", "smallest", "largest", "volume")

        found = (
            table.where(ours.as_ours(condition))
            .group_by("sym")
            .agg(**{name: OURS[name] for name in names})
            .collect()
        )

    # DuckDB sums nothing to null, as SQL says; Polars and Colonnade to 0
    assert plain(found).rows() == [(*row[:-1], row[-1] or 0) for row in expected]


@given(frame=ours.ticks(min_rows=1, price=ours.usual_prices()))
def test_groups_are_those_of_polars(frame):
    expected = (
        logical(frame)
        .group_by("sym", pl.col("time").dt.truncate("1m"), maintain_order=True)
        .agg(
            n=pl.len(),
            open=pl.col("price").first(),
            close=pl.col("price").last(),
            low=pl.col("price").min(),
            high=pl.col("price").max(),
            mean_size=pl.col("size").cast(pl.Float64).mean(),
            volume=pl.col("size").sum(),
        )
        .sort("sym", "time", nulls_last=True)
    )
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, **TICK_KEYS)
        names = [name for name in expected.columns if name not in ("sym", "time", "mean_size")]

        found = plain(
            table.group_by("sym", col("time").bucket("1m"))
            .agg(**{name: OURS[name] for name in names})
            .collect()
        )

        assert found.select("sym", "time", *names).rows() == expected.select("sym", "time", *names).rows()


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_quotient_does_not_depend_on_the_number_of_rows(tmp_path, rows):
    frame = pl.DataFrame({"row": range(100), "price": [1_813_500.0] * 100, "size": [1_813_500] * 100})
    table = table_of(tmp_path, frame, date="2024-01-02", sort_by="row").where(col("row") < rows)
    quotients = {"a": col("price") / 10_000, "b": col("size") / 10_000}

    chosen = table.select(**quotients).collect()
    grouped = table.group_by().agg(**{name: quotient.max() for name, quotient in quotients.items()}).collect()

    assert set(chosen.rows()) == {(181.35, 181.35)}
    assert grouped.rows() == [(181.35, 181.35)]


def test_a_sum_outside_int64_is_an_error(tmp_path):
    frame = pl.DataFrame({"row": [0, 1], "size": [2**62, 2**62]})
    table = table_of(tmp_path, frame, date="2024-01-02", sort_by="row")

    with pytest.raises(cn.IntegerOverflowError):
        table.group_by().agg(total=col("size").sum()).collect()


def test_an_empty_result_has_the_full_schema(tmp_path):
    frame = ours.tick_frame([("A", 0, 1.0, 100, "@", True)])
    table = table_of(tmp_path, frame, **TICK_KEYS)

    full, empty = table.collect(), table.where(sym="B").collect()

    assert empty.height == 0
    assert empty.schema == full.schema
    assert table.where(date="1999-01-01").bars("1m").collect().schema == table.bars("1m").collect().schema
