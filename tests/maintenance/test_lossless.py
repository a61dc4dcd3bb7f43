"""Values as another type: they come back as they were, or are left out."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colonnade.errors import ColumnTypeError
from colonnade.maintenance.lossless import check_way, converted
from colonnade.schema import ColumnType
from colonnade.store.column_values import canonical_type
from colonnade.store.schema_change import widens

NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
)  # fmt: skip
TEXTS = ("symbol", "string", "char")
WRITTEN = (
    "",
    "0",
    "-0",
    "7",
    "007",
    "1.5",
    "1.50",
    "1e3",
    "inf",
    "NaN",
    "nan",
    "true",
    "-5",
    " 5",
    "+5",
    "300",
    "é",
    "€",
)


WAYS = [
    (have, want)
    for have in NUMBERS + TEXTS
    for want in NUMBERS + TEXTS
    if not ("bool" in (have, want) and {have, want} & set(TEXTS))
]


def numbers(kind: str) -> st.SearchStrategy[object]:
    dtype = ColumnType(kind).numpy_type
    if kind == "bool":
        return st.booleans()
    if dtype.kind == "f":
        width = 8 * dtype.itemsize
        return st.floats(width=width) | st.integers(-300, 300).map(float)  # type: ignore[arg-type]
    limits = np.iinfo(dtype)
    return st.integers(int(limits.min), int(limits.max)) | st.integers(0, 127)


@st.composite
def conversions(draw: st.DrawFn) -> tuple[pl.Series, ColumnType, ColumnType]:
    have, want = draw(st.sampled_from(WAYS))
    texts = st.sampled_from([text for text in WRITTEN if have != "char" or (len(text) == 1 and text != "€")])
    values = draw(st.lists(st.none() | (texts if have in TEXTS else numbers(have)), min_size=1, max_size=8))
    kept = ColumnType(have)
    return pl.Series(values, dtype=canonical_type(kept)), kept, ColumnType(want)


def bits(value: object) -> object:
    return (
        (math.copysign(1, value), repr(value))
        if isinstance(value, float) and not math.isnan(value)
        else repr(value)
    )


@given(conversions())
def test_what_is_converted_comes_back_bit_for_bit(
    conversion: tuple[pl.Series, ColumnType, ColumnType],
) -> None:
    values, have, want = conversion
    found = converted(values, have, want)
    back = converted(found, want, have)

    assert found.dtype == canonical_type(want)
    for before, between, after in zip(values, found, back, strict=True):
        assert before is not None or between is None
        if between is not None:
            assert bits(after) == bits(before)


@given(conversions())
def test_every_value_gets_into_a_type_that_widens_its_own(
    conversion: tuple[pl.Series, ColumnType, ColumnType],
) -> None:
    values, have, want = conversion
    if widens(have, want):
        assert converted(values, have, want).null_count() == values.null_count()


@pytest.mark.parametrize(
    ("value", "have", "want", "expected"),
    [
        (2**53 + 1, "int64", "float64", None),
        (2**53, "int64", "float64", 2.0**53),
        (2**63, "uint64", "int64", None),
        (0.1, "float64", "float32", None),
        (0.5, "float64", "float32", 0.5),
        (-0.0, "float64", "int64", None),
        (-0.0, "float64", "float32", -0.0),
        (math.inf, "float64", "int64", None),
        (7.0, "float64", "int8", 7),
        ("007", "symbol", "int64", None),
        ("7", "symbol", "int64", 7),
        ("-0", "string", "int64", None),
        ("é", "string", "char", "é"),
        ("€", "string", "char", None),
        ("", "string", "char", None),
        (2, "int64", "bool", None),
        (1, "int64", "bool", True),
        (True, "bool", "int8", 1),
    ],
)
def test_values_that_would_not_come_back_are_left_out(
    value: object, have: str, want: str, expected: object
) -> None:
    kept = ColumnType(have)
    found = converted(pl.Series([value], dtype=canonical_type(kept)), kept, ColumnType(want))

    assert found.to_list() == [expected]


@pytest.mark.parametrize(
    ("have", "want"),
    [("timestamp", "int64"), ("float64", "date"), ("time", "symbol"), ("bool", "symbol"), ("char", "bool")],
)
def test_times_and_truth_do_not_become_texts_or_each_other(have: str, want: str) -> None:
    with pytest.raises(ColumnTypeError, match="'x'"):
        check_way(ColumnType(have), ColumnType(want), column="x")
