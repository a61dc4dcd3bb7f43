"""A writer in a process of its own, and the oracle that knows which of its changes must be there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from numpy.random import Generator

import colonnade as cn
from reliability.children import Child, result_of
from reliability.operations import Rows, Step, examine

FIRST_SECONDS: Final = 0.1  # that the first change is supposed to take


def write(connection: Connection, path: Path, steps: Sequence[Step]) -> None:
    """Make changes one after the other; tell the beginning and the end of each, or its error."""
    for number, step in enumerate(steps):
        connection.send(("begun", number))
        try:
            step.run(path)
        except (OSError, cn.ColonnadeError) as error:
            connection.send((f"failed: {error!r}", number))
            return
        connection.send(("done", number))


def wait_for_a_moment(writer: Child, random: Generator) -> list[tuple[str, int]]:
    """Wait until the writer is somewhere in one of its first changes; give the messages until then."""
    messages = []
    began = {}
    wanted = int(random.integers(0, 6))
    while (message := writer.connection.recv()) != ("begun", wanted):
        messages.append(message)
        began[message] = time.perf_counter()
    took = time.perf_counter() - began.get(("begun", wanted - 1), time.perf_counter() - FIRST_SECONDS)
    time.sleep(random.uniform(0, 1.2 * took))
    return [*messages, message]


class Oracle:
    """The rows that were acknowledged.

    Parameters
    ----------
    rows
        Rows that are there at the beginning.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.acknowledged = 0
        self.interrupted: dict[str, int] = {}
        self.survived = 0  # changes that were in though nobody was told so

    def check(
        self,
        path: Path,
        steps: Sequence[Step],
        messages: Iterable[tuple[str, int]],
        *,
        may_fail: bool = False,
    ) -> None:
        """Raise unless the database holds what was acknowledged, and all or nothing of what was begun."""
        begun, done = -1, -1
        for word, number in messages:
            if word == "begun":
                begun = number
            elif word == "done":
                done = number
            else:
                assert may_fail, f"{steps[number]} {word}"
        for step in steps[: done + 1]:
            self.rows = step.expect(self.rows)
        self.acknowledged += done + 1
        found = result_of(examine, path)
        if begun == done:
            assert found.is_what_is_expected(self.rows), self._told(steps, begun, done, found)
            return
        under_way = steps[begun]
        self.interrupted[under_way.kind] = self.interrupted.get(under_way.kind, 0) + 1
        if found.is_what_is_expected(self.rows):
            return
        self.rows = under_way.expect(self.rows)
        self.survived += 1
        assert found.is_what_is_expected(self.rows), self._told(steps, begun, done, found)

    def _told(self, steps: Sequence[Step], begun: int, done: int, found: object) -> str:
        ran = ", ".join(f"{step.kind} {step.seed}" for step in steps[: begun + 1])
        return f"steps {ran}; acknowledged {done + 1} of them; found {found}; expected {self.rows}"
