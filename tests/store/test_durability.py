from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from colonnade.maintenance.verify import verify
from colonnade.store.table_source import close_columns, open_source
from colonnade.store.version import TableStore
from store.rows import DAY, append, new_table, trades, write


def rows_of(table: TableStore) -> int:
    source = open_source(table.path)
    assert verify(source, threads=1).findings == []
    return int(source.row_counts.sum())


def test_a_full_disk_leaves_the_old_state_and_no_part(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount command")
    command = [mount, "-t", "tmpfs", "-o", "size=1M", "tmpfs", disk]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        table = TableStore(new_table(disk / "db", trades(100)).path)
        with pytest.raises(OSError, match="No space"):
            append(table, trades(100_000))

        assert rows_of(table) == 100
        assert len(list(table.path.glob("date=*/part-*"))) == 1
        append(table, trades(200))
        assert rows_of(table) == 300
    finally:
        close_columns()
        subprocess.run([umount, "--lazy", disk], check=True)


def test_everything_a_version_names_is_synced_before_it_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TableStore(new_table(tmp_path / "db", trades(100)).path)
    unsynced: set[str] = set()  # files with bytes, and folders with names, that a power cut would lose
    paths: dict[int, str] = {}
    at_commit: list[set[str]] = []
    real = {name: getattr(os, name) for name in ("open", "write", "fsync", "link", "mkdir")}

    def open_file(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        descriptor = real["open"](path, flags, *rest, **named)
        paths[descriptor] = str(path)
        if flags & os.O_CREAT:
            unsynced.update({str(path), str(Path(path).parent)})
        return descriptor

    def write_file(descriptor: int, content: Any) -> int:
        unsynced.add(paths[descriptor])
        return real["write"](descriptor, content)

    def fsync(descriptor: int) -> None:
        real["fsync"](descriptor)
        unsynced.discard(paths[descriptor])

    def link(source: Any, target: Any) -> None:
        if Path(target).parent.name == "versions":
            at_commit.append(unsynced - {str(Path(target).parent)})
        real["link"](source, target)
        unsynced.add(str(Path(target).parent))

    def mkdir(path: Any, *rest: Any) -> None:
        real["mkdir"](path, *rest)
        unsynced.add(str(Path(path).parent))

    for name, spy in {
        "open": open_file,
        "write": write_file,
        "fsync": fsync,
        "link": link,
        "mkdir": mkdir,
    }.items():
        monkeypatch.setattr(os, name, spy)
    part = write(table, trades(50), day=DAY + 1, durable=True)
    append(table, trades(50, seed=2))

    assert part.row_count == 50
    assert at_commit == [set()]
    assert unsynced == set()
