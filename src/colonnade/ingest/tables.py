"""Rows that have types already: Parquet, Arrow files, Polars frames, and objects that hand out Arrow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np
import polars as pl

from colonnade.errors import ColumnTypeError, SourceError
from colonnade.ingest.bad_rows import BadRow, BadRows
from colonnade.ingest.convert import FieldPlan, cleaned, convert
from colonnade.ingest.description import SourceDescription
from colonnade.ingest.drift import settled
from colonnade.ingest.fields import Layout, match_fields, planned, with_overrides
from colonnade.ingest.infer import text_type
from colonnade.ingest.parse import NO_KEY
from colonnade.ingest.request import OpenedRows, Request, for_part_key, known_type, wider_type
from colonnade.ingest.text_source import chosen_description
from colonnade.schema import ColumnType
from colonnade.store.schema_change import widens

_BATCH_ROWS: Final = 1 << 18
_SHOWN: Final = 200


@runtime_checkable
class ArrowStream(Protocol):
    """Whatever hands out its rows through Arrow's C interface: PyArrow tables, pandas and DuckDB frames."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give a capsule with the stream."""


def open_file(path: Path, kind: str, request: Request, bad: BadRows) -> Iterator[OpenedRows]:
    """Yield the rows of a Parquet or Arrow file."""
    description = SourceDescription(path.name, kind=kind)
    if request.description is not None:
        description = chosen_description(path, request)
    try:
        lazy = pl.scan_parquet(path, glob=False) if kind == "parquet" else pl.scan_ipc(path)
        schema = lazy.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise SourceError(f"{path}: the {kind} file can't be read ({_first_line(error)})") from None
    yield _opened(str(path), lazy, schema, description, request=request, bad=bad)


def open_frame(source: object, label: str, request: Request, bad: BadRows) -> Iterator[OpenedRows]:
    """Yield the rows of a Polars frame, lazy or not, or of an object that hands out Arrow."""
    description = request.description or SourceDescription("no description", kind="arrow")
    if description.variants:
        description = description.select(label, request.table)
    with _arrow_named(label):
        rows = source if isinstance(source, pl.LazyFrame) else _as_frame(source)
        schema = rows.collect_schema()
    yield _opened(label, rows, schema, description, request=request, bad=bad)


def kept_rows(source: object, label: str) -> pl.DataFrame | pl.LazyFrame:
    """Give rows that can be read more than once; some streams can't."""
    with _arrow_named(label):
        return source if isinstance(source, pl.LazyFrame) else _as_frame(source)


@contextmanager
def _arrow_named(label: str) -> Iterator[None]:
    try:
        yield
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        ImportError,
        TypeError,
        ValueError,
    ) as error:
        raise SourceError(f"{label}: the rows can't be read as Arrow ({_first_line(error)})") from None


def _as_frame(source: object) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, ArrowStream):
        return pl.DataFrame(source)
    raise TypeError(f"a {type(source).__name__} is no path, frame or Arrow stream")


def _opened(
    label: str,
    rows: pl.LazyFrame | pl.DataFrame,
    schema: Mapping[str, pl.DataType],
    description: SourceDescription,
    *,
    request: Request,
    bad: BadRows,
) -> OpenedRows:
    lazy = rows.lazy()
    request = for_part_key(request, description)
    groups = description.groups_of(Path(label).as_posix())
    date = request.date or description.date_of(groups, path=label)
    layout = match_fields(description, list(schema), count=len(schema), groups=groups, label=label)
    layout = settled(with_overrides(layout, request.overrides, label=label), request, label)
    names = [name for name, column in zip(schema, layout.fields, strict=True) if column is not None]
    types = _types(label, lazy, schema, layout, request)
    columns = [column for column in layout.fields if column is not None]
    reader = _BatchReader(
        label,
        [planned(column, types[column.name], description) for column in columns],
        [(planned(column, types[column.name], description), text) for column, text in layout.constants],
        layout.order,
        date=date,
        required=request.required,
    )
    batches = (
        _batches(lazy.select(names), label)
        if isinstance(rows, pl.LazyFrame)
        else _slices(rows.select(names), request.frame_bytes)
    )
    return OpenedRows(label, description, types, date, reader.frames(batches, bad))


def _types(
    label: str,
    lazy: pl.LazyFrame,
    schema: Mapping[str, pl.DataType],
    layout: Layout,
    request: Request,
) -> dict[str, ColumnType]:
    types = {name: known_type(request, column) for name, column in layout.columns().items()}
    first: pl.DataFrame | None = None
    for (field, dtype), column in zip(schema.items(), layout.fields, strict=True):
        if column is None:
            continue
        known = types[column.name]
        if known is not None:
            own = own_type(dtype) if column.column_type is None else None
            types[column.name] = wider_type(request, known, own)
            continue
        if isinstance(dtype, pl.String):
            first = next(_batches(lazy.head(_BATCH_ROWS), label), None) if first is None else first
            texts = pl.Series([], dtype=pl.String) if first is None else first[field].drop_nulls()
            types[column.name] = text_type(texts, column.name)
        else:
            types[column.name] = _type_of(label, field, dtype)
    return {name: kind or ColumnType("symbol") for name, kind in types.items()}


def own_type(dtype: pl.DataType) -> ColumnType | None:
    """Give the type that a Polars column has by itself, None where it has none here."""
    try:
        return ColumnType.of_polars(dtype)
    except ColumnTypeError:
        return None


def _type_of(label: str, name: str, dtype: pl.DataType) -> ColumnType:
    if dtype == pl.Null:
        hint = f"describe it with a type or with drop = true, or pass types={{{name!r}: 'symbol'}}"
        raise ColumnTypeError(f"{label}: column {name!r} holds nothing but nulls and has no type; {hint}")
    try:
        return ColumnType.of_polars(dtype)
    except ColumnTypeError as error:
        raise ColumnTypeError(f"{label}: column {name!r}: {error}") from None


def _slices(frame: pl.DataFrame, byte_limit: int) -> Iterator[pl.DataFrame]:
    """Cut a frame, which is in memory already, without copying it: as a whole where that is small enough."""
    count = int(frame.estimated_size()) // max(byte_limit, 1) + 1
    height = max(-(-frame.height // count), min(frame.height, _BATCH_ROWS))
    for start in range(0, frame.height, max(height, 1)):
        yield frame.slice(start, height)


def _batches(lazy: pl.LazyFrame, label: str) -> Iterator[pl.DataFrame]:
    try:
        for batch in lazy.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True):
            for start in range(0, batch.height, 4 * _BATCH_ROWS):
                yield batch.slice(start, 4 * _BATCH_ROWS)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise SourceError(f"{label}: the rows can't be read ({_first_line(error)})") from None


class _BatchReader:
    """Turns batches of a source into canonical frames."""

    def __init__(
        self,
        label: str,
        plans: list[FieldPlan],
        constants: list[tuple[FieldPlan, str | None]],
        order: tuple[str, ...],
        *,
        date: dt.date | None,
        required: set[str],
    ) -> None:
        self._label = label
        self._plans = plans
        self._constants = constants
        self._order = order
        self._date = date
        self._required = required
        self._row = 0

    def frames(self, batches: Iterator[pl.DataFrame], bad: BadRows) -> Iterator[pl.DataFrame]:
        """Yield canonical frames; rows that don't fit go to ``bad``."""
        for batch in batches:
            frame, failed = self._converted(batch)
            bad.take(failed)
            self._row += batch.height
            if frame.height:
                yield frame

    def _converted(self, batch: pl.DataFrame) -> tuple[pl.DataFrame, list[BadRow]]:
        columns: dict[str, pl.Series] = {}
        failed = np.zeros(batch.height, dtype=np.bool_)
        bad: list[BadRow] = []
        for values, plan in zip(batch.get_columns(), self._plans, strict=True):
            clean = cleaned(values, plan)
            column = convert(clean, plan, date=self._date)
            is_key = plan.name in self._required
            if column.null_count() > (0 if is_key else clean.null_count()):
                wrong = column.is_null() if is_key else column.is_null() & clean.is_not_null()
                positions = np.flatnonzero(wrong.to_numpy() & ~failed).tolist()
                bad += [self._bad(batch, plan, position, clean) for position in positions]
                failed |= wrong.to_numpy()
            columns[plan.name] = column
        for plan, text in self._constants:
            value = pl.Series(plan.name, [text], dtype=pl.String)
            columns[plan.name] = convert(value, plan, date=self._date).new_from_index(0, batch.height)
        frame = pl.DataFrame([columns[name] for name in self._order])
        if failed.any():
            frame = frame.filter(pl.Series(~failed))
        return frame, sorted(bad, key=lambda row: row.line)

    def _bad(self, batch: pl.DataFrame, plan: FieldPlan, position: int, clean: pl.Series) -> BadRow:
        shown = ", ".join(f"{column.name}={_shown(column, position)}" for column in batch.iter_columns())
        reason = f"{clean.dtype} value doesn't become {plan.type} without loss"
        own = own_type(clean.dtype)
        if own is not None and widens(plan.type, own):
            reason += f" (pass widen=True or --widen to make the column {own})"
        elif own is not None and own.is_numeric and plan.type.is_numeric and own != plan.type:
            reason += f" (cast the column first: colonnade column cast DB TABLE {plan.name} {own})"
        if clean[position : position + 1].null_count():
            reason = NO_KEY
        number = self._row + position + 1
        return BadRow(self._label, number, plan.name, reason, _shown(clean, position), shown[:_SHOWN])


def _shown(values: pl.Series, position: int) -> str:
    """Give a value as text; times as numbers, because Python can't hold all of them."""
    one = values[position : position + 1]
    value = (one.to_physical() if one.dtype.is_temporal() else one).item()
    return "" if value is None else str(value)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
