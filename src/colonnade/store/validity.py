"""The validity bitmap of a column: one bit a row, least significant first, 1 where there is a value."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import HeaderError
from colonnade.store.column_layout import NO_CODEC, ZSTD

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class ValidityBuilder:
    """Collects the bitmap batch by batch; batches but the last have a multiple of 8 rows."""

    def __init__(self) -> None:
        self._row_count = 0
        self._bitmaps: list[NDArray[np.uint8]] = []
        self._has_nulls = False

    def add(self, valid: NDArray[np.bool] | None, row_count: int) -> NDArray[np.uint8] | None:
        """Take which of the next rows have a value, None for all; give their bitmap or None."""
        if valid is not None and valid.all():
            valid = None
        self._row_count += row_count
        self._has_nulls |= valid is not None
        bitmap = pack(np.ones(row_count, dtype=np.bool) if valid is None else valid)
        self._bitmaps.append(bitmap)
        return None if valid is None else bitmap

    def finish(self) -> tuple[bytes, int]:
        """Give the section and its codec; the section is empty where every row has a value."""
        if not self._has_nulls:
            return b"", NO_CODEC
        bitmap = np.concatenate(self._bitmaps).tobytes()
        shorter = zstd.compress(bitmap)
        return (shorter, ZSTD) if len(shorter) < len(bitmap) else (bitmap, NO_CODEC)


def read_validity(section: memoryview, codec: int, row_count: int) -> NDArray[np.uint8]:
    """Give the bitmap of a section; raise `HeaderError` where it doesn't fit the rows."""
    expected = (row_count + 7) // 8
    if codec == NO_CODEC:
        bitmap: bytes | memoryview = section
    elif codec == ZSTD:
        bitmap = _decompressed(section, expected)
    else:
        raise HeaderError(f"validity bitmap has the codec {codec}, expected {NO_CODEC} or {ZSTD}")
    if len(bitmap) != expected:
        reason = f"validity bitmap has {len(bitmap)} bytes, expected {expected} for {row_count} rows"
        raise HeaderError(reason)
    return np.frombuffer(bitmap, dtype=np.uint8)


def pack(valid: NDArray[np.bool]) -> NDArray[np.uint8]:
    """Give the bitmap of rows."""
    return np.packbits(valid, bitorder="little")


def unpack(bitmap: NDArray[np.uint8], start: int, stop: int) -> NDArray[np.bool]:
    """Give which of the rows ``[start, stop)`` have a value."""
    first = start // 8
    bits = np.unpackbits(bitmap[first : (stop + 7) // 8], bitorder="little")
    return bits[start - 8 * first : stop - 8 * first].astype(np.bool)


def _decompressed(section: memoryview, expected: int) -> bytes:
    decompressor = zstd.ZstdDecompressor()
    try:
        bitmap = decompressor.decompress(section, max_length=expected + 1)
    except zstd.ZstdError as error:
        raise HeaderError(f"validity bitmap can't be decompressed: {error}") from None
    if not decompressor.eof and len(bitmap) == expected:
        raise HeaderError("validity bitmap is cut off")
    return bitmap
