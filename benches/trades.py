"""Synthetic trades for the benches: seeded, sorted by ticker and time, shaped like a US equity day.

Tickers are Zipf-like in activity; arrivals are busier at both ends of the session, a third of them in bursts;
prices walk by cents; sizes are mostly round lots.
"""

from __future__ import annotations

import string

import numpy as np
import polars as pl

DAY_NS = 86_400 * 10**9
SIX = ["AAPL", "GOOG", "META", "MSFT", "NVDA", "TSLA"]


def ticker_names(count: int) -> list[str]:
    """Give distinct tickers of one to five letters in ascending order; the six big ones are among them."""
    rng = np.random.default_rng(1)
    letters = np.array(list(string.ascii_uppercase))
    names = set(SIX[:count])
    while len(names) < count:
        names.add("".join(rng.choice(letters, rng.integers(1, 6))))
    return sorted(names)


def trades(rows: int, *, tickers: int = 5_000, day: int = 19_675, seed: int = 7) -> pl.DataFrame:
    """Make one day of trades.

    Parameters
    ----------
    rows
        Number of trades in all.
    tickers
        Number of symbols.
    day
        Trading date as days since 1970-01-01.
    seed
        Start of the random numbers.

    Returns
    -------
    A frame with ``sym`` (String), ``time`` (Datetime ns), ``price`` (Float64, whole cents), ``size`` (Int32).
    """
    names = ticker_names(tickers)
    rng = np.random.default_rng(seed)
    rank = rng.permutation(tickers)
    for place, name in enumerate(SIX[:tickers]):
        other = int(np.flatnonzero(rank == 2 * place + 2)[0])
        mine = names.index(name)
        rank[mine], rank[other] = rank[other], rank[mine]
    weights = 1.0 / (rank + 8)
    counts = np.maximum(1, np.floor(weights / weights.sum() * rows)).astype(np.int64)
    counts[np.argmax(counts)] += rows - counts.sum()
    stops = np.cumsum(counts)
    time = np.empty(rows, np.int64)
    price = np.empty(rows, np.float64)
    for stop, count in zip(stops.tolist(), counts.tolist(), strict=True):
        own = slice(stop - count, stop)
        time[own] = _times(rng, count) + day * DAY_NS
        start = int(np.exp(rng.uniform(np.log(500), np.log(50_000))))
        steps = rng.choice(np.array([-2, -1, 0, 0, 0, 0, 1, 2], np.int8), count)
        price[own] = np.maximum(start + np.cumsum(steps, dtype=np.int64), 100) / 100.0
    lots = 100 * np.maximum(1, np.exp(rng.normal(0.3, 0.9, rows))).astype(np.int32)
    odd = np.maximum(1, np.exp(rng.normal(2.5, 1.1, rows))).astype(np.int32)
    return pl.DataFrame(
        {
            "sym": pl.Series(names).gather(np.repeat(np.arange(tickers), counts)),
            "time": pl.Series(time).cast(pl.Datetime("ns")),
            "price": price,
            "size": np.where(rng.random(rows) < 0.7, lots, odd),
        }
    )


def _times(rng: np.random.Generator, count: int) -> np.ndarray:
    singles = max(1, int(count * 0.65))
    regular = int(singles * 0.92)
    place = rng.random(regular)
    place = np.where(rng.random(regular) < 0.4, 0.5 - 0.5 * np.cos(np.pi * place), place)
    hours = np.concatenate([9.5 + 6.5 * place, 4 + 16 * rng.random(singles - regular)])
    alone = (hours * 3_600e9).astype(np.int64)
    bursts = alone[rng.integers(0, singles, count - singles)]
    bursts = bursts + rng.exponential(30e3, count - singles).astype(np.int64)
    time = np.concatenate([alone, bursts])
    time.sort()
    return time
