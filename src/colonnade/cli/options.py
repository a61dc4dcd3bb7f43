"""Arguments and options that several commands share, and how their texts are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from colonnade.codec.compression import Compression
from colonnade.errors import CompressionError

DatabaseArgument = Annotated[
    Path, typer.Argument(metavar="DB", help="Folder of the database.", show_default=False)
]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="Name of the table, such as trade.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="Threads to use; all cores by default, or COLONNADE_THREADS.",
        show_default=False,
    ),
]
DatesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        metavar="DATE",
        help="Only this date, as 2024-01-02, or month, as 2024-01; may be repeated.",
        show_default="all dates",
    ),
]
ApplyOption = Annotated[bool, typer.Option("--apply", help="Do it; without it, what would be done is shown.")]
DurabilityOption = Annotated[
    Literal["safe", "fast"],
    typer.Option(
        metavar="HOW",
        help="safe: what is done is there after a power cut. fast: it is there when a program dies, but a "
        "power cut may take or damage what the last half minute brought; checksums tell.",
    ),
]


def read_pairs(texts: Iterable[str], option: str, expected: str) -> dict[str, str]:
    """Read texts such as ``price=TradePrice``; wrong usage where one has no equals sign, or a name twice."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name and value):
            raise typer.BadParameter(f"can't read {text!r}; expected {expected}", param_hint=option)
        if name in pairs:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint=option)
        pairs[name] = value
    return pairs


def read_compressions(texts: Iterable[str], *, rest: str | None = "auto") -> dict[str, str]:
    """Read ``SPEC`` for all columns and ``COLUMN=SPEC`` for one, checking each; the rest is ``auto``.

    With ``rest=None`` columns that aren't named have no compression in the answer.
    """
    named = [text if "=" in text else f"default={text}" for text in texts]
    specs = read_pairs(named, "--compression", "SPEC or COLUMN=SPEC, such as price=bitpack")
    for spec in specs.values():
        try:
            _ = spec == "auto" or Compression.parse(spec)
        except CompressionError as error:
            raise typer.BadParameter(str(error), param_hint="--compression") from None
    return specs if rest is None else {"default": rest, **specs}


def read_date(text: str) -> dt.date:
    """Read ``2024-01-02``."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        reason = f"{text!r} is no date; expected for example 2024-01-02"
        raise typer.BadParameter(reason, param_hint="--date") from None


def read_session(text: str | None) -> tuple[str, str] | None:
    """Read ``09:30-16:00``."""
    if text is None:
        return None
    start, dash, stop = text.partition("-")
    if not (dash and start.strip() and stop.strip()):
        raise typer.BadParameter(
            f"can't read {text!r}; expected for example 09:30-16:00", param_hint="--session"
        )
    return start.strip(), stop.strip()
