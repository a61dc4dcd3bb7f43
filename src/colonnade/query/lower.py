"""Bound expressions to the instructions of a kernel program.

What no instruction does is named by `lower` as a calculated column, which `general` lets Polars make before;
so every expression has an answer, and the common ones have a fast one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import numpy as np
import polars as pl

from colonnade.errors import UnsupportedQueryError
from colonnade.query.bind import Scope, type_of
from colonnade.query.expr import (
    COMPARISONS,
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
from colonnade.query.program import Comparison, ProgramBuilder, Register
from colonnade.query.values import DAY_NS, span_ns
from colonnade.schema import ColumnType

_SIGN: Final = 1 << 63


class NoKernel(Exception):  # noqa: N818 - control flow inside this module, never seen outside
    """No instruction does this."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A register; `is_ordered` where uint64 is held with its top bit flipped."""

    register: Register
    is_ordered: bool = False


@dataclass(slots=True)
class Lowering:
    """Lowers the expressions of one stretch of a scan.

    Attributes
    ----------
    dictionary_of
        Gives the symbols of the codes of a symbol column.
    bucket_offsets
        Offset of each bucket whose place depends on the date.
    calculated
        Expressions that no instruction does, and the names of their columns; `calculated_types` their types.
    columns
        Names of the columns that the program reads, in its order.
    text_columns
        Symbol columns whose codes the program sees.
    """

    scope: Scope
    dictionary_of: Callable[[str], pl.Series]
    bucket_offsets: Mapping[Node, int] = field(default_factory=dict)
    calculated: dict[Node, str] = field(default_factory=dict)
    calculated_types: dict[str, ColumnType] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    text_columns: dict[str, None] = field(default_factory=dict)
    build: ProgramBuilder = field(default_factory=ProgramBuilder)

    def lower(self, node: Node) -> Lowered:
        """Give the register that holds an expression, calculated beforehand where no instruction does it."""
        if node not in self.calculated:
            try:
                return self._lower(node)
            except NoKernel:
                name = f" {len(self.calculated)}"  # no column of a table begins with a space
                self.calculated_types[name] = _stored_type(type_of(node, self.scope))
                self.calculated[node] = name
        return self._column(self.calculated[node])

    def stored(self, node: Node) -> Lowered:
        """Lower an expression, of the part key the stored codes, in which null is null."""
        if isinstance(node, Column) and node.name == self.scope.schema.part_by:
            return self._column(node.name, stored=True)
        return self.lower(node)

    def condition(self, nodes: Sequence[Node]) -> Register | None:
        """Give the register of conditions that all have to hold, None without any."""
        found: Register | None = None
        for node in nodes:
            truth = self.truth(self.lower(node))
            found = truth if found is None else self.build.and_(found, truth)
        return found

    def truth(self, lowered: Lowered) -> Register:
        """Give a register of bools."""
        if lowered.register.holds == "bool":
            return lowered.register
        return self.build.compare("!=", lowered.register, self.build.int_constant(0))

    def value(self, lowered: Lowered) -> Register:
        """Give a register that keys and aggregates take: bools become ints."""
        return self.build.to_int(lowered.register) if lowered.register.holds == "bool" else lowered.register

    def as_float(self, lowered: Lowered) -> Register:
        """Give a register of floats."""
        if lowered.register.holds == "float":
            return lowered.register
        if lowered.is_ordered:
            raise NoKernel
        return self.build.to_float(self.value(lowered))

    def as_numbers(self, node: Node, lowered: Lowered) -> Lowered:
        """Give the values that numbers stand for: of decimals, which are stored scaled, as floats."""
        dtype = type_of(node, self.scope)
        if not isinstance(dtype, pl.Decimal):
            return lowered
        scale = self.build.float_constant(10.0**dtype.scale)
        return Lowered(self.build.divide(self.build.to_float(lowered.register), scale))

    def where_valid(self, lowered: Lowered, other: Lowered) -> Lowered:
        """Give the values, null also where the other is null: x // 1 where it is there, x // 0 where not."""
        there = self.build.to_int(self.build.is_valid(other.register))
        one = self.build.floor_divide(self.build.int_constant(1), there)
        if lowered.register.holds == "float":
            return Lowered(self.build.multiply(lowered.register, self.build.to_float(one)))
        return Lowered(self.build.multiply(self.value(lowered), one))

    def unsigned(self, node: Node) -> Lowered:
        """Lower what is summed: uint64 as an integer, which the kernel refuses from 2^63."""
        lowered = self.lower(node)
        if not lowered.is_ordered:
            return lowered
        name = self.calculated.get(node) or (node.name if isinstance(node, Column) else None)
        if name is None:
            raise UnsupportedQueryError(f"{text_of(node)} can't be summed")
        return Lowered(self.build.load_int(self._position(name)))

    def _int(self, value: int) -> Lowered:
        if not -_SIGN <= value < _SIGN:
            raise NoKernel
        return Lowered(self.build.int_constant(value))

    def _type(self, name: str) -> ColumnType:
        return self.calculated_types.get(name) or self.scope.type_of(name)

    def _position(self, name: str) -> int:
        return self.columns.setdefault(name, len(self.columns))

    def _column(self, name: str, *, stored: bool = False) -> Lowered:
        if name == self.scope.schema.partition_by:
            return Lowered(self.build.date())
        if name == self.scope.schema.part_by and not stored:
            return Lowered(self.build.symbol())
        kind = self._type(name)
        if not kind.is_computed_as_stored:
            raise NoKernel
        if kind.kind == "symbol":
            self.text_columns[name] = None
        position = self._position(name)
        if kind.kind.startswith("float"):
            return Lowered(self.build.load_float(position))
        if kind.kind == "uint64":
            return Lowered(self.build.load_ordered(position), is_ordered=True)
        return Lowered(self.build.load_int(position))

    def _lower(self, node: Node) -> Lowered:  # noqa: C901, PLR0911 - one case a node
        match node:
            case Column(name):
                return self._column(name)
            case Literal(value):
                return self._literal(value)
            case Binary(op, left, right) if op in COMPARISONS:
                return Lowered(self._comparison(cast("Comparison", op), left, right))
            case Binary("&" | "|" as op, left, right):
                join = self.build.and_ if op == "&" else self.build.or_
                return Lowered(join(self.truth(self.lower(left)), self.truth(self.lower(right))))
            case Binary(op, left, right):
                return self._arithmetic(node, op, left, right)
            case Unary("~", operand):
                if type_of(operand, self.scope) != pl.Boolean():
                    raise NoKernel
                return Lowered(self.build.not_(self.truth(self.lower(operand))))
            case Unary("-", operand):
                return self._negated(node, operand)
            case Unary(op, operand):
                found = self.stored(operand).register
                return Lowered(self.build.is_null(found) if op == "is_null" else self.build.is_valid(found))
            case IsIn(operand, values):
                return Lowered(self._is_in(operand, [value.value for value in values]))
            case Bucket(operand, width, offset):
                return self._bucket(node, operand, width, offset)
            case TimeOfDay(operand, ranges, None):
                return Lowered(self._time_of_day(operand, ranges))
        raise NoKernel

    def _literal(self, value: object) -> Lowered:
        match value:
            case bool():
                return Lowered(self.build.bool_constant(value))
            case int():
                return self._int(value)
            case float():
                return Lowered(self.build.float_constant(value))
            case dt.timedelta() | np.timedelta64():
                return self._int(span_ns(value, what="a span"))
        raise NoKernel

    def _comparison(self, op: Comparison, left: Node, right: Node) -> Register:
        if isinstance(right, Literal) and isinstance(right.value, str):
            return self._text_comparison(op, left, right.value)
        if self._is_text(left) or self._is_text(right):
            raise NoKernel
        if len({self._class_of(left), self._class_of(right)} - {None}) > 1:
            raise NoKernel
        a, b = self._lower(left), self._lower(right)
        if a.is_ordered and isinstance(right, Literal) and isinstance(right.value, int):
            if not 0 <= right.value < 2 * _SIGN:
                raise NoKernel
            b = Lowered(self.build.int_constant(right.value - _SIGN), is_ordered=True)
        if a.is_ordered != b.is_ordered:
            raise NoKernel
        if "float" in (a.register.holds, b.register.holds):
            return self.build.compare(op, self.as_float(a), self.as_float(b))
        return self.build.compare(op, self.value(a), self.value(b))

    def _is_text(self, node: Node) -> bool:
        if isinstance(node, Literal):
            return isinstance(node.value, str)
        return isinstance(node, Column) and self._type(node.name).kind in ("symbol", "string")

    def _class_of(self, node: Node) -> str | None:
        """Tell apart what Polars converts before it compares: numbers, and each kind of time."""
        if isinstance(node, Literal):
            return None if node.type is None else f"{node.type.kind}{node.type.scale or ''}"
        dtype = type_of(node, self.scope)
        if isinstance(dtype, pl.Decimal):
            return f"decimal{dtype.scale or ''}"  # of one scale, whole numbers compare as the decimals do
        if dtype.is_temporal():
            names = {"Date": "date", "Datetime": "timestamp", "Time": "time"}
            return names.get(type(dtype).__name__, "timespan")
        if isinstance(dtype, pl.Boolean):
            return "bool"
        return "char" if isinstance(dtype, pl.String) else "number"

    def _text_comparison(self, op: Comparison, operand: Node, value: str) -> Register:
        if not isinstance(operand, Column):
            raise NoKernel
        kind = self._type(operand.name)
        if kind.kind == "char" and len(value) == 1:
            return self.build.compare(op, self._column(operand.name).register, self._int(ord(value)).register)
        if kind.kind != "symbol":
            raise NoKernel
        codes = self._column(operand.name, stored=True).register
        dictionary = self.dictionary_of(operand.name)
        first, after = (int(dictionary.search_sorted(value, side=side)) for side in ("left", "right"))
        # Codes ascend as symbols do, so a comparison of symbols is one of codes.
        match op:
            case "==" | "!=":
                return self.build.compare(op, codes, self._int(first if first < after else -1).register)
            case "<" | ">=":
                return self.build.compare(op, codes, self._int(first).register)
            case "<=":
                return self.build.compare("<", codes, self._int(after).register)
            case _:
                return self.build.compare(">=", codes, self._int(after).register)

    def _arithmetic(self, node: Node, op: str, left: Node, right: Node) -> Lowered:
        dtype = type_of(node, self.scope)
        is_span = op in ("+", "-") and isinstance(dtype, (pl.Datetime, pl.Duration))
        if is_span:
            is_span = all(self._class_of(side) in (None, "timestamp", "timespan") for side in (left, right))
        if dtype != pl.Float64() and not is_span and (dtype != pl.Int64() or op == "/"):
            raise NoKernel
        a, b = self._operand(left), self._operand(right)
        if dtype == pl.Float64():
            calculate = {
                "+": self.build.add, "-": self.build.subtract,
                "*": self.build.multiply, "/": self.build.divide,
            }[op]  # fmt: skip
            return Lowered(calculate(self.as_float(a), self.as_float(b)))
        if "float" in (a.register.holds, b.register.holds) or a.is_ordered or b.is_ordered:
            raise NoKernel
        calculate = {"+": self.build.add, "-": self.build.subtract, "*": self.build.multiply}[op]
        return Lowered(calculate(self.value(a), self.value(b)))

    def _operand(self, node: Node) -> Lowered:
        if self._is_text(node) or isinstance(type_of(node, self.scope), pl.Decimal):
            raise NoKernel
        return self._lower(node)

    def _negated(self, node: Node, operand: Node) -> Lowered:
        dtype = type_of(node, self.scope)
        lowered = self._operand(operand)
        if dtype not in (pl.Float64(), pl.Int64(), pl.Duration("ns")) or lowered.is_ordered:
            raise NoKernel
        return Lowered(self.build.negate(self.value(lowered)))

    def _is_in(self, operand: Node, values: list[object]) -> Register:
        kind = self._type(operand.name).kind if isinstance(operand, Column) else None
        texts = [value for value in values if isinstance(value, str)]
        if kind == "symbol" and isinstance(operand, Column):
            dictionary = self.dictionary_of(operand.name)
            codes = self._column(operand.name, stored=True).register
            places = dictionary.search_sorted(pl.Series(texts, dtype=pl.String)).to_list()
            known = [
                place
                for place, text in zip(places, texts, strict=True)
                if place < len(dictionary) and dictionary[place] == text
            ]
            return self.build.is_in(codes, known)
        if kind == "char" and all(len(text) == 1 for text in texts) and isinstance(operand, Column):
            return self.build.is_in(self._column(operand.name).register, [ord(text) for text in texts])
        lowered = self._operand(operand)
        whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
        in_range = all(-_SIGN <= value < _SIGN for value in whole)
        if lowered.register.holds != "int" or lowered.is_ordered or len(whole) != len(values) or not in_range:
            raise NoKernel
        return self.build.is_in(lowered.register, whole)

    def _bucket(self, node: Node, operand: Node, width: object, offset: object) -> Lowered:
        dtype = type_of(operand, self.scope)
        if not isinstance(width, int) or not isinstance(offset, int):
            raise NoKernel
        if node in self.bucket_offsets:
            offset = self.bucket_offsets[node]
        elif isinstance(dtype, pl.Datetime) and (dtype.time_zone is not None or DAY_NS % width):
            raise NoKernel
        lowered = self._operand(operand)
        if lowered.register.holds != "int" or lowered.is_ordered:
            raise NoKernel
        return Lowered(self.build.bucket(lowered.register, width=width, offset=offset))

    def _time_of_day(self, operand: Column, ranges: tuple[tuple[int, int], ...]) -> Register:
        constant = self.build.int_constant
        clock = self.build.modulo(self._column(operand.name).register, constant(DAY_NS))
        found = self.build.compare("<", clock, constant(0))
        for low, high in ranges:
            above = self.build.compare(">=", clock, constant(low))
            found = self.build.or_(
                found, self.build.and_(above, self.build.compare("<=", clock, constant(high)))
            )
        return found


def _stored_type(dtype: pl.DataType) -> ColumnType:
    """Give the type of a calculated column."""
    if isinstance(dtype, (pl.Datetime, pl.Duration)):
        return (
            ColumnType("timestamp", dtype.time_zone)
            if isinstance(dtype, pl.Datetime)
            else ColumnType("timespan")
        )
    if isinstance(dtype, (pl.Int128, pl.UInt128)):
        return ColumnType("int64")
    return ColumnType.of_polars(dtype)
