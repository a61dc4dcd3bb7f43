"""Header, footer and sections of a column file; `docs/format.md` states every byte.

```
[header 64 B][values: blocks, back to back][index][validity][dictionary][runs][footer 256 B]
```

The header says what the file is, the footer everything else. Values and sections start at multiples of 64, so
that a memory map can be viewed as arrays.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from colonnade.codec.compression import CODECS, ENCODINGS, Compression
from colonnade.errors import (
    ChecksumError,
    CompressionError,
    HeaderError,
    TruncatedError,
    UnsupportedVersionError,
)
from colonnade.kernels import LISTS, TEXT, crc32c
from colonnade.kernels import element_of as kernels_element_of
from colonnade.schema import ColumnType

MAGIC: Final = b"COLONNAD"
FORMAT: Final = 2  # 1 is read, too: it has fewer encodings, codecs and types
ALIGNMENT: Final = 64
HEADER_BYTES: Final = 64
FOOTER_BYTES: Final = 256
NO_CODEC: Final = 0  # of the validity section
ZSTD: Final = 2
_TYPE_BYTES: Final = 79
_HEADER: Final = struct.Struct("<8sHH48xI")
_FOOTER: Final = struct.Struct("<QQQQQQ2I6B2x" + 4 * "QQII" + f"{_TYPE_BYTES + 1}p4xI8s")
_ENCODING_IDS: Final = {name: number for number, name in enumerate(ENCODINGS)}
_CODEC_IDS: Final = {name: number for number, name in enumerate(CODECS)}


class Section(NamedTuple):
    """Where a section lies.

    Attributes
    ----------
    offset
        First byte, from the start of the file, a multiple of 64; 0 for an empty section.
    length
        Bytes of the section.
    crc32c
        Checksum of its bytes.
    item_count
        Index: blocks. Validity: codec, `NO_CODEC` or `ZSTD`. Dictionary: symbols. Runs: runs.
    """

    offset: int = 0
    length: int = 0
    crc32c: int = 0
    item_count: int = 0


class Footer(NamedTuple):
    """What the last 256 bytes of a column file say.

    Attributes
    ----------
    row_count, null_count
        Rows of the column, and those without a value.
    values_bytes
        Bytes of the values stretch, which starts after the header.
    values_hash
        Hash of the decoded values.
    plain_bytes
        Bytes of the values as they lie in memory.
    block_rows
        Rows of every block but the last.
    type
        Text form of the column type.
    compression
        What was asked for.
    block_index, validity, dictionary, runs
        The sections.
    """

    row_count: int
    null_count: int
    values_bytes: int
    values_hash: int
    plain_bytes: int
    block_rows: int
    type: str
    compression: Compression
    block_index: Section
    validity: Section
    dictionary: Section
    runs: Section


def element_of(column_type: ColumnType) -> int:
    """Give the element number of a type's stored values."""
    if not column_type.has_fixed_width:
        return LISTS if column_type.kind == "list" else TEXT
    return kernels_element_of(column_type.numpy_type)


def block_rows_of(column_type: ColumnType, block_size: int) -> int:
    """Give the rows of a block: a power of two; text counts as 16 bytes a row."""
    width = column_type.numpy_type.itemsize if column_type.has_fixed_width else 16
    return block_size // width


def write_header(version: int = FORMAT) -> bytes:
    """Give the 64 bytes that a column file begins with."""
    unsigned = _HEADER.pack(MAGIC, version, HEADER_BYTES, 0)[:-4]
    return unsigned + struct.pack("<I", checksum_of(unsigned))


def write_footer(footer: Footer, element: int) -> bytes:
    """Give the 256 bytes that a column file ends with."""
    compression = footer.compression
    packed = _FOOTER.pack(
        footer.row_count,
        footer.null_count,
        HEADER_BYTES,
        footer.values_bytes,
        footer.values_hash,
        footer.plain_bytes,
        footer.block_rows,
        footer.block_index.item_count,
        element,
        _ENCODING_IDS[compression.encoding],
        _CODEC_IDS[compression.codec],
        compression.level & 0xFF,
        compression.block_size.bit_length() - 1,
        4,
        *footer.block_index,
        *footer.validity,
        *footer.dictionary,
        *footer.runs,
        footer.type.encode(),
        0,
        MAGIC,
    )
    unsigned = packed[:-12]
    return unsigned + struct.pack("<I", checksum_of(unsigned)) + MAGIC


def check_header(content: bytes) -> None:
    """Raise where the first bytes aren't those of a column file that this package reads."""
    if content in _HEADERS:
        return
    magic, version, length, checksum = _HEADER.unpack(content)
    if magic != MAGIC:
        raise HeaderError(f"file doesn't begin as a column file does: got {magic!r}, expected {MAGIC!r}")
    if version > FORMAT:
        raise UnsupportedVersionError(
            f"column file has format {version}, this package reads up to {FORMAT}; install a newer colonnade"
        )
    if checksum_of(content[:-4]) != checksum:
        raise ChecksumError("checksum of the header doesn't match its bytes")
    raise HeaderError(
        f"header has format {version} and {length} bytes; expected 1 to {FORMAT} and {HEADER_BYTES}"
    )


def read_footer(content: bytes, *, file_bytes: int) -> tuple[Footer, int]:
    """Give the footer and the element number, checked against the size of the file."""
    *_, checksum, magic = fields = _FOOTER.unpack(content)
    if magic != MAGIC:
        raise TruncatedError(f"file doesn't end as a column file does: got {magic!r}, expected {MAGIC!r}")
    if checksum_of(content[:-12]) != checksum:
        raise ChecksumError("checksum of the footer doesn't match its bytes")
    rows, nulls, values_offset, values_bytes, values_hash, plain_bytes, block_rows, blocks = fields[:8]
    element, encoding, codec, level, log2_size, section_count = fields[8:14]
    sections = [Section._make(fields[at : at + 4]) for at in (14, 18, 22, 26)]
    if values_offset != HEADER_BYTES or section_count != len(sections) or blocks != sections[0].item_count:
        raise HeaderError("footer holds fields that can't be")
    try:
        compression = _compression(encoding, codec, level, log2_size)
        type_text = fields[30].decode("utf-8")
    except (IndexError, CompressionError, UnicodeDecodeError) as error:
        raise HeaderError(f"footer holds what can't be: {error}") from None
    end = HEADER_BYTES + values_bytes
    for section in sections:
        if section.length:
            if section.offset != aligned(end):
                raise HeaderError(f"section starts at byte {section.offset}, expected {aligned(end)}")
            end = section.offset + section.length
    if aligned(end) + FOOTER_BYTES != file_bytes:
        raise TruncatedError(f"file has {file_bytes} bytes, expected {aligned(end) + FOOTER_BYTES}")
    return (
        Footer(
            rows, nulls, values_bytes, values_hash, plain_bytes, block_rows, type_text, compression, *sections
        ),
        element,
    )


def aligned(offset: int) -> int:
    """Give the next multiple of 64."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def checksum_of(content: bytes | memoryview) -> int:
    """Give the CRC-32C of bytes."""
    return crc32c(np.frombuffer(content, dtype=np.uint8))


@lru_cache(maxsize=256)
def _compression(encoding: int, codec: int, level: int, log2_size: int) -> Compression:
    signed = level - 256 if level > 127 else level  # noqa: PLR2004 - the sign bit of a byte
    return Compression(ENCODINGS[encoding], tuple(CODECS)[codec], signed, 1 << log2_size)


_HEADERS: Final = frozenset(write_header(version) for version in range(1, FORMAT + 1))
