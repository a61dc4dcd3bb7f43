"""As-of joins by looking at every pair of rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def asof_rows(
    left: Sequence[int | None],
    right: Sequence[int | None],
    *,
    left_keys: Sequence[Hashable] | None = None,
    right_keys: Sequence[Hashable] | None = None,
    strategy: str = "backward",
    tolerance: int | None = None,
) -> list[int]:
    """Give for each left time the row of the right time that belongs to it, or -1.

    Among equal right times the last row wins, whatever the strategy; null times and null keys match nothing.
    Of two times equally far away ``nearest`` takes the later one.
    """
    found = []
    for position, time in enumerate(left):
        key = None if left_keys is None else left_keys[position]
        found.append(-1)
        if time is None or (left_keys is not None and key is None):
            continue
        best: int | None = None
        for row, candidate in enumerate(right):
            if candidate is None or (right_keys is not None and right_keys[row] != key):
                continue
            if not _is_allowed(time, candidate, strategy, tolerance):
                continue
            if best is None or _rank(time, candidate, row) > _rank(time, right[best] or 0, best):
                best = row
        found[-1] = -1 if best is None else best
    return found


def _is_allowed(time: int, candidate: int, strategy: str, tolerance: int | None) -> bool:
    if strategy == "backward" and candidate > time:
        return False
    if strategy == "forward" and candidate < time:
        return False
    return tolerance is None or abs(time - candidate) <= tolerance


def _rank(time: int, candidate: int, row: int) -> tuple[int, int, int]:
    """Order candidates: nearer is better, then later, then stored last."""
    return (-abs(time - candidate), candidate, row)
