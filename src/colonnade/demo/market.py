"""What the trades and the quotes of a synthetic day share: symbols, venues, clocks, arrival times.

The statistics follow the column tables of KX's study "kdb+ file compression on NYSE TAQ" (one day of 2022).
A smaller table is a sample of symbols at full-day density, not a thinned day: gaps, bursts and runs stay
realistic, and only the number of symbols shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OPEN_NS: Final = 34_200 * 1_000_000_000  # 09:30
CLOSE_NS: Final = 57_600 * 1_000_000_000  # 16:00
_SHARE_CLASSES: Final = 0.03  # share of the names that have a class behind them
_BURST_NS: Final = 1e6  # symbols that are busy within a millisecond are busy together
_SYMBOL_SHIFT: Final = 47  # nanoseconds of a day take 47 bits


class Venue(NamedTuple):
    """An exchange: its letter, its share of the messages, and how its clock relates to the SIP's."""

    code: str
    quote_share: float
    trade_share: float
    latency_us: int
    clock_ns: int


VENUES: Final = (
    Venue("N", 0.13, 0.12, 18, 1),
    Venue("P", 0.13, 0.09, 17, 1),
    Venue("Q", 0.11, 0.14, 195, 1),
    Venue("Z", 0.10, 0.06, 190, 1000),
    Venue("K", 0.09, 0.05, 188, 1000),
    Venue("Y", 0.06, 0.02, 190, 1000),
    Venue("J", 0.055, 0.02, 190, 1000),
    Venue("B", 0.055, 0.012, 196, 1),
    Venue("X", 0.03, 0.008, 196, 1),
    Venue("T", 0.06, 0.06, 195, 1),
    Venue("C", 0.03, 0.004, 17, 1),
    Venue("A", 0.03, 0.004, 18, 1),
    Venue("M", 0.015, 0.001, 20, 1),
    Venue("U", 0.055, 0.045, 210, 1),
    Venue("H", 0.03, 0.012, 205, 1),
    Venue("V", 0.015, 0.04, 560, 1),
    Venue("L", 0.005, 0.001, 215, 1),
    Venue("D", 0.0, 0.28, 9000, 1000),
    Venue("W", 0.0, 0.0002, 20, 1),
)
VENUE_CODES: Final = np.array([ord(venue.code) for venue in VENUES], np.uint8)
LATENCY_NS: Final = np.array([venue.latency_us * 1000 for venue in VENUES], np.int64)
CLOCK_NS: Final = np.array([venue.clock_ns for venue in VENUES], np.int64)
FINRA: Final = [venue.code for venue in VENUES].index("D")

# The busiest names first; the rest of a market is made up.
_TICKERS: Final = """
    AAPL NVDA SPY TSLA MSFT AMZN QQQ AMD META GOOGL BAC F INTC T SOFI PLTR IWM XLF NIO WFC C CSCO PFE KO JPM
    XOM VZ CMCSA MU UBER DIS ORCL NFLX GM GE BA CVX MRK ABBV JNJ PG WMT HD CRM ADBE PYPL QCOM TXN AVGO SLB
    OXY HAL FCX CLF X AAL DAL UAL CCL NCLH RIVN LCID SNAP PINS SQ SHOP ROKU ABNB DKNG MARA RIOT COIN HOOD GLD
    SLV TLT HYG LQD EEM EFA VTI VOO XLE XLK XLV XLI XLU XLP GDX USO UNH LLY V MA IBM CAT DE MMM HON LMT RTX
    NOC GD LOW TGT COST SBUX MCD NKE TJX CVS MO PM KHC MDLZ KR GIS CL EL
"""


@dataclass(frozen=True, slots=True)
class Market:
    """The symbols of a day, ascending by name.

    Attributes
    ----------
    symbols
        Names as NYSE writes them, with a blank before a share class.
    weights
        Share of the day's messages of each symbol; they add up to 1.
    open_cents
        Price at the open.
    tapes
        Which SIP carries the symbol, ``C`` or ``N``, as bytes.
    channels
        Which of 16 channels numbers its messages.
    """

    symbols: tuple[str, ...]
    weights: Floats
    open_cents: Ints
    tapes: NDArray[np.uint8]
    channels: Ints


def make_market(count: int, seed: int) -> Market:
    """Make ``count`` symbols; a few of them take most of the messages, as on a real day."""
    rng = np.random.default_rng([seed, 0])
    ranked = _ticker_names(rng, count)
    by_name = np.argsort(np.array(ranked))
    activity = np.sort(rng.lognormal(0, 1.9, count))[::-1][by_name]  # sigma gives the study's symbol entropy
    return Market(
        symbols=tuple(ranked[index] for index in by_name),
        weights=activity / activity.sum(),
        open_cents=np.maximum(rng.lognormal(8.2, 1.1, count), 150).astype(np.int64),
        tapes=np.frombuffer(b"CN", np.uint8)[rng.choice(2, count, p=[0.68, 0.32])],
        channels=rng.integers(0, 16, count),
    )


def _ticker_names(rng: Generator, count: int) -> list[str]:
    """Give distinct names: well-known ones first, then three and four letters, some with a share class."""
    names = dict.fromkeys(_TICKERS.split()[:count])
    letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    while len(names) < count:
        name = "".join(rng.choice(letters, rng.integers(3, 5)))
        is_class = rng.random() < _SHARE_CLASSES
        names.setdefault(f"{name} {rng.choice(['A', 'B', 'PRA'])}" if is_class else name)
    return list(names)


class Rows(NamedTuple):
    """How the rows of a table lie: parted by symbol.

    ``counts`` and ``first`` have one entry a symbol, ``symbol`` one a row.
    """

    counts: Ints
    first: Ints
    symbol: Ints


def spread_rows(market: Market, count: int) -> Rows:
    """Spread ``count`` rows over the symbols by weight, at least one each."""
    counts = np.maximum(1, np.floor(market.weights * count)).astype(np.int64)
    counts[np.argmax(counts)] += count - counts.sum()  # rounding goes to the busiest
    first = np.cumsum(counts) - counts
    return Rows(counts, first, np.repeat(np.arange(len(counts)), counts))


class Arrivals(NamedTuple):
    """How messages follow each other: on the same tick, in a burst, or after a quiet gap."""

    same: float
    burst: float
    burst_us: float
    burst_sigma: float
    quiet_sigma: float


def arrival_times(rng: Generator, rows: Rows, arrivals: Arrivals) -> tuple[Ints, Bools]:
    """Draw SIP times, ascending within a symbol, and say which rows follow a quiet gap.

    Quiet gaps are stretched so that a symbol spans the session, then bent to a U-shaped day; the gaps
    inside bursts are physical and stay as drawn. The clock ticks in microseconds.
    """
    count = len(rows.symbol)
    kind = rng.random(count)
    gap = rng.lognormal(np.log(arrivals.burst_us * 1e3), arrivals.burst_sigma, count)
    gap[kind < arrivals.same] = 0
    quiet = kind > arrivals.same + arrivals.burst
    gap[quiet] = rng.lognormal(0, arrivals.quiet_sigma, int(quiet.sum()))
    gap[rows.first], quiet[rows.first] = 0, False

    quiet_sum = np.add.reduceat(np.where(quiet, gap, 0), rows.first)
    burst_sum = np.add.reduceat(np.where(quiet, 0, gap), rows.first)
    session = (CLOSE_NS - OPEN_NS) * 0.999
    room = np.maximum(session - burst_sum, session * 0.2)
    scale = np.where(quiet_sum > 0, room / np.maximum(quiet_sum, 1e-9), 0)
    gap[quiet] *= np.repeat(scale, rows.counts)[quiet]

    elapsed = running_sum(gap, rows)
    last = np.repeat(elapsed[rows.first + rows.counts - 1], rows.counts)
    start = np.repeat(0.001 * rng.random(len(rows.counts)), rows.counts)
    warped = _warp(np.minimum(elapsed / np.maximum(last, 1.0), 1.0) * 0.998 + start)
    burst_begins = quiet.copy()
    burst_begins[rows.first] = True
    anchor = latest_where(burst_begins)
    in_burst = running_sum(np.where(quiet, 0, gap), rows)
    times = warped[anchor] + (in_burst - in_burst[anchor])
    micros = np.round(times / 1000).astype(np.int64) * 1000
    return _ascending(micros, rows), quiet


def _warp(share: Floats) -> Floats:
    """Map a share of the day's business to the clock, with busy ends and a calm noon."""
    grid = np.linspace(0, 1, 391)
    pace = 0.55 + 2.4 * np.exp(-grid * 14) + 1.1 * np.exp(-(1 - grid) * 18) + 0.5 * (2 * grid - 1) ** 2
    done = np.concatenate([[0], np.cumsum((pace[1:] + pace[:-1]) / 2)])
    return np.asarray(OPEN_NS + np.interp(share, done / done[-1], grid) * (CLOSE_NS - OPEN_NS))


def _ascending(times: Ints, rows: Rows) -> Ints:
    keys = symbol_time_keys(rows.symbol, times)
    return np.asarray(np.maximum.accumulate(keys) - (rows.symbol << _SYMBOL_SHIFT))


def symbol_time_keys(symbol: Ints, times: Ints) -> Ints:
    """Give integers that ascend by symbol, then time of day."""
    return (symbol << _SYMBOL_SHIFT) + times


def running_sum(values: Floats, rows: Rows) -> Floats:
    """Sum from each symbol's first row to each row."""
    total = np.cumsum(values)
    return np.asarray(total - np.repeat(total[rows.first] - values[rows.first], rows.counts))


def latest_where(mask: Bools) -> Ints:
    """Give for each row the latest row at or before it that is set; 0 where there is none."""
    return np.asarray(np.maximum.accumulate(np.where(mask, np.arange(len(mask)), 0)))


def price_walk(rng: Generator, moves: Bools, rows: Rows, market: Market) -> Ints:
    """Walk each symbol's price in cents by a few ticks wherever ``moves`` is set."""
    ticks = rng.choice([-3, -2, -1, 1, 2, 3], len(moves), p=[0.02, 0.08, 0.4, 0.4, 0.08, 0.02])
    size = np.repeat(np.maximum(1, market.open_cents // 12_000), rows.counts)
    steps = np.where(moves, ticks, 0) * size
    steps[rows.first] = 0
    floor = np.repeat(np.maximum(market.open_cents // 3, 20), rows.counts)
    start = np.repeat(market.open_cents, rows.counts)
    return np.asarray(np.maximum(start + running_sum(steps.astype(np.float64), rows).astype(np.int64), floor))


def chance(rng: Generator, count: int, share: float) -> Bools:
    """Set about that share of rows."""
    return rng.random(count) < share


def sticky_choice(rng: Generator, count: int, shares: list[float], stay: float) -> Ints:
    """Draw indices by their shares, repeating the one before with probability ``stay``."""
    drawn = rng.choice(len(shares), count, p=np.asarray(shares) / sum(shares))
    fresh = rng.random(count) >= stay
    fresh[0] = True
    return np.asarray(drawn[latest_where(fresh)])


class Echo(NamedTuple):
    """How often and how far back rows replay an earlier stretch, and how often one repeats its neighbour."""

    copy: float
    mean_rows: int
    max_lag: int
    repeat: float


def echo_rows(rng: Generator, count: int, echo: Echo) -> Ints:
    """Give for each row the row that it replays: the patterns of venues in real bursts."""
    runs = int(count / echo.mean_rows * 1.5) + 16
    lengths = rng.geometric(1 / echo.mean_rows, runs)
    far = np.minimum(2 + rng.lognormal(1.6, 1.2, runs).astype(np.int64), echo.max_lag)
    lag = np.repeat(np.where(rng.random(runs) < echo.copy, far, 0), lengths)[:count]
    lag = np.pad(lag, (0, count - len(lag)))
    lag = np.where((lag == 0) & (rng.random(count) < echo.repeat), 1, lag)
    source = np.maximum(np.arange(count) - lag, 0)
    for _ in range(32):  # each round doubles the distance followed
        further = source[source]
        if np.array_equal(further, source):
            break
        source = further
    return np.asarray(source)


def sequence_numbers(rng: Generator, times: Ints, rows: Rows, market: Market, events: float) -> Ints:
    """Count the messages of each channel in the order of time.

    A symbol sees gaps: ``events`` messages a day pass in a channel, unseen ones spread over the time
    between ours, and 25 times as dense within a millisecond, since symbols burst together.
    """
    numbers = np.empty(len(times), np.int64)
    channel = market.channels[rows.symbol]
    by_time = np.argsort(times, kind="stable")
    for one in np.unique(channel):
        index = by_time[channel[by_time] == one]
        count = len(index)
        elapsed = np.diff(times[index], prepend=times[index[0]] - 1000).astype(np.float64)
        noise = rng.gamma(0.7, 1 / 0.7, count)
        unseen = elapsed / max(elapsed.sum(), 1) * max(events - count, count) * noise
        pace = 25 * events / (CLOSE_NS - OPEN_NS)
        busy = np.where(elapsed < _BURST_NS, elapsed * pace, 0) * rng.gamma(0.7, 1 / 0.7, count)
        numbers[index] = 1000 + np.cumsum(1 + rng.poisson(unseen) + rng.poisson(busy))
    return numbers


def participant_times(times: Ints, venue: Ints, delay: Floats) -> Ints:
    """Give the venue's own time of a message: before the SIP's, on the venue's clock."""
    sent = times - (LATENCY_NS[venue] + delay).astype(np.int64)
    return sent // CLOCK_NS[venue] * CLOCK_NS[venue]
