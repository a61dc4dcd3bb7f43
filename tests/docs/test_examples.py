"""Every Python example of the README and the documents runs, in the order of its page."""

import re
from pathlib import Path

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


@pytest.mark.parametrize("page", [page for page in PAGES if examples_of(page)], ids=lambda page: page.name)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = examples_of(page)
    names = {} if any("cn.create(" in example for example in examples) else prepared_names(tmp_path)

    for example in examples:
        exec(compile(example, str(page), "exec"), names)  # noqa: S102 - our own documents


def test_tutorial_s_first_file_is_ingested_whole(tmp_path):
    day = make_day(trades=50_000, quotes=100_000, seed=7)

    report = cn.create(tmp_path / "db").ingest(
        "trade", write_trade_file(day.trade, tmp_path), format="nyse-taq"
    )

    assert report.rows == 50_000
