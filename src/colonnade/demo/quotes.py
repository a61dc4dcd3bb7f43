"""Quotes of a synthetic TAQ day, with the columns of NYSE's SPLITS_US_ALL_BBO files."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from colonnade.demo.frames import bytes_column, symbol_column, time_column
from colonnade.demo.market import (
    VENUE_CODES,
    VENUES,
    Arrivals,
    Bools,
    Echo,
    Ints,
    Market,
    Rows,
    arrival_times,
    chance,
    echo_rows,
    latest_where,
    participant_times,
    price_walk,
    sequence_numbers,
    spread_rows,
    sticky_choice,
)

_ARRIVALS: Final = Arrivals(same=0.025, burst=0.78, burst_us=8, burst_sigma=1.8, quiet_sigma=1.5)
_EVENTS_PER_CHANNEL: Final = 7e7
_SLOTS: Final = 32  # venues, rounded up to a power of two


class Midpoints(NamedTuple):
    """The market's price: symbol, time and cents of each quote, ascending by symbol and time."""

    symbol: Ints
    times: Ints
    cents: Ints


def make_quotes(market: Market, count: int, seed: int) -> tuple[pl.DataFrame, Midpoints]:
    """Make ``count`` quotes, and the midpoints that trades happen at.

    Every venue keeps its own best bid and offer around the walk of the symbol's price; a message changes
    one side of one venue.
    """
    rng = np.random.default_rng([seed, 1])
    rows = spread_rows(market, count)
    times, quiet = arrival_times(rng, rows, _ARRIVALS)
    echo = echo_rows(rng, count, Echo(copy=0.37, mean_rows=14, max_lag=300, repeat=0.12))
    venue = sticky_choice(rng, count, [one.quote_share for one in VENUES], 0)[echo]
    mid = price_walk(rng, quiet & chance(rng, count, 0.20), rows, market)
    book = _Book.make(rng, market, rows, venue, mid)
    bid, bid_size = book.side(rng, sign=-1)
    offer, offer_size = book.side(rng, sign=1)
    delay = rng.lognormal(8.6, 0.9, count) + np.where(
        chance(rng, count, 0.01),
        rng.exponential(3e6, count),
        0,
    )
    blank = np.zeros(count, np.uint8)
    national = sticky_choice(rng, count, [0.62, 0.155, 0.10, 0.06, 0.03, 0.02, 0.008, 0.005, 0.002], 0.52)
    retail = sticky_choice(rng, count, [0.895, 0.055, 0.045, 0.005], 0.12)
    restriction = rng.choice(5, len(market.symbols), p=[0.75, 0.18, 0.05, 0.01, 0.01])
    frame = pl.DataFrame(
        {
            "Time": time_column(times),
            "Exchange": bytes_column(VENUE_CODES[venue]),
            "Symbol": symbol_column(market.symbols, rows.symbol),
            "Bid_Price": bid,
            "Bid_Size": bid_size,
            "Offer_Price": offer,
            "Offer_Size": offer_size,
            "Quote_Condition": bytes_column(_rarely(rng, count, b"R", b"ABHOYN", 1.3e-4)),
            "Sequence_Number": sequence_numbers(rng, times, rows, market, _EVENTS_PER_CHANNEL),
            "National_BBO_Ind": bytes_column(
                np.frombuffer(b"0421AB365", np.uint8)[national[echo_rows(rng, count, Echo(0.40, 20, 400, 0))]]
            ),
            "FINRA_BBO_Indicator": bytes_column(blank),
            "FINRA_ADF_MPID_Indicator": bytes_column(blank),
            "Quote_Cancel_Correction": bytes_column(blank),
            "Source_Of_Quote": bytes_column(market.tapes[rows.symbol]),
            "Retail_Interest_Indicator": bytes_column(
                np.frombuffer(b"\0ABC", np.uint8)[retail[echo_rows(rng, count, Echo(0.30, 30, 400, 0))]]
            ),
            "Short_Sale_Restriction_Indicator": bytes_column(
                np.frombuffer(b"\0ACDE", np.uint8)[restriction[rows.symbol]]
            ),
            "LULD_BBO_Indicator": bytes_column(blank),
            "SIP_Generated_Message_Identifier": bytes_column(_rarely(rng, count, b"\0", b"EC", 9e-6)),
            "National_BBO_LULD_Indicator": bytes_column(_rarely(rng, count, b"\0", b"ABCDEFG", 7.5e-6)),
            "Participant_Timestamp": time_column(participant_times(times, venue, delay)),
            "FINRA_ADF_Timestamp": pl.Series([None], dtype=pl.Time).new_from_index(0, count),
            "FINRA_ADF_Market_Participant_Quote_Indicator": bytes_column(blank),
            "Security_Status_Indicator": bytes_column(blank),
        }
    )
    return frame, Midpoints(rows.symbol, times, mid)


class _Book(NamedTuple):
    """Top of book of each venue, laid out by (symbol, venue) so that a venue's chain is one stretch."""

    order: Ints  # rows by symbol, venue, time
    begins: Bools  # in that order: the first row of a chain
    changed_side: Ints  # 0 bid, 1 offer, 2 both
    touches: Bools  # the price moves too; otherwise only the size
    mid: Ints
    half_spread: tuple[Ints, Ints]
    offset: Ints  # of the venue from the best price

    @classmethod
    def make(cls, rng: Generator, market: Market, rows: Rows, venue: Ints, mid: Ints) -> _Book:
        count, symbols = len(mid), len(market.symbols)
        key = rows.symbol * _SLOTS + venue
        order = np.argsort(key, kind="stable")
        begins = np.diff(key[order], prepend=-1) != 0
        usual = np.maximum(1, (market.open_cents * rng.lognormal(-7.8, 0.9, symbols)).astype(np.int64))
        wider = rng.integers(0, 2, count) * chance(rng, count, 0.15)
        spread = usual[rows.symbol] + wider
        steps = np.minimum(rng.geometric(0.74, (symbols, _SLOTS)) - 1, 6)[rows.symbol, venue]
        return cls(
            order=order,
            begins=begins,
            changed_side=rng.choice(3, count, p=[0.47, 0.47, 0.06]),
            touches=chance(rng, count, 0.30),
            mid=mid,
            half_spread=(spread // 2, (spread + 1) // 2),
            offset=steps * np.maximum(1, usual // 3)[rows.symbol],
        )

    def side(self, rng: Generator, *, sign: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Give prices and sizes in round lots of the bid (sign -1) or the offer (sign 1)."""
        count = len(self.mid)
        updates = np.isin(self.changed_side, (0, 2) if sign < 0 else (1, 2))[self.order]
        noise = np.where(chance(rng, count, 0.07), rng.integers(0, 3, count), 0)
        cents = self.mid + sign * (self.half_spread[sign > 0] + self.offset + noise)
        price_from = latest_where((updates & self.touches[self.order]) | self.begins)
        lots = np.ceil(rng.pareto(1.25, count) * 2.0 + rng.exponential(0.7, count))
        lots = np.clip(lots, 1, 9000).astype(np.int32)
        fresh = ~chance(rng, count, 0.62)  # sizes often stay
        size_from = latest_where((updates & fresh) | self.begins)
        prices, sizes = np.empty(count, np.float64), np.empty(count, np.int32)
        prices[self.order] = np.maximum(cents[self.order][price_from], 1) / 100
        sizes[self.order] = lots[self.order][size_from]
        return prices, sizes


def _rarely(rng: Generator, count: int, usual: bytes, others: bytes, rate: float) -> NDArray[np.uint8]:
    """Fill with one byte and scatter a few others."""
    values = np.full(count, usual[0], np.uint8)
    hits = rng.poisson(count * rate)
    values[rng.integers(0, count, hits)] = np.frombuffer(others, np.uint8)[rng.integers(0, len(others), hits)]
    return values
