"""Every Python example of the README and the documents runs, in the order of its page."""

import datetime as dt
import re
from pathlib import Path

import polars as pl
import pytest

import colonnade as cn
from colonnade.demo.taqgen import make_day, write_quote_files, write_trade_file

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples_of(page):
    return EXAMPLE.findall(page.read_text())


def prepared_names(folder):
    """Make the database that pages speak of which don't make their own."""
    day = make_day(trades=20_000, quotes=40_000)
    db = cn.create(folder / "db")
    db.ingest("trade", write_trade_file(day.trade, folder), format="nyse-taq")
    db.ingest("quote", write_quote_files(day.quote, folder), format="nyse-taq")
    db["trade"].where(date="2024-01-02").select(*db["trade"].schema.columns).collect().write_parquet(
        folder / "2024-01-03.parquet"
    )
    return {"cn": cn, "col": cn.col, "db": db, "trade": db["trade"], "quote": db["quote"]}


def write_described_files(page, folder):
    """Write the descriptions that a page shows with their names, and a file that one of them describes."""
    for text in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        if name := re.match(r"# (\w+\.toml)\n", text):
            (folder / name[1]).write_text(text)
    (folder / "BCHEUR_trades.csv").write_text("1704153600,230.2,0.015\n1704153601,230.15,1.2\n")


@pytest.mark.parametrize("page", [page for page in PAGES if examples_of(page)], ids=lambda page: page.name)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = examples_of(page)
    write_described_files(page, tmp_path)
    names = {} if any("cn.create(" in example for example in examples) else prepared_names(tmp_path)

    for example in examples:
        exec(compile(example, str(page), "exec"), names)  # noqa: S102 - our own documents


def test_tutorial_s_first_file_is_ingested_whole(tmp_path):
    day = make_day(trades=50_000, quotes=100_000, seed=7)

    report = cn.create(tmp_path / "db").ingest(
        "trade", write_trade_file(day.trade, tmp_path), format="nyse-taq"
    )

    assert report.rows == 50_000


def test_described_source_of_the_how_to_page_is_ingested(tmp_path):
    write_described_files(ROOT / "docs" / "how-to" / "describe-a-source.md", tmp_path)

    db = cn.create(tmp_path / "db")
    db.ingest("trade", tmp_path / "BCHEUR_trades.csv", format=tmp_path / "kraken.toml")

    frame = db["trade"].collect()
    assert frame["sym"].cast(pl.String).to_list() == ["BCHEUR", "BCHEUR"]
    assert frame["price"].to_list() == [230.2, 230.15]
    assert db["trade"].partitions["date"].to_list() == [dt.date(2024, 1, 2)]
