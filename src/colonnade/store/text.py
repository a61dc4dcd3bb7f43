"""Text between Polars and flat buffers, without a loop in Python."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import HeaderError

_MIN_ROWS: Final = 1 << 14
_SAMPLES: Final = 4096  # rows that are looked at first
_MIN_RUN: Final = 8  # rows of a run, in the mean, from which on it is worth while
_SLAB_BYTES: Final = 1 << 30  # of text viewed by one Polars call, whose offsets have 32 bits


def text_to_buffers(text: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Give the UTF-8 length of each row and all bytes one after the other; null counts as empty."""
    lengths = text.str.len_bytes().fill_null(0).cast(pl.UInt32).to_numpy()
    joined = text.str.join("").cast(pl.Binary).item()
    return lengths, np.frombuffer(joined or b"", dtype=np.uint8)


def text_of_buffers(offsets: NDArray[np.int64], content: bytes | memoryview) -> pl.Series:
    """Give the rows that lie between consecutive offsets; raise `HeaderError` where they aren't UTF-8."""
    pieces = []
    start = 0
    while start < len(offsets) - 1:
        limit = int(offsets[start]) + _SLAB_BYTES
        stop = max(int(np.searchsorted(offsets, limit, side="right")) - 1, start + 1)
        pieces.append(_text_of_slab(offsets[start : stop + 1], content))
        start = stop
    return pl.concat(pieces, rechunk=True) if pieces else pl.Series([], dtype=pl.String)


def _text_of_slab(offsets: NDArray[np.int64], content: bytes | memoryview) -> pl.Series:
    first, last = int(offsets[0]), int(offsets[-1])
    starts: NDArray[Any] = offsets[:-1] - first
    slab = pl.lit(bytes(memoryview(content)[first:last]), dtype=pl.Binary)
    rows = slab.bin.slice(pl.Series("starts", starts), pl.Series("lengths", np.diff(offsets)))
    try:
        return pl.select(rows.cast(pl.String).alias("")).to_series()
    except pl.exceptions.PolarsError:
        raise HeaderError("text isn't valid UTF-8") from None


def run_starts(text: pl.Series) -> NDArray[np.int64] | None:
    """Give where each run of equal rows begins, nulls being equal; None where runs are short or rows few.

    To work with one row a run is several times as fast as to look each row up.
    """
    count = len(text)
    if count < _MIN_ROWS:
        return None
    rows = np.arange(0, count - 1, max(count // _SAMPLES, 1))
    if _differ(text[rows], text[rows + 1]).sum() * _MIN_RUN > len(rows):
        return None
    return np.append(0, np.flatnonzero(_differ(text[:-1], text[1:])) + 1)


def distinct_text(text: pl.Series) -> pl.Series:
    """Give the distinct values sorted by bytes, without null."""
    found = []
    for chunk in text.get_chunks():
        starts = run_starts(chunk)
        found.append((chunk if starts is None else chunk.gather(starts)).unique())
    return (pl.concat(found) if found else text).unique().drop_nulls().sort()


def _differ(left: pl.Series, right: pl.Series) -> NDArray[np.bool]:
    """Tell where rows differ, nulls being equal."""
    found = left != right
    has_nulls = found.null_count() > 0
    different: NDArray[np.bool] = (found.fill_null(value=False) if has_nulls else found).to_numpy()
    return different | (left.is_null() != right.is_null()).to_numpy() if has_nulls else different
