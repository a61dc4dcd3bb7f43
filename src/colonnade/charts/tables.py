"""Frames as tables of text, numbers right-aligned, at any width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl
from polars import selectors
from rich import box
from rich.table import Table


def bytes_text(count: int) -> str:
    """Give a number of bytes in decimal units: ``18.3 MB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def ratio_text(plain_bytes: int, stored_bytes: int) -> str:
    """Give plain over stored bytes: 4 means a quarter."""
    return f"{plain_bytes / stored_bytes:.2f}" if stored_bytes else "-"


def empty_table(names: Iterable[str], *, numbers: Iterable[str] = (), whole: Iterable[str] = ()) -> Table:
    """Make a table without rows; ``numbers`` are right-aligned, and they and ``whole`` are never cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    right, uncut = set(numbers), set(whole)
    for name in names:
        if name in right:
            table.add_column(name, justify="right", no_wrap=True, min_width=max(len(name), 5))
        elif name in uncut:
            table.add_column(name, no_wrap=True)
        else:
            table.add_column(
                name, overflow="ellipsis", min_width=min(len(name), 6)
            )  # columns that may wrap are narrowed first
    return table


def draw_frame(frame: pl.DataFrame, *, most_rows: int = 40) -> Table:
    """Draw the first and last rows of a frame; floats with eight digits."""
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    times = [name for name, dtype in frame.schema.items() if dtype.is_temporal()]
    table = empty_table(frame.columns, numbers=numbers, whole=times)
    if frame.height <= most_rows:
        _add_rows(table, frame)
        return table
    _add_rows(table, frame.head(most_rows // 2))
    table.add_row(*["..."] * frame.width)
    _add_rows(table, frame.tail(most_rows - most_rows // 2))
    return table


def draw_columns(columns: pl.DataFrame) -> Table:
    """Draw what each column of a table takes on disk, and the total.

    Parameters
    ----------
    columns
        One row per partition and column, as ``table.info()`` gives them: column, type, compression,
        plain_bytes, stored_bytes. Partitions are added up.
    """
    table = empty_table(
        ["column", "type", "compression", "plain", "stored", "ratio"], numbers=["plain", "stored", "ratio"]
    )
    together = columns.group_by("column", maintain_order=True).agg(
        pl.col("type").first(),
        pl.col("compression").unique(maintain_order=True).str.join(" | "),
        pl.col("plain_bytes", "stored_bytes").sum(),
    )
    for name, kind, compression, plain, stored in together.iter_rows():
        table.add_row(name, kind, compression, *_sizes(plain, stored))
    table.add_section()
    plain, stored = (sum(together[name]) for name in ("plain_bytes", "stored_bytes"))
    table.add_row("total", "", "", *_sizes(plain, stored), style="bold")
    return table


def _sizes(plain: int, stored: int) -> Sequence[str]:
    return bytes_text(plain), bytes_text(stored), ratio_text(plain, stored)


def _add_rows(table: Table, frame: pl.DataFrame) -> None:
    texts = frame.with_columns(
        (~selectors.float() & ~selectors.temporal()).cast(pl.String).fill_null(""),
        selectors.temporal().cast(pl.String).str.replace(r"\.0+$", "").fill_null(""),
    )
    for row in texts.iter_rows():
        table.add_row(*(value if isinstance(value, str) else _float_text(value) for value in row))


def _float_text(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"
