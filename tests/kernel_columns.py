"""Columns, programs and their results for tests of the kernels: everything in memory."""

from __future__ import annotations

import numpy as np

from colonnade import kernels
from colonnade.kernels import ColumnInput, element_of
from colonnade.query.program import Program


def column(values, *, valid=None, null_code=None, encoding="plain", codec="none", block_rows=1024):
    """Encode an array as a column of one part."""
    bitmap = None if valid is None else np.packbits(np.asarray(valid, bool), bitorder="little")
    if valid is not None:
        values = np.where(valid, values, np.zeros(1, values.dtype))
    stored, index = kernels.encode_blocks(values, bitmap, null_code, encoding, codec, 0, block_rows, 0)
    return ColumnInput(
        stored=_aligned(stored),
        index=np.frombuffer(index, np.uint8),
        element=element_of(values.dtype),
        rows=len(values),
        block_rows=block_rows,
        validity=bitmap,
        null_code=null_code,
    )


def _aligned(stored):
    room = np.zeros(len(stored) // 8 + 1, np.int64).view(np.uint8)[: len(stored)]
    room[:] = np.frombuffer(stored, np.uint8)
    return room


def run(program: Program, parts, pieces, *, capacity=100_000, budget=1 << 22):
    """Run a program to its end; the output rows as ``int64[words, n]``."""
    words = program.words
    state_words, output_words = kernels.program_sizes(words)
    state = np.zeros(state_words, np.int64)
    pieces = np.array(pieces, np.int64).reshape(-1, 6)
    chunks = []
    done = False
    while not done:
        out = np.full((output_words, capacity), -7, np.int64)
        count, done = kernels.run_program(words, parts, pieces, state, out, budget)
        chunks.append(out[:, :count])
    return np.concatenate(chunks, axis=1)


def fold(program: Program, rows):
    """Fold the rows of equal keys; groups come by ascending key words."""
    keys = [
        tuple(row)
        for row in np.vstack([_key_nulls(program, rows), rows[1 : 1 + len(program.keys)]]).T.tolist()
    ]
    order = np.array(sorted(range(len(keys)), key=lambda row: (keys[row], row)), np.int64)
    starts = [at for at, row in enumerate(order) if at == 0 or keys[row] != keys[order[at - 1]]]
    out = np.zeros((rows.shape[0], len(starts)), np.int64)
    kernels.fold_groups(program.words, np.array(starts, np.int64), order, np.ascontiguousarray(rows), out)
    return out


def _key_nulls(program, rows):
    return rows[0] & ((1 << len(program.keys)) - 1)
