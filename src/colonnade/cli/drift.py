"""``colonnade drift``: what on disk isn't as the table says."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import open_database
from colonnade.charts import bytes_text, empty_table
from colonnade.cli.options import DatabaseArgument, JsonOption
from colonnade.cli.output import remark, show
from colonnade.cli.status import Status


def run(
    db: DatabaseArgument,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Name of a table; without it, all are looked at.", show_default=False
        ),
    ] = None,
    *,
    json: JsonOption = False,
) -> Status:
    """Show what on disk differs from the table's columns and settings.

    Parts that are older than a column lack it, older parts may hold a narrower type, and files may have
    another compression than the table's. All of it is read rightly as it is. The terminal adds up the dates;
    CSV and JSON list each of them.

    Example: colonnade drift db
    """
    database = open_database(db)
    names = database.tables if table is None else [table]
    frames = [
        frame.select(pl.lit(name).alias("table"), pl.all())
        for name in names
        if not (frame := database[name].drift()).is_empty()
    ]
    if not frames:
        remark("everything on disk is as the tables say")
        return Status.NOTHING_TO_DO
    found = pl.concat(frames)
    show(found, as_json=json, draw=lambda console: _draw(console, found))
    return Status.DONE


def _draw(console: Console, found: pl.DataFrame) -> None:
    names = ["table", "column", "difference", "found", "expected"]
    together = found.group_by(names, maintain_order=True).agg(
        pl.col("partition").n_unique(), pl.col("rows", "stored_bytes").sum()
    )
    numbers = ["dates", "rows", "stored"]
    drawn = empty_table([*names, *numbers], numbers=numbers)
    for row in together.iter_rows(named=True):
        texts = [row[name] or "-" for name in names]
        drawn.add_row(*texts, f"{row['partition']:,}", f"{row['rows']:,}", bytes_text(row["stored_bytes"]))
    console.print(drawn)
