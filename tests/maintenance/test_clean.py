from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from colonnade.errors import CorruptionError, NotFoundError
from colonnade.maintenance import alter
from colonnade.maintenance.clean import DAY_NS, Cleaned, clean, plan_clean
from colonnade.maintenance.verify import verify
from colonnade.store.filenames import manifest_name
from colonnade.store.manifest import Change, ColumnChange, read_manifest
from colonnade.store.table_source import close_columns, open_source
from colonnade.store.version import Addition, Edits, TableStore
from store.rows import DAY, TRADES, append, new_table, replace_all, trades, write


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

    assert (cleaned.versions, cleaned.files) == (0, 0)
    assert sorted(table.path.rglob("*")) == before


def test_old_versions_and_what_only_they_name_go(table: TableStore) -> None:
    kept = {part.folder for part in table.manifest(table.current(), DAY).parts}

    cleaned = clean(table, keep_ns=0)

    assert table.numbers() == [3]
    assert parts(table) == kept
    assert (cleaned.versions, cleaned.files) == (2, 7)  # two manifests and the five columns of a part
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


def test_plan_tells_what_goes_and_removes_nothing(table: TableStore) -> None:
    before = sorted(table.path.rglob("*"))

    planned = plan_clean(table, keep_ns=0)

    assert sorted(table.path.rglob("*")) == before
    assert clean(table, keep_ns=0) == planned
    assert plan_clean(table, keep_ns=0) == Cleaned(0, 0, 0)


def test_column_files_that_no_version_names_go_from_parts_that_stay(table: TableStore) -> None:
    old = table.current()
    before = table.manifest(old, DAY).parts[0]
    price = before.columns["price"]
    folder = table.partition_folder(DAY, TRADES) / before.folder
    renewed = replace(price, file="price-01234567.col")
    shutil.copy(folder / price.file, folder / renewed.file)
    change = Change(columns=(ColumnChange(before.folder, "price", price, renewed),))
    table.commit(old, Edits(changed={DAY: change}))

    clean(table, keep_ns=0)

    assert not (folder / price.file).exists()
    assert verify(open_source(table.path)).findings == []


def test_column_file_of_a_writer_that_died_goes_from_a_part_that_stays(table: TableStore) -> None:
    part = table.manifest(table.current(), DAY).parts[0]
    left = table.partition_folder(DAY, TRADES) / part.folder / "price-76543210.col"
    left.write_bytes(b"half")
    os.utime(left, ns=(0, 0))

    assert clean(table) == Cleaned(0, 1, 4)

    assert not left.exists()
    assert verify(open_source(table.path)).findings == []


def test_what_a_writer_at_work_has_written_stays_however_old_it_is(table: TableStore) -> None:
    with table.writing():
        entry = write(table, trades(10))
        time.sleep(1.1)  # longer than the clock of a file system may be behind
        clean(table, keep_ns=0)
        table.commit(table.current(), Edits(appended={DAY: Addition((entry,))}))

    assert verify(open_source(table.path)).findings == []
    assert table.current().row_counts.tolist() == [90]


def test_nothing_is_left_of_a_writer_at_work_once_it_ends(table: TableStore) -> None:
    with table.writing():
        assert list(table.path.glob(".writing-*"))

    assert not list(table.path.glob(".*"))


def test_file_by_which_a_dead_writer_said_that_it_is_at_work_goes(table: TableStore) -> None:
    left = table.path / ".writing-0123456789abcdef"
    left.touch()
    os.utime(left, ns=(0, 0))

    clean(table)

    assert not left.exists()


def test_files_that_are_not_ours_and_links_stay(table: TableStore) -> None:
    folder = table.partition_folder(DAY, TRADES)
    note = folder / "README.txt"
    note.write_text("mine")
    link = folder / "part-0123456789abcdef"
    link.symlink_to(table.path.parent)
    os.utime(note, ns=(0, 0))

    clean(table, keep_ns=0)

    assert note.read_text() == "mine"
    assert link.is_symlink()


def test_nothing_goes_while_a_manifest_that_is_needed_is_damaged(table: TableStore) -> None:
    current = table.current()
    manifest = table.partition_folder(DAY, TRADES) / manifest_name(current.manifests[0])
    manifest.write_bytes(manifest.read_bytes()[:-20])
    read_manifest.cache_clear()
    before = sorted(table.path.rglob("*"))

    with pytest.raises(CorruptionError):
        clean(table, keep_ns=0)

    assert sorted(table.path.rglob("*")) == before


def test_partition_that_was_dropped_goes_with_its_folder(table: TableStore) -> None:
    table.commit(table.current(), Edits(dropped=frozenset({DAY})))

    clean(table, keep_ns=0)

    assert [path.name for path in table.path.iterdir()] == ["versions"]


def test_equal_states_have_manifests_of_their_own(table: TableStore) -> None:
    before = table.current()
    entry = write(table, trades(10))
    appended = table.commit(before, Edits(appended={DAY: Addition((entry,))}))
    part = table.manifest(appended, DAY).parts[-1]

    back = table.commit(appended, Edits(changed={DAY: Change(removed=(part,))}))

    assert table.manifest(back, DAY) == table.manifest(before, DAY)
    assert back.manifests != before.manifests  # cleaning away the old one can't take the new one's


def test_a_table_goes_on_after_it_was_cleaned(table: TableStore) -> None:
    clean(table, keep_ns=0)

    append(TableStore(table.path, durable=False), trades(5, seed=3))

    assert table.current().number == 4
    assert table.current().row_counts.tolist() == [85]


def test_the_files_of_a_dropped_column_go_with_the_versions_that_know_it(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))
    part = Path(table.partition_folder(DAY, TRADES))
    alter.drop_column(table, "price")
    assert list(part.rglob("price-*.col"))

    clean(table, keep_ns=0)

    assert not list(part.rglob("price-*.col"))
    assert len(list(part.rglob("*.col"))) == 4
    assert not verify(open_source(table.path)).findings


def test_versions_that_another_process_removes_meanwhile_are_no_error(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_numbers = TableStore.numbers
    calls = 0

    def numbers(self: TableStore) -> list[int]:
        nonlocal calls
        calls += 1
        found = list_numbers(self)
        if calls == 1:
            clean(TableStore(table.path), keep_ns=0)
        return found

    monkeypatch.setattr(TableStore, "numbers", numbers)
    cleaned = clean(table, keep_ns=0)

    assert calls > 2
    assert cleaned == Cleaned(0, 0, 0)
    assert list_numbers(table) == [3]
