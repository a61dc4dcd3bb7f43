"""The hash of a column's decoded values, the same under every compression and block size."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from colonnade.kernels import hash_values

_SLAB: Final = 1 << 20  # bytes that the kernel hashes at a time; calls are cut at multiples of it


class ValuesHash:
    """XXH3-64 of slabs of 1 MiB, each seeded with the hash before it; bytes may come in any pieces."""

    def __init__(self) -> None:
        self._hash = 0
        self._rest = np.zeros(0, dtype=np.uint8)

    def add(self, values: NDArray[Any]) -> None:
        """Take the bytes of more values."""
        content = values.view(np.uint8).reshape(-1)
        if len(self._rest):
            missing = min(_SLAB - len(self._rest), len(content))
            self._rest = np.concatenate([self._rest, content[:missing]])
            content = content[missing:]
            if len(self._rest) == _SLAB:
                self._hash = hash_values(self._rest, self._hash)
                self._rest = self._rest[:0]
        whole = len(content) // _SLAB * _SLAB
        if whole:
            self._hash = hash_values(content[:whole], self._hash)
        if whole < len(content):
            self._rest = content[whole:].copy()

    def finish(self) -> int:
        """Give the hash of all bytes."""
        return hash_values(self._rest, self._hash) if len(self._rest) else self._hash


class TextHash:
    """The hash of text: that of the hashes of the lengths as uint32 and of the text itself."""

    def __init__(self) -> None:
        self._lengths = ValuesHash()
        self._text = ValuesHash()

    def add(self, lengths: NDArray[np.uint32], text: NDArray[np.uint8]) -> None:
        """Take more rows: their lengths and their text."""
        self._lengths.add(lengths)
        self._text.add(text)

    def finish(self) -> int:
        """Give the hash of all rows."""
        both = struct.pack("<QQ", self._lengths.finish(), self._text.finish())
        return hash_values(np.frombuffer(both, dtype=np.uint8), 0)
