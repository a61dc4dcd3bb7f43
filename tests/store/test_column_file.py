from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from colonnade.codec.compression import Compression
from colonnade.errors import (
    ChecksumError,
    ColumnTypeError,
    CorruptionError,
    HeaderError,
    SchemaError,
    TruncatedError,
    UnsupportedVersionError,
)
from colonnade.schema import ColumnType
from colonnade.store import column_layout
from colonnade.store.column_file import ColumnFile
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.entries import ColumnEntry
from colonnade.store.source import BLOCK_INDEX, RUNS
from store.rows import KINDS, column

COMPRESSIONS = (
    "plain", "plain@4KiB", "lz4@4KiB", "zstd:1", "bitpack", "bitpack@4KiB", "bitpack+zstd:3", "snappy",
    "gzip:1", "qipc@4KiB", "pco:4@64KiB", "bytes+lz4@4KiB", "dict@16KiB", "dict+zstd:1", "runs@4KiB",
)  # fmt: skip


def write_column(
    path: Path, values: pl.Series, kind: str, compression: str = "plain", *, chunk_rows: int = 70_001
) -> ColumnEntry:
    column_type = ColumnType.parse(kind)
    symbols = values.drop_nulls().unique().sort() if kind == "symbol" else None
    writer = ColumnWriter(path, "x", column_type, Compression.parse(compression), symbols=symbols)
    for start in range(0, len(values), chunk_rows):
        writer.add(values[start : start + chunk_rows])
    return writer.finish(durable=False)


def expected(values: pl.Series, kind: str) -> pl.Series:
    return values.cast(ColumnType.parse(kind).polars_type)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nulls", [0.0, 0.1, 1.0])
def test_every_type_comes_back_under_every_compression(
    tmp_path: Path, kind: str, compression: str, nulls: float
) -> None:
    values = column(kind, 10_000, nulls=nulls)

    entry = write_column(tmp_path / "x.col", values, kind, compression)
    opened = ColumnFile(str(tmp_path / "x.col"), entry, 10_000)

    assert opened.read(0, 10_000).equals(expected(values, kind), null_equal=True, check_dtypes=True)
    assert opened.read(777, 8_999).equals(expected(values, kind)[777:8_999], null_equal=True)
    assert entry.null_count == values.null_count()
    assert entry.stored_bytes == (tmp_path / "x.col").stat().st_size


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_picked_in_any_order(tmp_path: Path, kind: str) -> None:
    values = column(kind, 10_000, nulls=0.2)
    entry = write_column(tmp_path / "x.col", values, kind, "zstd:1@4KiB")
    rows = np.array([9_999, 0, -1, 5_000, 5_000, 1])

    picked = ColumnFile(str(tmp_path / "x.col"), entry, 10_000).take(rows)

    wanted = expected(values, kind).gather(pl.Series([9_999, 0, None, 5_000, 5_000, 1], dtype=pl.Int64))
    assert picked.equals(wanted, null_equal=True, check_dtypes=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_hash_depends_on_neither_compression_nor_the_cut_of_chunks(tmp_path: Path, kind: str) -> None:
    values = column(kind, 150_000, nulls=0.1)

    entries = [
        write_column(tmp_path / f"{number}.col", values, kind, compression, chunk_rows=chunk_rows)
        for number, (compression, chunk_rows) in enumerate(
            [("plain", 150_000), ("plain@4KiB", 1_000), ("bitpack+zstd:1", 99_999)]
        )
    ]

    assert len({entry.values_hash for entry in entries}) == 1
    assert len({entry.plain_bytes for entry in entries}) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nulls", [0.0, 0.1])
def test_stored_rows_are_copied_without_their_meaning(tmp_path: Path, kind: str, nulls: float) -> None:
    values = column(kind, 50_000, nulls=nulls)
    entry = write_column(tmp_path / "x.col", values, kind, "zstd:1@4KiB")
    source = ColumnFile(str(tmp_path / "x.col"), entry, 50_000)
    writer = ColumnWriter(
        tmp_path / "y.col", "x", entry.type, Compression.parse("bitpack"), symbols=source.dictionary
    )

    for start in range(0, 50_000, 33_333):
        writer.add_stored(source.read_stored(start, min(start + 33_333, 50_000)))
    copied = writer.finish(durable=False)

    assert (copied.values_hash, copied.null_count) == (entry.values_hash, entry.null_count)
    copy = ColumnFile(str(tmp_path / "y.col"), copied, 50_000)
    assert copy.read(0, 50_000).equals(expected(values, kind), null_equal=True, check_dtypes=True)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_blocks_of_text_that_claim_more_than_the_manifest_says_are_refused(
    tmp_path: Path, compression: str
) -> None:
    values = pl.Series(["@ TI", "", "Zürich"] * 1_000)
    entry = write_column(tmp_path / "x.col", values, "string", compression)
    ColumnFile(str(tmp_path / "x.col"), entry, len(values))
    less = replace(entry, plain_bytes=0)
    with pytest.raises(HeaderError, match="more than the"):
        ColumnFile(str(tmp_path / "x.col"), less, len(values))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_floats_come_back_bit_for_bit(tmp_path: Path, compression: str) -> None:
    bits = np.array(
        [
            0x7FF8000000000123,
            0xFFF0000000000000,
            0x8000000000000000,
            1,
            0x7FEFFFFFFFFFFFFF,
            0x7FF0000000000001,
        ],
        dtype=np.uint64,
    )
    values = pl.Series(np.concatenate([np.tile(bits, 1_000).view(np.float64), [1e300, 0.1, 123.45]]))

    entry = write_column(tmp_path / "x.col", values, "float64", compression)
    read = ColumnFile(str(tmp_path / "x.col"), entry, len(values)).read(0, len(values))

    assert np.array_equal(read.to_numpy().view(np.uint64), values.to_numpy().view(np.uint64))


def test_a_plain_column_is_one_aligned_stretch_of_its_values(tmp_path: Path) -> None:
    values = column("int64", 300_000)

    write_column(tmp_path / "x.col", values, "int64", "plain")

    mapped = np.memmap(
        tmp_path / "x.col", dtype="<i8", mode="r", offset=column_layout.HEADER_BYTES, shape=300_000
    )
    assert column_layout.HEADER_BYTES % 64 == 0
    assert np.array_equal(mapped, values.to_numpy())


def test_an_empty_column_comes_back(tmp_path: Path) -> None:
    for number, kind in enumerate(KINDS):
        path = tmp_path / f"{number}.col"
        entry = write_column(path, column(kind, 0), kind, "bitpack")

        assert len(ColumnFile(str(path), entry, 0).read(0, 0)) == 0


@pytest.mark.parametrize("kind", ["symbol", "string", "float64"])
@pytest.mark.parametrize("compression", ["plain@4KiB", "bitpack+zstd:3@4KiB"])
def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path, kind: str, compression: str) -> None:
    path = tmp_path / "x.col"
    entry = write_column(path, column(kind, 700, nulls=0.1), kind, compression)
    content = path.read_bytes()

    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(TruncatedError):
            ColumnFile(str(path), entry, 700)
        cut = replace(entry, stored_bytes=length)  # as if the manifest agreed with the cut
        with pytest.raises(CorruptionError):
            ColumnFile(str(path), cut, 700)


@pytest.mark.parametrize("kind", ["symbol", "string", "float64"])
@pytest.mark.parametrize("compression", ["plain@4KiB", "bitpack+zstd:3@4KiB"])
def test_a_flipped_bit_is_found_or_changes_no_value(tmp_path: Path, kind: str, compression: str) -> None:
    path = tmp_path / "x.col"
    values = column(kind, 700, nulls=0.1)
    entry = write_column(path, values, kind, compression)
    content = path.read_bytes()
    wanted = expected(values, kind)
    found = 0

    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << (position % 8)
        path.unlink()
        path.write_bytes(damaged)
        try:
            read = ColumnFile(str(path), entry, 700).read(0, 700)
        except (CorruptionError, UnsupportedVersionError):
            found += 1
        else:
            assert read.equals(wanted, null_equal=True)

    assert found >= len(content) - 4 * 64  # only the padding before sections is free


def test_every_bit_of_header_and_footer_is_guarded(tmp_path: Path) -> None:
    path = tmp_path / "x.col"
    entry = write_column(path, column("int16", 10), "int16")
    content = path.read_bytes()
    guarded = [*range(column_layout.HEADER_BYTES), *range(len(content) - 256, len(content))]

    for position in guarded:
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            path.unlink()
            path.write_bytes(damaged)
            with pytest.raises((CorruptionError, UnsupportedVersionError)):
                ColumnFile(str(path), entry, 10)


def test_a_damaged_block_is_named_with_all_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "x.col"
    entry = write_column(path, column("int64", 5_000), "int64", "plain@4KiB")
    content = bytearray(path.read_bytes())
    content[64 + 3 * 4_096 + 5] ^= 1
    path.write_bytes(content)
    opened = ColumnFile(str(path), entry, 5_000, {"table": "trade", "partition": "2024-01-02", "column": "x"})

    assert len(opened.read(0, 1_000)) == 1_000
    with pytest.raises(ChecksumError) as caught:
        opened.read(0, 5_000)

    assert caught.value.where == {"table": "trade", "partition": "2024-01-02", "column": "x", "block": 3}


def test_a_newer_format_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "x.col"
    entry = write_column(path, column("int64", 10), "int64")
    content = bytearray(path.read_bytes())
    content[8] = column_layout.FORMAT + 1
    path.write_bytes(content)

    with pytest.raises(UnsupportedVersionError, match="format 3"):
        ColumnFile(str(path), entry, 10)


def test_a_file_of_another_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.col"
    entry = write_column(path, column("int64", 10), "int64")

    with pytest.raises(HeaderError):
        ColumnFile(str(path), replace(entry, values_hash=1), 10)
    with pytest.raises(HeaderError):
        ColumnFile(str(path), replace(entry, type=ColumnType("uint64")), 10)
    with pytest.raises(HeaderError):
        ColumnFile(str(path), entry, 11)


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    entry = write_column(tmp_path / "x.col", column("int64", 10), "int64")
    (tmp_path / "link.col").symlink_to(tmp_path / "x.col")

    with pytest.raises(HeaderError, match="symbolic link"):
        ColumnFile(str(tmp_path / "link.col"), entry, 10)


def test_values_of_another_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ColumnTypeError, match="came as Int32"):
        write_column(tmp_path / "x.col", pl.Series([1], dtype=pl.Int32), "int64")


@pytest.mark.parametrize("wrong", ["", "AB", "€", "\0"])
def test_text_that_is_no_char_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(SchemaError, match="char"):
        write_column(tmp_path / "x.col", pl.Series(["A", wrong]), "char")


def test_every_char_of_one_byte_comes_back(tmp_path: Path) -> None:
    values = pl.Series([chr(byte) for byte in range(1, 256)])

    entry = write_column(tmp_path / "x.col", values, "char")

    assert ColumnFile(str(tmp_path / "x.col"), entry, 255).read(0, 255).equals(values)


def test_codes_are_found_in_the_dictionary_of_the_file(tmp_path: Path) -> None:
    values = pl.Series(["b", "a", "é", "z", None, "", "a\0b"])
    entry = write_column(tmp_path / "x.col", values, "symbol")
    opened = ColumnFile(str(tmp_path / "x.col"), entry, 7)

    symbols = opened.dictionary

    assert symbols is not None
    assert symbols.to_list() == sorted(values.drop_nulls().to_list(), key=str.encode)
    assert [opened.find_code(symbol) for symbol in symbols] == list(range(len(symbols)))
    assert opened.find_code("c") is None
    assert opened.find_code("zz") is None


def test_more_symbols_than_16_bits_hold_come_back(tmp_path: Path) -> None:
    values = pl.Series([f"S{number}" for number in range(70_000)])

    entry = write_column(tmp_path / "x.col", values, "symbol", "bitpack")

    assert ColumnFile(str(tmp_path / "x.col"), entry, 70_000).read(0, 70_000).cast(pl.String).equals(values)


def test_the_layout_is_that_of_format_2() -> None:
    """Readers of the format go by these numbers; a change needs a new format number."""
    assert column_layout.MAGIC == b"COLONNAD"
    assert (column_layout.FORMAT, column_layout.HEADER_BYTES, column_layout.FOOTER_BYTES) == (2, 64, 256)
    assert column_layout.write_header()[:12] == b"COLONNAD\x02\x00\x40\x00"
    assert BLOCK_INDEX.itemsize == 48
    assert RUNS.itemsize == 24
    assert {name: BLOCK_INDEX.fields[name][1] for name in BLOCK_INDEX.names} == {
        "offset": 0, "stored_bytes": 8, "rows": 12, "crc32c": 16, "null_count": 20, "encoding": 24,
        "codec": 25, "flags": 26, "encoded_bytes": 28, "min": 32, "max": 40,
    }  # fmt: skip
