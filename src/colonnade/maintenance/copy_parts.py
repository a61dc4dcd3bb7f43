"""Copies the parts of one partition into another database: its files as they are, or some symbols' rows.

A column file that is there under its name is there in full, because it is written under another one; so what
was interrupted goes on where it stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from colonnade.maintenance.rewrite import rewrite, symbol_columns
from colonnade.maintenance.stretches import STRETCH_ROWS, Stretch
from colonnade.schema import SYMBOL_NULL, Schema
from colonnade.store.atomic import make_folders, new_file, open_to_read, sync_folders, write_all
from colonnade.store.entries import ColumnEntry, PartEntry
from colonnade.store.filenames import is_part_name, temporary
from colonnade.store.table_source import StoredPart
from colonnade.threads import map_ordered

Count = Callable[[int], None]  # called with the bytes that were copied since the last call
Range = tuple[int, int]
_PIECE_BYTES: Final = 1 << 22


def stored_columns(part: PartEntry, schema: Schema) -> dict[str, ColumnEntry]:
    """Give the column files of a part that a schema asks for, by stored name."""
    names = map(schema.stored_name, schema.columns)
    return {name: part.columns[name] for name in names if name in part.columns}


def copy_files(
    parts: Iterable[StoredPart],
    schema: Schema,
    folder: Path,
    *,
    durable: bool,
    threads: int | None,
    count: Count,
) -> tuple[PartEntry, ...]:
    """Copy the files of parts into the folder of a partition; give the parts as they are there.

    Parameters
    ----------
    parts
        The parts.
    schema
        What the copy has; column files that it doesn't ask for are left out.
    folder
        Folder of the partition in the copy, made if it isn't there.
    durable
        Whether the files survive a power cut once this returns.
    threads
        Files copied side by side; None for the default.
    count
        Called as files are copied.
    """
    copied = []
    for part in parts:
        columns = stored_columns(part.entry, schema)
        target = folder / part.entry.folder
        make_folders(target)
        copy = partial(_copy_file, Path(part.folder), target, durable)
        for byte_count in map_ordered(copy, columns.values(), threads=threads):
            count(byte_count)
        sync_folders([target], durable=durable)
        copied.append(replace(part.entry, columns=columns))
    sync_folders([folder], durable=durable)
    return tuple(copied)


def _copy_file(source: Path, target: Path, durable: bool, entry: ColumnEntry) -> int:  # noqa: FBT001 - bound
    path = target / entry.file
    if not (path.is_file() and path.stat().st_size == entry.stored_bytes):
        draft = temporary(path)
        descriptor = open_to_read(source / entry.file)
        try:
            with new_file(draft, durable=durable) as written:
                while piece := os.read(descriptor, _PIECE_BYTES):
                    write_all(written, piece)
        finally:
            os.close(descriptor)
        draft.rename(path)
    return entry.stored_bytes


def wanted_ranges(part: StoredPart, part_by: str, symbols: Collection[str]) -> list[Range]:
    """Give the rows of some symbols of a parted part: first row and end of each stretch, ascending."""
    runs = part.runs
    assert runs is not None  # noqa: S101 - the table has a part key
    column = part.column(part_by)
    codes = [code for symbol in symbols if (code := column.find_code(symbol)) is not None]
    chosen = runs[np.isin(runs["code"], np.array(codes, dtype=np.uint32))]
    starts = chosen["first_row"].astype(np.int64)
    stops = starts + chosen["row_count"].astype(np.int64)
    ranges: list[Range] = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((start, stop))
    return ranges


def copy_rows(
    parts: Sequence[tuple[StoredPart, Sequence[Range]]],
    schema: Schema,
    folder: Path,
    *,
    durable: bool,
    threads: int | None,
    count: Count,
) -> tuple[PartEntry, ...]:
    """Write the rows of ranges of parts into the folder of a partition; see `copy_files`.

    What an interrupted call left in the folder is removed first.
    """
    for left in folder.iterdir() if folder.is_dir() else ():
        if is_part_name(left.name):
            shutil.rmtree(left)
    written = []
    for part, ranges in parts:
        if ranges:
            made = rewrite(
                folder,
                schema,
                [part],
                _stretches(ranges),
                dictionaries=_used_symbols(part, schema, ranges),
                durable=durable,
                threads=threads,
            )
            written.append(made)
        count(sum(column.stored_bytes for column in stored_columns(part.entry, schema).values()))
    return tuple(written)


def _stretches(ranges: Sequence[Range]) -> Iterator[Stretch]:
    """Give the rows of ranges, those near each other together."""
    for near in _groups(ranges):
        first, end = near[0][0], near[-1][1]
        if len(near) == 1:
            for start in range(first, end, STRETCH_ROWS):
                stop = min(start + STRETCH_ROWS, end)
                yield Stretch(((0, start, stop),), None, stop - start)
        else:
            picked = np.concatenate([np.arange(start - first, stop - first) for start, stop in near])
            yield Stretch(((0, first, end),), picked, len(picked))


def _groups(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    """Cut ranges into groups that span at most the rows of a stretch, or are one range."""
    group: list[Range] = []
    for one in ranges:
        if group and one[1] - group[0][0] > STRETCH_ROWS:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _used_symbols(part: StoredPart, schema: Schema, ranges: Sequence[Range]) -> dict[str, pl.Series]:
    """Give the symbols that the rows of ranges have, for every symbol column."""
    found = {}
    for name in symbol_columns(schema):
        column = part.column(name)
        known = column.dictionary
        assert known is not None  # noqa: S101 - it is a symbol column
        used = np.zeros(len(known), dtype=np.bool_)
        for stretch in _stretches(ranges):
            _, start, stop = stretch.ranges[0]
            codes = column.read_stored(start, stop).values
            codes = codes if stretch.picked is None else codes[stretch.picked]
            used[codes[codes != SYMBOL_NULL]] = True
        found[name] = known.filter(pl.Series(used))
    return found
