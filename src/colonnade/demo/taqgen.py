"""A synthetic NYSE TAQ day, made from a seed, as frames or as files in NYSE's own form."""

from __future__ import annotations

import datetime as dt
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from colonnade.demo.market import make_market
from colonnade.demo.quotes import make_quotes
from colonnade.demo.trades import make_trades

DATE: Final = dt.date(2024, 1, 2)
SEED: Final = 7
_TRADES_PER_SYMBOL: Final = 76_610_223 / 11_615  # of the study's day
_ROWS_AT_ONCE: Final = 500_000
_TRADE_HEADER: Final = (
    "Time|Exchange|Symbol|Sale Condition|Trade Volume|Trade Price|Trade Stop Stock Indicator|"
    "Trade Correction Indicator|Sequence Number|Trade Id|Source of Trade|Trade Reporting Facility|"
    "Participant Timestamp|Trade Reporting Facility TRF Timestamp|Trade Through Exempt Indicator"
)


@dataclass(frozen=True, slots=True)
class TaqDay:
    """Trades and quotes of one day, both by symbol and then time."""

    trade: pl.DataFrame
    quote: pl.DataFrame


def make_day(*, trades: int = 2_000_000, quotes: int = 4_000_000, seed: int = SEED) -> TaqDay:
    """Make a day; the same arguments give the same rows.

    The number of symbols follows from the trades: as many as share that many trades on a full day, at
    least 20. Every symbol is traded and quoted.

    Examples
    --------
    >>> make_day(trades=100, quotes=200).trade.columns[:3]
    ['Time', 'Exchange', 'Symbol']
    """
    symbols = max(20, round(trades / _TRADES_PER_SYMBOL))
    market = make_market(symbols, seed)
    quote, midpoints = make_quotes(market, max(quotes, symbols), seed)
    return TaqDay(make_trades(market, midpoints, max(trades, symbols), seed), quote)


def write_trade_file(frame: pl.DataFrame, folder: str | Path, *, date: dt.date = DATE) -> Path:
    """Write trades as ``EQY_US_ALL_TRADE_YYYYMMDD``: pipes, a header, and an END line with the count."""
    return _write_pipes(frame, Path(folder) / f"EQY_US_ALL_TRADE_{date:%Y%m%d}", _TRADE_HEADER, date)


def write_quote_files(frame: pl.DataFrame, folder: str | Path, *, date: dt.date = DATE) -> list[Path]:
    """Write quotes as NYSE does: ``SPLITS_US_ALL_BBO_A_YYYYMMDD`` to Z, by the symbol's first letter."""
    header = "|".join(frame.columns)
    letter = pl.col("Symbol").str.slice(0, 1)
    return [
        _write_pipes(
            frame.filter(letter == one), Path(folder) / f"SPLITS_US_ALL_BBO_{one}_{date:%Y%m%d}", header, date
        )
        for one in string.ascii_uppercase
    ]


def _write_pipes(frame: pl.DataFrame, path: Path, header: str, date: dt.date) -> Path:
    with path.open("wb") as file:
        file.write(f"{header}\n".encode())
        for rows in frame.iter_slices(_ROWS_AT_ONCE):
            _as_text(rows).write_csv(file, separator="|", include_header=False, quote_style="never")
        file.write(f"END|{date:%Y%m%d}|{frame.height}{'|' * (frame.width - 3)}\n".encode())
    return path


def _as_text(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        *(_clock_digits(name) for name, dtype in rows.schema.items() if dtype == pl.Time),
        *(pl.col(name).cast(pl.UInt8) for name, dtype in rows.schema.items() if dtype == pl.Boolean),
        *(
            pl.col(name).cast(pl.String).str.zfill(2)
            for name, dtype in rows.schema.items()
            if dtype == pl.Int16
        ),
    )


def _clock_digits(name: str) -> pl.Expr:
    """Give a time of day as NYSE writes it: HHMMSSnnnnnnnnn."""
    nanoseconds = pl.col(name).cast(pl.Int64)
    seconds = nanoseconds // 1_000_000_000
    clock = seconds // 3600 * 10_000 + seconds // 60 % 60 * 100 + seconds % 60
    digits = clock * 1_000_000_000 + nanoseconds % 1_000_000_000
    return digits.cast(pl.String).str.zfill(15).alias(name)
