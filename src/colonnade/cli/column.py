"""``colonnade column``: columns come, go, get another name or type."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import open_database
from colonnade.api.table import Table
from colonnade.charts import bytes_text
from colonnade.cli.options import DatabaseArgument, DurabilityOption, JsonOption, TableArgument, ThreadsOption
from colonnade.cli.output import remark, show
from colonnade.cli.progress import progress_bar
from colonnade.cli.status import Status
from colonnade.schema import ColumnType
from colonnade.store.schema_change import with_column, with_name, without_column


def run(
    action: Annotated[
        Literal["add", "drop", "rename", "cast"],
        typer.Argument(metavar="ACTION", help="add, drop, rename or cast.", show_default=False),
    ],
    db: DatabaseArgument,
    table: TableArgument,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="Name of the column.", show_default=False)],
    to: Annotated[
        str | None,
        typer.Argument(
            metavar="TO",
            help="For add and cast the type, such as float64; for rename the new name; for drop nothing.",
            show_default=False,
        ),
    ] = None,
    *,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without it, the plan is shown.")] = False,
    durability: DurabilityOption = "safe",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Add, drop, rename or cast a column of a table.

    An added column is null in the rows that are there. A cast loses nothing or is refused: a wider type, such
    as int64 instead of int32, leaves the stored files as they are, any other writes those of the column anew.
    Dropped values don't come back with a column of the same name. Rows can be appended meanwhile.

    Example: colonnade column cast db trade size int64 --apply
    """
    if (to is None) != (action == "drop"):
        expected = {"add": "a type", "cast": "a type", "rename": "the new name", "drop": "nothing"}[action]
        raise typer.BadParameter(f"{action} takes {expected} after the column", param_hint="TO")
    opened = open_database(db)[table]
    change = _planned(opened, action, column, to or "")
    if apply:
        match action:
            case "add":
                opened.add_column(column, to or "")
            case "rename":
                opened.rename_column(column, to or "")
            case "drop":
                opened.drop_column(column)
            case "cast":
                with progress_bar(f"cast {column}") as progress:
                    opened.cast_column(
                        column, to or "", durability=durability, threads=threads, progress=progress
                    )
        change["version"] = opened.version
    frame = pl.DataFrame([change], schema_overrides={"to": pl.String, "version": pl.Int64})
    show(frame, as_json=json, draw=lambda console: _draw(console, change))
    if not apply:
        remark("nothing was changed; pass --apply to do it")
    return Status.DONE


def _planned(table: Table, action: str, column: str, to: str) -> dict[str, Any]:
    """Check the change, and tell what it writes: files and their rows and bytes."""
    schema, written = table.schema, pl.DataFrame({"files": [0], "rows": [0], "stored_bytes": [0]})
    match action:
        case "add":
            with_column(schema, column, ColumnType.parse(to), table=table.name)
        case "rename":
            with_name(schema, column, to, table=table.name)
        case "drop":
            without_column(schema, column, table=table.name)
        case _:
            written = table.cast_column(column, to, apply=False)
    return {
        "table": table.name,
        "action": action,
        "column": column,
        "to": to or None,
        "files": int(written["files"].sum()),
        "rows": int(written["rows"].sum()),
        "stored_bytes": int(written["stored_bytes"].sum()),
        "version": None,
    }


def _draw(console: Console, change: dict[str, Any]) -> None:
    to = f" to {change['to']}" if change["action"] in ("rename", "cast") else ""
    kind = f", {change['to']}" if change["action"] == "add" else ""
    done = "" if change["version"] is None else f": version {change['version']}"
    line = f"{change['action']} column {change['column']}{to}{kind} of {change['table']}{done}"
    console.print(line, style="bold")
    if change["files"]:
        written = "written" if change["version"] else "to be written"
        size = bytes_text(change["stored_bytes"])
        console.print(f"{change['files']:,} files of {change['rows']:,} rows {written} anew, {size} before")
    else:
        console.print("no file of rows is written")
