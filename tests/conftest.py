"""Fixtures that every folder of tests may use, and the Hypothesis profiles."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True)
settings.register_profile(
    "thorough", max_examples=1_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "first", parent=settings.get_profile("fast"), phases=[Phase.generate], max_examples=10
)
settings.load_profile(os.environ.get("COLONNADE_TESTS", "fast"))

REPOSITORY = Path(__file__).parents[1]


def shared_data() -> Path | None:
    """Give the folder of sample files, or None: named by a variable, or beside the checkout."""
    named = os.environ.get("COLONNADE_SHARED_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def market() -> Path:
    """Give the folder of real market data; skip where it is not there."""
    folder = shared_data()
    if folder is None or not (folder / "market").is_dir():
        pytest.skip("no real market data: set COLONNADE_SHARED_DATA, or put shared/data beside the checkout")
    return folder / "market"


@pytest.fixture
def db_path(tmp_path: Path) -> Path:
    """Give a path where a database can be created."""
    return tmp_path / "db"
