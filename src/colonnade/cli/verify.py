"""``colonnade verify``: every block against its checksum."""

from __future__ import annotations

from typing import Annotated, Final

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import open_database
from colonnade.cli.options import DatabaseArgument, JsonOption, ThreadsOption
from colonnade.cli.output import remark, show
from colonnade.cli.status import Status

_PLACE: Final = ("table", "partition", "column", "block")


def run(
    db: DatabaseArgument,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Name of a table; without it, all are read.", show_default=False
        ),
    ] = None,
    *,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> Status:
    """Check every block against its checksum.

    Every column is decoded, too, and held against the hash of the values that were written; counts, orders
    and the least and greatest values that queries go by are checked as well. Each fault is listed with its
    table, partition, column and block; a pipe gets no rows where nothing is wrong.

    Example: colonnade verify db
    """
    database = open_database(db)
    if not database.tables:
        remark(f"no tables in {database.path}")
        return Status.NOTHING_TO_DO
    faults = database.verify(table, threads=threads)
    show(faults, as_json=json, draw=lambda console: _draw(console, faults))
    if faults.is_empty():
        return Status.DONE
    remark(f"error: {faults.height:,} fault{'s' if faults.height > 1 else ''} found")
    return Status.FAILED


def _draw(console: Console, faults: pl.DataFrame) -> None:
    if faults.is_empty():
        console.print("every checksum, hash, count and order is as it was written")
    for fault in faults.iter_rows(named=True):
        place = [f"{name} {fault[name]}" for name in _PLACE if fault[name] is not None]
        console.print(f"{fault['error']} in {', '.join(place)}: {fault['problem']}", style="red")
