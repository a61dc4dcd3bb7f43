"""Compacting, recompressing and deleting: from what is asked to dates and files, and back to a frame."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from colonnade.codec.choose import DEFAULT_GOAL, CompressionArgument, choose_together, requested
from colonnade.codec.compression import Compression
from colonnade.errors import ConflictError, PlanError
from colonnade.maintenance.compact import Compaction, compact, plan_compaction
from colonnade.maintenance.delete import Deletion, delete, plan_deletion
from colonnade.maintenance.recompress import Recompression, plan_recompression, recompress
from colonnade.query.matching import matching_rows
from colonnade.query.plan import Plan
from colonnade.query.prune import split_conditions, wanted_dates
from colonnade.query.values import DAY_NS, span_ns
from colonnade.schema import date_to_days, days_to_date, zone_info
from colonnade.store.atomic import is_durable
from colonnade.store.table_source import StoredPart, StoredTable, open_source
from colonnade.store.version import Edits, TableStore

Progress = Callable[[int, int], None]  # bytes of values so far, and in all
_STRETCHES: Final = 4
_STRETCH_ROWS: Final = 1 << 14  # of a sample
_ATTEMPTS: Final = 8


# ---- dates


def dates_of(source: StoredTable, plan: Plan, older_than: Any = None) -> list[int]:  # noqa: ANN401
    """Give the dates that fulfil the conditions of a plan on the partition column, and are old enough."""
    found = wanted_dates(source, split_conditions(plan))
    if older_than is None:
        return [int(value) for value in found]
    age = span_ns(older_than, what="older_than")
    if age < 0 or age % DAY_NS:
        raise PlanError(f"older_than is {older_than!r}; expected whole days, such as '30d' or '8w'")
    zone = source.schema.zone
    today = dt.datetime.now(dt.UTC if zone is None else zone_info(zone)).date()
    return [int(value) for value in found if value < date_to_days(today) - age // DAY_NS]


# ---- compact


def compact_table(
    store: TableStore,
    plan: Plan,
    *,
    dry_run: bool,
    threads: int | None,
    progress: Progress | None,
) -> pl.DataFrame:
    """Make one part of those of each date; see `Table.compact`."""
    source = open_source(store.path)
    planned = plan_compaction(store, source.state, dates_of(source, plan))
    if dry_run:
        return _compactions(planned)
    watch = _by_rows(progress, sum(one.rows for one in planned), sum(one.bytes_before for one in planned))
    done = [compact(store, one.value, threads=threads, watch=watch) for one in planned]
    return _compactions(one for one in done if one is not None)


def _compactions(done: Iterable[Compaction]) -> pl.DataFrame:
    return pl.DataFrame(
        [(days_to_date(one.value), one.rows, one.parts, one.bytes_before, one.bytes_after) for one in done],
        schema={
            "partition": pl.Date,
            "rows": pl.Int64,
            "parts": pl.Int64,
            "bytes_before": pl.Int64,
            "bytes_after": pl.Int64,
        },
        orient="row",
    )


# ---- recompress


def recompress_table(
    store: TableStore,
    plan: Plan,
    compression: CompressionArgument | None,
    *,
    goal: str | None,
    columns: str | Collection[str] | None,
    older_than: Any,  # noqa: ANN401 - text or timedelta
    is_everything: bool,
    dry_run: bool,
    threads: int | None,
    progress: Progress | None,
) -> pl.DataFrame:
    """Write column files under other compressions; see `Table.recompress`."""
    source = open_source(store.path)
    values = dates_of(source, plan, older_than)
    names = [columns] if isinstance(columns, str) else columns
    wanted = _wanted(source, values, compression, goal, names)
    if dry_run:
        return _recompressions(plan_recompression(source, wanted, values))
    if is_everything and not (compression is None and goal is None):
        _set_compression(store, wanted)
    return _recompressions(recompress(store, wanted, values, threads=threads, watch=progress))


def _wanted(
    source: StoredTable,
    values: list[int],
    compression: CompressionArgument | None,
    goal: str | None,
    names: Collection[str] | None,
) -> dict[str, Compression]:
    """Give the compression of each column that is to have it, the rule asked where nothing else says."""
    schema, where = source.schema, f"table {source.name!r}"
    for name in names or ():
        schema.column(name, where=where)
    if compression is None and goal is None:
        kept: Mapping[str, str] = source.state.settings.get("compression", {})
        known = {name: Compression.parse(spec) for name, spec in kept.items() if name in schema.columns}
        return {name: found for name, found in known.items() if names is None or name in names}
    found = requested(compression, schema.columns, where=where)
    if isinstance(compression, Mapping) and "default" not in compression:
        found = {name: found[name] for name in compression}
    if names is not None:
        found = {name: told for name, told in found.items() if name in names}
    samples = {name: _sample(source, values, name) for name, told in found.items() if told is None}
    present = {name: sample for name, sample in samples.items() if sample is not None}
    chosen = choose_together(present, schema.columns, goal or DEFAULT_GOAL)
    return {name: told or chosen[name] for name, told in found.items() if told or name in chosen}


def _sample(source: StoredTable, values: list[int], name: str) -> pl.Series | None:
    """Take some values of the newest date that has the column; None where none has."""
    for value in reversed(values):
        parts = [part for part in source.partition(value).parts if part.column_entry(name) is not None]
        if parts:
            return _sample_of(max(parts, key=lambda part: part.row_count), name)
    return None


def _sample_of(part: StoredPart, name: str) -> pl.Series:
    column = part.column(name)
    if part.row_count <= _STRETCHES * _STRETCH_ROWS:
        rows = column.read(0, part.row_count)
    else:
        step = (part.row_count - _STRETCH_ROWS) // (_STRETCHES - 1)
        rows = pl.concat([column.read(at * step, at * step + _STRETCH_ROWS) for at in range(_STRETCHES)])
    return rows.cast(pl.String) if rows.dtype == pl.Categorical else rows


def _set_compression(store: TableStore, wanted: Mapping[str, Compression]) -> None:
    """Make the compressions those of the table, for rows that come later."""
    for attempt in range(_ATTEMPTS):
        version = store.current()
        kept = version.settings.get("compression", {})
        settings = {**kept, **{name: str(compression) for name, compression in wanted.items()}}
        if settings == kept:
            return
        try:
            store.commit(version, Edits(settings={**version.settings, "compression": settings}))
        except ConflictError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def _recompressions(files: Iterable[Recompression]) -> pl.DataFrame:
    """Give one row a date and column."""
    grouped: dict[tuple[int, str], list[Recompression]] = {}
    for file in files:
        grouped.setdefault((file.value, file.column), []).append(file)
    return pl.DataFrame(
        [
            (
                days_to_date(value),
                column,
                ", ".join(dict.fromkeys(str(file.before.compression) for file in found)),
                str(found[0].compression),
                sum(file.rows for file in found),
                sum(file.before.stored_bytes for file in found),
                None
                if any(file.after is None for file in found)
                else sum(file.after.stored_bytes for file in found if file.after is not None),
            )
            for (value, column), found in sorted(grouped.items())
        ],
        schema={
            "partition": pl.Date,
            "column": pl.String,
            "before": pl.String,
            "after": pl.String,
            "rows": pl.Int64,
            "bytes_before": pl.Int64,
            "bytes_after": pl.Int64,
        },
        orient="row",
    )


# ---- delete


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """What deleting would do; `apply` does it. Made by `Table.delete`.

    Attributes
    ----------
    frame
        One row a date that has rows to delete: its rows, those that go, and the parts that are written anew.
    """

    frame: pl.DataFrame
    _store: TableStore
    _plan: Plan

    @property
    def rows(self) -> int:
        """Rows that go."""
        return int(self.frame["deleted"].sum())

    def apply(
        self, *, durability: str = "safe", threads: int | None = None, progress: Progress | None = None
    ) -> pl.DataFrame:
        """Delete the rows that fulfil the conditions now, all dates in one version; tell what was done.

        Rows that are appended meanwhile stay. Versions from before have the deleted rows until they are
        cleaned away.

        Parameters
        ----------
        durability
            ``"safe"``, or ``"fast"`` without waiting for the disk; see `Database.ingest`.
        threads
            Columns written side by side.
        progress
            Called with the bytes that were looked at so far, and all of them.

        Raises
        ------
        ConflictError
            If others rewrite the same rows over and over, or change the columns meanwhile.
        """
        store = TableStore(self._store.path, durable=is_durable(durability))
        source = open_source(store.path)
        if source.schema != self._plan.schema:
            raise ConflictError(f"the columns of table {self._plan.table!r} changed meanwhile; plan anew")
        watch = _of_dates(source, dates_of(source, self._plan), progress)
        conditions = split_conditions(self._plan)
        done = delete(
            store,
            lambda now: dates_of(now, self._plan),
            lambda now, value, part: matching_rows(now, conditions, value, part),
            threads=threads,
            watch=watch,
        )
        return _deletions(done)

    def __repr__(self) -> str:
        return (
            f"<delete {self.rows:,} rows of table {self._plan.table!r} on {self.frame.height:,} dates; "
            "apply() does it>"
        )


def plan_delete(store: TableStore, plan: Plan, *, progress: Progress | None = None) -> DeletePlan:
    """Look for the rows that fulfil the conditions of a plan."""
    source = open_source(store.path)
    conditions = split_conditions(plan)
    planned = plan_deletion(
        source,
        lambda now: dates_of(now, plan),
        lambda now, value, part: matching_rows(now, conditions, value, part),
        watch=_of_dates(source, dates_of(source, plan), progress),
    )
    return DeletePlan(_deletions(planned), store, plan)


def _deletions(done: Iterable[Deletion]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (days_to_date(one.value), one.rows, one.deleted, one.parts, one.bytes_before, one.bytes_after)
            for one in done
        ],
        schema={
            "partition": pl.Date,
            "rows": pl.Int64,
            "deleted": pl.Int64,
            "parts": pl.Int64,
            "bytes_before": pl.Int64,
            "bytes_after": pl.Int64,
        },
        orient="row",
    )


# ---- progress


def _of_dates(
    source: StoredTable, values: list[int], progress: Progress | None
) -> Callable[[int], None] | None:
    manifests = [source.partition(value).manifest for value in values] if progress is not None else []
    parts = [part for manifest in manifests for part in manifest.parts]
    total = sum(entry.stored_bytes for part in parts for entry in part.columns.values())
    return _by_rows(progress, sum(part.row_count for part in parts), total)


def _by_rows(progress: Progress | None, rows: int, total: int) -> Callable[[int], None] | None:
    """Give a function that takes rows and tells how many of all bytes that makes."""
    if progress is None:
        return None
    tell, done = progress, 0

    def watch(count: int) -> None:
        nonlocal done
        done += count
        tell(min(total, total * done // max(rows, 1)), total)

    return watch
