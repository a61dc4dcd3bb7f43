"""Tables of characters, read back line by line."""

import io

import polars as pl
import pytest
from rich.console import Console

from colonnade.charts import bytes_text, draw_columns, draw_frame, ratio_text


def printed(table, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


INFO = pl.DataFrame(
    {
        "partition": ["2024-01-02", "2024-01-02", "2024-01-03", "2024-01-03"],
        "column": ["time", "finra_adf_market_participant_quote_indicator"] * 2,
        "type": ["time", "symbol"] * 2,
        "compression": ["bitpack", "zstd:3", "plain", "zstd:3"],
        "plain_bytes": [8_000_000, 1_000, 8_000_000, 1_000],
        "stored_bytes": [2_000_000, 500, 2_000_000, 0],
    }
)


def test_columns_are_added_up_over_partitions_and_name_every_compression():
    lines = printed(draw_columns(INFO))

    time = next(line for line in lines if line.split()[:1] == ["time"])
    assert time.split() == ["time", "time", "bitpack", "|", "plain", "16.0", "MB", "4.0", "MB", "4.00"]


def test_total_is_the_last_line():
    last = [line for line in printed(draw_columns(INFO)) if line.strip()][-1]

    assert last.split() == ["total", "16.0", "MB", "4.0", "MB", "4.00"]


@pytest.mark.parametrize("width", [80, 120])
def test_tables_keep_to_the_width_and_never_cut_numbers(width):
    lines = printed(draw_columns(INFO), width)

    assert max(map(len, lines)) <= width
    assert any(line.split()[-5:] == ["2.0", "kB", "500", "B", "4.00"] for line in lines)


def test_long_frame_shows_its_first_and_last_rows():
    lines = printed(draw_frame(pl.DataFrame({"row": range(100)}), most_rows=4))

    assert [line.strip() for line in lines if line.strip().isdigit()] == ["0", "1", "98", "99"]


def test_short_frame_shows_every_row_once():
    lines = printed(draw_frame(pl.DataFrame({"row": range(4)}), most_rows=4))

    assert [line.strip() for line in lines if line.strip().isdigit()] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (173_727_582, "173.7 MB"), (2_100_000_000, "2.1 GB")],
)
def test_bytes_are_given_in_decimal_units(count, text):
    assert bytes_text(count) == text


def test_ratio_is_plain_over_stored_and_a_dash_without_bytes():
    assert ratio_text(400, 100) == "4.00"
    assert ratio_text(0, 0) == "-"


def test_times_are_never_cut_and_floats_have_eight_digits():
    frame = pl.DataFrame(
        {"sym": ["AVERYLONGNAME" * 5], "time": [34_200_000_000_000], "vwap": [11.692639934785676]}
    )

    lines = printed(draw_frame(frame.with_columns(pl.col("time").cast(pl.Time))), width=40)

    assert lines[-1].endswith("09:30:00  11.69264")
