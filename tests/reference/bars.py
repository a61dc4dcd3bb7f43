"""Bars of a list of rows: open, high, low, close, volume and volume-weighted average price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference.aggregates import Aggregate, Row, group, locate


def bucket(time_ns: int, every_ns: int, offset_ns: int = 0) -> int:
    """Give the start of the bucket that a time lies in; buckets are closed left."""
    return (time_ns - offset_ns) // every_ns * every_ns + offset_ns


def bars(rows: Sequence[Row], every_ns: int, *, offset_ns: int = 0) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Give the bars by (date, symbol, start) of rows with date, sym, time (ns), price and size."""
    aggregates = {
        "open": Aggregate("first", lambda row: row["price"]),
        "high": Aggregate("max", lambda row: row["price"]),
        "low": Aggregate("min", lambda row: row["price"]),
        "close": Aggregate("last", lambda row: row["price"]),
        "volume": Aggregate("sum", lambda row: row["size"]),
        "vwap": Aggregate("wavg", lambda row: row["price"], lambda row: row["size"]),
    }
    return group(
        locate(rows),
        lambda row: (row["date"], row["sym"], bucket(row["time"], every_ns, offset_ns)),
        aggregates,
    )
