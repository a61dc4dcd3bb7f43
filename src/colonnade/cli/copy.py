"""``colonnade copy``: a database of one version, verified."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import open_database
from colonnade.charts import bytes_text, empty_table
from colonnade.cli.options import DatabaseArgument, DurabilityOption, JsonOption, ThreadsOption
from colonnade.cli.output import show
from colonnade.cli.progress import progress_bar
from colonnade.cli.status import Status
from colonnade.errors import PlanError


def run(
    db: DatabaseArgument,
    destination: Annotated[
        Path, typer.Argument(metavar="DEST", help="Folder that is new or empty.", show_default=False)
    ],
    *,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this table; may be repeated.", show_default="all tables"),
    ] = None,
    date: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATE",
            help="Only this date, as 2024-01-02, or month, as 2024-01; may be repeated.",
            show_default="all dates",
        ),
    ] = None,
    sym: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this symbol; may be repeated.", show_default="all symbols"),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this column, and those of the keys; may be repeated.",
            show_default="all columns",
        ),
    ] = None,
    durability: DurabilityOption = "safe",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Copy a database, or some of it, into a new one.

    The newest version of each table is copied, without links, and every block of the copy is checked before
    the folder becomes a database. An interrupted copy goes on when the same command is given again. Other
    commands may run meanwhile.

    Example: colonnade copy db sample --table trade --date 2024-01-02 --sym AAPL
    """
    try:
        with progress_bar("copy") as progress:
            copied = open_database(db).copy(
                destination,
                tables=table or None,
                dates=date or None,
                symbols=sym or None,
                columns=column or None,
                durability=durability,
                threads=threads,
                progress=progress,
            )
    except PlanError as error:
        raise typer.BadParameter(str(error), param_hint="--date") from None
    show(copied, as_json=json, draw=lambda console: _draw(console, copied))
    return Status.DONE


def _draw(console: Console, copied: pl.DataFrame) -> None:
    numbers = ["version", "dates", "rows", "files", "stored"]
    drawn = empty_table(["table", *numbers], numbers=numbers)
    for row in copied.iter_rows(named=True):
        drawn.add_row(
            row["table"],
            str(row["version"]),
            f"{row['partitions']:,}",
            f"{row['rows']:,}",
            f"{row['files']:,}",
            bytes_text(row["bytes"]),
        )
    console.print(drawn)
