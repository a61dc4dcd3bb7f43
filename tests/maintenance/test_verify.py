from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from colonnade.maintenance.verify import Finding, verify
from colonnade.schema import ColumnType, Schema
from colonnade.store.column_layout import HEADER_BYTES
from colonnade.store.table_source import close_columns, open_source
from colonnade.store.version import Addition, Edits, TableStore
from store.rows import DAY, KINDS, column, new_table, trades, write


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    close_columns()
    return new_table(tmp_path / "db", trades(3_000), compression="bitpack@4KiB")


def findings(table: TableStore) -> list[Finding]:
    return verify(open_source(table.path), threads=1).findings


def path_of(table: TableStore, name: str) -> Path:
    return next(table.path.glob(f"date=*/part-*/{name}-*"))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize("compression", ["plain", "plain@4KiB", "bitpack@4KiB", "bitpack+zstd:1", "lz4"])
def test_nothing_is_wrong_with_what_was_just_written(tmp_path: Path, compression: str) -> None:
    schema = Schema({kind: ColumnType.parse(kind) for kind in KINDS})
    frame = pl.DataFrame({kind: column(kind, 9_000, nulls=0.1) for kind in KINDS})

    result = verify(
        open_source(new_table(tmp_path / "db", frame, schema=schema, compression=compression).path)
    )

    assert result.findings == []
    assert (result.partitions, result.rows, result.files) == (1, 9_000, len(KINDS))


def test_every_damaged_block_is_found_and_named(table: TableStore) -> None:
    flip(path_of(table, "price"), HEADER_BYTES + 10)
    flip(path_of(table, "size"), HEADER_BYTES + 10)

    found = findings(table)

    assert [(one.table, one.partition, one.column, one.block) for one in found] == [
        ("trade", "2024-01-02", "price", 0),
        ("trade", "2024-01-02", "size", 0),
    ]
    assert {one.error for one in found} == {"ChecksumError"}


def test_damage_is_found_though_the_block_was_read_before_by_this_process(table: TableStore) -> None:
    path = path_of(table, "price")
    open_source(table.path).partition(DAY).parts[0].column("price").read(0, 3_000)
    descriptor = os.open(path, os.O_RDWR)
    os.pwrite(descriptor, b"\xff\xff", HEADER_BYTES + 10)
    os.close(descriptor)

    assert [(one.column, one.block) for one in findings(table)] == [("price", 0)]


def test_a_file_that_is_gone_is_found(table: TableStore) -> None:
    path_of(table, "cond").unlink()

    assert [(one.column, one.error) for one in findings(table)] == [("cond", "StaleVersionError")]


def test_a_manifest_that_is_damaged_is_found(table: TableStore) -> None:
    flip(next(table.path.glob("date=*/manifest-*")), 100)

    assert [(one.partition, one.column, one.error) for one in findings(table)] == [
        ("2024-01-02", None, "ChecksumError")
    ]


@pytest.mark.parametrize("name", ["date=*/manifest-*", "versions/*"])
def test_documents_are_read_again_though_this_process_knows_them(table: TableStore, name: str) -> None:
    source = open_source(table.path)
    assert verify(source, threads=1).findings == []
    flip(next(table.path.glob(name)), 100)

    (found,) = verify(source, threads=1).findings

    assert found.error == "ChecksumError"


def test_a_manifest_that_tells_other_values_is_found(table: TableStore) -> None:
    part = table.manifest(table.current(), DAY).parts[0]
    wrong = replace(part.columns["price"], values_hash=1)
    columns = {**part.columns, "price": wrong}
    table.commit(table.current(), Edits(replaced={DAY: Addition((replace(part, columns=columns),))}))

    assert [(one.column, one.error) for one in findings(table)] == [("price", "HeaderError")]


def test_bounds_of_the_sort_key_that_are_wrong_are_found(table: TableStore) -> None:
    part = replace(table.manifest(table.current(), DAY).parts[0], sort_max=7)
    table.commit(table.current(), Edits(replaced={DAY: Addition((part,))}))

    (found,) = findings(table)

    assert "sort key" in found.problem


def test_rows_that_are_not_sorted_are_found(tmp_path: Path) -> None:
    unsorted = Schema(trades_schema().columns)
    table = new_table(tmp_path / "db", trades(100).reverse(), schema=unsorted)
    part = replace(table.manifest(table.current(), DAY).parts[0], sort_min=0, sort_max=99_000)
    table.commit(
        table.current(),
        Edits(schema=replace(unsorted, sort_by="time"), replaced={DAY: Addition((part,))}),
    )

    (found,) = findings(table)

    assert "descends at row 1" in found.problem


def trades_schema() -> Schema:
    return Schema({name: ColumnType.of_polars(dtype) for name, dtype in trades(1).schema.items()})


def test_the_good_partitions_are_read_beside_the_bad(table: TableStore) -> None:
    part = write(table, trades(500), day=DAY + 1)
    table.commit(table.current(), Edits(created={DAY + 1: Addition((part,))}))
    next(table.path.glob("date=2024-01-02/manifest-*")).unlink()

    result = verify(open_source(table.path))

    assert (result.partitions, result.rows) == (2, 500)
    assert [one.partition for one in result.findings] == ["2024-01-02"]
