"""Where a result goes: to a file, as JSON, as CSV into a pipe, or drawn on a terminal."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import polars as pl
import typer
from rich.console import Console

_ROWS_AT_ONCE: Final = 50_000
_SUFFIXES: Final = (".csv", ".parquet", ".arrow")


class _ResultConsole(Console):
    """A console that leaves it to the program to end when its reader has gone."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def stdout_console() -> Console:
    """Give the console for results; characters that the terminal can't show become question marks."""
    _replace_unknown_characters()
    return _ResultConsole(markup=False, emoji=False, highlight=False)


def stderr_console() -> Console:
    """Give the console for progress and remarks."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def is_terminal() -> bool:
    """Whether a person reads standard output."""
    return sys.stdout.isatty()


def takes_unicode(console: Console) -> bool:
    """Whether block and line characters can be shown."""
    return console.encoding.lower().startswith("utf")


def show(frame: pl.DataFrame, *, as_json: bool, draw: Callable[[Console], None]) -> None:
    """Print a result as JSON rows, as CSV, or by ``draw`` on a terminal."""
    if as_json:
        _write(_json_rows(frame))
    elif is_terminal():
        draw(stdout_console())
    else:
        _write(_csv_pieces(frame))


def print_json(document: object) -> None:
    """Print one document."""
    _write([json.dumps(document, indent=2, default=str), "\n"])


def check_suffix(path: Path | None) -> None:
    """Refuse a file name that says no known form, before any work is done."""
    if path is not None and path.suffix.lower() not in _SUFFIXES:
        reason = f"can't tell the form of {path.name!r}; expected a name that ends in {', '.join(_SUFFIXES)}"
        raise typer.BadParameter(reason, param_hint="-o")


def write_file(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame in the form that the file's name says; the file appears when it is whole."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with _place_named(path), unfinished.open("wb") as file:
            match path.suffix.lower():
                case ".csv":
                    frame.write_csv(file)
                case ".parquet":
                    frame.write_parquet(file)
                case _:
                    frame.write_ipc(file)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _place_named(path: Path) -> Iterator[None]:
    """Name the file that the user gave where the system refuses a write."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def remark(text: str) -> None:
    """Say something beside the result, on standard error."""
    sys.stderr.write(text + "\n")


@contextmanager
def remarked_warnings() -> Iterator[None]:
    """Say the warnings of the block as remarks, once it is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for warning in caught:
                remark(f"warning: {warning.message}")


def _json_rows(frame: pl.DataFrame) -> Iterable[str]:
    """Give an array of objects, one row a line; times as text with all their digits, NaN as null."""
    texts = [_all_digits(name, dtype) for name, dtype in frame.schema.items() if dtype.is_temporal()]
    separator = "[\n"
    for rows in frame.iter_slices(_ROWS_AT_ONCE):
        for row in rows.with_columns(texts).write_ndjson().splitlines():
            yield separator + row
            separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _all_digits(name: str, dtype: pl.DataType) -> pl.Expr:
    """Give a time as text, as CSV has it."""
    column = pl.col(name)
    if isinstance(dtype, pl.Datetime):
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.9f" + ("%z" if dtype.time_zone else ""))
    if isinstance(dtype, pl.Duration):
        return column.dt.to_string("iso")
    return column.dt.strftime("%H:%M:%S%.9f") if dtype == pl.Time else column.cast(pl.String)


def _csv_pieces(frame: pl.DataFrame) -> Iterable[str]:
    yield frame.clear().write_csv()
    for rows in frame.iter_slices(_ROWS_AT_ONCE):
        yield rows.write_csv(include_header=False)


def _write(pieces: Iterable[str]) -> None:
    """Write text as UTF-8, whatever the terminal's encoding: it is read by programs."""
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece.encode())
    sys.stdout.buffer.flush()


def _replace_unknown_characters() -> None:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
