"""Kills a writer before its n-th call that changes a disk, for every n; run as a program by `test_crash`.

This process only forks: a child per step writes and dies, another one reads what it left. Writes one line a
step: exit status of the writer, rows found, and what is wrong.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from colonnade.store.table_source import open_source
from colonnade.store.verify import verify
from colonnade.store.version import TableStore
from store.rows import DAY, append, replace_all, trades

CHANGING = ("open", "write", "fsync", "close", "link", "unlink", "mkdir", "rmdir")
WORK = {"append": append, "replace": replace_all}
KILLED = 9


def die_at(step: int) -> None:
    """Make this process exit before the call of that number; a write is half done first."""
    calls = 0

    def spied(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == step:
                if name == "write":
                    real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os._exit(KILLED)
            return real(*arguments, **named)

        return call

    for name in CHANGING:
        setattr(os, name, spied(name, getattr(os, name)))


def in_child(work: Callable[[], object]) -> int:
    """Run in a forked process; give its exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def report(path: Path, status: int) -> None:
    """Write what a reader and the next writer find."""
    source = open_source(path)
    part = source.partition(DAY).parts[-1]
    rows = [part.column(name).read(0, part.row_count) for name in source.schema.columns]
    wrong = [finding.problem for finding in verify(source, threads=1).findings]
    append(TableStore(path), trades(10))
    after = open_source(path)
    facts = (status, source.row_counts.sum(), len(rows[0]), after.row_counts.sum(), wrong)
    sys.stdout.write("|".join(map(str, facts)) + "\n")


def main(base: Path, work: str) -> None:
    """Go through every step until the writer lives to its end."""
    status = KILLED
    step = 0
    while status == KILLED:
        step += 1
        copy = base.with_name(f"{base.name}-{step}")
        shutil.copytree(base, copy)
        table = TableStore(copy / "trade")

        def attempt(table: TableStore = table, step: int = step) -> None:
            frame = trades(500, seed=2)
            die_at(step)
            WORK[work](table, frame)

        status = in_child(attempt)
        if in_child(lambda table=table, status=status: report(table.path, status)):
            sys.exit(f"reader failed after step {step}")
        shutil.rmtree(copy)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
