"""When two answers count as equal, and that the tour says so when they don't."""

import polars as pl
import pytest

from colonnade.demo.compare import Question, agreement_of, compare

KEYED = Question("bars", pl.DataFrame, pl.DataFrame, keys=("sym",), summed=("vwap",))
FRAME = pl.DataFrame({"sym": ["A", "B"], "close": [1.5, 0.1 + 0.2], "vwap": [1.0, None]})


def test_answers_in_another_order_of_rows_and_columns_are_equal_by_their_keys():
    assert agreement_of(KEYED, FRAME, FRAME.reverse().select("vwap", "close", "sym")).startswith("equal")


def test_categorical_and_text_symbols_are_the_same_symbols():
    ours = FRAME.with_columns(pl.col("sym").cast(pl.Categorical))

    assert agreement_of(KEYED, ours, FRAME).startswith("equal")


def test_last_bit_of_a_price_is_a_difference():
    theirs = FRAME.with_columns(close=pl.Series([1.5, 0.3]))

    assert agreement_of(KEYED, FRAME, theirs) == "differ: column close"


def test_last_bits_of_a_sum_are_no_difference_and_a_millionth_is():
    near, far = (FRAME.with_columns(pl.col("vwap") * factor) for factor in (1 + 1e-14, 1 + 1e-6))

    assert agreement_of(KEYED, FRAME, near) == "equal, vwap to 1e-12"
    assert agreement_of(KEYED, FRAME, far) == "differ: column vwap"


@pytest.mark.parametrize("value", [0.0, 1.0, float("nan")])
def test_null_is_equal_to_null_only(value):
    theirs = FRAME.with_columns(vwap=pl.Series([1.0, value]))

    assert agreement_of(KEYED, FRAME, theirs) == "differ: column vwap"


def test_missing_row_is_a_difference():
    assert agreement_of(KEYED, FRAME, FRAME.head(1)) == "differ: 2 rows, Polars has 1"


def test_order_counts_where_there_are_no_keys():
    question = Question("join", lambda: FRAME, FRAME.reverse)

    assert not compare(question).is_equal


def test_comparison_times_both_sides():
    comparison = compare(Question("join", lambda: FRAME, lambda: FRAME))

    assert comparison.is_equal
    assert comparison.row_count == 2
    assert comparison.ours_ms > 0
    assert comparison.speedup == comparison.polars_ms / comparison.ours_ms
