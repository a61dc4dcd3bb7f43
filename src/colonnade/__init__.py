"""A tick database that you import: compressed columns, bars, as-of joins.

>>> import colonnade as cn
>>> db = cn.open("db")  # doctest: +SKIP
>>> db["trade"].where(date="2024-01-02", sym="AAPL").bars("1m").collect()  # doctest: +SKIP
"""

from colonnade.api.asof_join import asof_join
from colonnade.api.database import Database, create
from colonnade.api.database import open_database as open  # noqa: A004 - cn.open
from colonnade.api.query import GroupBy, Query
from colonnade.api.table import Table
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
