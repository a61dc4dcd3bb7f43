"""Types, shapes and units of the compiled kernels; checked against the built module by stubtest."""

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from colonnade.kernels.column_input import ColumnInput

__all__ = [
    "IS_DEBUG_BUILD",
    "asof_rows",
    "asof_state_words",
    "crc32c",
    "decode_rows",
    "decode_string_rows",
    "encode_blocks",
    "encode_string_blocks",
    "fold_groups",
    "hash_values",
    "isa",
    "program_sizes",
    "run_program",
    "search_sorted",
    "set_isa",
    "take_rows",
    "take_string_rows",
    "validate_index",
    "verify_blocks",
]

IS_DEBUG_BUILD: Final[bool]

# blocks

def encode_blocks(
    values: NDArray[Any],
    validity: NDArray[np.uint8] | None,
    null_code: int | None,
    encoding: str,
    codec: str,
    level: int,
    block_rows: int,
    offset: int,
) -> tuple[bytes, bytes]:
    """Encode values into blocks: stored bytes, and 48 bytes of index a block.

    ``values`` has the dtype of the element, zeros under nulls; ``validity`` is its bitmap, least significant
    bit first. Every block but the last gets ``block_rows`` rows. ``offset`` is the number of bytes that the
    stretch holds already; the offsets in the index go on from there.
    """

def encode_string_blocks(
    lengths: NDArray[np.uint32],
    data: NDArray[np.uint8],
    validity: NDArray[np.uint8] | None,
    encoding: str,
    codec: str,
    level: int,
    block_rows: int,
    offset: int,
) -> tuple[bytes, bytes]:
    """Encode texts, given as lengths in bytes and their bytes one after the other; see `encode_blocks`."""

def decode_rows(column: ColumnInput, start: int, stop: int, out: NDArray[Any]) -> None:
    """Fill ``out``, of the element's dtype and ``stop - start`` long, with rows."""

def decode_string_rows(column: ColumnInput, start: int, stop: int) -> tuple[NDArray[np.int64], bytes]:
    """Give the texts of rows: offsets, ``stop - start + 1`` of them and 0 first, and the bytes."""

def take_rows(column: ColumnInput, rows: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Gather rows by number, in any order; a negative number leaves its place in ``out`` as it is."""

def take_string_rows(column: ColumnInput, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], bytes]:
    """Gather texts by ascending row number: offsets, one more than rows and 0 first, and the bytes."""

def validate_index(
    index: NDArray[np.uint8], stored_bytes: int, rows: int, block_rows: int, element: int
) -> None:
    """Check that a block index can be; `HeaderError` or `TruncatedError` names the block."""

def verify_blocks(column: ColumnInput, first_block: int, last_block: int) -> None:
    """Compare stored bytes with checksums, ``last_block`` not included; `ChecksumError` names the block."""

def crc32c(content: NDArray[np.uint8]) -> int:
    """Give the CRC-32C of bytes, by which header, footer and sections of a column file are checked."""

def hash_values(values: NDArray[np.uint8], seed: int) -> int:
    """Hash bytes: XXH3-64 of each MiB in turn, seeded with the hash so far.

    The first call takes seed 0, each further one the result before it; every call but the last takes a
    whole number of MiB.
    """

def set_isa(name: str) -> None:
    """Choose the instructions that hot loops use: ``auto``, ``baseline`` or ``v3``; answers don't change."""

def isa() -> str:
    """Name the instructions that hot loops use: ``baseline`` or ``v3``."""

# compute

def program_sizes(program: NDArray[np.int64]) -> tuple[int, int]:
    """Check a program; give the words of its state and of one output row."""

def run_program(
    program: NDArray[np.int64],
    parts: Sequence[Sequence[ColumnInput]],
    pieces: NDArray[np.int64],
    state: NDArray[np.int64],
    out: NDArray[np.int64],
    row_budget: int,
) -> tuple[int, bool]:
    """Work through pieces until all are done, ``out`` is full or about ``row_budget`` rows were read.

    Gives the number of rows written to ``out``, from its first on, and whether all is done. Call it again
    with the same program, parts, pieces and state until it is; ``out`` may be another one each time.

    Parameters
    ----------
    program
        `Program.words` of `colonnade.query.program`.
    parts
        Per part, the columns that the program's positions count.
    pieces
        ``int64[n, 6]``, in the order of rows: part, start, stop, symbol (query code, -1 none), date (days),
        leaf row (rows of this symbol in this partition before ``start``). Consecutive pieces of one symbol,
        date and leaf go on in the same group.
    state
        ``int64[program_sizes(program)[0]]``, zeros for the first call.
    out
        ``int64[program_sizes(program)[1], capacity]``, C order, capacity at least 1.
    row_budget
        Rows after which to return; at least one vector of up to 1,024 rows is done.
    """

def fold_groups(
    program: NDArray[np.int64],
    starts: NDArray[np.int64],
    order: NDArray[np.int64] | None,
    rows: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Make one row of each group's output rows, adding them one by one in their order.

    Parameters
    ----------
    program
        The program that wrote the rows.
    starts
        Positions where a group begins, ascending, the first is 0.
    order
        Numbers of the rows, groups next to each other and each group's rows as they were written; None where
        ``rows`` lie so.
    rows
        ``int64[output_words, n]`` from `run_program`, C order.
    out
        ``int64[output_words, len(starts)]``, C order.
    """

def search_sorted(
    columns: Sequence[ColumnInput],
    pieces: NDArray[np.int64],
    value: int,
    side: Literal["left", "right"],
    out: NDArray[np.int64],
) -> None:
    """Find in each piece the first row at or above ``value`` (left) or above it (right), else its ``stop``.

    ``pieces`` is ``int64[n, 3]``: part (position in ``columns``), start, stop; rows ascend within a piece and
    none is null. Whole blocks are passed by their zone maps.
    """

def asof_state_words(codes: int) -> int:
    """Give the words of state that `asof_rows` needs for this number of codes."""

def asof_rows(
    left: Sequence[ColumnInput],
    right: Sequence[ColumnInput],
    left_by: Sequence[ColumnInput],
    right_by: Sequence[ColumnInput],
    codes: int,
    pairs: NDArray[np.int64],
    strategy: int,
    tolerance: int,
    state: NDArray[np.int64],
    out: NDArray[np.int64],
    row_budget: int,
) -> bool:
    """Find for each left row the right row that belongs to it; call again with the same until it gives True.

    Among equal right times the last row wins, whatever the strategy; of two equally near times the later one.
    Null times and null codes match nothing.

    Parameters
    ----------
    left, right
        Per part, the column of times. Both ascend within a pair; `UnsortedError` where the left doesn't.
    left_by, right_by
        Per part, codes from 0 to ``codes - 1`` in one space; rows match rows of the same code. Both empty,
        with ``codes`` 0, where pairs hold one symbol each: that is much faster.
    pairs
        ``int64[n, 7]``: left part, start, stop, right part, start, stop, first position in ``out``.
    strategy
        0 backward (at or before), 1 forward (at or after), 2 nearest.
    tolerance
        Greatest distance in time, -1 for any.
    state
        ``int64[asof_state_words(codes)]``, zeros for the first call.
    out
        Gets the row number in the right part, or -1, at the pair's position and on.
    row_budget
        Rows of both sides after which to return.
    """
