"""Every name on disk, once.

```
db/
  colonnade.json                        marker of a database
  trade/                                a table
    versions/00000042.json              one state of the table
    date=2024-01-02/                    a partition
      manifest-0123456789abcdef.json    what it holds in some versions; the name is the hash of the content
      part-0123456789abcdef/            a part; the name is random, so that writers need no lock
        price-01234567.col              a column; likewise
```

Names that begin with a dot are being written, and belong to nobody if their writer died.
"""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

from colonnade.errors import HeaderError, SchemaError
from colonnade.schema import days_to_date

MARKER: Final = "colonnade.json"
VERSIONS: Final = "versions"
_FIRST_DAY: Final = -719_162  # 0001-01-01
_LAST_DAY: Final = 2_932_896  # 9999-12-31
_TABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_VERSION: Final = re.compile(r"(\d{8,19})\.json")
_MANIFEST: Final = re.compile(r"manifest-[0-9a-f]{16}\.json")
_PART: Final = re.compile(r"part-[0-9a-f]{16}")
_WRITING: Final = "writing"
_STORED: Final = re.compile(r"[A-Za-z0-9_%-][A-Za-z0-9_.%-]{0,199}")


def check_table_name(name: str) -> None:
    """Raise `SchemaError` where a name can't be a table's."""
    if _TABLE.fullmatch(name) is None:
        expected = "a letter, then letters, digits and underscores, 100 at most"
        raise SchemaError(f"{name!r} can't be the name of a table; expected {expected}")


def is_table_name(name: str) -> bool:
    """Whether a table may have this name."""
    return _TABLE.fullmatch(name) is not None


def version_name(number: int) -> str:
    """Give the file name of a version."""
    return f"{number:08d}.json"


def version_number(name: str) -> int | None:
    """Give the version that a file name stands for, or None for files that are no versions."""
    match = _VERSION.fullmatch(name)
    return int(match[1]) if match else None


def partition_name(column: str, days: int) -> str:
    """Give the folder name of a date's partition."""
    if not _FIRST_DAY <= days <= _LAST_DAY:
        raise SchemaError(f"a partition can't be {days} days from 1970-01-01; expected years 1 to 9999")
    return f"{_quoted(column)}={days_to_date(days).isoformat()}"


def manifest_name(content_hash: str) -> str:
    """Give the file name of a manifest with that hash."""
    return f"manifest-{content_hash}.json"


def new_part_name() -> str:
    """Give a folder name that no part has."""
    return f"part-{secrets.token_hex(8)}"


def new_column_name(column: str) -> str:
    """Give a file name that no column file of the part has."""
    return f"{_quoted(column)}-{secrets.token_hex(4)}.col"


def temporary(path: Path) -> Path:
    """Give a name beside ``path`` that nobody reads and no other writer uses."""
    return path.with_name(f".{path.name}-{secrets.token_hex(8)}")


def is_temporary(name: str) -> bool:
    """Whether a file name is that of a draft, or of a writer at work."""
    return name.startswith(".")


def writing_name(table: Path) -> Path:
    """Give the file that tells, as long as it is locked, that a writer is at work in a table."""
    return temporary(table / _WRITING)


def is_writing_name(name: str) -> bool:
    """Whether a file name is one of `writing_name`."""
    return name.startswith(f".{_WRITING}-")


def is_manifest_name(name: str) -> bool:
    """Whether a file name is that of a manifest."""
    return _MANIFEST.fullmatch(name) is not None


def is_part_name(name: str) -> bool:
    """Whether a folder name is that of a part."""
    return _PART.fullmatch(name) is not None


def is_column_name(name: str) -> bool:
    """Whether a file name is that of a column file."""
    return name.endswith(".col")


def check_stored_name(name: object) -> str:
    """Give a name read from a manifest; raise `HeaderError` where it could lead out of its folder."""
    if not isinstance(name, str) or _STORED.fullmatch(name) is None:
        raise HeaderError(f"{name!r} can't be the name of a stored file")
    return name


@lru_cache(maxsize=1024)
def _quoted(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E").replace("~", "%7E")[:80]
