"""Damage of every bit and every length: a reader gives the right rows or the right error, no other value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import colonnade as cn
from colonnade.store import table_source, version_file
from colonnade.store.manifest import read_manifest
from colonnade.store.table_source import close_columns
from databases import TICK_KEYS, bits
from reliability.numbers import BIT_STRIDE, LENGTH_STRIDE

COMPRESSIONS = {
    "sym": "bitpack", "time": "bitpack", "price": "bitpack+zstd:1", "bid": "plain", "size": "lz4",
    "cond": "zstd:3", "note": "zstd:3", "flag": "plain", "seq": "pco", "venue": "dict", "lots": "runs",
    "id": "bitpack", "rank": "bytes+zstd:1", "code": "gzip:6", "mark": "snappy", "kind": "qipc",
}  # fmt: skip
KINDS = {"marker": "colonnade.json", "version": "trade/versions/*", "manifest": "trade/date=*/manifest-*"} | {
    name: f"trade/date=*/part-*/{name}-*" for name in COMPRESSIONS
}
RIGHT = (cn.errors.CorruptionError, cn.errors.UnsupportedVersionError)


def rows(count: int, start: int = 0) -> pl.DataFrame:
    """Make a few trades of one date: nulls in some columns, and two columns of equal type and size."""
    number = np.arange(start, start + count)
    price = (10_000 + number * 37 % 501) / 100
    return pl.DataFrame(
        {
            "sym": [("A", "BB", "Z€")[k] for k in number % 3],
            "time": pl.Series(19_724 * 86_400_000_000_000 + number * 1_000_003).cast(pl.Datetime("ns")),
            "price": price,
            "bid": price[::-1].copy(),
            "size": number.astype(np.int32) * 100,
            "cond": [("@", None, "F")[k] for k in number % 3],
            "note": [f"text {k}" for k in number],
            "flag": [(True, False, None)[k] for k in number % 3],
            "seq": number * number * 1_000,
            "venue": [("N", "Q", "")[k] for k in number % 3],
            "lots": np.repeat(number[::4], 4),
            "id": [str(10_000 + k) for k in number],
            "rank": number + 2**40,
            "code": (number % 5).astype(np.int16),
            "mark": price.astype(np.float32),
            "kind": (number % 2).astype(np.uint8),
        }
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a database of a dozen rows."""
    db = cn.create(tmp_path / "db")
    types = dict.fromkeys(("note", "venue", "id"), "string")
    db.ingest("trade", rows(12), compression=COMPRESSIONS, types=types, **TICK_KEYS)
    return db.path


def few(count: int, start: int = 0, *, days: int = 0) -> pl.DataFrame:
    """Make rows of a later date, with some of the columns."""
    frame = rows(count, start).select("sym", "time", "price", "bid", "cond", "flag")
    return frame.with_columns(pl.col("time").dt.offset_by(f"{days}d"))


def write_anew(path: Path, content: bytes) -> None:
    """Put other content in the place of a file."""
    path.unlink()
    path.write_bytes(content)


def read(path: Path) -> list[tuple[str, str, bytes, bytes]]:
    """Read everything, with nothing known from before."""
    close_columns()
    for cached in (read_manifest, version_file._parse, table_source._partitions_of):
        cached.cache_clear()
    return bits(cn.open(path)["trade"].collect(threads=1))


def outcome(path: Path, expected: object) -> str:
    """Tell "right" or the class of error; fail where the answer is wrong or the error of a wrong class."""
    try:
        found = read(path)
    except RIGHT as error:
        return type(error).__name__
    assert found == expected
    return "right"


def flips(content: bytes, stride: int) -> Iterator[bytes]:
    for bit in range(0, len(content) * 8, stride):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def cuts(content: bytes, stride: int) -> Iterator[bytes]:
    for length in range(0, len(content), stride):
        yield content[:length]


CASES = [
    pytest.param(flips, BIT_STRIDE[0], id="flipped"),
    pytest.param(cuts, LENGTH_STRIDE[0], id="cut"),
    pytest.param(flips, BIT_STRIDE[1], id="flipped, every bit", marks=pytest.mark.long),
    pytest.param(cuts, LENGTH_STRIDE[1], id="cut, every length", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("change", "stride"), CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_gives_the_right_rows_or_the_right_error(
    path: Path, kind: str, change: Callable[[bytes, int], Iterator[bytes]], stride: int
) -> None:
    expected = read(path)
    (damaged,) = path.glob(KINDS[kind])
    content = damaged.read_bytes()

    outcomes = set()
    for changed in change(content, stride):
        write_anew(damaged, changed)
        outcomes.add(outcome(path, expected))

    write_anew(damaged, content)
    assert read(path) == expected
    assert outcomes & {"ChecksumError", "TruncatedError"}
    assert change is not cuts or "right" not in outcomes


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_after_the_end_give_an_error(path: Path, kind: str) -> None:
    (damaged,) = path.glob(KINDS[kind])
    content = damaged.read_bytes()

    for more in (b"\0", b"\n", b" ", content, bytes(4_096)):
        write_anew(damaged, content + more)
        with pytest.raises(RIGHT):
            read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_gone_gives_an_error(path: Path, kind: str) -> None:
    (gone,) = path.glob(KINDS[kind])
    gone.unlink()

    with pytest.raises(cn.NotFoundError if kind in {"marker", "version"} else cn.StaleVersionError):
        read(path)


def test_files_that_are_swapped_give_the_right_rows_or_the_right_error(tmp_path: Path) -> None:
    db = cn.create(tmp_path / "db")
    path = db.path
    db.ingest("trade", pl.concat([few(12), few(12, days=1)]), **TICK_KEYS)
    db["trade"].append(few(12, start=12))
    db.ingest("trade", few(12, start=24, days=1), mode="replace")
    expected = read(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())

    needed = {file for file in files if is_needed(file, path, expected)}

    outcomes = {}
    for first, second in combinations(files, 2):
        exchange(first, second)
        outcomes[first, second] = outcome(path, expected)
        exchange(first, second)

    assert read(path) == expected
    assert len(outcomes) > 400
    for (first, second), found in outcomes.items():
        is_harmless = not needed & {first, second} or first.read_bytes() == second.read_bytes()
        assert (found == "right") == is_harmless, (first, second)


def is_needed(file: Path, path: Path, expected: object) -> bool:
    """Tell whether the newest version doesn't read without a file."""
    aside = file.rename(file.with_name("aside"))
    try:
        return read(path) != expected
    except cn.ColonnadeError:
        return True
    finally:
        aside.rename(file)


def exchange(first: Path, second: Path) -> None:
    """Give each file the name of the other."""
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_read_gives_the_error_of_the_system(path: Path, kind: str) -> None:
    (file,) = path.glob(KINDS[kind])
    file.unlink()
    file.mkdir()

    with pytest.raises((OSError, cn.ColonnadeError)):
        read(path)
