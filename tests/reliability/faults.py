"""Makes one call of a process to the kernel fail, or ends the process at it, by strace."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from reliability.children import Child, child
from reliability.operations import Step
from reliability.writing import make_change

KILL: Final = "SIGKILL"
_FULL: Final = ("EIO", "ENOSPC", KILL)
FAULTS: Final = {
    "openat": ("EMFILE", "EIO"),
    "openat, creating": ("EMFILE", *_FULL),
    "write": _FULL,
    "pwrite64": _FULL,
    "ftruncate": _FULL,
    "copy_file_range": _FULL,
    "fsync": _FULL,
    "link": _FULL,
    "linkat": _FULL,
    "rename": _FULL,
    "renameat2": _FULL,
    "unlink": ("EIO", KILL),
    "unlinkat": ("EIO", KILL),
    "rmdir": ("EIO", KILL),
    "mkdir": _FULL,
    "chmod": ("EIO", KILL),
    "fchown": ("EIO", KILL),
    "close": ("EIO",),
}
_CALLS: Final = tuple(name for name in FAULTS if "," not in name)


class Fault(NamedTuple):
    """The n-th call of a name fails with an error, or `KILL`s the process before it is made."""

    call: str
    number: int
    error: str


@cache
def needs_strace() -> str:
    """Give the path of strace; skip the test where there is none, or it may not trace."""
    path = shutil.which("strace")
    if path is None:
        pytest.skip("there is no strace; install the package strace")
    if subprocess.run([path, "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    return path


def faults_of(path: Path, step: Step, log: Path) -> list[Fault]:
    """Give every fault that a change can meet in its own files, by a run in which nothing fails."""
    ended = attempt(path, step, log, "-e", f"trace={','.join(f'?{name}' for name in _CALLS)}")
    assert ended == "done", ended
    numbers: Counter[str] = Counter()
    found = []
    for line in log.read_text().splitlines():
        if match := re.match(r"(\w+)\(", line):
            name = match[1]
            numbers[name] += 1
            if str(path) in line:
                kind = f"{name}, creating" if "O_CREAT" in line else name
                found += [Fault(name, numbers[name], error) for error in FAULTS[kind]]
    return found


def with_fault(path: Path, step: Step, log: Path, fault: Fault) -> str:
    """Make a change with one fault; give "done", the error that it raised, or "killed"."""
    what = "signal=KILL" if fault.error == KILL else f"error={fault.error}"
    inject = f"inject={fault.call}:{what}:when={fault.number}"
    ended = attempt(path, step, log, "-e", f"trace={fault.call}", "-e", inject)
    hit = [line for line in log.read_text().splitlines() if "(INJECTED)" in line or "SIGKILL" in line]
    assert hit, f"{fault} never came"
    assert fault.error == KILL or str(path) in hit[0], f"{fault} came at {hit[0]}"
    return ended


def attempt(path: Path, step: Step, log: Path, *options: str) -> str:
    """Make a change under strace; only the thread that makes it is traced."""
    with child(make_change, path, step, COLONNADE_THREADS="1") as writer:
        assert writer.connection.recv() == "ready"
        strace = _attach(writer, log, *options)
        try:
            writer.connection.send("go")
            return str(next(writer.received(), "killed"))
        finally:
            writer.kill()
            strace.communicate()


def _attach(writer: Child, log: Path, *options: str) -> subprocess.Popen[str]:
    words = [needs_strace(), "-y", "-p", str(writer.process.pid), "-o", str(log), *options]
    strace = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert strace.stderr is not None
    for line in strace.stderr:
        if "attached" in line:
            return strace
    raise AssertionError(f"strace ended with {strace.wait()}")
