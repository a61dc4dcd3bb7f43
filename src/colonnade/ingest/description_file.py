"""The TOML form of a source description: shipped ones by name, the user's own by path."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

from colonnade.errors import SchemaError, SourceError
from colonnade.ingest.description import (
    ColumnDescription,
    EdgeLine,
    FileSet,
    SourceDescription,
    TableDefaults,
    field_names,
)

Part = TypeVar("Part", ColumnDescription, EdgeLine, FileSet, SourceDescription, TableDefaults)

_LISTS: Final = ("null", "tables", "members")
_EXPECTED: Final = {
    "header": bool, "skip_lines": int, "strip": bool, "scale": int, "width": int, "drop": bool,
    "optional": bool, "upper": bool, "check": bool, "required": bool, "roles": dict,
}  # fmt: skip


def shipped_formats() -> list[str]:
    """Give the names of the descriptions that come with the package."""
    folder = resources.files("colonnade.ingest") / "formats"
    return sorted(
        entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def load_description(source: str | Path | SourceDescription) -> SourceDescription:
    """Read a description: a shipped name such as ``"nyse-taq"``, or the path of a TOML file.

    Raises
    ------
    SourceError
        If there is none of that name, or the file says something that can't be.
    """
    if isinstance(source, SourceDescription):
        return source
    path = Path(source)
    if str(source) in shipped_formats():
        text = (resources.files("colonnade.ingest") / "formats" / f"{source}.toml").read_text("utf-8")
        return parse_description(text, name=str(source))
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        listed = ", ".join(map(repr, shipped_formats()))
        reason = f"can't read source description {str(source)!r}: {getattr(error, 'strerror', None) or error}"
        raise SourceError(
            f"{reason}; expected a shipped name ({listed}) or the path of a TOML file"
        ) from None
    return parse_description(text, name=path.stem)


def parse_description(text: str, *, name: str) -> SourceDescription:
    """Read the TOML text of a description.

    Examples
    --------
    >>> text = 'header = false' + chr(10) + 'columns = [{name = "time", unit = "s"}, {name = "price"}]'
    >>> [column.name for column in parse_description(text, name="kraken").columns]
    ['time', 'price']
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"description {name!r} is no TOML: {error}") from None
    return _source(content, name)


def _source(content: Mapping[str, Any], name: str) -> SourceDescription:
    where = f"description {content.get('name', name)!r}"
    values: dict[str, Any] = {"name": name, **content}
    _check_keys(values, field_names(SourceDescription), where)
    variants = values.pop("variants", [])
    shared = {key: value for key, value in values.items() if key != "name"}
    values["columns"] = tuple(_column(entry, where) for entry in _tables(values.get("columns", []), where))
    for key in ("first_line", "trailer"):
        if key in values:
            values[key] = _part(EdgeLine, values[key], f"{key} of {where}")
    if "file_set" in values:
        values["file_set"] = _part(FileSet, values["file_set"], f"file_set of {where}")
    if "table" in values:
        values["table"] = _part(TableDefaults, values["table"], f"table of {where}")
    values["variants"] = tuple(
        _source({**shared, **entry}, f"{values['name']} variant {position + 1}")
        for position, entry in enumerate(_tables(variants, where))
    )
    return _made(SourceDescription, values, where)


def _column(entry: Mapping[str, Any], where: str) -> ColumnDescription:
    if "name" not in entry:
        raise SourceError(f"{where} has a column without a name: {dict(entry)}")
    where = f"column {entry['name']!r} of {where}"
    known = ["from" if name == "source" else name for name in field_names(ColumnDescription)]
    _check_keys(entry, known, where)
    values = {("source" if key == "from" else key): value for key, value in entry.items()}
    return _part(ColumnDescription, values, where)


def _part(kind: type[Part], entry: Any, where: str) -> Part:  # noqa: ANN401 - what TOML holds
    if not isinstance(entry, Mapping):
        raise SourceError(f"{where} is {entry!r}; expected a table")
    values = dict(entry)
    _check_keys(values, field_names(kind), where)
    return _made(kind, values, where)


def _made(kind: type[Part], values: dict[str, Any], where: str) -> Part:
    for key in _LISTS:
        if key in values:
            values[key] = _texts(values[key], f"{key} of {where}")
    try:
        return kind(**values)
    except SchemaError as error:
        raise SourceError(f"{where}: {error}") from None
    except TypeError as error:
        raise SourceError(f"{where} lacks something: {error}") from None


def _check_keys(values: Mapping[str, Any], known: list[str], where: str) -> None:
    for key, value in values.items():
        if key not in known:
            raise SourceError(f"{where} has an unknown key {key!r}; there are {', '.join(known)}")
        expected = _EXPECTED.get(key, str)
        is_plain = key not in (*_LISTS, "columns", "variants", "first_line", "trailer", "file_set", "table")
        if is_plain and type(value) is not expected:
            raise SourceError(f"{key} of {where} is {value!r}; expected {_described(expected)}")


def _described(kind: type) -> str:
    return {bool: "true or false", int: "a whole number", dict: "a table"}.get(kind, "text in quotes")


def _texts(value: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401 - what TOML holds
    entries = (
        (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else None
    )
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        raise SourceError(f"{where} is {value!r}; expected a list of texts")
    return entries


def _tables(value: Any, where: str) -> list[Mapping[str, Any]]:  # noqa: ANN401 - what TOML holds
    if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
        raise SourceError(f"columns and variants of {where} must be lists of tables")
    return value
