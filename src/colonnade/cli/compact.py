"""``colonnade compact``: one part of those that appends left of each date."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import open_database
from colonnade.charts import bytes_text, empty_table
from colonnade.cli.options import (
    ApplyOption,
    DatabaseArgument,
    DatesOption,
    DurabilityOption,
    JsonOption,
    ThreadsOption,
)
from colonnade.cli.output import remark, show
from colonnade.cli.progress import progress_bar
from colonnade.cli.status import Status


def run(
    db: DatabaseArgument,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Name of a table; without it, all are compacted.", show_default=False
        ),
    ] = None,
    *,
    date: DatesOption = None,
    apply: ApplyOption = False,
    durability: DurabilityOption = "safe",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Make one part of those that appends left of each date.

    Appends merge small parts by themselves; one part is what queries read fastest. The rows and their order
    stay, equal times included. Each date is done for itself, and rows can be appended meanwhile.

    Example: colonnade compact db trade --date 2024-01-02 --apply
    """
    database = open_database(db)
    if not database.tables:
        remark(f"no tables in {database.path}")
        return Status.NOTHING_TO_DO
    frames = []
    for name in database.tables if table is None else [table]:
        with progress_bar(f"compact {name}") as progress:
            done = database[name].compact(
                date, dry_run=not apply, durability=durability, threads=threads, progress=progress
            )
        frames.append(done.select(pl.lit(name).alias("table"), pl.all()))
    found = pl.concat(frames)
    show(found, as_json=json, draw=lambda console: _draw(console, found))
    if found.is_empty():
        return Status.NOTHING_TO_DO
    if not apply:
        remark("nothing was changed; pass --apply to do it")
    return Status.DONE


def _draw(console: Console, found: pl.DataFrame) -> None:
    if found.is_empty():
        console.print("every date has one part")
        return
    numbers = ["parts", "rows", "before", "after"]
    drawn = empty_table(["table", "date", *numbers], numbers=numbers, whole=["date"])
    for row in found.iter_rows(named=True):
        after = "" if row["bytes_after"] is None else bytes_text(row["bytes_after"])
        drawn.add_row(
            row["table"],
            str(row["partition"]),
            f"{row['parts']:,}",
            f"{row['rows']:,}",
            bytes_text(row["bytes_before"]),
            after,
        )
    console.print(drawn)
