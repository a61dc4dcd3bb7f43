"""Expressions beside a table's columns: names are checked and values get the type of what they stand beside.

A text beside a date or time column is read here, so that a wrong one is an error when the query is written,
not when it runs. Types of whole expressions are asked from Polars, on empty columns.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

import numpy as np
import polars as pl

from colonnade.errors import ColumnNotFoundError, ColumnTypeError, PlanError
from colonnade.query.expr import (
    COMPARISONS,
    MIRRORED,
    Aggregate,
    Between,
    Binary,
    Bucket,
    Column,
    Expr,
    IsIn,
    LastPartitions,
    Literal,
    Node,
    TimeOfDay,
    Unary,
    children,
    listed,
    text_of,
)
from colonnade.query.polars_form import polars_form
from colonnade.query.values import DAY_NS, clock_ns, days_between, instant_ns, span_ns
from colonnade.schema import DECIMAL_DIGITS, ColumnType, Schema

DATE: Final = ColumnType("date")


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that expressions may name, the partition column among them."""

    table: str
    schema: Schema
    has_partition: bool = True

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        """Name to type; the partition column stands first where rows don't carry it."""
        schema = self.schema
        if not self.has_partition:
            return schema.columns
        if schema.partition_by in schema.columns:
            return {**schema.columns, schema.partition_by: DATE}
        return {schema.partition_by: DATE, **schema.columns}

    def type_of(self, name: str) -> ColumnType:
        """Give the type of a column; raise `ColumnNotFoundError` where there is none."""
        try:
            return self.columns[name]
        except KeyError:
            raise ColumnNotFoundError(name, self.columns, where=f"table {self.table!r}") from None

    def zone_of(self, kind: ColumnType) -> str | None:
        """Give the zone in which a timestamp's wall clock is meant; None for wall clock as given."""
        return None if kind.zone is None else self.schema.zone or kind.zone


def bind(node: Node, scope: Scope) -> Node:  # noqa: C901, PLR0911 - one case a node
    """Check the names of an expression and read its literals."""
    match node:
        case Column(name):
            scope.type_of(name)
            return node
        case Binary(op, left, right) if op in COMPARISONS:
            if isinstance(left, Literal) and not isinstance(right, Literal):
                return _bind_comparison(MIRRORED[op], bind(right, scope), left, scope)
            if isinstance(right, Literal):
                return _bind_comparison(op, bind(left, scope), right, scope)
            return Binary(op, bind(left, scope), bind(right, scope))
        case Binary(op, left, right):
            sides = bind(left, scope), bind(right, scope)
            if op not in ("&", "|"):
                _check_arithmetic(node, sides, scope)
            return Binary(op, *sides)
        case Unary(op, operand):
            return Unary(op, bind(operand, scope))
        case IsIn(operand, values):
            return _any_of(bind(operand, scope), values, scope)
        case Bucket(operand, every, offset):
            return _bind_bucket(bind(operand, scope), every, offset, scope)
        case Aggregate(function, operand, weight):
            return Aggregate(
                function,
                None if operand is None else bind(operand, scope),
                None if weight is None else bind(weight, scope),
            )
        case Literal(value, None):
            return Literal(_plain(value))
        case _:
            return node


def bind_condition(node: Node, scope: Scope) -> Node:
    """Bind an expression that rows have to fulfil."""
    bound = bind(node, scope)
    if isinstance(bound, Literal) and isinstance(bound.value, bool):
        return bound
    found = type_of(bound, scope)
    if found != pl.Boolean():
        raise ColumnTypeError(f"a condition is true or false, but {text_of(node)} gives {found}")
    return bound


def bind_named(name: str, value: Any, scope: Scope) -> Node:  # noqa: ANN401, PLR0911 - whatever `where` takes
    """Bind ``where(name=value)``: a scalar is equal, a list any of, `between` both ends included."""
    kind = scope.type_of(name)
    column = Column(name)
    if isinstance(value, LastPartitions):
        if name != scope.schema.partition_by:
            expected = scope.schema.partition_by
            raise PlanError(
                f"cn.last({value.count}) counts partitions; use it on {expected!r}, not on {name!r}"
            )
        return value
    if isinstance(value, Between):
        low, high = value.low, value.high
        bounds = [Binary(">=", column, Literal(low)), Binary("<=", column, Literal(high))]
        both = [bind(bound, scope) for bound, end in zip(bounds, (low, high), strict=True) if end is not None]
        if not both:
            raise PlanError(f"between on {name!r} has no end; give one or both")
        if len(both) == 2 and all(isinstance(bound, TimeOfDay) for bound in both):  # noqa: PLR2004
            return _clock_between(column, low, high, scope, kind)
        return _checked(both[0] if len(both) == 1 else Binary("&", *both), scope)
    if isinstance(value, Expr):
        return bind_condition(Binary("==", column, value.node), scope)
    if value is None:
        return Unary("is_null", column)
    if _is_scalar(value):
        return _checked(bind(Binary("==", column, Literal(value)), scope), scope)
    return _checked(_any_of(column, tuple(Literal(item) for item in listed(value)), scope), scope)


def type_of(node: Node, scope: Scope) -> pl.DataType:
    """Give the Polars type of a bound expression; raise `ColumnTypeError` where there is none."""
    if isinstance(node, Column):
        return scope.type_of(node.name).polars_type
    if isinstance(node, (TimeOfDay, LastPartitions)):
        return pl.Boolean()
    schema = {name: kind.polars_type for name, kind in scope.columns.items()}
    try:
        form = polars_form(node, scope.columns)
        if not _has_bucket(node):  # Polars tells of some types only when it calculates; its buckets need rows
            pl.DataFrame(schema=schema).select(x=form)
        return pl.LazyFrame(schema=schema).select(x=form).collect_schema()["x"]
    except (pl.exceptions.PolarsError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ColumnTypeError(f"{text_of(node)} can't be calculated: {reason}") from None


def _has_bucket(node: Node) -> bool:
    return isinstance(node, Bucket) or any(_has_bucket(child) for child in children(node))


def _check_arithmetic(node: Node, sides: tuple[Node, Node], scope: Scope) -> None:
    for side in sides:
        dtype = type_of(side, scope)
        if isinstance(dtype, (pl.String, pl.Categorical, pl.Boolean)):
            raise ColumnTypeError(f"{text_of(node)} can't be calculated: {text_of(side)} has type {dtype}")


def _checked(node: Node, scope: Scope) -> Node:
    type_of(node, scope)
    return node


def _is_scalar(value: object) -> bool:
    return isinstance(
        value, (str, bytes, int, float, bool, dt.date, dt.time, dt.timedelta, np.generic)
    ) or not (hasattr(value, "__iter__") or hasattr(value, "__array__"))


def _kind_of(node: Node, scope: Scope) -> ColumnType | None:
    """Give the column type that literals beside this expression take, where it has one."""
    if isinstance(node, Bucket):
        return _kind_of(node.operand, scope)
    if isinstance(node, Column):
        return scope.type_of(node.name).read_as
    if isinstance(node, Binary):
        dtype = type_of(node, scope)
        return ColumnType("timespan") if isinstance(dtype, pl.Duration) else None
    return None


def _bind_comparison(op: str, operand: Node, literal: Literal, scope: Scope) -> Node:
    kind = _kind_of(operand, scope)
    what = f"the value beside {text_of(operand)}"
    if literal.value is None:
        raise PlanError(f"{what} is None, which nothing equals; use {text_of(operand)}.is_null()")
    if literal.type is not None or kind is None:
        return Binary(op, operand, literal if literal.type else Literal(_plain(literal.value)))
    if kind.kind == "timestamp" and isinstance(operand, Column):
        clock = clock_ns(literal.value)
        if clock is not None:
            return TimeOfDay(operand, _clock_ranges(op, clock), scope.zone_of(kind))
    if not kind.is_temporal:
        _check_plain(kind, literal.value, what)
        if kind.kind == "decimal":
            return _compare_decimal(op, operand, literal.value, kind)
        return Binary(op, operand, Literal(_canonical(kind, literal.value, what)))
    low, high = physical_range(literal.value, kind, scope, what=what)
    return _compare_range(op, operand, Literal(low, kind), Literal(high, kind))


def _compare_range(op: str, operand: Node, low: Literal, high: Literal) -> Node:
    """Compare with a span of values: a month beside a date column is all of its days."""
    if low == high:
        return Binary(op, operand, low)
    match op:
        case "==":
            return Binary("&", Binary(">=", operand, low), Binary("<=", operand, high))
        case "!=":
            return Binary("|", Binary("<", operand, low), Binary(">", operand, high))
        case "<" | ">=":
            return Binary(op, operand, low)
        case _:
            return Binary(op, operand, high)


def _compare_decimal(op: str, operand: Node, value: Any, kind: ColumnType) -> Node:  # noqa: ANN401
    """Compare scaled whole numbers; a number between two of them is next to both, and equal to none."""
    exact = Fraction(str(_plain(value))) if math.isfinite(value) else None
    if exact is None:
        return Binary(op, operand, Literal(_plain(value)))
    most = 10**DECIMAL_DIGITS  # no stored value is as far from 0
    scaled = min(max(exact * 10 ** (kind.scale or 0), -most), most)
    below, above = Literal(math.floor(scaled), kind), Literal(math.ceil(scaled), kind)
    if below == above:
        return Binary(op, operand, below)
    match op:
        case "==":
            return Binary("&", Binary(">=", operand, above), Binary("<=", operand, below))
        case "!=":
            return Binary("|", Binary("<=", operand, below), Binary(">=", operand, above))
        case "<" | "<=":
            return Binary("<=", operand, below)
        case _:
            return Binary(">=", operand, above)


def _any_of(operand: Node, values: tuple[Literal, ...], scope: Scope) -> Node:
    """Bind `is_in`: points become one list, spans (months) and times of day conditions beside it."""
    kind = _kind_of(operand, scope)
    if kind is not None and not kind.is_temporal:
        for literal in values:
            if literal.value is not None:
                _check_plain(kind, literal.value, f"a value for {text_of(operand)}")
    alternatives: list[Node] = []
    points: list[Literal] = []
    for literal in values:
        if literal.value is None:
            alternatives.append(Unary("is_null", operand))
            continue
        is_typed = kind is not None and (kind.is_temporal or kind.kind == "decimal")
        bound = _bind_comparison("==", operand, literal, scope) if is_typed else None
        if isinstance(bound, Binary) and bound.op == "==" and isinstance(bound.right, Literal):
            points.append(bound.right)
        elif bound is not None:
            alternatives.append(bound)
        else:
            what = f"a value for {text_of(operand)}"
            value = _plain(literal.value) if kind is None else _canonical(kind, literal.value, what)
            points.append(Literal(value, literal.type))
    condition: Node = IsIn(operand, tuple(dict.fromkeys(points)))
    if not points and alternatives:
        condition = alternatives.pop(0)
    for alternative in dict.fromkeys(alternatives):
        condition = Binary("|", condition, alternative)
    return condition


def physical_range(value: Any, kind: ColumnType, scope: Scope, *, what: str) -> tuple[int, int]:  # noqa: ANN401
    """Give the smallest and largest stored value that a written value means; most are one point."""
    match kind.kind:
        case "date":
            return days_between(value, what=what)
        case "timestamp":
            point = instant_ns(value, scope.zone_of(kind), what=what)
        case "time":
            clock = clock_ns(value)
            if clock is None:
                raise PlanError(f"{what} is {value!r}; expected a time of day such as '09:30'")
            point = clock
        case _:
            clock = clock_ns(value)
            point = span_ns(value, what=what) if clock is None else clock
    return point, point


def _clock_ranges(op: str, clock: int) -> tuple[tuple[int, int], ...]:
    end = DAY_NS - 1
    ranges = {
        "==": ((clock, clock),),
        "!=": ((0, clock - 1), (clock + 1, end)),
        "<": ((0, clock - 1),),
        "<=": ((0, clock),),
        ">": ((clock + 1, end),),
        ">=": ((clock, end),),
    }[op]
    return tuple((low, high) for low, high in ranges if low <= high)


def _clock_between(column: Column, low: Any, high: Any, scope: Scope, kind: ColumnType) -> Node:  # noqa: ANN401
    first, last = clock_ns(low), clock_ns(high)
    assert first is not None  # noqa: S101 - both were read as times of day before
    assert last is not None  # noqa: S101
    ranges = ((first, last),) if first <= last else ()
    return TimeOfDay(column, ranges, scope.zone_of(kind))


def _bind_bucket(operand: Node, every: Any, offset: Any, scope: Scope) -> Node:  # noqa: ANN401
    kind = _kind_of(operand, scope)
    if kind is not None and not kind.is_temporal:
        if not kind.is_numeric:
            raise ColumnTypeError(f"{text_of(operand)} has type {kind}; only numbers and times have buckets")
        if isinstance(every, bool) or not isinstance(every, (int, float)) or every <= 0:
            raise PlanError(f"the bucket of {text_of(operand)} is {every!r}; expected a number above 0")
        if isinstance(every, float) and not kind.kind.startswith("float"):
            raise PlanError(
                f"the bucket of the integer {text_of(operand)} is {every!r}; expected a whole number"
            )
        return Bucket(operand, every, 0 if offset is None else offset)
    if kind is None:
        raise PlanError(f"bucket takes a column, not {text_of(operand)}")
    width = span_ns(every, what="the bucket width")
    shift = 0 if offset is None else span_ns(offset, what="the bucket offset")
    if width <= 0:
        raise PlanError(f"the bucket width is {every!r}; expected a span above 0")
    if kind.kind == "date":
        if width % DAY_NS or shift % DAY_NS:
            raise PlanError(f"the bucket of the date {text_of(operand)} is {every!r}; expected whole days")
        return Bucket(operand, width // DAY_NS, shift // DAY_NS)
    return Bucket(operand, width, shift % width)


def _check_plain(kind: ColumnType, value: Any, what: str) -> None:  # noqa: ANN401
    if kind.kind in ("symbol", "string", "char", "guid"):
        fits = isinstance(value, str) or (kind.kind == "guid" and isinstance(value, UUID))
        if fits and kind.kind == "char" and len(value.encode()) != 1:
            raise PlanError(f"{what} is {value!r}; a char column holds texts of one byte")
    elif kind.kind == "bool":
        fits = isinstance(value, (bool, np.bool_))
    elif kind.kind == "list":
        fits = False
    else:
        fits = not isinstance(value, (bool, np.bool_)) and (
            isinstance(value, (int, float, np.integer, np.floating)) or hasattr(value, "as_integer_ratio")
        )
    if not fits:
        raise PlanError(f"{what} is {value!r}, which a column of type {kind} can't hold")


def _canonical(kind: ColumnType, value: Any, what: str) -> Any:  # noqa: ANN401
    """Give a value as results have it: a guid in its canonical form."""
    if kind.kind != "guid":
        return _plain(value)
    digits = str(value).replace("-", "").lower()
    if re.fullmatch("[0-9a-f]{32}", digits) is None:
        raise PlanError(f"{what} is {value!r}; expected a guid such as 8c6b8b64-6815-6084-0a3e-178401251b68")
    return str(UUID(digits))


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Turn NumPy scalars into Python's."""
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        return value.item()
    return value
