"""The queries of the tour in Polars, on frames that are in memory already.

The frames have the columns sym, time, price, size of trades and sym, time, bid, ask of quotes; symbols are
categorical, rows lie by symbol and time.
"""

from __future__ import annotations

from typing import Final

import polars as pl

MINUTE_NS: Final = 60_000_000_000


def minute_bars(trades: pl.DataFrame) -> pl.DataFrame:
    """Give open, high, low, close, volume and vwap of each symbol and minute."""
    price, size = pl.col("price"), pl.col("size")
    minute = pl.col("time").cast(pl.Int64) // MINUTE_NS * MINUTE_NS
    return (
        trades.lazy()
        .group_by("sym", minute.cast(trades.schema["time"]))
        .agg(
            open=price.first(),
            high=price.max(),
            low=price.min(),
            close=price.last(),
            volume=size.sum(),
            vwap=(price * size).sum() / size.sum(),
        )
        .collect()
    )


def bars_of_symbols(trades: pl.DataFrame, symbols: list[str]) -> pl.DataFrame:
    """Give the minute bars of a few symbols."""
    return minute_bars(trades.lazy().filter(pl.col("sym").is_in(symbols)).collect())


def large_trades(trades: pl.DataFrame, least: int) -> pl.DataFrame:
    """Give count, volume and mean price of the trades of at least that size, by symbol."""
    return (
        trades.lazy()
        .filter(pl.col("size") >= least)
        .group_by("sym")
        .agg(trades=pl.len(), volume=pl.col("size").sum(), mean=pl.col("price").mean())
        .collect()
    )


def quoted_trades(trades: pl.DataFrame, quotes: pl.DataFrame) -> pl.DataFrame:
    """Give each trade with the last quote at or before it."""
    return trades.lazy().join_asof(quotes.lazy(), on="time", by="sym", check_sortedness=False).collect()


def rows_at(trades: pl.DataFrame, numbers: list[int]) -> pl.DataFrame:
    """Give the rows of those numbers."""
    return trades[numbers]
