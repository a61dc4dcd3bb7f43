"""What users write of an as-of join, as part of a plan; and the columns that its result has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, get_args

import polars as pl

from colonnade.errors import ColumnNotFoundError, ColumnTypeError, PlanError
from colonnade.query.bind import Scope, type_of
from colonnade.query.build import span_in_units
from colonnade.query.plan import AsofJoin, Output, Plan, Rows, Strategy
from colonnade.query.values import DAY_NS, span_ns
from colonnade.schema import ColumnType, Schema

_STRATEGIES: Final = get_args(Strategy)


def join_of(
    scope: Scope,
    outputs: Sequence[Output],
    right: Plan,
    *,
    by: str | Sequence[str] | None,
    on: str,
    strategy: str,
    tolerance: Any,  # noqa: ANN401 - text, timedelta or number
    lookback: Any,  # noqa: ANN401 - text or timedelta
    suffix: str,
) -> AsofJoin:
    """Check and bind an as-of join of the outputs of a query."""
    types = {output.name: type_of(output.node, scope) for output in outputs}
    return frame_join(
        types, right, f"the columns of {scope.table!r} in this query",
        by=by, on=on, strategy=strategy, tolerance=tolerance, lookback=lookback, suffix=suffix,
    )  # fmt: skip


def frame_join(  # noqa: C901 - one check after the other
    left: dict[str, pl.DataType],
    right: Plan,
    where: str,
    *,
    by: str | Sequence[str] | None,
    on: str,
    strategy: str,
    tolerance: Any,  # noqa: ANN401
    lookback: Any,  # noqa: ANN401
    suffix: str,
) -> AsofJoin:
    """Check and bind an as-of join of columns of these types."""
    keys = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    if not isinstance(right.work, Rows) or right.work.join is not None:
        raise PlanError(
            "the right side of an as-of join is rows of a table: a table, or a query with where and select"
        )
    if strategy not in _STRATEGIES:
        raise PlanError(f"strategy is {strategy!r}; expected one of {', '.join(map(repr, _STRATEGIES))}")
    theirs = Scope(right.table, right.schema)
    for name in (*keys, on):
        if name not in left:
            raise ColumnNotFoundError(name, left, where=where)
        theirs.type_of(name)
    if len(set(keys)) < len(keys):
        raise PlanError(f"by names a column twice: {list(keys)}")
    if on in keys:
        raise PlanError(f"{on!r} is both in by and on")
    _check_keys(left, theirs, keys, on)
    days = 0
    if lookback is not None:
        if strategy == "forward":
            raise PlanError("lookback reads earlier dates, in which a forward join finds nothing")
        days, rest = divmod(span_ns(lookback, what="lookback"), DAY_NS)
        if rest or days < 0:
            raise PlanError(f"lookback is {lookback!r}; expected whole days such as '5d'")
    distance = None
    if tolerance is not None:
        distance = span_in_units(tolerance, theirs.type_of(on).polars_type, what="tolerance")
    join = AsofJoin(right, keys, on, strategy, distance, days, suffix)  # type: ignore[arg-type] # checked above
    names = [*left, *(name for _, name in payload_names(join, left))]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlanError(f"the joined rows would have two columns named {twice!r}; choose another suffix")
    return join


def _check_keys(left: dict[str, pl.DataType], theirs: Scope, keys: Sequence[str], on: str) -> None:
    kind = theirs.type_of(on)
    if not ((kind.is_temporal and kind.read_as == kind) or kind.kind.startswith(("int", "uint"))):
        raise ColumnTypeError(
            f"an as-of join is on a time or an integer, but {on!r} of {theirs.table!r} is {kind}"
        )
    for name in (*keys, on):
        mine, other = left[name], theirs.type_of(name).polars_type
        if family(mine) != family(other):
            raise ColumnTypeError(f"column {name!r} is {mine} on the left and {other} on the right; cast one")


def family(dtype: pl.DataType) -> str:
    """Tell types apart that can't be compared in a join."""
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "text"
    if isinstance(dtype, pl.Datetime):
        return "instant" if dtype.time_zone else "wall clock"
    if dtype.is_integer():
        return "integer"
    return type(dtype).__name__


def payload_names(join: AsofJoin, left: Sequence[str] | dict[str, Any]) -> list[tuple[Output, str]]:
    """Give the right outputs that are joined, and their names in the result."""
    assert isinstance(join.right.work, Rows)  # noqa: S101 - checked when the join was built
    keys = {*join.by, join.on, join.right.schema.partition_by}
    joined = [output for output in join.right.work.outputs if output.name not in keys]
    return [
        (output, f"{output.name}{join.suffix}" if output.name in left else output.name) for output in joined
    ]


def output_scope(plan: Plan) -> Scope:
    """Give the columns of joined rows, for conditions and expressions on them."""
    work = plan.work
    assert isinstance(work, Rows)  # noqa: S101 - only rows are joined
    scope = Scope(plan.table, plan.schema)
    types = {output.name: type_of(output.node, scope) for output in work.outputs}
    if work.join is not None:
        theirs = Scope(work.join.right.table, work.join.right.schema)
        payload = {name: type_of(output.node, theirs) for output, name in payload_names(work.join, types)}
        types |= payload
    columns = {name: ColumnType.of_polars(dtype) for name, dtype in types.items()}
    schema = Schema(columns, partition_by=plan.schema.partition_by, zone=plan.schema.zone)
    return Scope(plan.table, schema, has_partition=False)
