"""Blocks written by every format version are read; the folders say what must come out of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from codec.columns import bytes_array, decoded_texts
from colonnade.kernels import ColumnInput, decode_rows, validate_index, verify_blocks

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = sorted(facts.parent.name for facts in GOLDEN.glob("*/facts"))
TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]


def golden_column(name: str) -> ColumnInput:
    folder = GOLDEN / name
    facts = dict(line.split() for line in (folder / "facts").read_text().splitlines())
    return ColumnInput(
        bytes_array((folder / "stored").read_bytes()),
        bytes_array((folder / "index").read_bytes()),
        int(facts["element"]),
        int(facts["rows"]),
        int(facts["block_rows"]),
        None,
        None,
    )


@pytest.mark.parametrize("name", [name for name in CASES if "text" not in name])
def test_values_of_golden_blocks_come_back_bit_for_bit(name):
    column = golden_column(name)
    validate_index(column.index, len(column.stored), column.rows, column.block_rows, column.element)
    verify_blocks(column, 0, len(column.index) // 48)
    out = np.empty(column.rows, dtype=TYPES[column.element])
    decode_rows(column, 0, column.rows, out)
    assert out.tobytes() == (GOLDEN / name / "values").read_bytes()


@pytest.mark.parametrize("name", [name for name in CASES if "text" in name])
def test_texts_of_golden_blocks_come_back(name):
    texts = decoded_texts(golden_column(name))
    assert "".join(f"{text}\n" for text in texts) == (GOLDEN / name / "values").read_text(encoding="utf-8")
