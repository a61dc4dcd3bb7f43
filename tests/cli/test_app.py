"""What the program does around its commands: finding them, errors in one line, exit statuses."""

import os
import subprocess
import sys
import time

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from colonnade.cli import app
from colonnade.cli.status import Status
from colonnade.errors import CorruptionError, NotFoundError, RowError


def with_command(monkeypatch, run):
    """Make a program whose command ``info`` does what ``run`` does."""
    single = typer.Typer(add_completion=False)
    single.command("info")(run)
    monkeypatch.setattr(app, "load_command", lambda _name: get_command(single))
    return app.make_program()


def invoke(program, *words):
    return CliRunner().invoke(program, list(words), prog_name="colonnade", catch_exceptions=False)


def raising(error):
    def run():
        raise error

    return run


def located_error():
    error = CorruptionError("checksum doesn't match: got 0x1, expected 0x2")
    error.where = {"table": "trade", "column": "price", "block": 17}
    return error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (NotFoundError("no database at '/nowhere'"), "error: no database at '/nowhere'"),
        (
            located_error(),
            "error: checksum doesn't match: got 0x1, expected 0x2 (table trade, column price, block 17)",
        ),
        (
            RowError("can't read a number", file="t.csv", line=3, column="price", text="x\ny"),
            "error: t.csv, line 3, column 'price': can't read a number: 'x\\ny'",
        ),
        (
            PermissionError(13, "Permission denied", "/db/colonnade.json"),
            "error: permission denied: '/db/colonnade.json'",
        ),
        (OSError(28, "No space left on device"), "error: no space left on device"),
        (IsADirectoryError(21, "Is a directory", "db"), "error: is a directory: 'db'"),
    ],
)
def test_error_is_one_line_on_stderr_and_status_1(monkeypatch, error, line):
    result = invoke(with_command(monkeypatch, raising(error)), "info")

    assert result.exit_code == Status.FAILED
    assert result.stderr == line + "\n"
    assert result.stdout == ""


def test_message_of_several_lines_becomes_one(monkeypatch):
    result = invoke(with_command(monkeypatch, raising(NotFoundError("no\n  table"))), "info")

    assert result.stderr == "error: no table\n"


def test_ctrl_c_is_one_line_and_status_130(monkeypatch):
    result = invoke(with_command(monkeypatch, raising(KeyboardInterrupt())), "info")

    assert result.exit_code == Status.INTERRUPTED
    assert result.stderr == "interrupted\n"


def test_bug_is_not_dressed_up_as_an_error_of_the_user(monkeypatch):
    with pytest.raises(ZeroDivisionError):
        invoke(with_command(monkeypatch, raising(ZeroDivisionError())), "info")


@pytest.mark.parametrize("status", [Status.DONE, Status.NOTHING_TO_DO, Status.FAILED])
def test_command_says_its_status(monkeypatch, status):
    assert invoke(with_command(monkeypatch, lambda: status), "info").exit_code == status


@pytest.mark.parametrize("words", [["inof"], ["--no-such-option"], ["info", "--no-such-option"]])
def test_wrong_usage_is_status_2(monkeypatch, words):
    result = invoke(with_command(monkeypatch, lambda: Status.DONE), *words)

    assert result.exit_code == Status.WRONG_USAGE
    assert "Usage: colonnade" in result.stderr


def test_misspelt_command_is_answered_with_the_near_one(monkeypatch):
    result = invoke(with_command(monkeypatch, lambda: Status.DONE), "verfy")

    assert "Did you mean 'verify'?" in result.stderr


def test_help_lists_every_command_in_the_order_of_use():
    lines = [line.strip("│ ") for line in invoke(app.make_program(), "--help").stdout.splitlines()]

    listed = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in app.SUMMARIES]
    assert listed == list(app.SUMMARIES)


def test_program_without_words_shows_its_help():
    assert "Usage: colonnade" in invoke(app.make_program()).output


def test_version_is_the_version_of_the_package():
    result = invoke(app.make_program(), "--version")

    assert result.stdout.startswith("colonnade 0.")
    assert result.exit_code == Status.DONE


def run_program(*words, **settings):
    return subprocess.run(
        [sys.executable, "-c", "from colonnade.cli import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
        **settings,
    )


def test_help_imports_neither_polars_nor_kernels_and_is_quick():
    code = (
        "import sys, colonnade.cli\n"
        "try: colonnade.cli.main()\n"
        "finally: print([name for name in sys.modules if name in ('polars', 'numpy', 'colonnade.kernels')])"
    )
    started = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False
    )

    assert result.stdout.endswith("[]\n")
    assert time.perf_counter() - started < 3  # under 0.3 s on a machine that does nothing else


def test_ascii_terminal_gets_help_without_a_traceback():
    result = run_program("--help", env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert result.returncode == Status.DONE
    assert "Traceback" not in result.stderr
