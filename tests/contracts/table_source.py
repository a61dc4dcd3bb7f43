"""What every source of a table must do for queries; a new one inherits the suite and says how it is made."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import strategies as ours
from colonnade.errors import ColumnNotFoundError, NotFoundError
from colonnade.kernels import decode_rows, decode_string_rows, validate_index
from colonnade.kernels.column_input import element_of
from colonnade.schema import SYMBOL_NULL, ColumnType, Schema
from colonnade.store.source import HAS_NAN, HAS_ZONE_MAP, BlockSource, PartSource, TableSource
from databases import bits

DAYS = (-400, 0, 19_724)
ROWS = 5_000  # several blocks of 4 KiB
COLUMNS = {
    "sym": ColumnType("symbol"),
    "time": ColumnType("timestamp"),
    "price": ColumnType("float64"),
    "small": ColumnType("float32"),
    "size": ColumnType("int64"),
    "lots": ColumnType("int16"),
    "id": ColumnType("uint64"),
    "flag": ColumnType("bool"),
    "letter": ColumnType("char"),
    "cond": ColumnType("symbol"),
    "note": ColumnType("string"),
    "day": ColumnType("date"),
    "clock": ColumnType("time"),
    "wait": ColumnType("timespan"),
    "seen": ColumnType("timestamp", "America/New_York"),
}
SCHEMA = Schema(COLUMNS, part_by="sym", sort_by="time", date_column="time")
NULLABLE = [name for name in COLUMNS if name != "time"]


def rows_of_a_part(day: int, part: int, rows: int) -> pl.DataFrame:
    """Make the rows of one part in logical order, a canonical frame; nulls in every column but the time."""
    random = np.random.default_rng([day + 1_000, part])
    symbols = np.array(["AAPL", "BRK A", "Z€", f"P{part}"])
    price = np.round(random.normal(100, 5, rows), 2)
    price[::101] = np.nan
    start = day * ours.DAY_NS
    frame = pl.DataFrame(
        {
            "sym": random.choice(symbols, rows),
            "time": (start + random.integers(0, ours.DAY_NS, rows)).astype("datetime64[ns]"),
            "price": price,
            "small": price.astype(np.float32),
            "size": random.integers(-(2**60), 2**60, rows),
            "lots": random.integers(-300, 300, rows).astype(np.int16),
            "id": random.integers(0, 2**64, rows, dtype=np.uint64),
            "flag": random.random(rows) < 0.5,
            "letter": random.choice(list("ABZ"), rows),
            "cond": random.choice(["@", " O  ", ""], rows),
            "note": random.choice(["", "a", "ein längerer Text " * 3], rows),
            "day": pl.Series(random.integers(-90_000, 90_000, rows).astype(np.int32)).cast(pl.Date),
            "clock": pl.Series(random.integers(0, ours.DAY_NS, rows)).cast(pl.Time),
            "wait": pl.Series(random.integers(-(10**12), 10**12, rows)).cast(pl.Duration("ns")),
            "seen": pl.Series(random.integers(0, 2**61, rows)).cast(pl.Datetime("ns", "America/New_York")),
        }
    )
    holes = [
        pl.when(pl.Series(random.random(rows) < 0.1)).then(None).otherwise(pl.col(name)).alias(name)
        for name in NULLABLE
    ]
    return frame.with_columns(holes).sort("sym", "time", nulls_last=True, maintain_order=True)


Partitions = Mapping[int, Sequence[pl.DataFrame]]


class TableSourceContract:
    """The suite; a subclass gives `make`."""

    @classmethod
    def make(cls, folder: Path, schema: Schema, partitions: Partitions) -> TableSource:
        """Store the parts of each date, and open the table."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def partitions(cls) -> Partitions:
        return {
            day: [rows_of_a_part(day, part, rows) for part, rows in enumerate((ROWS, 1, 700)[: index + 1])]
            for index, day in enumerate(DAYS)
        }

    @pytest.fixture(scope="class")
    @classmethod
    def source(cls, partitions, tmp_path_factory) -> TableSource:
        return cls.make(tmp_path_factory.mktemp("source"), SCHEMA, partitions)

    @pytest.fixture(scope="class")
    @classmethod
    def parts(cls, source, partitions) -> list[tuple[PartSource, pl.DataFrame]]:
        """Every part beside the rows that were stored in it."""
        return [
            (part, frame)
            for day, frames in partitions.items()
            for part, frame in zip(source.partition(day).parts, frames, strict=True)
        ]

    def columns(self, parts) -> list[tuple[str, BlockSource, pl.Series]]:
        return [(name, part.column(name), frame[name]) for part, frame in parts for name in COLUMNS]

    def test_dates_ascend_and_rows_are_counted(self, source, partitions):
        assert source.values.dtype == np.int32
        assert source.values.tolist() == sorted(partitions)
        assert source.row_counts.tolist() == [sum(map(len, partitions[day])) for day in sorted(partitions)]

    def test_bounds_of_the_sort_key_hold_all_rows(self, source, partitions):
        for position, day in enumerate(sorted(partitions)):
            times = pl.concat([frame["time"] for frame in partitions[day]]).to_physical()
            assert source.sort_min[position] <= times.min()
            assert source.sort_max[position] >= times.max()

    def test_a_date_without_partition_is_an_error(self, source):
        with pytest.raises(NotFoundError):
            source.partition(DAYS[0] - 1)

    def test_the_schema_is_that_of_the_table(self, source):
        assert dict(source.schema.columns) == COLUMNS
        assert (source.schema.part_by, source.schema.sort_by) == ("sym", "time")

    def test_parts_come_by_sequence(self, source, partitions):
        for day in partitions:
            partition = source.partition(day)
            sequences = [part.sequence for part in partition.parts]
            assert partition.value == day
            assert partition.row_count == sum(part.row_count for part in partition.parts)
            assert sequences == sorted(sequences)
            assert all(first <= last for first, last in sequences)

    def test_bounds_of_a_part_are_those_of_its_rows(self, source, partitions):
        for date in partitions:
            for part in source.partition(date).parts:
                if part.sort_bounds is None:
                    continue
                keys = part.column(source.schema.sort_by).read(0, part.row_count).to_physical()
                assert part.sort_bounds == (keys.min(), keys.max())

    def test_runs_tile_the_part_by_ascending_symbols(self, parts):
        for part, frame in parts:
            runs = part.runs
            symbols = part.column("sym").dictionary
            names = [None if code == SYMBOL_NULL else symbols[int(code)] for code in runs["code"]]
            assert_array_equal(np.cumsum(runs["row_count"])[:-1], runs["first_row"][1:])
            assert runs["first_row"][0] == 0
            assert runs["row_count"].sum() == part.row_count
            assert (np.diff(runs["code"].astype(np.int64)) > 0).all()
            assert names == frame["sym"].unique(maintain_order=True).to_list()

    def test_dictionaries_are_sorted_by_bytes(self, parts):
        for name, column, expected in self.columns(parts):
            if COLUMNS[name].kind != "symbol":
                assert column.dictionary is None
                continue
            values = column.dictionary.to_list()
            assert values == sorted(set(values), key=lambda value: value.encode())
            assert set(values) >= set(expected.drop_nulls())

    def test_an_unknown_column_is_an_error_that_names_it(self, parts):
        with pytest.raises(ColumnNotFoundError) as caught:
            parts[0][0].column("prise")

        assert caught.value.name == "prise"

    def test_every_column_reads_as_it_was_stored(self, parts):
        for name, column, expected in self.columns(parts):
            found = column.read(0, len(expected))
            assert found.dtype == COLUMNS[name].polars_type
            assert bits(pl.DataFrame({name: found})) == bits(pl.DataFrame({name: expected}))

    @pytest.mark.parametrize(("start", "stop"), [(0, 1), (0, 0), (511, 513), (1_023, 4_097), (4_999, 5_000)])
    def test_a_range_reads_as_that_slice(self, parts, start, stop):
        for name, column, expected in self.columns(parts[:1]):
            found = column.read(start, stop)
            assert bits(pl.DataFrame({name: found})) == bits(pl.DataFrame({name: expected[start:stop]}))

    def test_rows_are_taken_in_any_order_and_minus_one_is_null(self, parts):
        rows = np.array([4_999, 0, -1, 17, 17, 2_048], dtype=np.int64)
        for name, column, expected in self.columns(parts[:1]):
            found = column.take(rows)
            wanted = expected.gather(pl.Series([None if row < 0 else row for row in rows.tolist()]))
            assert bits(pl.DataFrame({name: found})) == bits(pl.DataFrame({name: wanted}))

    def test_blocks_tile_the_rows(self, parts):
        for _, column, expected in self.columns(parts):
            rows = column.index["rows"].astype(np.int64)
            assert rows.sum() == column.row_count == len(expected)
            assert (rows[:-1] == column.block_rows).all()
            assert column.block_rows & (column.block_rows - 1) == 0

    def test_blocks_count_their_nulls(self, parts):
        for name, column, expected in self.columns(parts):
            edges = np.cumsum([0, *column.index["rows"]])
            nulls = [expected[int(a) : int(b)].null_count() for a, b in itertools.pairwise(edges)]
            assert column.index["null_count"].tolist() == nulls, name

    def test_zone_maps_hold_every_value_of_their_block(self, parts):
        for name, column, expected in self.columns(parts):
            kind = COLUMNS[name]
            if not kind.has_fixed_width or kind.kind in ("symbol", "char", "bool"):
                continue
            edges = np.cumsum([0, *column.index["rows"]])
            bounds = {"f": "<f8", "u": "<u8", "i": "<i8"}[kind.numpy_type.kind]
            low, high = (np.ascontiguousarray(column.index[side]).view(bounds) for side in ("min", "max"))
            for block, (start, stop) in enumerate(itertools.pairwise(edges)):
                values = expected[int(start) : int(stop)].to_physical().drop_nulls().to_numpy()
                numbers = values[~np.isnan(values)] if kind.numpy_type.kind == "f" else values
                flags = int(column.index["flags"][block])
                assert bool(flags & HAS_NAN) >= (len(numbers) < len(values)), name
                if flags & HAS_ZONE_MAP and len(numbers):
                    assert low[block] <= numbers.min(), name
                    assert high[block] >= numbers.max(), name

    def test_kernels_decode_what_was_stored(self, parts):
        for name, column, expected in self.columns(parts):
            kind = COLUMNS[name]
            if not kind.has_fixed_width or kind.kind in ("symbol", "char"):
                continue
            entry = column.kernel_input()
            out = np.zeros(len(expected), dtype=kind.numpy_type)
            decode_rows(entry, 0, len(expected), out)
            valid = expected.is_not_null().to_numpy()
            physical = expected.cast(pl.UInt8) if kind.kind == "bool" else expected.to_physical()
            wanted = physical.fill_null(0).to_numpy().astype(kind.numpy_type)
            assert entry.element == element_of(kind.numpy_type)
            assert out[valid].tobytes() == wanted[valid].tobytes(), name
            assert not out[~valid].any(), name

    def test_kernels_decode_texts(self, parts):
        for part, frame in parts:
            entry = part.column("note").kernel_input()
            offsets, content = decode_string_rows(entry, 0, len(frame))
            texts = [content[a:b].decode() for a, b in itertools.pairwise(offsets)]
            assert texts == frame["note"].fill_null("").to_list()

    def test_kernel_inputs_name_the_nulls(self, parts):
        for name, column, expected in self.columns(parts):
            entry = column.kernel_input()
            assert entry.null_code == COLUMNS[name].null_code
            if entry.null_code is not None:
                assert entry.validity is None
            elif entry.validity is None:
                assert expected.null_count() == 0
            else:
                bitmap = np.unpackbits(entry.validity, bitorder="little")[: len(expected)]
                assert_array_equal(bitmap.astype(bool), expected.is_not_null().to_numpy())

    def test_indexes_are_valid(self, parts):
        for _, column, expected in self.columns(parts):
            entry = column.kernel_input()
            validate_index(entry.index, len(entry.stored), len(expected), entry.block_rows, entry.element)

    def test_a_source_survives_another_process(self, source):
        copied = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own bytes

        assert (copied.name, copied.version) == (source.name, source.version)
        assert copied.row_counts.tolist() == source.row_counts.tolist()


def canonical_dictionaries(schema: Schema, frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Give the sorted symbols of each symbol column."""
    names = [name for name, kind in schema.columns.items() if kind.kind == "symbol"]
    return {name: frame[name].drop_nulls().unique().sort() for name in names}
