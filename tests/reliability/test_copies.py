from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import colonnade as cn
from reliability.children import child, result_of
from reliability.numbers import COPIES
from reliability.operations import examine, new_database
from reliability.writing import copy

SHORT, LONG = COPIES


@pytest.mark.parametrize("copies", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_a_copy_that_is_killed_again_and_again_is_no_database_until_it_is_whole(
    tmp_path: Path, copies: int
) -> None:
    random = np.random.default_rng(copies)
    path = tmp_path / "db"
    rows = new_database(path)
    started = time.perf_counter()
    cn.open(path).copy(tmp_path / "first")
    took = time.perf_counter() - started
    killed = 0

    for number in range(copies):
        destination = tmp_path / f"copy{number}"
        while not (destination / "colonnade.json").exists():
            with child(copy, path, destination) as copier:
                copier.connection.recv()
                time.sleep(random.uniform(0, 2 * took))
                copier.kill()
                killed += not list(copier.received())
        assert result_of(examine, destination).is_what_is_expected(rows)

    assert killed > copies // 4
