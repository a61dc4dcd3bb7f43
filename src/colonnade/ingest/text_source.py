"""Delimited and fixed-width files to canonical frames: names, types, pieces, checks of the edges."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

import polars as pl

from colonnade.errors import SourceError
from colonnade.ingest.bad_rows import BadRows
from colonnade.ingest.convert import FieldPlan
from colonnade.ingest.description import EdgeLine, SourceDescription, parse_date
from colonnade.ingest.drift import settled
from colonnade.ingest.fields import Layout, match_fields, planned, with_overrides
from colonnade.ingest.infer import check_names, infer_text_type
from colonnade.ingest.parse import RowParser
from colonnade.ingest.request import OpenedRows, Request, for_part_key, known_type, wider_type
from colonnade.ingest.streams import TextStream, Watch, text_streams
from colonnade.ingest.text import EdgeFacts, TextPiece, TextRows
from colonnade.schema import ColumnType
from colonnade.threads import map_ordered

AUTOMATIC: Final = SourceDescription("no description")
_HEAD_BYTES: Final = 64 << 10


def open_text(path: Path, request: Request, bad: BadRows, watch: Watch | None) -> Iterator[OpenedRows]:
    """Yield the rows of a text file, one by one for the members of a zip.

    Each must be read to its end before the next is asked for.
    """
    description = chosen_description(path, request)
    for stream in text_streams(path, member=description.member, watch=watch):
        yield _open_stream(stream, description, request, bad)


def chosen_description(path: Path, request: Request) -> SourceDescription:
    """Give the description of a file: the variant that its path, its header or the table's name tells."""
    description = request.description
    if description is None:
        return AUTOMATIC
    if not description.variants:
        return description
    text = path.as_posix()
    by_path = any(variant.file and re.search(variant.file, text) for variant in description.variants)
    header = None if by_path else _first_names(path, description)
    return description.select(text, request.table, header)


def _first_names(path: Path, description: SourceDescription) -> list[str]:
    for stream in text_streams(path, member=description.member):
        head = next(stream.blocks, b"")[:_HEAD_BYTES].partition(b"\n")[0]
        return head.decode(errors="replace").rstrip("\r").split(description.delimiter)
    return []


def _open_stream(
    stream: TextStream, description: SourceDescription, request: Request, bad: BadRows
) -> OpenedRows:
    request = for_part_key(request, description)
    rows = TextRows(stream, _lenient(description, request), piece_bytes=request.piece_bytes)
    groups = description.groups_of(Path(stream.path).as_posix(), stream.member)
    date = request.date or description.date_of(groups, path=stream.label) or _edge_date(rows, description)
    pieces = rows.pieces()
    first = next(pieces, None)
    names = rows.header
    if description is AUTOMATIC and names is not None:
        check_names(names, stream.label)
    count = len(names) if names is not None else _field_count(first, description)
    layout = match_fields(description, names, count=count, groups=groups, label=stream.label)
    layout = settled(with_overrides(layout, request.overrides, label=stream.label), request, stream.label)
    types = _types(layout, first, rows, description, request)
    inferred = frozenset(
        name for name, column in layout.columns().items() if known_type(request, column) is None
    )
    parser = replace(
        _parser(stream.label, layout, types, rows, description),
        date=date,
        inferred=inferred,
        required=request.required,
    )
    every = pieces if first is None else chain([first], pieces)
    frames = _frames(parser, every, rows, request, bad, description=description, date=date)
    return OpenedRows(stream.label, description, types, date, frames)


def _lenient(description: SourceDescription, request: Request) -> SourceDescription:
    trailer = description.trailer
    if trailer is None or not request.allow_incomplete:
        return description
    return replace(description, trailer=replace(trailer, required=False, check=False))


def _edge_date(rows: TextRows, description: SourceDescription) -> dt.date | None:
    facts, wanted = rows.facts.get("first_line"), description.first_line
    if facts is None or wanted is None or facts.date is None:
        return None
    return parse_date(facts.date, wanted.date_format, where=f"{rows.stream.label}, line {facts.line}")


def _field_count(first: TextPiece | None, description: SourceDescription) -> int:
    described = [column for column in description.columns if column.value is None]
    if first is None:
        return len(described)
    line = first.text.partition(b"\n")[0].removesuffix(b"\r")
    if description.kind == "fixed":
        return _fixed_count(len(line), [column.width or 0 for column in described])
    if description.quote and description.quote.encode() in line:
        return len(described)  # a row with another count is a bad row
    return line.count(description.delimiter.encode()) + 1


def _fixed_count(length: int, widths: list[int]) -> int:
    total = 0
    for position, width in enumerate(widths):
        total += width
        if total == length:
            return position + 1
    return len(widths)


def _types(
    layout: Layout, first: TextPiece | None, rows: TextRows, description: SourceDescription, request: Request
) -> dict[str, ColumnType]:
    """Give the type of every column; the values of the first piece decide where nothing is said.

    Where the caller widens, they also tell whether the table's type is too narrow for them.
    """
    columns = layout.columns()
    types = {name: known_type(request, column) for name, column in columns.items()}
    may_widen = {name for name, column in columns.items() if request.widen and column.column_type is None}
    if may_widen or any(kind is None for kind in types.values()):
        as_text = dict.fromkeys(columns, ColumnType("string"))
        constants_apart = replace(layout, constants=(), order=tuple(_field_names(layout)))
        reader = _parser(rows.stream.label, constants_apart, as_text, rows, description)
        fields = reader.text_fields(first or TextPiece(b"", 1))
        for name, kind in types.items():
            if kind is None and name in fields.columns:
                values = fields[name]
                zone = columns[name].zone or request.zone
                types[name] = infer_text_type(values.set(values == "", None), name, zone=zone)
            elif kind is not None and name in may_widen and kind.is_numeric and name in fields.columns:
                values = fields[name].str.strip_chars(" \t")
                types[name] = _wide_enough(request, kind, values.set(values == "", None).drop_nulls(), name)
    return {name: kind or ColumnType("symbol") for name, kind in types.items()}


def _wide_enough(request: Request, known: ColumnType, values: pl.Series, name: str) -> ColumnType:
    """Give the table's type where it holds all values, else the wider one that they have."""
    wider = wider_type(request, known, infer_text_type(values, name))
    if wider == known:
        return known
    numbers = values.cast(wider.polars_type)
    narrowed = numbers.cast(known.polars_type, strict=False).cast(wider.polars_type)
    return known if narrowed.eq_missing(numbers).all() else wider


def _field_names(layout: Layout) -> list[str]:
    return [column.name for column in layout.fields if column is not None]


def _parser(
    label: str,
    layout: Layout,
    types: Mapping[str, ColumnType],
    rows: TextRows,
    description: SourceDescription,
) -> RowParser:
    plans: list[FieldPlan | None] = [
        None if column is None else planned(column, types[column.name], description)
        for column in layout.fields
    ]
    described = [column for column in description.columns if column.value is None]
    is_fixed = description.kind == "fixed"
    return RowParser(
        label,
        tuple(plans),
        tuple((planned(column, types[column.name], description), text) for column, text in layout.constants),
        layout.order,
        delimiter=description.delimiter,
        quote="" if is_fixed else description.quote,
        comment=description.comment,
        header_line=rows.header_line,
        widths=tuple(column.width or 0 for column in described[: len(plans)]) if is_fixed else None,
    )


def _frames(
    parser: RowParser,
    pieces: Iterator[TextPiece],
    rows: TextRows,
    request: Request,
    bad: BadRows,
    *,
    description: SourceDescription,
    date: dt.date | None,
) -> Iterator[pl.DataFrame]:
    count = 0
    for parsed in map_ordered(parser.parse, pieces, threads=request.threads):
        bad.take(parsed.bad)
        count += parsed.frame.height + len(parsed.bad)
        if parsed.frame.height:
            yield parsed.frame
    if not request.allow_incomplete:
        _check_edges(rows, description, count, date)


def _check_edges(rows: TextRows, description: SourceDescription, count: int, date: dt.date | None) -> None:
    """Compare what the first line and the trailer tell with what was read."""
    for name, wanted in (("first_line", description.first_line), ("trailer", description.trailer)):
        facts = rows.facts.get(name)
        if facts is not None and wanted is not None and wanted.check:
            _check_edge(f"{rows.stream.label}, line {facts.line}", facts, wanted, count, date)


def _check_edge(where: str, facts: EdgeFacts, wanted: EdgeLine, count: int, date: dt.date | None) -> None:
    if facts.row_count is not None and facts.row_count != count:
        reason = f"{where}: {facts.text[:60].strip()!r} counts {facts.row_count} rows, but {count} were read"
        raise SourceError(
            f"{reason}; the file is incomplete, or pass allow_incomplete=True or --allow-incomplete"
        )
    if facts.date is not None and date is not None:
        told = parse_date(facts.date, wanted.date_format, where=where)
        if told != date:
            reason = (
                f"{where}: {facts.text[:60].strip()!r} tells the date {told}, but the trading date is {date}"
            )
            raise SourceError(
                f"{reason}; pass date={str(told)!r} or --date {told}, "
                "or allow_incomplete=True or --allow-incomplete"
            )
