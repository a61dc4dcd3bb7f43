"""Rows of every type, and parts made of them, for the tests of the store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from colonnade.codec.compression import Compression
from colonnade.physical import of_physical
from colonnade.schema import ColumnType, Schema
from colonnade.store.column_values import canonical_type
from colonnade.store.database import DatabaseStore
from colonnade.store.entries import PartEntry
from colonnade.store.part import write_part
from colonnade.store.version import Addition, Edits, TableStore

DAY = 19_724  # 2024-01-02
TRADES = Schema(
    {
        "sym": ColumnType("symbol"),
        "time": ColumnType("timestamp"),
        "price": ColumnType("float64"),
        "size": ColumnType("int32"),
        "cond": ColumnType("string"),
    },
    part_by="sym",
    sort_by="time",
)
KINDS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "char", "symbol", "string", "date", "timestamp", "timestamp[America/New_York]", "time", "timespan",
    "decimal[2]", "month", "minute", "second", "guid", "list[int32]", "list[timestamp]", "list[string]",
)  # fmt: skip


def column(kind: str, rows: int, *, nulls: float = 0.0, seed: int = 1) -> pl.Series:
    """Make a column of a canonical frame."""
    random = np.random.default_rng(seed)
    column_type = ColumnType.parse(kind)
    small = random.integers(0, 100, rows)
    if column_type.item is not None:
        items = column(str(column_type.item), 100, seed=seed)
        values = pl.Series([items[: number % 4] for number in small], dtype=pl.List(items.dtype))
    elif kind == "guid":
        values = pl.Series(
            [f"8c6b8b64-6815-6084-0a3e-1784012{number:05x}" for number in small], dtype=pl.String
        )
    elif column_type.read_as != column_type or column_type.scale is not None:
        values = of_physical(small.astype(column_type.numpy_type), column_type)
    elif kind in ("symbol", "string"):
        values = pl.Series([f"x{number}é" for number in small], dtype=pl.String)
    elif kind == "char":
        values = pl.Series([chr(64 + number) for number in small], dtype=pl.String)
    elif kind == "bool":
        values = pl.Series(small > 50)
    elif kind.startswith("float"):
        values = pl.Series((small / 100).astype(column_type.numpy_type))
    else:
        values = pl.Series(small.astype(column_type.numpy_type)).cast(canonical_type(column_type))
    if not nulls:
        return values
    keep = pl.Series(random.random(rows) >= nulls)
    return pl.select(pl.when(keep).then(values)).to_series()


def trades(rows: int = 3_000, *, seed: int = 1, symbols: int = 20, start: int = 0) -> pl.DataFrame:
    """Make sorted trades as a canonical frame."""
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sym": pl.Series([f"S{number:03d}" for number in np.sort(random.integers(0, symbols, rows))]),
            "time": pl.Series(np.arange(start, start + rows) * 1_000).cast(pl.Datetime("ns")),
            "price": pl.Series(np.round(100 + random.normal(size=rows), 2)),
            "size": pl.Series(random.integers(1, 50, rows).astype(np.int32) * 100),
            "cond": pl.Series([["@", "@ F", "T"][number] for number in random.integers(0, 3, rows)]),
        }
    )


def dictionaries(frame: pl.DataFrame, schema: Schema) -> dict[str, pl.Series]:
    """Give the dictionary of every symbol column."""
    symbols = [name for name, column_type in schema.columns.items() if column_type.kind == "symbol"]
    return {name: frame[name].drop_nulls().unique().sort() for name in symbols}


def write(
    table: TableStore,
    frame: pl.DataFrame,
    *,
    day: int = DAY,
    schema: Schema = TRADES,
    compression: str = "plain",
    chunks: Iterable[pl.DataFrame] | None = None,
    durable: bool = False,
) -> PartEntry:
    """Write a frame as a part of a table that may not exist yet."""
    return write_part(
        table.partition_folder(day, schema),
        schema,
        [frame] if chunks is None else chunks,
        dictionaries=dictionaries(frame, schema),
        compressions=dict.fromkeys(schema.columns, Compression.parse(compression)),
        durable=durable,
        threads=1,
    )


def new_table(
    path: Path, frame: pl.DataFrame, *, schema: Schema = TRADES, compression: str = "plain"
) -> TableStore:
    """Create a database with a table of one partition."""
    table = DatabaseStore.create(path, durable=False).table("trade")
    part = write(table, frame, schema=schema, compression=compression)
    table.commit(None, Edits(schema=schema, created={DAY: Addition((part,))}))
    return table


def append_ten_times(path: Path) -> None:
    """Append ten small parts to a table; run by several processes at once."""
    table = TableStore(path, durable=False)
    for number in range(10):
        part = write(table, trades(10, seed=number))
        table.commit(table.current(), Edits(appended={DAY: Addition((part,))}))


def append(table: TableStore, frame: pl.DataFrame) -> None:
    """Append a frame to the day, as durably as the table is."""
    part = write(table, frame, durable=table.durable)
    table.commit(table.current(), Edits(appended={DAY: Addition((part,))}))


def replace_all(table: TableStore, frame: pl.DataFrame) -> None:
    """Replace the rows of the day, as durably as the table is."""
    base = table.current()
    part = write(table, frame, durable=table.durable)
    table.commit(base, Edits(replaced={DAY: Addition((part,))}))
