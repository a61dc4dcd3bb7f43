from __future__ import annotations

from pathlib import Path

import pytest

from colonnade.errors import (
    AlreadyExistsError,
    CorruptionError,
    NotFoundError,
    SchemaError,
    UnsupportedVersionError,
)
from colonnade.store.database import DatabaseStore
from store.rows import TRADES


def test_a_database_is_created_once_and_opened_again(tmp_path: Path) -> None:
    DatabaseStore.create(tmp_path / "db", durable=False)

    assert DatabaseStore.open(tmp_path / "db").table_names() == []
    with pytest.raises(AlreadyExistsError, match="open it"):
        DatabaseStore.create(tmp_path / "db")


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")

    with pytest.raises(AlreadyExistsError, match="isn't empty"):
        DatabaseStore.create(tmp_path)
    with pytest.raises(NotFoundError, match=r"colonnade\.json"):
        DatabaseStore.open(tmp_path)
    with pytest.raises(AlreadyExistsError, match="is a file"):
        DatabaseStore.create(tmp_path / "thesis.txt")


def test_tables_are_listed_once_they_have_a_version(tmp_path: Path) -> None:
    db = DatabaseStore.create(tmp_path / "db", durable=False)
    db.table("trade").create(TRADES)
    db.table("quote").create(TRADES)
    (tmp_path / "db" / "half_made" / "versions").mkdir(parents=True)

    assert db.table_names() == ["quote", "trade"]
    with pytest.raises(NotFoundError, match="'quote', 'trade'"):
        db.open_table("half_made")


@pytest.mark.parametrize("name", ["", "..", "a/b", "1st", "é", "a b", "x" * 101, "versions.json"])
def test_names_that_can_be_no_table_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SchemaError, match="name of a table"):
        DatabaseStore.create(tmp_path / "db", durable=False).table(name)


def test_a_marker_that_is_damaged_or_newer_is_refused(tmp_path: Path) -> None:
    DatabaseStore.create(tmp_path / "db", durable=False)
    marker = tmp_path / "db" / "colonnade.json"
    content = marker.read_bytes()

    marker.write_bytes(content.replace(b'{"format":2', b'{"format":3'))
    with pytest.raises(UnsupportedVersionError, match="format 3"):
        DatabaseStore.open(tmp_path / "db")
    marker.write_bytes(content[:-5])
    with pytest.raises(CorruptionError):
        DatabaseStore.open(tmp_path / "db")
