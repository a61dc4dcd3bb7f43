from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reliability.children import result_of
from reliability.faults import KILL, Fault, faults_of, needs_strace, with_fault
from reliability.numbers import FAULT_STRIDE, FAULTS_OF_EVERY_CALL, OTHER_STRIDE
from reliability.operations import OPERATIONS, Step, examine, new_database

SEED = 5


def cases() -> list[object]:
    short = pytest.param("append", FAULT_STRIDE[0], id="append, some calls")
    full = {kind: FAULT_STRIDE[1] if kind in FAULTS_OF_EVERY_CALL else OTHER_STRIDE for kind in OPERATIONS}
    return [short, *(pytest.param(*case, marks=pytest.mark.long) for case in full.items())]


@pytest.mark.parametrize(("kind", "stride"), cases())
def test_a_call_that_fails_or_kills_leaves_the_old_state_or_the_new(
    tmp_path: Path, kind: str, stride: int
) -> None:
    needs_strace()
    original, path, log = tmp_path / "original", tmp_path / "db", tmp_path / "log"
    before = result_of(new_database, original)
    step = Step(kind, SEED)
    after = step.expect(before)

    def fresh() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)

    def check(fault: Fault) -> None:
        fresh()
        ended = with_fault(path, step, log, fault)
        found = result_of(examine, path)
        told = f"{fault}: {ended}; found {found}"
        assert (ended == "killed") == (fault.error == KILL), told
        if ended == "done":
            assert found.is_what_is_expected(after), told
        else:
            assert found.is_what_is_expected(before) or found.is_what_is_expected(after), told

    fresh()
    faults = faults_of(path, step, log)
    assert kind == "clean" or "link" in {fault.call for fault in faults}, "there was nothing to commit"
    for fault in faults[::stride]:
        check(fault)
