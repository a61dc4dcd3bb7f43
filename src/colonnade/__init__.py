"""A tick database that you import: compressed columns, bars, as-of joins.

>>> import colonnade as cn
>>> db = cn.open("db")  # doctest: +SKIP
>>> db["trade"].where(date="2024-01-02", sym="AAPL").bars("1m").collect()  # doctest: +SKIP

Names that need Polars and the kernels are imported on first use: ``colonnade --help`` needs neither.
"""

import importlib
import typing

from colonnade.errors import (
    AlreadyExistsError,
    AlreadyIngestedError,
    ChecksumError,
    ColonnadeError,
    ColumnNotFoundError,
    ColumnTypeError,
    CompressionError,
    ConflictError,
    CorruptionError,
    HeaderError,
    IntegerOverflowError,
    MemoryLimitError,
    MissingColumnWarning,
    NotFoundError,
    NotPartedError,
    PlanError,
    QueryError,
    RowError,
    SchemaError,
    SourceError,
    StaleVersionError,
    TruncatedError,
    UnknownWordError,
    UnsortedError,
    UnsupportedQueryError,
    UnsupportedVersionError,
)

if typing.TYPE_CHECKING:
    from colonnade.api.asof_join import asof_join
    from colonnade.api.database import Database, create
    from colonnade.api.database import open_database as open  # noqa: A004 - cn.open
    from colonnade.api.query import GroupBy, Query
    from colonnade.api.table import Table
    from colonnade.ingest.writer import IngestReport
    from colonnade.query.expr import Expr, between, col, last
    from colonnade.query.expr import row_count as len  # noqa: A004 - cn.len

__all__ = [
    "AlreadyExistsError",
    "AlreadyIngestedError",
    "ChecksumError",
    "ColonnadeError",
    "ColumnNotFoundError",
    "ColumnTypeError",
    "CompressionError",
    "ConflictError",
    "CorruptionError",
    "Database",
    "Expr",
    "GroupBy",
    "HeaderError",
    "IngestReport",
    "IntegerOverflowError",
    "MemoryLimitError",
    "MissingColumnWarning",
    "NotFoundError",
    "NotPartedError",
    "PlanError",
    "Query",
    "QueryError",
    "RowError",
    "SchemaError",
    "SourceError",
    "StaleVersionError",
    "Table",
    "TruncatedError",
    "UnknownWordError",
    "UnsortedError",
    "UnsupportedQueryError",
    "UnsupportedVersionError",
    "asof_join",
    "between",
    "col",
    "create",
    "last",
    "len",
    "open",
]

_HOMES = {  # name: the module that defines it, and its name there
    "Database": ("colonnade.api.database", "Database"),
    "Expr": ("colonnade.query.expr", "Expr"),
    "GroupBy": ("colonnade.api.query", "GroupBy"),
    "IngestReport": ("colonnade.ingest.writer", "IngestReport"),
    "Query": ("colonnade.api.query", "Query"),
    "Table": ("colonnade.api.table", "Table"),
    "asof_join": ("colonnade.api.asof_join", "asof_join"),
    "between": ("colonnade.query.expr", "between"),
    "col": ("colonnade.query.expr", "col"),
    "create": ("colonnade.api.database", "create"),
    "last": ("colonnade.query.expr", "last"),
    "len": ("colonnade.query.expr", "row_count"),
    "open": ("colonnade.api.database", "open_database"),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'colonnade' has no attribute {name!r}")
    module, there = _HOMES[name]
    value: object = getattr(importlib.import_module(module), there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is public, whether it is imported yet or not."""
    return sorted({*globals(), *__all__})
