"""The rule behind `auto`, and what users may pass as a compression."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from colonnade.codec.choose import GOALS, choose, choose_together, requested, stored_bytes
from colonnade.codec.compression import Compression
from colonnade.codec.estimate import Estimate, Sample
from colonnade.errors import ColumnNotFoundError, CompressionError
from colonnade.schema import ColumnType

RANDOM = np.random.default_rng(11)
PRICES = pl.Series(np.round(187 + np.cumsum(RANDOM.integers(-1, 2, 20_000)) / 100, 2))
NOISE = pl.Series(RANDOM.random(20_000))
TIMES = pl.Series(np.cumsum(RANDOM.exponential(3e6, 20_000)).astype(np.int64)).cast(pl.Datetime("ns"))
SIZES = pl.Series(RANDOM.geometric(0.03, 20_000) * 100)
SYMBOLS = pl.Series(["AAPL", "MSFT", None] * 500)
FLAGS = pl.Series(RANDOM.choice(list("NNNNQTZ"), 20_000))
IDS = pl.Series(52_983_525_027_888 + np.cumsum(RANDOM.integers(1, 30, 20_000))).cast(pl.String)
WORDS = pl.Series([f"order {number:x} of {number % 7}" for number in RANDOM.integers(1, 1 << 40, 5_000)])
TABLE = {
    "time": (TIMES, ColumnType("timestamp")),
    "price": (PRICES, ColumnType("float64")),
    "size": (SIZES, ColumnType("int64")),
    "flag": (FLAGS, ColumnType("char")),
    "symbol": (SYMBOLS, ColumnType("symbol")),
    "id": (IDS, ColumnType("string")),
    "words": (WORDS, ColumnType("string")),
}
SAMPLES = {name: sample for name, (sample, _) in TABLE.items()}
TYPES = {name: column_type for name, (_, column_type) in TABLE.items()}


def estimates(goal: str, compressions: dict[str, Compression] | None = None) -> dict[str, Estimate]:
    chosen = compressions or choose_together(SAMPLES, TYPES, goal)
    return {name: Sample.of(SAMPLES[name], TYPES[name]).estimate(chosen[name]) for name in TABLE}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (PRICES, "float64"),
        (PRICES.cast(pl.Float32), "float32"),
        (SIZES, "int64"),
        (SYMBOLS, "symbol"),
        (pl.Series(["B", "S", None] * 500), "char"),
        (pl.Series([True, False, None] * 500), "bool"),
        (TIMES, "timestamp"),
        (pl.Series([dt.time(9, 30)] * 500), "time"),
        (pl.Series([dt.date(1969, 12, 31)] * 500), "date"),
    ],
)
def test_fastest_packs_bits(values, kind):
    assert choose(values, ColumnType(kind), "fastest") == Compression("bitpack")


@pytest.mark.parametrize(("goal", "most"), [("fastest", 1.0), ("balanced", 0.9), ("smallest", 0.8)])
def test_each_goal_makes_the_table_smaller_than_the_one_before(goal, most):
    before = {"fastest": dict.fromkeys(TABLE, Compression()), "balanced": None, "smallest": None}[goal]
    faster = {"fastest": "fastest", "balanced": "fastest", "smallest": "balanced"}[goal]
    known = sum(one.stored_bytes for one in estimates(faster, before).values())
    assert sum(one.stored_bytes for one in estimates(goal).values()) < most * known


def test_balanced_columns_together_decode_about_as_fast_as_under_lz4():
    lz4 = estimates("balanced", dict.fromkeys(TABLE, Compression.parse("lz4:1")))
    assert sum(one.decode_ns for one in estimates("balanced").values()) <= sum(
        one.decode_ns for one in lz4.values()
    )


def test_time_that_other_columns_leave_over_makes_a_column_smaller():
    numbers, kind = pl.Series(np.cumsum(RANDOM.geometric(0.01, 20_000)).astype(np.int32)), ColumnType("int32")
    alone = choose(numbers, kind, "balanced")
    columns = {"number": numbers, "time": TIMES, "sent": TIMES, "received": TIMES}
    types = {name: kind if name == "number" else ColumnType("timestamp") for name in columns}
    among = choose_together(columns, types, "balanced")["number"]
    assert (alone.encoding, among.encoding) == ("bitpack", "pco")


@pytest.mark.parametrize("name", TABLE)
def test_smallest_is_no_larger_than_the_other_goals(name):
    sizes = [stored_bytes(*TABLE[name], choose(*TABLE[name], goal)) for goal in GOALS]
    assert sizes[2] == min(sizes)


@pytest.mark.parametrize("goal", GOALS)
def test_noise_stays_plain(goal):
    values = pl.Series(RANDOM.integers(-(2**63), 2**63 - 1, 20_000))
    assert choose(values, ColumnType("int64"), goal) == Compression()


def test_what_saves_less_than_a_tenth_is_not_worth_decoding_unless_size_is_all():
    values = pl.Series(RANDOM.integers(0, 2**61, 20_000))
    chosen = [choose(values, ColumnType("int64"), goal) for goal in GOALS]
    assert [compression == Compression() for compression in chosen] == [True, True, False]


def test_repeating_noise_gets_a_dictionary():
    values = pl.Series(np.tile(RANDOM.random(300), 100))
    assert choose(values, ColumnType("float64"), "fastest") == Compression("dict")


def test_texts_that_are_integers_are_stored_as_integers_where_size_counts():
    assert choose(IDS, ColumnType("string"), "smallest").encoding == "pco"
    assert choose(WORDS, ColumnType("string"), "smallest").codec == "zstd"


def test_few_texts_get_a_dictionary():
    values = pl.Series(RANDOM.choice(["regular", "odd lot", "", "cross", "@ TI"], 5_000))
    assert choose(values, ColumnType("string"), "fastest") == Compression("dict")


@pytest.mark.parametrize("kind", ["float64", "string"])
@pytest.mark.parametrize("goal", GOALS)
def test_no_rows_give_a_choice_all_the_same(kind, goal):
    assert choose(pl.Series([], dtype=pl.Float64), ColumnType(kind), goal) != Compression()


def test_no_columns_are_none_chosen():
    assert choose_together({}, TYPES, "balanced") == {}


def test_large_sample_is_thinned_out():
    assert Sample.of(pl.Series(np.arange(1_000_000)), ColumnType("int64")).rows == 1 << 16


def test_estimate_of_what_stays_plain_is_that_of_plain():
    sample = Sample.of(NOISE, ColumnType("float64"))
    assert sample.estimate(Compression("bitpack"))[1:] == sample.estimate(Compression())[1:]


def test_unknown_goal_is_an_error():
    with pytest.raises(CompressionError, match="there are fastest, balanced, smallest"):
        choose(PRICES, ColumnType("float64"), "quick")


@pytest.mark.parametrize("given", [None, "auto", {}, {"default": "auto"}])
def test_auto_leaves_every_column_to_the_rule(given):
    assert requested(given, ["price", "size"]) == {"price": None, "size": None}


@pytest.mark.parametrize("given", ["zstd:5", (17, 5, 5), Compression("plain", "zstd", 5)])
def test_one_compression_is_for_all_columns(given):
    assert requested(given, ["price", "size"]) == dict.fromkeys(
        ["price", "size"], Compression("plain", "zstd", 5)
    )


def test_mapping_names_columns_and_a_default():
    found = requested({"default": "plain", "price": "auto", "size": (17, 4, 1)}, ["time", "price", "size"])
    assert found == {"time": Compression(), "price": None, "size": Compression("plain", "lz4", 1)}


def test_mapping_of_a_column_that_is_not_there_is_an_error():
    with pytest.raises(ColumnNotFoundError) as failure:
        requested({"prise": "zstd"}, ["price"], where="table 'trade'")
    assert failure.value.name == "prise"
    assert "'price'" in str(failure.value)


@pytest.mark.parametrize(
    "given", [5, (17, 5), (17, 5, "10"), b"zstd", {"price": None}, {"price": {"codec": "zstd"}}]
)
def test_anything_else_is_an_error_that_says_what_is_expected(given):
    with pytest.raises(CompressionError, match="expected text such as 'zstd:10'"):
        requested(given, ["price"])


def test_three_zeros_are_no_compression_as_in_kdb():
    assert Compression.parse((0, 0, 0)) == Compression()
