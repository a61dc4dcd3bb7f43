"""A table as a Polars `LazyFrame`: Polars asks for columns, and gets one partition after the other."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from polars.io.plugins import register_io_source

from colonnade.api.query import Query
from colonnade.query.bind import Scope, type_of
from colonnade.query.build import all_columns


def scan_query(query: Query, scope: Scope) -> pl.LazyFrame:
    """Give a lazy frame over all rows; only the columns that Polars needs are decoded."""
    schema = {output.name: type_of(output.node, scope) for output in all_columns(scope)}

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size  # a hint; partitions are what they are
        wanted = query.select(*(list(schema) if with_columns is None else with_columns))
        left = n_rows
        for _, frame in wanted.iter_partitions():
            part = frame if left is None else frame.head(left)
            left = None if left is None else left - part.height
            yield part if predicate is None else part.filter(predicate)
            if left == 0:
                return

    return register_io_source(read, schema=schema)
