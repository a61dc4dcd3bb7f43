"""What the tests of real files share: ingesting one, its facts, its expected bars."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl

import colonnade as cn
from colonnade import col

DESCRIPTIONS = Path(__file__).parent / "descriptions"
NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def ingested(folder: Path, table: str, source: Path, *, format: str | None = None, **keys: Any) -> cn.Table:  # noqa: A002 - ingest's word
    """Ingest a file as it is into a new database; ``format`` is a description here, or a shipped one."""
    database = cn.create(folder / f"{table}.db")
    described = None if format is None else DESCRIPTIONS / f"{format}.toml"
    named = described if described is not None and described.exists() else format
    database.ingest(table, source, format=named, **keys)
    return database[table]


def facts_of(market: Path, name: str) -> dict[str, Any]:
    """Give what a correct reader must report of a file."""
    return json.loads((market / "facts.json").read_text("utf-8"))[name]


def totals(query: Any, **aggregates: Any) -> dict[str, Any]:
    """Aggregate all rows of a query to one row."""
    return query.group_by().agg(**aggregates).collect().row(0, named=True)


def expected_bars(market: Path, file: str, *, unit: str, price_scale: float = 1) -> list[dict[str, Any]]:
    """Read the expected bars: starts as nanoseconds, prices divided by their scale."""
    with (market / file).open(encoding="utf-8", newline="") as lines:
        return [
            {
                "start": int(line["minute_start"]) * NS[unit],
                "volume": float(line["volume"]),
                "trades": int(line["trades"]),
                **{name: float(line[name]) / price_scale for name in ("open", "high", "low", "close")},
            }
            for line in csv.DictReader(lines)
        ]


def minute_bars(query: Any, *, time: str, price: str = "price") -> list[dict[str, Any]]:
    """Give the minute bars of one symbol in the form of `expected_bars`."""
    bars = query.bars("1m").collect()
    counts = query.group_by(col(time).bucket("1m")).agg(trades=col(price).count()).collect()
    assert bars.height == counts.height
    starts = bars[time].to_physical()
    assert starts.to_list() == counts[time].to_physical().to_list()
    return [
        {
            "start": start,
            "trades": trades,
            **{n: float(row[n]) for n in ("open", "high", "low", "close", "volume")},
        }
        for start, trades, row in zip(starts, counts["trades"], bars.iter_rows(named=True), strict=True)
    ]


def assert_same_bars(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare bars: all exactly, but volumes of fractions to 1e-9 relative."""
    assert [bar["start"] for bar in found] == [bar["start"] for bar in expected]
    for bar, wanted in zip(found, expected, strict=True):
        assert abs(bar["volume"] - wanted["volume"]) <= 1e-9 * abs(wanted["volume"])
        assert {**bar, "volume": 0} == {**wanted, "volume": 0}


def times_of(frame: pl.DataFrame, column: str = "time", *, per_unit: int = 1) -> dict[str, int]:
    """Give the facts of a time column in logical order, in the unit of the file."""
    times = frame[column].to_physical().to_numpy() // per_unit
    steps = times[1:] - times[:-1]
    return {
        "first": int(times[0]),
        "last": int(times[-1]),
        "min": int(times.min()),
        "max": int(times.max()),
        "descents": int((steps < 0).sum()),
        "equal_to_previous": int((steps == 0).sum()),
        "distinct": len(set(times.tolist())),
    }
