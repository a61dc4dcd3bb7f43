"""Deletes rows: writes the parts that hold some anew without them, and commits all dates at once.

Which rows go is told by a function from outside, so that nothing here knows of conditions. Parts without such
rows stay as they are, a part that has no other rows goes, and so does a date that has none left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.errors import ConflictError
from colonnade.maintenance.rewrite import Watch, remove_part, rewrite, symbol_columns
from colonnade.maintenance.stretches import STRETCH_ROWS, Stretch
from colonnade.schema import SYMBOL_NULL, Schema
from colonnade.store.entries import PartEntry
from colonnade.store.manifest import Change
from colonnade.store.table_source import StoredPart, StoredTable, open_source
from colonnade.store.version import REFUSALS, Edits, TableStore

Dates = Callable[[StoredTable], Iterable[int]]  # the dates that may hold rows to delete
Matches = Callable[[StoredTable, int, int], NDArray[np.bool_]]  # of a date and a part: the rows to delete
_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting does or did to a partition.

    Attributes
    ----------
    value
        Date of the partition, days since 1970-01-01.
    rows
        Rows of the partition.
    deleted
        Rows of them that go.
    parts
        Parts that hold such rows, and so are written anew or go.
    bytes_before
        Bytes of the column files of these parts.
    bytes_after
        Bytes of what takes their place; None in a plan.
    """

    value: int
    rows: int
    deleted: int
    parts: int
    bytes_before: int
    bytes_after: int | None = None


def plan_deletion(
    source: StoredTable, dates: Dates, matches: Matches, *, watch: Watch | None = None
) -> list[Deletion]:
    """Tell what `delete` would do; dates without rows to delete are left out.

    It decodes what the conditions ask for, and writes nothing.
    """
    planned = []
    for value in dates(source):
        partition = source.partition(value)
        deleted, touched = 0, []
        for number, part in enumerate(partition.parts):
            count = int(matches(source, value, number).sum())
            if count:
                deleted += count
                touched.append(part.entry)
            if watch is not None:
                watch(part.row_count)
        if touched:
            before = sum(map(_bytes, touched))
            planned.append(Deletion(value, partition.row_count, deleted, len(touched), before))
    return planned


def delete(
    store: TableStore,
    dates: Dates,
    matches: Matches,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
) -> list[Deletion]:
    """Delete rows, of all dates in one commit; rows that are appended meanwhile stay.

    Parameters
    ----------
    store
        The table.
    dates, matches
        Which rows go.
    threads
        Columns written side by side; None for the default.
    watch
        Called as parts are looked at, with their rows.

    Raises
    ------
    ConflictError
        If others rewrite the same parts over and over, or the schema changes meanwhile.
    """
    schema = store.current().schema
    work = _Work(store, schema, matches, threads, watch)
    with store.writing():
        try:
            for _ in range(_ATTEMPTS):
                source = open_source(store.path)
                if source.schema != schema:
                    break
                changes, done = work.changes(source, dates(source))
                if not changes:
                    return []
                try:
                    store.commit(source.state, Edits(changed=changes))
                except ConflictError:
                    continue
                except BaseException as error:
                    if not isinstance(error, REFUSALS):
                        work.keep_all()  # they may be in the table
                    raise
                work.keep(changes)
                return done
        finally:
            work.remove_unused()
    raise ConflictError(f"table {store.name!r} was changed again and again meanwhile; read again and retry")


class _Work:
    """Parts that were written without the deleted rows; those that no commit took are removed at the end."""

    def __init__(
        self,
        store: TableStore,
        schema: Schema,
        matches: Matches,
        threads: int | None,
        watch: Watch | None,
    ) -> None:
        self._store = store
        self._schema = schema
        self._matches = matches
        self._threads = threads
        self._watch = watch
        self._seen: dict[tuple[int, str], tuple[PartEntry, int, PartEntry | None]] = {}
        self._unused: list[tuple[int, PartEntry]] = []

    def changes(self, source: StoredTable, values: Iterable[int]) -> tuple[dict[int, Change], list[Deletion]]:
        """Write what isn't written yet; give the change of each date, and what it does."""
        changes, done = {}, []
        for value in values:
            removed, added, deleted = [], [], 0
            partition = source.partition(value)
            for number, part in enumerate(partition.parts):
                count, made = self._without(source, value, number, part)
                deleted += count
                if count:
                    removed.append(part.entry)
                    added += [] if made is None else [made]
            if removed:
                changes[value] = Change(removed=tuple(removed), added=tuple(added))
                before, after = sum(map(_bytes, removed)), sum(map(_bytes, added))
                rows = partition.row_count
                done.append(Deletion(value, rows, deleted, len(removed), before, after))
        return changes, done

    def keep(self, changes: dict[int, Change]) -> None:
        """Take note that the parts of changes are in the table."""
        taken = {(value, part.folder) for value, change in changes.items() for part in change.added}
        self._unused = [(value, part) for value, part in self._unused if (value, part.folder) not in taken]

    def keep_all(self) -> None:
        """Take note that all parts may be in the table."""
        self._unused = []

    def remove_unused(self) -> None:
        """Remove the parts that no commit took."""
        for value, part in self._unused:
            remove_part(self._store.partition_folder(value, self._schema), part)

    def _without(
        self, source: StoredTable, value: int, number: int, part: StoredPart
    ) -> tuple[int, PartEntry | None]:
        """Give how many rows of a part go, and the part that is left; None where it is all or nothing."""
        key = (value, part.entry.folder)
        known = self._seen.get(key)
        if known is not None and known[0] == part.entry:
            return known[1:]
        matches = self._matches(source, value, number)
        count, made = int(matches.sum()), None
        if 0 < count < part.row_count:
            keep = ~matches
            made = rewrite(
                self._store.partition_folder(value, self._schema),
                self._schema,
                [part],
                _kept(keep),
                dictionaries=_used_symbols(part, self._schema, keep),
                durable=self._store.durable,
                threads=self._threads,
            )
            self._unused.append((value, made))
        self._seen[key] = (part.entry, count, made)
        if self._watch is not None:
            self._watch(part.row_count)
        return count, made


def _kept(keep: NDArray[np.bool_]) -> Iterator[Stretch]:
    """Give the rows of one part that stay."""
    for start in range(0, len(keep), STRETCH_ROWS):
        mask = keep[start : start + STRETCH_ROWS]
        picked = np.flatnonzero(mask)
        if len(picked):
            everything = len(picked) == len(mask)
            yield Stretch(((0, start, start + len(mask)),), None if everything else picked, len(picked))


def _used_symbols(part: StoredPart, schema: Schema, keep: NDArray[np.bool_]) -> dict[str, pl.Series]:
    """Give the symbols that the rows that stay have, for every symbol column."""
    found = {}
    for name in symbol_columns(schema):
        column = part.column(name)
        known = column.dictionary
        assert known is not None  # noqa: S101 - it is a symbol column
        used = np.zeros(len(known), dtype=np.bool_)
        for start in range(0, len(keep), STRETCH_ROWS):
            stop = min(start + STRETCH_ROWS, len(keep))
            codes = column.read_stored(start, stop).values[keep[start:stop]]
            used[codes[codes != SYMBOL_NULL]] = True
        found[name] = known if used.all() else known.filter(pl.Series(used))
    return found


def _bytes(part: PartEntry) -> int:
    return sum(column.stored_bytes for column in part.columns.values())
