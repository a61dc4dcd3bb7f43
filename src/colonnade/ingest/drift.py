"""Sources whose columns aren't those of the table: some missing, some new, some of a wider type.

A column that a source lacks is null in its rows, and one warning says so. A new column is refused unless the
caller adds or ignores it, a wider type unless the caller widens; neither writes stored rows anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Final

import polars as pl

from colonnade.errors import MissingColumnWarning, SchemaError
from colonnade.ingest.fields import Layout
from colonnade.ingest.request import Request
from colonnade.ingest.roles import guess_roles
from colonnade.schema import ColumnType, Schema
from colonnade.store.column_values import canonical_type
from colonnade.store.schema_change import widens, with_column, with_type

NEW_COLUMNS: Final = (None, "add", "ignore")
_LISTED: Final = 3  # sources that the warning names


def settled(layout: Layout, request: Request, label: str) -> Layout:
    """Give the layout without new columns that are to be ignored; note the columns that are missing.

    Raises
    ------
    SchemaError
        If a new column is neither to be added nor ignored, or a key of the table is missing.
    """
    if not request.known:
        return layout
    where = f"table {request.table!r}"
    missing = [name for name in request.known if name not in layout.order]
    for name in missing:
        if name in request.placing:
            found = ", ".join(map(repr, layout.order))
            raise SchemaError(
                f"{label} lacks {name!r}, the {request.placing[name]} of {where}, without which rows have no "
                f"place; it has {found}"
            )
    if missing:
        request.missing[label] = tuple(missing)
    new = [name for name in layout.order if name not in request.known]
    if new and request.new_columns is None:
        reason = f"{label} has {', '.join(map(repr, new))}, which {where} doesn't have"
        raise SchemaError(
            f"{reason}; pass new_columns='add' or --new-columns add to add them to the table, "
            "or new_columns='ignore' or --new-columns ignore to leave them out"
        )
    if not new or request.new_columns == "add":
        return layout
    return Layout(
        tuple(None if column is None or column.name in new else column for column in layout.fields),
        tuple((column, text) for column, text in layout.constants if column.name not in new),
        tuple(name for name in layout.order if name not in new),
    )


def evolved(schema: Schema, columns: Mapping[str, ColumnType], request: Request) -> Schema:
    """Give the schema of a table that takes the columns of a source as well."""
    for name, kind in columns.items():
        if name not in schema.columns:
            if request.new_columns == "add":
                roles = guess_roles({name: kind})
                schema = with_column(schema, name, kind, roles=roles, table=request.table)
        elif widens(schema.columns[name], kind):
            schema = with_type(schema, name, kind, table=request.table)
    return schema


def completed(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Give rows with all columns of the table in order, null in those that their source lacks."""
    missing = [
        pl.lit(None, dtype=canonical_type(kind)).alias(name)
        for name, kind in schema.columns.items()
        if name not in frame.columns
    ]
    return frame.with_columns(missing).select(list(schema.columns))


def warn_missing(request: Request) -> None:
    """Say once which columns the sources lacked."""
    if not request.missing:
        return
    labels = list(request.missing)
    names = dict.fromkeys(name for missing in request.missing.values() for name in missing)
    more = f" and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    lack = "lacks" if len(labels) == 1 else "lack"
    warnings.warn(
        f"{', '.join(labels[:_LISTED])}{more} {lack} {', '.join(map(repr, names))}, which table "
        f"{request.table!r} has; it is null in the rows",
        MissingColumnWarning,
        stacklevel=4,
    )
