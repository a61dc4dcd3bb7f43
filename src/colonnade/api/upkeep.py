"""Looking after a database: what is behind the methods of `Database` that clean, list and copy files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import polars as pl

from colonnade.errors import PlanError
from colonnade.maintenance.clean import clean, plan_clean
from colonnade.maintenance.copy import Selection, copy_database
from colonnade.maintenance.files import files_of, marker_file
from colonnade.query.values import days_between, span_ns
from colonnade.store.atomic import is_durable
from colonnade.store.database import DatabaseStore
from colonnade.store.table_source import open_source

_CLEANED: Final = {"table": pl.String, "versions": pl.Int64, "files": pl.Int64, "bytes": pl.Int64}
_FILES: Final = {"table": pl.String, "path": pl.String, "bytes": pl.Int64}
_COPIED: Final = {
    "table": pl.String,
    "version": pl.Int64,
    "partitions": pl.Int64,
    "rows": pl.Int64,
    "files": pl.Int64,
    "bytes": pl.Int64,
}


def clean_tables(
    store: DatabaseStore,
    table: str | None,
    keep: Any,  # noqa: ANN401 - text, timedelta
    *,
    dry_run: bool,
) -> pl.DataFrame:
    """Clean one table or all, dropped ones too; give a row a table."""
    keep_ns = span_ns(keep, what="keep")
    if keep_ns < 0:
        raise PlanError(f"keep is {keep!r}; expected a span that isn't negative")
    names = sorted({*store.table_names(), *store.dropped_names()})
    if table is not None and table not in names:
        store.open_table(table)  # says what there is
    work = plan_clean if dry_run else clean
    rows = []
    for name in names if table is None else [table]:
        cleaned = work(store.table(name), keep_ns=keep_ns)
        rows.append((name, cleaned.versions, cleaned.files, cleaned.byte_count))
    return pl.DataFrame(rows, schema=_CLEANED, orient="row")


def list_files(store: DatabaseStore, table: str | None, version: int | None) -> pl.DataFrame:
    """List the files of a version of a table, or of the newest of all tables; the marker comes last."""
    if table is None and version is not None:
        raise PlanError("a version is one of a table; name the table, too")
    names = store.table_names() if table is None else [store.open_table(table).name]
    rows: list[tuple[str | None, str, int]] = []
    for name in names:
        source = open_source(store.table(name).path, version)
        rows += [(name, str(file.path), file.byte_count) for file in files_of(source)]
    marker = marker_file(store.path)
    rows.append((None, str(marker.path), marker.byte_count))
    return pl.DataFrame(rows, schema=_FILES, orient="row")


def copy_tables(
    store: DatabaseStore,
    destination: str | Path,
    *,
    tables: Any,  # noqa: ANN401 - a name, several
    dates: Any,  # noqa: ANN401 - a date, a month, several
    symbols: Any,  # noqa: ANN401 - a symbol, several
    columns: Any,  # noqa: ANN401 - a name, several
    durability: str,
    threads: int | None,
    progress: Callable[[int, int], None] | None,
) -> pl.DataFrame:
    """Copy what is chosen into a new database; give a row a table."""
    selection = Selection(
        tables=_listed(tables),
        days=None if dates is None else tuple(days_between(date, what="date") for date in _several(dates)),
        symbols=_listed(symbols),
        columns=_listed(columns),
    )
    durable = is_durable(durability)
    copied = copy_database(store, destination, selection, durable=durable, threads=threads, watch=progress)
    rows = [(one.table, one.version, one.partitions, one.rows, one.files, one.stored_bytes) for one in copied]
    return pl.DataFrame(rows, schema=_COPIED, orient="row")


def _several(values: Any) -> Iterable[Any]:  # noqa: ANN401
    """Give one or several values as several."""
    return values if isinstance(values, (list, tuple, set, frozenset, pl.Series)) else [values]


def _listed(names: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    return None if names is None else tuple(dict.fromkeys(map(str, _several(names))))
