"""The folder of a database: its marker and its tables."""

from __future__ import annotations

import os
from pathlib import Path

from colonnade.errors import AlreadyExistsError, NotFoundError, located
from colonnade.store.atomic import make_folders, publish, read_file, sync_folders
from colonnade.store.document import read_document, write_document
from colonnade.store.filenames import MARKER, check_table_name, is_table_name
from colonnade.store.version import TableStore


class DatabaseStore:
    """The tables in one folder.

    Parameters
    ----------
    path
        Folder of the database.
    durable
        Whether commits survive a power cut; see `atomic`.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        self.durable = durable

    @classmethod
    def create(cls, path: str | Path, *, durable: bool = True) -> DatabaseStore:
        """Create a database in a folder that is new or empty.

        Raises
        ------
        AlreadyExistsError
            If there is a database, or anything else, at the path.
        """
        folder = _whole(path)
        if folder.exists() and not folder.is_dir():
            raise AlreadyExistsError(f"'{folder}' is a file; expected a new or an empty folder")
        if (folder / MARKER).exists():
            raise AlreadyExistsError(f"there is a database in '{folder}' already; open it instead")
        if folder.exists() and any(folder.iterdir()):
            raise AlreadyExistsError(f"folder '{folder}' isn't empty; expected a new or an empty folder")
        make_folders(folder)
        if not publish(folder / MARKER, write_document("database", {"tables": "folders"}), durable=durable):
            raise AlreadyExistsError(f"there is a database in '{folder}' already; open it instead")
        sync_folders([folder, folder.parent], durable=durable)
        return cls(folder, durable=durable)

    @classmethod
    def open(cls, path: str | Path, *, durable: bool = True) -> DatabaseStore:
        """Open a database.

        Raises
        ------
        NotFoundError
            If there is none.
        UnsupportedVersionError
            If a newer version of the package wrote it.
        """
        folder = _whole(path)
        if not (folder / MARKER).is_file():
            hint = f"there is no {MARKER} in it" if folder.is_dir() else "there is no such folder"
            raise NotFoundError(f"no database at '{folder}': {hint}; create one with create() or ingest")
        with located(file=str(folder / MARKER)):
            read_document(read_file(folder / MARKER), "database")
        return cls(folder, durable=durable)

    def table_names(self) -> list[str]:
        """List the tables, sorted."""
        folders = [entry.name for entry in self.path.iterdir() if is_table_name(entry.name)]
        return sorted(name for name in folders if TableStore(self.path / name).exists())

    def dropped_names(self) -> list[str]:
        """List the tables that were dropped, sorted; `clean` removes what is left of them."""
        tables = [TableStore(entry) for entry in self.path.iterdir() if is_table_name(entry.name)]
        return sorted(table.name for table in tables if table.newest_number() and not table.exists())

    def table(self, name: str, *, durable: bool | None = None) -> TableStore:
        """Give the versions of a table, which may not exist yet; see `open_table`."""
        check_table_name(name)
        return TableStore(self.path / name, durable=self.durable if durable is None else durable)

    def open_table(self, name: str) -> TableStore:
        """Give the versions of a table; raise `NotFoundError` with what there is."""
        names = self.table_names()
        if name not in names:
            listed = ", ".join(map(repr, names)) or "none yet"
            raise NotFoundError(f"no table {name!r} in database '{self.path}'; tables: {listed}")
        return self.table(name)


def _whole(path: str | Path) -> Path:
    """Give the path from the root, links followed as far as they lead; `Path.resolve` fails on a loop."""
    return Path(os.path.realpath(path))
