"""``cn.asof_join``: the rows of a frame, in any order, with the last right rows before them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, overload

import polars as pl

from colonnade.api.query import Query, plan_of
from colonnade.api.table import Table
from colonnade.errors import PlanError
from colonnade.query.asof import dates_of, joined
from colonnade.query.join import frame_join
from colonnade.store.table_source import open_source


@overload
def asof_join(left: pl.DataFrame, right: Table | Query, *, on: str, **options: Any) -> pl.DataFrame: ...  # noqa: ANN401
@overload
def asof_join(left: Table | Query, right: Table | Query, *, on: str, **options: Any) -> Query: ...  # noqa: ANN401
def asof_join(
    left: pl.DataFrame | Table | Query,
    right: Table | Query,
    *,
    on: str,
    by: str | list[str] | tuple[str, ...] | None = None,
    strategy: Literal["backward", "forward", "nearest"] = "backward",
    tolerance: Any = None,
    lookback: Any = None,
    suffix: str = "_right",
    **unknown: Any,
) -> pl.DataFrame | Query:
    """Give each left row the last row of a table at or before it, within the partition date.

    A frame may lie in any order and gives a frame at once; a table or query gives a query. The date of a
    frame's row is its column of the name that the right is partitioned by, or the trading date of its time.

    Parameters
    ----------
    left
        A frame, a table or a query.
    right
        A table or a query over one.
    by, on, strategy, tolerance, lookback, suffix
        See `Query.asof_join`.

    Examples
    --------
    >>> cn.asof_join(orders, db["quote"], by="sym", on="time")  # doctest: +SKIP
    """
    if unknown:
        raise PlanError(
            f"asof_join has no option {next(iter(unknown))!r}; a join is by=, on=, strategy=, tolerance="
        )
    options: dict[str, Any] = {
        "by": by, "on": on, "strategy": strategy,
        "tolerance": tolerance, "lookback": lookback, "suffix": suffix,
    }  # fmt: skip
    if isinstance(left, (Table, Query)):
        return left.asof_join(right, **options)
    if not isinstance(left, pl.DataFrame):
        found = type(left).__name__
        raise PlanError(f"the left side of an as-of join is a frame, a table or a query, not {found}")
    plan = plan_of(right)
    join = frame_join(dict(left.schema), plan, "the left frame", **options)
    source = open_source(Path(plan.path), plan.version)
    return joined(left, dates_of(left, join, source), join, source)
