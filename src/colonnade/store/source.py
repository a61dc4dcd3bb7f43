"""The only things that queries know of storage: tables, partitions, parts and columns that can be read.

Four protocols, from the table down to a column. Our own files implement them in `table_source`; other layouts
can beside it, and pass the same contract suite. Nothing here opens, caches or writes anything.

Order: rows are numbered in logical order within each part; where a partition has several parts, a symbol's
rows come by sort key, then by the part's sequence, then by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.kernels.column_input import ColumnInput
from colonnade.schema import ColumnType, Schema

# One block of a column: 48 bytes; `docs/format.md` tells the meaning of each field. `min` and `max` are the
# bits of an int64, uint64 or float64, by the class of the element.
BLOCK_INDEX: Final = np.dtype(
    {
        "names": [
            "offset", "stored_bytes", "rows", "crc32c", "null_count", "encoding", "codec", "flags",
            "encoded_bytes", "min", "max",
        ],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u4", "u1", "u1", "<u2", "<u4", "<u8", "<u8"],
        "offsets": [0, 8, 12, 16, 20, 24, 25, 26, 28, 32, 40],
        "itemsize": 48,
    }
)  # fmt: skip
HAS_NAN: Final = 1  # of `flags`: some value is NaN
HAS_ZONE_MAP: Final = 2  # of `flags`: `min` and `max` hold; not set where every value is null or NaN

# The rows of one symbol in a part: ascending codes, one entry each. A null symbol has the code SYMBOL_NULL
# and comes last.
RUNS: Final = np.dtype([("code", "<u4"), ("pad", "<u4"), ("first_row", "<u8"), ("row_count", "<u8")])


class BlockSource(Protocol):
    """One column of one part."""

    @property
    def type(self) -> ColumnType:
        """Type of the column."""

    @property
    def row_count(self) -> int:
        """Number of rows of the part."""

    @property
    def block_rows(self) -> int:
        """Rows of every block but the last, a power of two."""

    @property
    def index(self) -> NDArray[Any]:
        """One `BLOCK_INDEX` entry a block, validated."""

    @property
    def dictionary(self) -> pl.Series | None:
        """Distinct symbols as `pl.String`, sorted by bytes; a code is a position in it. None for others."""

    def find_code(self, symbol: str) -> int | None:
        """Give the code of a symbol, or None where it isn't there; much cheaper than `dictionary`."""

    def kernel_input(self, start: int = 0, stop: int | None = None) -> ColumnInput:
        """Give what kernels read, always of the whole column.

        Checksums of the blocks that hold rows ``[start, stop)`` are checked the first time that this process
        asks for them; kernels must not touch other blocks.
        """

    def read(self, start: int, stop: int) -> pl.Series:
        """Decode rows ``[start, stop)`` to the column's Polars type, symbols as Categorical."""

    def take(self, rows: NDArray[np.int64]) -> pl.Series:
        """Decode the rows of these numbers, in any order; -1 gives null."""


class PartSource(Protocol):
    """One sorted run of rows of a partition."""

    @property
    def row_count(self) -> int:
        """Number of rows."""

    @property
    def sequence(self) -> tuple[int, int]:
        """First and last sequence number that went into the part; orders parts of one partition."""

    @property
    def sort_bounds(self) -> tuple[int, int] | None:
        """Smallest and largest stored sort key; None without a sort key, or where they aren't known."""

    @property
    def runs(self) -> NDArray[Any] | None:
        """One `RUNS` entry a symbol of ``part_by``, ascending codes; None without such a column."""

    def column(self, name: str) -> BlockSource:
        """Give a column; raise `ColumnNotFoundError` where there is none."""


class PartitionSource(Protocol):
    """The rows of one date."""

    @property
    def value(self) -> int:
        """The date as days since 1970-01-01."""

    @property
    def row_count(self) -> int:
        """Rows of all parts."""

    @property
    def parts(self) -> Sequence[PartSource]:
        """Parts by ascending sequence."""


class TableSource(Protocol):
    """One version of a table.

    `values`, `row_counts`, `sort_min` and `sort_max` have one element a partition, by ascending date; none
    of them opens more than the version.
    """

    @property
    def name(self) -> str:
        """Name of the table."""

    @property
    def path(self) -> Path:
        """Folder of the table; with `version`, what another process needs to open the same source."""

    @property
    def version(self) -> int:
        """Number of the version."""

    @property
    def schema(self) -> Schema:
        """Columns and keys."""

    @property
    def values(self) -> NDArray[np.int32]:
        """Dates of the partitions as days since 1970-01-01, ascending."""

    @property
    def row_counts(self) -> NDArray[np.int64]:
        """Rows of each partition."""

    @property
    def sort_min(self) -> NDArray[np.int64]:
        """Smallest stored sort key of each partition; the lowest int64 where there is no sort key."""

    @property
    def sort_max(self) -> NDArray[np.int64]:
        """Largest stored sort key of each partition; the highest int64 where there is no sort key."""

    def partition(self, value: int) -> PartitionSource:
        """Give the partition of a date; raise `NotFoundError` where there is none."""
