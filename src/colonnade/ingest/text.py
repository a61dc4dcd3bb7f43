"""A stream of bytes to pieces that end where a row ends, with the lines that are no rows taken off.

A `TextPiece` can be parsed alone and knows its first line number. First lines, header and trailer never reach
the parser.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from colonnade.errors import SourceError
from colonnade.ingest.description import EdgeLine, SourceDescription
from colonnade.ingest.streams import TextStream

PIECE_BYTES: Final = 16 << 20
_MAX_ROW_BYTES: Final = 64 << 20
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Whole rows of a text.

    Attributes
    ----------
    text
        The bytes; the last row may lack its line end.
    first_line
        Number of the first line in the file, from 1.
    """

    text: bytes
    first_line: int


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """What a first line or a trailer tells."""

    line: int
    text: str
    row_count: int | None
    date: str | None


class TextRows:
    """The rows of one stream, and what its edges told.

    Attributes
    ----------
    header
        Names of the header line, or None; known from the start.
    header_line
        The header as it stands in the file, without line end, so that a repeated one can be told.
    facts
        What the first line and the trailer told, by ``first_line`` and ``trailer``; the trailer is known when
        `pieces` has ended.
    """

    def __init__(
        self, stream: TextStream, description: SourceDescription, *, piece_bytes: int = PIECE_BYTES
    ) -> None:
        self.stream = stream
        self.facts: dict[str, EdgeFacts] = {}
        self.header: list[str] | None = None
        self.header_line = b""
        self._description = description
        quote = description.quote if description.kind == "delimited" else ""
        self._raw = _Lines(stream, quote.encode(), piece_bytes)
        self._take_first_lines()

    def _take_first_lines(self) -> None:
        wanted = self._description
        for _ in range(wanted.skip_lines):
            self._raw.take_line()
        if wanted.first_line is not None:
            number, line = self._raw.take_line()
            facts = _edge_facts(wanted.first_line, number, line)
            if facts is not None:
                self.facts["first_line"] = facts
            elif wanted.first_line.required:
                shown = line[:120].decode(errors="replace")
                reason = f"{self.stream.label}: the first line isn't {wanted.first_line.pattern!r}"
                raise SourceError(f"{reason}: {shown!r}")
            else:
                self._raw.put_back(line, number)
        if wanted.kind == "delimited" and wanted.header:
            self._take_header()

    def _take_header(self) -> None:
        comment = self._description.comment
        _, line = self._raw.take_line()
        while not self._raw.at_end and (not line.strip() or (comment and line.startswith(comment.encode()))):
            _, line = self._raw.take_line()
        if not line.strip():
            raise SourceError(f"{self.stream.label}: the file is empty; expected a header line with names")
        self.header_line = line
        if b"\0" in line:
            raise SourceError(f"{self.stream.label}: the header holds a NUL byte; the file is no text")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise SourceError(f"{self.stream.label}: the header isn't UTF-8; convert the file") from None
        quote = self._description.quote
        style = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
        try:
            self.header = next(csv.reader([text], delimiter=self._description.delimiter, **style))
        except csv.Error as error:
            reason = f"{self.stream.label}: the header can't be read ({error})"
            raise SourceError(f"{reason}; lines must end in LF or CRLF") from None

    def pieces(self) -> Iterator[TextPiece]:
        """Yield the rows in pieces; once."""
        trailer = self._description.trailer
        if trailer is None:
            yield from self._raw
            return
        held: TextPiece | None = None
        for piece in self._raw:
            if held is not None:
                yield held
            held = piece
        last = self._without_trailer(trailer, held)
        if last is not None:
            yield last

    def _without_trailer(self, trailer: EdgeLine, last: TextPiece | None) -> TextPiece | None:
        body = b"" if last is None else last.text.rstrip(b"\r\n")
        cut = body.rfind(b"\n") + 1
        number = 0 if last is None else last.first_line + body.count(b"\n")
        facts = _edge_facts(trailer, number, body[cut:])
        if facts is not None:
            self.facts["trailer"] = facts
            return None if last is None or cut == 0 else TextPiece(body[:cut], last.first_line)
        if trailer.required:
            found = body[cut:][:120].decode(errors="replace")
            reason = f"{self.stream.label}: the last line isn't {trailer.pattern!r} but {found!r}"
            raise SourceError(
                f"{reason}; the file may be cut short, or pass allow_incomplete=True or --allow-incomplete"
            )
        return last


class _Lines:
    """Iterate over pieces of a stream that end where a row ends."""

    def __init__(self, stream: TextStream, quote: bytes, piece_bytes: int) -> None:
        self._label = stream.label
        self._blocks = stream.blocks
        self._quote = quote
        self._piece_bytes = piece_bytes
        self._held = b""
        self._at = 0  # what lies before it in `_held` was given away
        self._line = 1
        self._ended = False
        self._fill()
        self._at = len(_BOM) if self._held.startswith(_BOM) else 0

    def _fill(self) -> None:
        """Read until a piece is full or the stream ends."""
        size = len(self._held) - self._at
        if size >= self._piece_bytes or self._ended:
            return
        parts = [self._held[self._at :]]
        while size < self._piece_bytes:
            block = next(self._blocks, None)
            if block is None:
                self._ended = True
                break
            parts.append(block)
            size += len(block)
        self._held, self._at = b"".join(parts), 0

    @property
    def at_end(self) -> bool:
        """Whether every line was taken."""
        return self._ended and self._at == len(self._held)

    def take_line(self) -> tuple[int, bytes]:
        """Take the next line off, without its end; empty at the end of the stream."""
        number = self._line
        end = self._held.find(b"\n", self._at)
        while end < 0 and not self._ended:
            self._grow()
            end = self._held.find(b"\n", self._at)
        stop = len(self._held) if end < 0 else end
        line = self._held[self._at : stop]
        self._at = min(stop + 1, len(self._held))
        self._line += 1
        return number, line.removesuffix(b"\r")

    def put_back(self, line: bytes, number: int) -> None:
        """Undo `take_line`."""
        self._held, self._at = line + b"\n" + self._held[self._at :], 0
        self._line = number

    def __iter__(self) -> Iterator[TextPiece]:
        while True:
            self._fill()
            if self._at == len(self._held):
                return
            cut = self._row_end(min(self._at + self._piece_bytes, len(self._held)))
            if cut is None:  # one row fills the whole piece
                self._piece_bytes *= 2
                if self._piece_bytes > max(_MAX_ROW_BYTES, 2 * PIECE_BYTES):
                    self._give_up()
                continue
            text, self._at = self._held[self._at : cut], cut
            yield TextPiece(text, self._line)
            self._line += text.count(b"\n")

    def _grow(self) -> None:
        if len(self._held) - self._at > _MAX_ROW_BYTES:
            self._give_up()
        block = next(self._blocks, None)
        self._ended = block is None
        self._held, self._at = self._held[self._at :] + (block or b""), 0

    def _give_up(self) -> None:
        reason = f"{self._label}, line {self._line}: no end of a row within {_MAX_ROW_BYTES >> 20} MiB"
        raise SourceError(f"{reason}; an opening quote may lack its pair: quote = '' reads quotes as text")

    def _row_end(self, stop: int) -> int | None:
        """Give where the last row ends that lies wholly before ``stop``: a line end outside quotes."""
        if stop == len(self._held) and self._ended:
            return stop
        text, quote, start = self._held, self._quote, self._at
        end = text.rfind(b"\n", start, stop)
        if end < 0:
            return None
        if not quote or text.find(quote, start, end) < 0:
            return end + 1
        quotes = text.count(quote, start, end)
        while quotes % 2:
            before = text.rfind(b"\n", start, end)
            if before < 0:
                return None
            quotes -= text.count(quote, before, end)
            end = before
        return end + 1


def _edge_facts(wanted: EdgeLine, number: int, line: bytes) -> EdgeFacts | None:
    text = line.decode(errors="replace").rstrip("\r")
    found = re.match(wanted.pattern, text)
    if found is None:
        return None
    groups = found.groupdict()
    count = groups.get("rows")
    return EdgeFacts(
        number, text, int(count) if count and count.strip().isdigit() else None, groups.get("date")
    )
