"""Generated texts come in as a plain Python parse reads them, however they are cut into pieces."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from ingest.reading import description, parsed

MS = st.integers(-9_223_372_036_854, 9_223_372_036_854)
INT64 = st.integers(-(2**63), 2**63 - 1)
PRINTABLE = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0,|;\t\"'", exclude_categories=["Cs"]), max_size=12
)
ANYTHING = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=12
)
DAY_NS = 86_400_000_000_000


def iso(ns: int, digits: int, letter: str) -> str:
    text = str(np.datetime64(ns, "ns"))
    return (text[:19] + ("." + text[20 : 20 + digits] if digits else "")).replace("T", letter)


def iso_values() -> st.SearchStrategy[tuple[str, int]]:
    def value(ns: int, digits: int, letter: str) -> tuple[str, int]:
        unit = 10 ** (9 - digits)
        return iso(ns, digits, letter), ns // unit * unit

    return st.builds(
        value, st.integers(-(2**62), 2**62), st.sampled_from([0, 3, 6, 9]), st.sampled_from("T ")
    )


def clock(ns: int, digits: int) -> str:
    seconds, fraction = divmod(ns, 1_000_000_000)
    hms = f"{seconds // 3600:02}{seconds // 60 % 60:02}{seconds % 60:02}"
    return hms + (f"{fraction:09}"[:digits] if digits else "")


def clock_values() -> st.SearchStrategy[tuple[str, int]]:
    times = st.integers(0, DAY_NS - 1)
    return st.builds(
        lambda ns, lost: (clock(ns, 9).lstrip("0") or "0" if lost else clock(ns, 9), ns), times, st.booleans()
    )


def decimal_values() -> st.SearchStrategy[tuple[str, float]]:
    written = st.one_of(
        st.decimals(allow_nan=False, allow_infinity=False, places=4).map(lambda d: format(d, "f")),
        st.floats(allow_nan=False).map(repr),
        st.integers(-(10**30), 10**30).map(str),
    )
    return written.map(lambda text: (text, float(text)))


# how a column is described, and a strategy of texts with the stored value that they mean
COLUMNS = {
    "i64": ({"type": "int64"}, INT64.map(lambda n: (str(n), n))),
    "u64": ({"type": "uint64"}, st.integers(0, 2**64 - 1).map(lambda n: (str(n), n))),
    "i8": ({"type": "int8"}, st.integers(-128, 127).map(lambda n: (str(n), n))),
    "f64": ({"type": "float64"}, decimal_values()),
    "scaled": ({"scale": 4}, INT64.map(lambda n: (str(n), n / 10**4))),
    "scaled9": ({"scale": 9}, INT64.map(lambda n: (str(n), n / 10**9))),
    "ms": ({"unit": "ms"}, MS.map(lambda n: (str(n), n * 1_000_000))),
    "clock": ({"layout": "HHMMSSnnnnnnnnn"}, clock_values()),
    "iso": ({"type": "timestamp"}, iso_values()),
    "day": ({"type": "date"}, st.dates().map(lambda d: (d.isoformat(), d.toordinal() - 719_163))),
    "flag": ({"type": "bool"}, st.booleans().map(lambda b: (str(b).lower(), b))),
    "char": ({"type": "char"}, st.sampled_from("ABYZ019 @-").map(lambda c: (c, c))),
}  # fmt: skip
KINDS = [*COLUMNS, "text"]


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, dict, list[tuple]]:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
    delimiter = draw(st.sampled_from([",", "|", ";", "\t"]))
    quote = draw(st.sampled_from(["", '"', "'"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = (ANYTHING if quote else PRINTABLE).filter(bool).map(lambda t: (t, t))
    values = [text if kind == "text" else COLUMNS[kind][1] for kind in kinds]
    must_have = len(kinds) == 1  # a row of one empty field is a blank line
    cells = [value if must_have else st.one_of(st.none(), value) for value in values]
    rows = draw(st.lists(st.tuples(*cells), max_size=30))

    def written(cell: tuple | None) -> str:
        if cell is None:
            return ""
        special = quote and any(letter in cell[0] for letter in (delimiter, quote, "\n"))
        if special or (quote and draw(st.booleans())):
            return quote + cell[0].replace(quote, quote * 2) + quote
        return cell[0]

    names = [f"c{position}" for position in range(len(kinds))]
    lines = [delimiter.join(names), *(delimiter.join(map(written, row)) for row in rows)]
    body = end.join(lines) + (end if draw(st.booleans()) else "")
    columns = [
        {"name": name, **({"type": "string"} if kind == "text" else COLUMNS[kind][0])}
        for name, kind in zip(names, kinds, strict=True)
    ]
    described = description(*columns, delimiter=delimiter, quote=quote)
    return body.encode(), described, [tuple(None if c is None else c[1] for c in row) for row in rows]


@given(content=texts(), piece_bytes=st.integers(20, 600))
def test_a_text_comes_in_as_python_reads_it(content, piece_bytes):
    body, described, expected = content
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(body)

        frame = parsed(path, described, piece_bytes=piece_bytes)

    assert frame.select(pl.all().to_physical()).rows() == expected


@given(
    rows=st.lists(
        st.tuples(st.integers(-(2**63), 2**63 - 1), decimal_values(), PRINTABLE), min_size=1, max_size=20
    ),
    widths=st.tuples(st.integers(20, 25), st.integers(320, 340), st.integers(48, 60)),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_fixed_width_records_come_in_as_python_slices_them(rows, widths, end):
    rows = [row for row in rows if len(row[1][0]) <= widths[1]]
    lines = []
    for number, (text, _), name in rows:
        padded = name.encode().ljust(widths[2])
        lines.append(str(number).rjust(widths[0]).encode() + text.ljust(widths[1]).encode() + padded)
    described = description(
        {"name": "a", "type": "int64", "width": widths[0]},
        {"name": "b", "type": "float64", "width": widths[1]},
        {"name": "c", "type": "string", "width": widths[2]},
        kind="fixed",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.txt"
        path.write_bytes(b"".join(line + end.encode() for line in lines))

        frame = parsed(path, described, piece_bytes=2_000)

    stripped = [(number, value, name.strip(" \t") or None) for number, (_, value), name in rows]
    assert frame.rows() == stripped


@given(st.lists(st.one_of(INT64, st.integers(2**63, 2**64 - 1)), min_size=1, max_size=20))
def test_integers_are_never_read_as_floats(numbers):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("n,x\n" + "".join(f"{number},1\n" for number in numbers))

        values = parsed(path)["n"]

    fits = max(numbers) < 2**63 or min(numbers) >= 0
    assert [int(value) for value in values] == numbers
    assert values.dtype.is_integer() == fits
