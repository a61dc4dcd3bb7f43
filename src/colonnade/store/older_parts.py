"""Columns of parts that are older than the table's schema, as block sources that queries read.

A column that a part lacks is null in every row: one block of nothing, which every entry of its index points
at, so it takes little memory whatever the number of rows. A column that a part holds in a narrower type
reaches kernels as it is stored, and frames in the type of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.kernels.column_input import ColumnInput
from colonnade.schema import ColumnType
from colonnade.store.column_file import ColumnFile
from colonnade.store.column_layout import element_of
from colonnade.store.column_values import StoredRows
from colonnade.store.source import BLOCK_INDEX

_BLOCK_ROWS: Final = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class AbsentColumn:
    """A column without a value in any row; a `BlockSource`. Made by `absent_column`."""

    type: ColumnType
    row_count: int
    index: NDArray[Any]
    stored: NDArray[np.uint8]
    dictionary: pl.Series | None

    @property
    def block_rows(self) -> int:
        """Rows of a block."""
        return _BLOCK_ROWS

    def find_code(self, symbol: str) -> None:
        """Give None: there is no symbol."""
        del symbol

    def kernel_input(self, start: int = 0, stop: int | None = None) -> ColumnInput:
        """Give what kernels read; there is nothing to check."""
        del start, stop
        null_code = self.type.null_code
        return ColumnInput(
            self.stored,
            self.index.view(np.uint8),
            element_of(self.type),
            self.row_count,
            _BLOCK_ROWS,
            _no_values((self.row_count + 7) // 8) if null_code is None else None,
            null_code,
        )

    def read(self, start: int, stop: int) -> pl.Series:
        """Give nulls for rows ``[start, stop)``."""
        if not 0 <= start <= stop <= self.row_count:
            raise ValueError(f"rows {start} to {stop} are out of range: the part has {self.row_count}")
        return _nulls(self.type, stop - start)

    def read_stored(self, start: int, stop: int) -> StoredRows:
        """Give rows ``[start, stop)`` as a column file would hold them."""
        if self.type.null_code is not None:
            return StoredRows(np.full(stop - start, self.type.null_code, dtype=self.type.numpy_type))
        dtype = self.type.numpy_type if self.type.has_fixed_width else np.uint32
        return StoredRows(np.zeros(stop - start, dtype=dtype), valid=np.zeros(stop - start, dtype=np.bool))

    def take(self, rows: NDArray[np.int64]) -> pl.Series:
        """Give nulls for rows of these numbers."""
        if len(rows) and int(rows.max()) >= self.row_count:
            raise ValueError(f"row {int(rows.max())} is out of range: the part has {self.row_count}")
        return _nulls(self.type, len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class WidenedColumn:
    """A column file whose values are read in a wider type; a `BlockSource`."""

    file: ColumnFile
    type: ColumnType

    @property
    def row_count(self) -> int:
        """Number of rows of the part."""
        return self.file.row_count

    @property
    def block_rows(self) -> int:
        """Rows of every block but the last."""
        return self.file.block_rows

    @property
    def index(self) -> NDArray[Any]:
        """The block index of the file: minimum and maximum are the same numbers in both types."""
        return self.file.index

    @property
    def dictionary(self) -> None:
        """No type that is widened has a dictionary."""
        return

    def find_code(self, symbol: str) -> None:
        """Give None: no type that is widened has symbols."""
        del symbol

    def kernel_input(self, start: int = 0, stop: int | None = None) -> ColumnInput:
        """Give what kernels read: the values as they are stored."""
        return self.file.kernel_input(start, stop)

    def read(self, start: int, stop: int) -> pl.Series:
        """Decode rows ``[start, stop)`` to the wider type."""
        return self._widened(self.file.read(start, stop))

    def read_stored(self, start: int, stop: int) -> StoredRows:
        """Decode rows ``[start, stop)`` as a column file of the wider type would hold them."""
        rows = self.file.read_stored(start, stop)
        return StoredRows(rows.values.astype(self.type.numpy_type), valid=rows.valid)

    def take(self, rows: NDArray[np.int64]) -> pl.Series:
        """Decode the rows of these numbers to the wider type; -1 gives null."""
        return self._widened(self.file.take(rows))

    def _widened(self, values: pl.Series) -> pl.Series:
        return values.to_physical().cast(self.type.polars_type)


@lru_cache(maxsize=256)
def absent_column(column_type: ColumnType, row_count: int) -> AbsentColumn:
    """Give the column of a part that has none of that name."""
    rows = np.full(-(-row_count // _BLOCK_ROWS), _BLOCK_ROWS, dtype=np.int64)
    if len(rows):
        rows[-1] = row_count - (len(rows) - 1) * _BLOCK_ROWS
    stored = _block(column_type)
    byte_count = rows * column_type.numpy_type.itemsize if column_type.has_fixed_width else 4 * (rows + 1)
    index = np.zeros(len(rows), dtype=BLOCK_INDEX)
    index["rows"] = index["null_count"] = rows
    index["stored_bytes"] = index["encoded_bytes"] = byte_count
    is_symbol = column_type.kind == "symbol"
    return AbsentColumn(column_type, row_count, index, stored, _NO_SYMBOLS if is_symbol else None)


@lru_cache(maxsize=64)
def _block(column_type: ColumnType) -> NDArray[np.uint8]:
    """Give the plain bytes of a block: zeros, null codes, or the offsets of empty texts."""
    if not column_type.has_fixed_width:
        return np.zeros(4 * (_BLOCK_ROWS + 1), dtype=np.uint8)
    values = np.zeros(_BLOCK_ROWS, dtype=column_type.numpy_type)
    if column_type.null_code is not None:
        values.fill(column_type.null_code)
    return values.view(np.uint8)


def _no_values(byte_count: int) -> NDArray[np.uint8]:
    """Give a bitmap without a value, one for all columns of about this length."""
    return _zeros(1 << max(byte_count - 1, 0).bit_length())[:byte_count]


@lru_cache(maxsize=64)
def _zeros(byte_count: int) -> NDArray[np.uint8]:
    return np.zeros(byte_count, dtype=np.uint8)


def _nulls(column_type: ColumnType, row_count: int) -> pl.Series:
    return pl.Series([None], dtype=column_type.polars_type).new_from_index(0, row_count)


_NO_SYMBOLS: Final = pl.Series([], dtype=pl.String)
