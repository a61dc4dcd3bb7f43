"""The JSON documents of a database: marker, versions, manifests.

A document is one JSON object on one line that begins, byte for byte, with
``{"format":2,"kind":"manifest","checksum":"0123456789abcdef",`` and whose checksum covers all bytes after it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from colonnade.errors import ChecksumError, HeaderError, TruncatedError, UnsupportedVersionError

FORMAT: Final = 2  # 1 is read, too
_START: Final = re.compile(rb'\{"format":(\d{1,9}),"kind":"([a-z]{1,20})",')
_CHECKSUM: Final = re.compile(rb'"checksum":"([0-9a-f]{16})",')


def hash_bytes(content: bytes | memoryview) -> str:
    """Give BLAKE2b with 8 bytes of output, as 16 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def write_document(kind: str, fields: Mapping[str, Any]) -> bytes:
    """Give the bytes of a document; it must have a field."""
    body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False, allow_nan=False)[1:].encode() + b"\n"
    return f'{{"format":{FORMAT},"kind":"{kind}","checksum":"{hash_bytes(body)}",'.encode() + body


def kind_of(content: bytes) -> str | None:
    """Give the kind of the document that begins so, unchecked; None where none does."""
    start = _START.match(content)
    return None if start is None else start[2].decode()


def read_document(content: bytes, kind: str) -> dict[str, Any]:
    """Give the fields of a document.

    Raises
    ------
    UnsupportedVersionError
        If a newer version of the package wrote it.
    CorruptionError
        If it isn't what was written.
    """
    start = _START.match(content)
    if start is None:
        raise HeaderError(f"{kind} doesn't begin as a document does: got {content[:40]!r}")
    if int(start[1]) > FORMAT:
        raise UnsupportedVersionError(
            f"{kind} has format {int(start[1])}, this package reads up to {FORMAT}; install a newer colonnade"
        )
    found = start[2].decode()
    checksum = _CHECKSUM.match(content, start.end())
    if int(start[1]) < 1 or found != kind or checksum is None:
        raise HeaderError(f"{kind} has no valid start: got {content[:80]!r}")
    if not content.endswith(b"}\n"):
        raise TruncatedError(f"{kind} is cut off: got {len(content)} bytes without the end")
    if hash_bytes(memoryview(content)[checksum.end() :]) != checksum[1].decode():
        raise ChecksumError(f"checksum of the {kind} doesn't match its {len(content)} bytes")
    fields: dict[str, Any] = json.loads(content)
    return fields
