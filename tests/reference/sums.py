"""The summation rule for floats, one addition at a time.

A leaf is 2^20 consecutive rows of one symbol in one partition, counted from the symbol's first row whether
they are selected or not. Within a leaf and group the k-th selected value goes to lane k mod 8; the lanes are
added in a fixed tree; leaves are added one by one in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LEAF_ROWS = 1 << 20
LANES = 8


def leaf_sum(values: Iterable[float | None]) -> float:
    """Sum the selected rows of one leaf and group; a null takes its place among them, and adds nothing."""
    lanes = [0.0] * LANES
    for k, value in enumerate(values):
        if value is not None:
            lanes[k % LANES] += value
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))


def float_sum(
    values: Sequence[float | None], leaf_rows: Sequence[int], *, leaf_size: int = LEAF_ROWS
) -> float:
    """Sum one group of one symbol in one partition.

    Parameters
    ----------
    values
        The selected values, in logical order.
    leaf_rows
        For each of them its row among all rows of the symbol in the partition.
    leaf_size
        Rows of a leaf.
    """
    total = 0.0
    leaves: dict[int, list[float | None]] = {}
    for value, row in zip(values, leaf_rows, strict=True):
        leaves.setdefault(row // leaf_size, []).append(value)
    for _, leaf in sorted(leaves.items()):
        total += leaf_sum(leaf)
    return total
