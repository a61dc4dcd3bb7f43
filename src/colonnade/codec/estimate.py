"""What a sample of a column would take under some compressions: bytes, and time to decode by known speeds.

Sizes come from encoding the sample. Times come from a table of speeds that were measured once, so the same
sample gives the same estimate on every machine; they say which of two ways is faster, and about how much.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.kernels import encode_blocks, encode_string_blocks
from colonnade.physical import physical_values
from colonnade.schema import ColumnType

_RUNS: Final = 4  # pieces of a sample, spread over the values
_RUN_ROWS: Final = 16 << 10
_TEXT_ROW_BYTES: Final = 16  # what a text counts in the size of a block
_OFFSET_BYTES: Final = 4  # of each text in a plain block


class Estimate(NamedTuple):
    """A compression of a column: bytes and nanoseconds to decode, of one row."""

    compression: Compression
    stored_bytes: float
    decode_ns: float


class Sample(NamedTuple):
    """Some runs of a column's stored values, neighbours kept together: they tell what differences are worth.

    Attributes
    ----------
    values
        Stored values; for text the length of each row in bytes, as uint32.
    text
        Bytes of all texts one after the other; None for types of fixed width.
    """

    values: NDArray[Any]
    text: NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, column: pl.Series, column_type: ColumnType) -> Sample:
        """Take runs of a column as ingest has it; codes of symbols and chars count within the sample."""
        column = _thinned(column)
        if not column_type.has_fixed_width:
            text = column.cast(pl.String).fill_null("")
            joined = "".join(text).encode()
            lengths = text.str.len_bytes().to_numpy().astype(np.uint32)
            return cls(lengths, np.frombuffer(joined, np.uint8))
        if column_type.kind in ("symbol", "char"):
            codes = column.cast(pl.String).rank("dense").fill_null(0).to_numpy()
            return cls(np.ascontiguousarray(codes, dtype=column_type.numpy_type))
        return cls(physical_values(column, column_type))

    @property
    def rows(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def plain_bytes(self) -> int:
        """Bytes of the values as they are."""
        if self.text is None:
            return self.values.nbytes
        return len(self.text) + _OFFSET_BYTES * self.rows

    def stored_bytes(self, compression: Compression) -> int:
        """Give the bytes that the values take under a compression, their index left out."""
        encoding, codec, level = compression.encoding, compression.codec, compression.level
        if self.text is None:
            rows = compression.block_size // self.values.itemsize
            return len(encode_blocks(self.values, None, None, encoding, codec, level, rows, 0)[0])
        rows = compression.block_size // _TEXT_ROW_BYTES
        return len(encode_string_blocks(self.values, self.text, None, encoding, codec, level, rows, 0)[0])

    def estimate(self, compression: Compression) -> Estimate:
        """Give what a row takes; the sample has at least one."""
        stored = self.stored_bytes(compression)
        speeds = _VALUES if self.text is None else _TEXTS
        is_plain = stored >= self.plain_bytes
        decode_ns = speeds["plain"].of(self, stored) if is_plain else _decode_ns(self, compression, stored)
        return Estimate(compression, stored / self.rows, decode_ns)

    def estimates(self, compressions: Iterable[str]) -> list[Estimate]:
        """Give what a row takes under each compression."""
        return [self.estimate(Compression.parse(text)) for text in compressions]


class _Speed(NamedTuple):
    """Nanoseconds to decode: each value, each plain byte, each stored byte."""

    value: float
    plain_byte: float
    stored_byte: float

    def of(self, sample: Sample, stored_bytes: int) -> float:
        plain, stored = sample.plain_bytes / sample.rows, stored_bytes / sample.rows
        return self.value + self.plain_byte * plain + self.stored_byte * stored


# One thread of an AMD Zen 3, columns of `benches/compression.py`, blocks of the default size. pco:8 is what
# it takes where it splits numbers or looks back; where it does neither, pco:7 is as small and comes first.
_VALUES: Final = {
    "plain": _Speed(0, 0.02, 0),
    "bitpack": _Speed(0.04, 0.02, 0.2),
    "bytes": _Speed(0.2, 0.1, 0),
    "dict": _Speed(0.3, 0.02, 0),
    "runs": _Speed(0, 0.02, 0.3),
    "pco:7": _Speed(1.5, 0.13, 0),
    "pco:8": _Speed(3.4, 0.13, 0),
    "lz4": _Speed(0, 0.05, 0.65),
    "zstd": _Speed(0.06, 0.08, 2.6),
}
_TEXTS: Final = {
    "plain": _Speed(1.5, 0, 0),
    "bitpack": _Speed(10, 0, 0),
    "dict": _Speed(3.5, 0, 0),
    "pco:7": _Speed(12.3, 0, 0),
    "pco:8": _Speed(16, 0, 0),
    "lz4": _Speed(2.6, 0, 0.14),
    "zstd": _Speed(1.5, 0, 1.6),
}
_LAST_FAST_LEVEL: Final = 7  # of pco


def _decode_ns(sample: Sample, compression: Compression, stored_bytes: int) -> float:
    speeds = _VALUES if sample.text is None else _TEXTS
    encoding = compression.encoding
    if encoding == "pco":
        encoding = "pco:7" if compression.level <= _LAST_FAST_LEVEL else "pco:8"
    if compression.codec == "none":
        return speeds[encoding].of(sample, stored_bytes)
    decode_ns = speeds[compression.codec].of(sample, stored_bytes)
    return decode_ns if encoding == "plain" else decode_ns + speeds[encoding].of(sample, stored_bytes)


def _thinned(column: pl.Series) -> pl.Series:
    if len(column) <= _RUNS * _RUN_ROWS:
        return column
    starts = np.linspace(0, len(column) - _RUN_ROWS, _RUNS).astype(np.int64)
    return pl.concat([column.slice(int(start), _RUN_ROWS) for start in starts])
