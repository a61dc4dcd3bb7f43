"""What a schema becomes when a column is added, dropped, renamed or gets another type.

Parts stay as they are. A column that a part lacks is null there, and one that a part holds in a narrower type
is widened when it is read; `widens` tells from which types that works without touching a stored byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from colonnade.errors import ColumnTypeError, SchemaError
from colonnade.schema import ColumnType, Schema
from colonnade.store.entries import ColumnEntry, PartEntry

# kind: kinds that are read as it. Values of these are the same numbers, and kernels widen them as they load.
_NARROWER: Final[dict[str, tuple[str, ...]]] = {
    "int16": ("int8", "uint8"),
    "int32": ("int8", "int16", "uint8", "uint16"),
    "int64": ("int8", "int16", "int32", "uint8", "uint16", "uint32"),
    "uint16": ("uint8",),
    "uint32": ("uint8", "uint16"),
    "float64": ("float32",),
}


def widens(narrow: ColumnType, wide: ColumnType) -> bool:
    """Tell whether stored values of one type are read as another without a change of bytes.

    Between zones only the wall clock that is shown differs.
    """
    if narrow.kind == wide.kind == "timestamp":
        return narrow.zone is not None and wide.zone is not None and narrow.zone != wide.zone
    return narrow.kind in _NARROWER.get(wide.kind, ())


def is_read_as(stored: ColumnType, wanted: ColumnType) -> bool:
    """Tell whether a part that holds a column in one type serves a table that has it in another."""
    return stored == wanted or widens(stored, wanted)


def unread_columns(
    parts: Iterable[PartEntry], schema: Schema
) -> Iterator[tuple[str, ColumnEntry, ColumnType]]:
    """Yield the columns of parts that aren't read by a schema, and the type that they would need."""
    for part in parts:
        for name, wanted in schema.columns.items():
            entry = part.columns.get(schema.stored_name(name))
            if entry is not None and not is_read_as(entry.type, wanted):
                yield name, entry, wanted


def with_column(
    schema: Schema, name: str, kind: ColumnType, *, roles: Mapping[str, str] | None = None, table: str
) -> Schema:
    """Give the schema with one more column, the last; rows that are there have no value in it.

    The column gets those of the ``roles`` that no other has.

    Raises
    ------
    SchemaError
        If the name is taken, or can't be that of a column.
    """
    _check_new_name(schema, name, table)
    stored = _free_name(schema, name)
    renamed = schema.stored if stored == name else {**schema.stored, name: stored}
    played = {**(roles or {}), **schema.roles}
    return replace(schema, columns={**schema.columns, name: kind}, roles=played, stored=renamed)


def without_column(schema: Schema, name: str, *, table: str) -> Schema:
    """Give the schema without a column; its stored name isn't used again, so that its values don't come back.

    Raises
    ------
    ColumnNotFoundError
        If there is no such column.
    SchemaError
        If the table needs it: its keys, and its last column.
    """
    schema.column(name, where=f"table {table!r}")
    keys = {"part_by": schema.part_by, "sort_by": schema.sort_by, "date_column": schema.date_column}
    key = next((key for key, column in keys.items() if column == name), None)
    if key is not None:
        raise SchemaError(
            f"column {name!r} is the {key} of table {table!r}, whose rows it places; it can't be dropped. "
            "Ingest the rows into a new table with other keys instead"
        )
    if len(schema.columns) == 1:
        raise SchemaError(f"column {name!r} is the only one of table {table!r}; drop the table instead")
    return replace(
        schema,
        columns={known: kind for known, kind in schema.columns.items() if known != name},
        roles={role: column for role, column in schema.roles.items() if column != name},
        stored={known: stored for known, stored in schema.stored.items() if known != name},
        retired=(*schema.retired, schema.stored_name(name)),
    )


def with_name(schema: Schema, old: str, new: str, *, table: str) -> Schema:
    """Give the schema with another name for a column; keys and roles go along.

    Raises
    ------
    ColumnNotFoundError
        If there is no such column.
    SchemaError
        If the new name is taken, or can't be that of a column.
    """
    schema.column(old, where=f"table {table!r}")
    _check_new_name(schema, new, table)
    if old == schema.partition_by:
        raise SchemaError(
            f"column {old!r} has the name of the partition column of table {table!r}, which can't change"
        )
    stored = {name: known for name, known in schema.stored.items() if name != old}
    if schema.stored_name(old) != new:
        stored[new] = schema.stored_name(old)
    return replace(
        schema,
        columns={new if name == old else name: kind for name, kind in schema.columns.items()},
        roles={role: new if column == old else column for role, column in schema.roles.items()},
        stored=stored,
        part_by=new if schema.part_by == old else schema.part_by,
        sort_by=new if schema.sort_by == old else schema.sort_by,
        date_column=new if schema.date_column == old else schema.date_column,
    )


def with_type(schema: Schema, name: str, kind: ColumnType, *, table: str) -> Schema:
    """Give the schema with another type for a column; whether its values fit isn't asked here.

    Raises
    ------
    ColumnNotFoundError
        If there is no such column.
    SchemaError
        If a key of the table can't have the type.
    """
    found = schema.column(name, where=f"table {table!r}")
    if name == schema.date_column and found.kind != kind.kind:
        raise ColumnTypeError(
            f"column {name!r} tells the trading dates of table {table!r}; it stays a {found.kind}, not {kind}"
        )
    return replace(
        schema, columns={known: kind if known == name else have for known, have in schema.columns.items()}
    )


def settings_without(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Give the settings of a table that lost a column."""
    return _with_compressions(settings, {name: None})


def settings_renamed(settings: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Give the settings of a table of which a column has another name."""
    return _with_compressions(settings, {old: new})


def _with_compressions(settings: Mapping[str, Any], names: Mapping[str, str | None]) -> dict[str, Any]:
    known = settings.get("compression")
    if not isinstance(known, Mapping):
        return dict(settings)
    kept = {names.get(name, name): spec for name, spec in known.items()}
    kept.pop(None, None)
    return {**settings, "compression": kept}


def _check_new_name(schema: Schema, name: str, table: str) -> None:
    if name in schema.columns:
        raise SchemaError(f"table {table!r} has a column {name!r} already")
    if name == schema.partition_by:
        raise SchemaError(f"{name!r} is the partition column of table {table!r}; choose another name")
    if not name or name != name.strip() or not name.isprintable():
        expected = "printable characters, without blanks around them"
        raise SchemaError(f"{name!r} can't be the name of a column; expected {expected}")


def _free_name(schema: Schema, name: str) -> str:
    """Give a stored name that no column has or had: ``price``, else ``price.2`` and on."""
    taken = {*schema.retired, *map(schema.stored_name, schema.columns)}
    candidates = (name if number == 1 else f"{name}.{number}" for number in count(1))
    return next(candidate for candidate in candidates if candidate not in taken)
