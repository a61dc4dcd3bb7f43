"""Where buckets begin: at midnight of the table's zone, also on days on which its clock is changed.

A kernel's bucket has one offset. Where it differs from date to date, or within a date, the rows are cut into
segments that each have one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.query.bind import Scope
from colonnade.query.expr import Bucket, Column, Node
from colonnade.query.polars_form import to_instants
from colonnade.query.values import DAY_NS, offset_segments

_LONGEST_SPAN: Final = 400 * DAY_NS


@dataclass(frozen=True, slots=True)
class Segment:
    """Instants ``first`` to ``last``, both included, over which buckets have one offset.

    Attributes
    ----------
    offsets
        Of each bucket, in the order asked.
    utc_offset
        What the zone's clock is ahead of UTC.
    is_second
        Whether the clock was put back at the start, so that what it shows twice is shown here again.
    """

    first: int
    last: int
    offsets: tuple[int, ...]
    utc_offset: int
    is_second: bool


def has_segments(node: Node, scope: Scope) -> bool:
    """Tell whether an expression is a bucket of the sort key whose place depends on the date."""
    schema = scope.schema
    if not isinstance(node, Bucket) or schema.sort_by is None or node.operand != Column(schema.sort_by):
        return False
    kind = schema.columns[schema.sort_by]
    return kind.kind == "timestamp" and (kind.zone is not None or DAY_NS % node.every != 0)


def segments_of(buckets: tuple[Bucket, ...], low: int, high: int, zone: str | None) -> list[Segment]:
    """Cut the instants of a partition where the place of a bucket changes."""
    segments = []
    previous = None
    for first, last, ahead in offset_segments(low, high, zone):
        is_second = previous is not None and ahead < previous
        previous = ahead
        for start, stop in _days(buckets, first, last, ahead):
            offsets = tuple(_offset(bucket, start, ahead) for bucket in buckets)
            segments.append(Segment(start, stop, offsets, ahead, is_second))
    return segments


def _offset(bucket: Bucket, start: int, ahead: int) -> int:
    if DAY_NS % bucket.every == 0 or bucket.every % DAY_NS == 0:
        return int((bucket.offset - ahead) % bucket.every)
    midnight = (start + ahead - bucket.offset) // DAY_NS * DAY_NS
    return int((midnight + bucket.offset - ahead) % bucket.every)


def _days(buckets: tuple[Bucket, ...], first: int, last: int, ahead: int) -> list[tuple[int, int]]:
    """Cut at each midnight where the width of a bucket doesn't divide the day."""
    odd = [bucket for bucket in buckets if DAY_NS % bucket.every and bucket.every % DAY_NS]
    if not odd:
        return [(first, last)]
    starts = {first}
    for bucket in odd:
        shift = bucket.offset - ahead
        midnight = -((shift - first) // DAY_NS) * DAY_NS + shift  # the first after `first`, or at it
        starts.update(range(midnight, last + 1, DAY_NS))
    ordered = sorted(start for start in starts if start >= first)
    return list(zip(ordered, [start - 1 for start in ordered[1:]] + [last], strict=True))


def relabelled(
    labels: NDArray[np.int64], segment: Segment, zone: str, valid: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Give the instants of bucket starts that may lie on the other side of a change of the clock."""
    wall = pl.Series("wall", np.where(valid, labels, 0) + segment.utc_offset).cast(pl.Datetime("ns"))
    fold = pl.lit("latest" if segment.is_second else "earliest")
    instants = wall.to_frame().select(to_instants(pl.col("wall"), zone, fold)).to_series()
    return np.where(valid, instants.to_physical().to_numpy(), labels)
