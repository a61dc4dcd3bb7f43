from __future__ import annotations

import re

from conftest import REPOSITORY
from reliability import numbers

PAGE = (REPOSITORY / "docs" / "reliability.md").read_text("utf-8")


def cells(test: str) -> list[str]:
    """Give the last two cells of the row of a test: what the short run does, and what the long one does."""
    (row,) = re.findall(rf"^\| {test} \|.*\|(.*)\|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in row]


def test_the_page_states_how_much_is_tested() -> None:
    assert cells("killed writers") == [f"{rounds} rounds" for rounds in numbers.KILLED_ROUNDS]
    assert cells("power cuts") == [f"{cuts} cuts on each" for cuts in numbers.POWER_CUTS]
    assert cells("power cuts after fast appends") == cells("power cuts")
    assert f"1 fault in {numbers.FAULT_STRIDE[0]}" in cells("failing calls")[0]
    assert f"1 in {numbers.OTHER_STRIDE} of every other kind" in cells("failing calls")[1]
    assert f"1 bit in {numbers.BIT_STRIDE[0]}, 1 length in {numbers.LENGTH_STRIDE[0]}" in cells(
        "damaged files"
    )
    assert cells("readers") == [f"{seconds} seconds" for seconds in numbers.READER_SECONDS]
    assert cells("two writers") == [f"{changes} changes each" for changes in numbers.WRITER_APPENDS]
    assert cells("a long recompression") == [
        f"{rows:,} rows in each of two dates" for rows in numbers.LARGE_ROWS
    ]
    assert cells("copies") == [f"{copies} copies" for copies in numbers.COPIES]
    assert cells("three writers") == [f"{changes} changes each" for changes in numbers.RACE_CHANGES]
