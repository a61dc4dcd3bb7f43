"""A scaled price is the float nearest to the decimal, for every integer."""

from __future__ import annotations

import polars as pl
import pytest

from colonnade.ingest.writer import ingest
from colonnade.store.database import DatabaseStore
from colonnade.store.table_source import open_source


@pytest.mark.parametrize("scale", [2, 4, 9])
def test_a_scaled_column_is_divided_and_not_multiplied_by_a_reciprocal(tmp_path, scale):
    numbers = [1_813_500, 1_833_100, 3, 7, -9_007_199_254_740_993, *range(1, 2_000)]
    database = DatabaseStore.create(tmp_path / "db")
    described = {"price": {"scale": scale}}

    ingest(database, "t", pl.DataFrame({"price": numbers}), date="2024-01-02", columns=described)

    part = open_source(tmp_path / "db" / "t").partition(19_724).parts[0]
    assert part.column("price").read(0, len(numbers)).to_list() == [n / 10**scale for n in numbers]
