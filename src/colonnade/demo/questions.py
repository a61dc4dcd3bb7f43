"""The queries of the tour, each in Colonnade and in Polars."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from colonnade.api.database import Database
from colonnade.api.query import Query
from colonnade.api.table import Table
from colonnade.demo import peers
from colonnade.demo.compare import Question
from colonnade.demo.taqgen import TaqDay
from colonnade.query.expr import col
from colonnade.threads import default_threads

_LARGE: Final = 10_000
_FEW: Final = 6
_POINT_READS: Final = 10_000
_TRADE_ROLES: Final = {"symbol": "sym", "time": "time", "price": "price", "size": "size"}
_QUOTE_ROLES: Final = {"symbol": "sym", "time": "time", "bid": "bid", "ask": "ask"}
_MADE: Final = {  # names of the generator to those that the format nyse-taq gives
    "Time": "time", "Exchange": "exchange", "Symbol": "sym", "SaleCondition": "cond",
    "TradeVolume": "size", "TradePrice": "price", "TradeStopStockIndicator": "stop",
    "TradeCorrectionIndicator": "correction", "SequenceNumber": "sequence_number", "TradeId": "trade_id",
    "SourceofTrade": "source_of_trade", "TradeReportingFacility": "trade_reporting_facility",
    "ParticipantTimestamp": "participant_timestamp", "TradeReportingFacilityTRFTimestamp": "trf_timestamp",
    "TradeThroughExemptIndicator": "trade_through_exempt", "Bid_Price": "bid", "Offer_Price": "ask",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Day:
    """One date of the tour's database, and the same rows in memory for Polars."""

    date: dt.date
    trade: Table
    quote: Table | None
    trade_frame: pl.DataFrame
    quote_frame: pl.DataFrame | None
    threads: int

    @classmethod
    def latest(cls, db: Database, frames: Mapping[str, pl.DataFrame], *, threads: int | None) -> Day:
        """Take the newest date; rows that were not made here are read from the database."""
        trade = db["trade"]
        quote = db["quote"] if "quote" in db.tables else None
        date: dt.date = trade.partitions["date"][-1]
        return cls(
            date=date,
            trade=trade,
            quote=quote,
            trade_frame=frames["trade"] if frames else _read(trade, date, _TRADE_ROLES),
            quote_frame=None
            if quote is None
            else frames["quote"]
            if frames
            else _read(quote, date, _QUOTE_ROLES),
            threads=threads or default_threads(),
        )

    @property
    def time(self) -> str:
        """Name of the time column of trades."""
        return self.trade.schema.role("time")

    @property
    def symbol(self) -> str:
        """Name of the symbol column of trades."""
        return self.trade.schema.role("symbol")

    def trades(self) -> Query:
        """Give the trades of the day."""
        return self.trade.where(**{self.trade.schema.partition_by: self.date})

    def symbols_by_trades(self) -> list[str]:
        """List the symbols, those with most trades first."""
        price = col(self.trade.schema.role("price"))
        counts = self.trades().group_by(self.symbol).agg(trades=price.count()).collect()
        return counts.sort("trades", descending=True)[self.symbol].cast(pl.String).to_list()

    def bars_of(self, symbol: str, every: str) -> pl.DataFrame:
        """Give the bars of one symbol."""
        return self.trades().where(**{self.symbol: symbol}).bars(every).collect(threads=self.threads)


def questions_of(day: Day) -> list[Question]:
    """Give the questions of the tour: bars, a filter with groups, an as-of join, point reads."""
    names = _names(day.trade, _TRADE_ROLES)
    keys = {day.symbol: "sym", day.time: "time"}  # the other columns of a result have names of its own
    few = day.symbols_by_trades()[:_FEW]
    collect = partial(_collect, names=keys, threads=day.threads)
    trades = day.trade_frame
    numbers = np.random.default_rng(0).integers(0, trades.height, _POINT_READS)
    before = day.trade.row_count - trades.height  # rows of earlier dates; the table counts them, too
    price, size = (col(day.trade.schema.role(role)) for role in ("price", "size"))
    large = day.trades().where(size >= _LARGE).group_by(day.symbol)
    questions = [
        Question(
            "minute bars, all symbols",
            lambda: collect(day.trades().bars("1m")),
            lambda: peers.minute_bars(trades),
            keys=("sym", "time"),
            summed=("vwap",),
        ),
        Question(
            f"minute bars, {len(few)} symbols",
            lambda: collect(day.trades().where(**{day.symbol: few}).bars("1m")),
            lambda: peers.bars_of_symbols(trades, few),
            keys=("sym", "time"),
            summed=("vwap",),
        ),
        Question(
            f"{_LARGE:,}+ shares, by symbol",
            lambda: collect(large.agg(trades=size.count(), volume=size.sum(), mean=price.mean())),
            lambda: peers.large_trades(trades, _LARGE),
            keys=("sym",),
            summed=("mean",),
        ),
        Question(
            f"{len(numbers):,} rows by number",
            lambda: day.trade.rows(numbers + before).rename(names),
            lambda: peers.rows_at(trades, numbers.tolist()),
        ),
    ]
    if day.quote is not None and day.quote_frame is not None:
        questions.append(_join_question(day, day.quote, day.quote_frame))
    return questions


def _join_question(day: Day, quote: Table, quotes: pl.DataFrame) -> Question:
    """Ask for each trade's quote; the answer keeps the order of the trades."""
    left = {day.trade.schema.role(role): name for role, name in _TRADE_ROLES.items()}
    right = {quote.schema.role(role): name for role, name in _QUOTE_ROLES.items()}
    trades = day.trade_frame.select(_TRADE_ROLES.values())
    quotes = quotes.select(_QUOTE_ROLES.values())
    quoted = day.trades().select(*left).asof_join(quote.select(*right), by=day.symbol, on=day.time)
    return Question(
        "each trade with its quote",
        lambda: _collect(quoted, names=left | right, threads=day.threads),
        lambda: peers.quoted_trades(trades, quotes),
    )


def _collect(query: Query, *, names: Mapping[str, str], threads: int) -> pl.DataFrame:
    """Collect a query, with the columns named as in `peers`."""
    return query.collect(threads=threads).rename(dict(names), strict=False)


def _read(table: Table, date: dt.date, roles: Mapping[str, str]) -> pl.DataFrame:
    """Read a date from the database, for Polars; the columns of the roles named as in `peers`."""
    return table.where(**{table.schema.partition_by: date}).collect().rename(_names(table, roles))


def _names(table: Table, roles: Mapping[str, str]) -> dict[str, str]:
    """Name the columns of the roles as in `peers`, and no other column so."""
    played = {table.schema.role(role, where=f"table {table.name!r}"): name for role, name in roles.items()}
    taken = set(roles.values())
    return {name: played.get(name, f"{name}_" if name in taken else name) for name in table.schema.columns}


def frames_of(day: TaqDay) -> dict[str, pl.DataFrame]:
    """Give the rows that were made as Polars gets them: all columns of trades, of quotes those asked for."""
    quotes = day.quote.select("Symbol", "Time", "Bid_Price", "Offer_Price")
    return {
        table: frame.rename(_MADE, strict=False).with_columns(pl.col("sym").cast(pl.Categorical))
        for table, frame in (("trade", day.trade), ("quote", quotes))
    }
