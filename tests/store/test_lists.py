"""Lists come back from their buffers, and bytes that are no lists are refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colonnade.errors import CorruptionError, SchemaError
from colonnade.schema import ColumnType
from colonnade.store.lists import lists_of_buffers, lists_to_buffers

TEXT = ColumnType("string")
INT = ColumnType("int32")
texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=5)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


@given(rows=st.lists(texts, max_size=8))
def test_lists_of_texts_come_back(rows: list[list[str]]) -> None:
    lists = pl.Series(rows, dtype=pl.List(pl.String))

    lengths, content = lists_to_buffers(lists, TEXT, "x")

    assert lists_of_buffers(offsets_of(lengths), content.tobytes(), TEXT).to_list() == rows


@given(rows=st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), max_size=8))
def test_lists_of_numbers_are_their_bytes(rows: list[list[int]]) -> None:
    lists = pl.Series(rows, dtype=pl.List(pl.Int32))

    lengths, content = lists_to_buffers(lists, INT, "x")

    assert content.tobytes() == np.array([item for row in rows for item in row], dtype="<i4").tobytes()
    assert lists_of_buffers(offsets_of(lengths), content.tobytes(), INT).to_list() == rows


def test_a_row_of_texts_is_their_number_their_lengths_and_they() -> None:
    lengths, content = lists_to_buffers(pl.Series([["ab", ""], []]), TEXT, "x")

    assert lengths.tolist() == [14, 0]
    assert content.tobytes() == b"\2\0\0\0\2\0\0\0\0\0\0\0ab"


def test_a_null_within_a_list_is_refused_by_name() -> None:
    with pytest.raises(SchemaError, match="column 'x' holds a null"):
        lists_to_buffers(pl.Series([[1, None]], dtype=pl.List(pl.Int32)), INT, "x")


def test_texts_cut_at_any_byte_are_refused() -> None:
    lengths, content = lists_to_buffers(pl.Series([["AAPL", "é", ""]]), TEXT, "x")

    for length in range(1, int(lengths[0])):
        with pytest.raises(CorruptionError):
            lists_of_buffers(np.array([0, length]), content.tobytes()[:length], TEXT)


@given(content=st.binary(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=3))
def test_any_bytes_are_lists_of_texts_or_an_error(content: bytes, cuts: list[int]) -> None:
    offsets = np.array([0, *sorted(min(cut, len(content)) for cut in cuts), len(content)])

    try:
        found = lists_of_buffers(offsets, content, TEXT)
    except CorruptionError:
        return
    assert len(found) == len(offsets) - 1


def test_half_an_item_is_refused() -> None:
    with pytest.raises(CorruptionError, match="whole number of items"):
        lists_of_buffers(np.array([0, 6]), bytes(6), INT)
