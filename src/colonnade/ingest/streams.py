"""Files to streams of bytes: plain, gz, zst, xz, and the members of a zip.

What a file is, its first bytes tell, not its name. A file that is cut short or damaged raises `SourceError`
when the damage is reached; nothing is guessed.
"""

from __future__ import annotations

import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from colonnade.errors import NotFoundError, SourceError

_READ_BYTES: Final = 1 << 20
_PIECE_BYTES: Final = 4 << 20  # most decoded bytes in one step, so that a bomb can't fill the memory
_MAGICS: Final = (
    (b"\x1f\x8b", "gz"),
    (b"\x28\xb5\x2f\xfd", "zst"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"BZh", "bz2"),
    (b"DBN", "dbn"),
    (b"\xff\xff\xff\xff", "arrow stream"),
)
_REFUSED: Final = {
    "bz2": "bzip2 isn't supported; unpack it, or pack it as gz or zst",
    "dbn": "DBN files aren't supported; convert it to CSV or Parquet with the vendor's tool",
    "arrow stream": "a stream of Arrow isn't supported; write it as an Arrow file",
}
_DAMAGE: Final = (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError, zipfile.BadZipFile)

Watch = Callable[[bytes], None]


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


@dataclass(frozen=True, slots=True)
class TextStream:
    """The decoded bytes of one file or zip member.

    Attributes
    ----------
    path
        The file.
    member
        Name of the zip member, or None.
    blocks
        The bytes, in pieces of any size; read once.
    """

    path: str
    member: str | None
    blocks: Iterator[bytes]

    @property
    def label(self) -> str:
        """How messages name it: the file, and the member in brackets."""
        return self.path if self.member is None else f"{self.path}[{self.member}]"


def file_kind(path: Path) -> str:
    """Tell what a file is by its first bytes: text, gz, zst, xz, zip, parquet or arrow.

    Raises
    ------
    SourceError
        If it is of a kind that can't be read.
    """
    with _opened(path) as file:
        start = file.read(8)
    for magic, kind in _MAGICS:
        if start.startswith(magic):
            if kind in _REFUSED:
                raise SourceError(f"{path}: {_REFUSED[kind]}")
            return kind
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{path}: the text is UTF-16; convert it to UTF-8")
    return "text"


def text_streams(
    path: Path, *, member: str | None = None, watch: Watch | None = None
) -> Iterator[TextStream]:
    """Yield the decoded streams of a file: one, or one for each zip member that ``member`` matches.

    ``watch`` is called with each piece of the file as it is read; for a zip, with all of it beforehand.
    """
    kind = file_kind(path)
    if kind == "zip":
        if watch is not None:
            watch_file(path, watch)
        yield from _zip_members(path, member)
    else:
        yield TextStream(str(path), None, _file_blocks(path, kind, watch))


def watch_file(path: Path, watch: Watch) -> None:
    """Show a whole file to ``watch``."""
    with _opened(path) as file:
        for _ in _raw_blocks(file, watch):
            pass


def _file_blocks(path: Path, kind: str, watch: Watch | None) -> Iterator[bytes]:
    with _opened(path) as file, _damage_named(str(path), kind):
        raw = _raw_blocks(file, watch)
        yield from raw if kind == "text" else _decompressed(raw, _MAKERS[kind])


def _zip_members(path: Path, pattern: str | None) -> Iterator[TextStream]:
    with _opened(path), _damage_named(str(path), "zip"), zipfile.ZipFile(path) as archive:
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
        chosen = [entry for entry in files if pattern is None or re.search(pattern, entry.filename)]
        listed = ", ".join(repr(entry.filename) for entry in files[:10])
        if not chosen:
            wanted = f"matches {pattern!r}" if pattern else "is in it"
            raise SourceError(f"{path}: no zip member {wanted}; there are {listed or 'none'}")
        if pattern is None and len(chosen) > 1:
            hint = "say which with a description's member = 'regular expression'"
            raise SourceError(f"{path}: the zip holds {len(chosen)} members ({listed}); {hint}")
        for entry in chosen:
            yield TextStream(str(path), entry.filename, _member_blocks(archive, entry))


def _member_blocks(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with _damage_named(f"{archive.filename}[{entry.filename}]", "zip"), archive.open(entry) as file:
        while block := file.read(_READ_BYTES):
            yield block


def _raw_blocks(file: BufferedReader, watch: Watch | None) -> Iterator[bytes]:
    while block := file.read(_READ_BYTES):
        if watch is not None:
            watch(block)
        yield block


def _decompressed(raw: Iterator[bytes], make: Callable[[], _Decompressor]) -> Iterator[bytes]:
    decoder = make()
    for block in raw:
        rest = block
        while rest or not (decoder.eof or decoder.needs_input):
            if decoder.eof:  # the next member or frame; zeros between them are padding
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                decoder = make()
            piece = decoder.decompress(rest, _PIECE_BYTES)
            rest = decoder.unused_data if decoder.eof else b""
            if piece:
                yield piece
    if not decoder.eof:
        raise EOFError("the end is missing")


class _GzipDecompressor:
    """The decompressor of `zlib`, with the manners of those of `lzma` and `zstd`."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_MAKERS: Final[dict[str, Callable[[], _Decompressor]]] = {
    "gz": _GzipDecompressor,
    "xz": lzma.LZMADecompressor,
    "zst": zstd.ZstdDecompressor,
}


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"no file {str(path)!r}") from None
    except OSError as error:
        raise SourceError(f"can't read {str(path)!r}: {error.strerror or error}") from None
    with file:
        yield file


@contextmanager
def _damage_named(label: str, kind: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        reason = f"{label}: the {kind} data is cut short or damaged ({error})"
        raise SourceError(f"{reason}; get the file again") from None
    except (RuntimeError, NotImplementedError) as error:  # what zipfile says of encryption and methods
        raise SourceError(f"{label}: {error}") from None
