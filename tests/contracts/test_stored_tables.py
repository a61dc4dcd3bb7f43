"""Our own files are sources of tables, whatever their compression."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from colonnade.codec.compression import Compression
from colonnade.schema import ColumnType, Schema
from colonnade.store.part import write_part
from colonnade.store.source import TableSource
from colonnade.store.table_source import open_source
from colonnade.store.version import Addition, Edits, TableStore
from contracts.table_source import Partitions, TableSourceContract, canonical_dictionaries


def stored(folder: Path, schema: Schema, partitions: Partitions, compression: str) -> TableSource:
    """Write every part, commit the first of each date, then append the others one by one."""
    store = TableStore(folder / "trade")
    version = store.create(schema)
    spec = Compression.parse(compression)
    for round_number in range(max(map(len, partitions.values()))):
        additions = {
            day: Addition((_part(store, schema, day, frames[round_number], spec),))
            for day, frames in partitions.items()
            if round_number < len(frames)
        }
        edits = Edits(created=additions) if round_number == 0 else Edits(appended=additions)
        version = store.commit(version, edits)
    return open_source(folder / "trade")


def _part(store: TableStore, schema: Schema, day: int, frame: pl.DataFrame, spec: Compression):
    strings = [name for name, kind in schema.columns.items() if not kind.has_fixed_width]
    return write_part(
        store.partition_folder(day, schema),
        schema,
        [frame[start : start + 2_000] for start in range(0, frame.height, 2_000)],
        dictionaries=canonical_dictionaries(schema, frame),
        compressions={
            name: Compression("plain", spec.codec, spec.level, spec.block_size) if name in strings else spec
            for name in schema.columns
        },
    )


class TestPlainTables(TableSourceContract):
    @classmethod
    def make(cls, folder: Path, schema: Schema, partitions: Partitions) -> TableSource:
        return stored(folder, schema, partitions, "plain@4KiB")


class TestZstdTables(TableSourceContract):
    @classmethod
    def make(cls, folder: Path, schema: Schema, partitions: Partitions) -> TableSource:
        return stored(folder, schema, partitions, "zstd:1@4KiB")


class TestLz4Tables(TableSourceContract):
    @classmethod
    def make(cls, folder: Path, schema: Schema, partitions: Partitions) -> TableSource:
        return stored(folder, schema, partitions, "lz4@16KiB")


class TestBitpackedTables(TableSourceContract):
    @classmethod
    def make(cls, folder: Path, schema: Schema, partitions: Partitions) -> TableSource:
        return stored(folder, schema, partitions, "bitpack@4KiB")


class TestBitpackedZstdTables(TableSourceContract):
    @classmethod
    def make(cls, folder: Path, schema: Schema, partitions: Partitions) -> TableSource:
        return stored(folder, schema, partitions, "bitpack+zstd:3@128KiB")


@pytest.mark.parametrize("compression", ["plain", "bitpack"])
def test_a_plain_column_is_one_stretch_of_raw_values(tmp_path, compression):
    schema = Schema({"n": ColumnType("int64")})
    frame = pl.DataFrame({"n": range(100_000)})
    source = stored(tmp_path, schema, {0: [frame]}, compression)

    entry = source.partition(0).parts[0].column("n").kernel_input()

    raw = frame["n"].to_numpy().tobytes()
    assert (entry.stored[: len(raw)].tobytes() == raw) == (compression == "plain")
    assert (len(entry.stored) < len(raw) // 3) == (compression == "bitpack")
