"""How a source is laid out, as plain data: what ``format=`` means once it has been read.

A `SourceDescription` says how the rows of a file are cut into fields, which field becomes which column, how
times, scaled prices and nulls are written, and what the names of the file and of the zip member tell. It
holds no rows and opens no file; `description_file` reads the TOML form.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from colonnade.errors import SourceError
from colonnade.schema import ROLES, ColumnType, zone_info

KINDS: Final = ("delimited", "fixed", "parquet", "arrow")
UNIT_NS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
EPOCHS: Final = ("1970", "midnight")
UNLISTED: Final = ("keep", "drop", "error")
MATCHES: Final = ("names", "order")
AMBIGUOUS: Final = ("error", "earliest", "latest")
_NUMBER_TYPES: Final = {"1970": ColumnType("timestamp", "UTC"), "midnight": ColumnType("time")}
_CLOCK_LAYOUT: Final = re.compile(r"HHMMSS(?:m{3}|u{6}|n{9})?")
_MAX_SCALE: Final = 18


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column: where it comes from and how it is written.

    Attributes
    ----------
    name
        Name in the table.
    source
        Name in the header of the file where it is another one; compared without case, blanks and underscores.
    type
        Column type as text, such as ``"float64"`` or ``"timestamp[UTC]"``; empty lets the values decide.
    unit
        Unit of a time written as a number: s, ms, us or ns. Counted from 1970 it becomes a timestamp in UTC,
        counted from midnight a time of day, unless ``zone`` or ``type`` says otherwise.
    epoch
        What such a number counts from: ``"1970"``, or ``"midnight"`` of the trading date.
    layout
        How a time is written as text: ``"iso"``, ``"HHMMSS"`` with ``mmm``, ``uuuuuu`` or ``nnnnnnnnn`` after
        it (lost leading zeros are put back), or a strptime pattern such as ``"%d.%m.%Y %H:%M:%S%.f"``.
    zone
        Zone of a wall clock time, and of the timestamps that the column gets.
    ambiguous
        Which instant a wall clock time means that occurs twice when clocks are set back.
    scale
        Implied decimals: the stored value is the number in the file divided by ten to this power.
    null
        Texts that mean null; None takes the list of the source.
    strip
        Whether blanks around the text are dropped; None takes the rule of the source.
    width
        Bytes of the field in a fixed-width file.
    drop
        Leave the column out.
    optional
        The column may be missing in older files; it is null then.
    value
        Instead of a field: a constant, with ``{group}`` filled in from the file's or the zip member's name.
    upper
        Turn text into upper case.
    """

    name: str
    source: str | None = None
    type: str = ""
    unit: str | None = None
    epoch: str = "1970"
    layout: str | None = None
    zone: str | None = None
    ambiguous: str = "error"
    scale: int | None = None
    null: tuple[str, ...] | None = None
    strip: bool | None = None
    width: int | None = None
    drop: bool = False
    optional: bool = False
    value: str | None = None
    upper: bool = False

    def __post_init__(self) -> None:
        where = f"column {self.name!r}"
        _one_of(self.epoch, EPOCHS, f"epoch of {where}")
        _one_of(self.ambiguous, AMBIGUOUS, f"ambiguous of {where}")
        if self.unit is not None:
            _one_of(self.unit, tuple(UNIT_NS), f"unit of {where}")
        if self.type:
            ColumnType.parse(self.type)
        if self.zone is not None:
            zone_info(self.zone)
        if self.scale is not None and not 0 <= self.scale <= _MAX_SCALE:
            raise SourceError(f"scale of {where} is {self.scale}; expected 0 to {_MAX_SCALE}")
        if self.scale is not None and self.type not in ("", "float64", "float32"):
            reason = (
                f"{where} has a scale and the type {self.type!r}; expected float64, or leave the scale out"
            )
            raise SourceError(f"{reason} to keep the integers")
        if self.width is not None and self.width < 1:
            raise SourceError(f"width of {where} is {self.width}; expected at least 1")
        if self.unit is not None and self.layout is not None:
            raise SourceError(f"{where} has both unit and layout; unit is for numbers, layout for text")
        self._check_layout(where)

    def _check_layout(self, where: str) -> None:
        if self.layout is None or self.layout == "iso":
            return
        if "%" in self.layout:
            if re.search(r"(?<![.%])%f", self.layout.replace(".%f", "%.f")):
                raise SourceError(
                    f"layout {self.layout!r} of {where}: write %.f for the digits after the point"
                )
            return
        if _CLOCK_LAYOUT.fullmatch(self.layout) is None:
            expected = "'iso', 'HHMMSS' with 'mmm', 'uuuuuu' or 'nnnnnnnnn', or a strptime pattern with '%'"
            raise SourceError(f"can't read layout {self.layout!r} of {where}; expected {expected}")

    @property
    def column_type(self) -> ColumnType | None:
        """The type that the column gets, or None where the values decide."""
        if self.type:
            kind = ColumnType.parse(self.type)
            return ColumnType("timestamp", kind.zone or self.zone) if kind.kind == "timestamp" else kind
        if self.scale is not None:
            return ColumnType("float64")
        if self.value is not None:
            return ColumnType("symbol")
        if self.unit is not None:
            return _NUMBER_TYPES[self.epoch] if self.zone is None else ColumnType("timestamp", self.zone)
        return self._type_of_layout()

    def _type_of_layout(self) -> ColumnType | None:
        layout = self.layout
        if layout is None or (layout == "iso" and self.zone is None):
            return None
        if layout.startswith("HHMMSS") and self.zone is None:
            return ColumnType("time")
        if "%" in layout and not re.search(r"%[HIMSTRXsfp.369]", layout):
            return ColumnType("date")
        if "%" in layout and not re.search(r"%[YyCGgDFcsxvjUWV]", layout):
            return ColumnType("time")
        return ColumnType("timestamp", self.zone)

    @property
    def header_name(self) -> str:
        """The name to look for in a header."""
        return self.name if self.source is None else self.source


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """A first or last line that is no row, and what it tells.

    Attributes
    ----------
    pattern
        Regular expression that the line matches from its start. The group ``rows`` is the number of rows, the
        group ``date`` the trading date.
    date_format
        strptime pattern of the group ``date``.
    check
        Whether rows and date are compared with the rows read and the trading date.
    required
        Whether a file without the line is an error.
    """

    pattern: str
    date_format: str = "%Y%m%d"
    check: bool = True
    required: bool = True

    def __post_init__(self) -> None:
        _compiled(self.pattern, "pattern of a first or last line")


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files that are one source only together.

    Attributes
    ----------
    group
        Group of the file pattern that tells the members apart.
    members
        The values that must all be there.
    """

    group: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableDefaults:
    """Keys that a table gets where the caller names none."""

    part_by: str | None = None
    sort_by: str | None = None
    partition_by: str | None = None
    date: str | None = None
    tz: str | None = None
    day_start: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in self.roles:
            _one_of(role, ROLES, "role")


@dataclass(frozen=True, slots=True)
class SourceDescription:
    r"""How the rows of a source are laid out.

    Attributes
    ----------
    name
        How messages call it.
    kind
        ``delimited``, ``fixed``, ``parquet`` or ``arrow``.
    columns
        The columns, in the order of the file where ``match`` is ``order`` or there is no header.
    header
        Whether the first line (after ``skip_lines``) holds names.
    match
        How columns find their field: by ``names`` of the header, or by ``order``.
    unlisted
        What becomes of header names that no column describes: ``keep`` (the values decide on the type),
        ``drop``, or ``error``.
    delimiter, quote, comment, skip_lines
        How a delimited file is cut. An empty quote switches quoting off; lines that begin with ``comment``
        are skipped.
    null
        Texts that mean null in every column, beside the empty field of a text, which always does.
    strip
        Whether blanks around text are dropped: no in delimited files, yes in fixed-width ones.
    file
        Regular expression searched in the path (``/`` between folders); its groups fill ``{group}`` in
        constants.
    member
        Regular expression searched in the names of zip members; those without a match are left out.
    date_format
        strptime pattern of the group that holds the trading date.
    first_line, trailer
        Lines that are no rows.
    file_set
        Files that belong together.
    table
        Default keys.
    tables
        Table names that this variant stands for.
    variants
        Descriptions of other tables under the same name; then ``columns`` here may be empty.
    """

    name: str
    kind: str = "delimited"
    columns: tuple[ColumnDescription, ...] = ()
    header: bool = True
    match: str = "names"
    unlisted: str = "keep"
    delimiter: str = ","
    quote: str = '"'
    comment: str | None = None
    skip_lines: int = 0
    null: tuple[str, ...] = ()
    strip: bool | None = None
    file: str | None = None
    member: str | None = None
    date_format: str = "%Y%m%d"
    first_line: EdgeLine | None = None
    trailer: EdgeLine | None = None
    file_set: FileSet | None = None
    table: TableDefaults = field(default_factory=TableDefaults)
    tables: tuple[str, ...] = ()
    variants: tuple[SourceDescription, ...] = ()

    def __post_init__(self) -> None:
        where = f"description {self.name!r}"
        _one_of(self.kind, KINDS, f"kind of {where}")
        _one_of(self.match, MATCHES, f"match of {where}")
        _one_of(self.unlisted, UNLISTED, f"unlisted of {where}")
        for label, text, empty in (("delimiter", self.delimiter, False), ("quote", self.quote, True)):
            if len(text.encode()) != 1 and not (empty and not text):
                raise SourceError(f"{label} of {where} is {text!r}; expected one byte")
        for pattern, label in ((self.file, "file pattern"), (self.member, "member pattern")):
            if pattern is not None:
                _compiled(pattern, f"{label} of {where}")
        self._check_columns(where)

    def _check_columns(self, where: str) -> None:
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SourceError(f"{where} names column {twice[0]!r} twice")
        if self.variants:
            return
        if self.kind == "fixed":
            missing = [c.name for c in self.columns if c.width is None and c.value is None]
            if missing or not self.columns:
                named = ", ".join(map(repr, missing)) or "there are no columns"
                raise SourceError(f"{where} is fixed width, and each column needs a width: {named}")
        if self.kind == "delimited" and not self.header and not self.columns:
            raise SourceError(f"{where} has no header and lists no columns; give columns in the file's order")

    @property
    def strips(self) -> bool:
        """Whether blanks around text are dropped unless a column says otherwise."""
        return self.kind == "fixed" if self.strip is None else self.strip

    def select(
        self, path: str, table: str | None = None, header: Sequence[str] | None = None
    ) -> SourceDescription:
        """Choose the variant for a file: by its path, else by its header, else by the table's name.

        Raises
        ------
        SourceError
            If no variant fits; the message lists them.
        """
        if not self.variants:
            return self
        by_path = [v for v in self.variants if v.file and re.search(v.file, path.replace("\\", "/"))]
        by_table = [v for v in by_path or self.variants if table is not None and table in v.tables]
        by_header = [v for v in self.variants if header and v.fits_header(header)]
        for found in (by_table if by_path else [], by_path, by_header, by_table):
            if found:
                return found[0]
        listed = ", ".join(v.name for v in self.variants)
        reason = f"{path}: no variant of {self.name!r} fits the file name or its header, nor table {table!r}"
        raise SourceError(f"{reason}; there are {listed}")

    def fits_header(self, header: Sequence[str]) -> bool:
        """Whether a header holds every column that must be there."""
        names = {folded(name) for name in header}
        wanted = [c for c in self.columns if c.value is None and not c.optional]
        return self.header and bool(wanted) and all(folded(c.header_name) in names for c in wanted)

    def groups_of(self, path: str, member: str | None = None) -> dict[str, str]:
        """Give what the names of the file and of the zip member tell, by group."""
        groups: dict[str, str] = {}
        for pattern, text in ((self.file, path.replace("\\", "/")), (self.member, member)):
            found = re.search(pattern, text) if pattern and text else None
            if found:
                groups |= {name: value for name, value in found.groupdict().items() if value is not None}
        return groups

    def fill(self, template: str, groups: Mapping[str, str], *, path: str) -> str:
        """Fill ``{group}`` in a constant; raise `SourceError` where the file's name doesn't tell it."""
        try:
            return template.format_map(groups)
        except (KeyError, ValueError, IndexError):
            reason = f"{path}: {template!r} needs a group that the file name doesn't tell"
            told = ", ".join(sorted(groups)) or "nothing"
            raise SourceError(f"{reason} (it tells {told}); file pattern is {self.file!r}") from None

    def date_of(self, groups: Mapping[str, str], *, path: str) -> dt.date | None:
        """Give the trading date that the file's name tells, or None."""
        text = groups.get("date")
        return None if text is None else parse_date(text, self.date_format, where=path)


def folded(name: str) -> str:
    """Give a name as headers are compared: without case, blanks and underscores."""
    return name.replace("_", "").replace(" ", "").strip().casefold()


def parse_date(text: str, pattern: str, *, where: str) -> dt.date:
    """Read a date by a strptime pattern; raise `SourceError` that says where it stood."""
    try:
        return dt.datetime.strptime(text, pattern).date()  # noqa: DTZ007 - a calendar date has no zone
    except ValueError:
        raise SourceError(f"{where}: can't read date {text!r} as {pattern!r}") from None


def field_names(
    kind: type[ColumnDescription | SourceDescription | EdgeLine | FileSet | TableDefaults],
) -> list[str]:
    """Give the names that a part of a description may hold."""
    return [entry.name for entry in fields(kind)]


def _one_of(value: str, known: Sequence[str], label: str) -> None:
    if value not in known:
        raise SourceError(f"{label} is {value!r}; expected one of {', '.join(map(repr, known))}")


def _compiled(pattern: str, label: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise SourceError(f"{label} {pattern!r} is no regular expression: {error}") from None
