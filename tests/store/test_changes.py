"""Changes of named parts and column files: what they touch, and what conflicts with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from colonnade.codec.compression import Compression
from colonnade.errors import ConflictError, SchemaError
from colonnade.schema import ColumnType
from colonnade.store.database import DatabaseStore
from colonnade.store.entries import ColumnEntry, PartEntry
from colonnade.store.manifest import Change, ColumnChange
from colonnade.store.version import Addition, Edits, TableStore
from colonnade.store.version_file import Version
from store.rows import TRADES

DAY = 7
PRICE = ColumnEntry(ColumnType("float64"), "price-0.col", 100, 800, 0, Compression(), 1)
SIZE = ColumnEntry(ColumnType("int32"), "size-0.col", 100, 400, 0, Compression(), 2)
SMALLER = replace(PRICE, file="price-1.col", stored_bytes=50)


def part(number: int, last: int | None = None, *, rows: int = 10) -> PartEntry:
    """Make the entry of a part; versions don't look at its files."""
    columns = {"price": PRICE, "size": SIZE}
    return PartEntry(f"part-{number}", (number, last or number), rows, number, number + 1, columns)


@pytest.fixture
def table(tmp_path: Path) -> TableStore:
    return DatabaseStore.create(tmp_path / "db", durable=False).table("trade")


@pytest.fixture
def base(table: TableStore) -> Version:
    first = table.commit(None, Edits(schema=TRADES, created={DAY: Addition((part(1),))}))
    return append(table, first, part(2))


def append(table: TableStore, base: Version, added: PartEntry) -> Version:
    return table.commit(base, Edits(appended={DAY: Addition((added,))}))


def change(table: TableStore, base: Version, **what: tuple[object, ...]) -> Version:
    return table.commit(base, Edits(changed={DAY: Change(**what)}))  # type: ignore[arg-type]


def held(table: TableStore) -> list[tuple[str, tuple[int, int]]]:
    return [(one.folder, one.sequence) for one in table.manifest(table.current(), DAY).parts]


def test_parts_take_the_place_of_others_while_rows_are_appended(table: TableStore, base: Version) -> None:
    append(table, base, part(3))

    latest = change(table, base, removed=(part(1), part(2)), added=(replace(part(9), sequence=(1, 2)),))

    assert held(table) == [("part-9", (1, 2)), ("part-3", (3, 3))]
    assert latest.row_counts.tolist() == [20]


def test_bounds_and_rows_of_the_version_are_those_of_the_parts_that_stay(
    table: TableStore, base: Version
) -> None:
    latest = change(table, base, removed=(part(1),))

    assert (latest.row_counts.tolist(), latest.sort_min.tolist(), latest.sort_max.tolist()) == (
        [10],
        [2],
        [3],
    )


def test_a_partition_without_parts_goes(table: TableStore, base: Version) -> None:
    latest = change(table, base, removed=(part(1), part(2)))

    assert latest.values.tolist() == []


def test_a_partition_keeps_what_was_appended_while_the_rest_was_removed(
    table: TableStore, base: Version
) -> None:
    append(table, base, part(3))

    change(table, base, removed=(part(1), part(2)))

    assert held(table) == [("part-3", (3, 3))]


def test_a_part_that_is_gone_or_has_changed_is_a_conflict(table: TableStore, base: Version) -> None:
    column = ColumnChange("part-1", "price", PRICE, SMALLER)
    change(table, base, columns=(column,))
    change(table, base, removed=(part(2),), added=(replace(part(8), sequence=(2, 2)),))
    before = held(table)

    for removed in (part(1), part(2)):
        with pytest.raises(ConflictError, match=removed.folder):
            change(table, base, removed=(removed,))
    assert held(table) == before


def test_column_files_change_without_touching_others(table: TableStore, base: Version) -> None:
    append(table, base, part(3))
    change(table, base, columns=(ColumnChange("part-1", "price", PRICE, SMALLER),))

    other = replace(SIZE, file="size-1.col")
    latest = change(table, base, columns=(ColumnChange("part-1", "size", SIZE, other),))

    parts = table.manifest(latest, DAY).parts
    assert parts[0].columns == {"price": SMALLER, "size": other}
    assert parts[1].columns == {"price": PRICE, "size": SIZE}


def test_columns_come_and_go(table: TableStore, base: Version) -> None:
    latest = change(
        table,
        base,
        columns=(ColumnChange("part-1", "bid", None, PRICE), ColumnChange("part-1", "size", SIZE, None)),
    )

    assert table.manifest(latest, DAY).parts[0].columns == {"price": PRICE, "bid": PRICE}


@pytest.mark.parametrize(
    "column",
    [
        ColumnChange("part-1", "price", SMALLER, PRICE),
        ColumnChange("part-1", "price", None, PRICE),
        ColumnChange("part-1", "bid", PRICE, SMALLER),
        ColumnChange("part-7", "price", PRICE, SMALLER),
    ],
)
def test_a_column_file_that_is_another_is_a_conflict(
    table: TableStore, base: Version, column: ColumnChange
) -> None:
    with pytest.raises(ConflictError, match=column.name):
        change(table, base, columns=(column,))


def test_a_change_of_a_dropped_or_replaced_partition_is_a_conflict(table: TableStore, base: Version) -> None:
    replaced = table.commit(base, Edits(replaced={DAY: Addition((part(5),))}))
    with pytest.raises(ConflictError):
        change(table, base, removed=(part(1),))

    table.commit(replaced, Edits(dropped=frozenset({DAY})))
    with pytest.raises(ConflictError):
        change(table, base, removed=(part(1),))


def test_parts_whose_order_would_be_unclear_are_a_conflict(table: TableStore, base: Version) -> None:
    with pytest.raises(ConflictError, match="order"):
        change(table, base, added=(replace(part(9), sequence=(2, 3)),))


def test_a_change_that_must_be_alone_conflicts_with_an_append(table: TableStore, base: Version) -> None:
    alone = Edits(schema=replace(TRADES, roles={"price": "price"}), alone=True)
    append(table, base, part(3))

    with pytest.raises(ConflictError, match="changed between version 2 and 3"):
        table.commit(base, alone)
    assert table.commit(table.current(), alone).schema.roles == {"price": "price"}


def test_a_change_names_something_and_no_part_twice() -> None:
    with pytest.raises(SchemaError):
        Change()
    with pytest.raises(SchemaError):
        Change(removed=(part(1),), columns=(ColumnChange("part-1", "price", PRICE, SMALLER),))
    with pytest.raises(SchemaError):
        Edits(changed={DAY: Change(removed=(part(1),))}, dropped=frozenset({DAY}))
