"""The database that format version 1 wrote is read: both versions, every type, every row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from colonnade.store.table_source import open_source
from colonnade.store.verify import verify
from golden.make_v1_database import COMPRESSIONS, PARTS, SCHEMA, rows

TABLE = Path(__file__).parents[1] / "golden" / "v1_database" / "trade"


@pytest.mark.parametrize("version", PARTS)
@pytest.mark.parametrize("column", SCHEMA.columns)
def test_every_column_of_every_version_comes_back(version: int, column: str) -> None:
    source = open_source(TABLE, version)
    for day, pieces in PARTS[version].items():
        parts = source.partition(day).parts
        assert len(parts) == len(pieces)
        for part, (first, count) in zip(parts, pieces, strict=True):
            found = part.column(column).read(0, count)
            expected = rows(day, first, count)[column]
            assert found.dtype == SCHEMA.columns[column].polars_type
            text = found.cast(pl.String) if found.dtype == pl.Categorical else found
            assert text.equals(expected, null_equal=True)


def test_every_checksum_hash_and_order_holds() -> None:
    assert verify(open_source(TABLE), threads=1).findings == []


def test_each_column_has_the_compression_that_was_asked_for() -> None:
    part = open_source(TABLE).partition(19_724).parts[0]
    found = {name: str(entry.compression) for name, entry in part.entry.columns.items()}
    assert found == COMPRESSIONS | {"side": "lz4:1"}
