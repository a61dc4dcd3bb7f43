"""What the index says of a block, and what `validate_index` refuses."""

from __future__ import annotations

import numpy as np
import pytest

from codec.columns import decoded, encoded, replaced
from colonnade.errors import CorruptionError, HeaderError, TruncatedError
from colonnade.kernels import decode_rows, hash_values, set_isa, take_rows, validate_index, verify_blocks
from colonnade.store.source import BLOCK_INDEX

HAS_NAN, HAS_ZONE_MAP = 1, 2


def entries(column):
    return column.index.view(BLOCK_INDEX)


def test_entry_has_rows_offsets_and_range_of_each_block():
    index = entries(encoded(np.arange(-5, 2_500, dtype="i8"), "plain", 1024))
    assert index["rows"].tolist() == [1024, 1024, 457]
    assert index["offset"].tolist() == [0, 8192, 16384]
    assert index["min"].view("i8").tolist() == [-5, 1019, 2043]
    assert index["max"].view("i8").tolist() == [1018, 2042, 2499]
    assert (index["flags"] == HAS_ZONE_MAP).all()


def test_range_leaves_out_nulls_and_counts_them():
    values = np.array([0, 7, 0, 9], dtype="i4")
    index = entries(encoded(values, "bitpack", 1024, validity=np.array([0b1010], dtype="u1")))
    assert index["null_count"].tolist() == [2]
    assert (index["min"].view("i8")[0], index["max"].view("i8")[0]) == (7, 9)


def test_range_leaves_out_the_null_code_and_counts_it():
    values = np.array([3, 0xFFFF_FFFF, 9], dtype="u4")
    index = entries(encoded(values, "bitpack", 1024, null_code=0xFFFF_FFFF))
    assert index["null_count"].tolist() == [1]
    assert (index["min"].view("u8")[0], index["max"].view("u8")[0]) == (3, 9)


@pytest.mark.parametrize("count", [3, 8, 9, 40])
def test_range_of_floats_leaves_out_nan_and_flags_it(count):
    values = np.linspace(-2.0, 5.0, count)
    values[1] = np.nan
    index = entries(encoded(values, "plain", 1024))
    assert index["flags"].tolist() == [HAS_NAN | HAS_ZONE_MAP]
    assert (index["min"].view("f8")[0], index["max"].view("f8")[0]) == (-2.0, 5.0)


def test_block_of_nulls_only_has_no_range():
    index = entries(encoded(np.zeros(5, dtype="i8"), "plain", 16, validity=np.zeros(1, dtype="u1")))
    assert (index["null_count"][0], index["flags"][0]) == (5, 0)


def test_range_of_unsigned_values_above_the_signed_ones_is_unsigned():
    index = entries(encoded(np.array([1, 2**63 + 5], dtype="u8"), "plain", 16))
    assert index["max"].view("u8")[0] == 2**63 + 5


def test_block_that_would_grow_is_stored_plain():
    values = np.random.default_rng(3).integers(0, 256, 8192).astype("u1")
    index = entries(encoded(values, "bitpack+zstd:3", 4096))
    assert (index["encoding"].tolist(), index["codec"].tolist()) == ([0, 0], [0, 0])
    assert index["stored_bytes"].tolist() == [4096, 4096]


def test_constant_column_takes_next_to_nothing():
    column = encoded(np.full(16_384, 123_456_789, dtype="i8"), "bitpack", 16_384)
    assert len(column.stored) == 32 + 16 * 16


def test_validate_refuses_each_damaged_field():
    column = encoded(np.arange(3000, dtype="i8"), "bitpack", 1024)
    damage = {"stored_bytes": 1, "rows": 7, "null_count": 1025, "encoding": 9, "codec": 9, "flags": 8}
    damage |= {"encoded_bytes": 9_000, "offset": 2**40}
    for field, value in damage.items():
        index = entries(column).copy()
        index[field][1] = value
        with pytest.raises((HeaderError, TruncatedError), match="block 1"):
            validate_index(index.view("u1"), len(column.stored), 3000, 1024, column.element)


def test_validate_refuses_stretch_that_is_too_short():
    column = encoded(np.arange(3000, dtype="i8"), "plain", 1024)
    with pytest.raises(TruncatedError, match="block 2"):
        validate_index(column.index, len(column.stored) - 1, 3000, 1024, column.element)


def test_index_cut_inside_an_entry_is_an_error():
    column = encoded(np.arange(3000, dtype="i8"), "plain", 1024)
    with pytest.raises(TruncatedError):
        validate_index(column.index[:-1], len(column.stored), 3000, 1024, column.element)


def test_rows_that_are_not_there_are_an_error():
    column = encoded(np.arange(100, dtype="i8"), "plain", 1024)
    with pytest.raises(ValueError, match="out of range"):
        decoded(column, "i8", 90, 101)
    with pytest.raises(ValueError, match="out of range"):
        take_rows(column, np.array([100]), np.zeros(1, dtype="i8"))


def test_array_of_another_type_is_an_error():
    column = encoded(np.arange(100, dtype="i8"), "plain", 1024)
    with pytest.raises(TypeError, match="I64"):
        decode_rows(column, 0, 100, np.zeros(100))


def test_array_of_another_length_is_an_error():
    column = encoded(np.arange(100, dtype="i8"), "plain", 1024)
    with pytest.raises(ValueError, match="expected 800"):
        decode_rows(column, 0, 100, np.zeros(99, dtype="i8"))


def test_fewer_blocks_than_rows_is_an_error():
    column = encoded(np.arange(3000, dtype="i8"), "plain", 1024)
    with pytest.raises(CorruptionError, match="2 entries"):
        decoded(replaced(column, index=column.index[:-48]), "i8")


def test_block_that_is_not_there_is_an_error():
    column = encoded(np.arange(100, dtype="i8"), "plain", 1024)
    with pytest.raises(CorruptionError, match="no block 1"):
        verify_blocks(column, 0, 2)


def test_block_size_above_a_mebibyte_is_an_error():
    with pytest.raises(ValueError, match="at most 1048576"):
        encoded(np.arange(100, dtype="i8"), "plain", 1 << 18)


def test_hash_differs_for_other_bytes_and_continues_at_mebibytes():
    content = np.arange(300_000, dtype="i8").view("u1")
    cut = 1 << 20
    assert hash_values(content[cut:], hash_values(content[:cut], 0)) == hash_values(content, 0)
    assert hash_values(content[1:], 0) != hash_values(content[:-1], 0)


def test_unknown_instruction_set_is_an_error():
    with pytest.raises(ValueError, match="'baseline'"):
        set_isa("avx1024")
