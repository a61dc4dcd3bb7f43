"""Conditions in three-valued logic, for one row at a time: None is unknown, and selects nothing."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(symbol: str, left: Any, right: Any) -> bool | None:
    """Compare as Polars does: null gives null; NaN equals NaN and is greater than every number."""
    if left is None or right is None:
        return None
    return COMPARISONS[symbol](_total(left), _total(right))


def both(left: bool | None, right: bool | None) -> bool | None:
    """Give left and right: false wins over null."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    """Give left or right: true wins over null."""
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def negated(value: bool | None) -> bool | None:
    """Give not value: null stays null."""
    return None if value is None else not value


def _total(value: Any) -> Any:
    """Place NaN above infinity."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return (0, value)
    return value
