"""Columns that a part lacks or holds narrower, beside column files that hold the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from colonnade.codec.compression import Compression
from colonnade.errors import HeaderError
from colonnade.kernels import decode_rows, decode_string_rows, kernel_array
from colonnade.maintenance.verify import verify
from colonnade.schema import ColumnType
from colonnade.store.column_file import ColumnFile
from colonnade.store.column_values import canonical_type
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.older_parts import WidenedColumn, absent_column
from colonnade.store.schema_change import widens
from colonnade.store.table_source import open_source
from colonnade.store.version import Addition, Edits
from colonnade.store.zone_map import zone_bounds
from store.rows import DAY, KINDS, column, new_table, trades

ROWS = 40_001  # three blocks of an absent column


def stored(folder: Path, values: pl.Series, kind: str) -> ColumnFile:
    symbols = values.drop_nulls().unique().sort() if kind == "symbol" else None
    writer = ColumnWriter(
        folder / f"{kind.partition('[')[0]}.col",
        "x",
        ColumnType.parse(kind),
        Compression.parse("bitpack"),
        symbols=symbols,
    )
    writer.add(values)
    return ColumnFile(str(writer.path), writer.finish(durable=False), len(values))


@pytest.mark.parametrize("kind", KINDS)
def test_an_absent_column_is_what_a_file_of_nulls_is(tmp_path: Path, kind: str) -> None:
    kept = ColumnType.parse(kind)
    nulls = pl.Series([None], dtype=canonical_type(kept)).new_from_index(0, ROWS)
    file, absent = stored(tmp_path, nulls, kind), absent_column(kept, ROWS)
    rows = np.array([0, -1, ROWS - 1, 20_000], dtype=np.int64)

    for start, stop in ((0, ROWS), (16_383, 16_385), (7, 7), (ROWS - 1, ROWS)):
        assert absent.read(start, stop).equals(file.read(start, stop))
        ours, theirs = absent.read_stored(start, stop), file.read_stored(start, stop)
        assert_array_equal(ours.values, theirs.values)
        assert (ours.valid is None) == (theirs.valid is None)
        assert_array_equal(ours.valid, theirs.valid) if ours.valid is not None else None
    assert absent.take(rows).equals(file.take(rows))
    assert absent.index["null_count"].sum() == ROWS
    assert not zone_bounds(absent.index, kept)[2].any()
    assert (absent.dictionary is None) == (file.dictionary is None)
    assert absent.find_code("x") is None


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_read_an_absent_column(kind: str) -> None:
    kept = ColumnType.parse(kind)
    absent = absent_column(kept, ROWS)
    source = absent.kernel_input()

    if kept.has_fixed_width:
        values = np.ones(ROWS - 5, dtype=kept.numpy_type)
        decode_rows(source, 5, ROWS, kernel_array(values))
        assert_array_equal(values, absent.read_stored(5, ROWS).values)
    else:
        offsets, content = decode_string_rows(source, 5, ROWS)
        assert (len(offsets), len(content)) == (ROWS - 4, 0)
    assert source.null_code is not None or not source.validity.any()
    assert source.null_code is None or source.validity is None


@pytest.mark.parametrize("rows", [0, 1, 16_384, 16_385])
def test_an_absent_column_of_any_length_is_all_null(rows: int) -> None:
    absent = absent_column(ColumnType("float64"), rows)
    values = np.empty(rows, dtype=np.float64)
    decode_rows(absent.kernel_input(), 0, rows, values)

    assert absent.read(0, rows).null_count() == rows
    assert absent.index["rows"].sum() == rows


def test_rows_outside_an_absent_column_are_refused() -> None:
    absent = absent_column(ColumnType("float64"), 10)

    with pytest.raises(ValueError, match="out of range"):
        absent.read(0, 11)
    with pytest.raises(ValueError, match="out of range"):
        absent.take(np.array([10]))


PAIRS = [
    (narrow, wide)
    for narrow in KINDS
    for wide in KINDS
    if widens(ColumnType.parse(narrow), ColumnType.parse(wide))
]


def test_every_widening_is_of_numbers_to_more_bits_and_none_goes_back() -> None:
    assert len(PAIRS) == 16
    for narrow, wide in PAIRS:
        before, after = ColumnType.parse(narrow).numpy_type, ColumnType.parse(wide).numpy_type
        assert np.can_cast(before, after, "safe")
        assert after.itemsize > before.itemsize
        assert (wide, narrow) not in PAIRS


@pytest.mark.parametrize(("narrow", "wide"), PAIRS)
def test_a_widened_column_is_what_a_file_of_the_wider_type_is(tmp_path: Path, narrow: str, wide: str) -> None:
    values = column(narrow, ROWS, nulls=0.1)
    kind = ColumnType.parse(wide)
    number = ColumnType.parse(narrow).numpy_type
    limits = np.finfo(number) if number.kind == "f" else np.iinfo(number)
    values = pl.concat([pl.Series([limits.min, limits.max], dtype=values.dtype), values[2:]])
    widened = WidenedColumn(stored(tmp_path, values, narrow), kind)
    file = stored(tmp_path, values.cast(kind.polars_type), wide)
    rows = np.array([0, -1, ROWS - 1, 1], dtype=np.int64)

    assert widened.read(0, ROWS).equals(file.read(0, ROWS))
    assert widened.take(rows).equals(file.take(rows))
    ours, theirs = widened.read_stored(1, ROWS), file.read_stored(1, ROWS)
    assert_array_equal(ours.values, theirs.values)
    assert_array_equal(ours.valid, theirs.valid)
    low, high, known = zone_bounds(widened.index, kind)
    assert known.all()
    assert (low.min(), high.max()) == (
        values.cast(kind.polars_type).min(),
        values.cast(kind.polars_type).max(),
    )


@pytest.mark.parametrize("key", ["sym", "time"])
def test_a_part_without_a_key_is_damage_and_not_null(tmp_path: Path, key: str) -> None:
    table = new_table(tmp_path / "db", trades(100))
    base = table.current()
    part = table.manifest(base, DAY).parts[0]
    lacking = replace(part, columns={name: entry for name, entry in part.columns.items() if name != key})
    table.commit(base, Edits(replaced={DAY: Addition((lacking,))}))

    with pytest.raises(HeaderError, match="lacks the column"):
        open_source(table.path).partition(DAY).parts[0].column(key)
    assert {finding.column for finding in verify(open_source(table.path)).findings} == {key}
