"""Column files written anew: only their bytes change, and an interruption loses no more than a commit."""

from __future__ import annotations

import threading
from pathlib import Path

import polars as pl
import pytest

from colonnade.codec.compression import Compression
from colonnade.errors import ChecksumError, ConflictError
from colonnade.maintenance import recompress as module
from colonnade.maintenance.alter import add_column
from colonnade.maintenance.compact import compact
from colonnade.maintenance.recompress import check_same, plan_recompression, recompress
from colonnade.maintenance.verify import verify
from colonnade.schema import ColumnType, Schema
from colonnade.store.column_file import ColumnFile
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.table_source import open_source
from colonnade.store.version import Addition, Edits, TableStore
from store.rows import DAY, KINDS, TRADES, append, column, dictionaries, new_table, trades, write

ZSTD = Compression.parse("zstd:1@4KiB")


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    table = new_table(tmp_path / "db", trades(3_000))
    append(TableStore(table.path, durable=False), trades(500, seed=2))
    return TableStore(table.path, durable=False)


def everything(kind: Compression = ZSTD) -> dict[str, Compression]:
    return dict.fromkeys(TRADES.columns, kind)


def compressions(table: TableStore) -> set[str]:
    parts = table.manifest(table.current(), DAY).parts
    return {str(entry.compression) for part in parts for entry in part.columns.values()}


def files(table: TableStore) -> set[Path]:
    return {path for path in table.path.rglob("*") if path.is_file()}


def named(table: TableStore) -> int:
    return sum(len(part.columns) for part in table.manifest(table.current(), DAY).parts)


def test_values_stay_and_compressions_change(table: TableStore) -> None:
    before = table.manifest(table.current(), DAY).parts

    done = recompress(table, everything(), [DAY])

    after = table.manifest(table.current(), DAY).parts
    assert compressions(table) == {"zstd:1@4KiB"}
    assert len(done) == 10
    for old, new in zip(before, after, strict=True):
        assert (old.folder, old.sequence, old.row_count) == (new.folder, new.sequence, new.row_count)
        for name, entry in new.columns.items():
            assert entry.values_hash == old.columns[name].values_hash
            assert entry.file != old.columns[name].file
    assert verify(open_source(table.path)).findings == []


@pytest.mark.parametrize("text", ["plain", "lz4", "zstd:9", "gzip", "bitpack", "dict", "runs"])
def test_every_type_under_every_compression(tmp_path: Path, text: str) -> None:
    schema = Schema({kind: ColumnType.parse(kind) for kind in KINDS})
    frame = [column(kind, 3_000, nulls=0.2).alias(kind) for kind in KINDS]
    table = new_table(tmp_path / "db", pl.DataFrame(frame), schema=schema, compression="lz4")

    recompress(table, dict.fromkeys(schema.columns, Compression.parse(text)), [DAY])

    assert compressions(table) == {str(Compression.parse(text))}
    assert verify(open_source(table.path)).findings == []


def test_only_what_differs_is_written(table: TableStore) -> None:
    recompress(table, {"price": ZSTD}, [DAY])
    version = table.current().number
    planned = plan_recompression(open_source(table.path), everything(), [DAY])

    assert sorted({file.column for file in planned}) == ["cond", "size", "sym", "time"]
    assert recompress(table, {"price": ZSTD}, [DAY]) == []
    assert table.current().number == version


def test_dates_that_are_gone_and_columns_that_a_part_lacks_are_left_out(table: TableStore) -> None:
    add_column(table, "note", ColumnType("string"))

    assert recompress(table, {"note": ZSTD}, [DAY, DAY + 1]) == []


def test_rows_are_appended_while_files_are_written(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.check_same
    monkeypatch.setattr(module, "check_same", lambda *both: (append(table, trades(10, seed=9)), real(*both)))

    recompress(table, {"price": ZSTD}, [DAY], threads=1)

    parts = table.manifest(table.current(), DAY).parts
    assert [str(part.columns["price"].compression) for part in parts] == ["zstd:1@4KiB"] * 2 + ["plain"] * 2


def test_parts_that_are_merged_meanwhile_are_done_again(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.check_same
    once = threading.Event()

    def merge_once(old: ColumnFile, new: ColumnFile) -> None:
        real(old, new)
        if not once.is_set():
            once.set()
            compact(table, DAY)

    monkeypatch.setattr(module, "check_same", merge_once)
    recompress(table, everything(), [DAY], threads=1)

    (part,) = table.manifest(table.current(), DAY).parts
    assert part.row_count == 3_500
    assert compressions(table) == {"zstd:1@4KiB"}


def test_parts_that_change_again_and_again_end_in_a_conflict(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.check_same

    def disturb(old: ColumnFile, new: ColumnFile) -> None:
        real(old, new)
        append(table, trades(10, seed=9))
        compact(table, DAY)

    monkeypatch.setattr(module, "check_same", disturb)

    with pytest.raises(ConflictError, match="again and again"):
        recompress(table, {"price": ZSTD}, [DAY], threads=1)


def test_a_change_of_one_date_does_not_throw_out_the_others(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write(table, trades(100), day=DAY + 1)
    base = table.current()
    table.commit(base, Edits(created={DAY + 1: Addition((other,))}))
    real = module.check_same
    once = threading.Event()

    def merge_once(old: ColumnFile, new: ColumnFile) -> None:
        real(old, new)
        if not once.is_set():
            once.set()
            compact(table, DAY)

    monkeypatch.setattr(module, "check_same", merge_once)
    done = recompress(table, {"price": ZSTD}, [DAY, DAY + 1], threads=1)

    assert sorted(file.value for file in done) == [DAY, DAY + 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_leaves_what_was_committed_and_no_file_of_the_rest(
    table: TableStore, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(module, "_COMMIT_FILES", 4)
    real = module.check_same
    calls = 0

    def interrupt(old: ColumnFile, new: ColumnFile) -> None:
        nonlocal calls
        calls += 1
        if calls == 7:
            raise KeyboardInterrupt
        real(old, new)

    before = files(table)
    monkeypatch.setattr(module, "check_same", interrupt)
    with pytest.raises(KeyboardInterrupt):
        recompress(table, everything(), [DAY], threads=threads)

    left = plan_recompression(open_source(table.path), everything(), [DAY])
    assert len(left) == 6
    new_documents = 2  # a version and a manifest
    assert len(files(table) - before) == 4 + new_documents
    monkeypatch.setattr(module, "check_same", real)
    recompress(table, everything(), [DAY])
    assert compressions(table) == {"zstd:1@4KiB"}
    assert verify(open_source(table.path)).findings == []


def test_a_file_that_comes_back_otherwise_is_not_taken(
    table: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ColumnWriter.add_stored

    def wrong(self: ColumnWriter, rows: object) -> None:
        rows.values[0] += 1  # type: ignore[attr-defined]
        real(self, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(ColumnWriter, "add_stored", wrong)
    before = files(table)

    with pytest.raises(ChecksumError) as caught:
        recompress(table, {"price": ZSTD}, [DAY], threads=1)

    assert caught.value.where["column"] == "price"
    assert files(table) == before


def test_a_damaged_file_is_not_recompressed(table: TableStore) -> None:
    path = next(table.path.glob("date=*/part-*/price-*"))
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)

    with pytest.raises(ChecksumError):
        recompress(table, everything(), [DAY])

    assert len(list(path.parent.iterdir())) == len(TRADES.columns)


def test_nulls_and_symbols_count_as_values(tmp_path: Path) -> None:
    def written(name: str, values: object, kind: str) -> ColumnFile:
        frame = pl.DataFrame({"x": values})
        schema = Schema({"x": ColumnType.parse(kind)})
        writer = ColumnWriter(
            tmp_path / name, "x", schema.columns["x"], ZSTD, symbols=dictionaries(frame, schema).get("x")
        )
        writer.add(frame["x"])
        return ColumnFile(str(tmp_path / name), writer.finish(durable=False), len(frame))

    with pytest.raises(ChecksumError, match="nulls"):
        check_same(written("a", [0, 1], "int64"), written("b", [None, 1], "int64"))
    with pytest.raises(ChecksumError, match="symbols"):
        check_same(written("c", ["p", "q"], "symbol"), written("d", ["r", "s"], "symbol"))
