"""What was ingested comes back, bit for bit, whatever the types, the compressions and the pieces."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colonnade as cn
import strategies as ours
from databases import TICK_KEYS, bits, logical, plain, table_of

GIVEN_DATE = {"date": "2024-01-02", "partition_by": "trading_date", "sort_by": "row"}


@given(frame=ours.frames_of_every_type(), compression=ours.compressions())
def test_every_type_comes_back_bit_for_bit(frame, compression):
    with tempfile.TemporaryDirectory() as folder:
        kinds = {kind: kind for kind in ours.DECLARED_KINDS}
        table = table_of(Path(folder), frame, compression=compression, types=kinds, **GIVEN_DATE)

        found = table.collect()

        assert bits(found.select(frame.columns)) == bits(frame)


@given(data=st.data(), frame=ours.ticks(min_rows=1), compression=ours.compressions())
def test_rows_come_back_in_logical_order_after_appends(data, frame, compression):
    pieces = data.draw(ours.splits(frame.height))
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, pieces=pieces, compression=compression, **TICK_KEYS)

        found = table.collect()

        assert bits(found.select(frame.columns)) == bits(logical(frame).select(frame.columns))


@given(frame=ours.ticks(min_rows=1, max_rows=15))
def test_rows_without_keys_keep_the_order_of_arrival(frame):
    frame = frame.rename({"sym": "a", "time": "b"})  # keys are guessed from names such as these
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, date="2024-01-02")

        assert bits(table.collect().select(frame.columns)) == bits(frame)


@given(data=st.data(), frame=ours.ticks(min_rows=1))
def test_rows_by_number_are_those_of_the_whole_table(data, frame):
    numbers = data.draw(st.lists(st.integers(0, frame.height - 1), max_size=10))
    pieces = data.draw(ours.splits(frame.height))
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), frame, pieces=pieces, **TICK_KEYS)

        found = table.rows(numbers)

        assert bits(found.select(frame.columns)) == bits(logical(frame)[numbers].select(frame.columns))


@pytest.mark.parametrize("compression", ["plain", "bitpack", "zstd:1", "bitpack+zstd:3", "bitpack@4KiB"])
def test_strange_floats_come_back_bit_for_bit(tmp_path, compression):
    patterns = [
        0x7FF8_0000_0000_0001,  # NaN with a payload
        0xFFF8_DEAD_BEEF_0001,  # negative NaN with a payload
        0x7FF0_0000_0000_0001,  # a signalling NaN
        0x8000_0000_0000_0000,  # -0.0
        0x0000_0000_0000_0001,  # the smallest denormal
        0x7FF0_0000_0000_0000,  # infinity
        0xFFF0_0000_0000_0000,
        np.float64(1e300).view(np.uint64).item(),
        np.float64(0.1).view(np.uint64).item(),
        np.float64(0.30000000000000004).view(np.uint64).item(),
    ]
    values = np.array(patterns * 300, dtype=np.uint64).view(np.float64)
    frame = pl.DataFrame({"row": np.arange(len(values)), "value": values})

    table = table_of(tmp_path, frame, compression=compression, **GIVEN_DATE)

    found = table.collect()["value"].to_numpy()
    assert found.view(np.uint64).tolist() == values.view(np.uint64).tolist()


def test_more_than_65536_symbols_are_kept_apart(tmp_path):
    names = [f"S{number}" for number in range(70_000)]
    frame = pl.DataFrame(
        {"sym": names[::-1], "time": np.zeros(70_000, dtype="datetime64[ns]"), "n": range(70_000)}
    )

    table = table_of(tmp_path, frame, **TICK_KEYS)

    found = table.collect()
    assert found["sym"].cast(pl.String).to_list() == sorted(names)
    assert table.where(sym="S65537").collect()["n"].to_list() == [70_000 - 1 - 65_537]
    assert table.group_by("sym").agg(n=cn.len()).collect().height == 70_000


def test_integers_above_2_to_the_53_are_summed_exactly(tmp_path):
    sizes = [2**53 + 1, 2**60 + 3, -(2**59) - 7]
    frame = pl.DataFrame({"row": [0, 1, 2], "size": sizes})
    table = table_of(tmp_path, frame, **GIVEN_DATE)

    found = table.group_by().agg(total=cn.col("size").sum(), low=cn.col("size").min()).collect()

    assert found.row(0) == (sum(sizes), min(sizes))


def test_parts_without_a_common_symbol_keep_their_symbols(tmp_path):
    rows = [("B", 2, 0.0, 1, None, None), ("A", 1, 0.0, 2, None, None), (None, 0, 0.0, 3, None, None)]
    frame = ours.tick_frame(rows)
    table = table_of(tmp_path, frame, pieces=[(2, 3), (0, 1), (1, 2)], **TICK_KEYS)

    found = plain(table.collect())

    assert found.select("sym", "size").rows() == [("A", 2), ("B", 1), (None, 3)]
    assert table.where(sym="B").collect()["size"].to_list() == [1]
