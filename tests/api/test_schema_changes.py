"""Columns that come, go, get another name or type; dates and tables that are dropped."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import colonnade as cn
from colonnade import col
from colonnade.ingest import writer
from colonnade.maintenance import cast

DAYS = [dt.date(2024, 1, 2), dt.date(2024, 1, 3)]


def rows(day: dt.date, **more: object) -> pl.DataFrame:
    start = dt.datetime.combine(day, dt.time(9, 30))
    return pl.DataFrame(
        {
            "sym": ["A", "A", "B"],
            "time": [start + dt.timedelta(seconds=second) for second in range(3)],
            "price": [1.5, 2.0, 3.25],
            "size": pl.Series([100, 200, 300], dtype=pl.Int32),
            **more,
        }
    )


@pytest.fixture
def database(tmp_path: Path) -> cn.Database:
    database = cn.create(tmp_path / "db")
    for day in DAYS:
        database.ingest("trade", rows(day), mode="append", part_by="sym", sort_by="time")
    return database


@pytest.fixture
def trade(database: cn.Database) -> cn.Table:
    return database["trade"]


def values(table: cn.Table, name: str) -> list[object]:
    return table.select(name).collect(symbols="string")[name].to_list()


def test_an_added_column_is_null_in_older_rows_and_takes_values_in_newer(trade: cn.Table) -> None:
    trade.add_column("venue", "symbol")
    trade.append(rows(dt.date(2024, 1, 4), venue=["N", None, "Q"]))

    assert list(trade.schema.columns)[-1] == "venue"
    assert values(trade, "venue") == [None] * 6 + ["N", None, "Q"]


def test_a_column_that_is_there_or_has_no_name_is_not_added(trade: cn.Table) -> None:
    for name in ("price", "date", "", " a", "a\n"):
        with pytest.raises(cn.SchemaError):
            trade.add_column(name, "int8")
    with pytest.raises(cn.ColumnTypeError):
        trade.add_column("x", "number")


def test_dropped_values_do_not_come_back_with_a_column_of_that_name(trade: cn.Table) -> None:
    trade.drop_column("price")
    with pytest.raises(cn.ColumnNotFoundError):
        trade.select("price")
    trade.add_column("price", "float64")
    trade.append(rows(dt.date(2024, 1, 4)).select("sym", "time", "size", "price"))
    trade.drop_column("price")
    trade.add_column("price", "float64")

    assert values(trade, "price") == [None] * 9
    assert dict(trade.schema.stored) == {"price": "price.3"}


def test_a_name_that_another_column_left_by_a_rename_is_free(trade: cn.Table) -> None:
    trade.rename_column("price", "paid")
    trade.add_column("price", "int64")
    trade.rename_column("size", "price.2")

    assert values(trade, "paid") == [1.5, 2.0, 3.25] * 2
    assert values(trade, "price") == [None] * 6
    assert values(trade, "price.2") == [100, 200, 300] * 2


def test_a_rename_carries_keys_roles_and_settings_along(database: cn.Database, trade: cn.Table) -> None:
    before = trade.bars("1m").collect()
    for old, new in (("sym", "ticker"), ("time", "ts"), ("price", "px")):
        trade.rename_column(old, new)
    schema = trade.schema
    again = rows(dt.date(2024, 1, 5)).rename({"sym": "ticker", "time": "ts", "price": "px"})
    database.ingest("trade", again)

    assert (schema.part_by, schema.sort_by, schema.date_column) == ("ticker", "ts", "ts")
    assert (schema.roles["symbol"], schema.roles["time"], schema.roles["price"]) == ("ticker", "ts", "px")
    assert set(trade._open().state.settings["compression"]) == {"ticker", "ts", "px", "size"}
    after = trade.where(date=cn.between(*DAYS)).bars("1m").collect()
    assert_frame_equal(after.rename({"ticker": "sym", "ts": "time"}), before)
    assert database.verify().is_empty()


def test_a_rename_back_leaves_the_schema_as_it_was(trade: cn.Table) -> None:
    before = trade.schema
    trade.rename_column("price", "px")
    trade.rename_column("px", "price")

    assert trade.schema == before


def test_keys_are_not_dropped_and_the_error_tells_the_way_out(trade: cn.Table) -> None:
    for name in ("sym", "time"):
        with pytest.raises(cn.SchemaError, match="new table"):
            trade.drop_column(name)


def test_the_role_of_a_dropped_column_goes(trade: cn.Table) -> None:
    trade.drop_column("price")

    assert "price" not in trade.roles
    with pytest.raises(cn.SchemaError, match="role 'price'"):
        trade.bars("1m")


def test_a_wider_type_writes_no_file(trade: cn.Table) -> None:
    files = set(trade._ref.path.rglob("*.col"))
    trade.cast_column("size", "int64")
    trade.append(rows(DAYS[1]).with_columns(size=pl.lit(2**40, pl.Int64)))

    assert files < set(trade._ref.path.rglob("*.col"))
    assert trade.group_by("sym").agg(total=col("size").sum()).collect()["total"].to_list() == [
        600 + 2 * 2**40,
        600 + 2**40,
    ]


def test_a_narrower_type_is_written_where_every_value_fits(database: cn.Database, trade: cn.Table) -> None:
    files = set(trade._ref.path.rglob("size-*.col"))
    trade.cast_column("size", "int16")

    assert values(trade, "size") == [100, 200, 300] * 2
    assert trade.select("size").collect().schema["size"] == pl.Int16
    assert len(set(trade._ref.path.rglob("size-*.col")) - files) == 2
    assert database.verify().is_empty()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("size", "symbol"), ("size", "string"), ("size", "float64"), ("size", "uint64"),
        ("price", "float32"), ("price", "symbol"), ("sym", "symbol"),
    ],
)  # fmt: skip
def test_values_survive_the_way_to_another_type_and_back(
    database: cn.Database, trade: cn.Table, name: str, kind: str
) -> None:
    before, found = values(trade, name), str(trade.schema.columns[name])
    trade.cast_column(name, kind)

    assert [type(before[0])(value) for value in values(trade, name)] == before
    assert database.verify().is_empty()
    trade.cast_column(name, found)
    assert values(trade, name) == before


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("price", "int64", "1.5"), ("size", "int8", "200 in row 1"), ("sym", "int64", "part_by"),
        ("time", "date", "trading dates"), ("price", "date", "doesn't become"), ("size", "char", "100"),
    ],
)  # fmt: skip
def test_a_cast_that_would_lose_something_is_refused_and_leaves_nothing(
    trade: cn.Table, name: str, kind: str, told: str
) -> None:
    before, version, files = values(trade, name), trade.version, set(trade._ref.path.rglob("*"))

    with pytest.raises(cn.SchemaError, match=told):
        trade.cast_column(name, kind)

    assert (values(trade, name), trade.version) == (before, version)
    assert set(trade._ref.path.rglob("*")) == files


def test_minus_zero_is_not_lost_as_an_integer(tmp_path: Path) -> None:
    database = cn.create(tmp_path / "db")
    database.ingest("trade", rows(DAYS[0]).with_columns(price=pl.Series([0.0, -0.0, 1.0])))

    with pytest.raises(cn.ColumnTypeError, match=r"-0\.0"):
        database["trade"].cast_column("price", "int64")


def test_rows_appended_while_a_cast_is_written_are_cast_as_well(
    database: cn.Database, trade: cn.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits, times = cast._Writing.edits, []

    def appended_meanwhile(*args: object) -> object:
        found = edits(*args)
        if len(times) < 2:
            times.append(1)
            database.ingest("trade", rows(DAYS[1]), mode="append")
            database.ingest("trade", rows(dt.date(2024, 2, len(times))), mode="append")
        return found

    monkeypatch.setattr(cast._Writing, "edits", appended_meanwhile)
    trade.cast_column("size", "int16")

    assert sorted(values(trade, "size")) == [100] * 6 + [200] * 6 + [300] * 6
    assert trade.select("size").collect().schema["size"] == pl.Int16
    assert database.verify().is_empty()


def test_an_append_prepared_before_a_change_of_the_schema_goes_in(
    database: cn.Database, trade: cn.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = writer._edits

    def changed_meanwhile(*args: object, **options: object) -> object:
        trade.rename_column("price", "px")
        trade.add_column("venue", "symbol")
        trade.cast_column("size", "int64")
        trade.add_column("price", "int64")
        return edits(*args, **options)

    monkeypatch.setattr(writer, "_edits", changed_meanwhile)
    database.ingest("trade", rows(dt.date(2024, 1, 4)))

    assert values(trade, "px") == [1.5, 2.0, 3.25] * 3
    assert values(trade, "size") == [100, 200, 300] * 3
    assert values(trade, "venue") == values(trade, "price") == [None] * 9


def test_an_append_whose_values_the_new_schema_cannot_read_is_a_conflict(
    database: cn.Database, trade: cn.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = writer._edits

    def changed_meanwhile(*args: object, **options: object) -> object:
        trade.cast_column("size", "int16")
        return edits(*args, **options)

    monkeypatch.setattr(writer, "_edits", changed_meanwhile)
    with pytest.raises(cn.ConflictError, match="'size'"):
        database.ingest("trade", rows(dt.date(2024, 1, 4)))

    assert trade.row_count == 6


def test_an_older_version_shows_the_older_columns(trade: cn.Table) -> None:
    version = trade.version
    trade.drop_column("price")
    trade.rename_column("size", "volume")
    old = trade.at(version=version)

    assert values(old, "price") == [1.5, 2.0, 3.25] * 2
    assert values(old, "size") == [100, 200, 300] * 2
    with pytest.raises(cn.PlanError, match="can't change"):
        old.drop_column("size")


def test_dates_are_dropped_by_date_and_by_month(trade: cn.Table) -> None:
    trade.append(rows(dt.date(2024, 2, 1)))

    assert trade.drop_partition("2024-01-02") == [DAYS[0]]
    assert trade.drop_partition("2024-02") == [dt.date(2024, 2, 1)]
    assert trade.partitions["date"].to_list() == [DAYS[1]]
    with pytest.raises(cn.NotFoundError):
        trade.drop_partition(DAYS[0])


def test_a_dropped_table_is_gone_for_everyone_who_asks_anew(database: cn.Database, trade: cn.Table) -> None:
    reader = trade.at(version=trade.version)
    database.drop_table("trade")

    assert database.tables == []
    assert "trade" not in database
    for ask in (lambda: database["trade"], lambda: trade.row_count, lambda: database.drop_table("trade")):
        with pytest.raises(cn.NotFoundError):
            ask()
    assert reader.row_count == 6
    assert values(reader, "price") == [1.5, 2.0, 3.25] * 2


def test_a_table_made_anew_under_a_dropped_name_has_nothing_of_the_old_one(database: cn.Database) -> None:
    database.drop_table("trade")
    database.ingest("trade", rows(dt.date(2024, 5, 6)).drop("size"))
    trade = database["trade"]

    assert list(trade.schema.columns) == ["sym", "time", "price"]
    assert trade.partitions["date"].to_list() == [dt.date(2024, 5, 6)]
    assert database.verify().is_empty()


def test_rows_prepared_for_a_dropped_table_do_not_go_into_one_made_anew(
    database: cn.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = writer._edits

    def dropped_meanwhile(*args: object, **options: object) -> object:
        monkeypatch.setattr(writer, "_edits", edits)
        database.drop_table("trade")
        database.ingest("trade", rows(dt.date(2024, 5, 6)))
        return edits(*args, **options)

    monkeypatch.setattr(writer, "_edits", dropped_meanwhile)
    with pytest.raises(cn.ConflictError, match="created anew"):
        database.ingest("trade", rows(dt.date(2024, 1, 4)))

    assert database["trade"].partitions["date"].to_list() == [dt.date(2024, 5, 6)]


def test_rows_prepared_for_a_table_that_was_dropped_do_not_bring_it_back(
    database: cn.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = writer._edits

    def dropped_meanwhile(*args: object, **options: object) -> object:
        database.drop_table("trade")
        return edits(*args, **options)

    monkeypatch.setattr(writer, "_edits", dropped_meanwhile)
    with pytest.raises(cn.NotFoundError, match="dropped"):
        database.ingest("trade", rows(dt.date(2024, 1, 4)))

    assert database.tables == []


def test_a_query_that_is_older_than_a_column_s_name_or_type_is_refused_by_name(trade: cn.Table) -> None:
    gone = [trade.select("price"), trade.where(col("price") > 1).select("sym"), trade.bars("1m")]
    changed = trade.where(size=100).select("sym")
    others = trade.select("sym", "time")
    trade.rename_column("price", "px")
    trade.cast_column("size", "int64")

    for query in gone:
        with pytest.raises(cn.PlanError, match=r"'price'.*is gone"):
            query.collect()
    with pytest.raises(cn.PlanError, match=r"'size'.*int64 now"):
        changed.collect()
    assert others.collect().height == 6


def test_an_added_column_gets_the_role_of_its_name_where_it_is_free(trade: cn.Table) -> None:
    trade.add_column("bid", "float64")
    trade.add_column("px", "float64")

    assert (trade.roles["bid"], trade.roles["price"]) == ("bid", "price")
