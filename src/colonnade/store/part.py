"""Parts: one sorted run of rows, a folder with one file per column."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.codec.compression import Compression
from colonnade.errors import SchemaError, UnsortedError
from colonnade.schema import Schema
from colonnade.store.atomic import make_folders, sync_folders
from colonnade.store.column_writer import ColumnWriter
from colonnade.store.entries import PartEntry
from colonnade.store.filenames import new_column_name, new_part_name
from colonnade.threads import map_ordered

_TEXT_COST = 16  # of a row of text or symbols, as of a number of so many bytes
_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1


def write_part(
    folder: Path,
    schema: Schema,
    frames: Iterable[pl.DataFrame],
    *,
    dictionaries: Mapping[str, pl.Series],
    compressions: Mapping[str, Compression],
    sequence: int = 1,
    durable: bool = True,
    threads: int | None = None,
) -> PartEntry:
    """Write rows as a new part.

    Parameters
    ----------
    folder
        Folder of the partition, made if it isn't there; see `TableStore.partition_folder`.
    schema
        Columns and keys.
    frames
        Chunks of the rows in logical order, as canonical frames: the columns of the schema in order, symbols
        and chars as `pl.String`. Null symbols come last.
    dictionaries
        For every symbol column the distinct values without null, sorted by bytes.
    compressions
        For every column.
    sequence
        Number that orders the part among those of its partition; the commit of an append sets it anew.
    durable
        Whether the part survives a power cut once this returns.
    threads
        Columns encoded side by side; None for the default.

    Returns
    -------
    PartEntry
        What the manifest says of the part.

    Raises
    ------
    SchemaError
        If the rows don't fit the schema: columns, types, order, null sort keys. Nothing of the part is left.
    """
    part = PartWriter(
        folder,
        schema,
        dictionaries=dictionaries,
        compressions={name: compressions[name] for name in schema.columns},
        sequence=(sequence, sequence),
        durable=durable,
        threads=threads,
    )
    with part:
        for frame in frames:
            _check_columns(frame, schema)
            part.add(partial(_add, frame), len(frame))
        return part.finish()


class PartWriter:
    """A part being written, its columns side by side; leaving the block by an error removes what is there.

    Parameters are those of `write_part`; ``sequence`` is the first and last number that went into the part,
    and a column without a compression is one that the part lacks.
    """

    def __init__(
        self,
        folder: Path,
        schema: Schema,
        *,
        dictionaries: Mapping[str, pl.Series],
        compressions: Mapping[str, Compression],
        sequence: tuple[int, int],
        durable: bool = True,
        threads: int | None = None,
    ) -> None:
        self.path = folder / new_part_name()
        self._schema = schema
        self._dictionaries = dictionaries
        self._compressions = compressions
        self._sequence = sequence
        self._durable = durable
        self._threads = threads
        self._writers: dict[str, ColumnWriter] = {}
        self._keys = _SortKeys(schema)

    def __enter__(self) -> Self:
        make_folders(self.path)
        try:
            for name, column_type in self._schema.columns.items():
                if name not in self._compressions:
                    continue
                self._writers[name] = ColumnWriter(
                    self.path / new_column_name(name),
                    name,
                    column_type,
                    self._compressions[name],
                    symbols=self._dictionaries[name] if column_type.kind == "symbol" else None,
                    is_parted=name == self._schema.part_by,
                )
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._abandon()

    def add(self, give: Callable[[ColumnWriter], None], row_count: int) -> None:
        """Add rows: ``give`` is called once a column, by several threads, and hands them to the writer."""
        slowest_first = sorted(self._writers.values(), key=_cost, reverse=True)
        for _ in map_ordered(give, slowest_first, threads=self._threads, ahead=len(slowest_first)):
            pass
        if row_count:
            self._keys.add(self._writers)

    def finish(self) -> PartEntry:
        """Finish all columns and say what the part is."""
        finished = map_ordered(
            lambda writer: writer.finish(durable=self._durable), self._writers.values(), threads=self._threads
        )
        columns = dict(zip(map(self._schema.stored_name, self._writers), finished, strict=True))
        sync_folders([self.path, self.path.parent], durable=self._durable)
        return PartEntry(
            folder=self.path.name,
            sequence=self._sequence,
            row_count=next(iter(self._writers.values())).row_count,
            sort_min=self._keys.smallest,
            sort_max=self._keys.largest,
            columns=columns,
        )

    def _abandon(self) -> None:
        for writer in self._writers.values():
            writer.abandon()
        with contextlib.suppress(OSError):
            self.path.rmdir()


def _cost(writer: ColumnWriter) -> int:
    """Give about the time that a row of a column takes, for an order in which no thread waits at the end."""
    kind = writer.type
    return kind.numpy_type.itemsize if kind.has_fixed_width and kind.kind != "symbol" else _TEXT_COST


def _add(frame: pl.DataFrame, writer: ColumnWriter) -> None:
    writer.add(frame[writer.name].rechunk())


class _SortKeys:
    """Checks that the sort key ascends, within each symbol of a parted part; keeps its bounds."""

    def __init__(self, schema: Schema) -> None:
        self.smallest: int | None = None
        self.largest: int | None = None
        self._schema = schema
        self._row_count = 0
        self._last: NDArray[Any] | None = None

    def add(self, writers: Mapping[str, ColumnWriter]) -> None:
        """Look at the chunk that the writers just took."""
        column = self._schema.sort_by
        if column is None:
            return
        keys = writers[column].values
        if writers[column].has_nulls:
            raise SchemaError(f"sort key {column!r} is null in some row; a sort key must have a value")
        starts = writers[self._schema.part_by].run_starts if self._schema.part_by else np.zeros(0, np.int64)
        before = np.concatenate([keys[:1] if self._last is None else self._last, keys[:-1]])
        descends = keys < before
        descends[starts] = False
        if descends.any():
            row = int(np.argmax(descends))
            within = f" within a symbol of {self._schema.part_by!r}" if self._schema.part_by else ""
            raise UnsortedError(
                f"column {column!r} isn't sorted{within}: row {self._row_count + row} has {keys[row]}, "
                f"the row before {before[row]}; sort the rows"
            )
        self._last = keys[-1:].copy()
        self._row_count += len(keys)
        low, high = _clipped(int(keys.min())), _clipped(int(keys.max()))
        self.smallest = low if self.smallest is None else min(self.smallest, low)
        self.largest = high if self.largest is None else max(self.largest, high)


def _clipped(key: int) -> int:
    return min(max(key, _INT64_MIN), _INT64_MAX)


def _check_columns(frame: pl.DataFrame, schema: Schema) -> None:
    if tuple(frame.columns) != tuple(schema.columns):
        found, expected = ", ".join(frame.columns), ", ".join(schema.columns)
        raise SchemaError(f"rows have the columns {found}; expected {expected}, in this order")
