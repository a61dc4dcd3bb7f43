"""What users write, as the parts of a plan: conditions, outputs, groups, bars.

Names and values are checked here, when the query is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from colonnade.errors import ColumnTypeError, PlanError
from colonnade.query.aggregates import result_type
from colonnade.query.bind import Scope, bind, bind_condition, bind_named, type_of
from colonnade.query.expr import (
    Aggregate,
    Between,
    Bucket,
    Column,
    Expr,
    Node,
    as_node,
    children,
    text_of,
)
from colonnade.query.fill import HIDDEN_DATE
from colonnade.query.plan import Fill, Groups, Output
from colonnade.query.values import DAY_NS, clock_ns, span_ns


def conditions_of(scope: Scope, conditions: Iterable[Any], named: Mapping[str, Any]) -> tuple[Node, ...]:
    """Bind what `where` was given."""
    bound = [bind_condition(_checked(condition, "where"), scope) for condition in conditions]
    return (*bound, *(bind_named(name, value, scope) for name, value in named.items()))


def _checked(condition: Any, place: str) -> Node:  # noqa: ANN401
    if isinstance(condition, Expr):
        if holds_aggregate(condition.node):
            raise PlanError(f"{condition!r} aggregates; {place} asks each row. Use group_by(...).agg(...)")
        return condition.node
    if isinstance(condition, bool):
        raise PlanError(f"{place} was given {condition}; write conditions with col, as col('size') > 500")
    raise PlanError(f"{place} takes conditions such as col('size') > 500, or column=value; got {condition!r}")


def holds_aggregate(node: Node) -> bool:
    """Tell whether an expression aggregates anywhere."""
    return isinstance(node, Aggregate) or any(holds_aggregate(child) for child in children(node))


def all_columns(scope: Scope) -> tuple[Output, ...]:
    """Give the columns of a query without `select`; with a time of day as sort key the date is among them."""
    schema = scope.schema
    names = list(schema.columns)
    sort_kind = schema.columns[schema.sort_by].kind if schema.sort_by is not None else None
    if sort_kind == "time" and schema.partition_by not in schema.columns:
        names.insert(0, schema.partition_by)
    return tuple(Output(name, Column(name)) for name in names)


def outputs_of(scope: Scope, positional: Iterable[Any], named: Mapping[str, Any]) -> tuple[Output, ...]:
    """Bind what `select` was given: names, expressions, new names for expressions."""
    outputs = []
    for name, value in _named_outputs(positional, named):
        node = as_node(value)
        if holds_aggregate(node):
            raise PlanError(f"{text_of(node)} aggregates; use group_by(...).agg(...)")
        bound = bind(node, scope)
        type_of(bound, scope)
        outputs.append(Output(name, bound))
    _check_names(outputs)
    if not outputs:
        raise PlanError("select names no column; without select, a query has all of them")
    return tuple(outputs)


def _named_outputs(positional: Iterable[Any], named: Mapping[str, Any]) -> list[tuple[str, Any]]:
    given: list[tuple[str, Any]] = []
    for value in positional:
        for item in value if isinstance(value, (list, tuple)) else [value]:
            given.append((_name_of(as_node(item)), item))  # noqa: PERF401 - lists may hold several
    given += [
        (name, Expr(as_node(value)) if isinstance(value, str) else value) for name, value in named.items()
    ]
    return given


def _name_of(node: Node) -> str:
    if isinstance(node, Column):
        return node.name
    if isinstance(node, Bucket):
        return _name_of(node.operand)
    raise PlanError(f"{text_of(node)} has no name; give it one, as in mid={text_of(node)}")


def _check_names(outputs: Iterable[Output]) -> None:
    seen: set[str] = set()
    for output in outputs:
        if output.name in seen:
            raise PlanError(f"two columns of the result are named {output.name!r}; give one another name")
        seen.add(output.name)


def keys_of(scope: Scope, positional: Iterable[Any], named: Mapping[str, Any]) -> tuple[Output, ...]:
    """Bind what `group_by` was given."""
    if not positional and not named:
        return ()
    keys = outputs_of(scope, positional, named)
    for key in keys:
        dtype = type_of(key.node, scope)
        if isinstance(dtype, pl.Null):
            raise PlanError(f"key {key.name!r} is always null")
        if isinstance(dtype, pl.List):
            raise ColumnTypeError(f"key {key.name!r} has type {dtype}; lists are no keys")
    return keys


def groups_of(
    scope: Scope, keys: tuple[Output, ...], positional: Iterable[Any], named: Mapping[str, Any]
) -> Groups:
    """Bind what `agg` was given; every value has a name."""
    aggregates = []
    for value in positional:
        node = as_node(value)
        name = text_of(node)
        if isinstance(node, Aggregate):
            name = "len" if node.operand is None else _name_of(node.operand)
        aggregates.append(Output(name, node))
    aggregates += [Output(name, as_node(value)) for name, value in named.items()]
    bound = []
    for output in aggregates:
        if not isinstance(output.node, Aggregate):
            hint = (
                f"{text_of(output.node)}.last()"
                if not holds_aggregate(output.node)
                else "select on the result"
            )
            raise PlanError(f"{output.name!r} is {text_of(output.node)}, which is no aggregate; use {hint}")
        if any(child is not None and holds_aggregate(child) for child in children(output.node)):
            raise PlanError(f"{text_of(output.node)} aggregates an aggregate; group the result again")
        node = bind(output.node, scope)
        assert isinstance(node, Aggregate)  # noqa: S101 - bind keeps the kind
        result_type(node, scope)
        bound.append(Output(output.name, node))
    if not bound and not keys:
        raise PlanError("agg names no aggregate; write agg(volume=col('size').sum())")
    _check_names([*keys, *bound])
    return Groups(keys, tuple(bound))


def bars_of(
    scope: Scope,
    every: Any,  # noqa: ANN401 - what users write
    session: Any,  # noqa: ANN401
    fill: Any,  # noqa: ANN401
    offset: Any,  # noqa: ANN401
) -> tuple[tuple[Node, ...], Groups]:
    """Give the conditions and groups of bars: open, high, low, close, volume, vwap by the table's roles."""
    schema, where = scope.schema, f"table {scope.table!r}"
    price, size = schema.role("price", where=where), schema.role("size", where=where)
    time = schema.roles.get("time") or schema.sort_by or schema.role("time", where=where)
    if not schema.columns[time].is_temporal:
        raise PlanError(f"bars need a time, but {time!r} of {where} has type {schema.columns[time]}")
    symbol = schema.roles.get("symbol", schema.part_by)
    keys = [Column(symbol)] if symbol is not None else []
    if schema.columns[time].read_as.kind in ("time", "timespan"):
        keys.insert(0, Column(schema.partition_by))
    label = bind(Expr(Column(time)).bucket(every, offset).node, scope)
    assert isinstance(label, Bucket)  # noqa: S101 - bind keeps the kind
    aggregates = {
        "open": Aggregate("first", Column(price)),
        "high": Aggregate("max", Column(price)),
        "low": Aggregate("min", Column(price)),
        "close": Aggregate("last", Column(price)),
        "volume": Aggregate("sum", Column(size)),
        "vwap": Aggregate("wavg", Column(price), Column(size)),
    }
    named = {name: Expr(node) for name, node in aggregates.items()}
    outputs = (*(Output(key.name, key) for key in keys), Output(time, label))
    groups = groups_of(scope, outputs, (), named)
    clock = None if session is None else _session(session)
    conditions: tuple[Node, ...] = ()
    if clock is not None:
        conditions = (bind_named(time, Between(*map(_clock_text, (clock[0], clock[1] - 1))), scope),)
    if fill not in (None, "previous"):
        raise PlanError(f"fill is {fill!r}; expected None or 'previous'")
    if fill == "previous":
        dated = Output(HIDDEN_DATE, Column(schema.partition_by))
        groups = Groups((*groups.keys, dated), groups.aggregates, Fill(label.every, label.offset, clock))
    return conditions, groups


def _session(session: Any) -> tuple[int, int]:  # noqa: ANN401
    if isinstance(session, Between):
        session = session.low, session.high
    if not isinstance(session, (tuple, list)) or len(session) != 2:  # noqa: PLR2004
        raise PlanError(f"session is {session!r}; expected two times such as ('09:30', '16:00')")
    start, stop = clock_ns(session[0]), DAY_NS if session[1] == "24:00" else clock_ns(session[1])
    if start is None or stop is None:
        raise PlanError(f"session is {session!r}; expected two times such as ('09:30', '16:00')")
    if start >= stop:
        raise PlanError(f"the session {session!r} ends before it begins; use where with two conditions")
    return start, stop


def _clock_text(ns: int) -> str:
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:09}"


def span_in_units(value: Any, dtype: pl.DataType, *, what: str) -> int:  # noqa: ANN401
    """Give a distance on a column as its stored unit: nanoseconds of times, days of dates, else a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        distance = value
    elif dtype.is_temporal():
        distance = span_ns(value, what=what)
        if isinstance(dtype, pl.Date):
            distance //= DAY_NS
    else:
        raise PlanError(f"{what} is {value!r}; expected a whole number")
    if distance < 0:
        raise PlanError(f"{what} is {value!r}; expected 0 or more")
    return distance
