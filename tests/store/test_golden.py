from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import colonnade as cn
from colonnade.codec.compression import CODECS, ENCODINGS
from colonnade.maintenance.verify import verify
from colonnade.store.database import DatabaseStore
from colonnade.store.table_source import open_source
from databases import bits, logical, plain

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", ["v1_database"])
def test_a_database_of_each_format_version_stays_readable(name: str) -> None:
    wanted = pl.read_parquet(GOLDEN / f"{name}_rows.parquet")
    source = open_source(DatabaseStore.open(GOLDEN / name).open_table("all").path)

    frames = [
        pl.DataFrame({name: part.column(name).read(0, part.row_count) for name in source.schema.columns})
        for value in source.values.tolist()
        for part in source.partition(value).parts
    ]

    found = pl.concat(frames).with_columns(pl.col(pl.Categorical).cast(pl.String))
    assert found.equals(wanted.drop("partition", "part"), null_equal=True)
    assert source.row_counts.tolist() == [600, 1_540]
    assert verify(source).findings == []


def test_the_names_and_values_of_format_1_are_those_of_its_document() -> None:
    source = open_source(GOLDEN / "v1_database" / "all")
    part = source.partition(19_724).parts[1]

    assert (source.version, source.schema.part_by, source.schema.sort_by) == (3, "sym", "time")
    assert part.sequence == (2, 2)
    assert Path(part.folder).parent.name == "date=2024-01-02"
    assert part.column("size").footer.block_rows == 512


def test_the_database_of_format_2_stays_readable() -> None:
    db = cn.open(GOLDEN / "v2_database")
    table = db["all"]
    wanted = pl.read_parquet(GOLDEN / "v2_database_rows.parquet").drop("date")

    found = table.collect()

    assert set(found.columns) == set(wanted.columns)
    assert bits(found.select(wanted.columns)) == bits(wanted)
    assert db.verify().rows() == []
    used = {
        part for text in table.info()["compression"].drop_nulls() for part in re.findall(r"[a-z]+4?", text)
    }
    assert {*ENCODINGS, *CODECS} - {"none"} <= used


def test_a_database_of_format_1_takes_every_change(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "v1_database", tmp_path / "db")
    db = cn.open(tmp_path / "db")
    table = db["all"]
    rows = plain(table.collect())

    def check(expected: pl.DataFrame) -> None:
        found = table.collect().select(expected.columns)
        assert bits(found) == bits(logical(expected).select(expected.columns))
        assert db.verify().rows() == []

    more = rows.filter(pl.col("sym") == "S03").with_columns(pl.col("time").dt.offset_by("1ns"))
    table.append(more)
    rows = pl.concat([rows, more])
    check(rows)
    table.delete(sym="S01").apply()
    rows = rows.filter(pl.col("sym") != "S01")
    check(rows)
    table.cast_column("step", "int32")
    table.rename_column("lots", "round lots")
    table.drop_column("note")
    table.add_column("note", "float64")
    renamed = rows.drop("note").rename({"lots": "round lots"})
    rows = renamed.with_columns(pl.col("step").cast(pl.Int32), note=pl.lit(None, pl.Float64))
    check(rows)
    table.compact()
    check(rows)
    table.recompress("zstd:1")
    check(rows)
    db.clean(keep="0s")
    check(rows)
    before = b'{"format":1,'
    assert not [path for path in (db.path / "all").rglob("*.json") if path.read_bytes().startswith(before)]


def test_rarer_types_of_format_2_are_read_back() -> None:
    db = cn.open(GOLDEN / "v2_types")

    found = db["all"].collect()

    wanted = pl.read_parquet(GOLDEN / "v2_types_rows.parquet")
    assert found.select(wanted.columns).equals(wanted, null_equal=True)
    assert found.select(wanted.columns).schema == wanted.schema
    assert db.verify().is_empty()
