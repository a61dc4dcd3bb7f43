"""``colonnade demo``: the tour."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from colonnade.cli.options import JsonOption, ThreadsOption
from colonnade.cli.output import print_json, stderr_console, stdout_console
from colonnade.cli.progress import progress_bar
from colonnade.cli.status import Status
from colonnade.demo.taqgen import SEED
from colonnade.demo.tour import DEFAULT_ROWS, TourReport, TourSettings, take_tour


def run(
    *,
    rows: Annotated[
        int, typer.Option(min=1_000, metavar="N", help="Trades to make; there are twice as many quotes.")
    ] = DEFAULT_ROWS,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the rows that are made.")] = SEED,
    trades: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Take these trades instead; may be repeated.", show_default=False),
    ] = None,
    quotes: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Take these quotes instead; may be repeated.", show_default=False),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            help="How your files are laid out: nyse-taq, lean, or a TOML file that describes them.",
            show_default=False,
        ),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Make the database here and keep it; without it, it is temporary.",
            show_default=False,
        ),
    ] = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Take the tour: ticks in, compressed, queried, joined.

    A synthetic day of NYSE trades and quotes, or your own files, goes into a database. Then you see what each
    column takes on disk, a symbol's bars, and queries with their times beside the same queries by Polars on
    the same rows in memory, and whether the answers are equal. Into a pipe the tour is plain text.

    Example: colonnade demo --rows 500000
    """
    if quotes and not trades:
        raise typer.BadParameter("own quotes need own trades beside them", param_hint="--quotes")
    settings = TourSettings(
        rows=rows,
        seed=seed,
        trades=tuple(trades or ()),
        quotes=tuple(quotes or ()),
        format=format_,
        folder=db,
        threads=threads,
    )
    report = take_tour(settings, stderr_console() if json else stdout_console(), progress_bar)
    if json:
        print_json(_document(report))
    return Status.DONE if report.is_equal else Status.FAILED


def _document(report: TourReport) -> dict[str, object]:
    return {
        "machine": report.machine,
        "ingests": {table: asdict(one) for table, one in report.ingests.items()},
        "columns": {table: frame.to_dicts() for table, frame in report.columns.items()},
        "comparisons": [
            asdict(one) | {"equal": one.is_equal, "speedup": one.speedup} for one in report.comparisons
        ],
    }
