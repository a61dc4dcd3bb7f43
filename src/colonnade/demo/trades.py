"""Trades of a synthetic TAQ day, with the columns of NYSE's EQY_US_ALL_TRADE files."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from colonnade.demo.frames import bytes_column, symbol_column, time_column
from colonnade.demo.market import (
    FINRA,
    VENUE_CODES,
    VENUES,
    Arrivals,
    Bools,
    Echo,
    Floats,
    Ints,
    Market,
    Rows,
    arrival_times,
    chance,
    echo_rows,
    latest_where,
    participant_times,
    sequence_numbers,
    spread_rows,
    sticky_choice,
    symbol_time_keys,
)
from colonnade.demo.quotes import Midpoints

_ARRIVALS: Final = Arrivals(same=0.03, burst=0.67, burst_us=9, burst_sigma=1.9, quiet_sigma=1.35)
_EVENTS_PER_CHANNEL: Final = 5.5e6
_LONG_IDS: Final = [0, 1, 10, 11, 12, FINRA, 13]  # venues that number all their trades in one row
_ROUND_LOT: Final = 100
_CONDITION_COUNT: Final = 118
# 0 to 2: odd lot, regular, intermarket sweep; 3 to 5 the same reported to FINRA; then all the rare ones
_CONDITIONS: Final = ["@  I", "@", "@F", "@ TI", "@ T", "@FT"] + [
    "".join(letters).rstrip()
    for letters in itertools.islice(itertools.product("@ ", "F 4", "TUZ ", "IVWXB"), _CONDITION_COUNT - 6)
]


def make_trades(market: Market, midpoints: Midpoints, count: int, seed: int) -> pl.DataFrame:
    """Make ``count`` trades around the midpoints of the quotes."""
    rng = np.random.default_rng([seed, 2])
    rows = spread_rows(market, count)
    times, _ = arrival_times(rng, rows, _ARRIVALS)
    echo = echo_rows(rng, count, Echo(copy=0.26, mean_rows=12, max_lag=300, repeat=0.32))
    drawn = sticky_choice(rng, count, [one.trade_share for one in VENUES], 0)[echo]
    sweep = _sweeps(rng, drawn, rows)
    venue = drawn[sweep]
    at_finra = venue == FINRA
    delay = rng.lognormal(8.6, 0.9, count) + np.where(at_finra, rng.exponential(6e6, count), 0)
    sent = participant_times(times, venue, delay)[sweep]
    reported = (sent - rng.exponential(6e5, count).astype(np.int64)) // 1000 * 1000
    volume = _volumes(rng, count)
    condition = _conditions(rng, volume, at_finra)
    exempt = np.isin(condition, (2, 5, 0)) & chance(rng, count, 0.97)
    correction = np.zeros(count, np.int16)
    corrected = max(1, count // 105_000)
    correction[rng.integers(0, count, corrected)] = rng.choice([1, 7, 8, 12], corrected)
    facility = at_finra & (sticky_choice(rng, count, [0.62, 0.38], 0.92) == 1)
    return pl.DataFrame(
        {
            "Time": time_column(times),
            "Exchange": bytes_column(VENUE_CODES[venue]),
            "Symbol": symbol_column(market.symbols, rows.symbol),
            "SaleCondition": pl.Series(_CONDITIONS).gather(condition),
            "TradeVolume": volume,
            "TradePrice": _prices(rng, _mid_at(midpoints, rows, times), drawn == FINRA, sweep),
            "TradeStopStockIndicator": bytes_column(np.zeros(count, np.uint8)),
            "TradeCorrectionIndicator": correction,
            "SequenceNumber": sequence_numbers(rng, times, rows, market, _EVENTS_PER_CHANNEL),
            "TradeId": _trade_ids(rng, times, venue, rows).astype(str),
            "SourceofTrade": bytes_column(market.tapes[rows.symbol]),
            "TradeReportingFacility": bytes_column(np.where(facility, ord("N"), 0).astype(np.uint8)),
            "ParticipantTimestamp": time_column(sent),
            "TradeReportingFacilityTRFTimestamp": time_column(reported, valid=at_finra),
            "TradeThroughExemptIndicator": exempt[echo_rows(rng, count, Echo(0.30, 24, 300, 0.40))],
        }
    )


def _mid_at(midpoints: Midpoints, rows: Rows, times: Ints) -> Ints:
    """Give the midpoint in cents that each trade sees: the last quote at or before it."""
    known = symbol_time_keys(midpoints.symbol, midpoints.times)
    at = np.searchsorted(known, symbol_time_keys(rows.symbol, times), side="right") - 1
    opening = np.searchsorted(midpoints.symbol, rows.symbol)  # before the first quote, take the first
    return midpoints.cents[np.maximum(at, opening)]


def _sweeps(rng: Generator, venue: Ints, rows: Rows) -> Ints:
    """Give for each trade the first trade of the order that it belongs to; most are their own."""
    follows = chance(rng, len(venue), 0.17) & (venue != FINRA)
    return np.maximum(latest_where(~follows), rows.first[rows.symbol])


def _prices(rng: Generator, mid_cents: Ints, at_finra: Bools, sweep: Ints) -> Floats:
    """Give prices: the bounce between bid and offer, half ticks and sub-pennies off exchange."""
    count = len(mid_cents)
    bounce = np.where(chance(rng, count, 0.16), rng.integers(-1, 2, count), 0)
    units = (mid_cents + bounce) * 100  # of a hundredth of a cent
    kind = rng.choice(3, count, p=[0.64, 0.2, 0.16])  # at the tick, at half a tick, improved by less
    half_tick = at_finra & (kind == 1)
    sub_penny = at_finra & (kind == 2)  # noqa: PLR2004 - the third kind
    units = units + np.where(half_tick, 50, np.where(sub_penny, rng.integers(-60, 60, count), 0))
    same = (sweep != np.arange(count)) & chance(rng, count, 0.8)
    return np.where(same, units[sweep], units) / 10_000


def _volumes(rng: Generator, count: int) -> NDArray[np.int32]:
    """Give shares: round lots, odd lots, and blocks with a heavy tail."""
    kind = rng.choice(5, count, p=[0.36, 0.16, 0.26, 0.17, 0.05])
    choices = [
        np.full(count, 100),
        np.minimum(rng.geometric(0.25, count), 20),
        np.minimum(rng.geometric(0.035, count), 99),
        100 * np.minimum(rng.geometric(0.3, count) + 1, 60),
        np.minimum(rng.pareto(1.0, count) * 137 + 101, 3e6).astype(np.int64),
    ]
    return np.choose(kind, choices).astype(np.int32)


def _conditions(rng: Generator, volume: NDArray[np.int32], at_finra: Bools) -> Ints:
    """Give positions in `_CONDITIONS`."""
    count = len(volume)
    usual = np.where(volume < _ROUND_LOT, 0, 1 + rng.choice(2, count, p=[0.62, 0.38])) + 3 * at_finra
    shares = 1 / np.arange(1, _CONDITION_COUNT - 5) ** 2.6
    rare = 6 + rng.choice(len(shares), count, p=shares / shares.sum())
    condition = np.where(chance(rng, count, 0.08), rare, usual)
    return condition[echo_rows(rng, count, Echo(copy=0.40, mean_rows=20, max_lag=300, repeat=0.38))]


def _trade_ids(rng: Generator, times: Ints, venue: Ints, rows: Rows) -> Ints:
    """Give identifiers as venues do: long numbers of the venue, or short ones of a symbol."""
    count = len(times)
    by_venue = np.lexsort((times, venue))
    counter = np.empty(count, np.int64)
    counter[by_venue] = np.cumsum(1 + rng.poisson(14, count))
    key = rows.symbol * 32 + venue
    by_key = np.argsort(key, kind="stable")
    begins = np.diff(key[by_key], prepend=-1) != 0
    within = np.empty(count, np.int64)
    within[by_key] = np.arange(count) - latest_where(begins)
    long_id = 52_983_500_000_000 + venue * 18_746_000_000 + counter * 3
    short_id = np.where(venue % 3 == 0, 1 + within, 79_000_000_000 + counter)
    return np.where(np.isin(venue, _LONG_IDS), long_id, short_id)
