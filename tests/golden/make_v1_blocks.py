"""Made the blocks of format version 1 in this folder; never run again for them, only kept to show how.

Each case is a folder: ``stored`` and ``index`` as they lie in a column file, ``values`` that must come out of
them (for text: every text and a line feed), and ``facts``, one `name number` a line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.kernels import element_of, encode_blocks, encode_string_blocks

ROWS = 1_300  # a whole group, and one that ends inside its second sub-block


def times() -> NDArray[Any]:
    rows = np.arange(ROWS, dtype=np.int64)
    return 1_704_205_800_000_000_000 + rows * 1_000_003 + rows * rows % 977


def sizes() -> NDArray[Any]:
    return ((np.arange(ROWS) * 37 % 19 + 1) * 100).astype(np.int32)


def prices() -> NDArray[Any]:
    values = (18_743 + np.arange(ROWS) * 7 % 61) / 100
    values[[3, 500, 1_023, 1_024, 1_299]] = [-0.0, np.inf, 1e300, 5e-324, 0.1 + 0.2]
    values[[4, 1_100]] = np.array([0x7FF8_0000_0000_0000, 0x7FF0_DEAD_BEEF_0001], dtype=np.uint64).view("f8")
    return values


def rates() -> NDArray[Any]:
    values = ((np.arange(ROWS) * 11 % 83) / 1_000).astype(np.float32)
    values[[7, 1_200]] = np.array([0x7F80_0001, 0x8000_0000], dtype=np.uint32).view("f4")
    return values


def symbols() -> NDArray[Any]:
    codes = (np.arange(ROWS) // 90).astype(np.uint32)
    codes[::50] = 0xFFFF_FFFF
    return codes


def wide() -> NDArray[Any]:
    rows = np.arange(ROWS, dtype=np.uint64)
    return (rows * np.uint64(0x9E37_79B9_7F4A_7C15)) >> np.uint64(20)


CASES: dict[str, tuple[Callable[[], NDArray[Any]], str, int]] = {
    "v1_int64_plain": (times, "plain", 512),
    "v1_int64_bitpack_delta": (times, "bitpack", 2_048),
    "v1_int64_zstd": (times, "zstd:3", 1_024),
    "v1_int64_lz4": (times, "lz4", 1_024),
    "v1_int32_bitpack_frame": (sizes, "bitpack", 512),
    "v1_int32_bitpack_zstd": (sizes, "bitpack+zstd:3", 1_024),
    "v1_float64_bitpack_decimals": (prices, "bitpack", 2_048),
    "v1_float64_lz4": (prices, "lz4:9", 1_024),
    "v1_float32_bitpack_decimals": (rates, "bitpack", 2_048),
    "v1_uint32_bitpack_codes": (symbols, "bitpack", 2_048),
    "v1_uint64_bitpack_wide": (wide, "bitpack", 2_048),
}
TEXT = [f"trade {row % 17}" if row % 5 else "é" * (row % 3) for row in range(200)]


def make(folder: Path) -> None:
    """Write every case that isn't there yet."""
    for name, (make_values, text, block_rows) in CASES.items():
        values, asked = make_values(), Compression.parse(text)
        null_code = 0xFFFF_FFFF if "codes" in name else None
        blocks = encode_blocks(
            values, None, null_code, asked.encoding, asked.codec, asked.level, block_rows, 0
        )
        write(folder / name, blocks, values.tobytes(), element_of(values.dtype), len(values), block_rows)
    data = np.frombuffer("".join(TEXT).encode(), dtype=np.uint8)
    lengths = np.array([len(text.encode()) for text in TEXT], dtype=np.uint32)
    for codec, level in (("none", 0), ("zstd", 3)):
        blocks = encode_string_blocks(lengths, data, None, "plain", codec, level, 128, 0)
        lines = "".join(f"{text}\n" for text in TEXT).encode()
        write(folder / f"v1_text_{codec}", blocks, lines, 10, len(TEXT), 128)


def write(
    case: Path, blocks: tuple[bytes, bytes], values: bytes, element: int, rows: int, block_rows: int
) -> None:
    if case.exists():
        return
    case.mkdir()
    (case / "stored").write_bytes(blocks[0])
    (case / "index").write_bytes(blocks[1])
    (case / "values").write_bytes(values)
    (case / "facts").write_text(f"element {element}\nrows {rows}\nblock_rows {block_rows}\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
