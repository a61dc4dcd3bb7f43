"""Rows in any order come out in logical order, from memory and merged from runs alike."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colonnade as cn
from colonnade.ingest import sort
from colonnade.ingest.sort import Sorter
from colonnade.schema import ColumnType, Schema

COLUMNS = {"sym": ColumnType("symbol"), "time": ColumnType("int64"), "n": ColumnType("int64")}
SCHEMAS = [
    Schema(COLUMNS, part_by="sym", sort_by="time"),
    Schema(COLUMNS, part_by="sym"),
    Schema(COLUMNS, sort_by="time"),
    Schema(COLUMNS),
]
SYMBOLS = st.sampled_from([None, "", "A", "AA", "B", "a", "é", "龙", "\U0001f600"])
ROWS = st.lists(st.tuples(st.integers(-2, 2), SYMBOLS, st.integers(-9, 9)), min_size=1, max_size=60)


def expected(rows: list[tuple], schema: Schema) -> list[tuple]:
    def key(row: tuple) -> tuple:
        days, symbol, time, _ = row
        by_symbol = (symbol is None, (symbol or "").encode()) if schema.part_by else ()
        return (days, by_symbol, time if schema.sort_by else 0)

    return sorted(((*row, number) for number, row in enumerate(rows)), key=key)


def result(rows: list[tuple], schema: Schema, *, memory_bytes: int, chunk: int) -> list[tuple]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        sorter = Sorter(schema, Path(folder) / "sort", memory_bytes)
        for start in range(0, len(rows), chunk):
            part = rows[start : start + chunk]
            frame = pl.DataFrame(
                {
                    "sym": pl.Series([row[1] for row in part], dtype=pl.String),
                    "time": [row[2] for row in part],
                    "n": range(start, start + len(part)),
                }
            )
            sorter.add(frame, pl.Series([row[0] for row in part], dtype=pl.Int32))
        for partition in sorter.partitions():
            frame = pl.concat(list(partition.frames))
            assert frame.height == partition.row_count
            symbols = sorted({s for s in frame["sym"] if s is not None}, key=str.encode)
            assert partition.dictionaries["sym"].to_list() == symbols
            found += [(partition.days, *row) for row in frame.rows()]
        sorter.close()
        assert not (Path(folder) / "sort").exists()
    return found


@pytest.mark.parametrize("schema", SCHEMAS, ids=["both keys", "part key", "sort key", "no key"])
@given(rows=ROWS, chunk=st.integers(1, 20))
def test_rows_in_memory_come_in_logical_order(schema, rows, chunk):
    assert result(rows, schema, memory_bytes=1 << 30, chunk=chunk) == expected(rows, schema)


@pytest.mark.parametrize("schema", SCHEMAS, ids=["both keys", "part key", "sort key", "no key"])
@given(rows=ROWS, chunk=st.integers(1, 20), limit=st.integers(1, 30))
def test_rows_merged_from_runs_come_in_logical_order(schema, rows, chunk, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort, "_BATCH_ROWS", limit)
        patch.setattr(sort, "_SAMPLE_ROWS", 4)

        found = result(rows, schema, memory_bytes=64, chunk=chunk)

    assert found == expected(rows, schema)


def test_many_symbols_are_sorted_by_their_bytes(tmp_path):
    names = [f"S{number:05}" for number in range(70_000)]
    frame = pl.DataFrame({"sym": names[::-1], "time": [0] * 70_000, "n": range(70_000)})
    sorter = Sorter(SCHEMAS[0], tmp_path / "sort", 1 << 30)
    sorter.add(frame, pl.Series([0] * 70_000, dtype=pl.Int32))

    (partition,) = sorter.partitions()

    assert pl.concat(list(partition.frames))["sym"].to_list() == names


@pytest.mark.parametrize("by", ["time", "sym", "shuffled"])
def test_frames_of_many_chunks_are_stored_as_one_of_one_chunk_is(tmp_path, by):
    rows = 60_000
    numbers = np.random.default_rng(1).permutation(rows) if by == "shuffled" else np.arange(rows)
    frame = pl.DataFrame(
        {
            "time": pl.Series(numbers * 1_000_000_000 // 4 + 1_704_153_600_000_000_000).cast(
                pl.Datetime("ns")
            ),
            "sym": [f"S{number * (7 if by == 'time' else 1) // 9_000 % 5}" for number in numbers.tolist()],
            "id": pl.Series(numbers),
        }
    )
    chunked = pl.concat([frame.slice(at, 1_037) for at in range(0, rows, 1_037)], rechunk=False)
    found = []
    for number, one in enumerate((frame.rechunk(), chunked)):
        db = cn.create(tmp_path / str(number))
        db.ingest("trade", one, part_by="sym", sort_by="time")
        found.append(db["trade"].collect())

    assert found[0].equals(found[1])
    assert found[0]["id"].to_list() == frame.sort("sym", "time", maintain_order=True)["id"].to_list()
