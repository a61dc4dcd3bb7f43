"""``colonnade bars``: bars of trades, as a chart, as CSV, as JSON or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import open_database
from colonnade.charts import draw_candles, draw_frame
from colonnade.cli.options import DatabaseArgument, JsonOption, TableArgument, ThreadsOption, read_session
from colonnade.cli.output import check_suffix, remark, show, takes_unicode, write_file
from colonnade.cli.status import Status
from colonnade.schema import Schema


def run(
    db: DatabaseArgument,
    table: TableArgument,
    *,
    sym: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this symbol; may be repeated.", show_default="all symbols"),
    ] = None,
    date: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATE",
            help="Only this date, as 2024-01-02, or month, as 2024-01; may be repeated.",
            show_default="all dates",
        ),
    ] = None,
    every: Annotated[str, typer.Option(metavar="TIME", help="Width of a bucket: 30s, 1m, 5m, 1h.")] = "1m",
    session: Annotated[
        str | None,
        typer.Option(
            metavar="START-STOP",
            help="Only trades from START until before STOP, as 09:30-16:00.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write .csv, .parquet or .arrow.", show_default=False
        ),
    ] = None,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Make open, high, low, close, volume and vwap of each time bucket.

    A bucket holds its start and not its end, and is named by its start. A bucket without a trade has no bar.
    All rows count: corrections and sale conditions are yours to leave out, in Python. On a terminal the bars
    of one symbol are drawn as candles.

    Example: colonnade bars db trade --sym AAPL --date 2024-01-02 --every 5m --session 09:30-16:00
    """
    check_suffix(output)
    hours = read_session(session)
    opened = open_database(db)[table]
    conditions: dict[str, object] = {}
    if date:
        conditions[opened.schema.partition_by] = date
    if sym:
        conditions[opened.schema.role("symbol", where=f"table {table!r}")] = sym
    bars = opened.where(**conditions).bars(every, session=hours).collect(threads=threads)
    if output is not None:
        write_file(bars, output)
        remark(f"{bars.height:,} bars written to {output}")
    else:
        show(bars, as_json=json, draw=lambda console: _draw(console, bars, opened.schema))
    return Status.NOTHING_TO_DO if bars.is_empty() else Status.DONE


def _draw(console: Console, bars: pl.DataFrame, schema: Schema) -> None:
    if bars.is_empty():
        console.print("no trades match")
        return
    symbol, time, date = schema.roles.get("symbol"), schema.role("time"), schema.partition_by
    moments = _moments(bars, time, date)
    days = moments.dt.date()
    first, last = (str(one) for one in (days.min(), days.max()))
    dates = first if first == last else f"{first} to {last}"
    if symbol is None or bars[symbol].n_unique() == 1:
        name = "" if symbol is None else f"{bars[symbol][0]}, "
        console.print(f"{name}{dates}: {bars.height:,} bars", style="bold")
        unicode = takes_unicode(console)
        picture = draw_candles(bars.with_columns(moments), time=time, width=console.width, unicode=unicode)
        console.print(picture, end="", no_wrap=True)
    else:
        console.print(draw_frame(bars.drop(date, strict=False) if first == last else bars))
        console.print(f"{dates}: {bars.height:,} bars; a pipe or -o FILE gets all of them")


def _moments(bars: pl.DataFrame, time: str, date: str) -> pl.Series:
    """Give the bars' times with their dates; a time of day has its date in a column beside it."""
    if bars.schema[time] == pl.Time:
        return bars.select(pl.col(date).dt.combine(pl.col(time), "ns").alias(time)).to_series()
    return bars[time]
