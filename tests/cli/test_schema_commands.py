"""Commands that change columns, dates and tables, and drift at ingest."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import colonnade as cn
from colonnade.cli import app
from colonnade.cli.status import Status

KEYS = ("--part-by", "sym", "--sort-by", "time")


def invoke(*words):
    return CliRunner().invoke(
        app.make_program(), [str(word) for word in words], prog_name="colonnade", catch_exceptions=False
    )


@pytest.fixture
def day(tmp_path):
    def write(date, header="sym,time,price,size", row="MSFT,{}T09:30:01,370.5,100"):
        path = tmp_path / f"{date}.csv"
        path.write_text(f"{header}\n{row.format(date)}\n")
        return path

    return write


@pytest.fixture
def db(tmp_path, day):
    for date in ("2024-01-02", "2024-01-03", "2024-02-01"):
        result = invoke("ingest", tmp_path / "db", "trade", day(date), *KEYS, "--json")
        assert result.exit_code == Status.DONE
    return tmp_path / "db"


def test_ingest_warns_once_of_a_column_that_files_lack(db, day):
    files = [day(date, "sym,time,price", "MSFT,{}T10:00:00,1") for date in ("2024-03-01", "2024-03-04")]

    result = invoke("ingest", db, "trade", *files)

    assert result.exit_code == Status.DONE
    assert result.stderr.count("warning: ") == 1
    assert "2024-03-01.csv" in result.stderr
    assert "'size'" in result.stderr


def test_ingest_refuses_adds_or_ignores_a_new_column(db, day):
    wide = ("sym,time,price,size,venue", "MSFT,{}T10:00:00,1,2,N")

    refused = invoke("ingest", db, "trade", day("2024-03-01", *wide))
    ignored = invoke("ingest", db, "trade", day("2024-03-04", *wide), "--new-columns", "ignore")
    assert "venue" not in cn.open(db)["trade"].schema.columns
    added = invoke("ingest", db, "trade", day("2024-03-05", *wide), "--new-columns", "add")

    assert refused.exit_code == Status.FAILED
    assert "--new-columns" in refused.stderr
    assert (ignored.exit_code, added.exit_code) == (Status.DONE, Status.DONE)
    assert list(cn.open(db)["trade"].schema.columns)[-1] == "venue"


def test_ingest_widens_where_it_is_told(db, day):
    assert json.loads(invoke("info", db, "--json").stdout)[0]["rows"] == 3
    cn.open(db)["trade"].cast_column("size", "int16")
    large = day("2024-03-01", row="MSFT,{}T10:00:00,1,40000")

    refused = invoke("ingest", db, "trade", large)
    widened = invoke("ingest", db, "trade", large, "--widen")

    assert refused.exit_code == Status.FAILED
    assert widened.exit_code == Status.DONE
    table = cn.open(db)["trade"]
    assert str(table.schema.columns["size"]) == "int64"
    assert table.select("size").collect()["size"].to_list() == [100, 100, 100, 40_000]


def test_a_change_of_a_column_is_a_plan_until_it_is_applied(db):
    changes = [
        ("add", "venue", "symbol"),
        ("rename", "price", "px"),
        ("cast", "size", "int16"),
        ("drop", "px"),
    ]
    for action, *words in changes:
        before = cn.open(db)["trade"].schema
        planned = invoke("column", action, db, "trade", *words, "--json")
        assert planned.exit_code == Status.DONE
        assert "--apply" in planned.stderr
        assert cn.open(db)["trade"].schema == before
        applied = invoke("column", action, db, "trade", *words, "--apply", "--json")
        [plan], [done] = json.loads(planned.stdout), json.loads(applied.stdout)
        assert (plan["files"], done["files"]) == ((3, 3) if action == "cast" else (0, 0))
        assert (plan["version"], done["version"]) == (None, cn.open(db)["trade"].version)

    assert {name: str(kind) for name, kind in cn.open(db)["trade"].schema.columns.items()} == {
        "sym": "symbol",
        "time": "timestamp",
        "size": "int16",
        "venue": "symbol",
    }


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("add", "price", "int8"), Status.FAILED),
        (("drop", "sym"), Status.FAILED),
        (("rename", "nothing", "x"), Status.FAILED),
        (("cast", "price", "int64"), Status.FAILED),
        (("cast", "price", "date"), Status.FAILED),
        (("drop", "price", "x"), Status.WRONG_USAGE),
        (("cast", "price"), Status.WRONG_USAGE),
        (("move", "price"), Status.WRONG_USAGE),
    ],
)
def test_a_change_that_cannot_be_is_one_line_and_changes_nothing(db, words, status):
    before = cn.open(db)["trade"].version
    action, *rest = words

    result = invoke("column", action, db, "trade", *rest, "--apply")

    assert result.exit_code == status
    assert status == Status.WRONG_USAGE or result.stderr.count("\n") == 1
    assert cn.open(db)["trade"].version == before


def test_dates_are_dropped_when_it_is_applied(db):
    planned = invoke("drop", db, "trade", "--date", "2024-01", "--json")
    assert [row["partition"] for row in json.loads(planned.stdout)] == ["2024-01-02", "2024-01-03"]
    assert cn.open(db)["trade"].row_count == 3
    assert invoke("drop", db, "trade", "--date", "2024-01", "--apply").exit_code == Status.DONE
    assert cn.open(db)["trade"].partitions["date"].cast(str).to_list() == ["2024-02-01"]
    assert invoke("drop", db, "trade", "--date", "2024-01", "--apply").exit_code == Status.NOTHING_TO_DO
    assert invoke("drop", db, "trade", "--date", "January").exit_code == Status.WRONG_USAGE


def test_a_table_is_dropped_when_it_is_applied_and_its_files_go_when_it_is_cleaned(db):
    assert invoke("drop", db, "trade").exit_code == Status.DONE
    assert cn.open(db).tables == ["trade"]
    assert invoke("drop", db, "trade", "--apply").exit_code == Status.DONE

    assert cn.open(db).tables == []
    assert invoke("drop", db, "trade", "--apply").exit_code == Status.FAILED
    assert invoke("clean", db, "--keep", "0s", "--apply").exit_code == Status.DONE
    assert not list(db.rglob("*.col"))


def test_drift_lists_what_differs_and_nothing_where_nothing_does(db, day):
    assert invoke("drift", db).exit_code == Status.NOTHING_TO_DO
    table = cn.open(db)["trade"]
    table.add_column("venue", "symbol")
    table.cast_column("size", "int16")
    table.cast_column("size", "int32")
    invoke("ingest", db, "trade", day("2024-03-01"), "--compression", "price=zstd:9")

    result = invoke("drift", db, "trade", "--json")

    found = {
        (row["column"], row["difference"], row["found"], row["expected"]) for row in json.loads(result.stdout)
    }
    assert ("venue", "absent", None, "symbol") in found
    assert ("size", "type", "int16", "int32") in found
    assert ("price", "compression", "zstd:9", table._open().state.settings["compression"]["price"]) in found
    assert len(json.loads(result.stdout)) == 3 + 3 + 1
