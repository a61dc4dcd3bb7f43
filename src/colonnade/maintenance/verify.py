"""Checks everything that a version of a table holds, and yields what is wrong instead of raising it.

Per column file: header, footer, sections, every block's checksum, the hash of the decoded values against
footer and manifest, null counts and zone maps against the values. Per part: runs, and that rows are sorted.
Per partition: row counts and bounds of the sort key. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from colonnade.errors import ChecksumError, ColonnadeError, CorruptionError, HeaderError
from colonnade.kernels import decode_rows, decode_string_rows, kernel_array
from colonnade.schema import Schema, days_to_date
from colonnade.store.column_file import ColumnFile
from colonnade.store.entries import PartEntry
from colonnade.store.filenames import VERSIONS, partition_name, version_name
from colonnade.store.manifest import read_manifest_anew
from colonnade.store.table_source import StoredPart, StoredTable
from colonnade.store.values_hash import TextHash, ValuesHash
from colonnade.store.version_file import NO_MAX, NO_MIN, parse_version
from colonnade.store.zone_map import has_nan, zone_bounds, zone_type
from colonnade.threads import map_ordered

_SLICE_ROWS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    table, partition, column, block
        Where it is; None where it concerns more than one.
    problem
        What is wrong, in one line.
    error
        Name of the class of error that a reader would get.
    """

    table: str
    partition: str | None
    column: str | None
    block: int | None
    problem: str
    error: str


@dataclass(slots=True)
class Verification:
    """What `verify` looked at, and what it found.

    Attributes
    ----------
    partitions, files, blocks, rows, stored_bytes
        How much was looked at.
    findings
        What is wrong; empty where nothing is.
    """

    partitions: int = 0
    files: int = 0
    blocks: int = 0
    rows: int = 0
    stored_bytes: int = 0
    findings: list[Finding] = field(default_factory=list)


def verify(source: StoredTable, *, threads: int | None = None) -> Verification:
    """Check every partition of a version of a table; see the module for what is checked."""
    total = Verification()
    with _noted(total, table=source.name):
        parse_version(source.path / VERSIONS / version_name(source.version))
    for one in map_ordered(_run, _checks(source), threads=threads):
        total.partitions += one.partitions
        total.files += one.files
        total.blocks += one.blocks
        total.rows += one.rows
        total.stored_bytes += one.stored_bytes
        total.findings += [finding for finding in one.findings if finding not in total.findings]
    return total


def _same(result: Verification) -> Verification:
    return result


def _run(check: Callable[[], Verification]) -> Verification:
    return check()


def _checks(source: StoredTable) -> Iterator[Callable[[], Verification]]:
    """Give the checks of a table, which may run side by side."""
    for value in source.values.tolist():
        opened = _check_partition(source, value)
        yield partial(_same, opened)
        try:
            parts = source.partition(value).parts
        except ColonnadeError:
            continue  # found already
        for part in parts:
            yield from (partial(_check_column, part, name) for name in source.schema.columns)
            yield partial(_check_order, part, source.schema)


def _check_partition(source: StoredTable, value: int) -> Verification:
    result = Verification(partitions=1)
    with _noted(result, table=source.name, partition=days_to_date(value).isoformat()):
        folder = source.path / partition_name(source.schema.partition_by, value)
        read_manifest_anew(folder, source.state.manifest_hash(value) or "")
        result.rows = source.partition(value).row_count
        _check_counts(source, value)
    return result


def _check_column(part: StoredPart, name: str) -> Verification:
    result = Verification()
    with _noted(result, **part.where, column=name):
        _verify_column(part, name, result)
    return result


def _check_order(part: StoredPart, schema: Schema) -> Verification:
    result = Verification()
    with _noted(result, **part.where):
        _check_sorted(part, schema)
    return result


@contextmanager
def _noted(result: Verification, **where: str | int) -> Iterator[None]:
    """Make a finding of an error."""
    try:
        yield
    except ColonnadeError as error:
        known: dict[str, Any] = dict(where)
        if isinstance(error, CorruptionError):
            known.update(error.where)
        problem = error.reason if isinstance(error, CorruptionError) else str(error)
        finding = Finding(
            known["table"],
            known.get("partition"),
            known.get("column"),
            known.get("block"),
            problem,
            type(error).__name__,
        )
        result.findings.append(finding)


def _check_counts(source: StoredTable, value: int) -> None:
    manifest = source.partition(value).manifest
    position = int(np.searchsorted(source.values, value))
    said = tuple(int(column[position]) for column in (source.row_counts, source.sort_min, source.sort_max))
    low, high = manifest.sort_min, manifest.sort_max
    held = (manifest.row_count, NO_MIN if low is None else low, NO_MAX if high is None else high)
    if said != held:
        raise HeaderError(f"version says rows and bounds of the sort key are {said}, the manifest {held}")


def _verify_column(part: StoredPart, name: str, result: Verification) -> None:
    if part.column_entry(name) is None:
        return  # the part is older than the column
    column = part.open_apart(name)
    result.files += 1
    result.stored_bytes += column.entry.stored_bytes
    result.blocks += len(column.index)
    column.verify()
    if column.symbols is not None:
        _check_symbols(column)
    if column.runs is not None:
        _check_runs_match(column)
    found = _check_values(column) if column.type.has_fixed_width else _check_text(column)
    if found != column.entry.values_hash:
        raise ChecksumError(f"hash of the values is {found:016x}, expected {column.entry.values_hash:016x}")


def _check_symbols(column: ColumnFile) -> None:
    symbols = column.dictionary
    if symbols is not None and len(symbols) > 1 and not (symbols[1:] > symbols[:-1]).all():
        raise HeaderError("symbols of the dictionary don't ascend by bytes")


def _check_runs_match(column: ColumnFile) -> None:
    runs = column.runs
    if runs is None:
        return
    values = np.empty(column.row_count, dtype=np.uint32)
    decode_rows(column.kernel_input(), 0, column.row_count, values)
    if not np.array_equal(values, np.repeat(runs["code"], runs["row_count"].astype(np.int64))):
        raise HeaderError("runs don't match the symbol codes of the rows")


def _check_values(column: ColumnFile) -> int:
    """Compare null counts and zone maps with the values, block by block; give the hash of the values."""
    values_hash = ValuesHash()
    source = column.kernel_input(0, 0)
    low, high, has_bounds = zone_bounds(column.index, column.type)
    nan = has_nan(column.index)
    has_zones = zone_type(column.type) is not None
    buffer = np.empty(column.block_rows, dtype=column.type.numpy_type)
    for block, first in enumerate(range(0, column.row_count, column.block_rows)):
        last = min(first + column.block_rows, column.row_count)
        values = buffer[: last - first]
        decode_rows(source, first, last, kernel_array(values))
        values_hash.add(values)
        present = values[column.is_valid(first, last, values)]
        is_nan = np.isnan(present) if present.dtype.kind == "f" else np.zeros(len(present), dtype=np.bool)
        numbers = present[~is_nan] if has_zones else present[:0]
        facts = (
            int(column.index["null_count"][block]) == len(values) - len(present),
            bool(nan[block]) == bool(is_nan.any()),
            bool(has_bounds[block]) == (len(numbers) > 0),
            not len(numbers) or (low[block] == numbers.min() and high[block] == numbers.max()),
        )
        if not all(facts):
            error = HeaderError("zone map or null count doesn't match the values")
            error.where["block"] = block
            raise error
    return values_hash.finish()


def _check_text(column: ColumnFile) -> int:
    text_hash = TextHash()
    source = column.kernel_input(0, 0)
    for block, first in enumerate(range(0, column.row_count, column.block_rows)):
        last = min(first + column.block_rows, column.row_count)
        offsets, content = decode_string_rows(source, first, last)
        lengths = np.diff(offsets).astype(np.uint32)
        text_hash.add(lengths, np.frombuffer(content, dtype=np.uint8))
        missing = column.read(first, last).null_count()
        if missing != int(column.index["null_count"][block]):
            error = HeaderError("null count doesn't match the values")
            error.where["block"] = block
            raise error
    return text_hash.finish()


def _check_sorted(part: StoredPart, schema: Schema) -> None:
    entry: PartEntry = part.entry
    if schema.sort_by is None or not part.row_count:
        return
    column = part.open_apart(schema.sort_by)
    starts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    if part.runs is not None:
        starts = part.runs["first_row"].astype(np.int64)
    last = None
    low, high = None, None
    for first in range(0, part.row_count, _SLICE_ROWS):
        stop = min(first + _SLICE_ROWS, part.row_count)
        keys = np.empty(stop - first, dtype=column.type.numpy_type)
        decode_rows(column.kernel_input(first, stop), first, stop, keys)
        before = np.concatenate([keys[:1] if last is None else last, keys[:-1]])
        descends = keys < before
        descends[starts[(starts >= first) & (starts < stop)] - first] = False
        if descends.any():
            row = first + int(np.argmax(descends))
            raise HeaderError(f"sort key {schema.sort_by!r} descends at row {row} of part {entry.folder!r}")
        last = keys[-1:]
        low = int(keys.min()) if low is None else min(low, int(keys.min()))
        high = int(keys.max()) if high is None else max(high, int(keys.max()))
    held = (None if low is None else min(low, NO_MAX), None if high is None else min(high, NO_MAX))
    if held != (entry.sort_min, entry.sort_max):
        said = (entry.sort_min, entry.sort_max)
        raise HeaderError(
            f"manifest says the sort key is from {said[0]} to {said[1]}, it is {held[0]} to {held[1]}"
        )
