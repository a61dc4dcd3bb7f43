"""How much memory an ingest may take."""

from __future__ import annotations

import os
from typing import Final

_SHARE: Final = 4
_LEAST: Final = 256 << 20
_MOST: Final = 16 << 30


def default_memory_bytes() -> int:
    """Give a quarter of the machine's memory, between 256 MiB and 16 GiB."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return _LEAST
    return min(max(total // _SHARE, _LEAST), _MOST)
