from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from reliability.children import child
from reliability.numbers import KILLED_ROUNDS
from reliability.operations import OPERATIONS, leftovers, new_database
from reliability.writing import Moments, Oracle, write

SHORT, LONG = KILLED_ROUNDS


@pytest.mark.parametrize("rounds", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_a_killed_writer_leaves_all_it_acknowledged_and_no_half_of_a_change(
    tmp_path: Path, rounds: int
) -> None:
    moments = Moments(np.random.default_rng(rounds))
    path = tmp_path / "db"
    oracle = Oracle(new_database(path))

    for _ in range(rounds):
        steps = moments.steps()
        with child(write, path, steps) as writer:
            messages = moments.wait(writer, steps)
            writer.kill()
            oracle.check(path, steps, [*messages, *writer.received()])
            assert writer.process.exitcode == -signal.SIGKILL

    time.sleep(1.1)  # what is younger than a second stays, for clocks that differ
    assert leftovers(path) == set()
    oracle.check(path, [], [])
    assert oracle.acknowledged > rounds
    assert sum(oracle.interrupted.values()) > rounds // 2
    if rounds == LONG:
        assert set(oracle.interrupted) == set(OPERATIONS)
