"""How a column is compressed: encoding, codec, level and block size, and the text form of the four.

```
[encoding "+"] codec [":" level] ["@" block size]      bitpack+zstd:3@128KiB
pco [":" level] ["@" block size]                       pco:8@1MiB
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from colonnade.errors import CompressionError

ENCODINGS: Final = ("plain", "bitpack", "pco", "bytes", "dict", "runs")  # by their ids
CODECS: Final[dict[str, tuple[int, int, int]]] = {  # by their ids; name: lowest, highest, default level
    "none": (0, 0, 0),
    "lz4": (1, 16, 1),  # the lz4 library takes 13 to 16 as 12
    "zstd": (-7, 22, 3),
    "snappy": (0, 0, 0),
    "gzip": (0, 9, 6),
    "qipc": (0, 0, 0),
}
PCO_LEVELS: Final = (0, 12, 8)  # lowest, highest, default
MIN_BLOCK_SIZE: Final = 4 << 10
MAX_BLOCK_SIZE: Final = 1 << 20
DEFAULT_BLOCK_SIZE: Final = 128 << 10
PCO_BLOCK_SIZE: Final = 1 << 20  # what pco learns of a block serves all its pages, so large ones pay
_AFTER_PLAIN: Final = ("snappy", "gzip", "qipc")  # stand after no other encoding
_KDB_CODECS: Final = ("none", "qipc", "gzip", "snappy", "lz4", "zstd")  # by kdb+'s number of the algorithm
_KDB_TEXT: Final = re.compile(r"(\()?\s*(\d+)[\s;,]+(\d+)[\s;,]+(-?\d+)\s*(?(1)\))")
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
        Byte compressor over what the encoding left; see `CODECS`. After ``bitpack``, ``bytes``, ``dict`` and
        ``runs`` it is ``none``, ``lz4`` or ``zstd``, after ``pco`` always ``none``.
    level
        The codec's effort, for ``pco`` its own; 0 where there is none.
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
    >>> Compression.parse("pco")
    Compression(encoding='pco', codec='none', level=8, block_size=1048576)
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
        if self.encoding == "pco" and self.codec != "none":
            raise CompressionError(f"no codec stands after 'pco': got {self.codec!r}")
        if self.encoding != "plain" and self.codec in _AFTER_PLAIN:
            raise CompressionError(
                f"codec {self.codec!r} can't stand after {self.encoding!r}, only after 'plain'; "
                f"use {self.codec!r} alone, or 'lz4' or 'zstd'"
            )
        self._check_level()
        size = self.block_size
        if not MIN_BLOCK_SIZE <= size <= MAX_BLOCK_SIZE or size & (size - 1):
            raise CompressionError(f"block size {size} B isn't a power of two from 4 KiB to 1 MiB")

    def _check_level(self) -> None:
        low, high, _ = _levels(self.encoding, self.codec)
        if low <= self.level <= high:
            return
        name = self.encoding if self.codec == "none" else self.codec
        if low == high:
            raise CompressionError(f"{name!r} has no level: got {self.level}")
        raise CompressionError(f"level {self.level} is out of range for {name!r}: expected {low} to {high}")

    @classmethod
    def parse(cls, spec: str | tuple[int, int, int] | Compression) -> Compression:
        """Read the text form, or kdb+'s (log2 block size, algorithm, level), as numbers or as text.

        Raises
        ------
        CompressionError
            If the text can't be read, or names what isn't there.
        """
        if isinstance(spec, Compression):
            return spec
        if isinstance(spec, tuple):
            return cls._of_kdb(spec)
        triple = _KDB_TEXT.fullmatch(spec.strip())
        if triple:
            return cls._of_kdb((int(triple[2]), int(triple[3]), int(triple[4])))
        head, at, size = spec.strip().partition("@")
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
        block_size = _parse_size(size, spec) if at else default_block_size(encoding)
        return cls(encoding, codec, _parse_level(level, _levels(encoding, codec)[2], spec), block_size)

    @classmethod
    def _of_kdb(cls, triple: tuple[int, int, int]) -> Compression:
        log2_size, algorithm, level = triple
        if triple == (0, 0, 0):  # kdb+'s form of no compression
            return cls()
        if not 0 <= algorithm < len(_KDB_CODECS):
            known = ", ".join(f"{number} {name}" for number, name in enumerate(_KDB_CODECS))
            raise CompressionError(f"kdb+ algorithm {algorithm} isn't supported; there are {known}")
        if not 12 <= log2_size <= 20:  # noqa: PLR2004 - the range that kdb+ documents
            raise CompressionError(f"log2 block size {log2_size} is out of range: expected 12 to 20")
        codec = _KDB_CODECS[algorithm]
        low, high, _ = CODECS[codec]
        if codec == "lz4" and level == 0:
            level = 1  # as the lz4 library takes it
        return cls("plain", codec, 0 if low == high else level, 1 << log2_size)

    def __str__(self) -> str:
        names = [self.encoding] if self.encoding != "plain" or self.codec == "none" else []
        if self.codec != "none":
            names.append(self.codec)
        low, high, _ = _levels(self.encoding, self.codec)
        level = "" if low == high else f":{self.level}"
        is_default = self.block_size == default_block_size(self.encoding)
        size = "" if is_default else f"@{format_size(self.block_size)}"
        return "+".join(names) + level + size


def default_block_size(encoding: str) -> int:
    """Give the plain bytes of a block that an encoding gets where none are named."""
    return PCO_BLOCK_SIZE if encoding == "pco" else DEFAULT_BLOCK_SIZE


def _levels(encoding: str, codec: str) -> tuple[int, int, int]:
    """Give the lowest, the highest and the default level."""
    return PCO_LEVELS if encoding == "pco" else CODECS[codec]


def format_size(size: int) -> str:
    """Give a block size as text: ``128KiB``, ``1MiB``."""
    return f"{size >> 20}MiB" if size % (1 << 20) == 0 else f"{size >> 10}KiB"


def _parse_size(text: str, spec: str) -> int:
    match = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]*)\s*", text)
    if match is None or match[2].upper() not in _UNITS:
        raise CompressionError(f"can't read block size {text!r} in {spec!r}; expected for example '128KiB'")
    return int(match[1]) * _UNITS[match[2].upper()]


def _parse_level(text: str, default: int, spec: str) -> int:
    if not text.strip():
        return default
    try:
        return int(text)
    except ValueError:
        raise CompressionError(f"can't read level {text!r} in {spec!r}; expected an integer") from None
