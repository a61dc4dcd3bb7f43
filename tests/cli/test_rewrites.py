"""The commands that rewrite data: a plan first, what is done with --apply, statuses and bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from typer.testing import CliRunner

import colonnade as cn
from colonnade.cli import app
from colonnade.cli.status import Status
from query.tick_tables import table_of, ticks


def invoke(*words):
    return CliRunner().invoke(
        app.make_program(), [str(word) for word in words], prog_name="colonnade", catch_exceptions=False
    )


@pytest.fixture
def db(tmp_path):
    table_of(tmp_path / "db", ticks(), pieces=3)
    return tmp_path / "db"


def version(db):
    return cn.open(db)["trade"].version


def test_compact_shows_its_plan_and_does_it_when_told(db):
    planned = invoke("compact", db)
    done = invoke("compact", db, "trade", "--apply", "--json")
    after = invoke("compact", db)

    assert (planned.exit_code, done.exit_code, after.exit_code) == (0, 0, Status.NOTHING_TO_DO)
    assert planned.stdout.splitlines()[0] == "table,partition,rows,parts,bytes_before,bytes_after"
    assert "pass --apply" in planned.stderr
    assert [row["parts"] for row in json.loads(done.stdout)] == [3, 3, 3]
    assert version(db) == 3 + 3


def test_compact_takes_dates(db):
    done = invoke("compact", db, "--date", "2024-01-03", "--apply")

    assert done.exit_code == 0
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:]] == ["2024-01-03"]


def test_recompress_shows_its_plan_and_does_it_when_told(db):
    words = ("recompress", db, "trade", "--compression", "price=zstd:10", "--date", "2024-01-02")

    planned = invoke(*words)
    before = version(db)
    done = invoke(*words, "--apply", "--json")

    assert planned.exit_code == done.exit_code == 0
    assert before == 3
    (row,) = json.loads(done.stdout)
    assert (row["table"], row["partition"], row["column"], row["after"]) == (
        "trade",
        "2024-01-02",
        "price",
        "zstd:10",
    )
    assert row["bytes_after"] > 0
    assert invoke(*words, "--apply").exit_code == Status.NOTHING_TO_DO


def test_recompress_without_a_compression_brings_back_the_settings(db):
    invoke("recompress", db, "--compression", "lz4", "--column", "price", "--date", "2024-01-02", "--apply")

    done = invoke("recompress", db, "--apply", "--json")

    assert [(row["column"], row["before"]) for row in json.loads(done.stdout)] == [("price", "lz4:1")]


def test_recompress_takes_an_age_and_a_goal(db):
    done = invoke("recompress", db, "--goal", "smallest", "--older-than", "30d", "--json")

    assert done.exit_code == 0
    assert {row["partition"] for row in json.loads(done.stdout)} == {"2024-01-02", "2024-01-03", "2024-01-04"}
    assert invoke("recompress", db, "--goal", "smallest", "--older-than", "5000w").exit_code == 3


def test_delete_counts_first_and_deletes_when_told(db):
    words = ("delete", db, "trade", "--sym", "Z", "--date", "2024-01-03")
    expected = cn.open(db)["trade"].where(sym="Z", date="2024-01-03").collect().height

    planned = invoke(*words)
    before = cn.open(db)["trade"].row_count
    done = invoke(*words, "--apply", "--json")

    assert planned.exit_code == done.exit_code == 0
    assert f"{expected:,} rows would go" in planned.stderr
    assert before == 3_000
    assert sum(row["deleted"] for row in json.loads(done.stdout)) == expected
    assert cn.open(db)["trade"].row_count == 3_000 - expected
    assert invoke(*words).exit_code == Status.NOTHING_TO_DO


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        (["size>900"], pl.col("size") > 900),
        (["size >= 900", "ex=N"], (pl.col("size") >= 900) & (pl.col("ex") == "N")),
        (["ex=N,Q"], pl.col("ex").is_in(["N", "Q"])),
        (["ex!=N"], pl.col("ex") != "N"),
        (["price<99.5"], pl.col("price") < 99.5),
        (["small=-5..5"], pl.col("small").is_between(-5, 5)),
        (["time=09:30..12:00"], pl.col("time").dt.time().is_between(pl.time(9, 30), pl.time(12))),
    ],
)
def test_conditions_of_all_kinds(db, where, condition):
    words = [word for text in where for word in ("--where", text)]
    rows = cn.open(db)["trade"].collect().with_columns(pl.col(pl.Categorical).cast(pl.String))

    done = invoke("delete", db, "trade", *words, "--json")

    assert sum(row["deleted"] for row in json.loads(done.stdout)) == rows.filter(condition).height > 0


@pytest.mark.parametrize(
    "words",
    [
        ("delete", "trade"),
        ("delete", "trade", "--where", "size"),
        ("delete", "trade", "--where", "size>"),
        ("delete", "trade", "--where", "size>many"),
        ("delete", "trade", "--where", "sym=A", "--where", "sym=B"),
        ("delete", "trade", "--date", "yesterday"),
        ("recompress", "trade", "--compression", "zip"),
        ("recompress", "trade", "--older-than", "soon"),
        ("recompress", "trade", "--goal", "best"),
    ],
)
def test_wrong_usage_changes_nothing(db, words):
    command, *rest = words

    done = invoke(command, db, *rest, "--apply")

    assert done.exit_code == Status.WRONG_USAGE
    assert version(db) == 3


@pytest.mark.parametrize(
    "words", [("compact", "quote"), ("recompress", "quote"), ("delete", "quote", "--date", "2024-01-02")]
)
def test_a_table_that_is_not_there_fails_with_those_that_are(db, words):
    command, *rest = words

    done = invoke(command, db, *rest)

    assert done.exit_code == Status.FAILED
    assert "'trade'" in done.stderr


def test_a_column_that_is_not_there_fails_by_name(db):
    assert "prise" in invoke("recompress", db, "trade", "--column", "prise").stderr
    assert "prise" in invoke("delete", db, "trade", "--where", "prise>3").stderr


def test_an_interrupted_recompression_leaves_a_whole_table_and_goes_on(tmp_path):
    table = table_of(tmp_path / "db", ticks(200_000), pieces=1)
    before = table.collect()
    code = (
        "import colonnade.maintenance.recompress as one\n"
        "one._COMMIT_FILES = 4\n"
        "from colonnade.cli import main\n"
        "main()\n"
    )
    words = ("recompress", tmp_path / "db", "--compression", "zstd:19", "--apply", "--threads", "2")
    program = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    while table.version < 3:
        assert program.poll() is None
        time.sleep(0.02)
    program.send_signal(signal.SIGINT)
    _, complaint = program.communicate(timeout=60)

    left = table.recompress("zstd:19", dry_run=True)
    assert (program.returncode, complaint) == (Status.INTERRUPTED, "interrupted\n")
    assert 0 < left.height < 3 * 7
    assert table.collect().equals(before, null_equal=True)
    assert invoke(*words).exit_code == 0
    assert set(table.info()["compression"]) == {"zstd:19"}
    assert table.collect().equals(before, null_equal=True)
    assert cn.open(tmp_path / "db").verify().is_empty()


@pytest.mark.parametrize("command", ["compact", "recompress"])
def test_a_database_without_tables_is_nothing_to_do(tmp_path, command):
    cn.create(tmp_path / "db")

    done = invoke(command, tmp_path / "db")

    assert done.exit_code == Status.NOTHING_TO_DO
    assert (done.stdout, done.stderr[:9]) == ("", "no tables")
