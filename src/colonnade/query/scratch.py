"""Columns made in memory that kernels read like stored ones: merged rows, calculated values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import ColumnNotFoundError, UnsupportedQueryError
from colonnade.kernels.column_input import ColumnInput
from colonnade.physical import physical_values
from colonnade.schema import CHAR_NULL, SYMBOL_NULL, ColumnType
from colonnade.store.source import BLOCK_INDEX

_ELEMENTS: Final = {"u1": 0, "i1": 1, "u2": 2, "i2": 3, "u4": 4, "i4": 5, "u8": 6, "i8": 7, "f4": 8, "f8": 9}
_BLOCK_ROWS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class ScratchColumn:
    """One column in memory, with the face of a stored one."""

    type: ColumnType
    values: pl.Series
    stored: NDArray[np.generic]
    validity: NDArray[np.uint8] | None
    dictionary: pl.Series | None

    @classmethod
    def of(cls, values: pl.Series, kind: ColumnType) -> ScratchColumn:
        """Take a series of the type's Polars type; what kernels don't compute with has no stored form."""
        if kind.kind == "symbol":
            stored, dictionary = _codes(values)
            return cls(kind, values, stored, None, dictionary)
        if kind.kind == "char":
            return cls(kind, values, _bytes_of_chars(values), None, None)
        if not kind.is_computed_as_stored:
            return cls(kind, values, np.empty(0, np.uint8), None, None)
        return cls(kind, values, physical_values(values, kind), _validity(values), None)

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def block_rows(self) -> int:
        """Rows of a block."""
        return _BLOCK_ROWS

    @property
    def index(self) -> NDArray[Any]:
        """Blocks of plain values, without zone maps."""
        return _index_of(len(self.stored), self.stored.dtype.itemsize)

    def kernel_input(self, start: int = 0, stop: int | None = None) -> ColumnInput:  # noqa: ARG002 - all is there
        """Give what kernels read."""
        if not self.type.is_computed_as_stored:
            raise UnsupportedQueryError(f"no kernel reads columns of type {self.type}; see table.scan()")
        return plain_input(self.stored, self.validity, self.type.null_code)

    def read(self, start: int, stop: int) -> pl.Series:
        """Give rows ``[start, stop)``."""
        return self.values[start:stop]

    def take(self, rows: NDArray[np.int64]) -> pl.Series:
        """Give the rows of these numbers; -1 gives null."""
        return gathered(self.values, rows)


@dataclass(frozen=True, slots=True)
class ScratchPart:
    """Rows in memory, with the face of a stored part."""

    columns: Mapping[str, ScratchColumn]
    row_count: int

    @property
    def sequence(self) -> tuple[int, int]:
        """Scratch rows have no sequence of their own."""
        return 0, 0

    @property
    def runs(self) -> None:
        """Scratch rows have no runs; pieces tell where symbols lie."""

    def column(self, name: str) -> ScratchColumn:
        """Give a column."""
        try:
            return self.columns[name]
        except KeyError:
            raise ColumnNotFoundError(name, self.columns, where="the merged rows") from None


def plain_input(
    stored: NDArray[np.generic], validity: NDArray[np.uint8] | None = None, null_code: int | None = None
) -> ColumnInput:
    """Give the kernel's view of one contiguous array."""
    index = _index_of(len(stored), stored.dtype.itemsize)
    return ColumnInput(
        stored=stored.view(np.uint8),
        index=index.view(np.uint8),
        element=_ELEMENTS[stored.dtype.str[1:]],
        rows=len(stored),
        block_rows=_BLOCK_ROWS,
        validity=validity,
        null_code=null_code,
    )


def gathered(values: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """Gather by row number; -1 gives null."""
    numbers = pl.Series(rows)
    if len(rows) and int(rows.min()) < 0:
        numbers = pl.select(pl.when(numbers >= 0).then(numbers)).to_series()
    return values.gather(numbers)


def _index_of(rows: int, width: int) -> NDArray[Any]:
    count = -(-rows // _BLOCK_ROWS)
    index = np.zeros(count, dtype=BLOCK_INDEX)
    lengths = np.full(count, _BLOCK_ROWS, dtype=np.int64)
    if count:
        lengths[-1] = rows - (count - 1) * _BLOCK_ROWS
    index["offset"] = np.arange(count) * (_BLOCK_ROWS * width)
    index["rows"] = lengths
    index["stored_bytes"] = lengths * width
    index["encoded_bytes"] = lengths * width
    return index


def _validity(values: pl.Series) -> NDArray[np.uint8] | None:
    if not values.null_count():
        return None
    return np.packbits(values.is_not_null().to_numpy(), bitorder="little")


def _codes(values: pl.Series) -> tuple[NDArray[np.uint32], pl.Series]:
    known = values.is_not_null().to_numpy()
    distinct = values.drop_nulls().unique()
    texts = distinct.cast(pl.String)
    dictionary = texts.sort()
    codes = np.full(len(values), SYMBOL_NULL, dtype=np.uint32)
    if not len(distinct):
        return codes, dictionary
    if values.dtype != pl.Categorical:
        codes[known] = dictionary.search_sorted(values.drop_nulls()).to_numpy()
        return codes, dictionary
    categories = distinct.to_physical().to_numpy()
    code_of = np.zeros(int(categories.max()) + 1, dtype=np.uint32)
    code_of[categories] = dictionary.search_sorted(texts).to_numpy()
    codes[known] = code_of[values.drop_nulls().to_physical().to_numpy()]
    return codes, dictionary


def _bytes_of_chars(values: pl.Series) -> NDArray[np.uint8]:
    distinct = values.drop_nulls().unique().sort()
    codes = np.full(len(values), CHAR_NULL, dtype=np.uint8)
    known = values.is_not_null().to_numpy()
    numbers = np.array([ord(text) for text in distinct], dtype=np.uint8)
    codes[known] = numbers[distinct.search_sorted(values.drop_nulls()).to_numpy()]
    return codes
