"""The rule behind `auto`, and what users may pass as a compression."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from colonnade.codec.choose import choose, requested, stored_bytes
from colonnade.codec.compression import Compression
from colonnade.errors import ColumnNotFoundError, CompressionError
from colonnade.schema import ColumnType

RANDOM = np.random.default_rng(11)
PRICES = pl.Series(np.round(RANDOM.normal(187, 1, 20_000), 2))
NOISE = pl.Series(RANDOM.random(20_000))
SYMBOLS = pl.Series(["AAPL", "MSFT", None] * 500)


@pytest.mark.parametrize("goal", ["fastest", "balanced"])
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (PRICES, "float64"),
        (PRICES.cast(pl.Float32), "float32"),
        (pl.Series(RANDOM.integers(1, 90, 5_000) * 100), "int64"),
        (SYMBOLS, "symbol"),
        (pl.Series(["B", "S", None] * 500), "char"),
        (pl.Series([True, False, None] * 500), "bool"),
        (pl.Series(range(5_000)).cast(pl.Datetime("ns")), "timestamp"),
        (pl.Series([dt.time(9, 30)] * 500), "time"),
        (pl.Series([dt.date(1969, 12, 31)] * 500), "date"),
    ],
)
def test_what_packs_well_is_bit_packed(values, kind, goal):
    assert choose(values, ColumnType(kind), goal) == Compression("bitpack")


def test_noise_stays_plain_when_a_codec_saves_nothing():
    assert choose(NOISE, ColumnType("float64"), "fastest") == Compression()
    assert choose(NOISE, ColumnType("float64"), "balanced") == Compression()


def test_repeating_noise_gets_a_light_codec_unless_speed_is_all():
    values = pl.Series(np.tile(RANDOM.random(300), 100))
    assert choose(values, ColumnType("float64"), "fastest") == Compression()
    assert choose(values, ColumnType("float64"), "balanced") == Compression.parse("zstd:1")


@pytest.mark.parametrize(
    ("goal", "expected"), [("fastest", "lz4"), ("balanced", "zstd:3"), ("smallest", "zstd:9")]
)
def test_text_always_gets_a_codec(goal, expected):
    assert choose(pl.Series(["abc"]), ColumnType("string"), goal) == Compression.parse(expected)


@pytest.mark.parametrize("values", [PRICES, NOISE, SYMBOLS])
def test_smallest_is_no_larger_than_the_other_goals(values):
    kind = ColumnType.of_polars(values.dtype)
    stored = values.rank("dense").fill_null(0).to_numpy().astype(kind.numpy_type)
    stored = values.to_numpy() if kind.is_numeric else stored
    sizes = [stored_bytes(stored, choose(values, kind, goal)) for goal in ("fastest", "balanced", "smallest")]
    assert sizes[2] == min(sizes)


def test_no_rows_give_a_choice_all_the_same():
    assert choose(pl.Series([], dtype=pl.Float64), ColumnType("float64")) == Compression("bitpack")


def test_large_sample_is_thinned_out():
    assert choose(pl.Series(np.arange(1_000_000)), ColumnType("int64")) == Compression("bitpack")


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
