"""The tour over files of one's own, whose columns have names of their own."""

import json

import pytest
from typer.testing import CliRunner

from colonnade.cli import app

QUOTES = "".join(f"{sym},2024-01-02T09:30:{n:02},1.5,2.5\n" for sym in ("A", "B") for n in range(60))


@pytest.mark.parametrize(
    ("header", "more"),
    [
        ("sym,time,price,size", ()),
        ("ticker,timestamp,last,volume", ()),  # `volume` is a column of bars, too
        ("symbol,ts,px,qty,mean,count,vwap", (1.5, 7, 2)),
        (
            "instrument,datetime,p,shares,sym,time,price,size",
            (5, "x", "y", "z"),
        ),  # and these are something else
    ],
)
def test_answers_are_equal_whatever_the_columns_are_called(tmp_path, header, more):
    names = header.split(",")
    trades, quotes = tmp_path / "trades.csv", tmp_path / "quotes.csv"
    rows = [
        (sym, f"2024-01-02T09:30:{n:02}", n - 30.25, 400 * n, *more) for sym in ("A", "B") for n in range(60)
    ]
    trades.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    quotes.write_text(f"{names[0]},{names[1]},bid,ask\n{QUOTES}")

    words = ["demo", "--trades", str(trades), "--quotes", str(quotes), "--json"]
    result = CliRunner().invoke(app.make_program(), words, prog_name="colonnade", catch_exceptions=False)

    assert result.exit_code == 0, result.stderr
    answers = [one["agreement"] for one in json.loads(result.stdout)["comparisons"]]
    assert len(answers) == 5
    assert all(answer.startswith("equal") for answer in answers)
