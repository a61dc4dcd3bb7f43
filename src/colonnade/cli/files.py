"""``colonnade files``: the files of one version, one a line."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from colonnade.api.database import open_database
from colonnade.cli.options import DatabaseArgument, JsonOption
from colonnade.cli.output import print_json
from colonnade.cli.status import Status


def run(
    db: DatabaseArgument,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Name of a table; without it, those of all are listed.", show_default=False
        ),
    ] = None,
    *,
    version: Annotated[
        int | None,
        typer.Option(
            "--version",
            metavar="N",
            min=1,
            help="A version of the table that is still kept.",
            show_default="the newest",
        ),
    ] = None,
    json: JsonOption = False,
) -> Status:
    """List the files of one version, for tools that copy files.

    One path a line, relative to the database, on a terminal and in a pipe alike, as rsync --files-from and
    tar -T take them. What is listed makes a working database: files never change, and clean leaves those of
    a version there for a day after the next one, unless told otherwise. JSON has the bytes of each file, too.

    Example: colonnade files db trade
    """
    if table is None and version is not None:
        raise typer.BadParameter("it needs a table", param_hint="--version")
    files = open_database(db).files(table, version=version)
    if json:
        print_json(files.to_dicts())
    else:
        sys.stdout.write("".join(f"{path}\n" for path in files["path"]))
    return Status.DONE
