"""Polars columns to stored values and back: codes for symbols, bytes for chars, integers for times."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import ColumnTypeError, HeaderError, SchemaError
from colonnade.physical import of_physical, physical_values
from colonnade.schema import CHAR_NULL, CHARS, SYMBOL_NULL, ColumnType
from colonnade.store.symbols import Dictionary
from colonnade.store.text import run_starts

NO_TEXT: Final = np.zeros(0, dtype=np.uint8)
_CHAR_CODES: Final = pl.Enum(CHARS)


class StoredRows(NamedTuple):
    """Rows of a column as a column file holds them.

    Attributes
    ----------
    values
        Stored values; for text the length of each row in bytes, as uint32.
    text
        Bytes of all texts one after the other; empty for types of fixed width.
    valid
        Which rows have a value; None where all have, and for types with a null code.
    """

    values: NDArray[Any]
    text: NDArray[np.uint8] = NO_TEXT
    valid: NDArray[np.bool] | None = None


def canonical_type(column_type: ColumnType) -> pl.DataType:
    """Give the Polars type that a column has in a canonical frame: text for symbols and chars."""
    return pl.String() if column_type.kind in ("symbol", "char", "string") else column_type.polars_type


def check_type(values: pl.Series, column_type: ColumnType, column: str) -> None:
    """Raise `ColumnTypeError` where values of a canonical frame have another type."""
    expected = canonical_type(column_type)
    if values.dtype != expected:
        reason = f"column {column!r} of type {column_type} came as {values.dtype}, expected {expected}"
        raise ColumnTypeError(reason)


def stored_values(
    values: pl.Series, column_type: ColumnType, codes: pl.Enum | None
) -> tuple[NDArray[Any], NDArray[np.bool] | None]:
    """Give the stored values of a fixed-width column, and which rows have one if some have none.

    Types with a null code have it in the values, and no second result. Values under a null are zero.
    """
    if column_type.kind == "symbol":
        return _symbol_codes(values, codes), None
    if column_type.kind == "char":
        return _char_bytes(values), None
    valid = values.is_not_null().to_numpy() if values.null_count() else None
    return physical_values(values, column_type), valid


def polars_values(
    values: NDArray[Any],
    column_type: ColumnType,
    dictionary: Dictionary | None,
    valid: NDArray[np.bool] | None,
) -> pl.Series:
    """Give stored values as the column's Polars type; rows that aren't `valid` become null."""
    if dictionary is not None:
        return _symbol_series(values, dictionary, valid)
    if column_type.kind == "char":
        missing = values == CHAR_NULL if valid is None else (values == CHAR_NULL) | ~valid
        text = pl.Series(values.astype(np.uint32)).cat.to(_CHAR_CODES).cast(pl.String)
        return with_nulls(text, ~missing if missing.any() else None)
    return with_nulls(of_physical(values, column_type), valid)


def with_nulls(values: pl.Series, valid: NDArray[np.bool] | None) -> pl.Series:
    """Give values with null where a row isn't valid."""
    if valid is None:
        return values
    return pl.select(pl.when(pl.Series("valid", valid)).then(values).alias(values.name)).to_series()


def symbol_codes_type(symbols: pl.Series) -> pl.Enum:
    """Give the Enum whose physical values are the codes of a dictionary."""
    return pl.Enum(symbols)


def _symbol_codes(values: pl.Series, codes: pl.Enum | None) -> NDArray[np.uint32]:
    if codes is None:
        raise SchemaError("a symbol column can't be written without its dictionary")
    starts = run_starts(values)
    if starts is not None:
        found = _symbol_codes(values.gather(starts), codes)
        return np.repeat(found, np.diff(starts, append=len(values)))
    try:
        physical = values.cast(codes).to_physical()
    except pl.exceptions.InvalidOperationError:
        unknown = values.filter(~values.is_in(codes.categories.implode())).drop_nulls()
        raise SchemaError(f"symbol {unknown[0]!r} isn't in the dictionary of its part") from None
    return physical.cast(pl.UInt32).fill_null(SYMBOL_NULL).to_numpy()


def _char_bytes(values: pl.Series) -> NDArray[np.uint8]:
    try:
        physical = values.cast(_CHAR_CODES).to_physical()
    except pl.exceptions.InvalidOperationError:
        wrong = values.filter(~values.is_in(_CHAR_CODES.categories.implode())).drop_nulls()
        raise SchemaError(f"{wrong[0]!r} is no char: expected one character up to U+00FF") from None
    if (physical == CHAR_NULL).any():
        raise SchemaError("the character U+0000 can't be stored as a char; it stands for null")
    return physical.fill_null(CHAR_NULL).cast(pl.UInt8).to_numpy()


def _symbol_series(codes: NDArray[Any], dictionary: Dictionary, valid: NDArray[np.bool] | None) -> pl.Series:
    present = codes != SYMBOL_NULL if valid is None else (codes != SYMBOL_NULL) & valid
    has_nulls = not present.all()
    known = codes[present] if has_nulls else codes
    if len(known) and int(known.max()) >= len(dictionary):
        raise HeaderError(
            f"symbol code {int(known.max())} isn't in the dictionary of {len(dictionary)} symbols"
        )
    if len(dictionary) == 0:
        return pl.Series([None], dtype=pl.Categorical).new_from_index(0, len(codes))
    looked_up = dictionary.category_codes[np.where(present, codes, 0) if has_nulls else codes]
    return with_nulls(pl.Series(looked_up), present if has_nulls else None).cat.to(pl.Categorical)
