"""Changes of a table ``trade``, each beside what must come out of it.

An operation is two functions of the same random numbers: one changes the database, the other a frame of the
rows in the order in which they came, or None where there is no table. A new kind of change is one more entry
in `OPERATIONS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

import colonnade as cn
from colonnade.store.version import TableStore
from databases import TICK_KEYS, bits, logical

DAY_NS: Final = 86_400_000_000_000
DAYS: Final = tuple(range(19_723, 19_735))  # 2024-01-01 to 2024-01-12
SYMBOLS: Final = ("A", "AAPL", "MSFT", "Z€")
COMPRESSIONS: Final = (
    "plain", "bitpack", "zstd:1@4KiB", "lz4", "bitpack+zstd:3", "bytes+zstd:1", "dict", "runs+lz4", "snappy",
    "gzip:6@64KiB", "qipc",
)  # fmt: skip

EXTRA: Final = {"venue": pl.Int16(), "mark": pl.Float64()}
EXTRA_TYPES: Final = {"venue": "int16", "mark": "float64"}

Rows = pl.DataFrame | None


def ticks(random: Generator) -> pl.DataFrame:
    """Make trades of one to three dates in no order, many at equal times."""
    rows = int(random.integers(1, 200))
    days = random.choice(DAYS, random.integers(1, 4), replace=False)
    clock = random.integers(0, 500, rows) * 1_000_000_000
    return pl.DataFrame(
        {
            "sym": pl.Series([SYMBOLS[code] for code in random.integers(0, len(SYMBOLS), rows)]),
            "time": pl.Series(random.choice(days, rows) * DAY_NS + clock).cast(pl.Datetime("ns")),
            "price": pl.Series(10_000 + random.integers(-500, 500, rows)) / 100,
            "size": pl.Series(random.integers(1, 50, rows) * 100),
            "cond": pl.Series(["@", *(("@", "@ F", None)[code] for code in random.integers(0, 3, rows - 1))]),
        }
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table that changes of the schema have left: their names, and the type of the sizes."""

    names: Sequence[str]
    size: pl.DataType

    @classmethod
    def of_table(cls, db: cn.Database) -> Layout | None:
        """Give that of the table ``trade``; None where there is no table."""
        if "trade" not in db:
            return None
        columns = db["trade"].schema.columns
        return cls(list(columns), pl.Int32() if str(columns["size"]) == "int32" else pl.Int64())

    @classmethod
    def of_rows(cls, rows: Rows) -> Layout | None:
        """Give that of rows; None where there are none."""
        return None if rows is None else cls(rows.columns, rows.schema["size"])


def drawn(random: Generator, layout: Layout | None) -> pl.DataFrame:
    """Make trades with the columns that a table has."""
    frame = ticks(random)
    if layout is None:
        return frame
    number = pl.Series(random.integers(0, 100, frame.height))
    more = {name: number.cast(kind).alias(name) for name, kind in EXTRA.items()}
    renamed = {"cond": "condition"} if "condition" in layout.names else {}
    wide = frame.with_columns(pl.col("size").cast(layout.size), **more).rename(renamed)
    return wide.select(layout.names)


def dates(frame: pl.DataFrame) -> pl.Series:
    """Give the date of every row, days since 1970-01-01."""
    return frame["time"].dt.date().to_physical()


def append(db: cn.Database, random: Generator) -> None:
    db.ingest("trade", drawn(random, Layout.of_table(db)), mode="append", **TICK_KEYS)


def appended(rows: Rows, random: Generator) -> Rows:
    frame = drawn(random, Layout.of_rows(rows))
    return frame if rows is None else pl.concat([rows, frame])


def append_drifted(db: cn.Database, random: Generator) -> None:
    if "trade" in db:
        with warnings.catch_warnings(action="ignore"):  # that a column is missing
            db["trade"].append(drifted(random), new_columns="add", widen=True)


def appended_drifted(rows: Rows, random: Generator) -> Rows:
    if rows is None:
        return None
    return pl.concat([rows.with_columns(pl.col("size").cast(pl.Int64)), drifted(random)], how="diagonal")


def drifted(random: Generator) -> pl.DataFrame:
    """Make trades that lack a column, have new ones, and wide sizes."""
    layout = Layout(["sym", "time", "price", "size", *EXTRA], pl.Int64())
    return drawn(random, layout)


def replace(db: cn.Database, random: Generator) -> None:
    db.ingest("trade", drawn(random, Layout.of_table(db)), mode="replace", **TICK_KEYS)


def replaced(rows: Rows, random: Generator) -> Rows:
    frame = drawn(random, Layout.of_rows(rows))
    if rows is None:
        return frame
    return pl.concat([rows.filter(~dates(rows).is_in(dates(frame).unique().to_list())), frame])


def compact(db: cn.Database, _random: Generator) -> None:
    if "trade" in db:
        db["trade"].compact()


def recompress(db: cn.Database, random: Generator) -> None:
    chosen = random.choice(COMPRESSIONS, 16).tolist()
    if "trade" in db:
        db["trade"].recompress(dict(zip(db["trade"].schema.columns, chosen, strict=False)))


def delete(db: cn.Database, random: Generator) -> None:
    symbol, size = doomed(random)
    if "trade" in db:
        db["trade"].delete(cn.col("size") > size, sym=symbol).apply()


def without_deleted(rows: Rows, random: Generator) -> Rows:
    symbol, size = doomed(random)
    return None if rows is None else rows.filter(~((pl.col("sym") == symbol) & (pl.col("size") > size)))


def doomed(random: Generator) -> tuple[str, int]:
    """Choose which rows to delete: those of a symbol whose size is larger than another."""
    return str(random.choice(SYMBOLS)), int(random.integers(0, 5_500))


def clean(db: cn.Database, _random: Generator) -> None:
    db.clean(keep="0s")


def unchanged(rows: Rows, _random: Generator) -> Rows:
    return rows


def add_or_drop_column(db: cn.Database, random: Generator) -> None:
    name = str(random.choice(sorted(EXTRA)))
    if "trade" not in db:
        return
    if name in db["trade"].schema.columns:
        db["trade"].drop_column(name)
    else:
        db["trade"].add_column(name, EXTRA_TYPES[name])


def with_or_without_column(rows: Rows, random: Generator) -> Rows:
    name = str(random.choice(sorted(EXTRA)))
    if rows is None:
        return None
    return (
        rows.drop(name) if name in rows.columns else rows.with_columns(pl.lit(None, EXTRA[name]).alias(name))
    )


def rename_column(db: cn.Database, _random: Generator) -> None:
    if "trade" in db:
        names = ("cond", "condition")
        old, new = names if names[0] in db["trade"].schema.columns else names[::-1]
        db["trade"].rename_column(old, new)


def renamed_column(rows: Rows, _random: Generator) -> Rows:
    if rows is None:
        return None
    return rows.rename({"cond": "condition"} if "cond" in rows.columns else {"condition": "cond"})


def cast_column(db: cn.Database, _random: Generator) -> None:
    if "trade" in db:
        is_wide = str(db["trade"].schema.columns["size"]) == "int64"
        db["trade"].cast_column("size", "int32" if is_wide else "int64")


def with_cast_column(rows: Rows, _random: Generator) -> Rows:
    if rows is None:
        return None
    return rows.with_columns(pl.col("size").cast(pl.Int32 if rows.schema["size"] == pl.Int64 else pl.Int64))


def drop_partition(db: cn.Database, random: Generator) -> None:
    place = random.integers(0, len(DAYS))
    if "trade" in db and (kept := db["trade"].partitions["date"].to_list()):
        db["trade"].drop_partition(kept[place % len(kept)])


def without_partition(rows: Rows, random: Generator) -> Rows:
    place = random.integers(0, len(DAYS))
    if rows is None or not (kept := dates(rows).unique().sort().to_list()):
        return rows
    return rows.filter(dates(rows) != kept[place % len(kept)])


def drop_table(db: cn.Database, _random: Generator) -> None:
    if "trade" in db:
        db.drop_table("trade")


def no_rows(_rows: Rows, _random: Generator) -> Rows:
    return None


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of change.

    Attributes
    ----------
    run
        Makes the change.
    expect
        Gives the rows that must be there after it.
    weight
        How often it is drawn, beside others.
    """

    run: Callable[[cn.Database, Generator], None]
    expect: Callable[[Rows, Generator], Rows]
    weight: int = 1


OPERATIONS: Final = {
    "append": Operation(append, appended, weight=6),
    "append with other columns": Operation(append_drifted, appended_drifted),
    "replace": Operation(replace, replaced, weight=3),
    "compact": Operation(compact, unchanged, weight=2),
    "recompress": Operation(recompress, unchanged),
    "delete": Operation(delete, without_deleted, weight=2),
    "clean": Operation(clean, unchanged),
    "add or drop column": Operation(add_or_drop_column, with_or_without_column),
    "rename column": Operation(rename_column, renamed_column),
    "cast column": Operation(cast_column, with_cast_column),
    "drop partition": Operation(drop_partition, without_partition),
    "drop table": Operation(drop_table, no_rows),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One change: its kind, and the seed of its random numbers."""

    kind: str
    seed: int

    def run(self, path: Path) -> None:
        """Make the change."""
        OPERATIONS[self.kind].run(cn.open(path), np.random.default_rng(self.seed))

    def expect(self, rows: Rows) -> Rows:
        """Give the rows that must be there after it."""
        return OPERATIONS[self.kind].expect(rows, np.random.default_rng(self.seed))


def random_steps(random: Generator, count: int) -> list[Step]:
    """Draw steps of every kind."""
    weights = np.array([operation.weight for operation in OPERATIONS.values()])
    kinds = random.choice(list(OPERATIONS), count, p=weights / weights.sum()).tolist()
    return [
        Step(kind, seed) for kind, seed in zip(kinds, random.integers(0, 2**31, count).tolist(), strict=True)
    ]


def new_database(path: Path, seed: int = 0) -> Rows:
    """Create a database whose table has rows of several dates; give its rows."""
    random = np.random.default_rng(seed)
    db = cn.create(path)
    frames = [ticks(random) for _ in range(3)]
    frames.append(frames[0].head(10))  # so that some date has two parts
    compression = dict(zip(frames[0].columns, COMPRESSIONS, strict=False))
    for frame in frames:
        db.ingest("trade", frame, mode="append", compression=compression, **TICK_KEYS)
    return pl.concat(frames)


@dataclass(frozen=True, slots=True)
class Found:
    """What a reader finds: all rows in logical order, or None without the table; and what is damaged."""

    rows: Rows
    problems: tuple[str, ...]

    def is_what_is_expected(self, rows: Rows) -> bool:
        """Whether these are the rows, bit for bit, and nothing is damaged."""
        if self.problems or (self.rows is None) != (rows is None):
            return False
        if self.rows is None or rows is None:
            return True
        if set(self.rows.columns) != set(rows.columns):
            return False
        return bits(self.rows.select(rows.columns)) == bits(logical(rows).select(rows.columns))


def examine(path: Path) -> Found:
    """Read everything, and check everything."""
    db = cn.open(path)
    rows = db["trade"].collect() if "trade" in db else None
    return Found(rows, tuple(db.verify(threads=1)["problem"]))


def gone_back(path: Path) -> Found:
    """Read everything, after removing newest versions for as long as they or what they name is damaged."""
    while True:
        newest = max((path / "trade" / "versions").glob("*.json"))
        try:
            found = examine(path)
        except (cn.CorruptionError, cn.StaleVersionError):
            newest.unlink()
            continue
        if not found.problems:
            return found
        newest.unlink()


def leftovers(path: Path) -> set[str]:
    """Clean all that is old, and give the files that are there and that the newest version doesn't need."""
    db = cn.open(path)
    db.clean(keep="0s")
    table = TableStore(path / "trade")
    needed = {path / "colonnade.json", table.path / "versions" / f"{table.newest_number():08d}.json"}
    if table.exists():
        version = table.current()
        stored = {version.schema.stored_name(name) for name in version.schema.columns}
        for value, content_hash in zip(version.values.tolist(), version.manifests, strict=True):
            folder = table.partition_folder(value, version.schema)
            needed.add(folder / f"manifest-{content_hash}.json")
            for part in table.manifest(version, value).parts:
                files = (column.file for name, column in part.columns.items() if name in stored)
                needed.update(folder / part.folder / file for file in files)
    found = {file for file in path.rglob("*") if not file.is_dir()}
    assert needed <= found
    return {str(file.relative_to(path)) for file in found - needed}
