"""A copy is a database of the same rows, or of those that were chosen, however often it was interrupted."""

import os
import shutil

import polars as pl
import pytest

import colonnade as cn
from colonnade.errors import (
    AlreadyExistsError,
    ColumnNotFoundError,
    ConflictError,
    CorruptionError,
    NotFoundError,
    SchemaError,
)
from colonnade.maintenance import copy_parts
from colonnade.store.table_source import open_source
from databases import bits, plain

DAYS = ("2024-01-02", "2024-01-03", "2024-02-01")


def ticks(day, rows=200, seed=1):
    start = pl.Series([day]).str.to_datetime(time_unit="ns").to_physical()[0]
    numbers = pl.int_range(rows, eager=True)
    return pl.DataFrame(
        {
            "time": (start + numbers * 1_000_000_000).cast(pl.Datetime("ns")),
            "sym": (numbers * (seed + 6) % 5).replace_strict(
                dict(enumerate("EABCD")), return_dtype=pl.String
            ),
            "venue": (numbers % 3).replace_strict({0: "N", 1: None, 2: "Q"}, return_dtype=pl.String),
            "price": 100 + (numbers * 7 % 13) / 100,
            "size": numbers.cast(pl.Int32) * 100,
        }
    )


@pytest.fixture
def db(tmp_path):
    made = cn.create(tmp_path / "db")
    for day in DAYS:
        made.ingest("trade", ticks(day), part_by="sym", sort_by="time", mode="append")
        made.ingest("quote", ticks(day, seed=2), part_by="sym", sort_by="time", mode="append")
    made["trade"].append(ticks(DAYS[0], rows=50, seed=3), again=True)
    return made


def same(one, other):
    return bits(one) == bits(other)


def test_copy_of_everything_has_the_same_rows_in_the_same_order(db, tmp_path):
    copied = db.copy(tmp_path / "copy")

    other = cn.open(tmp_path / "copy")
    assert copied["table"].to_list() == ["quote", "trade"]
    assert copied["rows"].to_list() == [600, 650]
    assert other.verify().is_empty()
    for name in db:
        assert same(other[name].collect(), db[name].collect())
        assert other[name].schema == db[name].schema


def test_copy_takes_one_version_of_each_table_and_no_file_more(db, tmp_path):
    db.copy(tmp_path / "copy")

    found = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")}
    files = {name for name in found if (tmp_path / "copy" / name).is_file()}
    assert files == set(cn.open(tmp_path / "copy").files()["path"])
    assert cn.open(tmp_path / "copy")["trade"].version == 1


def test_copy_goes_on_like_any_database(db, tmp_path):
    db.copy(tmp_path / "copy")
    other = cn.open(tmp_path / "copy")

    other["trade"].append(ticks(DAYS[2], rows=10, seed=4))
    other["trade"].drop_partition(DAYS[1])

    assert other["trade"].row_count == 460
    assert other.verify().is_empty()
    assert db["trade"].row_count == 650


def test_chosen_tables_dates_symbols_and_columns_are_what_a_query_gives(db, tmp_path):
    db.copy(tmp_path / "copy", tables="trade", dates="2024-01", symbols=["A", "D", "X"], columns="price")

    other = cn.open(tmp_path / "copy")
    wanted = db["trade"].where(date="2024-01", sym=["A", "D"]).select("time", "sym", "price").collect()
    assert other.tables == ["trade"]
    assert other.verify().is_empty()
    assert same(other["trade"].select("time", "sym", "price").collect(), wanted)
    assert list(other["trade"].schema.columns) == ["time", "sym", "price"]


def test_symbols_that_are_left_out_leave_no_trace(db, tmp_path):
    db.copy(tmp_path / "copy", symbols="A")

    source = open_source(tmp_path / "copy" / "trade")
    parts = [part for value in source.values.tolist() for part in source.partition(value).parts]
    assert {tuple(part.column("sym").dictionary) for part in parts} == {("A",)}
    assert plain(cn.open(tmp_path / "copy")["trade"].collect())["sym"].unique().to_list() == ["A"]


def test_chosen_columns_copy_no_file_of_others(db, tmp_path):
    db.copy(tmp_path / "copy", columns=["size"])

    names = {path.name.split("-")[0] for path in (tmp_path / "copy").rglob("*.col")}
    assert names == {"time", "sym", "size"}


def test_columns_that_were_dropped_or_renamed_are_copied_as_the_table_has_them(db, tmp_path):
    db["trade"].rename_column("price", "paid")
    db["trade"].drop_column("size")
    db["trade"].add_column("size", "int64")
    db["trade"].cast_column("venue", "string")

    db.copy(tmp_path / "copy", tables="trade")

    other = cn.open(tmp_path / "copy")
    assert other.verify().is_empty()
    assert same(other["trade"].collect(), db["trade"].collect())


def test_many_symbols_far_apart_are_copied_in_order(db, tmp_path, monkeypatch):
    monkeypatch.setattr(copy_parts, "STRETCH_ROWS", 45)

    db.copy(tmp_path / "copy", tables="trade", symbols=["A", "C", "E"])

    wanted = db["trade"].where(sym=["A", "C", "E"]).collect()
    assert same(cn.open(tmp_path / "copy")["trade"].collect(), wanted)


@pytest.mark.parametrize("symbols", [None, ("A", "C")])
def test_interrupted_copy_is_no_database_and_goes_on_where_it_stopped(db, tmp_path, monkeypatch, symbols):
    rename, sync = os.rename, copy_parts.sync_folders

    def stop_at(step):
        calls = iter(range(1_000))

        def stopping(*arguments, **named):
            if next(calls) == step:
                raise KeyboardInterrupt
            return sync(*arguments, **named)

        return stopping

    for step in range(3):
        monkeypatch.setattr(copy_parts, "sync_folders", stop_at(step))
        monkeypatch.setattr("colonnade.store.part.sync_folders", stop_at(step))
        with pytest.raises(KeyboardInterrupt):
            db.copy(tmp_path / "copy", symbols=symbols)
        with pytest.raises(NotFoundError):
            cn.open(tmp_path / "copy")
    monkeypatch.undo()
    assert os.rename is rename

    db.copy(tmp_path / "copy", symbols=symbols)

    other = cn.open(tmp_path / "copy")
    assert other.verify().is_empty()
    for name in db:
        wanted = db[name].collect() if symbols is None else db[name].where(sym=list(symbols)).collect()
        assert same(other[name].collect(), wanted)


def test_files_that_are_there_are_not_copied_again(db, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("colonnade.maintenance.copy._finish", refuse)
    with pytest.raises(KeyboardInterrupt):
        db.copy(tmp_path / "copy")
    monkeypatch.undo()
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "copy").rglob("*.col")}

    db.copy(tmp_path / "copy")

    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "copy").rglob("*.col")} == written


def test_table_that_changed_since_an_interruption_is_copied_as_it_is_now(db, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("colonnade.maintenance.copy._finish", refuse)
    with pytest.raises(KeyboardInterrupt):
        db.copy(tmp_path / "copy")
    monkeypatch.undo()
    db["trade"].append(ticks(DAYS[1], rows=20, seed=5), again=True)
    db["trade"].drop_partition(DAYS[2])

    db.copy(tmp_path / "copy")

    other = cn.open(tmp_path / "copy")
    assert same(other["trade"].collect(), db["trade"].collect())


def test_unfinished_copy_of_something_else_is_not_mixed_in(db, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("colonnade.maintenance.copy._finish", refuse)
    with pytest.raises(KeyboardInterrupt):
        db.copy(tmp_path / "copy", dates="2024-01")
    monkeypatch.undo()

    with pytest.raises(AlreadyExistsError, match="unfinished copy of something else"):
        db.copy(tmp_path / "copy")


def test_damage_of_what_is_copied_is_found_before_there_is_a_database(db, tmp_path):
    path = next((db.path / "trade").rglob("price-*.col"))
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)

    with pytest.raises(CorruptionError, match=r"copy isn't what it should be.*column price"):
        db.copy(tmp_path / "copy")

    assert not (tmp_path / "copy" / "colonnade.json").exists()


def test_links_in_place_of_a_table_become_folders(db, tmp_path):
    shutil.move(db.path / "trade", tmp_path / "elsewhere")
    (db.path / "trade").symlink_to(tmp_path / "elsewhere")

    db.copy(tmp_path / "copy")

    assert not any(path.is_symlink() for path in (tmp_path / "copy").rglob("*"))
    assert cn.open(tmp_path / "copy")["trade"].row_count == 650


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ({"tables": "trades"}, NotFoundError, "'quote', 'trade'"),
        ({"columns": "prise"}, ColumnNotFoundError, "Did you mean 'price'"),
        ({"symbols": "ZZZ"}, NotFoundError, "nothing to copy"),
        ({"dates": "2025-01"}, NotFoundError, "nothing to copy"),
        ({"durability": "maybe"}, SchemaError, "'safe' or 'fast'"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_leaves_nothing(db, tmp_path, words, error, match):
    with pytest.raises(error, match=match):
        db.copy(tmp_path / "copy", **words)

    assert not (tmp_path / "copy").exists()


def test_symbols_of_a_table_without_a_part_key_are_refused(db, tmp_path):
    db.ingest("plain", ticks(DAYS[0]), sort_by="time", date=DAYS[0])

    with pytest.raises(SchemaError, match="'plain' isn't parted"):
        db.copy(tmp_path / "copy", symbols="A")


def test_places_that_are_taken_are_refused(db, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    cn.create(tmp_path / "other")

    for place in (tmp_path / "full", tmp_path / "other", db.path, db.path / "inside"):
        with pytest.raises(AlreadyExistsError):
            db.copy(place)

    assert sorted(path.name for path in (tmp_path / "full").iterdir()) == ["mine"]


def test_two_copies_to_one_place_at_once_are_refused(db, tmp_path):
    def again(done, total):
        del done, total
        with pytest.raises(ConflictError):
            db.copy(tmp_path / "copy")

    db.copy(tmp_path / "copy", progress=again)

    assert cn.open(tmp_path / "copy").verify().is_empty()


def test_progress_ends_at_all_bytes(db, tmp_path):
    seen = []

    copied = db.copy(tmp_path / "copy", progress=lambda done, total: seen.append((done, total)))

    assert seen[-1] == (copied["bytes"].sum(), copied["bytes"].sum())
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_files_of_a_version_make_a_working_database(db, tmp_path):
    old = db["trade"].version
    rows = db["trade"].collect()
    listed = db.files("trade")
    db["trade"].append(ticks(DAYS[2], rows=10, seed=4))

    for path, size in listed.select("path", "bytes").iter_rows():
        assert (db.path / path).stat().st_size == size
        (tmp_path / "copy" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(db.path / path, tmp_path / "copy" / path)

    assert cn.open(tmp_path / "copy").verify().is_empty()
    assert same(cn.open(tmp_path / "copy")["trade"].collect(), rows)
    assert db.files("trade", version=old).equals(listed)


def test_database_that_was_moved_opens_at_its_new_place(db, tmp_path):
    rows = db["trade"].collect()

    shutil.move(db.path, tmp_path / "moved")

    moved = cn.open(tmp_path / "moved")
    moved["trade"].append(ticks(DAYS[2], rows=10, seed=4))
    assert moved.verify().is_empty()
    assert moved["trade"].row_count == rows.height + 10
