"""``colonnade info``: what a database and its tables hold and take on disk."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from colonnade.api.database import Database, open_database
from colonnade.api.table import Table
from colonnade.charts import bytes_text, draw_columns, empty_table, ratio_text
from colonnade.cli.options import DatabaseArgument, JsonOption, read_date
from colonnade.cli.output import remark, show
from colonnade.cli.status import Status


def run(
    db: DatabaseArgument,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Name of a table; without it, all are listed.", show_default=False
        ),
    ] = None,
    *,
    date: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="Only the partition of this date, as 2024-01-02.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> Status:
    """Show what is on disk: columns, compression, bytes, ratio.

    With a table, every column is shown with its type, its compression, the bytes of its plain values, the
    bytes stored, and their ratio: 4 means a quarter. The terminal adds up the partitions; CSV and JSON list
    each of them.

    Example: colonnade info db trade
    """
    wanted = None if date is None else read_date(date)
    if table is None and wanted is not None:
        raise typer.BadParameter("it needs a table", param_hint="--date")
    database = open_database(db)
    if table is None:
        return _list_tables(database, as_json=json)
    opened = database[table]
    columns = opened.info()
    if wanted is not None:
        columns = columns.filter(pl.col("partition") == wanted)
    show(columns, as_json=json, draw=lambda console: _draw_table(console, opened, columns))
    return Status.NOTHING_TO_DO if columns.is_empty() else Status.DONE


def _list_tables(database: Database, *, as_json: bool) -> Status:
    tables = pl.DataFrame([_summary(database[name]) for name in database.tables])
    if tables.is_empty():
        remark(f"no tables in {database.path}")
        return Status.NOTHING_TO_DO
    show(tables, as_json=as_json, draw=lambda console: _draw_tables(console, tables))
    return Status.DONE


def _summary(table: Table) -> dict[str, object]:
    columns, dates = table.info(), table.partitions["date"]
    return {
        "table": table.name,
        "rows": table.row_count,
        "dates": len(dates),
        "first": dates.min(),
        "last": dates.max(),
        "columns": len(table.schema.columns),
        "plain_bytes": columns["plain_bytes"].sum(),
        "stored_bytes": columns["stored_bytes"].sum(),
        "version": table.version,
    }


def _draw_tables(console: Console, tables: pl.DataFrame) -> None:
    numbers = ["rows", "dates", "plain", "stored", "ratio"]
    drawn = empty_table(
        ["table", "rows", "dates", "first", "last", "plain", "stored", "ratio"], numbers=numbers
    )
    for row in tables.iter_rows(named=True):
        plain, stored = row["plain_bytes"], row["stored_bytes"]
        drawn.add_row(
            row["table"],
            f"{row['rows']:,}",
            f"{row['dates']:,}",
            str(row["first"]),
            str(row["last"]),
            bytes_text(plain),
            bytes_text(stored),
            ratio_text(plain, stored),
        )
    console.print(drawn)


def _draw_table(console: Console, table: Table, columns: pl.DataFrame) -> None:
    schema = table.schema
    console.print(f"{table.name}: {table.row_count:,} rows, version {table.version}", style="bold")
    keys = [
        ("partitioned by", schema.partition_by),
        ("parted by", schema.part_by),
        ("sorted by", schema.sort_by),
        ("zone", schema.zone),
    ]
    console.print(", ".join(f"{name} {value}" for name, value in keys if value is not None))
    console.print("roles: " + ", ".join(f"{role}={column}" for role, column in schema.roles.items()))
    console.print()
    console.print(draw_columns(columns))
