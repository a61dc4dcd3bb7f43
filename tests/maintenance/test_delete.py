"""Rows deleted by number: only the parts that hold some are written, and all dates are one commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from colonnade.errors import ConflictError
from colonnade.maintenance import delete as module
from colonnade.maintenance.alter import add_column
from colonnade.maintenance.compact import compact
from colonnade.maintenance.delete import delete, plan_deletion
from colonnade.maintenance.verify import verify
from colonnade.schema import ColumnType, Schema
from colonnade.store.table_source import StoredTable, open_source
from colonnade.store.version import Addition, Edits, TableStore
from store.rows import DAY, KINDS, append, column, new_table, trades, write


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    table = TableStore(new_table(tmp_path / "db", trades(300), compression="zstd:1@4KiB").path, durable=False)
    append(table, trades(50, seed=2))
    other = write(table, trades(20, seed=3), day=DAY + 1)
    table.commit(table.current(), Edits(created={DAY + 1: Addition((other,))}))
    return table


def all_dates(source: StoredTable) -> list[int]:
    return source.values.tolist()


def where(name: str, wanted: Callable[[pl.Series], pl.Series]) -> module.Matches:
    def matches(source: StoredTable, value: int, part: int) -> np.ndarray:
        stored = source.partition(value).parts[part]
        values = stored.column(name).read(0, stored.row_count)
        if values.dtype == pl.Categorical:
            values = values.cast(pl.String)
        return wanted(values).fill_null(value=False).to_numpy()

    return matches


def rows_of(table: TableStore, value: int = DAY) -> pl.DataFrame:
    source = open_source(table.path)
    frames = [
        pl.DataFrame({name: part.column(name).read(0, part.row_count) for name in source.schema.columns})
        for part in source.partition(value).parts
    ]
    return pl.concat(frames).with_columns(pl.col(pl.Categorical).cast(pl.String))


def folders(table: TableStore) -> set[str]:
    return {path.name for path in table.path.glob("date=*/part-*")}


BIG = where("size", lambda size: size > 2_500)


def test_rows_go_and_the_others_stay_as_they_were(table: TableStore) -> None:
    before = rows_of(table)

    done = delete(table, all_dates, BIG)

    assert rows_of(table).equals(before.filter(pl.col("size") <= 2_500))
    assert done[0].deleted == before.height - rows_of(table).height
    assert verify(open_source(table.path)).findings == []
    parts = table.manifest(table.current(), DAY).parts
    assert [part.sequence for part in parts] == [(1, 1), (2, 2)]
    assert str(parts[0].columns["price"].compression) == "zstd:1@4KiB"


def test_a_plan_says_what_deleting_does_and_changes_nothing(table: TableStore) -> None:
    planned = plan_deletion(open_source(table.path), all_dates, BIG)
    version, left = table.current().number, folders(table)

    done = delete(table, all_dates, BIG)

    assert (version, len(left)) == (3, 3)
    assert [(one.value, one.rows, one.deleted, one.parts) for one in planned] == [
        (one.value, one.rows, one.deleted, one.parts) for one in done
    ]
    assert all(one.bytes_after is None for one in planned)


def test_all_dates_are_one_version(table: TableStore) -> None:
    done = delete(table, all_dates, BIG)

    assert [one.value for one in done] == [DAY, DAY + 1]
    assert table.current().number == 4


def test_parts_without_matches_are_not_written(table: TableStore) -> None:
    kept = table.manifest(table.current(), DAY).parts[1]
    price = rows_of(table)["price"][0]

    (done,) = delete(table, all_dates, where("price", lambda prices: prices == price))

    assert (done.deleted, done.parts) == (1, 1)
    assert table.manifest(table.current(), DAY).parts[1] == kept


def test_a_part_and_a_date_without_rows_go(table: TableStore) -> None:
    def second_part_and_second_date(source: StoredTable, value: int, part: int) -> np.ndarray:
        count = source.partition(value).parts[part].row_count
        return np.full(count, value > DAY or part == 1)

    delete(table, all_dates, second_part_and_second_date)

    version = table.current()
    assert version.values.tolist() == [DAY]
    assert version.row_counts.tolist() == [300]
    assert len(folders(table)) == 3  # older versions still have theirs


def test_nothing_matches_and_nothing_is_done(table: TableStore) -> None:
    assert delete(table, all_dates, where("size", lambda size: size < 0)) == []
    assert table.current().number == 3


def test_symbols_that_no_row_has_any_more_are_gone(table: TableStore) -> None:
    delete(table, lambda _: [DAY], where("sym", lambda sym: sym == "S001"))

    (first, _) = open_source(table.path).partition(DAY).parts
    assert "S001" not in first.column("sym").dictionary.to_list()
    assert first.column("sym").find_code("S000") == 0


def test_every_type_comes_through(tmp_path: Path) -> None:
    schema = Schema({kind: ColumnType.parse(kind) for kind in KINDS})
    frame = pl.DataFrame([column(kind, 2_000, nulls=0.2).alias(kind) for kind in KINDS])
    table = new_table(tmp_path / "db", frame, schema=schema, compression="zstd:1@4KiB")
    keep = np.random.default_rng(4).random(2_000) < 0.7

    delete(table, all_dates, lambda *_: ~keep)

    assert rows_of(table).equals(frame.filter(pl.Series(keep)), null_equal=True)
    assert verify(open_source(table.path)).findings == []


def test_rows_are_cut_into_stretches(table: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STRETCH_ROWS", 7)
    before = rows_of(table)

    delete(table, all_dates, BIG)

    assert rows_of(table).equals(before.filter(pl.col("size") <= 2_500))


def test_what_is_appended_meanwhile_stays_and_what_is_merged_is_done_again(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.rewrite
    steps = [lambda: append(table, trades(40, seed=8)), lambda: compact(table, DAY)]

    def disturbed(*arguments: object, **named: object) -> object:
        if steps:
            steps.pop(0)()
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "rewrite", disturbed)
    delete(table, all_dates, BIG)

    rows = rows_of(table)
    assert (rows["size"] <= 2_500).all()  # the second look finds the appended rows, too
    named = {part.folder for value in (DAY, DAY + 1) for part in table.manifest(table.current(), value).parts}
    old = {
        part.folder
        for number in range(1, table.current().number)
        for part in table.manifest(table.read(number), DAY).parts
    } | {table.manifest(table.read(3), DAY + 1).parts[0].folder}
    assert folders(table) == named | old


def test_a_change_of_the_schema_ends_in_a_conflict(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.rewrite

    def disturbed(*arguments: object, **named: object) -> object:
        if "note" not in table.current().schema.columns:
            add_column(table, "note", ColumnType("string"))
            compact(table, DAY)
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "rewrite", disturbed)
    before = rows_of(table).height

    with pytest.raises(ConflictError):
        delete(table, all_dates, BIG)

    assert rows_of(table).height == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_nothing(
    table: TableStore, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    real = module.rewrite
    calls = 0

    def interrupted(*arguments: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise error
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "rewrite", interrupted)
    before = folders(table)

    with pytest.raises(error):
        delete(table, all_dates, BIG)

    assert folders(table) == before
    assert table.current().number == 3
