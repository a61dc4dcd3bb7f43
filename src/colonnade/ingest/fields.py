"""Fields of a file and the columns of a description, brought together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from colonnade.errors import ColumnNotFoundError, SourceError
from colonnade.ingest.convert import FieldPlan
from colonnade.ingest.description import ColumnDescription, SourceDescription, folded
from colonnade.schema import ColumnType

Overrides = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Layout:
    """What each field of a file becomes.

    Attributes
    ----------
    fields
        For each field of a row its column, or None where it is dropped.
    constants
        Columns that have one value in the whole file, with that value; None is null.
    order
        Names of all columns in the order of the table.
    """

    fields: tuple[ColumnDescription | None, ...]
    constants: tuple[tuple[ColumnDescription, str | None], ...]
    order: tuple[str, ...]

    def columns(self) -> dict[str, ColumnDescription]:
        """Give every column by name, in the order of the table."""
        known = {column.name: column for column in self.fields if column is not None}
        known |= {column.name: column for column, _ in self.constants}
        return {name: known[name] for name in self.order}


def match_fields(
    description: SourceDescription,
    names: Sequence[str] | None,
    *,
    count: int,
    groups: Mapping[str, str],
    label: str,
) -> Layout:
    """Bring the columns of a description and the fields of a file together.

    Parameters
    ----------
    description
        The description, already of one variant.
    names
        Names of the fields, or None where the file tells none.
    count
        Number of fields.
    groups
        What the names of file and zip member tell.
    label
        How messages name the file.

    Raises
    ------
    SourceError
        If a column that must be there isn't, or a field that nothing describes must not be.
    """
    described = [column for column in description.columns if column.value is None]
    if names is None or description.match == "order":
        fields, missing = _by_order(described, count, label)
    else:
        fields, missing = _by_name(description, described, names, label)
    constants: dict[str, str | None] = {column.name: None for column in missing}
    for column in description.columns:
        if column.value is not None:
            constants[column.name] = description.fill(column.value, groups, path=label)
    listed = [column for column in description.columns if not column.drop]
    kept = [column for column in fields if column is not None]
    order = dict.fromkeys([*(column.name for column in listed), *(column.name for column in kept)])
    if not order:
        raise SourceError(f"{label}: no column is left")
    chosen = tuple((column, constants[column.name]) for column in listed if column.name in constants)
    return Layout(tuple(fields), chosen, tuple(order))


def _by_order(
    described: Sequence[ColumnDescription], count: int, label: str
) -> tuple[list[ColumnDescription | None], list[ColumnDescription]]:
    missing = described[count:]
    if count > len(described) or not all(column.optional for column in missing):
        expected = f"{len(described)} columns are described"
        raise SourceError(f"{label}: the first row has {count} fields, but {expected}")
    return [None if column.drop else column for column in described[:count]], list(missing)


def _by_name(
    description: SourceDescription, described: Sequence[ColumnDescription], names: Sequence[str], label: str
) -> tuple[list[ColumnDescription | None], list[ColumnDescription]]:
    wanted = {folded(column.header_name): column for column in described}
    fields: list[ColumnDescription | None] = []
    for position, name in enumerate(names):
        column = wanted.pop(folded(name), None)
        if column is not None:
            fields.append(None if column.drop else column)
        else:
            fields.append(_unlisted(description, name, position, label))
    missing = [column for column in wanted.values() if not column.drop]
    for column in missing:
        if not column.optional:
            reason = ColumnNotFoundError(column.header_name, names, where=f"the header of {label}").message
            raise SourceError(f"{reason}; describe it as optional = true if older files lack it")
    kept = [column.name for column in fields if column is not None]
    twice = sorted({name for name in kept if kept.count(name) > 1})
    if twice:
        hint = "describe the source with header = true, match = 'order' and names of your own"
        raise SourceError(f"{label}: two fields are named {twice[0]!r}; {hint}")
    return fields, missing


def _unlisted(
    description: SourceDescription, name: str, position: int, label: str
) -> ColumnDescription | None:
    if description.unlisted == "error":
        known = ", ".join(repr(column.header_name) for column in description.columns)
        reason = f"{label}: field {name!r} isn't described; {description.name!r} knows {known}"
        raise SourceError(f"{reason}; unlisted = 'keep' or 'drop' takes such files")
    if description.unlisted == "drop":
        return None
    return ColumnDescription(name=name.strip() or f"column_{position + 1}", source=name)


def with_overrides(layout: Layout, overrides: Overrides, *, label: str) -> Layout:
    """Lay what the caller says of single columns over a layout.

    Raises
    ------
    ColumnNotFoundError
        If there is no such column.
    """
    for name in overrides:
        if name not in layout.order:
            raise ColumnNotFoundError(name, layout.order, where=label)

    def changed(column: ColumnDescription) -> ColumnDescription:
        return replace(column, **_known(overrides[column.name])) if column.name in overrides else column

    return Layout(
        tuple(None if column is None else changed(column) for column in layout.fields),
        tuple((changed(column), value) for column, value in layout.constants),
        layout.order,
    )


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    known = {("source" if key == "from" else key): value for key, value in values.items()}
    names = ("type", "unit", "epoch", "layout", "zone", "ambiguous", "scale", "null", "strip", "upper")
    for key in known:
        if key not in names:
            raise SourceError(f"can't override {key!r} of a column; there are {', '.join(names)}")
    if "null" in known:
        texts = known["null"]
        known["null"] = (texts,) if isinstance(texts, str) else tuple(texts)
    return known


def planned(column: ColumnDescription, kind: ColumnType, description: SourceDescription) -> FieldPlan:
    """Give the plan of a field whose type is known."""
    null = description.null if column.null is None else column.null
    strip = description.strips if column.strip is None else column.strip
    return FieldPlan(column.name, kind, column, tuple(text for text in null if text), strip)
