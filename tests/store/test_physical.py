"""Stored numbers of months, minutes, seconds, decimals and guids, and what has no place among them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from colonnade.errors import HeaderError, SchemaError
from colonnade.physical import of_physical, physical_values
from colonnade.schema import ColumnType

DECIMAL = ColumnType("decimal", scale=2)


def stored(values: pl.Series, kind: ColumnType) -> list[int]:
    return physical_values(values, kind).tolist()


def test_months_count_from_january_1970() -> None:
    values = pl.Series([dt.date(1970, 1, 1), dt.date(1969, 12, 1), dt.date(2024, 3, 1), None])

    assert stored(values, ColumnType("month")) == [0, -1, 650, 0]
    assert of_physical(np.array([650, -1], np.int32), ColumnType("month")).to_list() == [
        dt.date(2024, 3, 1),
        dt.date(1969, 12, 1),
    ]


def test_minutes_and_seconds_count_from_midnight() -> None:
    values = pl.Series([dt.time(9, 30), dt.time(23, 59)])

    assert stored(values, ColumnType("minute")) == [570, 1439]
    assert stored(values, ColumnType("second")) == [34_200, 86_340]


def test_decimals_are_scaled_whole_numbers() -> None:
    values = pl.Series([Decimal("187.43"), Decimal("-0.07"), None], dtype=pl.Decimal(18, 2))

    assert stored(values, DECIMAL) == [18_743, -7, 0]
    assert of_physical(np.array([18_743, -7]), DECIMAL).to_list() == [Decimal("187.43"), Decimal("-0.07")]


def test_guids_are_their_bytes() -> None:
    text = "8c6b8b64-6815-6084-0a3e-178401251b68"

    found = physical_values(pl.Series([text]), ColumnType("guid"))

    assert found.tobytes() == bytes.fromhex(text.replace("-", ""))
    assert of_physical(found, ColumnType("guid")).to_list() == [text]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (dt.date(2024, 3, 2), "month"),
        (dt.time(9, 30, 1), "minute"),
        (dt.time(9, 30, 0, 1), "second"),
        (Decimal(10) ** 18, "decimal[0]"),
        ("8C6B8B64-6815-6084-0A3E-178401251B68", "guid"),
        ("", "guid"),
    ],
)
def test_a_value_without_a_place_is_refused(value: object, kind: str) -> None:
    dtype = pl.Decimal(38, 0) if isinstance(value, Decimal) else None

    with pytest.raises(SchemaError, match="is no"):
        physical_values(pl.Series([value], dtype=dtype), ColumnType.parse(kind))


@pytest.mark.parametrize(("number", "kind"), [(1440, "minute"), (-1, "second"), (86_400 * 10**9, "time")])
def test_stored_numbers_outside_a_day_are_damage(number: int, kind: str) -> None:
    column_type = ColumnType.parse(kind)

    with pytest.raises(HeaderError, match=kind):
        of_physical(np.array([number], dtype=column_type.numpy_type), column_type)
