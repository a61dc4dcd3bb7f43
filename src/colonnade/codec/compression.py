"""How a column is compressed: encoding, codec, level and block size, and the text form of the four.

```
[encoding "+"] codec [":" level] ["@" block size]      bitpack+zstd:3@128KiB
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from colonnade.errors import CompressionError

ENCODINGS: Final = ("plain", "bitpack")
CODECS: Final[dict[str, tuple[int, int, int]]] = {  # name: lowest, highest, default level
    "none": (0, 0, 0),
    "lz4": (1, 12, 1),
    "zstd": (-7, 22, 3),
}
MIN_BLOCK_SIZE: Final = 4 << 10
MAX_BLOCK_SIZE: Final = 1 << 20
DEFAULT_BLOCK_SIZE: Final = 128 << 10
_KDB_CODECS: Final = {0: "none", 4: "lz4", 5: "zstd"}  # 1 qipc, 2 gzip, 3 snappy are not here yet
_UNITS: Final = {
    "": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10,
    "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compression:
    """Encoding, codec, level and block size of a column.

    Attributes
    ----------
    encoding
        Type-aware transform of a block's values; see `ENCODINGS`.
    codec
        Byte compressor over what the encoding left; see `CODECS`.
    level
        The codec's effort; 0 where a codec has none.
    block_size
        Plain bytes of a block before encoding, a power of two from 4 KiB to 1 MiB.

    Examples
    --------
    >>> Compression.parse("zstd:10")
    Compression(encoding='plain', codec='zstd', level=10, block_size=131072)
    >>> str(Compression.parse((17, 5, 10)))
    'zstd:10'
    >>> str(Compression.parse("bitpack@64KiB"))
    'bitpack@64KiB'
    """

    encoding: str = "plain"
    codec: str = "none"
    level: int = 0
    block_size: int = DEFAULT_BLOCK_SIZE

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise CompressionError(f"unknown encoding {self.encoding!r}; there are {', '.join(ENCODINGS)}")
        if self.codec not in CODECS:
            raise CompressionError(f"unknown codec {self.codec!r}; there are {', '.join(CODECS)}")
        low, high, _ = CODECS[self.codec]
        if not low <= self.level <= high:
            raise CompressionError(
                f"level {self.level} is out of range for codec {self.codec!r}: expected {low} to {high}"
            )
        size = self.block_size
        if not MIN_BLOCK_SIZE <= size <= MAX_BLOCK_SIZE or size & (size - 1):
            raise CompressionError(f"block size {size} B isn't a power of two from 4 KiB to 1 MiB")

    @classmethod
    def parse(cls, spec: str | tuple[int, int, int] | Compression) -> Compression:
        """Read the text form, or kdb+'s (log2 block size, algorithm, level).

        Raises
        ------
        CompressionError
            If the text can't be read, or names what isn't there.
        """
        if isinstance(spec, Compression):
            return spec
        if isinstance(spec, tuple):
            return cls._of_kdb(spec)
        head, at, size = spec.strip().partition("@")
        block_size = _parse_size(size, spec) if at else DEFAULT_BLOCK_SIZE
        names, _, level = head.partition(":")
        parts = [part.strip() for part in names.split("+")]
        if len(parts) == 1:
            encoding, codec = (parts[0], "none") if parts[0] in ENCODINGS else ("plain", parts[0])
        elif len(parts) == 2:  # noqa: PLR2004 - encoding and codec
            encoding, codec = parts
        else:
            reason = f"can't read compression {spec!r}; expected [encoding+]codec[:level][@size]"
            raise CompressionError(reason)
        if codec not in CODECS:
            known = f"encodings are {', '.join(ENCODINGS)}, codecs {', '.join(CODECS)}"
            raise CompressionError(f"unknown compression {spec!r}; {known}")
        return cls(encoding, codec, _parse_level(level, codec, spec), block_size)

    @classmethod
    def _of_kdb(cls, triple: tuple[int, int, int]) -> Compression:
        log2_size, algorithm, level = triple
        if triple == (0, 0, 0):  # kdb+'s form of no compression
            return cls()
        if algorithm not in _KDB_CODECS:
            known = "there are 0 none, 4 lz4, 5 zstd"
            raise CompressionError(f"kdb+ algorithm {algorithm} isn't supported; {known}")
        if not 12 <= log2_size <= 20:  # noqa: PLR2004 - the range that kdb+ documents
            raise CompressionError(f"log2 block size {log2_size} is out of range: expected 12 to 20")
        codec = _KDB_CODECS[algorithm]
        if codec == "lz4":
            level = min(max(level, 1), 12)  # the lz4 library takes 0 as 1, and 13 to 16 as 12
        return cls("plain", codec, level if codec != "none" else 0, 1 << log2_size)

    def __str__(self) -> str:
        names = [self.encoding] if self.encoding != "plain" or self.codec == "none" else []
        if self.codec != "none":
            names.append(f"{self.codec}:{self.level}")
        size = "" if self.block_size == DEFAULT_BLOCK_SIZE else f"@{format_size(self.block_size)}"
        return "+".join(names) + size


def format_size(size: int) -> str:
    """Give a block size as text: ``128KiB``, ``1MiB``."""
    return f"{size >> 20}MiB" if size % (1 << 20) == 0 else f"{size >> 10}KiB"


def _parse_size(text: str, spec: str) -> int:
    match = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]*)\s*", text)
    if match is None or match[2].upper() not in _UNITS:
        raise CompressionError(f"can't read block size {text!r} in {spec!r}; expected for example '128KiB'")
    return int(match[1]) * _UNITS[match[2].upper()]


def _parse_level(text: str, codec: str, spec: str) -> int:
    if not text:
        return CODECS[codec][2]
    try:
        return int(text)
    except ValueError:
        raise CompressionError(f"can't read level {text!r} in {spec!r}; expected an integer") from None
