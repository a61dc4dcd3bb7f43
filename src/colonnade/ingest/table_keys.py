"""Keys, dates and roles of a table: decided at the first ingest, checked at later ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from colonnade.errors import ColumnTypeError, SchemaError
from colonnade.ingest.dates import WAYS_TO_A_DATE, given_date, parse_day_start
from colonnade.ingest.description import TableDefaults
from colonnade.ingest.roles import complete_roles, guess_roles
from colonnade.schema import ColumnType, Schema, zone_info

_DATED = ("timestamp", "date")


@dataclass(frozen=True, slots=True)
class Keys:
    """What the caller says of the keys of a table; None leaves it to the description, or to the columns."""

    part_by: str | None = None
    sort_by: str | None = None
    partition_by: str = "date"
    date: object = None
    tz: str | None = None
    day_start: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)

    @property
    def given_date(self) -> dt.date | None:
        """The date of all rows, where the caller gives one."""
        return None if self.date is None else given_date(self.date)

    @property
    def date_column(self) -> str | None:
        """The column that the caller names for the date."""
        return None if self.date is None or self.given_date is not None else str(self.date)

    def completed(self, defaults: TableDefaults) -> Keys:
        """Give these keys, and those of a description where nothing is said."""
        return Keys(
            part_by=self.part_by or defaults.part_by,
            sort_by=self.sort_by or defaults.sort_by,
            partition_by=self.partition_by
            if self.partition_by != "date"
            else defaults.partition_by or "date",
            date=self.date if self.date is not None else defaults.date,
            tz=self.tz or defaults.tz,
            day_start=self.day_start or defaults.day_start,
            roles={**defaults.roles, **self.roles},
        )


def new_schema(
    columns: Mapping[str, ColumnType], keys: Keys, *, has_date: bool, may_guess: bool, where: str
) -> Schema:
    """Decide on the schema of a new table.

    Parameters
    ----------
    columns
        Names and types of the source.
    keys
        What caller and description say.
    has_date
        Whether the trading date is given or told by the names of the files.
    may_guess
        Whether part key and sort key may be guessed from the names of the columns.
    where
        How messages call the source.

    Raises
    ------
    SchemaError
        If a key isn't there or can't be one, or nothing tells the trading date.
    """
    part_by, sort_by = keys.part_by, keys.sort_by
    if may_guess and part_by is None and sort_by is None:
        guessed = guess_roles(columns)
        part_by = guessed.get("symbol")
        time = guessed.get("time")
        sort_by = time if time is not None and (columns[time].is_temporal or part_by) else None
    for name in (part_by, sort_by, keys.date_column, *keys.roles.values()):
        if name is not None:
            Schema(columns).column(name, where=where)
    if keys.tz is not None:
        zone_info(keys.tz)
    date_column = _date_column(columns, keys, sort_by, has_date=has_date, where=where)
    if keys.partition_by in columns and columns[keys.partition_by].kind != "date":
        kind = columns[keys.partition_by]
        reason = (
            f"column {keys.partition_by!r} of {where} has the name of the partition column but type {kind}"
        )
        raise SchemaError(
            f"{reason}; pass partition_by='NAME' or --partition-by NAME, or rename it in a description"
        )
    if keys.partition_by in columns and date_column != keys.partition_by:
        told = "is given" if date_column is None else f"comes from column {date_column!r}"
        reason = (
            f"column {keys.partition_by!r} of {where} has the name of the partition column, whose date {told}"
        )
        raise SchemaError(
            f"{reason}; pass partition_by='NAME' or --partition-by NAME, or rename it in a description"
        )
    return Schema(
        columns=dict(columns),
        part_by=part_by,
        sort_by=sort_by,
        partition_by=keys.partition_by,
        date_column=date_column,
        zone=keys.tz or (columns[date_column].zone if date_column else None),
        day_start_ns=parse_day_start(keys.day_start),
        roles=complete_roles(columns, part_by=part_by, sort_by=sort_by, said=keys.roles),
    )


def _date_column(
    columns: Mapping[str, ColumnType], keys: Keys, sort_by: str | None, *, has_date: bool, where: str
) -> str | None:
    named = keys.date_column
    if named is not None:
        if columns[named].kind not in _DATED:
            raise ColumnTypeError(
                f"column {named!r} has type {columns[named]}, which tells no date; {WAYS_TO_A_DATE}"
            )
        return named
    if has_date:
        return None
    candidates = [keys.partition_by, sort_by, guess_roles(columns).get("time")]
    for name in candidates:
        if name is not None and name in columns and columns[name].kind in _DATED:
            return name
    dated = [name for name, kind in columns.items() if kind.kind in _DATED]
    if len(dated) == 1:
        return dated[0]
    found = f"columns {', '.join(map(repr, dated))} could" if dated else "no column does"
    time = sort_by or guess_roles(columns).get("time")
    if time is not None and columns[time].kind.startswith(("int", "uint")):
        told = f"a description or columns={{{time!r}: {{'unit': UNIT}}}}"
        found += f"; column {time!r} holds numbers, whose unit (s, ms, us or ns) {told} tells"
    raise SchemaError(f"{where}: nothing tells the trading date of the rows: {found}; {WAYS_TO_A_DATE}")


def check_keys(schema: Schema, keys: Keys, *, table: str) -> None:
    """Raise `SchemaError` where the caller names other keys than the table has."""
    said = {"part_by": keys.part_by, "sort_by": keys.sort_by, "tz": keys.tz}
    have = {"part_by": schema.part_by, "sort_by": schema.sort_by, "tz": schema.zone}
    for name, value in said.items():
        if value is not None and value != have[name]:
            if name != "tz" and value not in schema.columns:
                schema.column(value, where=f"table {table!r}")
            made = f"without {name}" if have[name] is None else f"with {name}={have[name]!r}"
            raise SchemaError(f"table {table!r} was made {made}, not with {value!r}; leave it out")
    if keys.partition_by not in ("date", schema.partition_by):
        raise SchemaError(
            f"table {table!r} has partition_by={schema.partition_by!r}, not {keys.partition_by!r}"
        )
    if keys.day_start is not None and parse_day_start(keys.day_start) != schema.day_start_ns:
        raise SchemaError(f"table {table!r} has another day_start than {keys.day_start!r}; leave it out")
    if keys.date_column is not None and keys.date_column != schema.date_column:
        told = "what each ingest gives" if schema.date_column is None else f"column {schema.date_column!r}"
        raise SchemaError(
            f"table {table!r} takes its dates from {told}, not from column {keys.date_column!r}"
        )
