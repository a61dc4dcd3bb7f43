"""Values of one column type as another, null where a value wouldn't come back as it was."""

from __future__ import annotations

from typing import Final

import polars as pl

from colonnade.errors import ColumnTypeError
from colonnade.schema import ColumnType
from colonnade.store.column_values import canonical_type

_TEXTS: Final = ("symbol", "string", "char")
_WAYS: Final = {
    ("number", "number"), ("number", "bool"), ("number", "text"),
    ("bool", "number"), ("text", "text"), ("text", "number"),
}  # fmt: skip
_ONE_CHAR: Final = r"(?s)^[\x{01}-\x{FF}]$"  # chars are Latin-1, and U+0000 stands for null


def check_way(have: ColumnType, want: ColumnType, *, column: str) -> None:
    """Raise `ColumnTypeError` where values of one type never become another."""
    if (_class_of(have), _class_of(want)) not in _WAYS:
        ways = "numbers become numbers, bools and texts, bools become numbers, texts become texts and numbers"
        raise ColumnTypeError(f"column {column!r} has type {have}, which doesn't become {want}: {ways}")


def converted(values: pl.Series, have: ColumnType, want: ColumnType) -> pl.Series:
    """Give values in the type of a canonical frame; null where a value would not come back as it was.

    Numbers must be the same number, minus zero included. A text becomes a number where the number is written
    just so: ``"7"`` does, ``"007"`` and ``"7.0"`` as an integer don't.

    Parameters
    ----------
    values
        Values in the Polars type of `have`, or of its canonical frame.
    have, want
        Column types that passed `check_way`.

    Examples
    --------
    >>> converted(pl.Series([1.0, 1.5]), ColumnType("float64"), ColumnType("int64")).to_list()
    [1, None]
    """
    given = values.cast(canonical_type(have)) if have.kind in _TEXTS else values
    if have.kind in _TEXTS and want.kind in _TEXTS:
        if want.kind == "char":
            return given.set(~given.str.contains(_ONE_CHAR), None)
        return given
    wanted = canonical_type(want)
    result = given.cast(wanted, strict=False)
    if want.kind == "char":
        result = result.set(~result.str.contains(_ONE_CHAR), None)
    same = result.cast(given.dtype, strict=False).eq_missing(given)
    if given.dtype.is_float() and not wanted.is_float() and want.kind not in _TEXTS:
        same &= ~((given == 0) & (1 / given < 0)).fill_null(value=False)
    return result.set(~same, None)


def _class_of(kind: ColumnType) -> str | None:
    if kind.kind in _TEXTS:
        return "text"
    return "number" if kind.is_numeric else "bool" if kind.kind == "bool" else None
