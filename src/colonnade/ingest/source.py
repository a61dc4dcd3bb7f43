"""What the caller hands to ingest: paths, patterns, frames, lists of them; which files belong together."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from colonnade.errors import NotFoundError, SourceError
from colonnade.ingest.bad_rows import BadRows
from colonnade.ingest.description import FileSet
from colonnade.ingest.request import OpenedRows, Request
from colonnade.ingest.streams import Watch, file_kind, watch_file
from colonnade.ingest.tables import ArrowStream, kept_rows, open_file, open_frame
from colonnade.ingest.text_source import chosen_description, open_text
from colonnade.store.entries import SourceEntry
from colonnade.store.values_hash import ValuesHash

_TYPED: Final = ("parquet", "arrow")


@dataclass(slots=True)
class FileSource:
    """A file; its content is hashed while it is read."""

    path: Path
    byte_count: int
    _hash: ValuesHash = field(default_factory=ValuesHash)

    def open(self, request: Request, bad: BadRows, watch: Watch) -> Iterator[OpenedRows]:
        """Yield the rows of the file, one by one for the members of a zip."""

        def seen(block: bytes) -> None:
            self._hash.add(np.frombuffer(block, dtype=np.uint8))
            watch(block)

        if file_kind(self.path) in _TYPED:
            watch_file(self.path, seen)
        yield from self._opened(request, bad, seen)

    def columns(self, request: Request, bad: BadRows) -> Iterator[OpenedRows]:
        """Yield the rows of the file for a look at their columns; the rows aren't read."""
        yield from self._opened(request, bad, None)

    def _opened(self, request: Request, bad: BadRows, watch: Watch | None) -> Iterator[OpenedRows]:
        kind = file_kind(self.path)
        if kind in _TYPED:
            yield from open_file(self.path, kind, request, bad)
        else:
            yield from open_text(self.path, request, bad, watch)

    def entry(self) -> SourceEntry:
        """Give what the manifest keeps of the file, once it has been read."""
        return SourceEntry(self.path.name, self.byte_count, self._hash.finish())


@dataclass(slots=True)
class FrameSource:
    """A frame in memory; it has no name by which it could be known again."""

    rows: object
    label: str
    byte_count: int = 0

    def open(self, request: Request, bad: BadRows, watch: Watch) -> Iterator[OpenedRows]:
        """Yield the rows of the frame."""
        del watch
        yield from open_frame(self.rows, self.label, request, bad)

    def columns(self, request: Request, bad: BadRows) -> Iterator[OpenedRows]:
        """Yield the rows of the frame for a look at their columns; a stream is kept, to be read again."""
        self.rows = kept_rows(self.rows, self.label)
        yield from open_frame(self.rows, self.label, request, bad)

    def entry(self) -> None:
        """Give nothing: two frames may be equal and yet be meant twice."""


Source = FileSource | FrameSource


def sources_of(given: object) -> list[Source]:
    """Give the single sources of what a caller passes.

    Raises
    ------
    NotFoundError
        If there is no such file, or no file matches a pattern.
    SourceError
        If it is of no kind that can be read.
    """
    found = list(_sources(given))
    if not found:
        raise SourceError("there is no source: the list is empty")
    for position, source in enumerate(found):
        if isinstance(source, FrameSource) and len(found) > 1:
            source.label = f"frame {position + 1}"
    return found


def _sources(given: object) -> Iterator[Source]:
    if isinstance(given, (str, Path)):
        yield from (FileSource(path, path.stat().st_size) for path in _paths(given))
    elif isinstance(given, (pl.DataFrame, pl.LazyFrame, ArrowStream)):
        yield FrameSource(given, "frame")
    elif isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping)):
        for entry in given:
            yield from _sources(entry)
    else:
        expected = "a path, a pattern, a Polars frame, an object that hands out Arrow, or a list of them"
        raise SourceError(f"can't ingest a {type(given).__name__}; expected {expected}")


def _paths(given: str | Path) -> list[Path]:
    path = Path(given).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        raise SourceError(f"'{path}' is a folder; say which files, for example '{path}/*.csv'")
    if path.exists():
        raise SourceError(
            f"'{path}' is a pipe or a device; write it to a file first, which can be read twice"
        )
    names = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - patterns may be absolute
    found = [Path(name) for name in names if Path(name).is_file()]
    if not found:
        kind = "file matches" if glob.has_magic(str(path)) else "file"
        raise NotFoundError(f"no {kind} '{path}'")
    return found


def check_file_sets(sources: Sequence[Source], request: Request) -> None:
    """Raise `SourceError` where files that are one source only together aren't all there."""
    if request.description is None or request.allow_incomplete:
        return
    found: dict[tuple[FileSet, str], set[str]] = {}
    for source in sources:
        if isinstance(source, FileSource):
            chosen = chosen_description(source.path, request)
            groups = chosen.groups_of(source.path.as_posix())
            if chosen.file_set is not None and chosen.file_set.group in groups:
                key = (chosen.file_set, groups.get("date", ""))
                found.setdefault(key, set()).add(groups[chosen.file_set.group].upper())
    for (wanted, date), members in found.items():
        missing = [member for member in wanted.members if member.upper() not in members]
        if missing:
            have = f"{len(members)} of {len(wanted.members)} files" + (f" of {date}" if date else "")
            reason = f"the set of files is incomplete: there are {have}, {', '.join(missing)} are missing"
            raise SourceError(
                f"{reason}; pass them all as one ingest, or pass allow_incomplete=True or --allow-incomplete"
            )
