"""Processes for one piece of work that may be killed, forked from a clean one that has imported everything.

Forking takes milliseconds where a new interpreter takes most of a second, and is safe because the process
that forks has no threads of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any
from unittest import mock

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["colonnade.api.database", "numpy.ma", "numpy.random", "polars", "tomllib"])


class Child:
    """A process that calls ``work(connection, *arguments)``."""

    def __init__(self, work: Callable[..., None], *arguments: Any, environment: dict[str, str]) -> None:
        self.connection, theirs = _context.Pipe()
        self.process = _context.Process(target=_run, args=(work, theirs, environment, arguments), daemon=True)
        with mock.patch.dict(sys.modules, {"__main__": types.ModuleType("__main__")}):  # not pytest once more
            self.process.start()
        theirs.close()

    def received(self) -> Iterator[Any]:
        """Give what it sent, to its end; what it was sending when it was killed is left out."""
        try:
            while True:
                yield self.connection.recv()
        except (EOFError, OSError):
            return

    def kill(self) -> None:
        """End it without a warning."""
        self.process.kill()
        self.process.join()


@contextmanager
def child(work: Callable[..., None], *arguments: Any, **environment: str) -> Iterator[Child]:
    """Start a process, and make sure that it ends."""
    started = Child(work, *arguments, environment=environment)
    try:
        yield started
    finally:
        started.kill()
        started.connection.close()


def result_of(work: Callable[..., Any], *arguments: Any, **environment: str) -> Any:
    """Give what a function returns in a process of its own; raise what it raises."""
    with child(_answer, work, *arguments, **environment) as started:
        for succeeded, value in started.received():
            if succeeded:
                return value
            raise value
        started.process.join()
        raise AssertionError(f"a process ended with status {started.process.exitcode} and no answer")


def _run(
    work: Callable[..., None], connection: Connection, environment: dict[str, str], arguments: tuple[Any, ...]
) -> None:
    os.environ.update(environment)
    work(connection, *arguments)


def _answer(connection: Connection, work: Callable[..., Any], *arguments: Any) -> None:
    try:
        connection.send((True, work(*arguments)))
    except Exception as error:  # noqa: BLE001 - raised again in the process that asked
        connection.send((False, error))
