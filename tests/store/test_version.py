from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from colonnade.codec.compression import Compression
from colonnade.errors import (
    AlreadyExistsError,
    AlreadyIngestedError,
    ChecksumError,
    ConflictError,
    CorruptionError,
    NotFoundError,
    SchemaError,
    UnsupportedVersionError,
)
from colonnade.schema import ColumnType
from colonnade.store.database import DatabaseStore
from colonnade.store.entries import ColumnEntry, PartEntry, SourceEntry
from colonnade.store.version import Addition, Edits, TableStore
from store.rows import DAY, TRADES, append_ten_times, new_table, trades

PART = PartEntry("part-0", (1, 1), 10, 5, 9, {})  # names no file; versions don't look
SOURCE = SourceEntry("trades.csv", 1_234, 0xFFFF_FFFF_FFFF_FFFF)


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    return DatabaseStore.create(tmp_path / "db", durable=False).table("trade")


def created(*days: int) -> Edits:
    return Edits(schema=TRADES, created={day: Addition((PART,)) for day in days})


def test_a_version_says_what_was_committed(table: TableStore) -> None:
    version = table.commit(None, replace(created(7, 3), settings={"goal": "balanced"}))

    assert version.number == 1
    assert version.schema == TRADES
    assert version.settings == {"goal": "balanced"}
    assert version.values.tolist() == [3, 7]
    assert version.row_counts.tolist() == [10, 10]
    assert (version.sort_min.tolist(), version.sort_max.tolist()) == ([5, 5], [9, 9])
    assert table.current().manifests == version.manifests


def test_one_commit_changes_many_partitions(table: TableStore) -> None:
    first = table.commit(None, created(*range(100)))

    second = table.commit(
        first,
        Edits(
            appended={day: Addition((PART,)) for day in range(50)},
            replaced={day: Addition((replace(PART, row_count=1),)) for day in range(50, 90)},
            dropped=frozenset(range(90, 100)),
        ),
    )

    assert second.number == 2
    assert second.row_counts.tolist() == [20] * 50 + [1] * 40
    assert table.read(1).row_counts.tolist() == [10] * 100


def test_an_append_is_laid_over_what_others_committed(table: TableStore) -> None:
    base = table.commit(None, created(1))
    table.commit(base, Edits(appended={1: Addition((replace(PART, folder="part-a"),))}))

    latest = table.commit(base, Edits(appended={1: Addition((replace(PART, folder="part-b"),))}))

    parts = table.manifest(latest, 1).parts
    assert [(part.folder, part.sequence) for part in parts] == [
        ("part-0", (1, 1)),
        ("part-a", (2, 2)),
        ("part-b", (3, 3)),
    ]


def test_an_append_follows_a_replacement(table: TableStore) -> None:
    base = table.commit(None, created(1))
    table.commit(base, Edits(replaced={1: Addition((replace(PART, sequence=(1, 4)),))}))

    latest = table.commit(base, Edits(appended={1: Addition((PART,))}))

    assert [part.sequence for part in table.manifest(latest, 1).parts] == [(1, 4), (5, 5)]


@pytest.mark.parametrize(
    "edits",
    [
        Edits(replaced={1: Addition((PART,))}),
        Edits(dropped=frozenset({1})),
        Edits(replaced={1: Addition((PART,))}, appended={2: Addition((PART,))}),
    ],
)
def test_a_change_of_a_partition_that_changed_meanwhile_is_a_conflict(
    table: TableStore, edits: Edits
) -> None:
    base = table.commit(None, created(1, 2))
    newest = table.commit(base, Edits(appended={1: Addition((PART,))}))

    with pytest.raises(ConflictError, match="1970-01-02"):
        table.commit(base, edits)

    assert table.current().manifests == newest.manifests


def test_a_change_of_another_partition_is_no_conflict(table: TableStore) -> None:
    base = table.commit(None, created(1, 2))
    table.commit(base, Edits(appended={1: Addition((PART,))}))

    latest = table.commit(base, Edits(replaced={2: Addition((replace(PART, row_count=3),))}))

    assert latest.row_counts.tolist() == [20, 3]


def test_a_partition_that_another_writer_created_is_a_conflict(table: TableStore) -> None:
    base = table.commit(None, created(1))
    table.commit(base, created(2))

    with pytest.raises(ConflictError):
        table.commit(base, created(2))


def test_creating_a_partition_that_holds_rows_is_refused(table: TableStore) -> None:
    base = table.commit(None, created(1))

    with pytest.raises(AlreadyExistsError, match="append"):
        table.commit(base, created(1))


def test_the_same_source_twice_is_refused_unless_told(table: TableStore) -> None:
    base = table.commit(None, Edits(schema=TRADES, created={1: Addition((PART,), (SOURCE,))}))
    again = Edits(appended={1: Addition((PART,), (replace(SOURCE, name="copy.csv"),))})

    with pytest.raises(AlreadyIngestedError, match=r"copy\.csv"):
        table.commit(base, again)
    latest = table.commit(base, replace(again, again=True))

    assert [source.name for source in table.manifest(latest, 1).sources] == ["trades.csv", "copy.csv"]


def test_two_changes_of_the_schema_at_once_are_a_conflict(table: TableStore) -> None:
    base = table.commit(None, created(1))
    table.commit(base, Edits(schema=replace(TRADES, roles={"price": "price"})))

    with pytest.raises(ConflictError, match="schema"):
        table.commit(base, Edits(schema=replace(TRADES, roles={"size": "size"})))


def test_rows_that_the_new_schema_reads_fit_and_others_are_a_conflict(table: TableStore) -> None:
    base = table.commit(None, created(1))
    column = ColumnEntry(ColumnType("int32"), "size-1.col", 1, 1, 0, Compression(), 1)
    part = replace(PART, columns={"size": column})
    wide = replace(TRADES, columns={**TRADES.columns, "size": ColumnType("int64")})
    short = replace(TRADES, columns={**TRADES.columns, "size": ColumnType("int16")})

    widened = table.commit(base, Edits(schema=wide))
    latest = table.commit(base, Edits(appended={1: Addition((part,))}))
    with pytest.raises(ConflictError, match="'size'"):
        table.commit(widened, Edits(schema=short))
    table.commit(latest, Edits(schema=short))
    with pytest.raises(ConflictError, match="'size'"):
        table.commit(latest, Edits(appended={1: Addition((part,))}))

    assert latest.schema == wide
    assert len(table.manifest(latest, 1).parts) == 2


def test_a_table_is_created_once(table: TableStore) -> None:
    table.create(TRADES)

    with pytest.raises(AlreadyExistsError):
        table.create(TRADES)
    with pytest.raises(ConflictError):
        table.commit(None, created(1))


def test_a_partition_cannot_be_changed_in_two_ways() -> None:
    with pytest.raises(SchemaError):
        Edits(appended={1: Addition((PART,))}, dropped=frozenset({1}))
    with pytest.raises(SchemaError):
        Edits(replaced={1: Addition(())})


def test_versions_are_read_by_number_and_by_time(table: TableStore) -> None:
    base = table.commit(None, created(1))
    versions = [base, *(table.commit(base, Edits(appended={1: Addition((PART,))})) for _ in range(4))]

    assert [version.number for version in versions] == [1, 2, 3, 4, 5]
    for version in versions:
        assert table.read(version.number).manifests == version.manifests
        assert table.at(version.created_ns).number == version.number
    assert table.at(versions[2].created_ns - 1).number == 2
    assert table.at(2**62).number == 5
    with pytest.raises(NotFoundError):
        table.at(base.created_ns - 1)
    with pytest.raises(NotFoundError, match="kept are 1 to 5"):
        table.read(6)


def test_ten_thousand_partitions_fit_a_small_file(table: TableStore) -> None:
    version = table.commit(None, Edits(schema=TRADES))
    for value in range(3):
        version = table.commit(version, created(*range(3_000 * value, 3_000 * (value + 1))))

    size = (table.path / "versions" / "00000004.json").stat().st_size

    assert len(table.current().values) == 9_000
    assert size < 60 * 9_000


def test_a_version_cut_at_any_byte_or_with_a_flipped_bit_is_refused(table: TableStore) -> None:
    table.commit(None, created(1))
    path = table.path / "versions" / "00000001.json"
    content = path.read_bytes()

    for position in range(len(content)):
        damaged = content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :]
        for wrong in (content[:position], damaged):
            path.unlink()
            path.write_bytes(wrong)
            with pytest.raises((CorruptionError, UnsupportedVersionError)):
                table.current()


def test_a_manifest_cut_at_any_byte_or_with_a_flipped_bit_is_refused(table: TableStore) -> None:
    version = table.commit(None, created(1))
    path = next(table.path.glob("date=*/manifest-*.json"))
    content = path.read_bytes()

    for position in range(len(content)):
        damaged = content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :]
        for wrong in (content[:position], damaged):
            path.unlink()
            path.write_bytes(wrong)
            with pytest.raises((CorruptionError, UnsupportedVersionError)):
                table.manifest(version, 1)


def test_a_manifest_that_was_exchanged_is_refused(table: TableStore) -> None:
    first = table.commit(None, created(1))
    second = table.commit(first, Edits(appended={1: Addition((PART,))}))
    folder = table.partition_folder(1, TRADES)
    other, path = (folder / f"manifest-{version.manifests[0]}.json" for version in (first, second))
    path.unlink()
    path.write_bytes(other.read_bytes())

    with pytest.raises(ChecksumError):
        table.manifest(second, 1)


def test_a_newer_format_says_what_to_do(table: TableStore) -> None:
    table.commit(None, created(1))
    path = table.path / "versions" / "00000001.json"
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content.replace(b'{"format":2,', b'{"format":3,'))

    with pytest.raises(UnsupportedVersionError, match="format 3"):
        table.current()


def test_a_database_that_is_made_anew_at_the_same_path_is_read_anew(tmp_path: Path) -> None:
    new_table(tmp_path / "db", trades(10)).current()
    (tmp_path / "db").rename(tmp_path / "old")

    table = new_table(tmp_path / "db", trades(20))

    assert table.current().row_counts.tolist() == [20]


def test_appends_of_several_processes_all_get_in(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(10))
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=append_ten_times, args=(table.path,)) for _ in range(3)]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    latest = table.current()
    manifest = table.manifest(latest, DAY)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert latest.number == 31
    assert manifest.row_count == 310
    assert [part.sequence for part in manifest.parts] == [(number, number) for number in range(1, 32)]
    assert len({part.folder for part in manifest.parts}) == 31
