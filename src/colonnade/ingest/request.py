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
from colonnade.store.schema_change import widens


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
    placing
        Columns that no source may lack, because they place its rows, and what they are to the table. The
        writer fills it in.
    new_columns
        What becomes of columns that the table doesn't have: None refuses them, ``add`` or ``ignore``.
    widen
        Whether a column of the table gets the type of a source that is wider.
    missing
        Columns of the table that a source lacks, by the source's label. The readers fill it in.
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
    frame_bytes
        Bytes of a frame that the caller holds, taken at a time.
    """

    table: str
    description: SourceDescription | None = None
    overrides: Overrides = field(default_factory=dict)
    known: dict[str, ColumnType] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    placing: dict[str, str] = field(default_factory=dict)
    new_columns: str | None = None
    widen: bool = False
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    symbols: frozenset[str] = frozenset()
    date: dt.date | None = None
    zone: str | None = None
    allow_incomplete: bool = False
    threads: int | None = None
    piece_bytes: int = 16 << 20
    frame_bytes: int = 256 << 20


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
        return wider_type(request, known, column.column_type)
    if column.column_type is None and column.name in request.symbols:
        return ColumnType("symbol")
    return column.column_type


def for_part_key(request: Request, description: SourceDescription) -> Request:
    """Give the request with the part key of the description among the symbols."""
    part_by = description.table.part_by
    return request if part_by is None else replace(request, symbols=request.symbols | {part_by})


def wider_type(request: Request, known: ColumnType, own: ColumnType | None) -> ColumnType:
    """Give the type of the table's column, or a source's own where the caller widens and it is wider."""
    if not request.widen or own is None or own.kind == known.kind:  # another zone is no wider type
        return known
    return own if widens(known, own) else known
