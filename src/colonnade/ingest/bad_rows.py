"""Rows that don't fit: raised as `RowError`, or written to a file and counted."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from colonnade.errors import RowError, SourceError

HEADER: Final = ("file", "line", "column", "reason", "row")


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that doesn't fit, and why.

    Attributes
    ----------
    file
        Name of the source.
    line
        Line in the file, or row of a frame, from 1.
    column
        The column at fault, or None where the whole line is.
    reason
        What is wrong.
    found
        The field at fault.
    row
        The whole line as it stands in the file.
    """

    file: str
    line: int
    column: str | None
    reason: str
    found: str
    row: str

    def error(self) -> RowError:
        """Give the error that says so."""
        return RowError(self.reason, file=self.file, line=self.line, column=self.column, text=self.found)


class BadRows:
    """Takes the rows that don't fit.

    Without a path the first one is raised. With a path all are written there as CSV (file, line, column,
    reason, row) and counted.

    Parameters
    ----------
    path
        File to write; None raises instead. A file of bad rows that is there is replaced, any other refused.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.count = 0
        self._path = None if path is None else Path(path)
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            with self._refusal_named():
                _check_replaceable(self._path)
                self._file = self._path.open("w", encoding="utf-8", newline="")
                csv.writer(self._file).writerow(HEADER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with self._refusal_named():
                self._file.close()

    def take(self, rows: Sequence[BadRow]) -> None:
        """Write the rows, or raise `RowError` for the first of them."""
        if not rows:
            return
        self.count += len(rows)
        if self._file is None:
            raise rows[0].error()
        with self._refusal_named():
            writer = csv.writer(self._file)
            writer.writerows((row.file, row.line, row.column or "", row.reason, row.row) for row in rows)

    def finish(self) -> None:
        """Hand what was written to the system; it must come before the other rows are committed."""
        if self._file is not None:
            with self._refusal_named():
                self._file.flush()

    @contextmanager
    def _refusal_named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SourceError(f"can't write bad rows to '{self._path}': {error.strerror or error}") from None


def _check_replaceable(path: Path) -> None:
    """Refuse a file with other content, such as the source itself."""
    if not path.is_file() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        start = file.readline(1024)
    if start.strip() != ",".join(HEADER).encode():
        raise SourceError(f"can't write bad rows to '{path}': it holds something else; name another file")
