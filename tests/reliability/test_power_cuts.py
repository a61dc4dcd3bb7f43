from __future__ import annotations

import signal
import time
from pathlib import Path

import numpy as np
import pytest

from reliability.children import child, result_of
from reliability.disks import FILE_SYSTEMS, disk
from reliability.numbers import POWER_CUTS
from reliability.operations import new_database
from reliability.writing import Moments, Oracle, write

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
