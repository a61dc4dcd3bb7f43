"""Decimals, months, minutes, seconds, guids and lists in queries, beside Polars and exact arithmetic."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import colonnade as cn
from colonnade import col
from colonnade.errors import ColonnadeError, ColumnTypeError, PlanError, UnsupportedQueryError

ROWS = 3_000
DAY = "2024-01-02"
TYPES = {"id": "guid", "month": "month", "minute": "minute", "second": "second"}
PRICE = pl.Decimal(18, 2)


def rows(seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    cents = random.integers(-5_000, 20_000, ROWS).tolist()
    return pl.DataFrame(
        {
            "sym": random.choice(["A", "B", "C"], ROWS),
            "time": pl.Series(np.sort(random.integers(0, 86_400 * 10**9, ROWS))).cast(pl.Time),
            "price": pl.Series(
                [None if at % 97 == 0 else Decimal(cent).scaleb(-2) for at, cent in enumerate(cents)],
                dtype=PRICE,
            ),
            "id": [
                str(uuid.UUID(int=number)) if number % 5 else None
                for number in random.integers(0, 99, ROWS).tolist()
            ],
            "month": [dt.date(2024, month, 1) for month in random.integers(1, 13, ROWS).tolist()],
            "minute": pl.Series(random.integers(0, 1440, ROWS) * 60_000_000_000).cast(pl.Time),
            "second": pl.Series(random.integers(0, 86_400, ROWS) * 1_000_000_000).cast(pl.Time),
            "marks": [
                None if count == 3 else ["x"] * count for count in random.integers(0, 5, ROWS).tolist()
            ],
            "size": random.integers(1, 500, ROWS),
        }
    )


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return rows().sort("sym", "time", maintain_order=True)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    db = cn.create(tmp_path_factory.mktemp("types") / "db")
    db.ingest("trade", rows(), part_by="sym", sort_by="time", date=DAY, types=TYPES)
    return db["trade"]


CONDITIONS = {
    "a decimal": (col("price") == 12.5, pl.col("price") == Decimal("12.50")),
    "between two decimals": (col("price") > 12.345, pl.col("price") >= Decimal("12.35")),
    "equal to none": (col("price") == 12.345, pl.lit(value=False)),
    "different from one that can't be": (col("price") != 12.345, pl.col("price").is_not_null()),
    "decimals": (col("price").is_in([1.5, 2, 3.333]), pl.col("price").is_in([Decimal("1.5"), Decimal(2)])),
    "above every decimal": (col("price") < 1e30, pl.col("price").is_not_null()),
    "below every decimal": (col("price") < -(10**18), pl.lit(value=False)),
    "a month": (col("month") == "2024-03", pl.col("month") == dt.date(2024, 3, 1)),
    "months": (col("month") >= "2024-11", pl.col("month") >= dt.date(2024, 11, 1)),
    "a minute": (col("minute") < "09:30", pl.col("minute") < dt.time(9, 30)),
    "a second": (col("second") >= "23:59:00", pl.col("second") >= dt.time(23, 59)),
    "a guid": (col("id") == str(uuid.UUID(int=7)).upper(), pl.col("id") == str(uuid.UUID(int=7))),
    "guids": (col("id").is_in([uuid.UUID(int=7)]), pl.col("id") == str(uuid.UUID(int=7))),
    "no list": (col("marks").is_null(), pl.col("marks").is_null()),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_rows_are_those_that_polars_finds(table: Any, frame: pl.DataFrame, name: str) -> None:
    ours, theirs = CONDITIONS[name]

    found = table.where(ours).select(*frame.columns).collect(symbols="string")

    assert_frame_equal(found, frame.filter(theirs))


@pytest.mark.parametrize("name", CONDITIONS)
def test_groups_count_the_rows_that_polars_finds(table: Any, frame: pl.DataFrame, name: str) -> None:
    ours, theirs = CONDITIONS[name]

    found = table.where(ours).group_by("sym").agg(n=cn.len()).collect(symbols="string")

    assert dict(found.rows()) == dict(frame.filter(theirs).group_by("sym").len().rows())


@pytest.mark.parametrize("key", ["price", "month", "minute", "second", "id"])
def test_values_are_keys(table: Any, frame: pl.DataFrame, key: str) -> None:
    found = table.group_by(key).agg(total=col("size").sum()).collect(symbols="string")

    expected = frame.group_by(key).agg(total=pl.col("size").sum()).sort(key, nulls_last=True)
    assert_frame_equal(found.sort(key, nulls_last=True), expected)


def test_decimals_are_aggregated_exactly(table: Any, frame: pl.DataFrame) -> None:
    price = col("price")
    found = (
        table.group_by("sym")
        .agg(n=price.count(), total=price.sum(), mean=price.mean(), low=price.min(), last=price.last())
        .collect(symbols="string")
    )

    for sym, n, total, mean, low, last in found.rows():
        values = frame.filter(pl.col("sym") == sym)["price"]
        known = values.drop_nulls().to_list()
        assert (n, total, low, last) == (len(known), sum(known), min(known), values[-1])
        assert mean == float(Fraction(sum(known)) / len(known))


@pytest.mark.parametrize("scale", [2, 8, 18])
def test_a_mean_of_decimals_is_rounded_once(tmp_path: Path, scale: int) -> None:
    random = np.random.default_rng(scale)
    wholes = random.integers(-(10**18) + 1, 10**18, 400).tolist()
    values = pl.Series([Decimal(whole).scaleb(-scale) for whole in wholes], dtype=pl.Decimal(18, scale))
    frame = pl.DataFrame({"key": np.arange(400) // 7, "value": values})
    db = cn.create(tmp_path / "db")
    db.ingest("t", frame, date=DAY)

    found = db["t"].group_by("key").agg(mean=col("value").mean(), total=col("value").sum()).collect()

    for key, mean, total in found.rows():
        mine = wholes[7 * key : 7 * key + 7]
        assert mean == sum(mine) / (len(mine) * 10**scale)
        assert total == Decimal(sum(mine)).scaleb(-scale)


def test_bars_of_decimals_keep_them(table: Any, frame: pl.DataFrame) -> None:
    found = table.where(sym="A").bars("1h").collect()

    mine = frame.filter(pl.col("sym") == "A", pl.col("time") < dt.time(1))
    assert found["open"][0] == mine["price"][0]
    assert found["high"][0] == mine["price"].max()
    assert found.schema["close"] == PRICE


def test_a_weighted_mean_of_decimals_is_that_of_floats(table: Any, frame: pl.DataFrame) -> None:
    floats = frame.with_columns(pl.col("price").cast(pl.Float64))
    found = table.group_by("sym").agg(vwap=col("price").wavg(col("size"))).collect(symbols="string")

    weight = pl.col("size").filter(pl.col("price").is_not_null()).sum()
    expected = floats.group_by("sym").agg(vwap=(pl.col("price") * pl.col("size")).sum() / weight).sort("sym")
    assert_frame_equal(found, expected, rel_tol=1e-12)


def test_lists_are_counted_and_picked_by_row(table: Any, frame: pl.DataFrame) -> None:
    found = table.group_by().agg(n=col("marks").count()).collect().item()

    assert found == frame["marks"].count()
    assert table.rows([7, 3])["marks"].to_list() == frame["marks"].gather([7, 3]).to_list()


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda table: table.group_by("marks").agg(n=cn.len()), ColumnTypeError),
        (lambda table: table.group_by("sym").agg(x=col("marks").first()), ColumnTypeError),
        (lambda table: table.where(marks="x"), PlanError),
        (lambda table: table.where(id="7"), PlanError),
        (lambda table: table.where(price="7"), PlanError),
        (lambda table: table.where(month="2024-13"), PlanError),
        (lambda table: table.select(x=col("price").bucket("1m")), ColonnadeError),
    ],
)
def test_what_makes_no_sense_is_refused(table: Any, ask: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        ask(table)


def test_calculated_decimals_of_too_many_digits_are_refused(tmp_path: Path) -> None:
    large = pl.Series([Decimal(10) ** 17], dtype=pl.Decimal(18, 0))
    db = cn.create(tmp_path / "db")
    db.ingest("t", pl.DataFrame({"a": large, "n": [10**6]}), date=DAY)

    with pytest.raises(UnsupportedQueryError, match="18 digits"):
        db["t"].group_by().agg(x=(col("a") * col("n")).sum()).collect()


def test_keys_that_rows_are_sorted_by_are_kept_as_kernels_compare_them(tmp_path: Path) -> None:
    frame = pl.DataFrame({"minute": [dt.time(9, 30)], "x": [1]})

    with pytest.raises(ColumnTypeError, match="sort_by"):
        cn.create(tmp_path / "db").ingest(
            "t", frame, date=DAY, sort_by="minute", part_by=None, types={"minute": "minute"}
        )
