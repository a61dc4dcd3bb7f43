"""The commands that look after a database: clean, copy, files."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import colonnade as cn
from colonnade.cli import app
from colonnade.cli.status import Status


def invoke(*words):
    return CliRunner().invoke(
        app.make_program(), [str(word) for word in words], prog_name="colonnade", catch_exceptions=False
    )


def ticks(day, rows=4):
    start = pl.Series([day]).str.to_datetime(time_unit="ns")
    return pl.DataFrame(
        {"time": start.new_from_index(0, rows), "sym": ["A", "B"] * (rows // 2), "price": [1.5] * rows}
    )


@pytest.fixture
def db_path(tmp_path):
    db = cn.create(tmp_path / "db")
    for table in ("trade", "quote"):
        for day in ("2024-01-02", "2024-01-03"):
            db.ingest(table, ticks(day), part_by="sym", sort_by="time", mode="append")
    return db.path


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_clean_shows_what_would_go_and_removes_nothing(db_path):
    before = files_of(db_path)

    result = invoke("clean", db_path, "--keep", "0s", "--json")

    found = json.loads(result.stdout)
    assert result.exit_code == Status.DONE
    assert [(row["table"], row["versions"]) for row in found] == [("quote", 1), ("trade", 1)]
    assert files_of(db_path) == before
    assert "--apply" in result.stderr


def test_clean_removes_what_it_showed(db_path):
    planned = json.loads(invoke("clean", db_path, "trade", "--keep", "0s", "--json").stdout)
    before = files_of(db_path)

    result = invoke("clean", db_path, "trade", "--keep", "0s", "--apply", "--json")

    assert json.loads(result.stdout) == planned
    assert len(before) - len(files_of(db_path)) == planned[0]["versions"] + planned[0]["files"]
    assert invoke("verify", db_path).exit_code == Status.DONE
    assert cn.open(db_path)["trade"].row_count == 8


def test_clean_removes_a_dropped_table(db_path):
    cn.open(db_path).drop_table("quote")

    invoke("clean", db_path, "--keep", "0s", "--apply")

    assert not list((db_path / "quote").glob("date=*"))


def test_clean_of_a_young_database_has_nothing_to_do(db_path):
    assert invoke("clean", db_path, "--apply").exit_code == Status.NOTHING_TO_DO


@pytest.mark.parametrize("keep", ["soon", "-1d"])
def test_clean_refuses_a_span_that_is_none(db_path, keep):
    result = invoke("clean", db_path, f"--keep={keep}")

    assert result.exit_code == Status.WRONG_USAGE
    assert "--keep" in result.stderr


def test_clean_of_a_table_that_is_not_there_names_those_that_are(db_path):
    result = invoke("clean", db_path, "trades")

    assert result.exit_code == Status.FAILED
    assert "'quote', 'trade'" in result.stderr


def test_copy_of_a_date_and_a_symbol_is_a_database_of_them(db_path, tmp_path):
    result = invoke(
        *("copy", db_path, tmp_path / "sample", "--table", "trade"),
        *("--date", "2024-01-03", "--sym", "B", "--column", "price", "--json"),
    )

    (row,) = json.loads(result.stdout)
    assert (row["table"], row["partitions"], row["rows"]) == ("trade", 1, 2)
    assert cn.open(tmp_path / "sample")["trade"].collect()["price"].to_list() == [1.5, 1.5]


def test_copy_to_a_database_that_is_there_fails_in_one_line(db_path):
    result = invoke("copy", db_path, db_path)

    assert result.exit_code == Status.FAILED
    assert result.stderr.count("\n") == 1


def test_copy_refuses_a_date_that_is_none(db_path, tmp_path):
    result = invoke("copy", db_path, tmp_path / "sample", "--date", "soon")

    assert result.exit_code == Status.WRONG_USAGE
    assert "--date" in result.stderr


def test_files_are_paths_one_a_line_for_rsync(db_path):
    listed = invoke("files", db_path, "trade").stdout.splitlines()

    assert all((db_path / path).is_file() for path in listed)
    assert "colonnade.json" in listed
    assert "trade/versions/00000002.json" in listed
    assert "trade/versions/00000001.json" not in listed


def test_files_in_json_have_bytes(db_path):
    listed = json.loads(invoke("files", db_path, "--json").stdout)

    assert {row["table"] for row in listed} == {"quote", "trade", None}
    assert all((db_path / row["path"]).stat().st_size == row["bytes"] for row in listed)


def test_files_of_a_version_needs_a_table(db_path):
    assert invoke("files", db_path, "--version", "1").exit_code == Status.WRONG_USAGE
    assert "trade/versions/00000001.json" in invoke("files", db_path, "trade", "--version", "1").stdout
