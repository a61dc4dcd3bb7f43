"""How files come to be: with which rights and group, and how lasting."""

import os
import stat
from pathlib import Path

import polars as pl
import pytest

import colonnade as cn
from colonnade.errors import SchemaError
from colonnade.store.atomic import create_file, make_folders

KEYS = {"part_by": "sym", "sort_by": "time"}
OTHER_GROUP = 4242
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to any group")


def ticks():
    return pl.DataFrame(
        {"time": pl.Series([1_704_187_800_000_000_000] * 2).cast(pl.Datetime("ns")), "sym": ["A", "B"]}
    )


def everything_in(folder):
    return [folder, *folder.rglob("*")]


@pytest.fixture
def synced(monkeypatch):
    descriptors = []
    fsync = os.fsync

    def noted(descriptor):
        descriptors.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return descriptors


@pytest.fixture
def umask():
    def set_umask(mask):
        os.umask(mask)

    before = os.umask(0o022)
    yield set_umask
    os.umask(before)


def test_safe_ingest_fsyncs_every_file_and_every_folder(db_path, synced):
    cn.create(db_path).ingest("trade", ticks(), **KEYS)

    written = {str(path) for path in everything_in(db_path)}
    drafts = [path for path in synced if "/." in path]  # of files that are linked to their name afterwards
    missing = {path for path in written - set(synced) if not path.endswith(".json")}
    assert not missing
    assert len(drafts) == sum(path.endswith(".json") for path in written)


def test_fast_ingest_and_append_fsync_nothing(db_path, synced):
    db = cn.create(db_path)
    synced.clear()

    db.ingest("trade", ticks(), durability="fast", **KEYS)
    db["trade"].append(ticks(), again=True, durability="fast")

    assert synced == []
    assert db["trade"].row_count == 4


def test_unknown_durability_is_refused_before_anything_is_written(db_path):
    db = cn.create(db_path)

    with pytest.raises(SchemaError, match="expected 'safe' or 'fast'"):
        db.ingest("trade", ticks(), durability="maybe", **KEYS)

    assert db.tables == []


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
def test_rights_of_files_and_folders_are_those_that_the_umask_leaves(db_path, umask, mask):
    umask(mask)

    cn.create(db_path).ingest("trade", ticks(), **KEYS)

    for path in everything_in(db_path):
        full = 0o777 if path.is_dir() else 0o666
        assert stat.S_IMODE(path.stat().st_mode) == full & ~mask, path


@needs_root
def test_new_files_and_folders_get_the_group_of_the_folder_they_are_made_in(db_path):
    db = cn.create(db_path)
    os.chown(db_path, -1, OTHER_GROUP)

    db.ingest("trade", ticks(), **KEYS)

    made = [path for path in everything_in(db_path) if path.name != "colonnade.json"]
    assert {path.stat().st_gid for path in made} == {OTHER_GROUP}


@needs_root
def test_folder_with_the_setgid_bit_hands_it_on(db_path):
    db = cn.create(db_path)
    os.chown(db_path, -1, OTHER_GROUP)
    db_path.chmod(0o2775)

    db.ingest("trade", ticks(), **KEYS)

    table = db_path / "trade"
    assert all(path.stat().st_gid == OTHER_GROUP for path in everything_in(table))
    assert all(path.stat().st_mode & stat.S_ISGID for path in everything_in(table) if path.is_dir())


@needs_root
def test_group_that_may_not_be_given_is_no_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    os.chown(tmp_path, -1, OTHER_GROUP)
    monkeypatch.setattr(os, "chown", refuse)

    os.close(create_file(tmp_path / "file"))
    make_folders(tmp_path / "a" / "b")

    assert (tmp_path / "file").stat().st_gid == os.getegid()
    assert (tmp_path / "a" / "b").is_dir()


def test_folder_in_the_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "a").write_text("")

    with pytest.raises(OSError, match=r"exists|[Nn]ot a directory"):
        make_folders(tmp_path / "a")
