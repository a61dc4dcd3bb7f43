"""``colonnade drop``: a table goes, or some of its dates."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import Database, open_database
from colonnade.charts import bytes_text
from colonnade.cli.options import DatabaseArgument, JsonOption, TableArgument
from colonnade.cli.output import remark, show
from colonnade.cli.status import Status
from colonnade.errors import PlanError
from colonnade.query.values import days_between
from colonnade.schema import days_to_date

_LISTED = 10


def run(
    db: DatabaseArgument,
    table: TableArgument,
    *,
    date: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATE",
            help="Only this date, as 2024-01-02, or this month, as 2024-01; may be repeated.",
            show_default="the whole table",
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Drop; without it, the plan is shown.")] = False,
    json: JsonOption = False,
) -> Status:
    """Drop a table, or some of its dates.

    Readers that are at it go on, and versions from before stay until they are cleaned away; colonnade clean
    then gives the disk space back. A table can be made anew under the name at once.

    Example: colonnade drop db trade --date 2024-01-02 --apply
    """
    database = open_database(db)
    planned = _planned(database, table, date)
    if apply and not planned.is_empty():
        if date is None:
            database.drop_table(table)
        else:
            database[table].drop_partition(planned["partition"].to_list())
    show(planned, as_json=json, draw=lambda console: _draw(console, table, planned, whole=date is None))
    if planned.is_empty() and date is not None:
        return Status.NOTHING_TO_DO
    if not apply:
        remark("nothing was dropped; pass --apply to do it")
    return Status.DONE


def _planned(database: Database, table: str, dates: list[str] | None) -> pl.DataFrame:
    """Give rows and stored bytes of each date that goes."""
    opened = database[table]
    sizes = opened.info().group_by("partition").agg(pl.col("rows").first(), pl.col("stored_bytes").sum())
    found = sizes.sort("partition")
    if dates is None:
        return found
    try:
        spans = [days_between(text, what="the date") for text in dates]
    except PlanError as error:
        raise typer.BadParameter(str(error), param_hint="--date") from None
    ends = [(days_to_date(first), days_to_date(last)) for first, last in spans]
    return found.filter(pl.any_horizontal([pl.col("partition").is_between(*both) for both in ends]))


def _draw(console: Console, table: str, planned: pl.DataFrame, *, whole: bool) -> None:
    dates = "1 date" if planned.height == 1 else f"{planned.height:,} dates"
    what = f"whole table, {dates}" if whole else dates
    rows, size = int(planned["rows"].sum()), bytes_text(int(planned["stored_bytes"].sum()))
    console.print(f"{table}: {what}, {rows:,} rows, {size}", style="bold")
    if not whole:
        shown = ", ".join(map(str, planned["partition"].head(_LISTED)))
        console.print(shown + (", …" if planned.height > _LISTED else ""))
