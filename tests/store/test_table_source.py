from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from colonnade.errors import (
    ColumnNotFoundError,
    HeaderError,
    NotFoundError,
    StaleVersionError,
    TruncatedError,
)
from colonnade.store.table_source import close_columns, open_source
from colonnade.store.version import Addition, Edits, TableStore
from store.rows import DAY, TRADES, new_table, trades, write


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    close_columns()
    return new_table(tmp_path / "db", trades(3_000), compression="zstd:1@4KiB")


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    paths = [folder, *folder.rglob("*")]
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in paths}


def read_all(table: TableStore) -> pl.DataFrame:
    source = open_source(table.path)
    part = source.partition(DAY).parts[0]
    return pl.DataFrame({name: part.column(name).read(0, part.row_count) for name in source.schema.columns})


def test_rows_come_back_in_order(table: TableStore) -> None:
    assert read_all(table).with_columns(pl.col("sym").cast(pl.String)).equals(trades(3_000))


def test_a_source_keeps_its_version_while_others_commit(table: TableStore) -> None:
    source = open_source(table.path)

    table.commit(table.current(), Edits(dropped=frozenset({DAY})))

    assert (source.version, source.values.tolist()) == (1, [DAY])
    assert open_source(table.path).values.tolist() == []
    assert open_source(table.path, 1) is source


def test_a_source_travels_to_another_process_by_name(table: TableStore) -> None:
    source = open_source(table.path)
    sent = pickle.dumps(source)

    code = (
        "import pickle, sys; s = pickle.loads(sys.stdin.buffer.read()); print(s.version, s.row_counts.sum())"
    )
    answer = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)

    assert answer.stdout.split() == [b"1", b"3000"]
    assert len(sent) < 500


def test_planning_opens_one_version_file_and_the_manifests_it_touches(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(10))
    for day in range(20):
        part = write(table, trades(10), day=day)
        table.commit(table.current(), Edits(created={day: Addition((part,))}))
    code = f"""
import os, pathlib
from colonnade.store.table_source import open_source
opened, real = [], os.open
os.open = lambda path, *rest, **named: opened.append(str(path)) or real(path, *rest, **named)
source = open_source(pathlib.Path({str(table.path)!r}))
source.partition(3), source.partition(7)
print(*opened, sep=chr(10))
"""

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    opened = [Path(path) for path in answer.stdout.split()]
    assert {path.name for path in opened if path.parent.name == "versions"} == {"00000021.json"}
    assert [path.parent.name for path in opened if path.parent.name != "versions"] == [
        "date=1970-01-04",
        "date=1970-01-08",
    ]


def test_reading_changes_no_file_and_no_folder(table: TableStore) -> None:
    before = contents(table.path.parent)

    read_all(table)

    assert contents(table.path.parent) == before


def test_a_read_only_mount_is_read(table: TableStore, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    mount, umount = shutil.which("mount") or "mount", shutil.which("umount") or "umount"
    bound = subprocess.run([mount, "--bind", table.path.parent, mounted], capture_output=True, check=False)
    if bound.returncode:
        pytest.skip("mounting needs root")
    try:
        subprocess.run([mount, "-o", "remount,ro,bind", mounted], check=True)

        assert len(read_all(TableStore(mounted / "trade"))) == 3_000
        with pytest.raises(OSError, match="Read-only"):
            write(TableStore(mounted / "trade"), trades(10))
    finally:
        close_columns()
        subprocess.run([umount, "--lazy", mounted], check=True)


@pytest.mark.parametrize("gone", ["date=*/manifest-*", "date=*/part-*", "date=*/part-*/price*"])
def test_what_vanished_gives_a_stale_version(table: TableStore, gone: str) -> None:
    path = next(table.path.glob(gone))
    path.rename(table.path / "elsewhere")

    with pytest.raises(StaleVersionError):
        read_all(table)


def test_a_version_that_vanished_cannot_be_locked(table: TableStore) -> None:
    (table.path / "versions" / "00000001.json").unlink()

    with pytest.raises(StaleVersionError):
        table.lock(1)


def test_a_truncated_file_is_located(table: TableStore) -> None:
    path = next(table.path.glob("date=*/part-*/price*"))
    os.truncate(path, 1_000)

    with pytest.raises(TruncatedError) as caught:
        read_all(table)

    assert caught.value.where == {"table": "trade", "partition": "2024-01-02", "column": "price"}
    assert "price" in str(caught.value)


@pytest.mark.parametrize("linked", ["date=*", "date=*/part-*", "date=*/part-*/price*"])
def test_symbolic_links_are_not_followed(table: TableStore, linked: str) -> None:
    path = next(table.path.glob(linked))
    moved = table.path.parent / "moved"
    path.rename(moved)
    path.symlink_to(moved)

    with pytest.raises(HeaderError, match="symbolic link"):
        read_all(table)


def test_names_that_lead_out_of_the_folder_are_refused(table: TableStore) -> None:
    part = table.manifest(table.current(), DAY).parts[0]
    column = part.columns["price"]
    for name in ("../x", "/etc/passwd", ".", "..", "a/b", ""):
        entry = type(part)(
            part.folder,
            part.sequence,
            part.row_count,
            0,
            1,
            {"price": type(column)(**fields(column, file=name))},
        )
        latest = table.commit(table.current(), Edits(replaced={DAY: Addition((entry,))}))
        with pytest.raises(HeaderError, match="can't be the name"):
            table.manifest(latest, DAY)


def fields(column: object, **changed: object) -> dict[str, object]:
    return {name: getattr(column, name) for name in type(column).__slots__} | changed  # type: ignore[attr-defined]


def test_a_column_that_is_not_there_is_named(table: TableStore) -> None:
    part = open_source(table.path).partition(DAY).parts[0]

    with pytest.raises(ColumnNotFoundError, match="Did you mean 'price'"):
        part.column("prise")


def test_a_partition_or_a_table_that_is_not_there_is_named(table: TableStore) -> None:
    with pytest.raises(NotFoundError, match="1970-01-01"):
        open_source(table.path).partition(0)
    with pytest.raises(NotFoundError, match="nothing"):
        open_source(table.path.parent / "nothing")


def test_more_columns_than_are_kept_open_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colonnade.store.table_source._OPEN_FILES", 3)
    table = new_table(tmp_path / "db", trades(100))
    part = open_source(table.path).partition(DAY).parts[0]

    for _ in range(3):
        for name in TRADES.columns:
            assert len(part.column(name).read(0, 100)) == 100


def test_categoricals_of_files_with_other_dictionaries_are_right_side_by_side(tmp_path: Path) -> None:
    kept = pl.Series(["zzz", "S007", "aaa"], dtype=pl.Categorical)  # fills Polars' global mapping first
    table = new_table(tmp_path / "db", trades(100, symbols=9))
    part = write(table, trades(100, symbols=50, seed=5), day=DAY + 1)
    table.commit(table.current(), Edits(created={DAY + 1: Addition((part,))}))
    source = open_source(table.path)

    columns = [source.partition(day).parts[0].column("sym").read(0, 100) for day in (DAY, DAY + 1)]

    wanted = pl.concat([trades(100, symbols=9)["sym"], trades(100, symbols=50, seed=5)["sym"]])
    assert pl.concat(columns).cast(pl.String).equals(wanted)
    assert kept.cast(pl.String).to_list() == ["zzz", "S007", "aaa"]


def test_files_with_equal_dictionaries_share_one(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))
    for day, symbols in ((DAY + 1, 20), (DAY + 2, 7)):
        part = write(table, trades(100, symbols=symbols), day=day)
        table.commit(table.current(), Edits(created={day: Addition((part,))}))
    source = open_source(table.path)

    first, same, other = (source.partition(DAY + day).parts[0].column("sym") for day in range(3))

    assert first.dictionary is same.dictionary
    assert first.dictionary is not other.dictionary
