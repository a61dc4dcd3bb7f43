"""Made blocks of format version 2: the codecs and encodings that came with it; see `make_v1_blocks`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from make_v1_blocks import prices, sizes, symbols, times, write
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.kernels import element_of, encode_blocks, encode_string_blocks


def flags() -> NDArray[Any]:
    return (np.arange(1_300) % 7 // 3).astype(np.uint8)


CASES: dict[str, tuple[Callable[[], NDArray[Any]], str, int]] = {
    "v2_int32_snappy": (sizes, "snappy", 1_024),
    "v2_int64_gzip": (times, "gzip:6", 1_024),
    "v2_int32_qipc": (sizes, "qipc", 1_024),
    "v2_int32_dict": (sizes, "dict", 1_024),
    "v2_float64_dict_zstd": (prices, "dict+zstd:3", 512),
    "v2_uint8_dict": (flags, "dict", 1_024),
    "v2_uint32_runs": (symbols, "runs", 2_048),
    "v2_int64_bytes_zstd": (times, "bytes+zstd:3", 1_024),
    "v2_float64_bytes_lz4": (prices, "bytes+lz4", 512),
    "v2_int32_bytes": (sizes, "bytes", 1_024),
}
NUMBERS = [str((row - 40) * 1_234_567_891_011) for row in range(200)]
CONDITIONS = [
    ("@", "@ TI", "", "Zürich", "a text of more than sixteen bytes")[row * row % 5] for row in range(200)
]
TEXTS = {
    "v2_text_bitpack_numbers": (NUMBERS, "bitpack"),
    "v2_text_dict": (CONDITIONS, "dict"),
    "v2_text_dict_lz4": (CONDITIONS, "dict+lz4"),
    "v2_text_gzip": (CONDITIONS, "gzip:9"),
}


def make(folder: Path) -> None:
    """Write every case that isn't there yet."""
    for name, (make_values, text, block_rows) in CASES.items():
        values, asked = make_values(), Compression.parse(text)
        null_code = 0xFFFF_FFFF if "uint32" in name else None
        blocks = encode_blocks(
            values, None, null_code, asked.encoding, asked.codec, asked.level, block_rows, 0
        )
        write(folder / name, blocks, values.tobytes(), element_of(values.dtype), len(values), block_rows)
    for name, (texts, text) in TEXTS.items():
        asked = Compression.parse(text)
        data = np.frombuffer("".join(texts).encode(), dtype=np.uint8)
        lengths = np.array([len(text.encode()) for text in texts], dtype=np.uint32)
        blocks = encode_string_blocks(lengths, data, None, asked.encoding, asked.codec, asked.level, 128, 0)
        lines = "".join(f"{text}\n" for text in texts).encode()
        write(folder / name, blocks, lines, 10, len(texts), 128)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
