"""One query asked of Colonnade and of Polars: are the answers equal, and how long did each take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

_REPEATS: Final = 5
_TOLERANCE: Final = 1e-12  # relative; for what is summed or divided


@dataclass(frozen=True, slots=True)
class Question:
    """A query in both systems.

    Attributes
    ----------
    title
        What is asked, in words.
    ours, theirs
        Calls that give the answer of Colonnade and of Polars.
    keys
        Columns that both answers are put in order by; none where the order is part of the answer.
    summed
        Columns that hold sums of floats, or come from them; the others are compared bit for bit.
    """

    title: str
    ours: Callable[[], pl.DataFrame]
    theirs: Callable[[], pl.DataFrame]
    keys: tuple[str, ...] = ()
    summed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a question; times are medians, warm."""

    title: str
    row_count: int
    ours_ms: float
    polars_ms: float
    agreement: str

    @property
    def is_equal(self) -> bool:
        """Whether both systems gave the same answer."""
        return not self.agreement.startswith("differ")

    @property
    def speedup(self) -> float:
        """How many times as long Polars took."""
        return self.polars_ms / self.ours_ms


def compare(question: Question) -> Comparison:
    """Ask both, hold the answers against each other, then time both in turn."""
    answer = question.ours()
    agreement = agreement_of(question, answer, question.theirs())
    ours, theirs = [], []
    for _ in range(_REPEATS):
        ours.append(_milliseconds(question.ours))
        theirs.append(_milliseconds(question.theirs))
    return Comparison(
        question.title, answer.height, statistics.median(ours), statistics.median(theirs), agreement
    )


def agreement_of(question: Question, ours: pl.DataFrame, theirs: pl.DataFrame) -> str:
    """Say whether two answers are equal, and by which measure; or name what differs."""
    if ours.height != theirs.height:
        return f"differ: {ours.height:,} rows, Polars has {theirs.height:,}"
    names = theirs.columns
    ours, theirs = (_comparable(frame.select(names), question.keys) for frame in (ours, theirs))
    for name in names:
        if name in question.summed:
            equal = _near(ours[name], theirs[name])
        else:
            equal = ours[name].cast(theirs[name].dtype).equals(theirs[name], null_equal=True)
        if not equal:
            return f"differ: column {name}"
    if question.summed:
        return f"equal, {' and '.join(question.summed)} to 1e-12"
    return "equal, bit for bit"


def _comparable(frame: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    text = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    return text.sort(keys, maintain_order=True) if keys else text


def _near(ours: pl.Series, theirs: pl.Series) -> bool:
    """Whether floats agree to the tolerance; nulls and NaN must lie in the same rows."""
    same = ours.eq_missing(theirs)
    distance = (ours - theirs).abs() <= _TOLERANCE * theirs.abs()
    return bool((same | distance.fill_null(value=False)).all())


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3
