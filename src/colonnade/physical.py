"""Polars values to the numbers that are stored, and back, for types of fixed width that have no codes.

Times are what Polars holds, in the unit of the type: days, months, minutes, seconds or nanoseconds. Decimals
are whole numbers, scaled. Guids are their 16 bytes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import HeaderError, SchemaError
from colonnade.schema import DECIMAL_DIGITS, ColumnType

_UNIT_NS: Final = {"minute": 60_000_000_000, "second": 1_000_000_000}
_FIRST_YEAR: Final = 1970
_MONTHS: Final = 12
_MOST: Final = 10**DECIMAL_DIGITS
_EXPECTED: Final = {
    "month": "the first of a month",
    "minute": "a whole minute",
    "second": "a whole second",
    "decimal": f"at most {DECIMAL_DIGITS} digits",
    "guid": "a guid such as 8c6b8b64-6815-6084-0a3e-178401251b68",
}
_GUID: Final = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_GUID_BYTES: Final = 16
_GUID_PIECES: Final = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))  # of its 32 digits


def physical_values(values: pl.Series, column_type: ColumnType) -> NDArray[Any]:
    """Give the stored numbers of a series in the type's Polars type; 0 under a null.

    Raises
    ------
    SchemaError
        If a value has no place: a month, minute or second with a rest, a decimal of more than 18 digits, a
        text that is no guid.
    """
    kind = column_type.kind
    if kind in _EXPECTED:
        _check(values, column_type)
    if kind == "guid":
        return _guid_bytes(values)
    if kind == "month":
        whole = (values.dt.year() - _FIRST_YEAR) * _MONTHS + values.dt.month().cast(pl.Int32) - 1
    elif kind in _UNIT_NS:
        whole = values.to_physical() // _UNIT_NS[kind]
    elif kind == "decimal":
        whole = values.to_physical().cast(pl.Int64)
    elif kind == "bool":
        whole = values.cast(pl.UInt8)
    else:
        whole = values.to_physical()
    filled = whole.fill_null(0) if whole.null_count() else whole
    return np.ascontiguousarray(filled.to_numpy(), dtype=column_type.numpy_type)


def has_place(values: pl.Series, column_type: ColumnType) -> pl.Series:
    """Tell which values of the type's Polars type the type holds; null where there is none."""
    match column_type.kind:
        case "month":
            return values.dt.day() == 1
        case "minute" | "second" as kind:
            return values.to_physical() % _UNIT_NS[kind] == 0
        case "decimal":
            return values.to_physical().abs() < _MOST
        case "guid":
            return values.str.contains(_GUID)
        case _:
            return values.is_not_null()


def of_physical(values: NDArray[Any], column_type: ColumnType) -> pl.Series:
    """Give stored numbers as a series of the type's Polars type; raise `HeaderError` where they can't be."""
    try:
        return _series(values, column_type)
    except pl.exceptions.InvalidOperationError:
        reason = f"stored values from {values.min()} to {values.max()} aren't all of type {column_type}"
        raise HeaderError(reason) from None


def _series(values: NDArray[Any], column_type: ColumnType) -> pl.Series:
    match column_type.kind:
        case "guid":
            return guid_text(_hexadecimal(values))
        case "month":
            months = pl.Series(values)
            parts = pl.DataFrame({"y": months // _MONTHS + _FIRST_YEAR, "m": months % _MONTHS + 1})
            return parts.select(pl.date(pl.col("y"), pl.col("m"), 1).alias("")).to_series()
        case "minute" | "second" as kind:
            return (pl.Series(values).cast(pl.Int64) * _UNIT_NS[kind]).cast(pl.Time)
        case "decimal":
            return decimal_series(pl.Series(values), column_type.polars_type)
        case "bool":
            return pl.Series(values.astype(np.bool))
        case _:
            return pl.Series(values).cast(column_type.polars_type)


def decimal_series(whole: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Give scaled integers as decimals."""
    return whole.cast(pl.Int128).reinterpret(dtype=dtype)


def guid_text(digits: pl.Series) -> pl.Series:
    """Give 32 hexadecimal digits in the canonical form: lower case, 8-4-4-4-12."""
    low = digits.str.to_lowercase()
    pieces = [pl.lit(low).str.slice(start, length) for start, length in _GUID_PIECES]
    return pl.select(pl.concat_str(pieces, separator="-").alias(digits.name)).to_series()


def _guid_bytes(values: pl.Series) -> NDArray[Any]:
    filled = values.fill_null("0" * (2 * _GUID_BYTES))
    joined = filled.str.replace_all("-", "", literal=True).str.join("").str.decode("hex").item()
    return np.frombuffer(joined or b"", dtype=f"V{_GUID_BYTES}")


def _hexadecimal(values: NDArray[Any]) -> pl.Series:
    starts = pl.Series("starts", np.arange(len(values), dtype=np.int64) * _GUID_BYTES)
    pieces = pl.lit(values.tobytes(), dtype=pl.Binary).bin.slice(starts, _GUID_BYTES)
    return pl.select(pieces.bin.encode("hex").alias("")).to_series()


def _check(values: pl.Series, column_type: ColumnType) -> None:
    fits = has_place(values, column_type).fill_null(value=True)
    if not fits.all():
        wrong = values[int((~fits).arg_max() or 0)]
        raise SchemaError(f"{wrong} is no {column_type}: expected {_EXPECTED[column_type.kind]}")
