"""Conditions on rows as the command line has them: ``size>500``, ``ex=N,Q``, ``time=09:30..16:00``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import typer

from colonnade.query.expr import Expr, between, col
from colonnade.schema import Schema

_CONDITION: Final = re.compile(r"\s*([^<>=!]+?)\s*(>=|<=|!=|=|>|<)\s*(.*?)\s*")
_COMPARE: Final[dict[str, Callable[[Expr, Any], Expr]]] = {
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    "!=": lambda column, value: column != value,
}


def read_conditions(texts: Iterable[str], named: dict[str, Any], schema: Schema) -> list[Expr]:
    """Read conditions; those of equality go to ``named``, as `where` takes them, the others are given."""
    compared = []
    for text in texts:
        match = _CONDITION.fullmatch(text)
        if match is None or not match[3]:
            reason = f"can't read {text!r}; expected for example size>500 or ex=N,Q"
            raise typer.BadParameter(reason, param_hint="--where")
        name, operator, value = match.groups()
        if operator != "=":
            compared.append(_COMPARE[operator](col(name), _typed(value, name, schema)))
        elif name in named:
            raise typer.BadParameter(
                f"there are two conditions of what {name!r} equals; write all values in one, as {name}=A,B",
                param_hint="--where",
            )
        else:
            named[name] = _equal(value, name, schema)
    return compared


def _equal(text: str, name: str, schema: Schema) -> Any:  # noqa: ANN401 - whatever `where` takes
    low, dots, high = text.partition("..")
    if dots and low and high:
        return between(_typed(low, name, schema), _typed(high, name, schema))
    values = [_typed(value.strip(), name, schema) for value in text.split(",")]
    return values[0] if len(values) == 1 else values


def _typed(text: str, name: str, schema: Schema) -> Any:  # noqa: ANN401 - a number, a truth value or text
    """Give a value in the type of its column; times, dates and symbols stay text, which queries read."""
    kind = schema.columns.get(name)
    if kind is not None and kind.kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind is None or not kind.is_numeric:
        return text
    try:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        reason = f"{text!r} is no number, and column {name!r} has the type {kind}"
        raise typer.BadParameter(reason, param_hint="--where") from None
