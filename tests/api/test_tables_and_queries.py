"""What tables and queries show of themselves, and that showing runs nothing."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import colonnade as cn
from colonnade import col
from query.tick_tables import table_of, ticks


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> cn.Table:
    return table_of(tmp_path_factory.mktemp("api") / "db", ticks(), pieces=2)


def test_a_table_tells_its_rows_partitions_roles_and_version(table):
    assert (table.name, table.row_count, table.version) == ("trade", 3_000, 2)
    assert table.partitions["date"].to_list() == [dt.date(2024, 1, day) for day in (2, 3, 4)]
    assert table.partitions["rows"].sum() == 3_000
    assert table.roles["symbol"] == "sym"
    assert table.roles["price"] == "price"


def test_info_has_a_row_for_each_partition_and_column(table):
    info = table.info()

    assert info.columns == [
        "partition", "column", "type", "compression", "encoding", "codec", "level", "block_size", "rows",
        "plain_bytes", "stored_bytes", "ratio", "tier",
    ]  # fmt: skip
    assert info.height == 3 * len(table.schema.columns)
    assert (info["stored_bytes"] > 0).all()


def test_info_tells_encoding_codec_level_and_block_size_and_null_where_parts_differ(tmp_path):
    db = cn.create(tmp_path / "db")
    for compression in ("zstd:3@64KiB", "bitpack+zstd:3@64KiB"):
        db.ingest(
            "trade",
            ticks(10),
            part_by="sym",
            sort_by="time",
            mode="append",
            again=True,
            compression=compression,
        )

    row = db["trade"].info().row(0, named=True)
    found = (row["encoding"], row["codec"], row["level"], row["block_size"])
    assert found == (None, "zstd", 3, 65_536)


def test_a_table_at_a_version_stays_as_it_was(table):
    first = table.at(version=1)

    assert first.row_count < table.row_count
    assert first.collect().height == first.row_count
    assert table.at(time=dt.datetime.now(dt.UTC)).version == 2
    with pytest.raises(cn.PlanError, match="can't change"):
        first.append(ticks(10))
    with pytest.raises(cn.NotFoundError):
        table.at(version=99)


def test_showing_a_query_runs_none(table, monkeypatch):
    query = table.where(sym="Z").bars("1m")
    monkeypatch.setattr(cn.Query, "collect", None)

    assert "trade" in repr(query)
    assert "vwap" in query._repr_html_()


def test_explain_tells_what_is_read(table):
    text = (
        table.where(date="2024-01-02", sym="Z", time=cn.between("09:30", "16:00"))
        .where(col("size") > 5)
        .explain()
    )

    assert "partitions: 1 of 3" in text
    assert "symbols by dictionary: (sym == 'Z')" in text
    assert "time by binary search" in text
    assert "of the rows: (size > 5)" in text


def test_symbols_come_as_categories_or_as_texts(table):
    assert table.select("sym").collect()["sym"].dtype == pl.Categorical
    assert table.select("sym").collect(symbols="string")["sym"].dtype == pl.String


def test_a_result_can_be_written_to_parquet(table, tmp_path):
    table.bars("1h").write_parquet(tmp_path / "bars.parquet")

    assert pl.read_parquet(tmp_path / "bars.parquet").height == table.bars("1h").collect().height


def test_a_database_lists_its_tables_and_verifies_them(table):
    database = cn.open(table._ref.path.parent)

    assert database.tables == ["trade"]
    assert "trade" in database
    assert database.verify().is_empty()
    with pytest.raises(cn.NotFoundError, match="'trade'"):
        database["trades"]
    with pytest.raises(cn.UnknownWordError, match="ingest"):
        database.insert()


def test_a_joined_query_can_be_narrowed_and_calculated_with(table):
    quotes = table.select("number")

    found = (
        table.where(sym="Z").asof_join(quotes, by="sym", on="time")
        .where(col("number_right") > 100).select("sym", later=col("number_right") - col("number"))
        .collect()
    )  # fmt: skip

    assert found.columns == ["sym", "later"]
    assert found.height > 0
    assert (found["later"] >= 0).all()


def test_a_join_with_lookback_reads_earlier_dates(tmp_path):
    quotes = ticks(50, days=1)
    table = table_of(tmp_path / "db", quotes, name="quote")
    order = pl.DataFrame({"sym": ["Z"], "time": [dt.datetime.fromisoformat("2024-01-05 12:00")]}).cast(
        {"time": pl.Datetime("ns")}
    )
    newest = quotes.filter(pl.col("sym") == "Z").sort("time", maintain_order=True)["number"][-1]

    def joined(**options):
        return cn.asof_join(order, table, by="sym", on="time", **options)["number"].item()

    assert joined() is None
    assert joined(lookback="2d") is None
    assert joined(lookback="3d") == newest
    assert joined(lookback="3d", tolerance="1h") is None


def test_a_scan_gives_the_rows_to_polars(table):
    found = table.scan().filter(pl.col("size") > 500).select("sym", "price", "number").collect()

    expected = table.where(col("size") > 500).select("sym", "price", "number").collect()
    assert found.equals(expected, null_equal=True)
    assert table.scan().head(7).collect().height == 7
    assert table.scan().select(pl.len()).collect().item() == table.row_count


@pytest.mark.parametrize("version", ["1", 1.5, True])
def test_a_version_that_is_no_number_is_refused(table, version):
    with pytest.raises(cn.PlanError, match="whole number"):
        table.at(version=version)


def test_an_engine_that_loses_results_is_refused(table):
    with pytest.raises(cn.PlanError, match="0 results for"):
        table.where(sym="Z").collect(engine=lambda _tasks: [])


def test_a_join_by_a_column_named_twice_is_refused(table):
    with pytest.raises(cn.PlanError, match="twice"):
        table.asof_join(table, by=["sym", "sym"], on="time")


@pytest.mark.parametrize("node", [col("sym") == col("price"), (col("size") + 1) == "x", -col("time")])
def test_types_that_do_not_go_together_are_an_error_of_ours(table, node):
    with pytest.raises(cn.ColumnTypeError, match="can't be calculated"):
        table.select(x=node).collect()


def test_a_memory_limit_below_nothing_is_refused(table):
    with pytest.raises(cn.PlanError, match="0 bytes or more"):
        table.collect(memory_limit=-1)


@pytest.mark.parametrize("number", [1 << 64, 2**70, -(1 << 63) - 1])
def test_a_number_outside_64_bits_is_refused_when_the_query_is_written(table, number):
    with pytest.raises(cn.errors.PlanError, match="outside 64 bits"):
        table.select(x=col("size") * number)
    with pytest.raises(cn.errors.PlanError, match="outside 64 bits"):
        table.where(col("size").is_in([1, number]))


def test_an_engine_must_give_results_of_tasks(table):
    with pytest.raises(cn.errors.PlanError, match="expected what task"):
        table.select("price").collect(engine=lambda tasks: [1] * len(tasks))


def test_a_left_time_that_nanoseconds_do_not_reach_is_named(table):
    late = pl.DataFrame({"sym": ["A"], "time": [dt.datetime(9999, 1, 1)]})  # noqa: DTZ001 - wall clock
    late = late.with_columns(pl.col("time").dt.cast_time_unit("us"))
    kind = table.schema.columns["time"]
    if kind.zone is not None:
        late = late.with_columns(pl.col("time").dt.replace_time_zone(kind.zone))
    with pytest.raises(cn.errors.ColumnTypeError, match="nanoseconds reach"):
        cn.asof_join(late, table, by="sym", on="time")
