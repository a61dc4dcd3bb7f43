"""The layout in which one column of one part reaches the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ColumnInput(NamedTuple):
    """A stored column as kernels take it; a tuple, because it crosses the border by position.

    Attributes
    ----------
    stored
        The bytes that the offsets of the index count from.
    index
        48 bytes a block, flat; see `docs/format.md`.
    element
        Number of the element type: U8 0, I8 1, U16 2, I16 3, U32 4, I32 5, U64 6, I64 7, F32 8, F64 9,
        Utf8 10.
    rows
        Rows of the column.
    block_rows
        Rows of every block but the last, a power of two.
    validity
        Bitmap of all rows, least significant bit first, 1 for a value; None where no row is null.
    null_code
        The value that means null, for symbols and chars; None otherwise.
    """

    stored: NDArray[np.uint8]
    index: NDArray[np.uint8]  # type: ignore[assignment] # hides tuple.index, which nobody calls
    element: int
    rows: int
    block_rows: int
    validity: NDArray[np.uint8] | None
    null_code: int | None
