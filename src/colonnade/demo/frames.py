"""NumPy arrays of the generator to Polars columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.demo.market import Bools, Ints

_LETTERS = pl.Series([None, *(chr(byte) for byte in range(1, 128))], dtype=pl.String)


def time_column(nanoseconds: Ints, *, valid: Bools | None = None) -> pl.Series:
    """Give times of day; null where ``valid`` is not set."""
    column = pl.Series(nanoseconds)
    if valid is not None:
        column = column.set(pl.Series(~valid), None)
    return column.cast(pl.Time)


def bytes_column(codes: NDArray[np.uint8]) -> pl.Series:
    """Give one-character text; byte 0 is null, as an empty field is in NYSE's files."""
    return _LETTERS.gather(codes)


def symbol_column(names: Sequence[str], index: Ints) -> pl.Series:
    """Give the name of each row's symbol."""
    return pl.Series(names, dtype=pl.String).gather(index)
