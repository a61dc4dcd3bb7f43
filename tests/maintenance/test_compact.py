"""Parts made one: the logical order of rows is what it was, ties included, and appends go on meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colonnade.api.database import open_database
from colonnade.errors import ChecksumError, ConflictError
from colonnade.maintenance import compact as compact_module
from colonnade.maintenance.alter import add_column, drop_column
from colonnade.maintenance.cast import cast_column
from colonnade.maintenance.compact import (
    FANOUT,
    chosen_to_merge,
    compact,
    merge,
    merge_small,
    plan_compaction,
)
from colonnade.maintenance.stretches import stretches_of
from colonnade.maintenance.verify import verify
from colonnade.schema import ColumnType, Schema
from colonnade.store.database import DatabaseStore
from colonnade.store.entries import PartEntry
from colonnade.store.table_source import close_columns, open_source
from colonnade.store.version import Addition, Edits, TableStore
from store.rows import DAY, KINDS, TRADES, append, column, new_table, trades, write

PLAIN = {"sym": ColumnType("symbol"), "time": ColumnType("timestamp"), "n": ColumnType("int64")}
KEYS = [("sym", "time"), ("sym", None), (None, "time"), (None, None)]


def table_of(path: Path, frames: Sequence[pl.DataFrame], schema: Schema) -> TableStore:
    """Make a table of one date with a part a frame, each sorted as its keys say."""
    keys = [key for key in (schema.part_by, schema.sort_by) if key is not None]
    ordered = [frame.sort(keys, nulls_last=True, maintain_order=True) if keys else frame for frame in frames]
    table = DatabaseStore.create(path, durable=False).table("trade")
    table.commit(None, Edits(schema=schema))
    for frame in ordered:
        part = write(table, frame, schema=schema)
        table.commit(table.current(), Edits(appended={DAY: Addition((part,))}))
    return table


def rows_of(table: TableStore) -> pl.DataFrame:
    """Read the rows of a date that has one part."""
    source = open_source(table.path)
    (part,) = source.partition(DAY).parts
    columns = {name: part.column(name).read(0, part.row_count) for name in source.schema.columns}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Categorical).cast(pl.String))


def in_logical_order(frames: Sequence[pl.DataFrame], schema: Schema) -> pl.DataFrame:
    keys = [key for key in (schema.part_by, schema.sort_by) if key is not None]
    rows = pl.concat(frames)
    return rows.sort(keys, nulls_last=True, maintain_order=True) if keys else rows


@st.composite
def pieces(draw: st.DrawFn) -> list[pl.DataFrame]:
    """Give the rows of some appends, with many equal keys and null symbols."""
    counts = draw(st.lists(st.integers(1, 30), min_size=2, max_size=5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    span = draw(st.sampled_from([2, 10, 1_000]))
    shift = draw(st.sampled_from([0, 1_000]))  # appends in order of time, or all over each other
    names = np.array(["a", "b", "é", "zz", None], dtype=object)
    frames = []
    for number, rows in enumerate(counts):
        frames.append(
            pl.DataFrame(
                {
                    "sym": pl.Series(random.choice(names, rows).tolist(), dtype=pl.String),
                    "time": pl.Series(random.integers(0, span, rows) + number * shift).cast(
                        pl.Datetime("ns")
                    ),
                    "n": pl.Series(np.arange(rows) + 1_000 * number),
                }
            )
        )
    return frames


@given(frames=pieces(), keys=st.sampled_from(KEYS))
def test_one_part_has_the_rows_in_logical_order(
    frames: list[pl.DataFrame], keys: tuple[str | None, str | None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    schema = Schema(PLAIN, part_by=keys[0], sort_by=keys[1])
    table = table_of(tmp_path_factory.mktemp("t") / "db", frames, schema)

    compact(table, DAY)

    assert rows_of(table).equals(in_logical_order(frames, schema), null_equal=True)


@given(frames=pieces(), keys=st.sampled_from(KEYS), row_limit=st.integers(1, 40))
def test_stretches_of_any_size_give_the_logical_order(
    frames: list[pl.DataFrame],
    keys: tuple[str | None, str | None],
    row_limit: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    schema = Schema(PLAIN, part_by=keys[0], sort_by=keys[1])
    table = table_of(tmp_path_factory.mktemp("t") / "db", frames, schema)
    parts = open_source(table.path).partition(DAY).parts
    numbers = [part.column("n").read(0, part.row_count).to_numpy() for part in parts]

    found = []
    for stretch in stretches_of(parts, schema, row_limit=row_limit):
        rows = np.concatenate([numbers[part][start:stop] for part, start, stop in stretch.ranges])
        found.append(rows if stretch.picked is None else rows[stretch.picked])
        assert stretch.row_count == len(found[-1])

    assert np.concatenate(found).tolist() == in_logical_order(frames, schema)["n"].to_list()


def test_a_long_symbol_is_cut_at_its_keys(tmp_path: Path) -> None:
    schema = Schema(PLAIN, part_by="sym", sort_by="time")
    random = np.random.default_rng(5)
    frames = [
        pl.DataFrame(
            {
                "sym": pl.Series(["a"] * 40_000),
                "time": pl.Series(random.integers(0, 9_000, 40_000)).cast(pl.Datetime("ns")),
                "n": pl.Series(np.arange(40_000) + 100_000 * number),
            }
        )
        for number in range(3)
    ]
    table = table_of(tmp_path / "db", frames, schema)
    parts = open_source(table.path).partition(DAY).parts

    sizes = [stretch.row_count for stretch in stretches_of(parts, schema, row_limit=30_000)]
    compact(table, DAY)

    assert len(sizes) > 3
    assert max(sizes) < 45_000
    assert sum(sizes) == 120_000
    assert rows_of(table).equals(in_logical_order(frames, schema))


def test_every_type_comes_through(tmp_path: Path) -> None:
    columns = {kind: ColumnType.parse(kind) for kind in KINDS}
    schema = Schema({"key": ColumnType("symbol"), "t": ColumnType("int64"), **columns}, "key", "t")
    random = np.random.default_rng(3)
    frames = [
        pl.DataFrame(
            {
                "key": pl.Series([f"k{number}" for number in random.integers(0, 5, 200)]),
                "t": pl.Series(random.integers(0, 50, 200)),
                **{kind: column(kind, 200, nulls=nulls, seed=seed) for kind in KINDS},
            }
        )
        for seed, nulls in ((1, 0.0), (2, 0.3), (3, 1.0))
    ]
    table = table_of(tmp_path / "db", frames, schema)

    compact(table, DAY)

    assert rows_of(table).equals(in_logical_order(frames, schema), null_equal=True)
    assert verify(open_source(table.path)).findings == []


def test_parts_that_are_older_than_the_schema_become_what_the_table_has(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))
    append(table, trades(50, seed=2))
    add_column(table, "note", ColumnType("string"))
    add_column(table, "venue", ColumnType("symbol"))
    cast_column(table, "size", ColumnType("int64"))
    drop_column(table, "price")
    new = trades(30, seed=3).with_columns(pl.col("size").cast(pl.Int64), note=pl.lit("n"))
    new = new.drop("price").select("sym", "time", "size", "cond", "note", venue=pl.lit("x"))
    schema = table.current().schema
    part = write(table, new, schema=schema)
    table.commit(table.current(), Edits(appended={DAY: Addition((part,))}))
    before = open_database(tmp_path / "db")["trade"].collect()

    compact(table, DAY)

    assert open_database(tmp_path / "db")["trade"].collect().equals(before, null_equal=True)
    assert verify(open_source(table.path)).findings == []
    (made,) = table.manifest(table.current(), DAY).parts
    assert {name: str(entry.type) for name, entry in made.columns.items()} == {
        name: str(kind) for name, kind in schema.columns.items()
    }


def test_a_column_that_no_part_has_is_not_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))
    append(table, trades(50, seed=2))
    add_column(table, "note", ColumnType("string"))

    compact(table, DAY)

    (made,) = table.manifest(table.current(), DAY).parts
    assert set(made.columns) == set(TRADES.columns)


def test_a_compacted_part_spans_the_sequence_of_its_inputs(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))
    append(table, trades(50, seed=2))

    done = compact(table, DAY)
    append(table, trades(30, seed=3))

    assert done is not None
    assert (done.parts, done.rows) == (2, 150)
    parts = table.manifest(table.current(), DAY).parts
    assert [(part.sequence, part.row_count) for part in parts] == [((1, 2), 150), ((3, 3), 30)]


def test_a_column_keeps_the_compression_that_most_rows_have(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100), compression="zstd:3")
    append(table, trades(50, seed=2))

    compact(table, DAY)

    (part,) = table.manifest(table.current(), DAY).parts
    assert {str(entry.compression) for entry in part.columns.values()} == {"zstd:3"}


def test_nothing_is_done_to_one_part_or_to_a_date_that_is_gone(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))

    assert plan_compaction(table, table.current(), [DAY]) == []
    assert compact(table, DAY) is None
    assert compact(table, DAY + 1) is None
    assert table.numbers() == [1]


def test_many_parts_are_merged_in_rounds_of_few_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact_module, "_OPEN_FILES", 3 * len(TRADES.columns))
    table = new_table(tmp_path / "db", trades(100))
    for seed in range(7):
        append(table, trades(10, seed=seed))

    compact(table, DAY)

    frames = [trades(100), *(trades(10, seed=seed) for seed in range(7))]
    assert rows_of(table).equals(in_logical_order(frames, TRADES))


def test_rows_appended_during_a_merge_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "db", trades(100))
    append(table, trades(50, seed=2))
    real = compact_module.rewrite

    def rewrite_slowly(*arguments: object, **named: object) -> PartEntry:
        append(TableStore(table.path, durable=False), trades(30, seed=3))
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(compact_module, "rewrite", rewrite_slowly)
    compact(table, DAY)

    assert [part.row_count for part in table.manifest(table.current(), DAY).parts] == [150, 30]


def test_a_merge_that_comes_too_late_leaves_nothing(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))
    append(table, trades(50, seed=2))
    version = table.current()
    parts = table.manifest(version, DAY).parts
    table.commit(version, Edits(dropped=frozenset({DAY})))
    before = sorted(table.path.rglob("*"))

    with pytest.raises(ConflictError):
        merge(table, version, DAY, parts)

    assert sorted(table.path.rglob("*")) == before


def test_a_damaged_part_is_not_merged(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(100))
    append(table, trades(50, seed=2))
    path = next(table.path.glob("date=*/part-*/price-*"))
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    close_columns()

    with pytest.raises(ChecksumError) as caught:
        compact(table, DAY)

    assert caught.value.where["column"] == "price"
    assert table.numbers() == [1, 2]
    assert len(list(table.path.glob("date=*/part-*"))) == 2


def entries(*rows: int) -> list[PartEntry]:
    return [PartEntry(f"p{number}", (number, number), count, 0, 0, {}) for number, count in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "merged"),
    [
        ([], []),
        ([20_000] * (FANOUT - 1), []),
        ([20_000] * FANOUT, [20_000] * FANOUT),
        ([80_000, 20_000, 20_000], []),
        ([80_000] * (FANOUT - 1) + [20_000] * FANOUT, [20_000] * FANOUT),
        ([10, 10, 10, 1_000], [10, 10, 10, 1_000]),  # small ones before a large one go with it
        ([10, 1_000, 1_000, 1_000], [10, 1_000, 1_000, 1_000]),
        ([1 << 23] * 4, []),  # an append doesn't wait for that
    ],
)
def test_parts_of_a_size_are_merged_when_there_are_some(rows: list[int], merged: list[int]) -> None:
    assert [part.row_count for part in chosen_to_merge(entries(*rows))] == merged


@given(st.lists(st.integers(1, 100_000), max_size=300))
def test_few_parts_stay_whatever_is_appended_and_a_row_is_rewritten_seldom(rows: list[int]) -> None:
    parts: list[int] = []
    written = 0
    for count in rows:
        parts.append(count)
        while chosen := chosen_to_merge(entries(*parts)):
            start = next(
                at
                for at in range(len(parts))
                if parts[at : at + len(chosen)] == [p.row_count for p in chosen]
            )
            written += sum(parts[start : start + len(chosen)])
            parts[start : start + len(chosen)] = [sum(parts[start : start + len(chosen)])]

    tiers = 1 + int(np.log(max(sum(rows), 1)) / np.log(FANOUT))
    assert len(parts) <= tiers * (FANOUT - 1)
    assert written <= 2 * tiers * sum(rows)


def test_small_parts_are_merged_after_appends(tmp_path: Path) -> None:
    table = new_table(tmp_path / "db", trades(20))
    for seed in range(2, 21):
        append(table, trades(20, seed=seed))
        merge_small(table, table.current(), [DAY], threads=1)

    assert len(table.manifest(table.current(), DAY).parts) <= 2 * (FANOUT - 1)
    compact(table, DAY)
    frames = [trades(20), *(trades(20, seed=seed) for seed in range(2, 21))]
    assert rows_of(table).equals(in_logical_order(frames, TRADES))
