"""What the words of a kernel become."""

from __future__ import annotations

import numpy as np
import polars as pl

from colonnade.query.aggregates import INT, Value, decoded


def test_every_char_but_the_null_byte_comes_back_as_latin_1():
    flag = Value("flag", "first", pl.String(), INT, is_symbol=False)
    words = np.arange(256, dtype=np.int64)

    found = decoded(flag, words, np.zeros(256, dtype=bool), None)

    assert found.to_list() == [None, *bytes(range(1, 256)).decode("latin-1")]
