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
