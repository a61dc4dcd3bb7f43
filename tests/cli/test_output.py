"""What a program gets that reads our output: all digits, UTF-8, whole files."""

import datetime as dt
import json

import polars as pl
import pytest

from colonnade.cli import output

FRAME = pl.DataFrame(
    {
        "sym": pl.Series(["BRK B", "é", None], dtype=pl.Categorical),
        "time": pl.Series([1, 34_200_000_000_001, None]).cast(pl.Time),
        "at": pl.Series([1_704_186_000_000_000_001, 0, None]).cast(pl.Datetime("ns", "America/New_York")),
        "price": [0.1 + 0.2, float("nan"), None],
    }
)


def fail_to_draw(_console):
    pytest.fail("nothing is drawn where no terminal is")


def test_pipe_gets_csv_with_every_nanosecond(capfdbinary):
    output.show(FRAME, as_json=False, draw=fail_to_draw)

    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0] == "sym,time,at,price"
    assert lines[1] == "BRK B,00:00:00.000000001,2024-01-02T04:00:00.000000001-0500,0.30000000000000004"
    assert lines[2].startswith("é,09:30:00.000000001,")


def test_json_is_an_array_of_rows(capfdbinary):
    output.show(FRAME, as_json=True, draw=fail_to_draw)

    rows = json.loads(capfdbinary.readouterr().out)
    assert rows[0]["time"] == "00:00:00.000000001"
    assert rows[0]["at"] == "2024-01-02T04:00:00.000000001-0500"
    assert rows[0]["price"] == 0.1 + 0.2
    assert rows[1]["price"] is None  # JSON has no NaN
    assert rows[2] == {"sym": None, "time": None, "at": None, "price": None}


@pytest.mark.parametrize(("as_json", "text"), [(True, "[]"), (False, "sym,time,at,price")])
def test_no_rows_are_still_a_document(capfdbinary, as_json, text):
    output.show(FRAME.clear(), as_json=as_json, draw=fail_to_draw)

    assert capfdbinary.readouterr().out.decode().strip() == text


@pytest.mark.parametrize(
    ("name", "read"),
    [("bars.parquet", pl.read_parquet), ("bars.ARROW", pl.read_ipc), ("bars.csv", pl.read_csv)],
)
def test_file_takes_the_form_of_its_name(tmp_path, name, read):
    output.write_file(FRAME, tmp_path / name)

    assert read(tmp_path / name)["price"].to_list()[0] == 0.1 + 0.2
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "bars.csv"
    path.write_text("old")

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    with pytest.raises(OSError, match="No space"):
        output.write_file(FRAME, path)

    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["bars.csv"]


def test_file_that_cannot_be_written_is_named_as_the_user_wrote_it(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError) as missing:
        output.write_file(pl.DataFrame({"a": [1]}), tmp_path / "no" / "bars.csv")

    def full(*_):
        raise OSError("No space left on device (os error 28)")  # as Polars says it

    monkeypatch.setattr(pl.DataFrame, "write_csv", full)
    with pytest.raises(OSError, match="No space left") as refused:
        output.write_file(pl.DataFrame({"a": [1]}), tmp_path / "bars.csv")

    assert missing.value.filename == str(tmp_path / "no" / "bars.csv")
    assert refused.value.filename == str(tmp_path / "bars.csv")


def test_times_keep_their_type_in_parquet(tmp_path):
    output.write_file(FRAME, tmp_path / "bars.parquet")

    assert pl.read_parquet(tmp_path / "bars.parquet")["time"][1] == dt.time(9, 30)


def test_brackets_and_colons_of_names_are_no_markup(capsys):
    output.stdout_console().print("table [red]x[/red] :smile:")

    assert capsys.readouterr().out == "table [red]x[/red] :smile:\n"
