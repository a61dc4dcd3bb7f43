"""Reads one column file: a memory map, viewed as arrays and checked once.

Opening checks header, footer and block index. Sections and blocks are checked when they are first used; what
was checked stays so for as long as the file is open. Kernels read the map itself.
"""

from __future__ import annotations

import mmap
import os
import sys
from functools import cached_property
from itertools import pairwise
from typing import Any, Final
from weakref import WeakSet

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import ChecksumError, CorruptionError, HeaderError, TruncatedError, located
from colonnade.kernels import (
    ColumnInput,
    decode_rows,
    decode_string_rows,
    kernel_array,
    take_rows,
    take_string_rows,
    validate_index,
    verify_blocks,
)
from colonnade.store.atomic import open_to_read
from colonnade.store.column_layout import (
    FOOTER_BYTES,
    HEADER_BYTES,
    Section,
    check_header,
    checksum_of,
    element_of,
    read_footer,
)
from colonnade.store.column_values import StoredRows, polars_values, with_nulls
from colonnade.store.entries import ColumnEntry
from colonnade.store.lists import lists_of_buffers
from colonnade.store.source import BLOCK_INDEX, RUNS
from colonnade.store.symbols import Dictionary, check_runs, open_dictionary
from colonnade.store.text import text_of_buffers
from colonnade.store.validity import read_validity, unpack

__all__ = ["BLOCK_INDEX", "ColumnFile"]

_SLICE_ROWS: Final = 1 << 22  # rows decoded and blocks checked by one kernel call, so that Ctrl-C works
_VERIFY_BYTES: Final = 1 << 26
_maps: WeakSet[mmap.mmap] = WeakSet()  # those that anybody still uses


def mapped_files() -> int:
    """Give how many column files this process has mapped."""
    return len(_maps)


class ColumnFile:
    """One open column file; a `BlockSource`.

    Parameters
    ----------
    path
        The file.
    entry
        What the manifest says of it.
    row_count
        Rows of the part.
    where
        What messages about damage say beside the block: table, partition, column.

    Raises
    ------
    StaleVersionError
        If the file is gone.
    CorruptionError
        If it isn't what was written.
    UnsupportedVersionError
        If a newer version of the package wrote it.
    """

    def __init__(
        self, path: str, entry: ColumnEntry, row_count: int, where: dict[str, str | int] | None = None
    ) -> None:
        self.path = path
        self.entry = entry
        self.type = entry.type
        self.row_count = row_count
        self._where = where or {}
        with located(**self._where):
            self._map = _map_file(path, entry.stored_bytes)
            self._open()

    def _open(self) -> None:
        content = memoryview(self._map)
        check_header(self._map[:HEADER_BYTES])
        footer, element = read_footer(self._map[-FOOTER_BYTES:], file_bytes=len(content))
        if (footer.row_count, footer.type, footer.values_hash) != (
            self.row_count,
            str(self.type),
            self.entry.values_hash,
        ) or element != element_of(self.type):
            raise HeaderError(
                f"file holds {footer.row_count} rows of type {footer.type}, hash {footer.values_hash:016x}; "
                f"the manifest says {self.row_count} of {self.type}, {self.entry.values_hash:016x}"
            )
        self.footer = footer
        self.block_rows = footer.block_rows
        self._content = content
        self._element = element
        self._stored = np.frombuffer(self._map, np.uint8, footer.values_bytes, HEADER_BYTES)
        flat = np.frombuffer(self._section(footer.block_index, "block index"), np.uint8)
        validate_index(flat, footer.values_bytes, footer.row_count, footer.block_rows, element)
        self._flat_index = flat
        if not self.type.has_fixed_width:
            self._check_text_bytes()
        self._checked = np.zeros(footer.block_index.item_count, dtype=np.bool)
        self._all_checked = False

    def _check_text_bytes(self) -> None:
        """Refuse blocks that claim more bytes than all the texts take; memory is made for what they claim."""
        claimed = int(self.index["encoded_bytes"].sum(dtype=np.int64))
        most = self.entry.plain_bytes + 4 * len(self.index)
        if claimed > most:
            raise HeaderError(f"blocks of text claim {claimed} bytes, more than the {most} of all texts")

    @property
    def where(self) -> dict[str, str | int]:
        """What messages about damage say beside the block."""
        return self._where

    @property
    def index(self) -> NDArray[Any]:
        """One `BLOCK_INDEX` entry a block, validated."""
        return self._flat_index.view(BLOCK_INDEX)

    @cached_property
    def symbols(self) -> Dictionary | None:
        """The dictionary of a symbol column, searchable; None for other types."""
        if self.type.kind != "symbol":
            return None
        with located(**self._where):
            section = self.footer.dictionary
            return open_dictionary(self._section(section, "dictionary"), section.item_count)

    @property
    def dictionary(self) -> pl.Series | None:
        """Distinct symbols as `pl.String`, sorted by bytes; None for types other than symbol."""
        with located(**self._where):
            return None if self.symbols is None else self.symbols.symbols

    def find_code(self, symbol: str) -> int | None:
        """Give the code of a symbol, or None where it isn't there; a binary search in the file."""
        return None if self.symbols is None else self.symbols.find(symbol)

    @cached_property
    def runs(self) -> NDArray[Any] | None:
        """One `RUNS` entry a symbol of a parted column; None for others."""
        section = self.footer.runs
        if not section.length:
            return None
        with located(**self._where):
            content = self._section(section, "runs")
            if len(content) != section.item_count * RUNS.itemsize:
                raise HeaderError(f"{section.item_count} runs take {len(content)} bytes")
            runs = np.frombuffer(content, RUNS)
            symbol_count = 0 if self.symbols is None else len(self.symbols)
            check_runs(runs, row_count=self.row_count, symbol_count=symbol_count)
            return runs

    @cached_property
    def validity(self) -> NDArray[np.uint8] | None:
        """Bitmap of the rows that have a value, least significant bit first; None where all have."""
        section = self.footer.validity
        if not section.length:
            return None
        with located(**self._where):
            return read_validity(self._section(section, "validity"), section.item_count, self.row_count)

    def kernel_input(self, start: int = 0, stop: int | None = None) -> ColumnInput:
        """Give what kernels read; checks the blocks of rows ``[start, stop)`` that weren't checked yet."""
        column = ColumnInput(
            self._stored,
            self._flat_index,
            self._element,
            self.row_count,
            self.block_rows,
            self.validity,
            self.type.null_code,
        )
        if not self._all_checked:
            last_row = self.row_count if stop is None else min(stop, self.row_count)
            blocks = slice(start // self.block_rows, -(-last_row // self.block_rows))
            self._check(column, blocks.start + np.flatnonzero(~self._checked[blocks]))
            self._all_checked = bool(self._checked.all())
        return column

    def read(self, start: int, stop: int) -> pl.Series:
        """Decode rows ``[start, stop)`` to the column's Polars type."""
        self._check_range(start, stop)
        column = self.kernel_input(start, stop)
        with located(**self._where):
            if self.type.has_fixed_width:
                values = self._decoded(column, start, stop)
                return polars_values(values, self.type, self.symbols, self._valid(start, stop))
            return self._read_text(column, start, stop)

    def read_stored(self, start: int, stop: int) -> StoredRows:
        """Decode rows ``[start, stop)`` to stored values, as `ColumnWriter.add_stored` takes them."""
        self._check_range(start, stop)
        column = self.kernel_input(start, stop)
        with located(**self._where):
            if self.type.has_fixed_width:
                return StoredRows(self._decoded(column, start, stop), valid=self._valid(start, stop))
            offsets, content = decode_string_rows(column, start, stop)
            lengths = np.diff(offsets).astype(np.uint32)
            return StoredRows(lengths, np.frombuffer(content, dtype=np.uint8), self._valid(start, stop))

    def take(self, rows: NDArray[np.int64]) -> pl.Series:
        """Decode the rows of these numbers, in any order; -1 gives null."""
        valid = rows >= 0
        wanted = rows if valid.all() else rows[valid]
        if len(wanted) and int(wanted.max()) >= self.row_count:
            raise ValueError(f"row {int(wanted.max())} is out of range: the part has {self.row_count}")
        column = self.kernel_input(0, 0)
        if not self._all_checked:
            touched = np.zeros(len(self._checked), dtype=np.bool)
            touched[wanted // self.block_rows] = True
            self._check(column, np.flatnonzero(touched & ~self._checked))
        if self.validity is not None:
            known = np.maximum(rows, 0)
            valid &= (self.validity[known // 8] >> (known % 8).astype(np.uint8)) & 1 == 1
        with located(**self._where):
            if not self.type.has_fixed_width:
                return self._take_text(column, rows, np.unique(wanted), valid)
            values = np.zeros(len(rows), dtype=self.type.numpy_type)
            take_rows(column, np.ascontiguousarray(rows), kernel_array(values))
            return polars_values(values, self.type, self.symbols, None if valid.all() else valid)

    def is_valid(self, start: int, stop: int, values: NDArray[Any]) -> NDArray[np.bool]:
        """Tell which of the decoded ``values`` of rows ``[start, stop)`` aren't null."""
        if self.validity is not None:
            return unpack(self.validity, start, stop)
        null_code = self.type.null_code
        valid: NDArray[np.bool] = (
            np.ones(stop - start, dtype=np.bool) if null_code is None else values != null_code
        )
        return valid

    def verify(self) -> None:
        """Check every block again, whether it was checked before or not."""
        self._check(self.kernel_input(0, 0), np.arange(len(self._checked)))

    def _check_range(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= self.row_count:
            raise ValueError(f"rows {start} to {stop} are out of range: the part has {self.row_count}")

    def _decoded(self, column: ColumnInput, start: int, stop: int) -> NDArray[Any]:
        values = np.empty(stop - start, dtype=self.type.numpy_type)
        for first in range(start, stop, _SLICE_ROWS):
            last = min(first + _SLICE_ROWS, stop)
            decode_rows(column, first, last, kernel_array(values[first - start : last - start]))
        return values

    def _valid(self, start: int, stop: int) -> NDArray[np.bool] | None:
        return None if self.validity is None else unpack(self.validity, start, stop)

    def _read_text(self, column: ColumnInput, start: int, stop: int) -> pl.Series:
        pieces = []
        for first in range(start, stop, _SLICE_ROWS):
            offsets, content = decode_string_rows(column, first, min(first + _SLICE_ROWS, stop))
            pieces.append(self._varied(offsets, content))
        text = pl.concat(pieces, rechunk=True) if pieces else pl.Series([], dtype=self.type.polars_type)
        return with_nulls(text, self._valid(start, stop))

    def _take_text(
        self, column: ColumnInput, rows: NDArray[np.int64], wanted: NDArray[np.int64], valid: NDArray[np.bool]
    ) -> pl.Series:
        """Read the wanted rows, distinct and ascending, and pick from them."""
        pieces = []
        for start in range(0, len(wanted), _SLICE_ROWS):
            offsets, content = take_string_rows(column, wanted[start : start + _SLICE_ROWS])
            pieces.append(self._varied(offsets, content))
        if not pieces:
            return pl.Series([None], dtype=self.type.polars_type).new_from_index(0, len(rows))
        picked = pl.concat(pieces, rechunk=True).gather(
            np.searchsorted(wanted, np.where(rows >= 0, rows, wanted[0]))
        )
        return with_nulls(picked, None if valid.all() else valid)

    def _varied(self, offsets: NDArray[np.int64], content: bytes) -> pl.Series:
        """Give values of no fixed width from their bytes."""
        if self.type.item is not None:
            return lists_of_buffers(offsets, content, self.type.item)
        return text_of_buffers(offsets, content)

    def _section(self, section: Section, name: str) -> memoryview:
        content = self._content[section.offset : section.offset + section.length]
        if checksum_of(content) != section.crc32c:
            raise ChecksumError(f"checksum of the {name} doesn't match its {section.length} bytes")
        return content

    def _check(self, column: ColumnInput, blocks: NDArray[np.int64]) -> None:
        """Check blocks by their checksums, ascending numbers, some at a time."""
        if not len(blocks):
            return
        sizes = np.cumsum(self.index["stored_bytes"][blocks], dtype=np.int64) // _VERIFY_BYTES
        cuts = np.flatnonzero((blocks[1:] - blocks[:-1] > 1) | (sizes[1:] > sizes[:-1])) + 1
        for start, stop in pairwise([0, *cuts.tolist(), len(blocks)]):
            first, last = int(blocks[start]), int(blocks[stop - 1]) + 1
            try:
                verify_blocks(column, first, last)
            except CorruptionError:
                self._check_each(column, first, last)
                raise
            self._checked[first:last] = True

    def _check_each(self, column: ColumnInput, first: int, last: int) -> None:
        for block in range(first, last):
            with located(**self._where, block=block):
                verify_blocks(column, block, block + 1)


def _map_file(path: str, expected_bytes: int) -> mmap.mmap:
    descriptor = open_to_read(path)
    try:
        found = os.fstat(descriptor).st_size
        if found < expected_bytes or found < HEADER_BYTES + FOOTER_BYTES:
            least = max(expected_bytes, HEADER_BYTES + FOOTER_BYTES)
            raise TruncatedError(f"file is too short: got {found} bytes, expected {least}")
        if found > expected_bytes:
            raise HeaderError(f"file has {found} bytes, the manifest says {expected_bytes}")
        if sys.version_info >= (3, 13):
            content = mmap.mmap(descriptor, found, access=mmap.ACCESS_READ, trackfd=False)
        else:
            content = mmap.mmap(descriptor, found, access=mmap.ACCESS_READ)
        _maps.add(content)
        return content
    finally:
        os.close(descriptor)
