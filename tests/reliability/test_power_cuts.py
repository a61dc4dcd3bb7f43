from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from reliability.children import child, result_of
from reliability.disks import FILE_SYSTEMS, disk
from reliability.numbers import POWER_CUTS
from reliability.operations import Step, gone_back, new_database
from reliability.writing import Moments, Oracle, append_fast, write

SHORT, LONG = POWER_CUTS


@pytest.mark.parametrize("kind", FILE_SYSTEMS)
@pytest.mark.parametrize("cuts", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_a_power_cut_leaves_all_that_was_acknowledged_and_no_half_of_a_change(
    tmp_path: Path, kind: str, cuts: int
) -> None:
    moments = Moments(np.random.default_rng(cuts))
    with disk(kind, tmp_path) as made:
        path = made.root / "db"
        oracle = Oracle(result_of(new_database, path))

        for _ in range(cuts):
            steps = moments.steps()
            with child(write, path, steps) as writer:
                messages = moments.wait(writer, steps)
                made.cut_power()
                time.sleep(0.01)  # it may go on for a moment, and believe what isn't so
                writer.kill()
                assert writer.process.exitcode in {0, -signal.SIGKILL}  # 0: it met an error that it expects
                messages += writer.received()
            made.unmount()
            made.mount()
            oracle.check(path, steps, messages, may_fail=True)

    assert oracle.acknowledged > cuts


@pytest.mark.parametrize("kind", FILE_SYSTEMS)
@pytest.mark.parametrize("cuts", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_a_power_cut_after_fast_appends_is_gone_back_from(tmp_path: Path, kind: str, cuts: int) -> None:
    random = np.random.default_rng(cuts)
    with disk(kind, tmp_path) as made:
        for number in range(cuts):
            path = made.root / f"db{number}"
            states = [result_of(new_database, path, number)]
            steps = [Step("append", int(seed)) for seed in random.integers(0, 2**31, 50)]
            with child(append_fast, path, steps) as writer:
                done = int(random.integers(1, 8))
                for _ in range(done):
                    writer.connection.recv()
                time.sleep(random.uniform(0, 0.05))
                made.cut_power()
                writer.kill()
                done += len(list(writer.received()))
            made.unmount()
            made.mount()
            for step in steps[: done + 1]:
                states.append(step.expect(states[-1]))

            found = result_of(gone_back, path)

            assert any(found.is_what_is_expected(rows) for rows in states), found
