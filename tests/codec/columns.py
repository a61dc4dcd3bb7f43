"""Columns made in memory: values encoded into blocks, and read back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.kernels import (
    ColumnInput,
    decode_rows,
    decode_string_rows,
    element_of,
    encode_blocks,
    encode_string_blocks,
)

TEXT = 10


def encoded(
    values: NDArray[Any],
    compression: str,
    block_rows: int,
    *,
    validity: NDArray[np.uint8] | None = None,
    null_code: int | None = None,
) -> ColumnInput:
    asked = Compression.parse(compression)
    stored, index = encode_blocks(
        values, validity, null_code, asked.encoding, asked.codec, asked.level, block_rows, 0
    )
    element = element_of(values.dtype)
    return ColumnInput(
        bytes_array(stored), bytes_array(index), element, len(values), block_rows, validity, null_code
    )


def encoded_texts(texts: list[str], compression: str, block_rows: int) -> ColumnInput:
    asked = Compression.parse(compression)
    pieces = [text.encode() for text in texts]
    lengths = np.array([len(piece) for piece in pieces], dtype=np.uint32)
    data = bytes_array(b"".join(pieces))
    stored, index = encode_string_blocks(
        lengths, data, None, asked.encoding, asked.codec, asked.level, block_rows, 0
    )
    return ColumnInput(bytes_array(stored), bytes_array(index), TEXT, len(texts), block_rows, None, None)


def decoded(column: ColumnInput, dtype: Any, start: int = 0, stop: int | None = None) -> NDArray[Any]:
    stop = column.rows if stop is None else stop
    out = np.empty(stop - start, dtype=dtype)
    decode_rows(column, start, stop, out)
    return out


def decoded_texts(column: ColumnInput, start: int = 0, stop: int | None = None) -> list[str]:
    offsets, data = decode_string_rows(column, start, column.rows if stop is None else stop)
    return [data[a:b].decode() for a, b in itertools.pairwise(offsets)]


def bytes_array(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, dtype=np.uint8)


def replaced(column: ColumnInput, **changes: Any) -> ColumnInput:
    fields = ("stored", "index", "element", "rows", "block_rows", "validity", "null_code")
    return ColumnInput(**{name: getattr(column, name) for name in fields} | changes)
