"""The text form of a compression, kdb+'s triple, and what neither can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colonnade.codec.compression import CODECS, ENCODINGS, PCO_LEVELS, Compression
from colonnade.errors import CompressionError

MIB = 1 << 20


def possible() -> st.SearchStrategy[Compression]:
    """Give every compression that can be."""
    sizes = st.integers(12, 20).map(lambda exponent: 1 << exponent)
    codecs = st.sampled_from(sorted(CODECS))
    after_plain = codecs.flatmap(lambda codec: st.tuples(st.just("plain"), st.just(codec), levels(codec)))
    after_others = st.sampled_from(["none", "lz4", "zstd"]).flatmap(
        lambda codec: st.tuples(
            st.sampled_from(["bitpack", "bytes", "dict", "runs"]), st.just(codec), levels(codec)
        )
    )
    pco = st.tuples(st.just("pco"), st.just("none"), st.integers(*PCO_LEVELS[:2]))
    choices = st.one_of(after_plain, after_others, pco)
    return st.tuples(choices, sizes).map(lambda both: Compression(*both[0], both[1]))


def levels(codec: str) -> st.SearchStrategy[int]:
    return st.integers(*CODECS[codec][:2])


@given(possible())
def test_text_form_of_every_compression_is_read_back(compression):
    assert Compression.parse(str(compression)) == compression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", Compression()),
        ("none", Compression()),
        ("snappy", Compression("plain", "snappy")),
        ("gzip", Compression("plain", "gzip", 6)),
        ("gzip:0@4KiB", Compression("plain", "gzip", 0, 4096)),
        ("plain+qipc@64K", Compression("plain", "qipc", 0, 65_536)),
        ("lz4:16", Compression("plain", "lz4", 16)),
        ("zstd:-7", Compression("plain", "zstd", -7)),
        ("bytes+zstd", Compression("bytes", "zstd", 3)),
        ("dict+lz4", Compression("dict", "lz4", 1)),
        ("runs", Compression("runs")),
        ("pco", Compression("pco", "none", 8, MIB)),
        ("pco:0", Compression("pco", "none", 0, MIB)),
        ("pco:12@128KiB", Compression("pco", "none", 12, 131_072)),
        (" bitpack + zstd : 5 @ 1 MiB ", Compression("bitpack", "zstd", 5, MIB)),
    ],
)
def test_text_is_read(text, expected):
    assert Compression.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pco", "pco:8"),
        ("pco:8@1MiB", "pco:8"),
        ("pco@128KiB", "pco:8@128KiB"),
        ("snappy@128KiB", "snappy"),
        ("none@4KiB", "plain@4KiB"),
        ("gzip", "gzip:6"),
    ],
)
def test_text_form_leaves_out_what_is_the_default(text, expected):
    assert str(Compression.parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bitpack+snappy", "only after 'plain'"),
        ("runs+gzip", "use 'gzip' alone"),
        ("pco+zstd", "no codec stands after 'pco'"),
        ("pco:13", "expected 0 to 12"),
        ("gzip:10", "expected 0 to 9"),
        ("lz4:17", "expected 1 to 16"),
        ("zstd:-8", "expected -7 to 22"),
        ("snappy:1", "'snappy' has no level"),
        ("bitpack:3", "'bitpack' has no level"),
        ("brotli", "codecs none, lz4, zstd, snappy, gzip, qipc"),
        ("delta+zstd", "there are plain, bitpack, pco, bytes, dict, runs"),
        ("a+b+c", "expected \\[encoding"),
        ("zstd:best", "expected an integer"),
        ("zstd@100KiB", "power of two"),
        ("zstd@2MiB", "power of two"),
        ("zstd@large", "for example '128KiB'"),
    ],
)
def test_what_can_not_be_is_refused_with_the_way_out(text, message):
    with pytest.raises(CompressionError, match=message):
        Compression.parse(text)


@pytest.mark.parametrize(
    ("triple", "expected"),
    [
        ((17, 0, 0), "plain"),
        ((0, 0, 0), "plain"),
        ((16, 1, 0), "qipc@64KiB"),
        ((17, 2, 6), "gzip:6"),
        ((17, 2, 0), "gzip:0"),
        ((12, 3, 0), "snappy@4KiB"),
        ((20, 3, 5), "snappy@1MiB"),
        ((17, 4, 0), "lz4:1"),
        ((17, 4, 16), "lz4:16"),
        ((17, 5, -7), "zstd:-7"),
        ((17, 5, 22), "zstd:22"),
    ],
)
def test_triple_of_kdb_is_read(triple, expected):
    assert str(Compression.parse(triple)) == expected


@pytest.mark.parametrize("text", ["(17;5;-3)", "17 5 -3", "17,5,-3", " ( 17 ; 5 ; -3 ) "])
def test_triple_of_kdb_is_read_as_text(text):
    assert Compression.parse(text) == Compression("plain", "zstd", -3)


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        ((17, 6, 0), "1 qipc, 2 gzip, 3 snappy, 4 lz4, 5 zstd"),
        ((17, 16, 0), "isn't supported"),
        ((11, 5, 1), "expected 12 to 20"),
        ((21, 5, 1), "expected 12 to 20"),
        ((17, 2, 10), "expected 0 to 9"),
        ((17, 5, 23), "expected -7 to 22"),
    ],
)
def test_triple_that_can_not_be_is_refused(triple, message):
    with pytest.raises(CompressionError, match=message):
        Compression.parse(triple)


def test_names_stand_in_the_order_of_their_ids():
    assert ENCODINGS == ("plain", "bitpack", "pco", "bytes", "dict", "runs")
    assert tuple(CODECS) == ("none", "lz4", "zstd", "snappy", "gzip", "qipc")
