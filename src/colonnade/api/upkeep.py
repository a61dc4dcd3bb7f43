"""Looking after a database: what is behind the methods of `Database` that clean, list and copy files."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from colonnade.errors import PlanError
from colonnade.query.values import span_ns
from colonnade.store.clean import clean, plan_clean
from colonnade.store.database import DatabaseStore

_CLEANED: Final = {"table": pl.String, "versions": pl.Int64, "files": pl.Int64, "bytes": pl.Int64}


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
