"""Makes few parts of many: all of a partition when asked, small ones after an append.

A part made of others spans their sequence, so the logical order of rows stays what it was, ties included. A
merge is a commit of its own, and rows may be appended meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from colonnade.errors import ConflictError
from colonnade.maintenance.rewrite import Watch, merged_dictionaries, remove_part, rewrite
from colonnade.maintenance.stretches import stretches_of
from colonnade.store.entries import PartEntry
from colonnade.store.manifest import Change
from colonnade.store.table_source import open_source
from colonnade.store.version import REFUSALS, Edits, TableStore
from colonnade.store.version_file import Version

FANOUT: Final = 4  # parts of about the same size that a merge after an append makes one of
_MERGED_ROWS: Final = 1 << 24  # an append doesn't wait for larger merges
_OPEN_FILES: Final = 512  # of a merge
_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class Compaction:
    """What compacting a partition does or did.

    Attributes
    ----------
    value
        Date of the partition, days since 1970-01-01.
    parts, rows
        Parts that are made one, and their rows.
    bytes_before
        Bytes of their column files.
    bytes_after
        Bytes of the column files of the part that was made; None in a plan.
    """

    value: int
    parts: int
    rows: int
    bytes_before: int
    bytes_after: int | None = None


def plan_compaction(store: TableStore, version: Version, values: Iterable[int]) -> list[Compaction]:
    """Tell what `compact` would do with partitions; those of one part are left out."""
    planned = []
    for value in values:
        parts = store.manifest(version, value).parts
        if len(parts) > 1:
            planned.append(
                Compaction(value, len(parts), sum(part.row_count for part in parts), _bytes(parts))
            )
    return planned


def compact(
    store: TableStore,
    value: int,
    *,
    threads: int | None = None,
    watch: Watch | None = None,
) -> Compaction | None:
    """Make one part of those of a partition; None where it has one or is gone.

    Rows that are appended meanwhile stay parts of their own.

    Raises
    ------
    ConflictError
        If others rewrite the same parts over and over.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _compact_once(store, value, threads=threads, watch=watch)
        except ConflictError:
            if attempt == _ATTEMPTS - 1:
                raise
    return None


def _compact_once(
    store: TableStore, value: int, *, threads: int | None, watch: Watch | None
) -> Compaction | None:
    version = store.current()
    if version.position(value) is None:
        return None
    entries = store.manifest(version, value).parts
    if len(entries) == 1:
        return None
    rows, before = sum(part.row_count for part in entries), _bytes(entries)
    wanted = {part.folder for part in entries}
    most = max(_OPEN_FILES // len(version.schema.columns), 2)
    made = entries[0]
    while len(wanted) > 1:  # a merge of more parts than may be open takes several rounds
        chosen = [part for part in store.manifest(version, value).parts if part.folder in wanted][:most]
        with store.writing():
            version, made = merge(store, version, value, chosen, threads=threads, watch=watch)
        wanted = wanted - {part.folder for part in chosen} | {made.folder}
    return Compaction(value, len(entries), rows, before, _bytes([made]))


def merge(
    store: TableStore,
    version: Version,
    value: int,
    entries: Sequence[PartEntry],
    *,
    threads: int | None = None,
    watch: Watch | None = None,
) -> tuple[Version, PartEntry]:
    """Make one part of some that follow each other in a partition, and commit it.

    Raises
    ------
    ConflictError
        If one of the parts changed since the version; nothing is left of the merge then.
    """
    schema = version.schema
    folders = {part.folder for part in entries}
    source = open_source(store.path, version.number)
    parts = [part for part in source.partition(value).parts if part.entry.folder in folders]
    folder = store.partition_folder(value, schema)
    made = rewrite(
        folder,
        schema,
        parts,
        stretches_of(parts, schema),
        dictionaries=merged_dictionaries(parts, schema),
        durable=store.durable,
        threads=threads,
        watch=watch,
    )
    try:
        change = Change(removed=tuple(part.entry for part in parts), added=(made,))
        return store.commit(version, Edits(changed={value: change})), made
    except REFUSALS:
        remove_part(folder, made)
        raise


def merge_small(
    store: TableStore, version: Version, values: Iterable[int], *, threads: int | None = None
) -> Version:
    """Merge small parts of partitions that rows were just appended to; give the newest version.

    Parts of about the same size, fourfold steps, are made one as soon as there are `FANOUT` of them, so that
    of n appends about log n parts stay and a row is written about log n times. A part counts as large as the
    largest that came after it. Another writer who changes the same parts first wins, silently.
    """
    for value in values:
        chosen = chosen_to_merge(store.manifest(version, value).parts)
        while chosen:
            try:
                with store.writing():
                    version, _ = merge(store, version, value, chosen, threads=threads)
            except ConflictError:
                break
            chosen = chosen_to_merge(store.manifest(version, value).parts)
    return version


def chosen_to_merge(parts: Sequence[PartEntry]) -> Sequence[PartEntry]:
    """Choose parts that follow each other and are worth merging after an append; none mostly."""
    end = len(parts)
    while end:
        tier = _tier(parts[end - 1])
        start = end
        while start and _tier(parts[start - 1]) <= tier:
            start -= 1
        group = parts[start:end]
        if len(group) >= FANOUT and sum(part.row_count for part in group) <= _MERGED_ROWS:
            return group
        end = start
    return ()


def _tier(part: PartEntry) -> int:
    """Give the power of `FANOUT` that the rows of a part reach."""
    rows, tier = part.row_count, 0
    while rows >= FANOUT:
        rows //= FANOUT
        tier += 1
    return tier


def _bytes(parts: Sequence[PartEntry]) -> int:
    return sum(column.stored_bytes for part in parts for column in part.columns.values())
