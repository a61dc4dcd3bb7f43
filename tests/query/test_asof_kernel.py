"""As-of rows against the reference that looks at every pair of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colonnade import kernels
from colonnade.errors import UnsortedError
from kernel_columns import column
from reference.asof import asof_rows as reference_rows

STRATEGIES = ["backward", "forward", "nearest"]


def join(left, right, pairs, *, strategy, tolerance=None, by=None, budget=1 << 22):
    left_by, right_by, codes = by or ([], [], 0)
    pairs = np.array(pairs, np.int64).reshape(-1, 7)
    out = np.full(int((pairs[:, 2] - pairs[:, 1]).sum()), -9, np.int64)
    state = np.zeros(kernels.asof_state_words(codes), np.int64)
    tolerance = -1 if tolerance is None else tolerance
    number = STRATEGIES.index(strategy)
    while not kernels.asof_rows(
        left, right, left_by, right_by, codes, pairs, number, tolerance, state, out, budget
    ):
        pass
    return out.tolist()


def with_nulls(draw, times):
    if not draw(st.booleans()):
        return times, None
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return times, rng.random(len(times)) > 0.2


@st.composite
def sides(draw, *, most=60):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = [draw(st.integers(0, most)), draw(st.one_of(st.integers(0, most), st.just(3_000)))]
    spread = draw(st.sampled_from([3, 40, 100_000]))
    left, right = (np.sort(rng.integers(-spread, spread, size)).astype(np.int64) for size in sizes)
    return left, right, rng


@settings(max_examples=120, deadline=None)
@given(
    times=sides(),
    strategy=st.sampled_from(STRATEGIES),
    tolerance=st.sampled_from([None, 0, 2, 50]),
    encoding=st.sampled_from(["plain", "bitpack", "pco", "dict", "runs", "bytes"]),
    budget=st.sampled_from([1, 10, 1 << 22]),
)
def test_join_by_time_is_that_of_the_reference(times, strategy, tolerance, encoding, budget):
    left, right, _ = times
    found = join(
        [column(left, encoding=encoding)],
        [column(right, encoding=encoding)],
        [(0, 0, len(left), 0, 0, len(right), 0)],
        strategy=strategy,
        tolerance=tolerance,
        budget=budget,
    )
    expected = reference_rows(left.tolist(), right.tolist(), strategy=strategy, tolerance=tolerance)
    assert found == expected


@settings(max_examples=120, deadline=None)
@given(
    times=sides(),
    strategy=st.sampled_from(STRATEGIES),
    tolerance=st.sampled_from([None, 0, 2, 50]),
    codes=st.sampled_from([0, 1, 4]),
    nulls=st.booleans(),
    budget=st.sampled_from([1, 10, 1 << 22]),
)
def test_join_by_codes_and_with_nulls_is_that_of_the_reference(
    times, strategy, tolerance, codes, nulls, budget
):
    left, right, rng = times
    valid = [rng.random(len(side)) > 0.25 if nulls else None for side in (left, right)]
    keys = [rng.integers(0, max(codes, 1), len(side)).astype(np.uint32) for side in (left, right)]
    keys_null = [rng.random(len(side)) > 0.9 for side in (left, right)]
    listed = []
    for key, null in zip(keys, keys_null, strict=True):
        key[null] = 99
        listed.append([None if code == 99 else int(code) for code in key])
    by = ([column(keys[0], null_code=99)], [column(keys[1], null_code=99)], codes) if codes else None
    found = join(
        [column(left, valid=valid[0])],
        [column(right, valid=valid[1])],
        [(0, 0, len(left), 0, 0, len(right), 0)],
        strategy=strategy,
        tolerance=tolerance,
        by=by,
        budget=budget,
    )
    expected = reference_rows(
        _with_none(left, valid[0]),
        _with_none(right, valid[1]),
        left_keys=listed[0] if codes else None,
        right_keys=listed[1] if codes else None,
        strategy=strategy,
        tolerance=tolerance,
    )
    assert found == expected


def _with_none(times, valid):
    if valid is None:
        return times.tolist()
    return [time if present else None for time, present in zip(times.tolist(), valid, strict=True)]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("encoding", ["plain", "bitpack"])
def test_pairs_are_joined_apart_and_rows_counted_within_their_part(strategy, encoding):
    rng = np.random.default_rng(5)
    left = [np.sort(rng.integers(0, 5_000, size)) for size in (1_500, 7)]
    right = [np.sort(rng.integers(0, 5_000, size)) for size in (9_000, 300_000)]
    pairs = [
        (0, 3, 1_500, 1, 100, 290_000, 7),
        (1, 0, 7, 0, 10, 8_000, 0),
    ]
    found = join(
        [column(side, encoding=encoding) for side in left],
        [column(side, encoding=encoding) for side in right],
        pairs,
        strategy=strategy,
    )
    for left_part, start, stop, right_part, first, last, position in pairs:
        times, candidates = left[left_part][start:stop], right[right_part][first:last]
        backward = np.searchsorted(candidates, times, "right") - 1
        at = np.searchsorted(candidates, times, "left")
        after = candidates[np.minimum(at, len(candidates) - 1)]
        forward = np.where(at < len(candidates), np.searchsorted(candidates, after, "right") - 1, -1)
        rows = {"backward": backward, "forward": forward}.get(strategy)
        if rows is None:
            before = candidates[backward]
            nearer = (forward >= 0) & ((backward < 0) | (after - times <= times - before))
            rows = np.where(nearer, forward, backward)
        expected = np.where(rows >= 0, rows + first, -1)
        assert found[position : position + len(times)] == expected.tolist()


def test_a_left_that_does_not_ascend_is_refused():
    left, right = np.array([3, 2]), np.array([1, 5])
    with pytest.raises(UnsortedError):
        join([column(left)], [column(right)], [(0, 0, 2, 0, 0, 2, 0)], strategy="backward")


@pytest.mark.parametrize("wrong", [(1, 0, 1, 0, 0, 1, 0), (0, 0, 3, 0, 0, 1, 0), (0, 0, 1, 0, 2, 1, 0)])
def test_a_pair_outside_its_parts_is_refused(wrong):
    with pytest.raises(ValueError, match="out of range"):
        join([column(np.array([1, 2]))], [column(np.array([1, 2]))], [wrong], strategy="backward")


def test_a_code_beyond_the_table_is_refused():
    times = [column(np.array([1, 2]))]
    by = ([column(np.array([0, 7], np.uint32))], [column(np.array([0, 0], np.uint32))], 2)
    with pytest.raises(ValueError, match="code 7"):
        join(times, times, [(0, 0, 2, 0, 0, 2, 0)], strategy="backward", by=by)
