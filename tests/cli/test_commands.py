"""The commands on a small day of NYSE TAQ: results, forms of output, and bad input of every kind."""

import gzip
import json
import os
import shutil
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
from colonnade.demo.taqgen import make_day, write_quote_files, write_trade_file

ROOT_USER = hasattr(os, "geteuid") and os.geteuid() == 0


def invoke(*words):
    return CliRunner().invoke(
        app.make_program(), [str(word) for word in words], prog_name="colonnade", catch_exceptions=False
    )


def start_program(*words, **settings):
    program = [sys.executable, "-c", "from colonnade.cli import main; main()", *map(str, words)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    day = make_day(trades=20_000, quotes=20_000)
    return {"trade": [write_trade_file(day.trade, folder)], "quote": write_quote_files(day.quote, folder)}


@pytest.fixture(scope="module")
def db(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("db") / "db"
    for table, paths in files.items():
        assert invoke("ingest", folder, table, *paths, "--format", "nyse-taq").exit_code == Status.DONE
    return folder


@pytest.fixture
def own_db(db, tmp_path):
    return shutil.copytree(db, tmp_path / "own")


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "trades.csv"
    path.write_text(
        "sym,time,price,size\n"
        "MSFT,2024-01-02T09:30:01.000000001,370.5,100\n"
        "AAPL,2024-01-02T09:30:00,185.25,200\n"
        "AAPL,2024-01-03T09:30:00,184,300\n"
    )
    return path


KEYS = ("--part-by", "sym", "--sort-by", "time")


# What comes out


def test_ingest_makes_the_database_and_tells_what_went_in(tmp_path, csv):
    result = invoke("ingest", tmp_path / "new", "trade", csv, *KEYS, "--json")

    report = json.loads(result.stdout)
    assert result.exit_code == Status.DONE
    assert (report["rows"], report["bad_rows"], report["partitions"]) == (3, 0, ["2024-01-02", "2024-01-03"])
    assert cn.open(tmp_path / "new")["trade"].row_count == 3


def test_ingest_passes_compressions_and_roles_on(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("ticker,ts,TradePrice,vol\nA,2024-01-02T10:00:00,1.5,7\n")

    result = invoke(
        *("ingest", tmp_path / "new", "trade", path, "--part-by", "ticker", "--sort-by", "ts"),
        *("--compression", "plain", "--compression", "TradePrice=zstd:5@64KiB"),
        *("--role", "price=TradePrice", "--role", "size=vol"),
    )

    table = cn.open(tmp_path / "new")["trade"]
    stored = dict(table.info().select("column", "compression").iter_rows())
    assert result.exit_code == Status.DONE
    assert stored["TradePrice"] == "zstd:5@64KiB"
    assert stored["vol"] == "plain"
    assert (table.roles["price"], table.roles["size"]) == ("TradePrice", "vol")


def test_bad_rows_go_to_their_file_and_are_counted(tmp_path, csv):
    csv.write_text(csv.read_text() + "AAPL,2024-01-03T09:31:00,no price,300\n")

    result = invoke(
        "ingest",
        tmp_path / "new",
        "trade",
        csv,
        *KEYS,
        "--format",
        described(tmp_path),
        "--bad-rows",
        tmp_path / "bad.csv",
        "--json",
    )

    assert json.loads(result.stdout)["bad_rows"] == 1
    assert "no price" in (tmp_path / "bad.csv").read_text()
    assert "bad.csv" in result.stderr


def test_info_lists_tables_with_rows_and_bytes(db):
    tables = pl.read_csv(invoke("info", db).stdout.encode())

    assert tables["table"].to_list() == ["quote", "trade"]
    assert tables["rows"].to_list() == [20_000, 20_000]
    assert (tables["plain_bytes"] > tables["stored_bytes"]).all()


def test_info_of_a_table_lists_every_column_of_every_partition(db):
    columns = pl.read_csv(invoke("info", db, "trade").stdout.encode())

    assert columns["column"].to_list()[:3] == ["time", "exchange", "sym"]
    assert {"type", "compression", "plain_bytes", "stored_bytes", "ratio"} <= set(columns.columns)


def test_info_of_a_date_without_rows_has_nothing_to_do(db):
    assert invoke("info", db, "trade", "--date", "1999-01-01").exit_code == Status.NOTHING_TO_DO


def test_bars_are_those_of_the_library(db):
    result = invoke("bars", db, "trade", "--sym", "AAPL", "--every", "5m", "--json")

    bars = cn.open(db)["trade"].where(sym="AAPL").bars("5m").collect()
    rows = json.loads(result.stdout)
    assert [row["close"] for row in rows] == bars["close"].to_list()
    assert [row["vwap"] for row in rows] == bars["vwap"].to_list()
    assert rows[0]["time"].startswith("09:3")


def test_bars_of_several_symbols_and_a_session(db):
    result = invoke("bars", db, "trade", "--sym", "AAPL", "--sym", "TSLA", "--session", "10:00-10:02")

    bars = pl.read_csv(result.stdout.encode())
    assert set(bars["sym"]) == {"AAPL", "TSLA"}
    assert set(bars["time"].str.slice(0, 5)) == {"10:00", "10:01"}


@pytest.mark.parametrize(
    ("name", "read"), [("b.parquet", pl.read_parquet), ("b.arrow", pl.read_ipc), ("b.csv", pl.read_csv)]
)
def test_bars_go_to_a_file_of_the_form_that_its_name_says(db, tmp_path, name, read):
    result = invoke("bars", db, "trade", "-o", tmp_path / name)

    assert result.stdout == ""
    assert read(tmp_path / name).height == cn.open(db)["trade"].bars("1m").collect().height


@pytest.mark.parametrize("words", [["--sym", "NOSUCH"], ["--date", "1999-01-01"]])
def test_bars_of_nothing_have_nothing_to_do_and_print_their_columns(db, words):
    result = invoke("bars", db, "trade", *words)

    assert result.exit_code == Status.NOTHING_TO_DO
    assert result.stdout.split(",")[0] in ("date", "sym")


def test_verify_finds_nothing_in_a_sound_database(db):
    result = invoke("verify", db, "--json")

    assert result.exit_code == Status.DONE
    assert json.loads(result.stdout) == []


def test_verify_names_the_place_of_a_flipped_bit(own_db):
    path = next((own_db / "trade").rglob("price*.col"))
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)

    result = invoke("verify", own_db, "trade")

    assert result.exit_code == Status.FAILED
    assert all(word in result.stdout + result.stderr for word in ("trade", "2024-01-02", "price"))


def test_demo_as_json_says_what_was_equal():
    result = invoke("demo", "--rows", 1000, "--json")

    tour = json.loads(result.stdout)
    assert result.exit_code == Status.DONE
    assert all(one["equal"] for one in tour["comparisons"])
    assert tour["ingests"]["quote"]["rows"] == 2000


def test_demo_keeps_the_database_that_it_is_told_to(tmp_path):
    result = invoke("demo", "--rows", 1000, "--db", tmp_path / "kept")

    assert "kept" in result.stdout
    assert cn.open(tmp_path / "kept")["trade"].row_count == 1000


def test_demo_takes_own_files(files):
    result = invoke("demo", "--trades", files["trade"][0], "--format", "nyse-taq")

    assert result.exit_code == Status.DONE
    assert "equal" in result.stdout


# What a terminal shows


@pytest.fixture
def on_a_terminal(monkeypatch):
    monkeypatch.setattr("colonnade.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def stamped_db(tmp_path, csv):
    assert invoke("ingest", tmp_path / "stamped", "trade", csv, *KEYS).exit_code == Status.DONE
    return tmp_path / "stamped"


@pytest.mark.usefixtures("on_a_terminal")
def test_terminal_draws_the_bars_of_one_symbol_as_candles(db):
    text = invoke("bars", db, "trade", "--sym", "AAPL", "--every", "10m").stdout

    assert text.startswith("AAPL, 2024-01-02: ")
    assert "┃" in text
    assert "09:30" in text


@pytest.mark.usefixtures("on_a_terminal")
def test_terminal_lists_the_bars_of_several_symbols(stamped_db):
    text = invoke("bars", stamped_db, "trade").stdout

    assert "2024-01-02 to 2024-01-03: 3 bars" in text
    assert "370.5" in text


@pytest.mark.usefixtures("on_a_terminal")
def test_terminal_labels_bars_of_several_days_with_the_days(stamped_db):
    assert "01-02" in invoke("bars", stamped_db, "trade", "--sym", "AAPL").stdout


@pytest.mark.usefixtures("on_a_terminal")
def test_terminal_shows_keys_roles_and_totals_of_a_table(db):
    text = invoke("info", db, "trade").stdout

    assert "parted by sym, sorted by time, zone America/New_York" in text
    assert "price=price" in text
    assert text.splitlines()[-1].startswith("total")


@pytest.mark.usefixtures("on_a_terminal")
def test_terminal_tells_what_an_ingest_did(tmp_path, csv):
    text = invoke("ingest", tmp_path / "new", "trade", csv, *KEYS).stdout

    assert "trade: 3 rows into 2 dates, version 1" in text


@pytest.mark.usefixtures("on_a_terminal")
@pytest.mark.parametrize(
    "words", [["info"], ["info", "trade"], ["info", "quote"], ["verify"], ["bars", "trade"]], ids=" ".join
)
def test_nothing_is_wider_than_the_terminal(db, words):
    text = invoke(words[0], db, *words[1:]).stdout

    assert max(map(len, text.splitlines())) <= 80


# What is said of bad input


def assert_one_line(result, *words):
    assert result.exit_code == Status.FAILED
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize("command", ["info", "verify"])
def test_folder_without_a_database_is_said(command, tmp_path):
    assert_one_line(invoke(command, tmp_path), str(tmp_path), "no database")


def test_missing_folder_is_said_and_not_made(tmp_path):
    assert_one_line(invoke("bars", tmp_path / "nowhere", "trade"), "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_file_in_place_of_a_database_is_said(csv):
    assert_one_line(invoke("info", csv), "trades.csv")


@pytest.mark.parametrize("command", ["info", "bars", "verify"])
def test_missing_table_is_answered_with_those_there_are(db, command):
    assert_one_line(invoke(command, db, "trades"), "'trades'", "trade", "quote")


@pytest.mark.parametrize("command", ["info", "bars", "verify"])
def test_table_name_that_leaves_the_folder_is_refused(db, command):
    assert_one_line(invoke(command, db, "../db"))


@pytest.mark.parametrize(
    "words",
    [
        ["--date", "yesterday"],
        ["--date", "2024-02-30"],
        ["--every", "often"],
        ["--every", "0m"],
        ["--session", "9-late"],
        ["--session", "16:00-09:30"],
    ],
    ids=" ".join,
)
def test_value_that_makes_no_sense_is_one_line(db, words):
    assert_one_line(invoke("bars", db, "trade", *words))


def test_bars_of_quotes_name_the_role_that_is_missing(db):
    assert_one_line(invoke("bars", db, "quote"), "price", "role")


def test_source_that_is_not_there_makes_no_database(tmp_path):
    assert_one_line(invoke("ingest", tmp_path / "new", "trade", tmp_path / "no.csv"), "no.csv")
    assert not (tmp_path / "new").exists()


def write_bytes(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("zeros.csv", bytes(1000)),
        ("not.parquet", b"PAR1 and no more"),
        ("not.arrow", b"ARROW1 and no more"),
        ("cut.csv.gz", gzip.compress(b"sym,time\n" + b"A,2024-01-02T10:00:00\n" * 9999)[:-30]),
        ("not.zip", b"PK and no more"),
        ("latin.csv", "sym,time\nA,2024-01-02T10:00:00\n\xe9,2024-01-02T10:00:00\n".encode("latin-1")),
        ("ragged.csv", b"sym,time,price\nA,2024-01-02T10:00:00,1\nB,2024-01-02\n"),
        ("returns.csv", b"sym,time\rA,2024-01-02T10:00:00\r"),
        ("twice.csv", b"sym,sym\nA,B\n"),
    ],
)
def test_broken_file_is_named_in_one_line(tmp_path, name, content):
    path = write_bytes(tmp_path / name, content)

    assert_one_line(invoke("ingest", tmp_path / "new", "trade", path, *KEYS), name)


def test_folder_in_place_of_a_file_is_one_line(tmp_path):
    assert_one_line(invoke("ingest", tmp_path / "new", "trade", tmp_path), str(tmp_path))


@pytest.mark.skipif(ROOT_USER, reason="root may read every file")
def test_file_that_may_not_be_read_is_one_line(tmp_path, csv):
    csv.chmod(0)

    assert_one_line(
        invoke("ingest", tmp_path / "new", "trade", csv, *KEYS), "permission denied", "trades.csv"
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--format", "nosuch"], "nosuch"),
        (["--format", "missing.toml"], "missing.toml"),
        (["--part-by", "symbol"], "symbol"),
        (["--sort-by", "sym"], "sym"),
        (["--tz", "Mars/Olympus"], "Mars/Olympus"),
        (["--date", "someday"], "someday"),
        (["--day-start", "noon"], "noon"),
        (["--role", "prize=price"], "prize"),
        (["--role", "price=prize"], "prize"),
        (["--compression", "prize=plain"], "prize"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_option_that_fits_no_column_or_name_is_named(tmp_path, csv, words, named):
    keys = [] if words[0] in KEYS else KEYS
    assert_one_line(invoke("ingest", tmp_path / "new", "trade", csv, *keys, *words), named)


def test_description_that_is_no_toml_is_named(tmp_path, csv):
    path = write_bytes(tmp_path / "own.toml", b"kind = delimited\n")

    assert_one_line(invoke("ingest", tmp_path / "new", "trade", csv, "--format", path), "'own'")


def test_row_that_does_not_fit_is_named_and_nothing_is_committed(tmp_path, csv):
    csv.write_text(csv.read_text() + "AAPL,2024-01-03T09:31:00,no price,300\n")

    result = invoke("ingest", tmp_path / "new", "trade", csv, *KEYS, "--format", described(tmp_path))

    assert_one_line(result, "trades.csv", "line 5", "price")
    assert invoke("info", tmp_path / "new", "trade").exit_code == Status.FAILED


def described(folder):
    return write_bytes(
        folder / "own.toml",
        b'kind = "delimited"\nheader = true\n'
        b'columns = [{name="sym", type="symbol"}, {name="time", type="timestamp"}, '
        b'{name="price", type="float64"}, {name="size", type="int64"}]\n',
    )


def test_same_source_twice_is_refused_unless_told(own_db, files):
    words = ("ingest", own_db, "trade", *files["trade"], "--format", "nyse-taq", "--mode", "append")

    assert_one_line(invoke(*words), "EQY_US_ALL_TRADE_20240102")
    assert invoke(*words, "--again").exit_code == Status.DONE
    assert cn.open(own_db)["trade"].row_count == 40_000


def test_dates_that_hold_rows_are_refused_without_a_mode(own_db, tmp_path):
    path = write_trade_file(make_day(trades=1000, quotes=1000, seed=1).trade, tmp_path)
    words = ("ingest", own_db, "trade", path, "--format", "nyse-taq")

    assert_one_line(invoke(*words), "2024-01-02", "append", "replace")
    assert invoke(*words, "--mode", "replace").exit_code == Status.DONE
    assert cn.open(own_db)["trade"].row_count == 1000


def test_file_cut_before_its_last_line_is_refused(tmp_path, files):
    lines = files["trade"][0].read_text().splitlines(keepends=True)
    path = tmp_path / "EQY_US_ALL_TRADE_20240102"
    path.write_text("".join(lines[:100] + lines[-1:]))

    assert_one_line(invoke("ingest", tmp_path / "new", "trade", path, "--format", "nyse-taq"), "20000", "99")


@pytest.mark.parametrize(
    "words",
    [
        ["bars"],
        ["bars", "db", "trade", "-o", "bars.xlsx"],
        ["bars", "db", "trade", "--session", "09:30"],
        ["bars", "db", "trade", "--threads", "0"],
        ["ingest", "db", "trade"],
        ["ingest", "db", "trade", "t.csv", "--compression", "zstd:99"],
        ["ingest", "db", "trade", "t.csv", "--role", "price"],
        ["ingest", "db", "trade", "t.csv", "--mode", "merge"],
        ["demo", "--rows", "many"],
        ["demo", "--quotes", "quotes.csv"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2_and_touches_nothing(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = invoke(*words)

    assert result.exit_code == Status.WRONG_USAGE
    assert list(tmp_path.iterdir()) == []


def test_output_in_a_folder_that_is_not_there_is_one_line(db, tmp_path):
    assert_one_line(
        invoke("bars", db, "trade", "-o", tmp_path / "no" / "bars.csv"), "no such file or directory"
    )


def test_demo_does_not_write_over_what_is_there(db):
    assert_one_line(invoke("demo", "--rows", 1000, "--db", db), str(db))


@pytest.mark.parametrize("damage", ["cut", "emptied", "gone", "overwritten"])
def test_damage_to_any_file_is_found_in_one_line(tmp_path, csv, damage):
    assert invoke("ingest", tmp_path / "sound", "trade", csv, *KEYS).exit_code == Status.DONE
    for number, path in enumerate(sorted((tmp_path / "sound").rglob("*.*"))):
        copied = shutil.copytree(tmp_path / "sound", tmp_path / str(number))
        damaged = copied / path.relative_to(tmp_path / "sound")
        content = damaged.read_bytes()
        if damage == "gone":
            damaged.unlink()
        else:
            damaged.write_bytes(
                {"cut": content[: len(content) // 2], "emptied": b""}.get(damage, b"x" * len(content))
            )

        result = invoke("verify", copied)

        assert result.exit_code in (Status.FAILED, Status.NOTHING_TO_DO), path  # 3: its one version is gone
        assert result.stderr.count("\n") == 1


# What the program does as a process


def test_reader_that_goes_away_ends_the_program_quietly(db):
    with start_program("bars", db, "trade", "--every", "1s") as program:
        program.stdout.readline()
        program.stdout.close()
        complaint = program.stderr.read()

    assert program.returncode == Status.BROKEN_PIPE
    assert complaint == ""


def test_ctrl_c_is_one_line_and_leaves_no_files(tmp_path):
    with start_program("demo", env={**os.environ, "TMPDIR": str(tmp_path)}) as program:
        while not list(tmp_path.glob("colonnade-demo-*/db")):
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        complaint = program.communicate(timeout=60)[1]

    assert program.returncode == Status.INTERRUPTED
    assert complaint == "interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_text_that_ascii_lacks_is_no_reason_to_fail():
    with start_program("demo", "--rows", 1000, env={**os.environ, "PYTHONIOENCODING": "ascii"}) as program:
        out, complaint = program.communicate(timeout=100)

    assert program.returncode == Status.DONE
    assert complaint == ""
    assert out.isascii()


@pytest.mark.parametrize("words", [("trade", "--date", "soon"), ("--date", "2024-01-02")])
def test_info_takes_a_date_of_a_table_only(db, words):
    result = invoke("info", db, *words)

    assert result.exit_code == Status.WRONG_USAGE
    assert "--date" in result.stderr


def test_links_that_lead_nowhere_are_no_database(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    result = invoke("info", loop)

    assert result.exit_code == Status.FAILED
    assert str(loop) in result.stderr


def test_damaged_marker_is_named(own_db):
    (own_db / "colonnade.json").write_text("{}\n")

    assert str(own_db / "colonnade.json") in invoke("info", own_db).stderr
