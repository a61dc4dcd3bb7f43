"""``colonnade clean``: old versions and leftovers go."""

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
from colonnade.errors import PlanError


def run(
    db: DatabaseArgument,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Name of a table; without it, all are cleaned.", show_default=False
        ),
    ] = None,
    *,
    keep: Annotated[
        str,
        typer.Option(
            metavar="SPAN",
            help="How long a version stays after the next one was committed: 1d, 12h, 30min. "
            "Longer where a reader has it open.",
        ),
    ] = "1d",
    apply: Annotated[
        bool, typer.Option("--apply", help="Remove; without it, what would go is shown.")
    ] = False,
    json: JsonOption = False,
) -> Status:
    """Remove old versions, and files that no version needs.

    Every change of a table leaves the version before it, which at() still reads. A version goes, with the
    files that no other needs, once the next one has been there for --keep. Files of writers that died go
    likewise, and dropped tables; what writers at work have written stays. Other commands may run meanwhile.

    Example: colonnade clean db --keep 12h --apply
    """
    try:
        cleaned = open_database(db).clean(table, keep=keep, dry_run=not apply)
    except PlanError as error:
        raise typer.BadParameter(str(error), param_hint="--keep") from None
    found = cleaned.filter(pl.col("versions") + pl.col("files") > 0)
    show(found, as_json=json, draw=lambda console: _draw(console, found, is_plan=not apply))
    if found.is_empty():
        return Status.NOTHING_TO_DO
    if not apply:
        remark("nothing was removed; pass --apply to do it")
    return Status.DONE


def _draw(console: Console, found: pl.DataFrame, *, is_plan: bool) -> None:
    if found.is_empty():
        console.print("there is nothing to remove")
        return
    title = "would go" if is_plan else "removed"
    drawn = empty_table(["table", "versions", "files", title], numbers=["versions", "files", title])
    for row in found.iter_rows(named=True):
        drawn.add_row(row["table"], f"{row['versions']:,}", f"{row['files']:,}", bytes_text(row["bytes"]))
    console.print(drawn)
