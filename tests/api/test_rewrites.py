"""Compact, recompress and delete as users call them: plans, what is done, and answers that stay the same."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

import colonnade as cn
from colonnade import col
from query.tick_tables import plain, table_of, ticks

DAY = dt.date(2024, 1, 2)
CONDITIONS = [
    ((), {"date": "2024-01-03"}),
    ((), {"date": cn.last(2)}),
    ((), {"sym": "Z"}),
    ((), {"sym": ["AAPL", "Ä"], "date": "2024-01-04"}),
    ((), {"time": cn.between("09:30", "12:00")}),
    ((), {"time": cn.between("2024-01-02T10:00", "2024-01-03T03:00"), "sym": "a"}),
    ((col("size") > 900,), {}),
    ((col("price") < 100, col("ex") == "N"), {}),
    (((col("date") == "2024-01-02") | (col("sym") == "Z"),), {"small": cn.between(-10, 50)}),
    ((col("size").is_null(),), {}),
    ((col("size") < 0,), {}),
]


@pytest.fixture
def table(tmp_path: Path) -> cn.Table:
    return table_of(tmp_path / "db", ticks(), pieces=3)


@pytest.mark.parametrize(("conditions", "columns"), CONDITIONS)
def test_what_where_finds_is_what_delete_removes(tmp_path, conditions, columns):
    table = table_of(tmp_path / "db", ticks(), pieces=3)
    before = plain(table.collect())
    found = plain(table.where(*conditions, **columns).collect())

    plan = table.delete(*conditions, **columns)
    untouched = table.row_count
    done = plan.apply()

    assert plan.rows == found.height == done["deleted"].sum()
    assert untouched == before.height
    assert plain(table.collect()).equals(
        before.join(found, on="number", how="anti", maintain_order="left"), null_equal=True
    )
    assert cn.open(tmp_path / "db").verify().is_empty()


def test_a_delete_plan_says_dates_and_rows(table):
    plan = table.delete(sym="Z", date=DAY)

    assert plan.frame.columns == ["partition", "rows", "deleted", "parts", "bytes_before", "bytes_after"]
    assert plan.frame["partition"].to_list() == [DAY]
    assert plan.frame["deleted"].sum() == plan.rows > 0
    assert "apply() does it" in repr(plan)


def test_deleting_is_one_version_that_the_one_before_survives(table):
    before = table.collect()
    version = table.version

    table.delete(sym="Z").apply()

    assert table.version == version + 1
    assert table.at(version=version).collect().equals(before, null_equal=True)


def test_delete_without_a_condition_is_refused(table):
    with pytest.raises(cn.PlanError, match="drop_table"):
        table.delete()


def test_a_plan_of_other_columns_is_refused(table):
    plan = table.delete(sym="Z")
    table.rename_column("size", "shares")

    with pytest.raises(cn.ConflictError, match="plan anew"):
        plan.apply()


def test_a_table_at_a_version_is_not_rewritten(table):
    past = table.at(version=1)

    for rewrite in (past.compact, past.recompress, lambda: past.delete(sym="Z")):
        with pytest.raises(cn.PlanError, match="can't change"):
            rewrite()


def test_compacting_leaves_one_part_and_every_answer(table):
    before, bars = table.collect(), table.bars("1h").collect()

    plan = table.compact(dry_run=True)
    done = table.compact()

    assert plan["parts"].to_list() == done["parts"].to_list() == [3, 3, 3]
    assert plan["bytes_after"].null_count() == 3
    assert table.collect().equals(before, null_equal=True)
    assert table.bars("1h").collect().equals(bars, null_equal=True)
    assert table.compact().is_empty()


def test_compacting_takes_dates(table):
    assert table.compact("2024-01-03")["partition"].to_list() == [dt.date(2024, 1, 3)]
    assert table.compact(cn.last(1))["partition"].to_list() == [dt.date(2024, 1, 4)]
    assert table.compact("2024-01")["partition"].to_list() == [DAY]


def test_recompressing_changes_files_and_settings(table):
    plan = table.recompress("zstd:1@4KiB", dry_run=True)
    done = table.recompress("zstd:1@4KiB")
    table.append(ticks(100, seed=2))

    assert plan.drop("bytes_after").equals(done.drop("bytes_after"))
    assert done["after"].unique().to_list() == ["zstd:1@4KiB"]
    assert done["bytes_after"].null_count() == 0
    assert set(table.info()["compression"]) == {"zstd:1@4KiB"}  # of rows that came later, too
    assert table.recompress("zstd:1@4KiB").is_empty()


def test_recompressed_rows_are_the_rows(table):
    before = table.collect()

    table.recompress("zstd:1@4KiB")

    assert table.collect().equals(before, null_equal=True)


def test_some_columns_and_dates_are_recompressed_and_the_settings_stay(table):
    done = table.recompress("lz4", columns=["price", "size"], date="2024-01-03")

    assert done["column"].to_list() == ["price", "size"]
    assert done["partition"].unique().to_list() == [dt.date(2024, 1, 3)]
    back = table.recompress()  # what the settings say
    assert back["column"].to_list() == ["price", "size"]
    assert set(back["before"]) == {"lz4:1"}


def test_a_mapping_leaves_the_columns_that_it_does_not_name(table):
    assert table.recompress({"price": "lz4", "size": (17, 5, 3)})["column"].unique().sort().to_list() == [
        "price",
        "size",
    ]
    assert set(table.recompress({"default": "plain", "price": "lz4"})["column"]) >= {"sym", "time", "ex"}


def test_a_goal_chooses_and_writes_down_what_it_chose(table):
    done = table.recompress(goal="smallest")

    info = table.info().filter(pl.col("partition") == DAY)
    assert "auto" not in set(info["compression"])
    assert done["bytes_after"].null_count() == 0
    assert table.recompress(goal="smallest").is_empty()


def test_old_dates_are_recompressed_by_age(table):
    age = (dt.datetime.now(dt.UTC).date() - DAY).days

    def dates(older_than: str) -> set[dt.date]:
        return set(table.recompress("zstd:9", older_than=older_than, dry_run=True)["partition"])

    assert dates("30d") == {DAY, dt.date(2024, 1, 3), dt.date(2024, 1, 4)}
    assert dates(f"{age - 1}d") == {DAY}
    assert dates(f"{age}d") == set()
    with pytest.raises(cn.PlanError, match="whole days"):
        dates("90m")


def test_progress_comes_in_bytes_and_ends_with_all(table):
    seen: list[tuple[int, int]] = []

    table.compact(progress=lambda done, total: seen.append((done, total)))
    table.recompress("zstd:9", progress=lambda done, total: seen.append((done, total)))
    table.delete(sym="Z").apply(progress=lambda done, total: seen.append((done, total)))

    assert all(0 <= done <= total for done, total in seen)
    assert sum(done == total for done, total in seen) >= 3


def test_a_wrong_word_is_refused(table):
    with pytest.raises(cn.CompressionError):
        table.recompress("zip")
    with pytest.raises(cn.CompressionError, match="goal"):
        table.recompress(goal="best")
    with pytest.raises(cn.ColumnNotFoundError):
        table.recompress("lz4", columns="prise")
    with pytest.raises(cn.SchemaError, match="durability"):
        table.compact(durability="none")


def test_replacing_takes_the_place_of_all_rows_of_the_dates(table):
    other = ticks(50, days=1, seed=9)

    table.replace(other)

    assert table.where(date=DAY).collect().height == 50
    assert table.partitions["date"].to_list() == [DAY, dt.date(2024, 1, 3), dt.date(2024, 1, 4)]
    with pytest.raises(cn.PlanError, match="can't change"):
        table.at(version=1).replace(other)
