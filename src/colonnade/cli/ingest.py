"""``colonnade ingest``: files of rows into a table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import typer
from rich.console import Console

from colonnade.charts import bytes_text, ratio_text
from colonnade.cli.open_database import open_or_create
from colonnade.cli.options import (
    DatabaseArgument,
    DurabilityOption,
    JsonOption,
    TableArgument,
    ThreadsOption,
    read_compressions,
    read_pairs,
)
from colonnade.cli.output import print_json, remark, remarked_warnings, show
from colonnade.cli.progress import progress_bar
from colonnade.cli.status import Status
from colonnade.errors import NotFoundError
from colonnade.ingest.writer import IngestReport


def run(
    db: DatabaseArgument,
    table: TableArgument,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="Files: CSV (also .gz, .zst, .xz, .zip), Parquet, Arrow.",
            show_default=False,
        ),
    ],
    *,
    partition_by: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the partition column; its values are dates.")
    ] = "date",
    part_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Symbol column whose equal values are stored next to each other.",
            show_default="guessed from the names",
        ),
    ] = None,
    sort_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that ascends within a symbol.",
            show_default="guessed from the names",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            help="How the files are laid out: nyse-taq, lean, or a TOML file that describes them. "
            "By default the header and the values tell.",
            show_default=False,
        ),
    ] = None,
    mode: Annotated[
        Literal["append", "replace"] | None,
        typer.Option(
            metavar="MODE",
            help="append: add to dates that hold rows; replace: put the new rows in their place. "
            "Without it, such dates are refused.",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Leave out a row where one of the same key is stored or came before it. Repeat it for a "
            "key of several columns; without it every row is kept.",
            show_default=False,
        ),
    ] = None,
    compression: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC|COLUMN=SPEC",
            help="Compression of all columns, or of one; may be repeated. A SPEC is "
            "encoding+codec:level@size with parts left out: plain, bitpack, zstd:3@128KiB, "
            "bitpack+zstd; or auto.",
            show_default="auto",
        ),
    ] = None,
    goal: Annotated[
        Literal["fastest", "balanced", "smallest"],
        typer.Option(
            metavar="GOAL", help="What auto picks for: fastest (queries), smallest (files), or balanced."
        ),
    ] = "fastest",
    date: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Trading date of all rows, as 2024-01-02; or the column that the date is taken from.",
            show_default=False,
        ),
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Zone that trading dates and times of day are meant in, such as America/New_York.",
            show_default=False,
        ),
    ] = None,
    day_start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When the trading day begins on the evening before, such as 18:00 for futures.",
            show_default=False,
        ),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN",
            help="Which column is the price, size, bid, ask, ...: price=TradePrice; may be repeated.",
            show_default="guessed from the names",
        ),
    ] = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="Type of a column: id=guid, price=decimal[4], note=string; may be repeated.",
            show_default="told by the values",
        ),
    ] = None,
    bad_rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Put rows that don't fit into this file and go on, instead of stopping at the first.",
            show_default=False,
        ),
    ] = None,
    allow_incomplete: Annotated[
        bool,
        typer.Option(
            "--allow-incomplete",
            help="Take files whose own count of rows, last line or set says that something is missing.",
        ),
    ] = False,
    new_columns: Annotated[
        Literal["add", "ignore"] | None,
        typer.Option(
            metavar="WHAT",
            help="Columns that the table doesn't have, add: add them, null in the rows that are there; "
            "ignore: leave them out. Without it, they are refused.",
            show_default=False,
        ),
    ] = None,
    widen: Annotated[
        bool,
        typer.Option(
            "--widen",
            help="Give columns the wider type of the files, such as int32 instead of int16; "
            "stored rows stay as they are.",
        ),
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Take files that were ingested before.")] = False,
    durability: DurabilityOption = "safe",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Read files of rows into a table: sorted, split by date, compressed by column.

    All files become one new version of the table, or none does. The database is made where there is none;
    the first ingest decides the table's columns and keys.

    Example: colonnade ingest db trade trades.csv.gz --part-by sym --sort-by time
    """
    compressions = read_compressions(compression or [])
    roles = read_pairs(role or [], "--role", "ROLE=COLUMN, such as price=TradePrice")
    types = read_pairs(type_ or [], "--type", "COLUMN=TYPE, such as price=decimal[4]")
    _check_there(sources)
    with remarked_warnings(), progress_bar(f"ingest {table}") as progress:
        report = open_or_create(db).ingest(
            table,
            sources,
            part_by=part_by,
            sort_by=sort_by,
            partition_by=partition_by,
            date=date,
            tz=tz,
            day_start=day_start,
            format=format_,
            compression=compressions,
            goal=goal,
            mode=mode,
            key=key,
            roles=roles or None,
            types=types or None,
            bad_rows=bad_rows,
            allow_incomplete=allow_incomplete,
            new_columns=new_columns,
            widen=widen,
            again=again,
            durability=durability,
            threads=threads,
            progress=progress,
        )
    if json:
        print_json(asdict(report))
    else:
        show(_as_frame(report), as_json=False, draw=lambda console: _draw(console, report))
    if report.known_rows:
        remark(f"{report.known_rows:,} rows were left out: a row of their key was there")
    if report.bad_rows:
        remark(f"{report.bad_rows:,} rows don't fit and went to {bad_rows}")
    return Status.DONE if report.rows else Status.NOTHING_TO_DO


def _check_there(sources: list[Path]) -> None:
    """Refuse a missing file before a database is made for it."""
    for source in sources:
        if not source.exists():
            raise NotFoundError(f"no file {str(source)!r}")


def _as_frame(report: IngestReport) -> pl.DataFrame:
    """Give the report as one row, its dates in one text."""
    return pl.DataFrame([asdict(report) | {"partitions": " ".join(map(str, report.partitions))}])


def _draw(console: Console, report: IngestReport) -> None:
    speed = report.rows / max(report.seconds, 1e-9)
    count = len(report.partitions)
    dates = str(report.partitions[0]) if count == 1 else f"{count:,} dates"
    console.print(
        f"{report.table}: {report.rows:,} rows into {dates}, version {report.version}", style="bold"
    )
    ratio = ratio_text(report.plain_bytes, report.stored_bytes)
    console.print(
        f"{bytes_text(report.bytes_in)} read, {bytes_text(report.plain_bytes)} as plain columns, "
        f"{bytes_text(report.stored_bytes)} stored (ratio {ratio})"
    )
    console.print(f"{report.seconds:.1f} s, {speed:,.0f} rows a second")
