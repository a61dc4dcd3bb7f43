"""Rows that don't fit: raised as `RowError`, or written to a file and counted."""

from __future__ import annotations

import csv
from collections.abc import Sequence
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
        File to write, replaced if it is there; None raises instead.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.count = 0
        self._path = None if path is None else Path(path)
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._file = self._path.open("w", encoding="utf-8", newline="")
            except OSError as error:
                raise SourceError(
                    f"can't write bad rows to '{self._path}': {error.strerror or error}"
                ) from None
            csv.writer(self._file).writerow(HEADER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, rows: Sequence[BadRow]) -> None:
        """Write the rows, or raise `RowError` for the first of them."""
        if not rows:
            return
        self.count += len(rows)
        if self._file is None:
            raise rows[0].error()
        writer = csv.writer(self._file)
        writer.writerows((row.file, row.line, row.column or "", row.reason, row.row) for row in rows)
