"""Expressions as plain data: columns, literals, arithmetic, comparisons, buckets, aggregates.

Nodes are frozen, picklable and comparable; `Expr` is the wrapper with operators that users write. Nothing
here knows a table: `bind` gives the nodes their types later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final, NoReturn, cast
from typing import Literal as Choice

import polars as pl

from colonnade.errors import PlanError, UnknownWordError
from colonnade.schema import ColumnType

Arithmetic = Choice["+", "-", "*", "/"]
Comparison = Choice["==", "!=", "<", "<=", ">", ">="]
Logic = Choice["&", "|"]

COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=")
MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
AGGREGATES: Final = ("count", "sum", "mean", "min", "max", "first", "last", "wavg", "len")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table, or the partition column."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A value; after binding, `type` says what a temporal value's integer means."""

    value: Any
    type: ColumnType | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        """Keep 1, 1.0 and True apart, which Python takes for equal; they give expressions of other types."""
        return type(self.value), repr(self.value), self.type


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands and an operator between them."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Unary:
    """An operand under ``-``, ``~``, ``is_null`` or ``is_not_null``."""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class IsIn:
    """Whether the operand equals any of the values."""

    operand: Node
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    """The start of the bucket that the operand lies in: closed left, aligned to midnight or to zero."""

    operand: Node
    every: Any
    offset: Any = None


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """Whether a timestamp's wall clock in `zone` lies in one of the closed ranges of nanoseconds."""

    operand: Column
    ranges: tuple[tuple[int, int], ...]
    zone: str | None


@dataclass(frozen=True, slots=True)
class LastPartitions:
    """The newest `count` partitions of the version that the query reads."""

    count: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function over the rows of a group."""

    function: str
    operand: Node | None = None
    weight: Node | None = None


Node = Column | Literal | Binary | Unary | IsIn | Bucket | TimeOfDay | LastPartitions | Aggregate


@dataclass(frozen=True, slots=True)
class Between:
    """Both ends included; made by `between`."""

    low: Any
    high: Any


def children(node: Node) -> Iterator[Node]:
    """Give the nodes right below one."""
    for entry in fields(node):
        value = getattr(node, entry.name)
        if isinstance(value, Node):
            yield value


def columns_of(*nodes: Node) -> list[str]:
    """Give the names of all columns that nodes read, each once, in the order met."""
    names: dict[str, None] = {}
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Column):
            names[node.name] = None
        waiting += reversed(list(children(node)))
    return list(names)


def text_of(node: Node) -> str:  # noqa: C901, PLR0911 - one case a node
    """Give the form that `explain` prints."""
    match node:
        case Column(name):
            return name
        case Literal(value, kind):
            return _literal_text(value, kind)
        case Binary(op, left, right):
            return f"({text_of(left)} {op} {text_of(right)})"
        case Unary("-" | "~" as op, operand):
            return f"{op}{text_of(operand)}"
        case Unary(op, operand):
            return f"{text_of(operand)}.{op}()"
        case IsIn(operand, values):
            shown = ", ".join(text_of(value) for value in values[:5])
            more = f", … {len(values) - 5} more" if len(values) > 5 else ""  # noqa: PLR2004
            return f"{text_of(operand)} in [{shown}{more}]"
        case Bucket(operand, every, offset):
            return f"{text_of(operand)}.bucket({every!r}{'' if offset is None else f', {offset!r}'})"
        case TimeOfDay(operand, ranges, zone):
            clock = " or ".join(f"{_clock(low)} to {_clock(high)}" for low, high in ranges)
            return f"{operand.name} of day from {clock}{f' in {zone}' if zone else ''}"
        case LastPartitions(count):
            return f"newest {count} partitions"
        case Aggregate(function, operand, weight):
            inner = "" if weight is None else text_of(weight)
            return f"len()" if operand is None else f"{text_of(operand)}.{function}({inner})"  # noqa: F541
    raise PlanError(f"not an expression: {node!r}")


def _literal_text(value: object, kind: ColumnType | None) -> str:
    if kind is None or value is None:
        return repr(value)
    return str(pl.Series([value], dtype=pl.Int64).cast(kind.polars_type)[0])


def _clock(ns: int) -> str:
    seconds, rest = divmod(ns, 1_000_000_000)
    whole = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{whole}.{rest:09}" if rest else whole


# Words of Polars and pandas on columns, and what to write here.
_WORDS: Final = {
    "alias": "name it by keyword: select(new=col(...))",
    "cast": "cast the collected result",
    "over": "group_by(...).agg(...)",
    "std": "table.scan()",
    "var": "table.scan()",
    "median": "table.scan()",
    "quantile": "table.scan()",
    "n_unique": "table.scan()",
    "nunique": "table.scan()",
    "shift": "table.scan()",
    "diff": "table.scan()",
    "rolling": "table.scan()",
    "isin": "is_in",
    "isna": "is_null",
    "isnull": "is_null",
    "notna": "is_not_null",
    "notnull": "is_not_null",
    "between": "is_between",
    "dt": 'bucket, or a comparison with a time such as "09:30"',
    "str": "a comparison with a text, or is_in",
    "floor": "bucket",
    "truncate": "bucket",
    "average": "mean",
    "avg": "mean",
    "size": "cn.len()",
}  # fmt: skip


class Expr:
    """An expression over columns; made by `col`, combined with operators.

    ``== != < <= > >=`` compare, ``+ - * /`` calculate (``/`` always gives floats), ``& | ~`` combine
    conditions. Values may be numbers, texts, dates, times; a text beside a temporal column is read as one.
    """

    __hash__ = None  # type: ignore[assignment] # == makes a condition
    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def __repr__(self) -> str:
        return text_of(self.node)

    def __getattr__(self, word: str) -> NoReturn:
        raise unknown_word("an expression", word, _WORDS)

    def __bool__(self) -> NoReturn:
        raise PlanError("a condition has no truth of its own; combine with & | ~ instead of and, or, not")

    def __reduce__(self) -> tuple[type[Expr], tuple[Node]]:
        return Expr, (self.node,)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return _binary("==", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return _binary("!=", self, other)

    def __lt__(self, other: object) -> Expr:
        return _binary("<", self, other)

    def __le__(self, other: object) -> Expr:
        return _binary("<=", self, other)

    def __gt__(self, other: object) -> Expr:
        return _binary(">", self, other)

    def __ge__(self, other: object) -> Expr:
        return _binary(">=", self, other)

    def __add__(self, other: object) -> Expr:
        return _binary("+", self, other)

    def __radd__(self, other: object) -> Expr:
        return _binary("+", other, self)

    def __sub__(self, other: object) -> Expr:
        return _binary("-", self, other)

    def __rsub__(self, other: object) -> Expr:
        return _binary("-", other, self)

    def __mul__(self, other: object) -> Expr:
        return _binary("*", self, other)

    def __rmul__(self, other: object) -> Expr:
        return _binary("*", other, self)

    def __truediv__(self, other: object) -> Expr:
        return _binary("/", self, other)

    def __rtruediv__(self, other: object) -> Expr:
        return _binary("/", other, self)

    def __and__(self, other: object) -> Expr:
        return _binary("&", self, other)

    def __rand__(self, other: object) -> Expr:
        return _binary("&", other, self)

    def __or__(self, other: object) -> Expr:
        return _binary("|", self, other)

    def __ror__(self, other: object) -> Expr:
        return _binary("|", other, self)

    def __neg__(self) -> Expr:
        return Expr(Unary("-", self.node))

    def __invert__(self) -> Expr:
        return Expr(Unary("~", self.node))

    def is_null(self) -> Expr:
        """Tell which values are null; NaN is a value."""
        return Expr(Unary("is_null", self.node))

    def is_not_null(self) -> Expr:
        """Tell which values are not null."""
        return Expr(Unary("is_not_null", self.node))

    def is_in(self, values: Any) -> Expr:  # noqa: ANN401 - lists, arrays, Series of any library
        """Tell which values equal any of these."""
        return Expr(IsIn(self.node, tuple(_literal(value) for value in listed(values))))

    def is_between(self, low: Any, high: Any) -> Expr:  # noqa: ANN401 - any scalar
        """Tell which values lie between two others, both included."""
        above, below = _binary(">=", self, low), _binary("<=", self, high)
        return _binary("&", above, below)

    def bucket(self, every: Any, offset: Any = None) -> Expr:  # noqa: ANN401 - text, timedelta or number
        """Give the start of the bucket of this width: ``"1m"``, ``"250ms"``, ``"1d"``, or a number.

        Buckets are closed left and start at midnight (of the table's zone), numbers at 0, moved by `offset`.
        """
        return Expr(Bucket(self.node, every, offset))

    def count(self) -> Expr:
        """Count the values that are not null."""
        return Expr(Aggregate("count", self.node))

    def sum(self) -> Expr:
        """Add the values, nulls left out; the sum of nothing is 0, one outside int64 an error."""
        return Expr(Aggregate("sum", self.node))

    def mean(self) -> Expr:
        """Give the mean of the values, nulls left out; of nothing it is null."""
        return Expr(Aggregate("mean", self.node))

    def min(self) -> Expr:
        """Give the smallest value; nulls and NaN are left out."""
        return Expr(Aggregate("min", self.node))

    def max(self) -> Expr:
        """Give the largest value; nulls and NaN are left out."""
        return Expr(Aggregate("max", self.node))

    def first(self) -> Expr:
        """Give the value of the first row, null if it is."""
        return Expr(Aggregate("first", self.node))

    def last(self) -> Expr:
        """Give the value of the last row, null if it is."""
        return Expr(Aggregate("last", self.node))

    def wavg(self, weight: Expr | str) -> Expr:
        """Give the mean weighted by another column, over the rows where both are not null."""
        return Expr(Aggregate("wavg", self.node, as_node(weight)))


def col(name: str) -> Expr:
    """Name a column.

    Examples
    --------
    >>> (col("bid") + col("ask")) / 2
    ((bid + ask) / 2)
    """
    if not isinstance(name, str):
        raise PlanError(f"a column is named by a text, not by {name!r}")
    return Expr(Column(name))


def row_count() -> Expr:
    """Count the rows of each group; exported as ``cn.len``."""
    return Expr(Aggregate("len"))


def between(low: Any, high: Any) -> Between:  # noqa: ANN401 - any scalar
    """Give the condition that a value lies between two others, both included; for `where`."""
    return Between(low, high)


def last(count: int) -> LastPartitions:
    """Give the condition that a partition is one of the newest `count`; for the partition column."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise PlanError(f"last takes a number of partitions from 1, not {count!r}")
    return LastPartitions(count)


def as_node(value: Expr | str) -> Node:
    """Give the node of an expression, or of a column by its name."""
    if isinstance(value, Expr):
        return value.node
    if isinstance(value, str):
        return Column(value)
    raise PlanError(f"expected a column name or an expression, got {value!r}")


def listed(values: Any) -> list[Any]:  # noqa: ANN401 - lists, arrays, Series of any library
    """Give the elements of a list, tuple, set, range, array or Series as Python or NumPy values."""
    if isinstance(values, (list, tuple, range)):
        return list(values)
    if isinstance(values, (set, frozenset)):
        return sorted(values, key=repr)
    convert = getattr(values, "to_list", None) or getattr(values, "tolist", None)
    if convert is None or isinstance(values, (str, bytes)):
        raise PlanError(f"expected a list or Series of values, got {values!r}")
    if getattr(getattr(values, "dtype", None), "kind", "") == "M":
        return list(values)  # datetime64 keeps its nanoseconds
    return cast("list[Any]", convert())


def unknown_word(thing: str, word: str, ours: dict[str, str]) -> AttributeError:
    """Give the error for a word that we lack, naming ours where there is one."""
    hint = f"; here: {ours[word]}" if word in ours else ""
    return UnknownWordError(f"{thing} has no {word!r}{hint}")


def _binary(op: str, left: object, right: object) -> Expr:
    return Expr(Binary(op, _operand(left), _operand(right)))


def _operand(value: object) -> Node:
    if isinstance(value, Expr):
        return value.node
    if isinstance(value, (list, dict, set, Between, LastPartitions)):
        raise PlanError(f"an operator takes a column or one value, not {value!r}; use is_in or is_between")
    return _literal(value)


def _literal(value: object) -> Literal:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise PlanError(
            f"the number {value} is outside 64 bits; write it as a float, such as {float(value)!r}"
        )
    return Literal(value)
