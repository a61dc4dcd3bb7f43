"""Writes one column file as its rows come, chunk by chunk, in bounded memory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.kernels import encode_blocks, encode_string_blocks, kernel_array
from colonnade.schema import ColumnType
from colonnade.store.atomic import create_file, write_all
from colonnade.store.column_layout import (
    HEADER_BYTES,
    Footer,
    Section,
    aligned,
    block_rows_of,
    checksum_of,
    element_of,
    write_footer,
    write_header,
)
from colonnade.store.column_values import StoredRows, check_type, stored_values, symbol_codes_type
from colonnade.store.entries import ColumnEntry
from colonnade.store.lists import lists_to_buffers
from colonnade.store.source import BLOCK_INDEX
from colonnade.store.symbols import RunBuilder, check_dictionary, write_dictionary
from colonnade.store.text import text_to_buffers
from colonnade.store.validity import ValidityBuilder
from colonnade.store.values_hash import TextHash, ValuesHash

_BATCH_BYTES: Final = 1 << 20  # of plain values encoded at a time: a whole number of blocks of any size
_TEXT_BATCH_ROWS: Final = _BATCH_BYTES // 16  # a block of text counts 16 bytes a row


class ColumnWriter:
    """One column file being written; `add` rows, then `finish`, or `abandon`.

    Parameters
    ----------
    path
        File that isn't there yet.
    name
        Column, for messages.
    column_type
        Type of the column.
    compression
        How to store it.
    symbols
        Dictionary of a symbol column: distinct values without null, sorted by bytes.
    is_parted
        Whether equal symbols lie next to each other, so that the file gets runs.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        column_type: ColumnType,
        compression: Compression,
        *,
        symbols: pl.Series | None = None,
        is_parted: bool = False,
    ) -> None:
        self.path = path
        self.name = name
        self.type = column_type
        self.compression = compression
        self.row_count = 0
        self.run_starts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # of the chunk that came last
        self.values: NDArray[Any] = np.zeros(0)  # likewise
        self.has_nulls = False  # likewise
        self._symbols = symbols
        self._codes_type = None
        if symbols is not None:
            check_dictionary(symbols, name)
            self._codes_type = symbol_codes_type(symbols)
        self._runs = RunBuilder(name) if is_parted else None
        self._block_rows = block_rows_of(column_type, compression.block_size)
        self._validity = ValidityBuilder()
        self._hash = ValuesHash()
        self._text_hash = TextHash()
        self._rest: list[StoredRows] = []
        self._rest_rows = 0
        self._index: list[bytes] = []
        self._values_bytes = 0
        self._text_bytes = 0
        self._descriptor = create_file(path)
        write_all(self._descriptor, write_header())

    def add(self, rows: pl.Series) -> None:
        """Take the next rows, in the type of a canonical frame."""
        check_type(rows, self.type, self.name)
        if not len(rows):
            return
        if self.type.has_fixed_width:
            values, valid = stored_values(rows, self.type, self._codes_type)
            self.add_stored(StoredRows(values, valid=valid))
        else:
            valid = rows.is_not_null().to_numpy() if rows.null_count() else None
            item = self.type.item
            buffers = text_to_buffers(rows) if item is None else lists_to_buffers(rows, item, self.name)
            self.add_stored(StoredRows(*buffers, valid))

    def add_stored(self, rows: StoredRows) -> None:
        """Take the next rows as a column file holds them, symbols as codes of this file's dictionary."""
        values = rows.values
        if not len(values):
            return
        if self._runs:
            self.run_starts = self._runs.add(values)
        self.values = values
        self.has_nulls = rows.valid is not None
        self.row_count += len(values)
        self._rest.append(rows)
        self._rest_rows += len(values)
        batch_rows = _BATCH_BYTES // values.itemsize if self.type.has_fixed_width else _TEXT_BATCH_ROWS
        if self._rest_rows >= batch_rows:
            self._encode(batch_rows, self._rest_rows // batch_rows * batch_rows)

    def finish(self, *, durable: bool) -> ColumnEntry:
        """Write what is left, the sections and the footer; close the file and say what it is."""
        if self._rest_rows:
            width = self.type.numpy_type.itemsize if self.type.has_fixed_width else 16
            self._encode(_BATCH_BYTES // width, self._rest_rows)
        index = np.frombuffer(b"".join(self._index), dtype=BLOCK_INDEX)
        null_count = int(index["null_count"].sum())
        width = self.type.numpy_type.itemsize if self.type.has_fixed_width else 4
        plain_bytes = width * self.row_count + self._text_bytes
        values_hash = self._hash.finish() if self.type.has_fixed_width else self._text_hash.finish()
        validity, validity_codec = self._validity.finish()
        dictionary = b"" if self._symbols is None else write_dictionary(self._symbols)
        runs = self._runs.finish() if self._runs else np.zeros(0, dtype=np.uint8)
        end = HEADER_BYTES + self._values_bytes
        sections = []
        for content, count in (
            (index.tobytes(), len(index)),
            (validity, validity_codec),
            (dictionary, 0 if self._symbols is None else len(self._symbols)),
            (runs.tobytes(), len(runs)),
        ):
            section, end = self._write_section(content, count, end)
            sections.append(section)
        footer = Footer(
            self.row_count,
            null_count,
            self._values_bytes,
            values_hash,
            plain_bytes,
            self._block_rows,
            str(self.type),
            self.compression,
            *sections,
        )
        last = bytes(aligned(end) - end) + write_footer(footer, element_of(self.type))
        write_all(self._descriptor, last)
        if durable:
            os.fsync(self._descriptor)
        self._close()
        return ColumnEntry(
            type=self.type,
            file=self.path.name,
            stored_bytes=end + len(last),
            plain_bytes=plain_bytes,
            null_count=null_count,
            compression=self.compression,
            values_hash=values_hash,
        )

    def abandon(self) -> None:
        """Close and remove the file, finished or not."""
        self._close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _encode(self, batch_rows: int, row_count: int) -> None:
        """Encode the first rows of those that wait, batch by batch."""
        values = _joined([values for values, _, _ in self._rest])
        text = _joined([text for _, text, _ in self._rest])
        valid = _joined_valid([(valid, len(values)) for values, _, valid in self._rest])
        text_start = 0
        for start in range(0, row_count, batch_rows):
            rows = slice(start, min(start + batch_rows, row_count))
            bitmap = self._validity.add(None if valid is None else valid[rows], rows.stop - rows.start)
            if self.type.has_fixed_width:
                stored, index = self._encode_fixed(values[rows], bitmap)
            else:
                text_stop = text_start + int(values[rows].sum(dtype=np.int64))
                stored, index = self._encode_text(values[rows], text[text_start:text_stop], bitmap)
                text_start = text_stop
            write_all(self._descriptor, stored)
            self._values_bytes += len(stored)
            self._index.append(index)
        self._rest = []
        self._rest_rows -= row_count
        if self._rest_rows:
            rest_valid = None if valid is None else valid[row_count:].copy()
            self._rest = [StoredRows(values[row_count:].copy(), text[text_start:].copy(), rest_valid)]

    def _encode_fixed(self, values: NDArray[Any], bitmap: NDArray[np.uint8] | None) -> tuple[bytes, bytes]:
        self._hash.add(values)
        compression = self.compression
        return encode_blocks(
            kernel_array(values),
            bitmap,
            self.type.null_code,
            compression.encoding,
            compression.codec,
            compression.level,
            self._block_rows,
            self._values_bytes,
        )

    def _encode_text(
        self, lengths: NDArray[np.uint32], text: NDArray[np.uint8], bitmap: NDArray[np.uint8] | None
    ) -> tuple[bytes, bytes]:
        self._text_hash.add(lengths, text)
        self._text_bytes += len(text)
        compression = self.compression
        return encode_string_blocks(
            lengths,
            text,
            bitmap,
            compression.encoding if self.type.item is None else "plain",  # no encoding is for lists
            compression.codec,
            compression.level,
            self._block_rows,
            self._values_bytes,
        )

    def _write_section(self, content: bytes, count: int, end: int) -> tuple[Section, int]:
        """Write a section at the next multiple of 64; give it, and where it ends."""
        if not content:
            return Section(item_count=count), end
        start = aligned(end)
        write_all(self._descriptor, bytes(start - end) + content)
        return Section(start, len(content), checksum_of(content), count), start + len(content)


def _joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _joined_valid(pieces: list[tuple[NDArray[np.bool] | None, int]]) -> NDArray[np.bool] | None:
    if all(valid is None for valid, _ in pieces):
        return None
    filled = [np.ones(count, dtype=np.bool) if valid is None else valid for valid, count in pieces]
    return _joined(filled)
