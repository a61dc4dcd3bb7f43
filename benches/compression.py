"""Size and speed of a synthetic TAQ day under the goals of `auto` and under plain codecs, in one run.

Prints for each table its columns and the total: bytes in percent of kdb+'s plain bytes (index, header,
dictionary, runs and null bitmap counted), and MB of plain bytes a second to write and to decode on one
thread, the best of the repeats. Seconds are those that the thread ran: a busy machine disturbs them little.

`python benches/compression.py --trades 5000000 --quotes 10000000 --repeats 5`.
"""

from __future__ import annotations

import os

os.environ["POLARS_MAX_THREADS"] = "1"  # before Polars is imported: one thread for everything

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from colonnade.codec.choose import GOALS, choose_together
from colonnade.codec.compression import Compression
from colonnade.demo.taqgen import make_day
from colonnade.kernels import decode_rows, decode_string_rows
from colonnade.schema import ColumnType
from colonnade.store.column_file import ColumnFile
from colonnade.store.column_values import StoredRows, stored_values, symbol_codes_type
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.text import text_to_buffers

CODECS = ("lz4:1", "snappy", "zstd:1", "zstd:10", "gzip:5")
BEST_MIX = "zstd 10, gzip 5"  # of the study: gzip on the sequence numbers, zstd on all else
SEQUENCES = ("SequenceNumber", "Sequence_Number")
DECODED_ROWS = 1 << 17  # at a time
SAMPLE_ROWS = 1 << 14  # of a stretch; there are four, as in ingest
TRADES_A_SYMBOL = 6_596  # of a full day, from which the generator takes the number of symbols
QUOTES_A_SYMBOL = 146_864
KDB_BYTES = {"symbol": 8, "string": 8}  # an enumeration; an offset, and the text beside it


class Column(NamedTuple):
    """A column as it is written."""

    type: ColumnType
    rows: StoredRows
    symbols: pl.Series | None
    is_parted: bool
    sample: pl.Series

    @property
    def kdb_bytes(self) -> int:
        """Plain bytes with the kdb+ type."""
        width = KDB_BYTES.get(self.type.kind, self.rows.values.itemsize)
        return width * len(self.rows.values) + len(self.rows.text)


class Measured(NamedTuple):
    """Bytes of a file, and seconds."""

    stored_bytes: int
    write_s: float
    decode_s: float


def main() -> None:
    """Measure both tables and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trades", type=int, default=5_000_000)
    parser.add_argument("--quotes", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to put the files (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for name, columns in tables(arguments.trades, arguments.quotes):
            bench(name, columns, Path(folder), arguments.repeats)


def tables(trades: int, quotes: int) -> Iterator[tuple[str, dict[str, Column]]]:
    """Make each table with as many symbols as share its rows on a full day, types as in the study."""
    symbols = max(20, round(quotes / QUOTES_A_SYMBOL))
    yield "quote", as_columns(make_day(trades=symbols * TRADES_A_SYMBOL, quotes=quotes).quote)
    yield "trade", as_columns(make_day(trades=trades, quotes=2 * trades).trade)


def as_columns(frame: pl.DataFrame) -> dict[str, Column]:
    """Turn a frame into stored values, with kdb+'s widths."""
    narrow = {"SequenceNumber": pl.Int32, "Sequence_Number": pl.Int32, "TradePrice": pl.Float32}
    frame = frame.cast({name: dtype for name, dtype in narrow.items() if name in frame.columns})
    return {name: as_column(frame[name]) for name in frame.columns}


def as_column(values: pl.Series) -> Column:
    """Turn a column into stored values."""
    column_type = type_of(values)
    sample = sample_of(values)
    if not column_type.has_fixed_width:
        return Column(column_type, StoredRows(*text_to_buffers(values)), None, is_parted=False, sample=sample)
    symbols = values.drop_nulls().unique().sort() if column_type.kind == "symbol" else None
    stored, valid = stored_values(
        values, column_type, None if symbols is None else symbol_codes_type(symbols)
    )
    return Column(column_type, StoredRows(stored, valid=valid), symbols, values.name == "Symbol", sample)


def type_of(values: pl.Series) -> ColumnType:
    """Give the column type: symbols, single characters and identifiers are all text in the frame."""
    if values.dtype != pl.String:
        return ColumnType.of_polars(values.dtype)
    if values.name == "TradeId":
        return ColumnType("string")
    return ColumnType("symbol" if values.name in ("Symbol", "SaleCondition") else "char")


def sample_of(values: pl.Series) -> pl.Series:
    """Take four stretches, as ingest does."""
    if len(values) <= 4 * SAMPLE_ROWS:
        return values
    starts = np.linspace(0, len(values) - SAMPLE_ROWS, 4).astype(int)
    return pl.concat([values.slice(int(start), SAMPLE_ROWS) for start in starts])


def bench(table: str, columns: Mapping[str, Column], folder: Path, repeats: int) -> None:
    """Measure every column of a table under every choice, and print."""
    choices = choices_for(columns)
    measured: dict[str, dict[str, Measured]] = {choice: {} for choice in choices}
    for name, column in columns.items():
        files = {choice: write(column, specs[name], folder) for choice, specs in choices.items()}
        for file, _ in files.values():
            decode(file, column)  # once before it counts: pages and checksums
        seconds = {choice: float("inf") for choice in files}
        for _ in range(repeats):  # in turns, so that all choices see the same machine
            for choice, (file, _) in files.items():
                seconds[choice] = min(seconds[choice], decode(file, column))
        for choice, (file, write_s) in files.items():
            measured[choice][name] = Measured(file.entry.stored_bytes, write_s, seconds[choice])
            Path(file.path).unlink()
    report(table, columns, choices, measured)


def choices_for(columns: Mapping[str, Column]) -> dict[str, dict[str, Compression]]:
    """Give for each choice the compression of every column."""
    samples = {name: column.sample for name, column in columns.items()}
    types = {name: column.type for name, column in columns.items()}
    choices = {goal: choose_together(samples, types, goal) for goal in GOALS}
    for codec in CODECS:
        choices[codec] = dict.fromkeys(columns, Compression.parse(codec))
    mix = {name: Compression.parse("gzip:5" if name in SEQUENCES else "zstd:10") for name in columns}
    return {**choices, BEST_MIX: mix}


def write(column: Column, compression: Compression, folder: Path) -> tuple[ColumnFile, float]:
    """Write a column file; give it, and the seconds that it took."""
    path = folder / f"{time.monotonic_ns()}.col"
    start = time.thread_time()
    writer = ColumnWriter(
        path, "column", column.type, compression, symbols=column.symbols, is_parted=column.is_parted
    )
    writer.add_stored(column.rows)
    entry = writer.finish(durable=False)
    seconds = time.thread_time() - start
    return ColumnFile(str(path), entry, len(column.rows.values)), seconds


def decode(file: ColumnFile, column: Column) -> float:
    """Decode all rows in pieces; give the seconds."""
    rows = len(column.rows.values)
    piece = max(DECODED_ROWS, file.block_rows)
    kernel_input = file.kernel_input()
    out = np.empty(piece, column.rows.values.dtype)
    start = time.thread_time()
    for first in range(0, rows, piece):
        last = min(rows, first + piece)
        if column.type.has_fixed_width:
            decode_rows(kernel_input, first, last, out[: last - first])
        else:
            decode_string_rows(kernel_input, first, last)
    seconds = time.thread_time() - start
    if column.type.has_fixed_width:
        assert np.array_equal(out[: last - first], column.rows.values[first:last], equal_nan=True)
    return seconds


def report(
    table: str,
    columns: Mapping[str, Column],
    choices: Mapping[str, Mapping[str, Compression]],
    measured: Mapping[str, Mapping[str, Measured]],
) -> None:
    """Print one line a column, then the totals."""
    row_count = len(next(iter(columns.values())).rows.values)
    print(f"\n{table}, {row_count:,} rows: % of plain bytes, MB/s to decode, and what the goals chose")
    heads = "".join(f"{choice:>18}" for choice in choices)
    print(f"{'column':<46}{heads}   {', '.join(GOALS)}")
    for name, column in columns.items():
        chosen = ", ".join(str(choices[goal][name]) for goal in GOALS)
        cells = "".join(
            f"{100 * one[name].stored_bytes / column.kdb_bytes:>10.2f}"
            f"{column.kdb_bytes / one[name].decode_s / 1e6:>8,.0f}"
            for one in measured.values()
        )
        print(f"{name:<46}{cells}   {chosen}")
    plain = sum(column.kdb_bytes for column in columns.values())
    print(f"\n{table} in total, {plain:,} plain bytes")
    print(f"{'':<18}{'% of plain':>12}{'write MB/s':>12}{'decode MB/s':>13}{'x lz4 1':>9}")
    yardstick = sum(one.decode_s for one in measured["lz4:1"].values())
    for choice, one in measured.items():
        stored = sum(of_column.stored_bytes for of_column in one.values())
        write_s = sum(of_column.write_s for of_column in one.values())
        decode_s = sum(of_column.decode_s for of_column in one.values())
        print(
            f"{choice:<18}{100 * stored / plain:>12.2f}{plain / write_s / 1e6:>12,.0f}"
            f"{plain / decode_s / 1e6:>13,.0f}{yardstick / decode_s:>9.2f}"
        )


if __name__ == "__main__":
    main()
