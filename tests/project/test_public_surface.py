"""What `import colonnade` gives: the listed names, with docstrings, and without optional packages."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import pkgutil
import subprocess
import sys
import types

import pytest

import colonnade

OPTIONAL = ("pyarrow", "duckdb", "pandas", "narwhals", "matplotlib", "plotly", "hypothesis", "pytest")
DESIGNED = ("create", "open", "col", "between", "last", "asof_join")


def test_all_is_what_can_be_imported():
    listed = {name for name in colonnade.__all__ if getattr(colonnade, name) is not None}  # imports on use
    public = {
        name
        for name, value in vars(colonnade).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations"
    }

    assert listed - {"__version__"} == public


def test_all_is_sorted_and_names_each_thing_once():
    assert len(set(colonnade.__all__)) == len(colonnade.__all__)


@pytest.mark.parametrize("name", DESIGNED)
def test_the_designed_names_are_there(name):
    assert name in colonnade.__all__


def test_the_errors_are_public():
    from colonnade import errors  # noqa: PLC0415 - compared with the top level

    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.ColonnadeError):
            assert getattr(colonnade, name, value) is value


@pytest.mark.parametrize("name", [name for name in colonnade.__all__ if not name.startswith("_")])
def test_every_public_name_has_a_docstring(name):
    value = getattr(colonnade, name)

    assert inspect.getdoc(value), f"{name} has no docstring"


@pytest.mark.parametrize("name", [name for name in colonnade.__all__ if not name.startswith("_")])
def test_every_public_method_has_a_docstring(name):
    value = getattr(colonnade, name)
    if not isinstance(value, type) or not value.__module__.startswith("colonnade"):
        return
    for method, member in vars(value).items():
        if not method.startswith("_") and callable(getattr(value, method)):
            assert inspect.getdoc(member), f"{name}.{method} has no docstring"


def test_every_module_says_what_it_is_for():
    undocumented = []
    for module in pkgutil.walk_packages(colonnade.__path__, "colonnade."):
        if not module.name.startswith("colonnade.kernels._native") and not module.name.endswith("__main__"):
            loaded = importlib.import_module(module.name)
            if not loaded.__doc__:
                undocumented.append(module.name)

    assert undocumented == []


@pytest.mark.parametrize("module", ["colonnade", "colonnade.cli"])
def test_no_optional_package_is_imported_at_start(module):
    code = f"import {module}, sys; print(*sorted(m for m in sys.modules if '.' not in m))"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert [name for name in OPTIONAL if name in loaded] == []


def test_the_package_is_typed():
    folder = importlib.resources.files("colonnade")

    assert (folder / "py.typed").is_file()
