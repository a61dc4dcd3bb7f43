"""Opening the database that a command names."""

from __future__ import annotations

from pathlib import Path

from colonnade.api.database import Database, create, open_database
from colonnade.store.filenames import MARKER


def open_or_create(folder: Path) -> Database:
    """Open a database, or make one where there is none."""
    return open_database(folder) if (folder / MARKER).exists() else create(folder)
