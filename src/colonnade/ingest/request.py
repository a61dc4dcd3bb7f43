"""What the readers of sources need to know of an ingest, and what they give back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from colonnade.errors import SchemaError
from colonnade.ingest.description import ColumnDescription, SourceDescription
from colonnade.ingest.fields import Overrides
from colonnade.schema import ColumnType


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asks, as far as reading goes.

    Attributes
    ----------
    table
        Name of the table.
    description
        How the source is laid out, or None to let it speak for itself.
    overrides
        What the caller says of single columns, over the description.
    known
        Types of the table's columns, or of the first source; empty before it. The writer fills it in.
    required
        Columns that must have a value in every row: sort key and date. The writer fills it in as well.
    symbols
        Columns that must be symbols whatever their values look like.
    date
        Trading date that the caller gives.
    zone
        Zone in which instants are shown where the source doesn't say.
    allow_incomplete
        Take a source whose own count, last line or set of files tells that something is missing.
    threads
        Pieces parsed side by side; None for the default.
    piece_bytes
        Bytes of text parsed at a time.
    """

    table: str
    description: SourceDescription | None = None
    overrides: Overrides = field(default_factory=dict)
    known: dict[str, ColumnType] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    symbols: frozenset[str] = frozenset()
    date: dt.date | None = None
    zone: str | None = None
    allow_incomplete: bool = False
    threads: int | None = None
    piece_bytes: int = 16 << 20


@dataclass(frozen=True, slots=True)
class OpenedRows:
    """The rows of one file, member or frame, ready to be read once.

    Attributes
    ----------
    label
        How messages name it.
    description
        The description that was used.
    columns
        Names and types in order.
    date
        Trading date of all rows, where it is given or the names tell it.
    frames
        Canonical frames in the order of the source.
    """

    label: str
    description: SourceDescription
    columns: Mapping[str, ColumnType]
    date: dt.date | None
    frames: Iterator[pl.DataFrame]


def known_type(request: Request, column: ColumnDescription) -> ColumnType | None:
    """Give the type that a column must have: the table's, else the described one; None lets values decide."""
    known = request.known.get(column.name)
    if known is not None:
        if column.scale is not None and not known.kind.startswith("float"):
            reason = (
                f"column {column.name!r} of table {request.table!r} has type {known}, and its description"
            )
            raise SchemaError(f"{reason} a scale, which makes floats; leave the scale out")
        return known
    if column.column_type is None and column.name in request.symbols:
        return ColumnType("symbol")
    return column.column_type


def for_part_key(request: Request, description: SourceDescription) -> Request:
    """Give the request with the part key of the description among the symbols."""
    part_by = description.table.part_by
    return request if part_by is None else replace(request, symbols=request.symbols | {part_by})


def check_columns(columns: Mapping[str, ColumnType], request: Request, label: str) -> None:
    """Raise `SchemaError` where a source lacks a column of the table, or has one too many."""
    if not request.known:
        return
    where = f"table {request.table!r}"
    missing = [name for name in request.known if name not in columns]
    extra = [name for name in columns if name not in request.known]
    if missing:
        listed, found = ", ".join(map(repr, missing)), ", ".join(map(repr, columns))
        raise SchemaError(f"{label} lacks {listed}, which {where} has; it has {found}")
    if extra:
        hint = "leave them out with a description (drop = true, or unlisted = 'drop')"
        raise SchemaError(f"{label} has {', '.join(map(repr, extra))}, which {where} doesn't have; {hint}")
