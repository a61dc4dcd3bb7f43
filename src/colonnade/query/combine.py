"""Partial rows of all tasks to one frame: ordered by keys, added one by one in the order of the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.kernels import fold_groups
from colonnade.query.aggregates import FLOAT, Value, Words, decoded, finished
from colonnade.query.fill import filled
from colonnade.query.general import Layout, Partial, joined
from colonnade.query.plan import Groups, Plan
from colonnade.query.program import Aggregate, ProgramBuilder, Register

_LOWEST: Final = np.int64(-(1 << 63))
_HIGHEST: Final = np.int64((1 << 63) - 1)
_WIDEST: Final = 1 << 62  # of a key made of several


def combine_groups(plan: Plan, work: Groups, partials: Sequence[Partial]) -> pl.DataFrame:
    """Make the frame of a grouped plan from the partial rows of its tasks, in their order."""
    partials = [partial for partial in partials if len(partial.words[0])] or partials[:1]
    if _are_finished(partials):
        shown = _with_categories(partials)
        frame = pl.concat([pl.DataFrame(_columns(partial, partial.words)) for partial in shown])
    else:
        partial = joined(partials)
        words = _folded(partial.layout, partial.words)
        if not partial.layout.keys and not len(words[0]):
            words = _of_nothing(words)
        frame = pl.DataFrame(_columns(partial, words))
    return frame if work.fill is None else filled(frame, work, work.fill, plan.schema)


def _with_categories(partials: Sequence[Partial]) -> list[Partial]:
    """Make Polars' categories once of each list of symbols that partials share."""
    made: dict[int, pl.Series] = {}
    for partial in partials:
        for symbols in partial.symbols:
            if symbols is not None and id(symbols) not in made:
                made[id(symbols)] = symbols.cast(pl.Categorical)
    return [
        replace(partial, symbols=tuple(None if of is None else made[id(of)] for of in partial.symbols))
        for partial in partials
    ]


def _are_finished(partials: Sequence[Partial]) -> bool:
    """Tell whether each partial row is a group of its own and all stand in order: nothing is to add."""
    if not len(partials[0].words[0]) or not partials[0].layout.keys:
        return False
    for before, after in pairwise(partials):
        if not _row_key(before, len(before.words[0]) - 1) < _row_key(after, 0):
            return False
    for partial in partials:
        keys = [_ordered(partial.words, number, key) for number, key in enumerate(partial.layout.keys)]
        is_sorted, fresh = _compared(keys, len(partial.words[0]))
        if not (is_sorted and fresh.all()):
            return False
    return True


def _row_key(partial: Partial, row: int) -> list[tuple[bool, int | bytes]]:
    """Give the keys of one partial row, comparable between partials: symbols by their bytes, null last."""
    found: list[tuple[bool, int | bytes]] = []
    words = [word[row : row + 1] for word in partial.words]
    for number, (key, symbols) in enumerate(zip(partial.layout.keys, partial.symbols, strict=False)):
        value: int | bytes = int(_ordered(words, number, key)[0])
        is_null = bool(words[0][0] >> number & 1)
        if symbols is not None:
            text = None if is_null or not len(symbols) else symbols[value]
            is_null, value = text is None, b"" if text is None else str(text).encode()
        found.append((is_null, value))
    return found


def _folded(layout: Layout, words: Words) -> Words:
    """Bring rows into the order of keys, and make one of each group's."""
    count = len(words[0])
    if count < 2:  # noqa: PLR2004 - nothing to order
        return words
    keys = [_ordered(words, number, key) for number, key in enumerate(layout.keys)]
    order, starts = _order_of(keys, count)
    if len(starts) == count:
        return words if order is None else [word[order] for word in words]
    rows = np.ascontiguousarray(np.stack(words))
    out = np.empty((len(words), len(starts)), dtype=np.int64)
    fold_groups(_fold_program(layout), starts, order, rows, out)
    return list(out)


def _ordered(words: Words, number: int, key: Value) -> NDArray[np.int64]:
    """Give a key as integers in its order; null comes last."""
    word = words[1 + number]
    if key.values == FLOAT:
        bits = np.where(np.isnan(word.view(np.float64)), np.int64(0x7FF8 << 48), word)
        word = np.where(bits < 0, ~bits ^ _LOWEST, bits)
    if not words[0].any():
        return word
    null = (words[0] >> number) & 1
    return np.where(null == 1, _HIGHEST, word)


def _order_of(
    keys: list[NDArray[np.int64]], count: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """Give a stable order by keys, None where rows lie so, and the positions at which groups begin."""
    is_sorted, fresh = _compared(keys, count)
    order = None
    if not is_sorted:
        order = _sorted_order(keys)
        _, fresh = _compared([key[order] for key in keys], count)
    return order, np.flatnonzero(np.append(True, fresh)).astype(np.int64)


def _compared(keys: list[NDArray[np.int64]], count: int) -> tuple[bool, NDArray[np.bool_]]:
    equal = np.ones(count - 1, dtype=bool)
    falls = np.zeros(count - 1, dtype=bool)
    for key in keys:
        falls |= equal & (key[:-1] > key[1:])
        equal &= key[:-1] == key[1:]
    return not falls.any(), ~equal


def _sorted_order(keys: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    lows = [int(key.min()) for key in keys]
    widths = [int(key.max()) - low + 1 for key, low in zip(keys, lows, strict=True)]
    if np.prod([float(width) for width in widths]) >= _WIDEST:
        return np.lexsort(keys[::-1]).astype(np.int64)
    whole = np.zeros(len(keys[0]), dtype=np.int64)
    for key, low, width in zip(keys, lows, widths, strict=True):
        whole = whole * width + (key - low)
    return np.argsort(whole, kind="stable").astype(np.int64)  # quick on the sorted runs that tasks give


def _fold_program(layout: Layout) -> NDArray[np.int64]:
    """Give a program whose output has the layout's words."""
    build = ProgramBuilder()
    whole, real = build.load_int(0), build.load_float(1)

    def register(values: str) -> Register:
        return real if values == FLOAT else whole

    return build.finish(
        keys=[register(key.values) for key in layout.keys],
        aggregates=[
            Aggregate(slot.kind, None if slot.kind == "len" else register(slot.values))
            for slots in layout.slots
            for slot in slots
        ],
    ).words


def _of_nothing(words: Words) -> Words:
    """Give the one row of a query without keys and without rows: sums and counts 0, all else null."""
    return [np.full(1, -1 if number == 0 else 0, dtype=np.int64) for number in range(len(words))]


def _columns(partial: Partial, words: Words) -> list[pl.Series]:
    layout, nulls = partial.layout, words[0]
    some = int(np.bitwise_or.reduce(nulls)) if len(nulls) else 0
    none = np.zeros(len(nulls), dtype=bool)

    def missing(bit: int) -> NDArray[np.bool_]:
        return (nulls >> bit) & 1 == 1 if some >> bit & 1 else none

    columns = [
        decoded(key, words[1 + number], missing(number), partial.symbols[number])
        for number, key in enumerate(layout.keys)
    ]
    bit = len(layout.keys)
    word = bit + 1
    for number, (value, slots) in enumerate(zip(layout.aggregates, layout.slots, strict=True)):
        width = sum(slot.words for slot in slots)
        symbols = partial.symbols[len(layout.keys) + number]
        columns.append(finished(value, words[word : word + width], missing(bit), symbols))
        word += width
        bit += len(slots)
    return columns
