"""Parts: one sorted run of rows, a folder with one file per column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from colonnade.codec.compression import Compression
from colonnade.schema import Schema
from colonnade.store.entries import PartEntry


def write_part(
    folder: Path,
    schema: Schema,
    frames: Iterable[pl.DataFrame],
    *,
    dictionaries: Mapping[str, pl.Series],
    compressions: Mapping[str, Compression],
    sequence: int = 1,
    durable: bool = True,
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

    Returns
    -------
    PartEntry
        What the manifest says of the part.

    Raises
    ------
    SchemaError
        If the rows don't fit the schema: columns, types, order. Nothing of the part is left then.
    """
    raise NotImplementedError
