"""Readers of another user, on a mount where nothing can be written, while a writer commits and cleans."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

import colonnade as cn
from reliability.children import child
from reliability.disks import command, needs_root
from reliability.generations import MORE, ROWS, read, replace_all, write
from reliability.numbers import READER_SECONDS


@contextmanager
def read_only(path: Path) -> Iterator[Path]:
    """Show a folder where nobody can write, in a place where everybody can look."""
    needs_root()
    with tempfile.TemporaryDirectory(prefix="colonnade-") as shown:
        Path(shown).chmod(0o755)
        command("mount", "--bind", path, shown)
        try:
            command("mount", "-o", "remount,bind,ro", shown)
            yield Path(shown)
        finally:
            command("umount", "--lazy", shown)


@pytest.mark.parametrize(
    "seconds", [READER_SECONDS[0], pytest.param(READER_SECONDS[1], marks=pytest.mark.long)]
)
def test_readers_of_another_user_see_whole_versions_while_a_writer_commits_and_cleans(
    tmp_path: Path, seconds: int
) -> None:
    rehearsal, path = tmp_path / "rehearsal", tmp_path / "db"
    for folder in (rehearsal, path):
        replace_all(cn.create(folder), 1)

    with read_only(path) as shown, child(write, path) as writer:
        with (
            child(read, shown, rehearsal, seconds) as first,
            child(read, shown, rehearsal, seconds) as second,
        ):
            told = [next(reader.received()) for reader in (first, second)]
        writer.connection.send("stop")
        last = next(writer.received())

    for answers in told:
        seen = [answer for answer in answers if answer is not None]
        assert len(seen) > 2 * seconds
        assert len(answers) - len(seen) < len(answers) / 10, "a reader seldom meets a version that is cleaned"
        assert all(len(answer) == 1 for answer in seen), "a read sees one generation"
        assert {rows for ((_, rows),) in seen} <= {2 * ROWS, 2 * ROWS + MORE}
        numbers = [number for ((number, _),) in seen]
        assert all(number <= later for number, later in pairwise(numbers)), "no reader goes back"
        assert len(set(numbers)) > 2
        assert numbers[-1] <= last
