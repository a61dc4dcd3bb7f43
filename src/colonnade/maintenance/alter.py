"""Changes of a table as a whole: its columns, its dates, its life. Each is one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from colonnade.errors import NotFoundError
from colonnade.schema import ColumnType, days_to_date
from colonnade.store.schema_change import (
    settings_renamed,
    settings_without,
    with_column,
    with_name,
    without_column,
)
from colonnade.store.version import Edits, TableStore
from colonnade.store.version_file import Version


def add_column(
    table: TableStore, name: str, kind: ColumnType, *, roles: Mapping[str, str] | None = None
) -> Version:
    """Add a column; the rows that are there have no value in it. No file of rows is written.

    ``roles`` are those that the column may play; what other columns play stays theirs.
    """
    base = table.current()
    schema = with_column(base.schema, name, kind, roles=roles, table=table.name)
    return table.commit(base, Edits(schema=schema))


def drop_column(table: TableStore, name: str) -> Version:
    """Drop a column; its files go when the versions that know it are cleaned away."""
    base = table.current()
    schema = without_column(base.schema, name, table=table.name)
    return table.commit(base, Edits(schema=schema, settings=settings_without(base.settings, name)))


def rename_column(table: TableStore, old: str, new: str) -> Version:
    """Give a column another name; keys, roles and settings go along. No file of rows is written."""
    base = table.current()
    schema = with_name(base.schema, old, new, table=table.name)
    return table.commit(base, Edits(schema=schema, settings=settings_renamed(base.settings, old, new)))


def drop_table(table: TableStore) -> Version:
    """Drop a table; its files go when its versions are cleaned away, until then readers of them go on."""
    return table.drop()


def drop_partitions(table: TableStore, spans: Iterable[tuple[int, int]]) -> list[int]:
    """Drop the partitions whose dates lie in spans, both ends included; give the dates that went.

    Raises
    ------
    NotFoundError
        If a span holds no partition.
    ConflictError
        If one of them changes meanwhile.
    """
    base = table.current()
    values: set[int] = set()
    for first, last in spans:
        found = [value for value in base.values.tolist() if first <= value <= last]
        if not found:
            dates = days_to_date(first).isoformat() + ("" if first == last else f" to {days_to_date(last)}")
            raise NotFoundError(f"table {table.name!r} has no partition {dates}")
        values.update(found)
    table.commit(base, Edits(dropped=frozenset(values)))
    return sorted(values)
