"""``colonnade recompress``: columns anew under other compressions."""

from __future__ import annotations

from typing import Annotated, Literal

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
    read_compressions,
)
from colonnade.cli.output import remark, show
from colonnade.cli.progress import progress_bar
from colonnade.cli.status import Status
from colonnade.errors import PlanError


def run(
    db: DatabaseArgument,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Name of a table; without it, all are looked at.", show_default=False
        ),
    ] = None,
    *,
    compression: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC|COLUMN=SPEC",
            help="Compression of all columns, or of one; may be repeated. A SPEC is "
            "encoding+codec:level@size with parts left out, or auto.",
            show_default="what the table's settings say",
        ),
    ] = None,
    goal: Annotated[
        Literal["fastest", "balanced", "smallest"] | None,
        typer.Option(
            metavar="GOAL",
            help="What auto picks for: fastest (queries), smallest (files), or balanced. Without "
            "--compression, all columns are auto.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this column; may be repeated.", show_default="all columns"),
    ] = None,
    date: DatesOption = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="Only dates that lie further back than that: 30d, 8w.", show_default=False
        ),
    ] = None,
    apply: ApplyOption = False,
    durability: DurabilityOption = "safe",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Write columns anew under other compressions; the values stay, bit for bit.

    Files that have the compression already stay as they are. Each new file is decoded and held against the
    hash of the old values before it counts. Queries and appends go on meanwhile. What Ctrl-C or a power cut
    leaves undone is done by the next run. A compression for all dates becomes that of later rows, too.

    Example: colonnade recompress db trade --compression zstd:10 --older-than 30d --apply
    """
    wanted = read_compressions(compression, rest=None) if compression else None
    database = open_database(db)
    if not database.tables:
        remark(f"no tables in {database.path}")
        return Status.NOTHING_TO_DO
    frames = []
    for name in database.tables if table is None else [table]:
        with progress_bar(f"recompress {name}") as progress:
            try:
                done = database[name].recompress(
                    wanted,
                    goal=goal,
                    columns=column,
                    date=date,
                    older_than=older_than,
                    dry_run=not apply,
                    durability=durability,
                    threads=threads,
                    progress=progress,
                )
            except PlanError as error:
                raise typer.BadParameter(str(error)) from None
        frames.append(done.select(pl.lit(name).alias("table"), pl.all()))
    found = pl.concat(frames)
    show(found, as_json=json, draw=lambda console: _draw(console, found))
    if found.is_empty():
        return Status.NOTHING_TO_DO
    if not apply:
        remark("nothing was changed; pass --apply to do it")
    return Status.DONE


def _draw(console: Console, found: pl.DataFrame) -> None:
    """Draw a row a column; the dates are added up."""
    if found.is_empty():
        console.print("every column has the compression that it should have")
        return
    together = found.group_by("table", "column", maintain_order=True).agg(
        pl.col("before", "after").unique(maintain_order=True).str.join(", "),
        pl.len().alias("dates"),
        pl.col("bytes_before").sum(),
        pl.when(pl.col("bytes_after").null_count() == 0).then(pl.col("bytes_after").sum()),
    )
    numbers = ["dates", "stored", "anew"]
    drawn = empty_table(["table", "column", "before", "after", *numbers], numbers=numbers)
    for row in together.iter_rows(named=True):
        anew = "" if row["bytes_after"] is None else bytes_text(row["bytes_after"])
        drawn.add_row(
            row["table"],
            row["column"],
            row["before"],
            row["after"],
            f"{row['dates']:,}",
            bytes_text(row["bytes_before"]),
            anew,
        )
    console.print(drawn)
