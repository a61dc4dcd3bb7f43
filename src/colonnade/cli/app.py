"""The program: finds the command, runs it, and turns errors into one line and an exit status.

A command's module is imported when that command runs, so that ``colonnade --help`` needs neither Polars
nor the kernels.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from colonnade.cli.status import Status
from colonnade.errors import ColonnadeError

SUMMARIES: Final = {
    "demo": "Take the tour: ticks in, compressed, queried, joined.",
    "ingest": "Read files of rows into a table.",
    "info": "Show what is on disk: columns, compression, bytes, ratio.",
    "bars": "Make open, high, low, close, volume and vwap by time.",
    "compact": "Make one part of those that appends left of each date.",
    "recompress": "Write columns anew under other compressions.",
    "delete": "Delete rows.",
    "verify": "Check every block against its checksum.",
    "column": "Add, drop, rename or cast a column of a table.",
    "drop": "Drop a table, or some of its dates.",
    "drift": "Show what on disk differs from the table's columns and settings.",
    "copy": "Copy a database, or some of it, into a new one.",
    "files": "List the files of one version, for tools that copy files.",
    "clean": "Remove old versions, and files that no version needs.",
}
_HELP_OPTIONS: Final = {"help_option_names": ["-h", "--help"]}


class _Program(TyperGroup):
    """The commands by name; a command is imported when it runs, not when it is listed.

    Typer keeps the type of its contexts to itself; hence the `Any`.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name=name, help=text) for name, text in SUMMARIES.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
        name, listed, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name is not None else listed, rest

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002
        return list(SUMMARIES)

    def invoke(self, ctx: Any) -> None:  # noqa: ANN401
        status = self._invoke_and_report(ctx)
        if status is not Status.DONE:
            raise typer.Exit(status)

    def _invoke_and_report(self, ctx: Any) -> Status:  # noqa: ANN401
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
            return Status.BROKEN_PIPE
        except KeyboardInterrupt:
            return _fail("interrupted", Status.INTERRUPTED)
        except ColonnadeError as error:
            return _fail(f"error: {error}")
        except OSError as error:
            return _fail(f"error: {_describe(error)}")
        return Status.DONE if status is None else Status(status)


def load_command(name: str) -> TyperCommand:
    """Import a command's module and give the command."""
    module = importlib.import_module(f"colonnade.cli.{name}")
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", context_settings=_HELP_OPTIONS)
    alone.command(name, help=_unwrapped(module.run.__doc__))(module.run)
    command = get_command(alone)
    if not isinstance(command, TyperCommand):
        raise TypeError(f"colonnade.cli.{name}.run makes no single command")
    return command


def make_program() -> typer.Typer:
    """Make the program with all its commands."""
    program = typer.Typer(
        name="colonnade",
        cls=_Program,
        no_args_is_help=True,
        invoke_without_command=True,
        rich_markup_mode="rich",
        context_settings=_HELP_OPTIONS,
    )
    program.callback()(_root)
    return program


def main() -> None:
    """Run the program on the words of the command line, and exit."""
    get_command(make_program()).main(prog_name="colonnade")


def _root(
    *, version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False
) -> None:
    """Keep and query ticks: compressed columns, bars, as-of joins.

    On a terminal, results are drawn and long work shows progress. A pipe gets CSV, --json gives JSON.

    Exit status: 0 done, 1 failed, 2 wrong usage, 3 nothing to do.
    """
    if version:
        sys.stdout.write(f"colonnade {importlib.metadata.version('colonnade')}\n")


def _unwrapped(text: str) -> str:
    """Join the lines of each paragraph; the terminal's width decides where they break."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _fail(text: str, status: Status = Status.FAILED) -> Status:
    """Say in one line what went wrong."""
    sys.stderr.write(" ".join(text.split()) + "\n")
    return status


def _describe(error: OSError) -> str:
    """Say what the system refused, and for which file."""
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return reason if error.filename is None else f"{reason}: {str(error.filename)!r}"


def _drop_output() -> None:
    """Send what is still to be written nowhere: whoever read it has gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
