from __future__ import annotations

import os
from pathlib import Path

import pytest

from colonnade.errors import NotFoundError
from colonnade.store.clean import DAY_NS, clean
from colonnade.store.table_source import close_columns, open_source
from colonnade.store.verify import verify
from colonnade.store.version import TableStore
from store.rows import DAY, append, new_table, replace_all, trades, write


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    close_columns()
    table = new_table(tmp_path / "db", trades(100))
    replace_all(TableStore(table.path, durable=False), trades(50))
    append(TableStore(table.path, durable=False), trades(30, seed=2))
    return table


def parts(table: TableStore) -> set[str]:
    return {path.name for path in table.path.glob("date=*/part-*")}


def test_nothing_goes_before_its_time(table: TableStore) -> None:
    before = sorted(table.path.rglob("*"))

    cleaned = clean(table)

    assert (cleaned.versions, cleaned.leftovers) == (0, 0)
    assert sorted(table.path.rglob("*")) == before


def test_old_versions_and_what_only_they_name_go(table: TableStore) -> None:
    kept = {part.folder for part in table.manifest(table.current(), DAY).parts}

    cleaned = clean(table, keep_ns=0)

    assert table.numbers() == [3]
    assert parts(table) == kept
    assert (cleaned.versions, cleaned.leftovers) == (2, 3)  # two manifests and a part
    assert cleaned.byte_count > 0
    assert verify(open_source(table.path)).findings == []
    with pytest.raises(NotFoundError, match="kept are 3 to 3"):
        table.read(1)


def test_what_a_reader_holds_stays(table: TableStore) -> None:
    reader = open_source(table.path, 1)

    clean(table, keep_ns=0)

    assert table.numbers() == [1, 3]
    assert reader.partition(DAY).parts[0].column("price").read(0, 100).equals(trades(100)["price"])
    del reader
    clean(table, keep_ns=0)
    assert table.numbers() == [3]


def test_parts_of_a_writer_that_died_go_once_they_are_old(table: TableStore) -> None:
    entry = write(table, trades(10))
    draft = table.path / "versions" / ".00000009.json-0"
    draft.write_text("half")

    clean(table)
    assert entry.folder in parts(table)
    for path in [
        draft,
        *table.path.glob(f"date=*/{entry.folder}"),
        *table.path.glob(f"date=*/{entry.folder}/*"),
    ]:
        os.utime(path, ns=(0, 0))
    clean(table, keep_ns=DAY_NS)

    assert entry.folder not in parts(table)
    assert not draft.exists()


def test_a_table_goes_on_after_it_was_cleaned(table: TableStore) -> None:
    clean(table, keep_ns=0)

    append(TableStore(table.path, durable=False), trades(5, seed=3))

    assert table.current().number == 4
    assert table.current().row_counts.tolist() == [85]
