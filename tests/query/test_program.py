"""Programs against a slow, obvious reference: rows one by one, keys as tuples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colonnade import kernels
from colonnade.query.program import Aggregate, ProgramBuilder
from kernel_columns import column, run

MINUTE = 60


def lane_sum(values):
    """Add floats by the rule of sums, without any vector."""
    lanes = [0.0] * 8
    for number, value in enumerate(values):
        lanes[number % 8] += value
    a, b, c, d, e, f, g, h = lanes
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    return math.nan if total != total else total  # noqa: PLR0124 - NaN by its definition


def floats_of(row):
    return row.view(np.float64).tolist()


def bars_program(*, rule="runs", condition=False):
    build = ProgramBuilder()
    time, price, size = build.load_int(0), build.load_float(1), build.load_int(2)
    return build.finish(
        keys=[build.symbol(), build.bucket(time, width=MINUTE)],
        aggregates=[
            Aggregate("len"),
            Aggregate("first", price),
            Aggregate("max", price),
            Aggregate("min", price),
            Aggregate("last", price),
            Aggregate("sum", size),
            Aggregate("sum", build.multiply(price, build.to_float(size))),
        ],
        condition=build.compare(">", size, build.int_constant(3)) if condition else None,
        rule=rule,
    )


def reference_bars(times, prices, sizes, runs, *, least=None):
    rows = []
    for symbol, start, stop in runs:
        groups = {}
        for row in range(start, stop):
            if least is None or sizes[row] > least:
                groups.setdefault(times[row] // MINUTE * MINUTE, []).append(row)
        for minute, members in groups.items():
            p = [prices[row] for row in members]
            s = [sizes[row] for row in members]
            pv = lane_sum([price * float(size) for price, size in zip(p, s, strict=True)])
            rows.append((symbol, minute, len(p), p[0], max(p), min(p), p[-1], sum(s), pv))
    return rows


def rows_of(out):
    plain = [out[word].tolist() for word in (1, 2, 3)]
    plain += [floats_of(out[word]) for word in (4, 5, 6, 7)]
    plain += [out[8].tolist(), floats_of(out[10])]
    return list(zip(*plain, strict=True))


@st.composite
def markets(draw):
    counts = draw(st.lists(st.integers(0, 40), min_size=1, max_size=6))
    counts += draw(st.lists(st.integers(900, 2_500), max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    step = draw(st.sampled_from([1, 5, 30, 400]))
    times, runs, start = [], [], 0
    for symbol, count in enumerate(counts):
        times.append(np.cumsum(rng.integers(0, step + 1, count)) - 1_000)
        runs.append((symbol, start, start + count))
        start += count
    times = np.concatenate(times).astype(np.int64)
    prices = np.round(rng.normal(100, 3, len(times)), 2)
    sizes = rng.integers(0, 12, len(times)).astype(draw(st.sampled_from(["i4", "i8", "u2"])))
    return times, prices, sizes, runs


def pieces_of(runs):
    return [(0, start, stop, symbol, 19_000, 0) for symbol, start, stop in runs]


@settings(max_examples=60, deadline=None)
@given(
    market=markets(),
    rule=st.sampled_from(["runs", "hash"]),
    condition=st.booleans(),
    encoding=st.sampled_from(["plain", "bitpack", "pco", "dict", "runs", "bytes"]),
    codec=st.sampled_from(["none", "lz4"]),
    block_rows=st.sampled_from([512, 4096]),
    capacity=st.sampled_from([1, 2, 7, 10_000]),
    budget=st.sampled_from([1, 2_000, 1 << 22]),
    isa=st.sampled_from(["baseline", "auto"]),
)
def test_bars_are_those_of_the_reference_bit_for_bit(
    market, rule, condition, encoding, codec, block_rows, capacity, budget, isa
):
    times, prices, sizes, runs = market
    parts = [
        [
            column(values, encoding=encoding, codec=codec, block_rows=block_rows)
            for values in (times, prices, sizes)
        ]
    ]
    program = bars_program(rule=rule, condition=condition)
    before = kernels.isa()
    kernels.set_isa(isa)
    try:
        out = run(program, parts, pieces_of(runs), capacity=capacity, budget=budget)
    finally:
        kernels.set_isa(before)
    expected = reference_bars(
        times.tolist(), prices.tolist(), sizes.tolist(), runs, least=3 if condition else None
    )
    assert rows_of(out) == expected
    assert not out[0].any()


def test_empty_pieces_give_no_rows():
    program = bars_program()
    parts = [[column(np.zeros(0, kind)) for kind in ("i8", "f8", "i4")]]
    assert run(program, parts, []).shape == (program.output_words, 0)
    assert run(program, parts, [(0, 0, 0, 1, 2, 0)]).shape == (program.output_words, 0)


@pytest.mark.parametrize(
    "piece",
    [(1, 0, 1, 0, 0, 0), (0, 0, 9, 0, 0, 0), (0, 2, 1, 0, 0, 0), (0, -1, 1, 0, 0, 0), (0, 0, 1, 0, 0, -1)],
)
def test_a_piece_outside_its_part_is_refused(piece):
    parts = [[column(np.arange(3).astype(kind)) for kind in ("i8", "f8", "i4")]]
    with pytest.raises(ValueError, match="out of range"):
        run(bars_program(), parts, [piece])
