"""Lists between Polars and flat buffers, without a loop in Python: each row is the bytes of its items.

Items of a fixed width lie one after the other. A row of texts is their number and their lengths as u32, then
the texts. An empty list takes no byte.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import HeaderError, SchemaError
from colonnade.physical import of_physical, physical_values
from colonnade.schema import ColumnType
from colonnade.store.text import text_of_buffers, text_to_buffers

_WORD: Final = 4
_BYTES_OF_WORD: Final = np.arange(_WORD)
_MAX_ROW: Final = 0xFFFF_FFFF  # lengths have 32 bits


def lists_to_buffers(
    lists: pl.Series, item: ColumnType, column: str
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Give the bytes of each row, and those of all rows one after the other; null counts as empty.

    Raises
    ------
    SchemaError
        If a list holds a null, or is longer than 4 GiB.
    """
    counts = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    items = lists.explode(empty_as_null=False, keep_nulls=False)
    if items.null_count():
        raise SchemaError(
            f"a list of column {column!r} holds a null, which lists can't keep; fill or drop it, as with "
            "pl.col(...).list.drop_nulls()"
        )
    if item.has_fixed_width:
        lengths, content = counts * item.numpy_type.itemsize, physical_values(items, item).view(np.uint8)
    else:
        lengths, content = _texts_to_buffers(counts, items)
    if len(lengths) and int(lengths.max()) > _MAX_ROW:
        raise SchemaError(
            f"a list of column {column!r} takes {int(lengths.max())} bytes; at most {_MAX_ROW} fit"
        )
    return lengths.astype(np.uint32), content


def lists_of_buffers(offsets: NDArray[np.int64], content: bytes | memoryview, item: ColumnType) -> pl.Series:
    """Give the rows that lie between consecutive offsets; raise `HeaderError` where they can't be."""
    data = np.frombuffer(content, dtype=np.uint8)[int(offsets[0]) : int(offsets[-1])]
    lengths = np.diff(offsets)
    if item.has_fixed_width:
        width = item.numpy_type.itemsize
        if (lengths % width).any():
            raise HeaderError(f"a list of {item} doesn't have a whole number of items")
        return _lists(of_physical(data.view(item.numpy_type), item), lengths // width)
    counts, texts = _texts_of_buffers(offsets[:-1] - offsets[0], lengths, data)
    return _lists(texts, counts)


def _lists(items: pl.Series, counts: NDArray[np.int64]) -> pl.Series:
    if not len(counts):
        return pl.Series([], dtype=pl.List(items.dtype))
    rows = pl.DataFrame({"start": np.cumsum(counts) - counts, "count": counts})
    cut = pl.lit(items.implode()).list.slice(pl.col("start"), pl.col("count"))
    return (
        rows.select(cut.alias("")).to_series().cast(pl.List(items.dtype))
    )  # a literal forgets units of time


def _texts_to_buffers(
    counts: NDArray[np.int64], items: pl.Series
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    text_lengths, text = text_to_buffers(items)
    ends = np.concatenate([[0], np.cumsum(text_lengths, dtype=np.int64)])
    first = np.cumsum(counts) - counts
    heads = np.where(counts > 0, _WORD * (counts + 1), 0)
    lengths = heads + ends[first + counts] - ends[first]
    starts = np.cumsum(lengths) - lengths
    content = np.empty(int(lengths.sum()), dtype=np.uint8)
    has_items = counts > 0
    places = _head_places(starts[has_items], counts[has_items])
    words = np.empty(len(places), dtype="<u4")
    is_count = np.zeros(len(places), dtype=np.bool)
    is_count[np.cumsum(counts[has_items] + 1) - counts[has_items] - 1] = True
    words[is_count] = counts[has_items]
    words[~is_count] = text_lengths
    in_head = (places[:, None] + _BYTES_OF_WORD).reshape(-1)
    content[in_head] = words.view(np.uint8)
    is_text = np.ones(len(content), dtype=np.bool)
    is_text[in_head] = False
    content[is_text] = text
    return lengths, content


def _texts_of_buffers(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], data: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], pl.Series]:
    has_items = lengths > 0
    starts, sizes = starts[has_items], lengths[has_items]
    if (sizes < 2 * _WORD).any():
        raise HeaderError("a list of texts is shorter than its lengths")
    found = _words(data, starts)
    if (found < 1).any() or (_WORD * (found + 1) > sizes).any():
        raise HeaderError("a list of texts is shorter than its lengths")
    places = _head_places(starts, found)
    is_length = np.ones(len(places), dtype=np.bool)
    is_length[np.cumsum(found + 1) - found - 1] = False
    text_lengths = _words(data, places[is_length])
    ends = np.concatenate([[0], np.cumsum(text_lengths)])
    first = np.cumsum(found) - found
    if not np.array_equal(ends[first + found] - ends[first], sizes - _WORD * (found + 1)):
        raise HeaderError("the texts of a list don't take the bytes that their lengths say")
    is_text = np.ones(len(data), dtype=np.bool)
    is_text[(places[:, None] + _BYTES_OF_WORD).reshape(-1)] = False
    counts = np.zeros(len(lengths), dtype=np.int64)
    counts[has_items] = found
    return counts, text_of_buffers(ends, data[is_text].tobytes())


def _head_places(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give where the words before the texts of each row lie: its count, then a length an item."""
    words = counts + 1
    before = np.cumsum(words) - words
    number = np.arange(int(words.sum()), dtype=np.int64) - np.repeat(before, words)
    places: NDArray[np.int64] = np.repeat(starts, words) + _WORD * number
    return places


def _words(data: NDArray[Any], places: NDArray[np.int64]) -> NDArray[np.int64]:
    words: NDArray[np.uint32] = data[places[:, None] + _BYTES_OF_WORD].reshape(-1).view("<u4")
    return words.astype(np.int64)
