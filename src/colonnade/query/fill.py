"""Bars for buckets without a trade: the previous close, a volume of 0, no average price."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.query.expr import Bucket, Column
from colonnade.query.plan import Fill, Groups
from colonnade.query.polars_form import to_instants
from colonnade.query.values import wall_clock
from colonnade.schema import Schema

HIDDEN_DATE: Final = " date"  # the partition of a bar, by which bars are filled


def filled(frame: pl.DataFrame, work: Groups, fill: Fill, schema: Schema) -> pl.DataFrame:
    """Fill the buckets between the bars of a symbol and date; with a session up to its end."""
    keys = [key for key in work.keys if key.name != HIDDEN_DATE]
    time = next(key.name for key in keys if isinstance(key.node, Bucket))
    same = [HIDDEN_DATE, *(key.name for key in keys if isinstance(key.node, Column))]
    shown = frame.drop(HIDDEN_DATE)
    if frame.height == 0:
        return shown
    labels = frame[time].to_physical().to_numpy().astype(np.int64)
    goes_on = np.ones(frame.height - 1, dtype=bool)
    for name in same:
        values = frame[name].to_physical()
        goes_on &= values[1:].eq_missing(values[:-1]).to_numpy()
    gaps = np.ones(frame.height, dtype=np.int64)
    gaps[:-1] = np.where(goes_on, np.maximum((labels[1:] - labels[:-1]) // fill.every, 1), 1)
    if fill.session is not None:
        is_last = np.append(~goes_on, True)
        ends = _session_ends(frame, time, fill.session[1], schema)
        tail = -((labels - ends) // fill.every)  # buckets that begin before the end
        gaps = np.where(is_last, np.maximum(tail, 1), gaps)
    return _repeated(shown, time, labels, gaps, fill.every)


def _session_ends(frame: pl.DataFrame, time: str, stop: int, schema: Schema) -> NDArray[np.int64]:
    """Give the end of the session of each bar, in the unit of its time."""
    dtype = frame.schema[time]
    if not isinstance(dtype, pl.Datetime):
        return np.full(frame.height, stop, dtype=np.int64)
    zone = None if dtype.time_zone is None else schema.zone or dtype.time_zone
    midnight = wall_clock(pl.col(time), zone).dt.truncate("1d")
    ends = midnight + pl.duration(nanoseconds=stop)
    if zone is not None:
        ends = to_instants(ends, zone, pl.lit("latest"))
    return frame.select(ends.to_physical()).to_series().to_numpy()


def _repeated(
    frame: pl.DataFrame, time: str, labels: NDArray[np.int64], times: NDArray[np.int64], every: int
) -> pl.DataFrame:
    rows = np.repeat(np.arange(frame.height), times)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    made = pl.Series(number > 0)
    moved = pl.Series(labels[rows] + number * every).cast(frame.schema[time])
    repeated = frame.select(pl.all().gather(pl.lit(pl.Series(rows))))
    close = pl.when(made).then(pl.col("close"))
    return repeated.with_columns(
        moved.alias(time),
        close.otherwise(pl.col("open")).alias("open"),
        close.otherwise(pl.col("high")).alias("high"),
        close.otherwise(pl.col("low")).alias("low"),
        pl.when(made)
        .then(pl.lit(0).cast(frame.schema["volume"]))
        .otherwise(pl.col("volume"))
        .alias("volume"),
        pl.when(made).then(None).otherwise(pl.col("vwap")).alias("vwap"),
    )
