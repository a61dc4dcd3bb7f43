"""Queries over parts that lack a column or hold it narrower: the answers of a table that always had it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import colonnade as cn
from colonnade import col
from colonnade.schema import ColumnType
from colonnade.store.older_parts import absent_column
from databases import bits

DAYS = ("2024-01-02", "2024-01-03")
ROWS = 40_000  # several blocks


def ticks(day: str, *, seed: int, rows: int = ROWS, start: str = "09:30") -> pl.DataFrame:
    """Make rows of the last schema of the table."""
    random = np.random.default_rng(seed)
    first = np.datetime64(f"{day}T{start}", "ns")
    times = first + np.sort(random.integers(0, 3_600_000_000_000, rows)).astype("timedelta64[ns]")
    return pl.DataFrame(
        {
            "sym": random.choice(["AAPL", "IBM", "MSFT"], rows),
            "time": times,
            "price": random.integers(1_000, 9_000, rows) / 64,
            "size": random.integers(1, 100, rows),
            "small": random.integers(0, 200, rows).astype(np.int16),
            "venue": random.choice(["N", "P", "Q"], rows),
            "fee": np.round(random.normal(size=rows), 3),
            "flag": random.random(rows) < 0.5,
            "letter": random.choice(["A", "B"], rows),
            "note": random.choice(["x", "", "long enough"], rows),
            "seen": times + np.timedelta64(5, "us"),
            "big": random.integers(0, 2**63, rows, dtype=np.uint64) * 2,
        }
    )


ADDED = {
    "venue": "symbol", "fee": "float64", "flag": "bool", "letter": "char", "note": "string",
    "seen": "timestamp", "big": "uint64",
}  # fmt: skip
NARROW = {"price": pl.Float32, "size": pl.Int32, "small": pl.UInt8}
TYPES = {"note": "string", "letter": "char"}


def old(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop(ADDED).with_columns(pl.col(name).cast(dtype) for name, dtype in NARROW.items())


def ingest(database: cn.Database, frame: pl.DataFrame) -> None:
    types = {name: kind for name, kind in TYPES.items() if name in frame.columns}
    database.ingest("trade", frame, part_by="sym", sort_by="time", mode="append", types=types)


@pytest.fixture(scope="module", params=["apart", "overlapping"])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Give a table whose older parts lack columns, and one made at once of the same rows."""
    return made(tmp_path_factory.mktemp("older"), "11:00" if request.param == "apart" else "10:00")


def made(folder: Path, later: str) -> tuple[cn.Table, cn.Table]:
    first = [ticks(day, seed=number) for number, day in enumerate(DAYS)]
    second = ticks(DAYS[1], seed=9, start=later, rows=ROWS // 2)
    evolved, whole = cn.create(folder / "evolved"), cn.create(folder / "whole")
    for frame in first:
        ingest(evolved, old(frame))
    for name, kind in ADDED.items():
        evolved["trade"].add_column(name, kind)
    for name, kind in {"price": "float64", "size": "int64", "small": "int16"}.items():
        evolved["trade"].cast_column(name, kind)
    ingest(evolved, second)
    nulls = [pl.lit(None, dtype=second.schema[name]).alias(name) for name in ADDED]
    for frame in first:
        ingest(whole, frame.with_columns(nulls))
    ingest(whole, second)
    return evolved["trade"], whole["trade"]


QUERIES = {
    "all": lambda t: t.all_rows(),
    "absent": lambda t: t.select("sym", "venue", "fee", "flag", "letter", "note", "seen", "big"),
    "is null": lambda t: t.where(col("fee").is_null()),
    "is not null": lambda t: t.where(col("venue").is_not_null()),
    "null named": lambda t: t.where(venue=None).select("venue", "price"),
    "equal": lambda t: t.where(venue="N").select("sym", "fee"),
    "not equal": lambda t: t.where(col("venue") != "N").select("sym", "fee"),
    "any of": lambda t: t.where(venue=["N", "Z"], letter="A").select("sym", "letter"),
    "above": lambda t: t.where(col("fee") > 0).select("fee", "price"),
    "big": lambda t: t.where(col("big") > 2**62).select("big"),
    "or null": lambda t: t.where((col("fee") > 0) | col("fee").is_null()).select("fee"),
    "narrow equal": lambda t: t.where(price=100.5, size=cn.between(3, 70)).select("price", "size"),
    "narrow above": lambda t: t.where(col("small") > 150).select("small"),
    "calculated": lambda t: t.select("sym", x=col("price") * col("size"), y=col("fee") * 2 + col("small")),
    "text": lambda t: t.group_by("sym").agg(n=col("note").count(), f=col("note").first()),
    "text equal": lambda t: t.where(note="x").select("note"),
    "truth": lambda t: t.where(col("flag")).group_by("sym").agg(n=cn.len()),
    "not": lambda t: t.where(~col("flag")).select("flag", "sym"),
    "narrow any of": lambda t: t.where(small=[1, 2, 3], size=[5, 6]).select("small"),
    "time between": lambda t: t.where(seen=cn.between("09:40", "10:10")).group_by("sym").agg(n=cn.len()),
    "bucket": lambda t: t.group_by("sym", col("seen").bucket("5m")).agg(n=cn.len(), p=col("price").max()),
    "two columns": lambda t: t.where(col("fee") < col("price")).select("fee", "price"),
    "narrow calculated": lambda t: t.select(
        a=-col("small"), b=col("small") + 200, c=col("size") / col("small")
    ),
    "by absent in one day": lambda t: t.where(date=DAYS[0]).group_by("venue").agg(p=col("price").sum()),
    "as-of by absent": lambda t: (
        t.where(date=DAYS[1])
        .select("sym", "time", "venue")
        .asof_join(t.select("sym", "time", "venue", "price"), by=["sym", "venue"], on="time")
    ),
    "whole day": lambda t: t.where(date=DAYS[0]).bars("1m"),
    "bars": lambda t: t.bars("1m"),
    "bars in time": lambda t: t.where(time=cn.between("09:40", "10:20")).bars("5m"),
    "by symbol": lambda t: t.group_by("sym").agg(
        fee=col("fee").sum(),
        n=col("fee").count(),
        rows=cn.len(),
        low=col("small").min(),
        mean=col("price").mean(),
        vwap=col("price").wavg(col("size")),
        weighed=col("fee").wavg(col("size")),
        first=col("venue").first(),
        last=col("seen").last(),
        high=col("big").max(),
        size=col("size").sum(),
        flags=col("flag").sum(),
    ),
    "by absent": lambda t: t.group_by("venue", "letter").agg(n=cn.len(), p=col("price").mean()),
    "by date and absent": lambda t: t.group_by("date", "flag").agg(n=cn.len(), f=col("fee").max()),
    "by narrow": lambda t: t.group_by("small").agg(n=cn.len(), s=col("size").sum()),
    "min of absent": lambda t: (
        t.where(date=DAYS[0])
        .group_by("sym")
        .agg(v=col("venue").min(), f=col("fee").sum(), b=col("big").max(), m=col("fee").mean())
    ),
    "as-of": lambda t: (
        t.where(date=DAYS[1], sym="IBM")
        .select("sym", "time", "size")
        .asof_join(t.select("sym", "time", "venue", "fee", "price"), by="sym", on="time")
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_older_parts_give_what_a_table_gives_that_always_had_the_columns(name, tables):
    evolved, whole = tables

    assert bits(QUERIES[name](evolved).collect()) == bits(QUERIES[name](whole).collect())


def test_point_reads_and_scans_take_older_parts(tables):
    evolved, whole = tables
    rows = [0, ROWS - 1, ROWS, 2 * ROWS + ROWS // 2 - 1, 17, 17]

    assert bits(evolved.rows(rows)) == bits(whole.rows(rows))
    assert bits(evolved.scan().filter(pl.col("fee") > 0).collect()) == bits(
        whole.scan().filter(pl.col("fee") > 0).collect()
    )


def test_older_parts_verify(tables):
    evolved, _ = tables
    database = cn.open(Path(evolved._ref.path).parent)

    assert database.verify().is_empty()


def test_info_shows_no_bytes_for_a_column_that_a_partition_lacks(tables):
    evolved, _ = tables
    shown = evolved.info().filter(column="fee")

    assert shown["stored_bytes"].to_list()[0] == 0
    assert shown["compression"].to_list()[0] is None
    assert shown["stored_bytes"].to_list()[1] > 0


def test_conditions_on_an_absent_column_read_no_block(tables):
    evolved, _ = tables
    part = evolved._open().partition(19_724).parts[0]

    assert not evolved.where(date=DAYS[0]).where(col("fee") > 0).collect().height
    assert (part.column("fee").index["null_count"] == part.column("fee").index["rows"]).all()


def test_an_absent_column_takes_little_memory_whatever_the_number_of_rows():
    column = absent_column(ColumnType("float64"), 1_000_000_000)

    assert column.index.nbytes + column.stored.nbytes < 4 << 20


def test_older_parts_that_are_rewritten_hold_the_same_rows(tmp_path: Path):
    evolved, whole = made(tmp_path, "10:00")
    evolved.recompress("zstd:3")
    for table in (evolved, whole):
        table.delete((col("fee") > 0) & (col("sym") == "IBM")).apply()
        table.delete(col("venue").is_null(), date=DAYS[1], sym="AAPL").apply()
    evolved.compact()

    for name, query in QUERIES.items():
        assert bits(query(evolved).collect()) == bits(query(whole).collect()), name
    assert cn.open(evolved._ref.path.parent).verify().is_empty()
