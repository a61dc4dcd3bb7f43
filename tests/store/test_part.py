from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from colonnade.errors import NotPartedError, SchemaError, UnsortedError
from colonnade.schema import ColumnType, Schema
from colonnade.store.database import DatabaseStore
from colonnade.store.table_source import open_source
from colonnade.store.version import TableStore
from store.rows import DAY, TRADES, new_table, trades, write


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    return DatabaseStore.create(tmp_path / "db", durable=False).table("trade")


def leftovers(table: TableStore) -> list[Path]:
    return [path for path in table.path.rglob("*") if path.name.startswith("part-")]


@pytest.mark.parametrize("chunk_rows", [1, 7, 1_000, 3_000])
def test_chunks_of_any_size_make_the_same_part(tmp_path: Path, chunk_rows: int) -> None:
    frame = trades(3_000 if chunk_rows > 1 else 300)
    table = new_table(tmp_path / "db", frame)

    entry = write(table, frame, chunks=frame.iter_slices(chunk_rows))

    whole = table.manifest(table.current(), DAY).parts[0]
    assert {name: column.values_hash for name, column in entry.columns.items()} == {
        name: column.values_hash for name, column in whole.columns.items()
    }
    assert (entry.sort_min, entry.sort_max) == (0, 1_000 * (len(frame) - 1))


def test_runs_tell_where_each_symbol_lies(tmp_path: Path) -> None:
    frame = trades(3_000)
    table = new_table(tmp_path / "db", frame)
    part = open_source(table.path).partition(DAY).parts[0]

    runs = part.runs

    assert runs is not None
    symbols = part.column("sym").dictionary
    assert symbols is not None
    for run in runs:
        rows = frame["sym"][int(run["first_row"]) : int(run["first_row"] + run["row_count"])]
        assert (rows == symbols[int(run["code"])]).all()
    assert runs["row_count"].sum() == 3_000


def test_a_run_goes_on_over_the_end_of_a_chunk(tmp_path: Path) -> None:
    frame = trades(100, symbols=1)
    table = new_table(tmp_path / "db", frame)

    write(table, frame, chunks=frame.iter_slices(30))

    runs = open_source(table.path).partition(DAY).parts[0].runs
    assert runs is not None
    assert len(runs) == 1


def test_null_symbols_come_last(tmp_path: Path) -> None:
    frame = pl.concat([trades(10), trades(5, start=100).with_columns(sym=pl.lit(None, dtype=pl.String))])

    table = new_table(tmp_path / "db", frame)

    part = open_source(table.path).partition(DAY).parts[0]
    assert part.column("sym").read(0, 15).cast(pl.String).equals(frame["sym"], null_equal=True)
    assert part.runs is not None
    assert part.runs["code"][-1] == 0xFFFF_FFFF


def test_rows_out_of_time_order_within_a_symbol_leave_nothing(table: TableStore) -> None:
    frame = trades(100, symbols=1)
    swapped = frame[np.r_[0:50, 51, 50, 52:100]]

    with pytest.raises(UnsortedError, match="row 51"):
        write(table, swapped)
    with pytest.raises(UnsortedError, match="row 51"):
        write(table, swapped, chunks=swapped.iter_slices(51))

    assert leftovers(table) == []


def test_time_may_go_back_where_the_symbol_changes(table: TableStore) -> None:
    frame = pl.concat(
        [trades(10, symbols=1, start=1_000), trades(10, symbols=1).with_columns(sym=pl.lit("T"))]
    )

    entry = write(table, frame, chunks=frame.iter_slices(10))

    assert (entry.sort_min, entry.sort_max) == (0, 1_009_000)


def test_symbols_that_do_not_lie_together_leave_nothing(table: TableStore) -> None:
    frame = trades(100)
    mixed = pl.concat([frame, frame])

    with pytest.raises(NotPartedError, match="row 100"):
        write(table, mixed)

    assert leftovers(table) == []


def test_a_null_sort_key_is_refused(table: TableStore) -> None:
    frame = trades(3).with_columns(time=pl.Series([0, None, 2]).cast(pl.Datetime("ns")))

    with pytest.raises(SchemaError, match="null"):
        write(table, frame)


def test_columns_in_another_order_are_refused(table: TableStore) -> None:
    with pytest.raises(SchemaError, match="in this order"):
        write(table, trades(3).select("time", "sym", "price", "size", "cond"))


def test_column_names_of_any_kind_are_stored(tmp_path: Path) -> None:
    names = ["a/b", "..", "A", "a", "é" * 200, "x.col", "", "a b"]
    schema = Schema({name: ColumnType("int64") for name in names})
    frame = pl.DataFrame(
        {name: [number] for number, name in enumerate(names)}, schema_overrides={"": pl.Int64}
    )

    table = new_table(tmp_path / "db", frame, schema=schema)

    part = open_source(table.path).partition(DAY).parts[0]
    assert [part.column(name).read(0, 1)[0] for name in names] == list(range(len(names)))


def test_sort_keys_above_int64_are_clipped_in_the_bounds(table: TableStore) -> None:
    schema = Schema({"k": ColumnType("uint64")}, sort_by="k")
    frame = pl.DataFrame({"k": pl.Series([1, 2**63, 2**64 - 1], dtype=pl.UInt64)})

    entry = write(table, frame, schema=schema)

    assert (entry.sort_min, entry.sort_max) == (1, 2**63 - 1)


def test_without_keys_the_order_of_arrival_is_kept(tmp_path: Path) -> None:
    schema = Schema(TRADES.columns)
    frame = trades(100).reverse()

    table = new_table(tmp_path / "db", frame, schema=schema)

    part = open_source(table.path).partition(DAY).parts[0]
    assert part.runs is None
    assert part.column("time").read(0, 100).equals(frame["time"])
