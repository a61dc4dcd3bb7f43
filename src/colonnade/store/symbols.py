"""Symbols: the dictionary of a column file, and the runs of a parted column.

The dictionary lies in the file as ``n + 1`` offsets and the text of ``n`` symbols, sorted by bytes, and is
searched in place.  Runs tell where each symbol's rows lie, and are the index of a part.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import HeaderError, NotPartedError, SchemaError
from colonnade.schema import SYMBOL_NULL
from colonnade.store.source import RUNS
from colonnade.store.text import text_of_buffers, text_to_buffers

_dictionaries: WeakValueDictionary[tuple[int, int], Dictionary] = WeakValueDictionary()
_MAX_TEXT: Final = 0xFFFF_FFFF  # offsets have 32 bits


class Dictionary:
    """The symbols of a column file, sorted by bytes; a code is a position.

    Made by `open_dictionary`, so that files with equal dictionaries share one.

    Parameters
    ----------
    section
        The section as stored.
    count
        Number of symbols.

    Raises
    ------
    HeaderError
        If the offsets don't fit the section.
    """

    def __init__(self, section: bytes, count: int) -> None:
        self.section = section
        content = memoryview(section)
        start = 4 * (count + 1)
        if len(content) < start:
            raise HeaderError(
                f"dictionary of {count} symbols has {len(content)} bytes, expected {start} or more"
            )
        self.offsets: NDArray[np.uint32] = np.frombuffer(content, dtype="<u4", count=count + 1)
        self._bounds = content[:start].cast("I")  # reads one offset ten times faster than an array does
        self.content = content[start:]
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.content):
            raise HeaderError(f"offsets of the dictionary don't span its {len(self.content)} bytes of text")
        if np.any(self.offsets[1:] < self.offsets[:-1]):
            raise HeaderError("offsets of the dictionary don't ascend")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def symbols(self) -> pl.Series:
        """The symbols as text."""
        return text_of_buffers(self.offsets.astype(np.int64), self.content)

    @cached_property
    def categories(self) -> pl.Series:
        """The symbols as Polars' global categories."""
        return self.symbols.cast(pl.Categorical)

    @cached_property
    def category_codes(self) -> NDArray[np.uint32]:
        """Polars' physical code of each symbol; holds as long as `categories` lives."""
        return self.categories.to_physical().to_numpy()

    def find(self, symbol: str) -> int | None:
        """Give the code of a symbol, or None where it isn't there; a search in place."""
        wanted = symbol.encode("utf-8")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._text(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._text(low) == wanted else None

    def _text(self, code: int) -> bytes:
        return bytes(self.content[self._bounds[code] : self._bounds[code + 1]])


def open_dictionary(content: memoryview, count: int) -> Dictionary:
    """Give the dictionary of a section; the same object as long as one of equal content is in use."""
    section = bytes(content)
    key = (hash(section), count)
    known = _dictionaries.get(key)
    if known is not None and known.section == section:
        return known
    made = Dictionary(section, count)
    _dictionaries[key] = made
    return made


def check_dictionary(symbols: pl.Series, column: str) -> None:
    """Raise `SchemaError` where values aren't distinct, sorted by bytes and without null."""
    if symbols.dtype != pl.String or symbols.null_count():
        raise SchemaError(f"dictionary of column {column!r} has type {symbols.dtype} or nulls; expected text")
    if len(symbols) > 1 and not (symbols[1:] > symbols[:-1]).all():
        raise SchemaError(f"dictionary of column {column!r} isn't sorted by bytes, or has a symbol twice")


def write_dictionary(symbols: pl.Series) -> bytes:
    """Give the section of a dictionary that passed `check_dictionary`."""
    lengths, content = text_to_buffers(symbols)
    if len(content) > _MAX_TEXT:
        raise SchemaError(
            f"symbols take {len(content)} bytes, at most {_MAX_TEXT} fit; store them as strings"
        )
    offsets = np.zeros(len(symbols) + 1, dtype="<u4")
    np.cumsum(lengths, out=offsets[1:])
    return offsets.tobytes() + content.tobytes()


class RunBuilder:
    """Collects the runs of a parted column from its codes, chunk by chunk."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.row_count = 0
        self._codes: list[NDArray[np.uint32]] = []
        self._first_rows: list[NDArray[np.int64]] = []
        self._last_code = -1

    def add(self, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Take the codes of the next rows, at least one; give the rows of the chunk where a new run starts.

        Raises
        ------
        NotPartedError
            If codes descend.
        """
        before = np.concatenate([[self._last_code], codes[:-1].astype(np.int64)])
        steps = codes - before
        if np.any(steps < 0):
            row = self.row_count + int(np.argmax(steps < 0))
            reason = (
                f"column {self.column!r} isn't parted: the symbol of row {row} sorts before "
                f"that of row {row - 1}"
            )
            raise NotPartedError(f"{reason}; sort the rows by it, null last")
        starts = np.flatnonzero(steps > 0)
        self._codes.append(codes[starts])
        self._first_rows.append(starts + self.row_count)
        self.row_count += len(codes)
        self._last_code = int(codes[-1])
        return starts

    def finish(self) -> NDArray[Any]:
        """Give the runs as `RUNS`."""
        first_rows = np.concatenate([*self._first_rows, [self.row_count]])
        runs = np.zeros(len(first_rows) - 1, dtype=RUNS)
        runs["code"] = np.concatenate([*self._codes, np.zeros(0, dtype=np.uint32)])
        runs["first_row"] = first_rows[:-1]
        runs["row_count"] = np.diff(first_rows)
        return runs


def check_runs(runs: NDArray[Any], *, row_count: int, symbol_count: int) -> None:
    """Raise `HeaderError` where runs don't cover all rows in order, or have codes that can't be."""
    if len(runs) == 0:
        if row_count:
            raise HeaderError(f"a part of {row_count} rows has no runs")
        return
    ends = runs["first_row"] + runs["row_count"]
    codes = runs["code"]
    highest = int(codes[-2 if codes[-1] == SYMBOL_NULL and len(codes) > 1 else -1])
    fits = highest < symbol_count or (len(codes) == 1 and highest == SYMBOL_NULL)
    if runs["first_row"][0] != 0 or ends[-1] != row_count or np.any(ends[:-1] != runs["first_row"][1:]):
        raise HeaderError(f"runs don't cover the {row_count} rows of the part in order")
    if not fits or np.any(codes[1:] <= codes[:-1]) or np.any(runs["row_count"] == 0):
        raise HeaderError("runs have codes that don't ascend, or that the dictionary doesn't have")
