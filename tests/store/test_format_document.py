"""A reader made from docs/format.md alone: it shares no code with the store, and must read the same."""

from __future__ import annotations

import hashlib
import itertools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store.rows import DAY, new_table, trades

WIDTHS = {0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<u8", 7: "<i8", 8: "<f4", 9: "<f8"}
TEXT = 10


def crc32c(content: bytes) -> int:
    crc = 0xFFFF_FFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F6_3B78 if crc & 1 else 0)
    return crc ^ 0xFFFF_FFFF


def document(path: Path, kind: str) -> dict[str, Any]:
    content = path.read_bytes()
    start = f'{{"format":2,"kind":"{kind}","checksum":"'.encode()
    assert content.startswith(start)
    assert content.endswith(b"}\n")
    checksum, body = content[len(start) : len(start) + 16], content[len(start) + 18 :]
    assert hashlib.blake2b(body, digest_size=8).hexdigest().encode() == checksum
    return json.loads(content)


class Column:
    def __init__(self, content: bytes) -> None:
        self.content = content
        assert content[:12] == b"COLONNAD" + struct.pack("<HH", 2, 64)
        assert struct.unpack("<I", content[60:64])[0] == crc32c(content[:60])
        footer = content[-256:]
        assert footer[248:] == b"COLONNAD"
        assert struct.unpack("<I", footer[244:248])[0] == crc32c(footer[:244])
        self.rows, self.nulls, start, self.values_bytes, self.hash, self.plain_bytes = struct.unpack(
            "<6Q", footer[:48]
        )
        self.block_rows, self.blocks = struct.unpack("<II", footer[48:56])
        self.element = footer[56]
        self.sections = [struct.unpack("<QQII", footer[at : at + 24]) for at in range(64, 160, 24)]
        self.type = footer[161 : 161 + footer[160]].decode()
        self.values = content[start : start + self.values_bytes]

    def section(self, place: int) -> bytes:
        offset, length, checksum, _ = self.sections[place]
        content = self.content[offset : offset + length]
        assert offset % 64 == 0
        assert crc32c(content) == checksum
        return content

    def plain_blocks(self) -> list[bytes]:
        blocks = []
        for at in range(0, 48 * self.blocks, 48):
            entry = struct.unpack("<QIIIIBBHI8s8s", self.section(0)[at : at + 48])
            offset, stored, _, checksum, _, encoding, codec, _, encoded, _, _ = entry
            assert (encoding, codec, stored) == (0, 0, encoded)
            block = self.values[offset : offset + stored]
            assert crc32c(block) == checksum
            blocks.append(block)
        return blocks

    def fixed(self) -> np.ndarray:
        return np.frombuffer(b"".join(self.plain_blocks()), dtype=WIDTHS[self.element])

    def texts(self) -> list[str]:
        texts = []
        for block in self.plain_blocks():
            rows = min(self.rows - len(texts), self.block_rows)
            offsets = struct.unpack(f"<{rows + 1}I", block[: 4 * rows + 4])
            text = block[4 * rows + 4 :]
            texts += [text[a:b].decode() for a, b in itertools.pairwise(offsets)]
        return texts

    def symbols(self) -> list[str]:
        content, count = self.section(2), self.sections[2][3]
        offsets = struct.unpack(f"<{count + 1}I", content[: 4 * count + 4])
        return [content[4 * count + 4 :][a:b].decode() for a, b in itertools.pairwise(offsets)]

    def runs(self) -> list[tuple[int, int, int]]:
        return [
            (code, first, count) for code, _, first, count in struct.iter_unpack("<IIQQ", self.section(3))
        ]


@pytest.fixture
def columns(tmp_path: Path) -> dict[str, Column]:
    table = new_table(tmp_path / "db", trades(700), compression="plain@4KiB").path
    version = document(table / "versions" / "00000001.json", "version")
    assert version["partitions"]["days"] == [DAY]
    name = version["partitions"]["manifest"][0]
    path = table / "date=2024-01-02" / f"manifest-{name}.json"
    assert hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest() == name
    (part,) = document(path, "manifest")["parts"]
    files = {name: path.parent / part["folder"] / column["file"] for name, column in part["columns"].items()}
    return {name: Column(file.read_bytes()) for name, file in files.items()}


def test_values_are_where_the_document_says(columns: dict[str, Column]) -> None:
    frame = trades(700)

    assert np.array_equal(columns["time"].fixed(), frame["time"].to_physical().to_numpy())
    assert np.array_equal(columns["price"].fixed(), frame["price"].to_numpy())
    assert np.array_equal(columns["size"].fixed(), frame["size"].to_numpy())
    assert columns["cond"].texts() == frame["cond"].to_list()
    assert [columns[name].type for name in frame.columns] == [
        "symbol", "timestamp", "float64", "int32", "string",
    ]  # fmt: skip


def test_symbols_and_runs_are_where_the_document_says(columns: dict[str, Column]) -> None:
    column = columns["sym"]
    symbols = column.symbols()

    by_code = [symbols[code] for code in column.fixed()]
    by_run = [symbols[code] for code, _, count in column.runs() for _ in range(count)]

    assert by_code == trades(700)["sym"].to_list()
    assert by_run == by_code


def test_zone_maps_are_those_of_the_document(columns: dict[str, Column]) -> None:
    column = columns["price"]
    index, values = column.section(0), column.fixed()

    assert column.blocks == 2
    for block in range(column.blocks):
        flags, low, high = struct.unpack("<H4xdd", index[48 * block + 26 : 48 * block + 48])
        rows = values[block * column.block_rows : (block + 1) * column.block_rows]
        assert (flags, low, high) == (2, rows.min(), rows.max())
