"""Column types, keys and roles of a table.

A `Schema` is what the first ingest decides and every version of a table carries.  This module knows how a
type is held in memory and which Polars type it comes back as; it knows nothing of files.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import polars as pl

from colonnade.errors import ColumnNotFoundError, ColumnTypeError, SchemaError

# kind: (NumPy type of a stored value, Polars type of a result). `string` and `list` have no fixed width; the
# Polars types of timestamps, decimals and lists depend on more than the kind.
_KINDS: Final[dict[str, tuple[str | None, pl.DataType]]] = {
    "bool": ("u1", pl.Boolean()),
    "int8": ("i1", pl.Int8()),
    "int16": ("i2", pl.Int16()),
    "int32": ("i4", pl.Int32()),
    "int64": ("i8", pl.Int64()),
    "uint8": ("u1", pl.UInt8()),
    "uint16": ("u2", pl.UInt16()),
    "uint32": ("u4", pl.UInt32()),
    "uint64": ("u8", pl.UInt64()),
    "float32": ("f4", pl.Float32()),
    "float64": ("f8", pl.Float64()),
    "decimal": ("i8", pl.Decimal()),
    "char": ("u1", pl.String()),
    "symbol": ("u4", pl.Categorical()),
    "string": (None, pl.String()),
    "guid": ("V16", pl.String()),
    "date": ("i4", pl.Date()),
    "month": ("i4", pl.Date()),
    "timestamp": ("i8", pl.Datetime("ns")),
    "time": ("i8", pl.Time()),
    "minute": ("i4", pl.Time()),
    "second": ("i4", pl.Time()),
    "timespan": ("i8", pl.Duration("ns")),
    "list": (None, pl.List(pl.Null)),
}

_READ_AS: Final = {"month": "date", "minute": "time", "second": "time"}
_NO_ITEMS: Final = ("symbol", "char", "decimal", "guid", "month", "minute", "second", "list")
DECIMAL_DIGITS: Final = 18  # that any int64 holds

SYMBOL_NULL: Final = 0xFFFF_FFFF  # the code of a null symbol
CHAR_NULL: Final = 0  # the byte of a null char
CHARS: Final = tuple(chr(byte) for byte in range(256))  # chars are Latin-1: one byte each, all 256 of them
ROLES: Final = (
    "symbol", "time", "price", "size", "bid", "ask", "bid_size", "ask_size", "exchange",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of a column: a kind; with it a zone (timestamps), a scale (decimals), the items' type (lists).

    Examples
    --------
    >>> ColumnType.parse("timestamp[America/New_York]").zone
    'America/New_York'
    >>> str(ColumnType("float64"))
    'float64'
    >>> ColumnType.parse("decimal[4]").scale
    4
    >>> ColumnType.parse("list[float64]").item
    ColumnType(kind='float64', zone=None, scale=None, item=None)
    """

    kind: str
    zone: str | None = None
    scale: int | None = None
    item: ColumnType | None = None

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ColumnTypeError(f"unknown column type {self.kind!r}; there are {', '.join(_KINDS)}")
        if (self.kind == "decimal") != (self.scale is not None):
            raise ColumnTypeError(
                f"a decimal has a scale, and nothing else has: 'decimal[2]', not {self.kind!r}"
            )
        if self.scale is not None and not 0 <= self.scale <= DECIMAL_DIGITS:
            raise ColumnTypeError(f"the scale of a decimal is {self.scale}; expected 0 to {DECIMAL_DIGITS}")
        if (self.kind == "list") != (self.item is not None):
            raise ColumnTypeError(f"a list says what it holds: 'list[float64]', not {self.kind!r}")
        if self.item is not None and self.item.kind in _NO_ITEMS:
            raise ColumnTypeError(f"lists of {self.item.kind} can't be stored; cast the items, as to string")
        if self.zone is not None:
            if self.kind != "timestamp":
                raise ColumnTypeError(f"only a timestamp has a zone, not {self.kind!r}")
            zone_info(self.zone)

    @classmethod
    def parse(cls, text: str) -> ColumnType:
        """Read the text form: ``kind``, ``timestamp[zone]``, ``decimal[scale]`` or ``list[type]``."""
        match = re.fullmatch(r"(\w+)(?:\[(.+)\])?", text.strip())
        if match is None:
            raise ColumnTypeError(f"can't read column type {text!r}; expected a kind such as 'float64'")
        kind, inner = match[1], match[2]
        if kind == "decimal" and inner is not None and inner.isdecimal():
            return cls(kind, scale=int(inner))
        if kind == "list" and inner is not None:
            return cls(kind, item=cls.parse(inner))
        return cls(kind, inner)

    @classmethod
    def of_polars(cls, dtype: pl.DataType) -> ColumnType:
        """Give the type that a Polars column is stored as by default.

        Text becomes ``symbol``; a type that has no place raises `ColumnTypeError`.
        """
        if isinstance(dtype, pl.Datetime):
            return cls("timestamp", dtype.time_zone)
        if isinstance(dtype, pl.Duration):
            return cls("timespan")
        if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
            return cls("symbol")
        if isinstance(dtype, pl.Decimal):
            return cls("decimal", scale=dtype.scale)
        if isinstance(dtype, (pl.List, pl.Array)):
            item = cls.of_polars(dtype.inner)  # type: ignore[arg-type] # a type of its own, not a class
            return cls("list", item=cls("string") if item.kind == "symbol" else item)
        for kind, (_, polars_type) in _KINDS.items():
            if polars_type == dtype:
                return cls(kind)
        raise ColumnTypeError(f"no column type holds Polars' {dtype}; cast it, or drop the column")

    def __str__(self) -> str:
        inner = [part for part in (self.zone, self.scale, self.item) if part is not None]
        return f"{self.kind}[{inner[0]}]" if inner else self.kind

    @property
    def numpy_type(self) -> np.dtype[np.generic]:
        """The type of one stored value: codes for symbols, bytes for chars and bools, 16 bytes for guids."""
        name = _KINDS[self.kind][0]
        if name is None:
            raise ColumnTypeError(f"values of type {self.kind!r} have no fixed width")
        return np.dtype(name)

    @property
    def has_fixed_width(self) -> bool:
        """Whether every value takes the same number of bytes."""
        return _KINDS[self.kind][0] is not None

    @property
    def null_code(self) -> int | None:
        """The stored value that means null, where a type has one instead of a validity bitmap."""
        return {"symbol": SYMBOL_NULL, "char": CHAR_NULL}.get(self.kind)

    @property
    def is_opaque(self) -> bool:
        """Whether values are bytes that no encoding knows, only codecs: guids and lists."""
        return self.kind in ("guid", "list")

    @property
    def polars_type(self) -> pl.DataType:
        """The Polars type that the column comes back as."""
        if self.kind == "timestamp":
            return pl.Datetime("ns", self.zone)
        if self.scale is not None:
            return pl.Decimal(DECIMAL_DIGITS, self.scale)
        return _KINDS[self.kind][1] if self.item is None else pl.List(self.item.polars_type)

    @property
    def read_as(self) -> ColumnType:
        """The type that queries see: date of a month, time of day of a minute or second, else the same."""
        return ColumnType(_READ_AS[self.kind]) if self.kind in _READ_AS else self

    @property
    def is_computed_as_stored(self) -> bool:
        """Whether kernels compute with the stored values; other types are decoded for Polars first."""
        return self.has_fixed_width and not self.is_opaque and self.kind not in _READ_AS

    @property
    def is_temporal(self) -> bool:
        """Whether values are points or spans of time."""
        return self.kind in ("date", "month", "timestamp", "time", "minute", "second", "timespan")

    @property
    def is_numeric(self) -> bool:
        """Whether values are integers or floats."""
        return self.kind.startswith(("int", "uint", "float"))


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns, keys and roles of a table.

    Attributes
    ----------
    columns
        Name to type, in the order in which results show them. The partition column is virtual and not here
        unless rows carry it.
    part_by
        Symbol column whose equal values lie next to each other in a part, or None.
    sort_by
        Column that ascends within a symbol, or within a part where ``part_by`` is None; None keeps the
        order of arrival.
    partition_by
        Name of the partition column; results and conditions know it. Its values are dates.
    date_column
        Timestamp or date column that the partition is computed from; None where the date is given.
    zone
        Zone in which trading dates and times of day are meant, or None for wall clock as given.
    day_start_ns
        Start of the trading day as nanoseconds of the day before, 0 for midnight: at "18:00" a row of
        Sunday 18:30 belongs to Monday.
    roles
        Role to column name; see `ROLES`.
    stored
        Column to the name under which parts keep it, where that is another one: a column keeps its stored
        name when it is renamed, and a name that was in use before isn't used for another column.
    retired
        Stored names of columns that were dropped; parts may still have them.
    """

    columns: Mapping[str, ColumnType]
    part_by: str | None = None
    sort_by: str | None = None
    partition_by: str = "date"
    date_column: str | None = None
    zone: str | None = None
    day_start_ns: int = 0
    roles: Mapping[str, str] = field(default_factory=dict)
    stored: Mapping[str, str] = field(default_factory=dict)
    retired: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("a table needs at least one column")
        self._check_stored_names()
        for name in (self.part_by, self.sort_by, self.date_column, *self.roles.values()):
            if name is not None:
                self.column(name)
        for role in self.roles:
            if role not in ROLES:
                raise SchemaError(f"unknown role {role!r}; there are {', '.join(ROLES)}")
        if self.part_by is not None and self.columns[self.part_by].kind != "symbol":
            found = self.columns[self.part_by]
            raise ColumnTypeError(f"part_by column {self.part_by!r} has type {found}; expected symbol")
        if self.sort_by is not None:
            found = self.columns[self.sort_by]
            ascends = found.is_temporal and found.read_as == found
            if not ascends and not found.kind.startswith(("int", "uint")):
                expected = "date, timestamp, time, timespan or an integer"
                raise ColumnTypeError(
                    f"sort_by column {self.sort_by!r} has type {found}; expected {expected}"
                )
        if self.zone is not None:
            zone_info(self.zone)

    def _check_stored_names(self) -> None:
        names = [*map(self.stored_name, self.columns), *self.retired]
        if len(set(names)) < len(names):
            raise SchemaError("two columns of a table have one stored name")

    def column(self, name: str, *, where: str = "the table") -> ColumnType:
        """Give the type of a column; raise `ColumnNotFoundError` with what there is."""
        try:
            return self.columns[name]
        except KeyError:
            raise ColumnNotFoundError(name, self.columns, where=where) from None

    def stored_name(self, name: str) -> str:
        """Give the name under which parts keep a column."""
        return self.stored.get(name, name)

    def role(self, role: str, *, where: str = "the table") -> str:
        """Give the column that plays a role; raise `SchemaError` with the way out where none does."""
        try:
            return self.roles[role]
        except KeyError:
            hint = f"set it with roles={{{role!r}: COLUMN}} or --role {role}=COLUMN at ingest"
            raise SchemaError(f"no column of {where} has the role {role!r}; {hint}") from None


def zone_info(name: str) -> ZoneInfo:
    """Give a time zone by its IANA name; raise `SchemaError` where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        reason = f"unknown time zone {name!r}; expected an IANA name such as 'America/New_York'"
        raise SchemaError(reason) from None


def date_to_days(date: dt.date) -> int:
    """Give days since 1970-01-01, negative before."""
    return date.toordinal() - 719_163


def days_to_date(days: int) -> dt.date:
    """Give the date that lies ``days`` after 1970-01-01."""
    return dt.date.fromordinal(days + 719_163)
