"""``colonnade delete``: rows that fulfil conditions."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import open_database
from colonnade.charts import bytes_text, empty_table
from colonnade.cli.conditions import read_conditions
from colonnade.cli.options import (
    ApplyOption,
    DatabaseArgument,
    DurabilityOption,
    JsonOption,
    TableArgument,
    ThreadsOption,
)
from colonnade.cli.output import remark, show
from colonnade.cli.progress import progress_bar
from colonnade.cli.status import Status
from colonnade.errors import PlanError


def run(
    db: DatabaseArgument,
    table: TableArgument,
    *,
    date: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATE",
            help="Rows of this date, as 2024-01-02, or month, as 2024-01; may be repeated.",
            show_default=False,
        ),
    ] = None,
    sym: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Rows of this symbol; may be repeated.", show_default=False),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Rows that fulfil this: 'size>500', 'cond=Z', 'ex=N,Q' (any of these), "
            "'time=09:30..09:31' (both ends included), 'price!=0'. Repeated, all must hold.",
            show_default=False,
        ),
    ] = None,
    apply: ApplyOption = False,
    durability: DurabilityOption = "safe",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Delete the rows that fulfil all conditions.

    Without --apply the rows are counted and nothing is changed. Only the parts that hold such rows are
    written anew, and all dates become one new version. The version before it keeps the rows until clean
    removes it.

    Example: colonnade delete db trade --date 2024-01-02 --sym TEST --apply
    """
    opened = open_database(db)[table]
    if not (date or sym or where):
        raise typer.BadParameter("give --date, --sym or --where; without a condition nothing is deleted")
    named: dict[str, Any] = {}
    if date:
        named[opened.schema.partition_by] = date
    if sym:
        named[opened.schema.role("symbol", where=f"table {table!r}")] = sym
    conditions = read_conditions(where or [], named, opened.schema)
    try:
        plan = opened.delete(*conditions, **named)
    except PlanError as error:
        raise typer.BadParameter(str(error)) from None
    found = plan.frame
    if apply and plan.rows:
        with progress_bar(f"delete rows: {table}") as progress:
            found = plan.apply(durability=durability, threads=threads, progress=progress)
    show(found, as_json=json, draw=lambda console: _draw(console, found))
    if found.is_empty():
        return Status.NOTHING_TO_DO
    if not apply:
        remark(f"{plan.rows:,} rows would go; nothing was changed; pass --apply to do it")
    return Status.DONE


def _draw(console: Console, found: pl.DataFrame) -> None:
    if found.is_empty():
        console.print("no row fulfils the conditions")
        return
    numbers = ["deleted", "of rows", "parts", "written anew"]
    drawn = empty_table(["date", *numbers], numbers=numbers, whole=["date"])
    for row in found.iter_rows(named=True):
        drawn.add_row(
            str(row["partition"]),
            f"{row['deleted']:,}",
            f"{row['rows']:,}",
            f"{row['parts']:,}",
            bytes_text(row["bytes_before"] if row["bytes_after"] is None else row["bytes_after"]),
        )
    drawn.add_section()
    total = found.select(pl.col("deleted", "rows", "parts").sum()).row(0)
    drawn.add_row("total", *(f"{count:,}" for count in total), "", style="bold")
    console.print(drawn)
