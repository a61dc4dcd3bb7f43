"""Pieces of text to canonical frames: a fast path, and a slow one that finds what is wrong where.

The fast path reads a piece with Polars' CSV reader straight into the types. Whatever it can't vouch for (a
field too many or too few, a value that doesn't fit, NUL bytes, a comment, a repeated header) sends the piece
down the slow path, which cuts it into rows and checks each field.
"""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from colonnade.ingest.bad_rows import BadRow
from colonnade.ingest.convert import FieldPlan, cleaned, convert
from colonnade.ingest.fixed import cut_fields
from colonnade.ingest.text import TextPiece
from colonnade.store.column_values import canonical_type

_NEWLINE: Final = 10
NO_KEY: Final = "is empty, but sort key and date must have a value"
_HINT: Final = "; give the type in a description or with types={column: type}"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The rows of a piece, and those that don't fit."""

    frame: pl.DataFrame
    bad: tuple[BadRow, ...] = ()


@dataclass(frozen=True, slots=True)
class RowParser:
    """Reads the rows of one file.

    Attributes
    ----------
    label
        How messages name the file.
    plans
        For each field of a row what it becomes, or None where it is dropped.
    constants
        Columns that have one value in the whole file.
    order
        Names of the columns of a frame.
    delimiter, quote
        How rows are cut; an empty quote switches quoting off.
    comment
        Lines that begin so are skipped.
    header_line
        Lines equal to it are skipped: files are concatenated with their headers.
    widths
        Widths of the fields of a fixed-width file; None for a delimited one.
    date
        Trading date, where the whole file has one.
    inferred
        Columns whose type nobody gave.
    required
        Columns that must have a value in every row.
    """

    label: str
    plans: tuple[FieldPlan | None, ...]
    constants: tuple[tuple[FieldPlan, str | None], ...]
    order: tuple[str, ...]
    delimiter: str = ","
    quote: str = '"'
    comment: str | None = None
    header_line: bytes = b""
    widths: tuple[int, ...] | None = None
    date: dt.date | None = None
    inferred: frozenset[str] = field(default_factory=frozenset)
    required: AbstractSet[str] = field(default_factory=frozenset)

    def parse(self, piece: TextPiece) -> Parsed:
        """Give the rows of a piece as a canonical frame, and the rows that don't fit."""
        frame = self._fast(piece.text)
        return self._slow(piece) if frame is None else Parsed(frame)

    def text_fields(self, piece: TextPiece) -> pl.DataFrame:
        """Give the fields of a piece as cleaned text, without the rows that can't be cut into fields.

        The plans are those of text columns.
        """
        frame = self._fast(piece.text)
        if frame is not None:
            return frame
        raw = self._read_text(self._rows(piece))[0]
        plans = zip(raw.columns, self.plans, strict=True)
        columns = [cleaned(raw[name], plan).alias(plan.name) for name, plan in plans if plan is not None]
        return pl.DataFrame(columns)

    def _fast(self, text: bytes) -> pl.DataFrame | None:
        if b"\0" in text or self._has_other_lines(text):
            return None
        delimiter, quote = self.delimiter.encode(), self.quote.encode()
        if self.widths is not None:
            cut = cut_fields(text, self.widths)
            if cut is None:
                return None
            text, delimiter, quote = cut.text, cut.delimiter, b""
        wanted = [position for position, plan in enumerate(self.plans) if plan is not None]
        is_fixed = self.widths is not None
        types = [pl.String() if plan is None or is_fixed else plan.fast_type for plan in self.plans]
        try:
            raw = pl.read_csv(
                text,
                has_header=False,
                schema={str(position): kind for position, kind in enumerate(types)},
                columns=wanted,
                separator=delimiter.decode(),
                quote_char=quote.decode() or None,
                null_values={
                    str(position): plan.null[0]
                    for position, plan in enumerate(self.plans)
                    if plan is not None and len(plan.null) == 1 and types[position] != pl.String
                }
                or None,
                raise_if_empty=False,
            )
        except (pl.exceptions.PolarsError, ValueError):
            return None
        if not self._is_cut_well(text, raw.height, delimiter, quote):
            return None
        return self._converted(raw, [self.plans[position] for position in wanted])

    def _has_other_lines(self, text: bytes) -> bool:
        starts = [self.comment.encode()] if self.comment else []
        if self.header_line:
            starts += [self.header_line + end for end in (b"\n", b"\r\n")]
        return any(text.startswith(start) or b"\n" + start in text for start in starts) or (
            self.header_line != b"" and text.endswith(b"\n" + self.header_line)
        )

    def _is_cut_well(self, text: bytes, rows: int, delimiter: bytes, quote: bytes) -> bool:
        """Whether every row has as many fields as it must; the reader fills short rows silently."""
        if quote and quote in text:
            found, lines = _outside_quotes(text, quote, delimiter)
        else:
            found, lines = (
                text.count(delimiter),
                text.count(b"\n") + (not text.endswith(b"\n") and text != b""),
            )
        return found == rows * (len(self.plans) - 1) and lines == rows

    def _converted(self, raw: pl.DataFrame, plans: Sequence[FieldPlan | None]) -> pl.DataFrame | None:
        columns = {}
        for values, plan in zip(raw.get_columns(), plans, strict=True):
            if plan is None:
                continue
            clean = cleaned(values, plan)
            column = convert(clean, plan, date=self.date)
            if column.null_count() != clean.null_count() or _has_unwritten_infinity(clean, column):
                return None
            if plan.name in self.required and column.null_count():
                return None
            columns[plan.name] = column
        return self._complete(columns, raw.height)

    def _complete(self, columns: dict[str, pl.Series], height: int) -> pl.DataFrame:
        for plan, text in self.constants:
            value = pl.Series(plan.name, [text], dtype=pl.String)
            columns[plan.name] = convert(value, plan, date=self.date).new_from_index(0, height)
        return pl.DataFrame([columns[name] for name in self.order])

    def _slow(self, piece: TextPiece) -> Parsed:
        rows = self._rows(piece)
        bad = list(rows.bad)
        raw, lines, unreadable = self._read_text(rows)
        bad += unreadable
        columns: dict[str, pl.Series] = {}
        failed = np.zeros(raw.height, dtype=np.bool_)
        for name, plan in zip(raw.columns, self.plans, strict=True):
            if plan is None:
                continue
            clean = cleaned(raw[name], plan)
            column = convert(clean, plan, date=self.date)
            is_key = plan.name in self.required
            wrong = (column.is_null() & (clean.is_not_null() | is_key)).to_numpy() & ~failed
            bad += [
                self._bad_value(int(lines[position]), plan, clean[position], rows)
                for position in np.flatnonzero(wrong).tolist()
            ]
            failed |= wrong
            columns[plan.name] = column
        frame = self._complete(columns, raw.height)
        if failed.any():
            frame = frame.filter(pl.Series(~failed))
        return Parsed(frame, tuple(sorted(bad, key=lambda row: row.line)))

    def _bad_value(self, line: int, plan: FieldPlan, found: str | None, rows: _Rows) -> BadRow:
        if found is None:
            return BadRow(self.label, line, plan.name, NO_KEY, "", rows.shown(line))
        hint = _HINT if plan.name in self.inferred else ""
        reason = f"can't be read as {plan.type}{hint}"
        return BadRow(self.label, line, plan.name, reason, found, rows.shown(line))

    def _rows(self, piece: TextPiece) -> _Rows:
        """Cut a piece into rows; set aside those that can't be."""
        lines, numbers = _split(piece, self.quote.encode() if self.widths is None else b"")
        kept: list[bytes] = []
        kept_numbers: list[int] = []
        bad: list[BadRow] = []
        for line, number in zip(lines, numbers, strict=True):
            reason = self._fault(line)
            if reason is None:
                kept.append(line)
                kept_numbers.append(number)
            elif reason:
                text = line.decode(errors="replace")
                bad.append(BadRow(self.label, number, None, reason, text, text))
        return _Rows(kept, np.array(kept_numbers, dtype=np.int64), tuple(bad))

    def _fault(self, line: bytes) -> str | None:
        """Tell what is wrong with a line; None if nothing is, empty if the line is no row."""
        is_blank = not line and (len(self.plans) > 1 or self.widths is not None)
        is_comment = self.comment is not None and line.startswith(self.comment.encode())
        if is_blank or is_comment or (self.header_line and line == self.header_line):
            return ""
        if b"\0" in line:
            return "the line holds a NUL byte"
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return f"byte {error.start + 1} of the line isn't UTF-8"
        return self._wrong_count(line)

    def _wrong_count(self, line: bytes) -> str | None:
        if self.widths is not None:
            expected = sum(self.widths)
            return None if len(line) == expected else f"{len(line)} bytes instead of {expected}"
        if self.quote and self.quote.encode() in line:
            lines = line.decode().splitlines(keepends=True)
            try:
                reader = csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, strict=True)
                found = len(next(reader))
            except csv.Error as error:
                return f"the quotes don't pair ({error})"
        else:
            found = line.count(self.delimiter.encode()) + 1
        return None if found == len(self.plans) else f"{found} fields instead of {len(self.plans)}"

    def _read_text(self, rows: _Rows) -> tuple[pl.DataFrame, NDArray[np.int64], list[BadRow]]:
        """Read well-cut rows as text fields; rows that the reader refuses are found by halving."""
        frame = self._try_text(rows.lines)
        if frame is not None:
            return frame, rows.numbers, []
        if len(rows.lines) == 1:
            text = rows.lines[0].decode()
            reason = "the quotes of the line can't be read"
            bad = BadRow(self.label, int(rows.numbers[0]), None, reason, text, text)
            return self._no_text(), rows.numbers[:0], [bad]
        half = len(rows.lines) // 2
        parts = [
            self._read_text(_Rows(rows.lines[cut], rows.numbers[cut], ()))
            for cut in (slice(None, half), slice(half, None))
        ]
        numbers = np.concatenate([part[1] for part in parts])
        return pl.concat([part[0] for part in parts]), numbers, parts[0][2] + parts[1][2]

    def _no_text(self) -> pl.DataFrame:
        return pl.DataFrame(schema={str(position): pl.String() for position in range(len(self.plans))})

    def _try_text(self, lines: Sequence[bytes]) -> pl.DataFrame | None:
        if not lines:
            return self._no_text()
        text = b"\n".join(lines) + b"\n"
        delimiter, quote = self.delimiter, self.quote or None
        if self.widths is not None:
            cut = cut_fields(text, self.widths)
            if cut is None:
                return None
            text, delimiter, quote = cut.text, cut.delimiter.decode(), None
        try:
            frame = pl.read_csv(
                text,
                has_header=False,
                schema=self._no_text().schema,
                separator=delimiter,
                quote_char=quote,
            )
        except (pl.exceptions.PolarsError, ValueError):
            return None
        return frame if frame.height == len(lines) else None


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a piece that can be cut into fields, their line numbers, and those that can't."""

    lines: Sequence[bytes]
    numbers: NDArray[np.int64]
    bad: tuple[BadRow, ...]

    def shown(self, number: int) -> str:
        """Give the text of a row by its line number."""
        return self.lines[int(np.searchsorted(self.numbers, number))].decode(errors="replace")


def _split(piece: TextPiece, quote: bytes) -> tuple[list[bytes], list[int]]:
    """Cut a piece into rows without their ends, and give the number of the line where each begins."""
    text = piece.text
    if not quote or quote not in text:
        lines = [line.removesuffix(b"\r") for line in text.removesuffix(b"\n").split(b"\n")] if text else []
        return lines, list(range(piece.first_line, piece.first_line + len(lines)))
    values = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(values == _NEWLINE)
    quotes_before = np.searchsorted(np.flatnonzero(values == quote[0]), ends)
    is_end = quotes_before % 2 == 0
    cuts = ends[is_end].tolist()
    if not cuts or cuts[-1] != len(text) - 1:
        cuts.append(len(text))
    starts = [0, *(cut + 1 for cut in cuts[:-1])]
    numbers = (np.searchsorted(ends, starts) + piece.first_line).tolist()
    return [text[start:cut].removesuffix(b"\r") for start, cut in zip(starts, cuts, strict=True)], numbers


def _outside_quotes(text: bytes, quote: bytes, delimiter: bytes) -> tuple[int, int]:
    """Count the delimiters and the lines that lie outside quotes."""
    values = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(values == quote[0])
    counts = [
        int((np.searchsorted(quotes, np.flatnonzero(values == byte)) % 2 == 0).sum())
        for byte in (delimiter[0], _NEWLINE)
    ]
    return counts[0], counts[1] + (not text.endswith(b"\n") and text != b"")


def _has_unwritten_infinity(raw: pl.Series, column: pl.Series) -> bool:
    """Whether a number was too large for a float; the reader turns it into infinity."""
    return raw.dtype.is_float() and column.dtype.is_float() and bool(column.is_infinite().any())


def empty_frame(plans: Sequence[FieldPlan]) -> pl.DataFrame:
    """Give a canonical frame without rows."""
    return pl.DataFrame(schema={plan.name: canonical_type(plan.type) for plan in plans})
