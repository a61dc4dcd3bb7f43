"""Zone maps: smallest and largest value of each block, as typed arrays over the block index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade.schema import ColumnType
from colonnade.store.source import HAS_NAN, HAS_ZONE_MAP


def zone_type(column_type: ColumnType) -> np.dtype[Any] | None:
    """Give the type of a zone map's values: int64, uint64 or float64; None for types that have none."""
    if not column_type.has_fixed_width or column_type.kind == "guid":
        return None
    return np.dtype({"i": "<i8", "u": "<u8", "f": "<f8"}[column_type.numpy_type.kind])


def zone_bounds(
    index: NDArray[Any], column_type: ColumnType
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool]]:
    """Give smallest and largest value of each block, and whether it has such.

    Nulls and NaN are left out; a block of nothing else has no bounds. Text, guids and lists have none in any.
    """
    typed = zone_type(column_type)
    if typed is None:
        nothing = np.zeros(len(index), dtype=np.int64)
        return nothing, nothing, np.zeros(len(index), dtype=np.bool)
    has_bounds = (index["flags"] & HAS_ZONE_MAP) != 0
    return index["min"].view(typed), index["max"].view(typed), has_bounds


def has_nan(index: NDArray[Any]) -> NDArray[np.bool]:
    """Tell of each block whether it has a NaN."""
    flags: NDArray[np.uint16] = index["flags"]
    marked: NDArray[np.bool] = (flags & HAS_NAN) != 0
    return marked
