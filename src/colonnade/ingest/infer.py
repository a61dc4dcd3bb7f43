"""Types of columns that nobody described, from the text of their first rows.

Integers never become floats, digits with leading zeros stay text, and what two types fit gets the narrower
one. Later rows that don't fit are errors, never a silent change of type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from colonnade.errors import SourceError
from colonnade.ingest.clock import has_offset, iso_times
from colonnade.ingest.roles import is_symbol_name
from colonnade.schema import ColumnType

_MIN_ROWS_FOR_STRING: Final = 1000
_DISTINCT_SHARE: Final = 0.5  # above it a dictionary would only cost, as for trade ids
_FIRST: Final = 100
_MAX_EXACT_DIGITS: Final = 15
_JSON: Final = re.compile(r"\s*(\{|\[\s*([\[{\"\d-]|$))")
_OTHER_DELIMITERS: Final = ("|", "\t", ";")
_VALUE: Final = re.compile(r"\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|\d\d\d\d-\d\d-\d\d)")


def check_names(names: Sequence[str], label: str) -> None:
    """Refuse the first line of a file that nobody described where it isn't a header with commas.

    Raises
    ------
    SourceError
        If it is JSON, has another delimiter, or holds a number or a date as a row does.
    """
    if _JSON.match(names[0]):
        raise SourceError(
            f"{label}: this looks like JSON, which isn't supported; convert it to CSV or Parquet"
        )
    delimiter = next((mark for mark in _OTHER_DELIMITERS if mark in names[0]), None)
    if len(names) == 1 and delimiter is not None:
        reason = f"{label}: the first line has no comma, but {delimiter!r}"
        raise SourceError(f"{reason}; describe the source with delimiter = {delimiter!r}")
    value = next((name for name in names if _VALUE.match(name)), None)
    if value is not None:
        reason = f"{label}: the first line holds {value!r}, so it looks like a row and not like names"
        raise SourceError(f"{reason}; describe the source with header = false, or true if these are names")


def infer_text_type(values: pl.Series, name: str, *, zone: str | None = None) -> ColumnType:
    """Choose the type of a text column.

    Parameters
    ----------
    values
        Text, null where a field is empty.
    name
        Name of the column.
    zone
        Zone in which timestamps that carry an offset are shown; UTC without it.
    """
    known = values.drop_nulls()
    stripped = known.str.strip_chars(" \t")
    if known.is_empty():
        return ColumnType("symbol")
    few = stripped.head(_FIRST)  # what these aren't all are not, and many columns end here
    may_be_number = few.cast(pl.Float64, strict=False).null_count() == 0
    if may_be_number and not stripped.str.contains(r"^[+-]?0\d").any():
        number = _number_type(stripped)
        if number is not None:
            return number
    if _are_bools(few) and _are_bools(stripped):
        return ColumnType("bool")
    if stripped.slice(0, 1).str.contains(r"^\d\d\d\d-\d\d-\d\d|^\d\d:\d\d").all():
        time = _time_type(stripped, zone)
        if time is not None:
            return time
    return text_type(known, name)


def _are_bools(values: pl.Series) -> bool:
    return bool(values.str.to_lowercase().is_in(["true", "false"]).all())


def text_type(values: pl.Series, name: str) -> ColumnType:
    """Choose between symbol and string: text whose values are mostly distinct is a string.

    A column that is called as symbols are is one however many there are.
    """
    if is_symbol_name(name):
        return ColumnType("symbol")
    rows = len(values)
    if rows >= _MIN_ROWS_FOR_STRING and values.n_unique() > _DISTINCT_SHARE * rows:
        return ColumnType("string")
    return ColumnType("symbol")


def _number_type(values: pl.Series) -> ColumnType | None:
    for kind, dtype in (("int64", pl.Int64), ("uint64", pl.UInt64)):
        if values.cast(dtype, strict=False).null_count() == 0:
            return ColumnType(kind)
    floats = values.cast(pl.Float64, strict=False)
    if floats.null_count() or not floats.is_finite().any():
        return None
    whole = values.filter(values.str.contains(rf"^[+-]?\d{{{_MAX_EXACT_DIGITS + 1},}}$"))
    exact = all(int(float(text)) == int(text) for text in whole.unique())
    return ColumnType("float64") if exact else None


def _time_type(values: pl.Series, zone: str | None) -> ColumnType | None:
    timestamp = ColumnType("timestamp", (zone or "UTC") if has_offset(values) else None)
    for kind in (ColumnType("date"), ColumnType("time"), timestamp):
        if iso_times(values, kind, "earliest").null_count() == 0:
            return kind
    return None
