"""The Rust border: native functions by name, and the layout in which a column reaches them."""

from __future__ import annotations

import os
import warnings

from colonnade.kernels._native import (
    IS_DEBUG_BUILD,
    asof_rows,
    asof_state_words,
    crc32c,
    decode_rows,
    decode_string_rows,
    encode_blocks,
    encode_string_blocks,
    fold_groups,
    hash_values,
    isa,
    program_sizes,
    run_program,
    search_sorted,
    set_isa,
    take_rows,
    take_string_rows,
    validate_index,
    verify_blocks,
)
from colonnade.kernels.column_input import LISTS, TEXT, ColumnInput, element_of, kernel_array

if IS_DEBUG_BUILD:
    warnings.warn("colonnade's kernels are a debug build and slow; build with `make build`", stacklevel=2)

set_isa(os.environ.get("COLONNADE_ISA", "auto"))

__all__ = [
    "IS_DEBUG_BUILD",
    "LISTS",
    "TEXT",
    "ColumnInput",
    "asof_rows",
    "asof_state_words",
    "crc32c",
    "decode_rows",
    "decode_string_rows",
    "element_of",
    "encode_blocks",
    "encode_string_blocks",
    "fold_groups",
    "hash_values",
    "isa",
    "kernel_array",
    "program_sizes",
    "run_program",
    "search_sorted",
    "set_isa",
    "take_rows",
    "take_string_rows",
    "validate_index",
    "verify_blocks",
]
