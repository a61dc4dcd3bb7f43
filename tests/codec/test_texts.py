"""Texts under each encoding: what they come back as, which encoding a block got, and point reads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec.columns import decoded_texts, encoded_texts, replaced
from colonnade.errors import CorruptionError
from colonnade.kernels import take_string_rows, validate_index
from colonnade.store.source import BLOCK_INDEX

SPECS = [
    "plain",
    "bitpack",
    "pco:8",
    "dict",
    "bytes",
    "runs",
    "zstd:3",
    "bitpack+zstd:3",
    "dict+lz4",
    "gzip:6",
    "qipc",
]
PLAIN, BITPACK, DICT = 0, 1, 4
IDS = [str(52_983_525_027_888 + 7 * row) for row in range(3_000)]
CONDITIONS = [("@", "@ TI", "", "F  ", "Zürich", "龙虾")[row * row % 11 % 6] for row in range(3_000)]


def encodings(column) -> set[int]:
    return set(column.index.view(BLOCK_INDEX)["encoding"].tolist())


def near_integers() -> st.SearchStrategy[str]:
    """Give texts that are integers, or nearly."""
    forms = st.sampled_from(["{}", "{}", "{}", "0{}", "+{}", "{} ", "-{}", "{}.0"])
    return st.builds(lambda form, number: form.format(number), forms, st.integers(-(2**64), 2**64))


@pytest.mark.parametrize("spec", SPECS)
@given(
    texts=st.one_of(
        st.lists(st.one_of(st.just(""), st.integers(-(2**63), 2**63).map(str)), max_size=60),
        st.lists(near_integers(), max_size=60),
        st.lists(st.sampled_from(["AAPL", "", "é", "0", "-1"]), max_size=60),
        st.lists(st.text(max_size=12), max_size=60),
    ),
    block_rows=st.sampled_from([1, 16, 64]),
)
def test_any_texts_come_back(spec, texts, block_rows):
    column = encoded_texts(texts, spec, block_rows)
    validate_index(column.index, len(column.stored), len(texts), block_rows, column.element)
    assert decoded_texts(column) == texts


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("texts", [IDS, CONDITIONS, ["same"] * 3_000])
@pytest.mark.parametrize(
    ("start", "stop"), [(0, 3_000), (0, 0), (1_023, 1_025), (2_047, 2_999), (2_999, 3_000)]
)
def test_any_range_of_texts_comes_back(spec, texts, start, stop):
    assert decoded_texts(encoded_texts(texts, spec, 2_048), start, stop) == texts[start:stop]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("texts", [IDS, CONDITIONS])
def test_texts_are_taken_by_row(spec, texts):
    rows = [0, 1, 1, 2, 1_023, 1_024, 1_500, 2_047, 2_048, 2_999]
    offsets, content = take_string_rows(encoded_texts(texts, spec, 2_048), np.array(rows))
    found = [content[start:stop].decode() for start, stop in itertools.pairwise(offsets.tolist())]
    assert found == [texts[row] for row in rows]


def test_row_that_is_not_there_is_an_error():
    column = encoded_texts(IDS, "dict", 2_048)
    for row in (-1, 3_000):
        with pytest.raises(ValueError, match=r"range|negative"):
            take_string_rows(column, np.array([row]))


def test_numbers_are_bit_packed_and_an_eighth_of_their_text():
    column = encoded_texts(IDS, "bitpack", 2_048)
    assert encodings(column) == {BITPACK}
    assert len(column.stored) < (4 + 14) * len(IDS) / 8


def test_numbers_among_which_some_texts_are_empty_are_packed_well():
    is_empty = np.random.default_rng(2).random(len(IDS)) < 0.03
    texts = ["" if empty else text for text, empty in zip(IDS, is_empty, strict=True)]
    column = encoded_texts(texts, "bitpack", 2_048)
    assert encodings(column) == {BITPACK}
    assert len(column.stored) < 3 * len(IDS)
    assert decoded_texts(column) == texts


@pytest.mark.parametrize("odd", ["007", "-0", "+7", "7 ", "7.0", "A7", str(2**63), str(-(2**63))])
def test_one_text_that_prints_otherwise_keeps_its_block_plain(odd):
    texts = [*IDS[:2_500], odd, *IDS[2_501:]]
    column = encoded_texts(texts, "bitpack", 1_024)
    assert column.index.view(BLOCK_INDEX)["encoding"].tolist() == [BITPACK, BITPACK, PLAIN]
    assert decoded_texts(column) == texts


def test_few_texts_get_a_dictionary():
    column = encoded_texts(CONDITIONS, "dict", 2_048)
    assert encodings(column) == {DICT}
    assert len(column.stored) < len(CONDITIONS)


def test_many_texts_get_none():
    assert encodings(encoded_texts(IDS, "dict", 2_048)) == {PLAIN}


@pytest.mark.parametrize("spec", ["bytes", "runs"])
def test_encodings_of_values_leave_text_plain(spec):
    assert encodings(encoded_texts(CONDITIONS, spec, 2_048)) == {PLAIN}


@pytest.mark.parametrize("spec", ["bitpack", "dict"])
@pytest.mark.parametrize("texts", [IDS[:200], CONDITIONS[:200]])
def test_any_flipped_bit_gives_texts_or_an_error(spec, texts):
    column = encoded_texts(texts, spec, 128)
    for bit in range(len(column.stored) * 8):
        stored = column.stored.copy()
        stored[bit // 8] ^= 1 << bit % 8
        assert texts_or_an_error(replaced(column, stored=stored))


@pytest.mark.parametrize("spec", ["bitpack", "dict"])
def test_any_flipped_bit_of_the_index_gives_texts_or_an_error(spec):
    column = encoded_texts(["7", "", "7", "7"] * 32, spec, 64)
    for bit in range(len(column.index) * 8):
        index = column.index.copy()
        index[bit // 8] ^= 1 << bit % 8
        assert texts_or_an_error(replaced(column, index=index))


def texts_or_an_error(column) -> bool:
    try:
        return len(decoded_texts(column)) == column.rows
    except CorruptionError:
        return True
