"""A writer in a process of its own, and the oracle that knows which of its changes must be there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator

import colonnade as cn
from databases import TICK_KEYS
from reliability.children import Child, result_of
from reliability.operations import OPERATIONS, Rows, Step, drawn, examine, random_steps

FIRST_SECONDS: Final = 0.05  # that a change is supposed to take


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


def copy(connection: Connection, path: Path, destination: Path) -> None:
    """Copy a database; tell the beginning and the end."""
    connection.send("begun")
    cn.open(path).copy(destination)
    connection.send("done")


def race(connection: Connection, path: Path, steps: Sequence[Step]) -> None:
    """Make changes beside others; tell how many were made, and the classes of errors of the rest."""
    done, refused = 0, set()
    for step in steps:
        try:
            step.run(path)
        except cn.ColonnadeError as error:
            refused.add(type(error).__name__)
        else:
            done += 1
    connection.send((done, refused))


def make_change(connection: Connection, path: Path, step: Step) -> None:
    """Make the change when told so; tell how it ended."""
    connection.send("ready")
    connection.recv()
    try:
        step.run(path)
    except (OSError, cn.ColonnadeError) as error:
        connection.send(f"{type(error).__name__}: {error}")
    else:
        connection.send("done")


def append_fast(connection: Connection, path: Path, steps: Sequence[Step]) -> None:
    """Append what steps would, without waiting for the disk; tell the end of each."""
    for number, step in enumerate(steps):
        try:
            frame = drawn(np.random.default_rng(step.seed), None)
            cn.open(path).ingest("trade", frame, mode="append", durability="fast", **TICK_KEYS)
        except (OSError, cn.ColonnadeError):
            return
        connection.send(("done", number))


class Moments:
    """Chooses moments to interrupt a writer, so that each kind of change is under way in its turn.

    Parameters
    ----------
    random
        Chooses steps, and how far the interrupted one gets.
    """

    def __init__(self, random: Generator) -> None:
        self._random = random
        self._kinds = cycle(OPERATIONS)
        self._seconds: dict[str, float] = {}  # that a change of a kind took when it was seen last

    def steps(self) -> list[Step]:
        """Draw what a writer shall do; it won't come to the end."""
        before = random_steps(self._random, int(self._random.integers(0, 5)))
        self._number = len(before)
        wanted = Step(next(self._kinds), int(self._random.integers(0, 2**31)))
        return [*before, wanted, *random_steps(self._random, 20)]

    def wait(self, writer: Child, steps: Sequence[Step]) -> list[tuple[str, int]]:
        """Wait until the writer is somewhere in the wanted change; give its messages until then."""
        messages = []
        began = 0.0
        while True:
            word, number = message = writer.connection.recv()
            messages.append(message)
            if word == "done":
                self._seconds[steps[number].kind] = time.perf_counter() - began
            elif number == self._number or word != "begun":
                break
            began = time.perf_counter()
        time.sleep(self._random.uniform(0, 1.1 * self._seconds.get(steps[self._number].kind, FIRST_SECONDS)))
        return messages


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
