"""Sources become decimals, months, minutes, seconds, guids and lists without loss, or name the row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import colonnade as cn
from colonnade.errors import ColumnTypeError, RowError
from colonnade.ingest.rare_types import decimals, guids, lists
from colonnade.schema import ColumnType

CENTS = ColumnType("decimal", scale=2)
GUID = "8c6b8b64-6815-6084-0a3e-178401251b68"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("12.5", "12.50"), ("12.5000", "12.50"), ("-0.07", "-0.07"),
        ("+3", "3.00"), (".5", "0.50"), ("7.", "7.00"),
        ("1.005", None), ("1e3", None), ("", None), ("x", None), ("1.2.3", None), ("99999999999999999", None),
        ("9999999999999999.99", "9999999999999999.99"),
    ],
)  # fmt: skip
def test_text_becomes_a_decimal_without_rounding(written: str, meant: str | None) -> None:
    found = decimals(pl.Series([written]), CENTS)

    assert found is not None
    assert found.to_list() == [None if meant is None else Decimal(meant)]


def test_floats_become_the_decimals_that_they_are_nearest_to() -> None:
    values = pl.Series([187.43, 0.07, 1 / 3, float("nan"), float("inf"), -0.0, 1e300, None])

    found = decimals(values, CENTS)

    assert found is not None
    assert found.to_list() == [Decimal("187.43"), Decimal("0.07"), *[None] * 6]


def test_integers_and_other_scales_become_decimals() -> None:
    fine = pl.Series([Decimal("1.230"), Decimal("1.234")], dtype=pl.Decimal(38, 3))

    assert decimals(pl.Series([5, -7]), CENTS).to_list() == [Decimal("5.00"), Decimal("-7.00")]  # type: ignore[union-attr]
    assert decimals(fine, CENTS).to_list() == [Decimal("1.23"), None]  # type: ignore[union-attr]


@pytest.mark.parametrize("written", [GUID, GUID.upper(), GUID.replace("-", ""), "{" + GUID + "}"])
def test_guids_come_in_every_usual_form(written: str) -> None:
    assert guids(pl.Series([written]), ColumnType("guid")).to_list() == [GUID]  # type: ignore[union-attr]


def test_sixteen_bytes_are_a_guid_and_others_are_none() -> None:
    raw = bytes.fromhex(GUID.replace("-", ""))

    assert guids(pl.Series([raw, raw[:15]]), ColumnType("guid")).to_list() == [GUID, None]  # type: ignore[union-attr]


def test_lists_keep_the_type_of_their_items() -> None:
    kind = ColumnType.parse("list[string]")

    assert lists(pl.Series([["a"], []]), kind).to_list() == [["a"], []]  # type: ignore[union-attr]
    assert lists(pl.Series([[1]]), kind) is None
    assert lists(pl.Series(["a"]), kind) is None


def csv_table(folder: Path, text: str, **types: str) -> cn.Table:
    path = folder / "rows.csv"
    path.write_text(text)
    db = cn.create(folder / "db")
    db.ingest("t", path, date="2024-01-02", types=types)
    return db["t"]


def test_types_of_a_csv_file_are_declared(tmp_path: Path) -> None:
    text = f"price,id,month,minute\n12.50,{GUID.upper()},2024-03,09:31\n1,,2024.04m,16:00:00\n"

    table = csv_table(tmp_path, text, price="decimal[2]", id="guid", month="month", minute="minute")

    assert table.select("price", "id", "month", "minute").collect().rows() == [
        (Decimal("12.50"), GUID, dt.date(2024, 3, 1), dt.time(9, 31)),
        (Decimal("1.00"), None, dt.date(2024, 4, 1), dt.time(16)),
    ]


@pytest.mark.parametrize(
    ("value", "kind"),
    [("12.505", "decimal[2]"), ("8c6b", "guid"), ("2024-03-02", "month"), ("09:30:01", "minute")],
)
def test_a_value_that_does_not_fit_names_line_and_column(tmp_path: Path, value: str, kind: str) -> None:
    with pytest.raises(RowError, match="column 'x'"):
        csv_table(tmp_path, f"x,n\n{value},1\n", x=kind)


def test_lists_do_not_come_from_text(tmp_path: Path) -> None:
    with pytest.raises(ColumnTypeError, match="frame, Parquet or Arrow"):
        csv_table(tmp_path, "x,n\n1;2,1\n", x="list[int64]")


def test_frames_tell_decimals_and_lists_themselves(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "price": pl.Series([Decimal("1.5")], dtype=pl.Decimal(38, 1)),
            "levels": [[1.0, 2.0]],
            "tags": [["a"]],
        }
    )
    db = cn.create(tmp_path / "db")

    db.ingest("t", frame, date="2024-01-02")

    assert {name: str(kind) for name, kind in db["t"].schema.columns.items()} == {
        "price": "decimal[1]", "levels": "list[float64]", "tags": "list[string]",
    }  # fmt: skip


def test_a_type_that_cannot_be_is_refused_by_name() -> None:
    for text in [
        "decimal",
        "decimal[19]",
        "decimal[x]",
        "list",
        "list[symbol]",
        "list[list[int8]]",
        "int8[2]",
    ]:
        with pytest.raises(ColumnTypeError):
            ColumnType.parse(text)
