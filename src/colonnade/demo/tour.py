"""The tour: a day of trades and quotes in, compressed, drawn, queried, joined, and held against Polars."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from colonnade.api.database import Database, create
from colonnade.charts import bytes_text, draw_candles, draw_columns, empty_table, ratio_text
from colonnade.demo.compare import Comparison, compare
from colonnade.demo.questions import Day, frames_of, questions_of
from colonnade.demo.taqgen import SEED, make_day, write_quote_files, write_trade_file
from colonnade.errors import NotFoundError
from colonnade.ingest.writer import IngestReport

ProgressBar = Callable[[str], AbstractContextManager[Callable[[int, int], None] | None]]

DEFAULT_ROWS: Final = 2_000_000  # trades; there are twice as many quotes
_NARROW: Final = 100


@dataclass(frozen=True, slots=True)
class TourSettings:
    """What the tour is taken with.

    Attributes
    ----------
    rows
        Trades to make; twice as many quotes.
    seed
        Seed of the synthetic day.
    trades, quotes
        Own files instead.
    format
        How own files are laid out: a shipped name or a TOML file.
    folder
        Where the database is made and kept; None takes a temporary folder and removes it.
    threads
        Threads of Colonnade; None takes all cores, as Polars does.
    """

    rows: int = DEFAULT_ROWS
    seed: int = SEED
    trades: tuple[Path, ...] = ()
    quotes: tuple[Path, ...] = ()
    format: str | None = None
    folder: Path | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class TourReport:
    """What the tour found, for those who read no text."""

    machine: str
    ingests: dict[str, IngestReport]
    columns: dict[str, pl.DataFrame]
    comparisons: list[Comparison]

    @property
    def is_equal(self) -> bool:
        """Whether every answer was the same in Polars."""
        return all(comparison.is_equal for comparison in self.comparisons)


@dataclass(frozen=True, slots=True)
class _Sources:
    """Files by table, how they are laid out, and their rows where we made them ourselves."""

    files: dict[str, list[Path]]
    format: str | None
    frames: dict[str, pl.DataFrame]


def take_tour(settings: TourSettings, console: Console, progress: ProgressBar) -> TourReport:
    """Take the tour, telling it to ``console`` as it goes."""
    with tempfile.TemporaryDirectory(prefix="colonnade-demo-") as scratch:
        folder = settings.folder or Path(scratch) / "db"
        db = create(folder)
        kept = "it is kept" if settings.folder else "it is removed at the end; --db DIR keeps one"
        console.print(f"The database is {folder}; {kept}.")
        sources = _own_files(settings) if settings.trades else _make_files(settings, Path(scratch), console)
        _heading(console, "In: read, sort by symbol and time, compress")
        ingests = {
            table: _ingest(db, table, sources, threads=settings.threads, console=console, progress=progress)
            for table in sources.files
        }
        columns = {table: db[table].info() for table in ingests}
        for table, frame in columns.items():
            _heading(console, f"On disk: table {table}")
            console.print(draw_columns(frame))
        day = Day.latest(db, sources.frames, threads=settings.threads)
        _show_bars(day, console)
        comparisons = _compare_all(day, console)
    return TourReport(_machine(), ingests, columns, comparisons)


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(Text(title, "bold"), align="left", style="dim"))


def _make_files(settings: TourSettings, folder: Path, console: Console) -> _Sources:
    """Make a day and write it as NYSE does."""
    _heading(console, "A day of trades and quotes")
    started = time.perf_counter()
    with console.status("making the rows"):
        day = make_day(trades=settings.rows, quotes=2 * settings.rows, seed=settings.seed)
    with console.status("writing the files"):
        files = {
            "trade": [write_trade_file(day.trade, folder)],
            "quote": write_quote_files(day.quote, folder),
        }
    sizes = [path.stat().st_size for paths in files.values() for path in paths]
    symbols = day.trade["Symbol"].n_unique()
    seconds = time.perf_counter() - started
    console.print(
        f"A synthetic NYSE TAQ day, seed {settings.seed}: {day.trade.height:,} trades and "
        f"{day.quote.height:,} quotes of {symbols:,} symbols, written in NYSE's form: {len(sizes)} files, "
        f"{bytes_text(sum(sizes))} of text. Made in {seconds:.1f} s."
    )
    return _Sources(files, "nyse-taq", frames_of(day))


def _own_files(settings: TourSettings) -> _Sources:
    files = {"trade": list(settings.trades), "quote": list(settings.quotes)}
    for path in (*settings.trades, *settings.quotes):
        if not path.exists():
            raise NotFoundError(f"no file {str(path)!r}")
    return _Sources({table: paths for table, paths in files.items() if paths}, settings.format, {})


def _ingest(
    db: Database,
    table: str,
    sources: _Sources,
    *,
    threads: int | None,
    console: Console,
    progress: ProgressBar,
) -> IngestReport:
    with progress(f"ingest {table}") as advance:
        report = db.ingest(
            table, sources.files[table], format=sources.format, threads=threads, progress=advance
        )
    plain, stored = report.plain_bytes, report.stored_bytes
    console.print(
        f"{table}: {report.rows:,} rows in {report.seconds:.1f} s, "
        f"{report.rows / report.seconds:,.0f} a second; {bytes_text(plain)} of plain columns became "
        f"{bytes_text(stored)}, ratio {ratio_text(plain, stored)}."
    )
    return report


def _show_bars(day: Day, console: Console) -> None:
    every, minutes = ("6m", 6) if console.width < _NARROW else ("5m", 5)
    symbol = day.symbols_by_trades()[0]
    bars = day.bars_of(symbol, every)
    _heading(console, f"Bars of {minutes} minutes: {symbol}, {day.date}")
    unicode = console.encoding.lower().startswith("utf")
    picture = draw_candles(bars, time=day.time, width=console.width, unicode=unicode)
    console.print(picture, end="", no_wrap=True)


def _compare_all(day: Day, console: Console) -> list[Comparison]:
    """Ask everything of both systems, and draw the times beside each other."""
    _heading(console, "Queries: Colonnade from compressed files, Polars from frames in memory")
    with console.status("asking both"):
        comparisons = [compare(question) for question in questions_of(day)]
    table = empty_table(
        ["query", "rows", "Colonnade", "Polars", "factor", "answers"],
        numbers=["rows", "Colonnade", "Polars", "factor"],
    )
    for one in comparisons:
        answers = "equal" if one.is_equal else Text(one.agreement, "red")
        table.add_row(
            one.title,
            f"{one.row_count:,}",
            f"{one.ours_ms:,.1f} ms",
            f"{one.polars_ms:,.1f} ms",
            f"{one.speedup:.1f}" if one.speedup >= 1 else f"{one.speedup:.2f}",
            answers,
        )
    console.print(table)
    console.print()
    _explain(comparisons, day, console)
    return comparisons


def _explain(comparisons: list[Comparison], day: Day, console: Console) -> None:
    if all(one.is_equal for one in comparisons):
        console.print(
            "All answers are equal: bit for bit, except vwap and mean, which are sums of floats and agree to "
            "1e-12 of their value (Polars adds in an order of its own)."
        )
    else:
        console.print("Some answers differ; that is a bug of one of the two.", style="red")
    console.print(
        f"Medians of 5 runs, warm, {day.threads} threads for ours and {pl.thread_pool_size()} for Polars; "
        f"a factor above 1 means that Colonnade was faster. {_machine()}."
    )


def _machine() -> str:
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"Polars {pl.__version__}"
    )


def _processor() -> str:
    """Give the processor's name as Linux lists it, or the architecture."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
