"""Values of a source as decimals, guids and lists; null where a value doesn't fit.

Each function gives None where values of a Polars type never fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from colonnade.physical import decimal_series, guid_text, has_place
from colonnade.schema import ColumnType

_MAX_DIGITS: Final = 38  # of Polars' decimals
_EXACT_IN_FLOAT: Final = 1 << 53
_GUID_BYTES: Final = 16


def decimals(values: pl.Series, kind: ColumnType) -> pl.Series | None:
    """Give decimals of a scale; a number with more places, or more than 18 digits, doesn't fit.

    A float fits where it is the float nearest to the decimal.
    """
    given, wide = values.dtype, pl.Decimal(_MAX_DIGITS, kind.scale or 0)
    if given.is_float():
        return _of_floats(values, kind)
    if given == pl.String:
        places = (
            rf"^[+-]?(\d+\.?\d{{0,{kind.scale}}}|\.\d{{1,{kind.scale}}})0*$"
            if kind.scale
            else r"^[+-]?\d+(\.0*)?$"
        )
        made = values.set(~values.str.contains(places), None).cast(wide, strict=False)
    elif isinstance(given, pl.Decimal):
        made = values.cast(wide, strict=False)
        made = made.set((made.cast(given, strict=False) != values).fill_null(value=False), None)
    elif given.is_integer():
        made = values.cast(wide, strict=False)
    else:
        return None
    fits = has_place(made, kind).fill_null(value=False)
    return made.set(~fits, None).cast(kind.polars_type)


def guids(values: pl.Series, kind: ColumnType) -> pl.Series | None:
    """Give guids in the canonical form, from text with or without hyphens and braces, or from 16 bytes."""
    if values.dtype == pl.Binary:
        bytes_16 = values.set(values.bin.size() != _GUID_BYTES, None)
        made = guid_text(bytes_16.bin.encode("hex"))
    elif values.dtype == pl.String:
        made = guid_text(values.str.strip_chars("{}").str.replace_all("-", "", literal=True))
    else:
        return None
    return made.set(~has_place(made, kind).fill_null(value=False), None)


def lists(values: pl.Series, kind: ColumnType) -> pl.Series | None:
    """Give lists whose items have the type already, but for texts of any kind and units of times."""
    given, item = values.dtype, kind.item
    if item is None or not isinstance(given, (pl.List, pl.Array)):
        return None
    inner, wanted = given.inner, item.polars_type
    both = (inner, wanted)
    is_same = inner in (wanted, pl.Null) or (
        wanted == pl.String and isinstance(inner, (pl.Categorical, pl.Enum, pl.String))
    )
    is_unit = all(isinstance(one, pl.Duration) for one in both) or (
        isinstance(inner, pl.Datetime)
        and isinstance(wanted, pl.Datetime)
        and inner.time_zone == wanted.time_zone
    )
    return values.cast(kind.polars_type) if is_same or is_unit else None


CONVERSIONS: Final[dict[str, tuple[Callable[[pl.Series, ColumnType], pl.Series | None], str]]] = {
    "decimal": (decimals, "numbers"),
    "guid": (guids, "text, or 16 bytes each"),
    "list": (lists, "lists with items of that type, from a frame, Parquet or Arrow"),
}


def _of_floats(values: pl.Series, kind: ColumnType) -> pl.Series:
    scale = 10.0 ** (kind.scale or 0)
    floats = values.fill_null(float("nan")).to_numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        whole = np.rint(floats.astype(np.float64) * scale)
        fits = (np.abs(whole) < _EXACT_IN_FLOAT) & ((whole / scale).astype(floats.dtype) == floats)
        fits &= ~((floats == 0) & np.signbit(floats))  # minus zero is no decimal
    made = decimal_series(pl.Series(values.name, np.where(fits, whole, 0).astype(np.int64)), kind.polars_type)
    return made.set(~pl.Series(fits), None)
