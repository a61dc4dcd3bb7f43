"""Rows whose key is stored already, or came before, left out: only where a key is named.

Two equal rows are two rows: two trades may agree in every column. Where the user names columns that tell rows
apart, such as a sequence number, files that overlap can be ingested one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import polars as pl

from colonnade.errors import NotFoundError, SchemaError
from colonnade.schema import Schema
from colonnade.store.source import PartSource, TableSource


class UniqueRows:
    """Keeps the first row of each key in each partition; what is stored comes before what is new.

    Parameters
    ----------
    key
        Columns that together tell the rows of a partition apart; null is a value like others here. Those of
        the partition at hand are held in memory.
    stored
        The table that rows are added to, or None where nothing that is stored counts.
    """

    def __init__(self, key: Sequence[str], stored: TableSource | None) -> None:
        self.key = list(key)
        self._stored = stored
        self._left_out: list[int] = []  # of each frame; partitions are written side by side

    @property
    def left_out(self) -> int:
        """Rows that were left out so far."""
        return sum(self._left_out)

    def of(self, value: int, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame] | None:
        """Give the rows of a partition that are new, chunk by chunk; None where there is none."""
        new = self._new(value, frames)
        first = next(new, None)
        return None if first is None else chain([first], new)

    def _new(self, value: int, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        known: list[pl.DataFrame] | None = None
        for frame in frames:
            if known is None:
                known = [self._keys_of(part, frame.select(self.key).schema) for part in self._parts(value)]
            kept = frame.unique(self.key, keep="first", maintain_order=True)
            if known:
                known = [pl.concat(known)]
                kept = kept.join(known[0], on=self.key, how="anti", nulls_equal=True, maintain_order="left")
            self._left_out.append(len(frame) - len(kept))
            if len(kept):
                known.append(kept.select(self.key))
                yield kept

    def _keys_of(self, part: PartSource, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Give the stored key of each row in the types of the new rows, which may be wider or more."""
        assert self._stored is not None  # noqa: S101 - parts are its
        columns = [
            part.column(name).read(0, part.row_count).alias(name)
            if name in self._stored.schema.columns
            else pl.Series(name, [None], dtype=dtype).new_from_index(0, part.row_count)
            for name, dtype in types.items()
        ]
        return pl.DataFrame([column.cast(types[column.name]) for column in columns])

    def _parts(self, value: int) -> Sequence[PartSource]:
        if self._stored is None:
            return ()
        try:
            return self._stored.partition(value).parts
        except NotFoundError:
            return ()


def check_key(key: Sequence[str], schema: Schema, *, where: str) -> None:
    """Raise where a key names no column, one twice, or one that isn't in the table."""
    if not key or len(set(key)) < len(key):
        raise SchemaError(f"key {list(key)!r} names no column, or one twice; expected for example ['seq']")
    for name in key:
        schema.column(name, where=where)
