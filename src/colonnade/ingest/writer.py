"""Sources to a committed version: read, date, sort, choose compressions, write parts, commit."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

import polars as pl

from colonnade.codec.choose import DEFAULT_GOAL, CompressionArgument, choose_together, requested
from colonnade.codec.compression import Compression
from colonnade.errors import (
    AlreadyExistsError,
    AlreadyIngestedError,
    ColonnadeError,
    ConflictError,
    NotFoundError,
    SchemaError,
    SourceError,
)
from colonnade.ingest.bad_rows import BadRows
from colonnade.ingest.dates import WAYS_TO_A_DATE, DateRule
from colonnade.ingest.description import SourceDescription
from colonnade.ingest.description_file import load_description
from colonnade.ingest.drift import NEW_COLUMNS, completed, evolved, warn_missing
from colonnade.ingest.memory import default_memory_bytes
from colonnade.ingest.request import OpenedRows, Request
from colonnade.ingest.sort import SortedPartition, Sorter
from colonnade.ingest.source import Source, check_file_sets, sources_of
from colonnade.ingest.streams import Watch
from colonnade.ingest.table_keys import Keys, check_keys, new_schema
from colonnade.ingest.unique import UniqueRows, check_key
from colonnade.maintenance.compact import merge_small
from colonnade.schema import Schema, days_to_date
from colonnade.store.atomic import is_durable
from colonnade.store.database import DatabaseStore
from colonnade.store.entries import PartEntry, SourceEntry
from colonnade.store.filenames import temporary
from colonnade.store.part import write_part
from colonnade.store.table_source import open_source
from colonnade.store.version import Addition, Edits, TableStore
from colonnade.store.version_file import Version
from colonnade.threads import map_ordered

MODES: Final = (None, "append", "replace")
_MIN_PIECE_BYTES, _MAX_PIECE_BYTES = 1 << 16, 16 << 20
_PIECE_SHARE: Final = 32
_FRAME_SHARE: Final = 4  # of rows that the caller holds: as many as are gathered before they are sorted
_SMALL_ROWS: Final = 1 << 16  # rows of a partition that aren't worth threads of their own

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did.

    Attributes
    ----------
    table
        Name of the table.
    rows
        Rows that were added.
    bad_rows
        Rows that didn't fit and were written to the file of bad rows.
    known_rows
        Rows that were left out, because a row of their key was there.
    partitions
        Trading dates that got rows, ascending.
    bytes_in
        Bytes of the files that were read.
    plain_bytes
        Bytes of the values as they lie in memory.
    stored_bytes
        Bytes of the column files.
    seconds
        Time it took.
    version
        The version that it made; the current one where there was nothing to add.
    """

    table: str
    rows: int
    bad_rows: int
    known_rows: int
    partitions: tuple[dt.date, ...]
    bytes_in: int
    plain_bytes: int
    stored_bytes: int
    seconds: float
    version: int


def ingest(
    database: DatabaseStore,
    table: str,
    sources: object,
    *,
    part_by: str | None = None,
    sort_by: str | None = None,
    partition_by: str = "date",
    date: object = None,
    tz: str | None = None,
    day_start: str | None = None,
    format: str | Path | SourceDescription | None = None,  # noqa: A002 - the word of the public surface
    compression: CompressionArgument | None = None,
    goal: str | None = None,
    mode: str | None = None,
    key: Sequence[str] | None = None,
    durability: str = "safe",
    roles: Mapping[str, str] | None = None,
    bad_rows: str | Path | None = None,
    again: bool = False,
    allow_incomplete: bool = False,
    types: Mapping[str, str] | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    new_columns: Literal["add", "ignore"] | None = None,
    widen: bool = False,
    memory_bytes: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> IngestReport:
    """Read sources, sort their rows, and commit them to a table as one version.

    Parameters
    ----------
    database
        The database; a table that isn't there is made.
    table
        Name of the table.
    sources
        A path, a pattern, a Polars frame, an object that hands out Arrow, or a list of them.
    part_by, sort_by, partition_by
        Keys of a new table. Without any of them, and without a description, they are guessed from the names
        of the columns. Later ingests take the table's.
    date
        Trading date of all rows, or the name of the column that tells it.
    tz, day_start
        Zone in which trading dates are meant, and the time of day at which they begin, such as ``"18:00"``.
    format
        How the source is laid out: a shipped name, or the path of a description.
    compression, goal
        Compression of the columns; ``auto`` chooses by a sample, towards the goal.
    mode
        None refuses dates that hold rows; ``append`` adds to them, ``replace`` takes their place.
    key
        Columns that together tell the rows of a date apart. A row is left out where one of the same key came
        before it, or is stored. None keeps every row, equal ones too.
    durability
        ``"safe"``: the rows are there after a power cut, once this returns. ``"fast"``: they are there when
        the program dies or is killed, but after a power cut those of the last half minute may be missing or
        damaged, which checksums tell.
    roles
        Role to column, where names don't tell.
    bad_rows
        File for rows that don't fit; without it the first one is an error.
    again
        Take a source that was ingested before.
    allow_incomplete
        Take files whose own row count, last line or set says that something is missing.
    types, columns
        Types, or more of a description, of single columns.
    new_columns
        What becomes of columns that the table doesn't have: None refuses them, ``add`` adds them to the
        table, null in the rows that are there, ``ignore`` leaves them out.
    widen
        Whether a column of the table gets the type of the source where that is wider, as ``int32`` than
        ``int16``; stored rows stay as they are. Without it values that don't fit are refused.
    memory_bytes
        Memory to stay within; a quarter of the machine's by default. More rows are sorted on disk.
    threads
        Number of threads; see `threads.default_threads`.
    progress
        Called with the bytes read so far and the bytes in all.

    Warns
    -----
    MissingColumnWarning
        Once, where sources lack columns of the table; their rows get null there.

    Raises
    ------
    SourceError
        If a source, or its description, can't be read; `RowError` names the line.
    SchemaError
        If the rows don't fit the table.
    AlreadyExistsError
        If dates hold rows and no mode is given.
    ConflictError
        If rows of a ``key`` are appended while somebody else changes the table.
    """
    started = time.perf_counter()
    if mode not in MODES:
        raise SchemaError(f"unknown mode {mode!r}; expected 'append' or 'replace', or none")
    if new_columns not in NEW_COLUMNS:
        raise SchemaError(f"unknown new_columns {new_columns!r}; expected 'add' or 'ignore', or none")
    store = database.table(table, durable=database.durable and is_durable(durability))
    base = _current(store)
    keys = Keys(part_by, sort_by, partition_by, date, tz, day_start, dict(roles or {}))
    memory = memory_bytes or default_memory_bytes()
    request = Request(
        table=table,
        description=None if format is None else load_description(format),
        overrides=_overrides(types, columns),
        known={} if base is None else dict(base.schema.columns),
        symbols=frozenset() if part_by is None else frozenset([part_by]),
        date=keys.given_date,
        zone=tz if base is None else base.schema.zone,
        new_columns=new_columns,
        widen=widen,
        allow_incomplete=allow_incomplete,
        threads=threads,
        piece_bytes=min(max(memory // _PIECE_SHARE, _MIN_PIECE_BYTES), _MAX_PIECE_BYTES),
        frame_bytes=memory // _FRAME_SHARE,
    )
    found = sources_of(sources)
    check_file_sets(found, request)
    settings = _CompressionSettings(compression, goal, base)
    stored = open_source(store.path, base.number) if base is not None and mode == "append" else None
    unique = None if key is None else UniqueRows(key, stored)
    with (
        _place_named(store),
        store.writing(),
        BadRows(bad_rows) as bad,
        _Rows(store, base, keys, request, mode, again=again) as rows,
    ):
        rows.read(found, bad, memory, _watch(found, progress))
        warn_missing(request)
        if unique is not None and rows.schema is not None:
            check_key(unique.key, rows.schema, where=f"table {table!r}")
        bad.finish()  # before the commit: a row is in the table or in the file
        entries = tuple(entry for source in found if (entry := source.entry()) is not None)
        version, additions = _write(
            store,
            base,
            rows,
            mode=mode,
            unique=unique,
            entries=entries,
            settings=settings,
            again=again,
            threads=threads,
        )
    if mode == "append":
        _merge_small(store, version, additions, threads=threads)
    parts = [part for addition in additions.values() for part in addition.parts]
    return IngestReport(
        table=table,
        rows=sum(part.row_count for part in parts),
        bad_rows=bad.count,
        known_rows=0 if unique is None else unique.left_out,
        partitions=tuple(days_to_date(days) for days in sorted(additions)),
        bytes_in=sum(source.byte_count for source in found),
        plain_bytes=sum(column.plain_bytes for part in parts for column in part.columns.values()),
        stored_bytes=sum(column.stored_bytes for part in parts for column in part.columns.values()),
        seconds=time.perf_counter() - started,
        version=version.number,
    )


@contextlib.contextmanager
def _place_named(store: TableStore) -> Iterator[None]:
    """Name the table's folder where the system refuses a write without saying of what, as on a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(store.path)) from error


class _Rows:
    """The rows of all sources on their way to partitions; decides on the schema at the first source."""

    def __init__(
        self,
        store: TableStore,
        base: Version | None,
        keys: Keys,
        request: Request,
        mode: str | None,
        *,
        again: bool,
    ) -> None:
        self.schema = None if base is None else base.schema
        self.sorter: Sorter | None = None
        self.label = ""  # of the source that was opened last
        self._store = store
        self._base = base
        self._keys = keys
        self._request = request
        self._refuses_dates = mode is None
        self._again = again
        self._known: dict[tuple[int, int], str] = {}  # size and hash of what was read, and its name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.sorter is not None:
            self.sorter.close()

    def read(self, sources: Sequence[Source], bad: BadRows, memory_bytes: int, watch: Watch) -> None:
        """Read all sources."""
        if self._base is not None:
            check_keys(self._base.schema, self._keys, table=self._store.name)
            self._note_keys(self._base.schema)
        if self._request.widen or self._request.new_columns == "add":
            self._survey(sources, bad)
        for source in sources:
            rows_before = 0 if self.sorter is None else self.sorter.row_count
            for opened in source.open(self._request, bad, watch):
                self.label = opened.label
                schema = self._schema_with(opened)
                rule = self._rule(schema, opened)
                if self.sorter is None:
                    self.sorter = Sorter(schema, temporary(self._store.path / "sort"), memory_bytes)
                for frame in opened.frames:
                    ordered = completed(frame, schema)
                    days = rule.days(ordered)
                    self._check_dates(days)
                    self.sorter.add(ordered, days)
            if self.sorter is not None and self.sorter.row_count > rows_before:
                self._check_new(source.entry())

    def _check_new(self, entry: SourceEntry | None) -> None:
        """Refuse a source with rows whose content was read before in this ingest."""
        if entry is None or self._again:
            return
        key = (entry.byte_count, entry.content_hash)
        if key in self._known:
            reason = f"source {entry.name!r} holds the same as {self._known[key]!r}, which was read before it"
            raise AlreadyIngestedError(f"{reason}; pass again=True or --again to add its rows once more")
        self._known[key] = entry.name

    def _schema_with(self, opened: OpenedRows) -> Schema:
        """Give the schema; the first source of a new table decides on it."""
        if self.schema is None:
            self.schema = new_schema(
                opened.columns,
                self._keys.completed(opened.description.table),
                has_date=opened.date is not None,
                may_guess=self._request.description is None,
                where=opened.label,
            )
            self._request.known.update(self.schema.columns)
            self._note_keys(self.schema)
        return self.schema

    def _note_keys(self, schema: Schema) -> None:
        """Tell the readers which columns every source must have, and which every row."""
        dated = [] if self._request.date is not None else [schema.date_column]
        self._request.required.update(name for name in (schema.sort_by, *dated) if name is not None)
        keys = {schema.part_by: "part_by", schema.sort_by: "sort_by"}
        keys |= dict.fromkeys(dated, "column of the trading date")
        self._request.placing.update({name: key for name, key in keys.items() if name is not None})

    def _survey(self, sources: Sequence[Source], bad: BadRows) -> None:
        """Look at the columns of all sources, so that every row is read with the types of the whole."""
        for source in sources:
            for opened in source.columns(self._request, bad):
                self.schema = evolved(self._schema_with(opened), opened.columns, self._request)
                self._request.known.update(self.schema.columns)
        self._request.missing.clear()  # until all columns are known

    def _rule(self, schema: Schema, opened: OpenedRows) -> DateRule:
        told = opened.date if schema.date_column is None else self._request.date
        if told is None and schema.date_column is None:
            raise SchemaError(f"{opened.label}: nothing tells the trading date; {WAYS_TO_A_DATE}")
        return DateRule.of(schema, told)

    def _check_dates(self, days: pl.Series) -> None:
        if self._base is None or not self._refuses_dates:
            return
        for value in days.unique().sort().to_list():
            if self._base.position(value) is not None:
                date = days_to_date(value)
                reason = f"table {self._store.name!r} holds rows of {date} already"
                hint = "pass mode='append' or --mode append to add to them, "
                hint += "or mode='replace' or --mode replace to take their place"
                raise AlreadyExistsError(f"{reason}; {hint}")


class _CompressionSettings:
    """The compression of each column: what the caller asks, else what the table has, else a quick rule."""

    def __init__(self, asked: CompressionArgument | None, goal: str | None, base: Version | None) -> None:
        self._asked = asked
        self._settings = {} if base is None else dict(base.settings)
        self._kept = dict(self._settings.get("compression", {}))
        self._goal = goal or DEFAULT_GOAL
        self.chosen: dict[str, Compression] = {}

    def of(self, schema: Schema, sample: pl.DataFrame, *, where: str) -> Mapping[str, Compression]:
        """Give the compression of every column; a sample decides where nothing is asked."""
        if not self.chosen:
            asked: CompressionArgument | None = self._asked
            if asked is None and self._kept:
                asked = {**self._kept}
            found = requested(asked, schema.columns, where=where)
            left = [name for name, wanted in found.items() if wanted is None]
            chosen = choose_together({name: sample[name] for name in left}, schema.columns, self._goal)
            self.chosen = {name: wanted or chosen[name] for name, wanted in found.items()}
        return self.chosen

    def to_json(self) -> dict[str, Any]:
        """Give the settings of a new table, or of one that has got columns."""
        chosen = {name: str(compression) for name, compression in self.chosen.items()}
        return {**self._settings, "compression": {**chosen, **self._kept}}


def _write(
    store: TableStore,
    base: Version | None,
    rows: _Rows,
    *,
    mode: str | None,
    unique: UniqueRows | None,
    entries: tuple[SourceEntry, ...],
    settings: _CompressionSettings,
    again: bool,
    threads: int | None,
) -> tuple[Version, Mapping[int, Addition]]:
    """Write the parts of all partitions and commit them; on failure nothing of them is left."""
    if rows.sorter is None or rows.schema is None or rows.sorter.row_count == 0:
        if base is None:
            raise SourceError(f"{rows.label}: there are no rows; nothing was ingested, and no table was made")
        return base, {}
    schema = rows.schema
    written: dict[int, PartEntry] = {}
    started: set[int] = set()
    try:
        compressions = settings.of(schema, rows.sorter.sample(), where=f"table {store.name!r}")
        # many small partitions are written side by side, and a large one column beside column
        is_small = rows.sorter.row_count < _SMALL_ROWS * rows.sorter.partition_count

        def write(partition: SortedPartition) -> None:
            frames = partition.frames if unique is None else unique.of(partition.days, partition.frames)
            if frames is None:
                return
            started.add(partition.days)
            written[partition.days] = write_part(
                store.partition_folder(partition.days, schema),
                schema,
                frames,
                dictionaries=partition.dictionaries,
                compressions=compressions,
                durable=store.durable,
                threads=1 if is_small else threads,
            )

        for _ in map_ordered(write, rows.sorter.partitions(), threads=threads if is_small else 1):
            pass
        additions = {days: Addition((written[days],), entries) for days in sorted(written)}
        if not additions and base is not None:
            return base, {}
        changed = schema if base is None or schema != base.schema else None
        edits = _edits(additions, mode, changed, settings, again=again, alone=unique is not None)
    except BaseException:
        _remove(store, schema, written, started)
        raise
    try:
        return store.commit(base, edits), additions
    except (
        ConflictError,
        NotFoundError,
        SourceError,
        SchemaError,
        AlreadyExistsError,
    ):  # what is refused isn't visible
        _remove(store, schema, written, started)
        raise


def _merge_small(store: TableStore, version: Version, days: Iterable[int], *, threads: int | None) -> None:
    """Merge small parts; the rows are committed, so what goes wrong here must not look as if they weren't."""
    try:
        merge_small(store, version, days, threads=threads)
    except (ColonnadeError, OSError) as error:
        reason = (
            f"rows were appended to table {store.name!r}, but its small parts could not be merged: {error}"
        )
        warnings.warn(f"{reason}; queries stay right and get slower", stacklevel=2)


def _edits(
    additions: Mapping[int, Addition],
    mode: str | None,
    schema: Schema | None,
    settings: _CompressionSettings,
    *,
    again: bool,
    alone: bool,
) -> Edits:
    new = {} if schema is None else {"schema": schema, "settings": settings.to_json()}
    group = {None: "created", "append": "appended", "replace": "replaced"}[mode]
    return Edits(**{group: additions}, **new, again=again, alone=alone)  # type: ignore[arg-type]


def _remove(
    store: TableStore, schema: Schema, written: Mapping[int, PartEntry], started: Collection[int]
) -> None:
    """Remove the parts that were written, and the folders of partitions that hold nothing else."""
    for days in started:
        folder = store.partition_folder(days, schema)
        if days in written:
            shutil.rmtree(folder / written[days].folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _current(store: TableStore) -> Version | None:
    try:
        return store.current()
    except NotFoundError:
        return None


def _overrides(
    types: Mapping[str, str] | None, columns: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, dict[str, Any]]:
    merged: dict[str, dict[str, Any]] = {name: dict(said) for name, said in (columns or {}).items()}
    for name, kind in (types or {}).items():
        merged.setdefault(name, {})["type"] = str(kind)
    return merged


def _watch(sources: Sequence[Source], progress: Progress | None) -> Watch:
    total = sum(source.byte_count for source in sources)
    done = 0

    def watch(block: bytes) -> None:
        nonlocal done
        done += len(block)
        if progress is not None:
            progress(done, total)

    return watch
