"""What a query asks, as plain data: made before any byte is read, picklable, printable, comparable.

A `Plan` names its table by path and version, so that another process can open the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice

from colonnade.query.expr import Node, text_of
from colonnade.schema import Schema

Strategy = Choice["backward", "forward", "nearest"]


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result: its name, and how it is calculated."""

    name: str
    node: Node

    def __str__(self) -> str:
        text = text_of(self.node)
        return text if text == self.name else f"{self.name}={text}"


@dataclass(frozen=True, slots=True)
class Fill:
    """Bars for buckets without a trade: the previous close, and a volume of 0.

    Attributes
    ----------
    every, offset
        Width and shift of the buckets in nanoseconds.
    session
        Start and end of the session in nanoseconds of the day, half-open; filled to its end. Without one,
        bars are filled to a symbol's last bar of the date.
    """

    every: int
    offset: int
    session: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Groups:
    """Aggregates of the rows that are equal in all keys; ascending by the keys."""

    keys: tuple[Output, ...]
    aggregates: tuple[Output, ...]
    fill: Fill | None = None


@dataclass(frozen=True, slots=True)
class AsofJoin:
    """Each row with the last right row at or before it (or as `strategy` says), inside the partition date.

    Attributes
    ----------
    right
        What the right side reads; its outputs name the columns that are joined.
    tolerance
        Largest distance in the units of `on`, None for any.
    lookback_days
        How many calendar days before the row's date are read for rows that found nothing.
    """

    right: Plan
    by: tuple[str, ...]
    on: str
    strategy: Strategy
    tolerance: int | None
    lookback_days: int
    suffix: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in logical order, then joined, then calculated with once more."""

    outputs: tuple[Output, ...]
    join: AsofJoin | None = None
    conditions: tuple[Node, ...] = ()
    final: tuple[Output, ...] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A query over one version of a table."""

    table: str
    path: str
    version: int
    schema: Schema
    conditions: tuple[Node, ...]
    work: Rows | Groups
