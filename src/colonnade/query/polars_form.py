"""Bound expressions as Polars expressions, for what is row by row and has no kernel, and for types."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from colonnade.errors import PlanError
from colonnade.query.expr import (
    Aggregate,
    Binary,
    Bucket,
    Column,
    IsIn,
    Literal,
    Node,
    TimeOfDay,
    Unary,
    text_of,
)
from colonnade.query.values import DAY_NS, wall_clock
from colonnade.schema import ColumnType

_OPERATORS: Final[dict[str, Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "&": operator.and_,
    "|": operator.or_,
}


def polars_form(  # noqa: C901, PLR0911, PLR0912 - one case a node
    node: Node, columns: Mapping[str, ColumnType], zone: str | None = None
) -> pl.Expr:
    """Give the Polars expression that means the same, row by row."""
    match node:
        case Column(name):
            return pl.col(name)
        case Literal(value, None):
            return pl.lit(value)
        case Literal(value, kind) if kind is not None and kind.kind == "decimal":
            return pl.lit(value, dtype=pl.Int128).reinterpret(dtype=pl.Decimal(38, kind.scale or 0))
        case Literal(value, kind) if kind is not None:
            whole = pl.Int32 if kind.kind == "date" else pl.Int64
            return pl.lit(value, dtype=whole).cast(kind.polars_type)
        case Binary("/", left, Literal(value, None)) if isinstance(value, (int, float)):
            return _divided(polars_form(left, columns, zone), value, columns)
        case Binary(op, left, right):
            form: pl.Expr = _OPERATORS[op](
                polars_form(left, columns, zone), polars_form(right, columns, zone)
            )
            return form
        case Unary("-", operand):
            return -polars_form(operand, columns, zone)
        case Unary("~", operand):
            return ~polars_form(operand, columns, zone)
        case Unary("is_null", operand):
            return polars_form(operand, columns, zone).is_null()
        case Unary("is_not_null", operand):
            return polars_form(operand, columns, zone).is_not_null()
        case IsIn(operand, values):
            return _is_in(operand, values, columns, zone)
        case Bucket():
            return _bucket(node, columns, zone)
        case TimeOfDay(operand, ranges, clock_zone):
            clock = wall_clock(polars_form(operand, columns), clock_zone).dt.time().cast(pl.Int64)
            within = [clock.is_between(low, high) for low, high in ranges]
            return pl.any_horizontal(within) if within else clock < 0
        case Aggregate():
            raise PlanError(f"{text_of(node)} stands only in agg(...)")
    raise PlanError(f"{text_of(node)} can't be calculated row by row")


def _divided(dividend: pl.Expr, divisor: float, columns: Mapping[str, ColumnType]) -> pl.Expr:
    """Divide by a number in every row.

    Polars multiplies by the reciprocal, unless there is one row only: off by a bit at times, and another
    answer for another number of rows. A column of divisors is divided by.
    """
    short = dividend / pl.lit(divisor)
    schema = {name: kind.polars_type for name, kind in columns.items()}
    dtype = pl.LazyFrame(schema=schema).select(x=short).collect_schema()["x"]
    if not dtype.is_float():
        return short
    zeros = (pl.int_range(pl.len()) * 0).cast(dtype)
    return dividend / (zeros + pl.lit(divisor, dtype=dtype))


def _is_in(
    operand: Node, values: tuple[Literal, ...], columns: Mapping[str, ColumnType], zone: str | None
) -> pl.Expr:
    inner = polars_form(operand, columns, zone)
    kind = next((value.type for value in values if value.type is not None), None)
    if kind is not None:
        return inner.to_physical().is_in([value.value for value in values])
    if isinstance(operand, Column) and columns[operand.name].kind in ("symbol", "char", "string"):
        return inner.cast(pl.String).is_in(
            pl.Series([value.value for value in values], dtype=pl.String).implode()
        )
    if not values:
        return pl.when(inner.is_not_null()).then(pl.lit(value=False))
    equal = [inner == value.value for value in values]
    if len(equal) <= 8:  # noqa: PLR2004 - any_horizontal keeps the types of single comparisons
        return pl.any_horizontal(equal)
    return inner.is_in(pl.Series([value.value for value in values]).implode())


def _bucket(node: Bucket, columns: Mapping[str, ColumnType], zone: str | None) -> pl.Expr:
    inner = polars_form(node.operand, columns, zone)
    kind = _kind(node.operand, columns)
    width, offset = node.every, node.offset
    label: pl.Expr
    if kind.is_numeric:
        if kind.kind.startswith("float"):
            label = ((inner - offset) / width).floor() * width + offset
        else:
            label = (inner.cast(pl.Int64) - offset) // width * width + offset
        return label.cast(kind.polars_type)
    if kind.kind != "timestamp":
        whole = inner.to_physical().cast(pl.Int64)
        label = (whole - offset) // width * width + offset
        return label.cast(pl.Int32 if kind.read_as.kind == "date" else pl.Int64).cast(kind.polars_type)
    place = None if kind.zone is None else zone or kind.zone
    wall = wall_clock(inner, place).cast(pl.Int64)
    label = floor_from_midnight(wall - offset, width) + offset
    if place is None:
        return label.cast(kind.polars_type)
    earliest = pl.lit("earliest")
    again = wall.cast(pl.Datetime("ns")).dt.replace_time_zone(place, ambiguous=earliest, non_existent="null")
    fold = (
        pl.when(again.dt.convert_time_zone(kind.zone or place) == inner)
        .then(earliest)
        .otherwise(pl.lit("latest"))
    )
    return to_instants(label.cast(pl.Datetime("ns")), place, fold).dt.convert_time_zone(kind.zone or place)


def floor_from_midnight(wall: pl.Expr, width: int) -> pl.Expr:
    """Floor wall clock to a bucket: within a day from midnight, buckets of days from 1970-01-01."""
    if width % DAY_NS == 0:
        return wall // width * width
    midnight = wall // DAY_NS * DAY_NS
    return midnight + (wall - midnight) // width * width


def to_instants(wall: pl.Expr, zone: str, fold: pl.Expr) -> pl.Expr:
    """Turn wall clock into instants; one that the clock leaves out becomes the instant of the change."""
    direct = wall.dt.replace_time_zone(zone, ambiguous=fold, non_existent="null")
    # The day before has the offset of before the change, which places a left-out wall clock after it.
    day = pl.duration(days=1, time_unit="ns")
    earlier = (wall - day).dt.replace_time_zone(zone, ambiguous=fold, non_existent="null")
    shifted = earlier + pl.duration(hours=24, time_unit="ns")
    return pl.when(direct.is_null()).then(shifted).otherwise(direct)


def _kind(node: Node, columns: Mapping[str, ColumnType]) -> ColumnType:
    while isinstance(node, Bucket):
        node = node.operand
    if isinstance(node, Column):
        return columns[node.name]
    return ColumnType("timespan")
