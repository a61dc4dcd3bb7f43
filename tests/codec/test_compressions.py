"""What every encoding and codec must do; a new one adds a class of three lines at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import hypothesis.extra.numpy as npst
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codec.columns import decoded, decoded_texts, encoded, encoded_texts, replaced
from colonnade.errors import ChecksumError, CorruptionError
from colonnade.kernels import isa, set_isa, take_rows, validate_index, verify_blocks

TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
BLOCK_ROWS = [512, 1024, 4096]  # 512: 4 KiB of 8-byte values
COUNTS = [0, 1, 2, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2048, 5000]
AWKWARD_FLOATS = [
    0.0, -0.0, float("inf"), float("-inf"), 5e-324, -5e-324, 2.2250738585072014e-308, 1e300, -1e300,
    0.1 + 0.2, 1 / 3, 187.43, -0.01, 2.0**51, 2.0**53, 9007199254740993.0,
]  # fmt: skip
# A contract's tests run in each class that inherits them, which is what they are for.
inherited = settings(suppress_health_check=[HealthCheck.differing_executors])
NAN_PAYLOADS = [0x7FF8_0000_0000_0000, 0xFFF8_0000_0000_0000, 0x7FF0_0000_0000_0001, 0x7FFF_FFFF_FFFF_FFFF]


def ticks(dtype: str, count: int) -> np.ndarray:
    """Give values as columns have them: prices in cents for floats, small rising numbers for integers."""
    random = np.random.default_rng(7)
    if dtype[0] == "f":
        return (np.round(np.cumsum(random.integers(-2, 3, count)) * 0.01 + 187, 2)).astype(dtype)
    return (np.cumsum(random.integers(0, 3, count)) % 120).astype(dtype)


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


@contextmanager
def instructions(name: str) -> Iterator[None]:
    before = isa()
    set_isa(name)
    try:
        yield
    finally:
        set_isa(before)


class CompressionContract:
    """Inherited by one class for each compression."""

    spec: str

    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("block_rows", BLOCK_ROWS)
    def test_ticks_of_every_type_come_back(self, dtype, block_rows):
        for count in COUNTS:
            values = ticks(dtype, count)
            assert same_bits(decoded(encoded(values, self.spec, block_rows), dtype), values), count

    @pytest.mark.parametrize("dtype", TYPES)
    @inherited
    @given(data=st.data())
    def test_any_values_of_every_type_come_back(self, dtype, data):
        values = data.draw(npst.arrays(dtype, st.integers(0, 1100)))
        block_rows = data.draw(st.sampled_from([16, *BLOCK_ROWS]))
        assert same_bits(decoded(encoded(values, self.spec, block_rows), dtype), values)

    def test_awkward_floats_among_prices_come_back_bit_for_bit(self):
        odd = np.concatenate([np.array(AWKWARD_FLOATS), np.array(NAN_PAYLOADS, dtype="u8").view("f8")])
        values = ticks("f8", 3000)
        values[:: len(values) // len(odd)][: len(odd)] = odd
        assert same_bits(decoded(encoded(values, self.spec, 1024), "f8"), values)

    def test_narrow_nan_payloads_among_prices_come_back_bit_for_bit(self):
        values = ticks("f4", 3000)
        values[[0, 5, 1500, 2999]] = np.array(
            [0x7F80_0001, 0xFFC0_0000, 0x7FFF_FFFF, 0x8000_0000], dtype="u4"
        ).view("f4")
        assert same_bits(decoded(encoded(values, self.spec, 1024), "f4"), values)

    @pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
    def test_extremes_of_integers_come_back(self, dtype):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        values = ticks(dtype, 3000)
        values[[3, 1027, 2050]] = [low, high, low]
        assert same_bits(decoded(encoded(values, self.spec, 1024), dtype), values)

    @inherited
    @given(start=st.integers(0, 3000), stop=st.integers(0, 3000))
    def test_any_range_is_that_range_of_the_whole(self, start, stop):
        start, stop = min(start, stop), max(start, stop)
        values = ticks("f8", 3000)
        assert same_bits(decoded(encoded(values, self.spec, 512), "f8", start, stop), values[start:stop])

    @pytest.mark.parametrize("dtype", TYPES)
    def test_rows_are_taken_in_any_order_and_minus_one_leaves_its_place(self, dtype):
        values = ticks(dtype, 3000)
        rows = np.array([2999, 0, -1, 1024, 1023, 1023, 5], dtype=np.int64)
        out = np.full(len(rows), 77, dtype=dtype)
        take_rows(encoded(values, self.spec, 1024), rows, out)
        assert same_bits(out, np.where(rows < 0, 77, values[rows]).astype(dtype))

    @inherited
    @given(texts=st.lists(st.text(max_size=20), max_size=80), block_rows=st.sampled_from([1, 16, 256]))
    def test_texts_come_back(self, texts, block_rows):
        assert decoded_texts(encoded_texts(texts, self.spec, block_rows)) == texts

    @pytest.mark.parametrize("dtype", TYPES)
    def test_baseline_instructions_write_and_read_the_same(self, dtype):
        values = ticks(dtype, 3000)
        fast = encoded(values, self.spec, 1024)
        with instructions("baseline"):
            slow = encoded(values, self.spec, 1024)
            assert same_bits(slow.stored, fast.stored)
            assert same_bits(decoded(fast, dtype), values)

    def test_encoding_in_two_calls_continues_the_offsets(self):
        values = ticks("i8", 4096)
        whole = encoded(values, self.spec, 1024)
        head, tail = encoded(values[:2048], self.spec, 1024), encoded(values[2048:], self.spec, 1024)
        assert same_bits(np.concatenate([head.stored, tail.stored]), whole.stored)

    def test_index_of_what_was_written_is_valid(self):
        column = encoded(ticks("f8", 3000), self.spec, 1024)
        validate_index(column.index, len(column.stored), 3000, 1024, column.element)
        verify_blocks(column, 0, 3)

    def test_any_flipped_bit_fails_the_checksum_of_its_block(self):
        column = encoded(ticks("i4", 40), self.spec, 16)
        for bit in range(len(column.stored) * 8):
            stored = column.stored.copy()
            stored[bit // 8] ^= 1 << bit % 8
            with pytest.raises(ChecksumError, match="block"):
                verify_blocks(replaced(column, stored=stored), 0, 3)

    @pytest.mark.parametrize("dtype", ["i4", "i8", "f8"])
    def test_any_flipped_bit_gives_values_or_an_error(self, dtype):
        column = encoded(ticks(dtype, 300), self.spec, 512)
        for bit in range(len(column.stored) * 8):
            stored = column.stored.copy()
            stored[bit // 8] ^= 1 << bit % 8
            assert gives_values_or_an_error(replaced(column, stored=stored), dtype)

    @pytest.mark.parametrize("dtype", ["i4", "i8", "f8"])
    def test_any_flipped_bit_of_the_index_gives_values_or_an_error(self, dtype):
        column = encoded(ticks(dtype, 300), self.spec, 512)
        for bit in range(len(column.index) * 8):
            index = column.index.copy()
            index[bit // 8] ^= 1 << bit % 8
            assert gives_values_or_an_error(replaced(column, index=index), dtype)

    @pytest.mark.parametrize("dtype", ["i4", "f8"])
    def test_stretch_cut_at_every_byte_is_an_error(self, dtype):
        column = encoded(ticks(dtype, 300), self.spec, 512)
        for cut in range(len(column.stored)):
            with pytest.raises(CorruptionError):
                decoded(replaced(column, stored=column.stored[:cut]), dtype)

    def test_texts_with_any_flipped_bit_give_texts_or_an_error(self):
        column = encoded_texts(["AAPL", "", "é", "IBM"] * 8, self.spec, 16)
        for bit in range(len(column.stored) * 8):
            stored = column.stored.copy()
            stored[bit // 8] ^= 1 << bit % 8
            assert texts_or_an_error(replaced(column, stored=stored))


def gives_values_or_an_error(column, dtype) -> bool:
    try:
        return len(decoded(column, dtype)) == column.rows
    except CorruptionError:
        return True


def texts_or_an_error(column) -> bool:
    try:
        return len(decoded_texts(column)) == column.rows
    except CorruptionError:
        return True


class TestPlain(CompressionContract):
    spec = "plain"


class TestBitpack(CompressionContract):
    spec = "bitpack"


class TestLz4(CompressionContract):
    spec = "lz4"


class TestHighLz4(CompressionContract):
    spec = "lz4:9"


class TestZstd(CompressionContract):
    spec = "zstd:3"


class TestNegativeZstd(CompressionContract):
    spec = "zstd:-5"


class TestBitpackLz4(CompressionContract):
    spec = "bitpack+lz4"


class TestBitpackZstd(CompressionContract):
    spec = "bitpack+zstd:3"


class TestSnappy(CompressionContract):
    spec = "snappy"


class TestGzip(CompressionContract):
    spec = "gzip:6"


class TestQipc(CompressionContract):
    spec = "qipc"


class TestRuns(CompressionContract):
    spec = "runs"


class TestRunsZstd(CompressionContract):
    spec = "runs+zstd:3"


class TestBytes(CompressionContract):
    spec = "bytes"


class TestBytesZstd(CompressionContract):
    spec = "bytes+zstd:3"


class TestDict(CompressionContract):
    spec = "dict"


class TestDictLz4(CompressionContract):
    spec = "dict+lz4"


class TestPco(CompressionContract):
    spec = "pco:8"


class TestFastPco(CompressionContract):
    spec = "pco:1"
