"""Every exception of the package.

```
ColonnadeError
  x SchemaError            (ValueError)         the rows don't fit the table
    - ColumnNotFoundError  (KeyError)
    - ColumnTypeError      (TypeError)
    - UnsortedError, NotPartedError             an attribute is promised but not held
  x SourceError            (ValueError)         a file, or the description of a source, can't be read
    - RowError                                  one input line is wrong; has file, line, column, text
    - AlreadyIngestedError                      the same source was ingested before
  x NotFoundError          (FileNotFoundError)  database, table or partition isn't there
  x AlreadyExistsError     (FileExistsError)
  x ConflictError                               another writer committed first; safe to retry
  x StaleVersionError                           the version was cleaned away under a slow reader
  x CompressionError       (ValueError)         an encoding, codec, level or block size that can't be
  x CorruptionError                             bytes on disk aren't the bytes that were written
    - TruncatedError
    - ChecksumError
    - HeaderError
  x UnsupportedVersionError                     written by a newer version
  x QueryError
    - PlanError            (ValueError)         the query can't be planned
    - UnsupportedQueryError (NotImplementedError) no kernel does this; the message points to scan()
    - IntegerOverflowError (OverflowError)      an integer sum left the range of int64
    - MemoryLimitError     (MemoryError)        the result would exceed memory_limit
    - UnknownWordError     (AttributeError)     a word of Polars or pandas that we lack; names ours
```

Beside them, MissingColumnWarning (UserWarning): a source lacks a column of its table.

A class tells who has to act; the built-in beside it lets plain Python code catch it.  Messages say what is
wrong, what was found and what was expected, in lower case, on one line, without a full stop.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial


class ColonnadeError(Exception):
    """Base of every error that this package raises on purpose."""


class SchemaError(ColonnadeError, ValueError):
    """The rows don't fit the table."""


class ColumnNotFoundError(SchemaError, KeyError):
    """A column of that name isn't there."""

    def __init__(self, name: str, available: Iterable[str], *, where: str) -> None:
        self.name = name
        self.available = tuple(available)
        self.where = where
        listed = ", ".join(repr(column) for column in self.available)
        close = difflib.get_close_matches(name, self.available, n=1, cutoff=0.6)
        hint = f". Did you mean {close[0]!r}?" if close else ""
        self.message = f"no column {name!r} in {where}; there are {listed}{hint}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message  # KeyError would print the repr

    def __reduce__(self) -> tuple[Callable[..., ColumnNotFoundError], tuple[object, ...]]:
        return partial(type(self), where=self.where), (self.name, self.available)


class ColumnTypeError(SchemaError, TypeError):
    """A column has a type that doesn't fit."""


class UnsortedError(SchemaError):
    """Rows are promised to be sorted, and aren't."""


class NotPartedError(SchemaError):
    """Equal values are promised to lie next to each other, and don't."""


class MissingColumnWarning(UserWarning):
    """A source lacks a column of its table; the column is null in its rows."""


class SourceError(ColonnadeError, ValueError):
    """A file, or the description of a source, can't be read."""


class RowError(SourceError):
    """One line of the input doesn't fit its description.

    Attributes
    ----------
    file
        Name of the source.
    line
        Line number in the file, from 1; for frames and Parquet the row number, from 1.
    column
        Name of the column, or None where the whole line is wrong.
    text
        What was found there.
    """

    def __init__(self, reason: str, *, file: str, line: int, column: str | None, text: str) -> None:
        self.reason = reason
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        at = f"{file}, line {line}" + (f", column {column!r}" if column else "")
        super().__init__(f"{at}: {reason}: {_shortened(text)!r}")

    def __reduce__(self) -> tuple[Callable[..., RowError], tuple[object, ...]]:
        rebuild = partial(type(self), file=self.file, line=self.line, column=self.column, text=self.text)
        return rebuild, (self.reason,)


class AlreadyIngestedError(SourceError):
    """The same source was ingested before."""


class NotFoundError(ColonnadeError, FileNotFoundError):
    """A database, table or partition isn't there."""


class AlreadyExistsError(ColonnadeError, FileExistsError):
    """A database, table or partition is there already."""


class ConflictError(ColonnadeError):
    """Another writer committed first; reading again and retrying is safe."""


class StaleVersionError(ColonnadeError):
    """The version that a query reads was cleaned away under it; collect again."""


class CompressionError(ColonnadeError, ValueError):
    """An encoding, codec, level or block size that can't be."""


class CorruptionError(ColonnadeError):
    """Bytes on disk are not the bytes that were written.

    Attributes
    ----------
    reason
        What is wrong.
    where
        What callers knew as the error passed: table, partition, column, block, file.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.where: dict[str, str | int] = {}

    def __str__(self) -> str:
        where = ", ".join(f"{name} {value}" for name, value in self.where.items())
        return f"{self.reason} ({where})" if where else self.reason


class TruncatedError(CorruptionError):
    """There are fewer bytes than there must be."""


class ChecksumError(CorruptionError):
    """A checksum doesn't match the bytes it covers."""


class HeaderError(CorruptionError):
    """A header, footer or index holds values that can't be."""


class UnsupportedVersionError(ColonnadeError):
    """The bytes were written by a newer version of the package."""


class QueryError(ColonnadeError):
    """A query can't be answered."""


class PlanError(QueryError, ValueError):
    """The query can't be planned: a value, a name or a combination that makes no sense."""


class UnsupportedQueryError(QueryError, NotImplementedError):
    """No kernel does this; ``table.scan()`` hands the rows to Polars, which may."""


class IntegerOverflowError(QueryError, OverflowError):
    """An integer sum left the range of int64."""


class MemoryLimitError(QueryError, MemoryError):
    """The result would take more memory than ``memory_limit`` allows."""


class UnknownWordError(QueryError, AttributeError):
    """A word that tables, queries and expressions don't have; the message names ours where there is one."""


@contextmanager
def located(**known: str | int) -> Iterator[None]:
    """Add what the caller knows to a `CorruptionError` on its way up."""
    try:
        yield
    except CorruptionError as error:
        error.where = {**known, **error.where}
        raise


def _shortened(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
