"""Writes rows of committed parts as a new part, without looking at what the values mean.

Rows move as they are stored; only symbols get new codes, and narrower columns of older parts the table's
type. What is read is checked: every block against its checksum, and a column of which all rows are read as
they are against the hash of its values.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.errors import ChecksumError, located
from colonnade.maintenance.stretches import Stretch, rows_of
from colonnade.schema import SYMBOL_NULL, ColumnType, Schema
from colonnade.store.column_file import ColumnFile
from colonnade.store.column_values import NO_TEXT, StoredRows
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.entries import PartEntry
from colonnade.store.part import PartWriter
from colonnade.store.table_source import StoredPart
from colonnade.store.values_hash import TextHash, ValuesHash

Watch = Callable[[int], None]  # called with the rows that were written since the last call
_TEXT_ROWS: Final = 1 << 18  # rows of text picked at a time: each byte takes a number of eight


def rewrite(
    folder: Path,
    schema: Schema,
    parts: Sequence[StoredPart],
    stretches: Iterable[Stretch],
    *,
    dictionaries: Mapping[str, pl.Series],
    durable: bool,
    threads: int | None = None,
    watch: Watch | None = None,
) -> PartEntry:
    """Write stretches of parts as one new part; on an error nothing of it is left.

    Parameters
    ----------
    folder
        Folder of the partition.
    schema
        Columns and keys.
    parts
        Parts that the stretches read, by ascending sequence. The new part spans their sequence, and each
        column takes the compression that most of their rows have. It lacks a column that they all lack.
    stretches
        Rows in logical order.
    dictionaries
        For every symbol column the symbols that the rows have, sorted by bytes.
    durable
        Whether the part survives a power cut once this returns.
    threads
        Columns written side by side; None for the default.
    watch
        Called as rows are written.

    Raises
    ------
    CorruptionError
        If what is read isn't what was written.
    """
    compressions = {name: found for name in schema.columns if (found := _most_used(parts, name))}
    columns = {
        name: _Column(parts, name, schema.columns[name], dictionaries.get(name)) for name in compressions
    }
    writer = PartWriter(
        folder,
        schema,
        dictionaries=dictionaries,
        compressions=compressions,
        sequence=(parts[0].sequence[0], parts[-1].sequence[1]),
        durable=durable,
        threads=threads,
    )
    with writer:
        for stretch in stretches:
            writer.add(_giver(columns, stretch), stretch.row_count)
            if watch is not None:
                watch(stretch.row_count)
        for column in columns.values():
            column.check_hashes()
        return writer.finish()


def remove_part(folder: Path, part: PartEntry) -> None:
    """Remove a part that was written and not committed."""
    shutil.rmtree(folder / part.folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()  # of a partition that holds nothing else


def merged_dictionaries(parts: Sequence[StoredPart], schema: Schema) -> dict[str, pl.Series]:
    """Give the symbols of all parts, for every symbol column."""
    found = {}
    for name in symbol_columns(schema):
        texts = [text for part in parts if (text := part.column(name).dictionary) is not None]
        same = all(text is texts[0] for text in texts)
        found[name] = texts[0] if same else pl.concat(texts).unique().sort()
    return found


def symbol_columns(schema: Schema) -> list[str]:
    """Name the symbol columns."""
    return [name for name, kind in schema.columns.items() if kind.kind == "symbol"]


def _giver(columns: Mapping[str, _Column], stretch: Stretch) -> Callable[[ColumnWriter], None]:
    return lambda writer: columns[writer.name].give(writer, stretch)


def _most_used(parts: Sequence[StoredPart], name: str) -> Compression | None:
    """Give the compression that most rows of a column have; None where no part has the column."""
    rows: dict[Compression, int] = {}
    for part in parts:
        entry = part.column_entry(name)
        if entry is not None:
            rows[entry.compression] = rows.get(entry.compression, 0) + part.row_count
    return max(rows, key=lambda compression: rows[compression], default=None)


class _Column:
    """One column of all parts, and the codes that its symbols get."""

    def __init__(
        self, parts: Sequence[StoredPart], name: str, kind: ColumnType, symbols: pl.Series | None
    ) -> None:
        self._kind = kind
        self._sources = [part.column_apart(name) for part in parts]
        self._codes = [
            None if symbols is None else _new_codes(one.dictionary, symbols) for one in self._sources
        ]
        self._hashes = [_RunningHash(one) if isinstance(one, ColumnFile) else None for one in self._sources]

    def give(self, writer: ColumnWriter, stretch: Stretch) -> None:
        """Hand the rows of a stretch to a writer."""
        pieces = [self._read(*one) for one in stretch.ranges]
        joined = _joined(pieces)
        if stretch.picked is None:
            writer.add_stored(joined)
        elif self._kind.has_fixed_width:
            writer.add_stored(_picked(joined, stretch.picked))
        else:
            for rows in _picked_text(joined, stretch.picked):
                writer.add_stored(rows)

    def check_hashes(self) -> None:
        """Compare columns that were read as a whole with the hash of their values."""
        for hashed in self._hashes:
            if hashed is not None:
                hashed.check()

    def _read(self, part: int, start: int, stop: int) -> StoredRows:
        rows = self._sources[part].read_stored(start, stop)
        hashed = self._hashes[part]
        if hashed is not None:
            hashed.add(start, rows)
        codes = self._codes[part]
        return rows if codes is None else StoredRows(_coded(rows.values, codes))


class _RunningHash:
    """The hash of a column's values, as long as they are read from the first to the last."""

    def __init__(self, file: ColumnFile) -> None:
        self._file = file
        self._next_row = 0
        self._values = ValuesHash()
        self._text = TextHash()

    def add(self, start: int, rows: StoredRows) -> None:
        if start != self._next_row:
            return
        self._next_row += len(rows.values)
        if self._file.type.has_fixed_width:
            self._values.add(rows.values)
        else:
            self._text.add(rows.values, rows.text)

    def check(self) -> None:
        if self._next_row != self._file.row_count:
            return
        found = self._values.finish() if self._file.type.has_fixed_width else self._text.finish()
        expected = self._file.entry.values_hash
        if found != expected:
            with located(**self._file.where):
                raise ChecksumError(f"hash of the values is {found:016x}, expected {expected:016x}")


def _new_codes(known: pl.Series | None, symbols: pl.Series) -> NDArray[np.uint32] | None:
    """Give the new code of each code, None where they stay; symbols that aren't wanted get any."""
    if known is None or known is symbols or known.equals(symbols):
        return None
    return symbols.search_sorted(known).to_numpy().astype(np.uint32)


def _coded(values: NDArray[Any], codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    if not len(codes):
        return values
    missing = values == SYMBOL_NULL
    if not missing.any():
        known: NDArray[np.uint32] = codes[values]
        return known
    coded: NDArray[np.uint32] = codes[np.where(missing, 0, values)]
    coded[missing] = SYMBOL_NULL
    return coded


def _joined(pieces: Sequence[StoredRows]) -> StoredRows:
    if len(pieces) == 1:
        return pieces[0]
    valid = None
    if any(piece.valid is not None for piece in pieces):
        valid = np.concatenate(
            [np.ones(len(one.values), dtype=np.bool) if one.valid is None else one.valid for one in pieces]
        )
    return StoredRows(
        np.concatenate([piece.values for piece in pieces]),
        np.concatenate([piece.text for piece in pieces]),
        valid,
    )


def _picked(rows: StoredRows, picked: NDArray[np.int64]) -> StoredRows:
    return StoredRows(rows.values[picked], NO_TEXT, None if rows.valid is None else rows.valid[picked])


def _picked_text(rows: StoredRows, picked: NDArray[np.int64]) -> Iterator[StoredRows]:
    stops = np.cumsum(rows.values, dtype=np.int64)
    starts = stops - rows.values
    for first in range(0, len(picked), _TEXT_ROWS):
        some = picked[first : first + _TEXT_ROWS]
        text = rows.text[rows_of(starts[some], stops[some])]
        yield StoredRows(rows.values[some], text, None if rows.valid is None else rows.valid[some])
