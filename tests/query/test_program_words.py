"""Any int64 array as program, pieces or state gives an error or a result; and the odd sizes."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colonnade import kernels
from colonnade.errors import ColonnadeError, UnsupportedQueryError
from colonnade.query.program import LEAF_ROWS, TABLE_GROUPS, Aggregate, ProgramBuilder
from kernel_columns import column, fold, run

EDGES = [0, 1, -1, 2, 7, 59, 1 << 20, 1 << 40, 2**63 - 1, -(2**63)]


def rich_program(rule="runs"):
    build = ProgramBuilder()
    time, price, size = build.load_int(0), build.load_float(1), build.load_int(2)
    wanted = build.or_(build.is_in(size, [1, 2, 3]), build.not_(build.is_null(price)))
    keys = [build.symbol(), build.date(), build.bucket(time, width=10), size]
    aggregates = [Aggregate("len"), Aggregate("count", price)]
    for kind in ("sum", "min", "max", "first", "last"):
        aggregates += [Aggregate(kind, price), Aggregate(kind, build.floor_divide(time, size))]
    return build.finish(keys=keys, aggregates=aggregates, condition=wanted, rule=rule)


def columns_of(rows):
    rng = np.random.default_rng(rows)
    valid = rng.random(rows) > 0.2
    return [
        column(np.arange(rows)),
        column(rng.normal(size=rows), valid=valid, encoding="bitpack"),
        column(rng.integers(0, 5, rows).astype(np.int32), encoding="bitpack"),
    ]


def attempt(words, pieces, state):
    """Run to the end or to an error that we raise."""
    with contextlib.suppress(ValueError, ColonnadeError):
        _, output_words = kernels.program_sizes(words)
        out = np.zeros((output_words, 7), np.int64)
        for _ in range(50):
            _, done = kernels.run_program(words, [columns_of(1_500)], pieces, state, out, 1_000)
            if done:
                break


@settings(max_examples=300, deadline=None)
@given(words=st.lists(st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1)), max_size=60))
def test_random_words_are_refused_or_run(words):
    attempt(np.array(words, np.int64), np.array([[0, 0, 9, 1, 1, 0]]), np.zeros(4_000, np.int64))


@settings(max_examples=400, deadline=None)
@given(
    rule=st.sampled_from(["runs", "hash"]),
    changes=st.lists(
        st.tuples(st.integers(0, 400), st.one_of(st.sampled_from(EDGES), st.integers(-3, 60))), max_size=3
    ),
    piece_changes=st.lists(st.tuples(st.integers(0, 11), st.sampled_from(EDGES)), max_size=2),
    state_changes=st.lists(st.tuples(st.integers(0, 200_000), st.sampled_from(EDGES)), max_size=4),
    header_changes=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(EDGES)), max_size=2),
)
def test_a_valid_program_with_changed_words_is_refused_or_runs(
    rule, changes, piece_changes, state_changes, header_changes
):
    words = rich_program(rule).words
    state = np.zeros(kernels.program_sizes(words)[0], np.int64)
    for at, value in changes:
        words[at % len(words)] = value
    pieces = np.array([[0, 0, 1_500, 1, 19_000, 0], [0, 3, 1_000, 2, 19_000, LEAF_ROWS - 500]])
    for at, value in piece_changes:
        pieces[at // 6, at % 6] = value
    for at, value in state_changes + header_changes:
        state[at % len(state)] = value
    attempt(words, pieces, state)


@pytest.mark.parametrize("rule", ["runs", "hash"])
def test_a_program_cut_at_every_word_is_refused(rule):
    words = rich_program(rule).words
    for length in range(len(words)):
        with pytest.raises((ValueError, ColonnadeError)):
            kernels.program_sizes(words[:length].copy())


def test_a_program_survives_pickling_and_knows_its_sizes():
    program = rich_program()
    assert pickle.loads(pickle.dumps(program)) == program  # noqa: S301 - our own bytes
    assert kernels.program_sizes(program.words)[1] == program.output_words


def test_a_state_that_is_too_short_is_refused():
    words = rich_program().words
    out = np.zeros((kernels.program_sizes(words)[1], 5), np.int64)
    with pytest.raises(ValueError, match="state"):
        kernels.run_program(
            words, [columns_of(10)], np.zeros((0, 6), np.int64), np.zeros(3, np.int64), out, 1
        )


def test_uint64_above_the_range_of_int64_is_unsupported_in_arithmetic_but_ordered():
    values = np.array([5, 2**64 - 1, 2**63, 7], np.uint64)
    build = ProgramBuilder()
    program = build.finish(aggregates=[Aggregate("sum", build.load_int(0))])
    with pytest.raises(UnsupportedQueryError):
        run(program, [[column(values)]], [(0, 0, 4, -1, 0, 0)])
    assert run(program, [[column(values)]], [(0, 0, 1, -1, 0, 0)])[1, 0] == 5
    build = ProgramBuilder()
    ordered = build.load_ordered(0)
    program = build.finish(aggregates=[Aggregate("min", ordered), Aggregate("max", ordered)])
    out = run(program, [[column(values)]], [(0, 0, 4, -1, 0, 0)])
    found = out[1:3, 0].view(np.uint64) ^ np.uint64(1 << 63)
    assert found.tolist() == [5, 2**64 - 1]


def test_a_hundred_thousand_symbols_of_one_row_each_give_as_many_rows():
    count = 100_000
    build = ProgramBuilder()
    program = build.finish(keys=[build.symbol()], aggregates=[Aggregate("sum", build.load_int(0))])
    rows = np.arange(count)
    pieces = np.stack([rows * 0, rows, rows + 1, rows, rows * 0, rows * 0], axis=1)
    out = run(program, [[column(rows, encoding="bitpack")]], pieces, capacity=999, budget=50_000)
    assert np.array_equal(out[1], rows)
    assert np.array_equal(out[2], rows)


def test_a_hash_table_that_is_full_is_emitted_and_goes_on():
    count = 2 * TABLE_GROUPS + 5
    build = ProgramBuilder()
    key = build.load_int(0)
    program = build.finish(keys=[key], aggregates=[Aggregate("len")], rule="hash")
    values = np.concatenate([np.arange(count), np.arange(count)[::-1]])
    out = run(program, [[column(values)]], [(0, 0, len(values), -1, 0, 0)], capacity=1_000)
    folded = fold(program, out)
    assert np.array_equal(folded[1], np.arange(count))
    assert (folded[2] == 2).all()


def test_sums_do_not_depend_on_task_cuts_at_leaf_ends():
    rng = np.random.default_rng(3)
    rows = LEAF_ROWS + 5_000
    values = rng.normal(size=rows) * 10.0 ** rng.integers(-8, 8, rows)
    build = ProgramBuilder()
    program = build.finish(aggregates=[Aggregate("sum", build.load_float(0))])
    parts = [[column(values, block_rows=65_536)]]
    shift = 100  # the symbol's rows begin inside a vector
    whole = run(program, parts, [(0, shift, rows, 4, 0, 0)])
    cut = np.concatenate(
        [
            run(program, parts, [(0, shift, shift + LEAF_ROWS, 4, 0, 0)], budget=10_000),
            run(program, parts, [(0, shift + LEAF_ROWS, rows, 4, 0, LEAF_ROWS)]),
        ],
        axis=1,
    )
    in_pieces = run(
        program,
        parts,
        [(0, a, b, 4, 0, a - shift) for a, b in [(shift, 5_001), (5_001, 700_000), (700_000, rows)]],
    )
    assert whole.shape == (2, 2)
    assert np.array_equal(whole, cut)
    assert np.array_equal(whole, in_pieces)
    lanes = [np.add.accumulate(values[shift : shift + LEAF_ROWS][lane::8])[-1] for lane in range(8)]
    a, b, c, d, e, f, g, h = lanes
    assert whole[1, 0].view(np.float64) == ((a + b) + (c + d)) + ((e + f) + (g + h))


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    value=st.integers(-50, 450),
    side=st.sampled_from(["left", "right"]),
    encoding=st.sampled_from(["plain", "bitpack", "pco", "dict", "runs", "bytes"]),
    kind=st.sampled_from(["i8", "i4", "u8"]),
)
def test_search_finds_what_numpy_finds(seed, value, side, encoding, kind):
    rng = np.random.default_rng(seed)
    bounds = np.sort(rng.integers(0, 9_000, 4))
    values = np.concatenate([np.sort(rng.integers(0, 400, n)) for n in (bounds[1], 9_000 - bounds[1])])
    made = column(values.astype(kind), encoding=encoding, block_rows=512)
    pieces = [(0, 0, bounds[1]), (0, bounds[1], 9_000), (0, bounds[2], bounds[3]), (0, 5, 5)]
    pieces = [piece for piece in pieces if piece[0] == 0 and (piece[1] >= bounds[1] or piece[2] <= bounds[1])]
    out = np.zeros(len(pieces), np.int64)
    kernels.search_sorted([made], np.array(pieces, np.int64), value, side, out)
    expected = [start + np.searchsorted(values[start:stop], value, side) for _, start, stop in pieces]
    assert out.tolist() == expected
