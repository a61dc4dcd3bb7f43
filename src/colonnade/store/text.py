"""Text between Polars and flat buffers, without a loop in Python."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import HeaderError

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
