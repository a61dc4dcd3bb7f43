"""Blocks as kdb+ itself wrote them: unpacked as they are, and made again byte for byte."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from codec.columns import bytes_array, decoded, encoded
from colonnade.kernels import ColumnInput, decode_rows
from colonnade.store.source import BLOCK_INDEX

SHARED = Path(os.environ.get("COLONNADE_SHARED_DATA", "/nonexistent"))
CODECS = {0: ("none", 0), 1: ("qipc", 5), 2: ("gzip", 4)}  # kdb+'s number: name, id here
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="COLONNADE_SHARED_DATA names no folder")


def compressed_files() -> list[Path]:
    """Give the compressed kdb+ files of the shared data."""
    files = [path for path in sorted(SHARED.glob("kdb/*-hdb/**/*")) if path.is_file()]
    return [path for path in files if path.read_bytes()[:8] == b"kxzipped"]


def kdb_column(path: Path) -> tuple[ColumnInput, str, int]:
    """Give the blocks of a compressed file as a column of bytes, and the codec and level asked for."""
    content = path.read_bytes()
    count = int.from_bytes(content[-8:], "little")
    tail = len(content) - 40 - 8 * count
    rows = int.from_bytes(content[tail + 8 : tail + 16], "little")
    block_rows = int.from_bytes(content[tail + 24 : tail + 32], "little")
    blocks = np.frombuffer(content, dtype="<i4", count=2 * count, offset=tail + 32).reshape(count, 2)
    index = np.zeros(count, dtype=BLOCK_INDEX)
    index["offset"] = np.cumsum(blocks[:, 0]) - blocks[:, 0]
    index["stored_bytes"] = blocks[:, 0]
    index["codec"] = [CODECS[algorithm][1] for algorithm in blocks[:, 1].tolist()]
    index["rows"] = index["encoded_bytes"] = block_rows
    index["rows"][-1] = index["encoded_bytes"][-1] = rows - (count - 1) * block_rows
    codec = CODECS[content[tail + 4]][0]
    stored = bytes_array(content[8:tail])
    return ColumnInput(stored, index.view("u1"), 0, rows, block_rows, None, None), codec, content[tail + 5]


def test_there_are_files_of_both_codecs():
    assert {kdb_column(path)[1] for path in compressed_files()} == {"qipc", "gzip"}


@pytest.mark.parametrize("path", compressed_files(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_blocks_of_kdb_are_unpacked_and_made_again_byte_for_byte(path):
    column, codec, level = kdb_column(path)
    plain = decoded(column, "u1")
    asked = f"{codec}:{level}" if level else codec
    again = encoded(plain, asked, column.block_rows)
    assert again.index.view(BLOCK_INDEX)["codec"].tolist() == column.index.view(BLOCK_INDEX)["codec"].tolist()
    assert again.stored.tobytes() == column.stored.tobytes()


@pytest.mark.parametrize("level", range(1, 10))
def test_gzip_blocks_are_those_of_zlib(level):
    values = np.round(np.random.default_rng(1).normal(187, 1, 10_000), 2)
    column = encoded(values, f"gzip:{level}", 16_384)
    assert column.stored.tobytes() == zlib.compress(values.tobytes(), level)
    out = np.empty(10_000)
    decode_rows(column, 0, 10_000, out)
    assert out.tobytes() == values.tobytes()
