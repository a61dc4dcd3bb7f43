"""The layout in which a column reaches the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

ELEMENTS: Final[dict[str, int]] = {
    "u1": 0, "i1": 1, "u2": 2, "i2": 3, "u4": 4, "i4": 5, "u8": 6, "i8": 7, "f4": 8, "f8": 9, "V16": 11,
}  # fmt: skip
TEXT: Final = 10  # the element of strings, which have no NumPy type of fixed width
LISTS: Final = 12  # likewise that of lists


@dataclass(frozen=True, slots=True, eq=False)
class ColumnInput:
    """One column of one part, as it lies in memory or in a mapped file.

    Attributes
    ----------
    stored
        The values stretch: the bytes that offsets of the index count from.
    index
        The block index, flat, 48 bytes a block.
    element
        Type of one value; see `element_of`.
    rows
        Rows of all blocks.
    block_rows
        Rows of every block but the last, a power of two.
    validity
        One bit a row, least significant first, 1 where there is a value; None where every row has one.
    null_code
        The value that means null, for columns that have one instead of a bitmap.
    """

    stored: NDArray[np.uint8]
    index: NDArray[np.uint8]
    element: int
    rows: int
    block_rows: int
    validity: NDArray[np.uint8] | None
    null_code: int | None


def kernel_array(values: NDArray[Any]) -> NDArray[Any]:
    """Give values as kernels take them: those of 16 bytes as the rows of an array of bytes."""
    return values.view(np.uint8).reshape(-1, values.itemsize) if values.dtype.kind == "V" else values


def element_of(dtype: np.dtype[np.generic]) -> int:
    """Give the kernels' id of a NumPy type of fixed width.

    Examples
    --------
    >>> element_of(np.dtype(np.float64))
    9
    """
    return ELEMENTS[f"{dtype.kind}{dtype.itemsize}"]
