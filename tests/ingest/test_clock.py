"""Times of day as text: the fast way says what the pattern says, or leaves it to the pattern."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colonnade.ingest.clock import iso_times
from colonnade.schema import ColumnType

TIME = ColumnType("time")
TEXTS = {
    "whole seconds": ["09:30:00", "23:59:59", "00:00:00"],
    "nanoseconds": ["09:30:00.123456789", "23:59:59.999999999"],
    "milliseconds with nulls": [None, "09:30:00.120", None, None, "10:00:00.000", None],
    "nothing but nulls": [None, None],
    "mixed widths": ["09:30:00", "09:30:00.5"],
    "hour 24": ["24:00:00", "09:30:00"],
    "a leap second": ["23:59:60", "09:30:00"],
    "minute 60": ["09:60:00"],
    "other separators": ["09-30-00", "09:30:00,5", "09:30:0 "],
    "letters": ["ab:cd:ef", "09:30:00"],
    "other digits": ["٠٩:30:0", "09:30:00"],
    "nothing after the point": ["09:30:00."],
    "ten digits": ["09:30:00.0123456789"],
    "empty": [""],
}


def by_pattern(values):
    return values.str.to_time("%H:%M:%S%.f", strict=False)


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_times_are_read_as_the_pattern_reads_them(texts):
    values = pl.Series("at", texts, dtype=pl.String)

    assert iso_times(values, TIME, "earliest").equals(by_pattern(values), check_names=True)
    assert iso_times(values.clear(), TIME, "earliest").equals(by_pattern(values.clear()))


@given(st.lists(st.none() | st.integers(0, 86_399_999_999), min_size=1, max_size=40), st.integers(0, 9))
def test_any_times_of_one_width_are_read_as_the_pattern_reads_them(micros, digits):
    cut = 8 if digits == 0 else 9 + digits
    texts = [
        None
        if one is None
        else f"{one // 3_600_000_000:02}:{one // 60_000_000 % 60:02}:{one // 1_000_000 % 60:02}"
        f".{one % 1_000_000:06}789"[: cut - 8]
        for one in micros
    ]
    texts = [None if text is None else text[:cut] for text in texts]
    values = pl.Series(texts, dtype=pl.String)

    assert iso_times(values, TIME, "earliest").equals(by_pattern(values))
