"""The tree drawn at the top of errors.py is the tree of its classes."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator

import pytest

from colonnade import errors

ROOT = errors.ColonnadeError
_LINE = re.compile(
    r"^ {2}(?P<deeper> {2})?(?P<mark>[x-]) (?P<names>\w+(?:, \w+)*)(?: +\((?P<builtin>\w+)\))?"
)


def drawn() -> Iterator[tuple[str, str, str | None]]:
    """Give (name, parent, built-in) of every class in the drawing."""
    parent = ROOT.__name__
    for line in (errors.__doc__ or "").splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        for name in found["names"].split(", "):
            yield name, ROOT.__name__ if found["mark"] == "x" else parent, found["builtin"]
        if found["mark"] == "x":
            parent = found["names"]


def defined() -> dict[str, type[errors.ColonnadeError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, ROOT) and value is not ROOT
    }


def test_the_drawing_names_every_class():
    assert sorted(name for name, _, _ in drawn()) == sorted(defined())


@pytest.mark.parametrize(("name", "parent", "builtin"), list(drawn()))
def test_a_class_has_the_parents_that_are_drawn(name, parent, builtin):
    bases = [base.__name__ for base in defined()[name].__bases__]

    assert bases == [parent, *([builtin] if builtin else [])]


@pytest.mark.parametrize("name", sorted(defined()))
def test_a_class_says_who_has_to_act(name):
    assert defined()[name].__doc__


def test_errors_of_tasks_survive_another_process():
    problem = errors.ChecksumError("checksum doesn't match")
    problem.where = {"table": "trade", "block": 17}

    copied = pickle.loads(pickle.dumps(problem))  # noqa: S301 - our own bytes

    assert str(copied) == "checksum doesn't match (table trade, block 17)"


@pytest.mark.parametrize(
    "problem",
    [
        errors.ColumnNotFoundError("prise", ["price"], where="table 'trade'"),
        errors.RowError("no number", file="a.csv", line=3, column="price", text="x"),
    ],
)
def test_errors_with_fields_survive_another_process(problem):
    copied = pickle.loads(pickle.dumps(problem))  # noqa: S301 - our own bytes

    assert str(copied) == str(problem)
    assert vars(copied) == vars(problem)
