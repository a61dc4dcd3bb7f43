"""The same answer to the last bit, however the table is stored, cut into parts, and worked on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import colonnade as cn
import strategies as ours
from colonnade import col
from colonnade.query import asof, general, prune
from databases import TICK_KEYS, bits, table_of
from reference.sums import LANES, LEAF_ROWS

ROWS = 30_000
STORED = (
    "plain", "plain@4KiB", "plain@1MiB", "bitpack", "bitpack@4KiB", "bitpack@1MiB",
    "pco:8@64KiB", "pco:4", "dict", "dict@4KiB", "runs@16KiB", "bytes+lz4", "dict+zstd:1@1MiB", "snappy",
    "gzip:1@4KiB", "qipc", "lz4@16KiB", "zstd:1", "zstd:-5@4KiB", "bitpack+lz4@64KiB", "bitpack+zstd:3@1MiB",
)  # fmt: skip
PIECES = (
    [(0, 10), (10, ROWS)],
    [(0, 10_000), (10_000, 20_000), (20_000, ROWS)],
    [(0, 29_990), (29_990, 29_995), (29_995, ROWS)],
)


def ticks(seed: int, *, rows: int = ROWS, symbols: int = 12) -> pl.DataFrame:
    """Give trades of two days: a few symbols hold most rows; prices do not add exactly."""
    random = np.random.default_rng(seed)
    start = 19_724 * ours.DAY_NS
    seconds = np.sort(random.integers(0, 2 * 86_400, rows))
    return pl.DataFrame(
        {
            "sym": random.choice(
                [f"S{n}" for n in range(symbols)], rows, p=random.dirichlet(np.ones(symbols))
            ),
            "time": (start + seconds * 1_000_000_000).astype("datetime64[ns]"),
            "price": np.round(random.normal(100, 30, rows), 2) + random.choice([0, 1e-9], rows, p=[0.9, 0.1]),
            "size": random.integers(1, 500, rows),
            "seq": np.arange(rows),
        }
    ).with_columns(
        price=pl.when(pl.col("seq") % 41 == 0).then(None).otherwise(pl.col("price")),
        size=pl.when(pl.col("seq") % 43 == 0).then(None).otherwise(pl.col("size")),
    )


@pytest.fixture(scope="module")
def trades() -> pl.DataFrame:
    return ticks(1)


@pytest.fixture(scope="module")
def quotes() -> pl.DataFrame:
    return ticks(2).rename({"price": "bid", "size": "bid_size", "seq": "number"})


def answers(trade: cn.Table, quote: cn.Table, **options) -> dict[str, list]:
    """Ask everything once."""
    numbers = {
        "n": cn.len(), "total": col("price").sum(), "mean": col("price").mean(),
        "vwap": col("price").wavg(col("size")), "low": col("price").min(), "last": col("price").last(),
        "volume": col("size").sum(),
    }  # fmt: skip
    busy = trade.where(col("size") > 250)
    queries = {
        "rows": trade.select("sym", "time", "price", "size", "seq"),
        "some rows": busy.select("sym", "time", value=col("price") * col("size")),
        "bars": trade.bars("10m"),
        "groups": trade.group_by("sym", col("time").bucket("1h")).agg(**numbers),
        "busy groups": busy.group_by("sym", col("time").bucket("1h")).agg(**numbers),
        "by size": trade.group_by("size").agg(**numbers),
        "all": trade.group_by().agg(**numbers),
        "join": trade.asof_join(quote, by="sym", on="time"),
        "busy join": busy.asof_join(quote, by="sym", on="time", tolerance="5m"),
    }
    return {name: bits(query.collect(**options)) for name, query in queries.items()}


@pytest.fixture(scope="module")
def expected(trades, quotes, tmp_path_factory) -> dict[str, list]:
    folder = tmp_path_factory.mktemp("expected")
    trade = table_of(folder, trades, compression="plain", **TICK_KEYS)
    quote = table_of(folder, quotes, table="quote", compression="plain", **TICK_KEYS)
    return answers(trade, quote, threads=1)


def assert_same(found: dict[str, list], expected: dict[str, list]) -> None:
    assert [name for name in expected if found[name] != expected[name]] == []


@pytest.mark.parametrize("compression", STORED)
def test_compressions_change_no_bit(trades, quotes, expected, tmp_path, compression):
    trade = table_of(tmp_path, trades, compression=compression, **TICK_KEYS)
    quote = table_of(tmp_path, quotes, table="quote", compression=compression, **TICK_KEYS)

    assert_same(answers(trade, quote), expected)


def test_columns_compressed_each_its_own_way_change_no_bit(trades, quotes, expected, tmp_path):
    mixed = {"default": "auto", "price": "bitpack@4KiB", "time": "zstd:1@1MiB", "size": "lz4", "bid": "plain"}
    trade_keys = {name: spec for name, spec in mixed.items() if name != "bid"}
    quote_keys = {name: spec for name, spec in mixed.items() if name not in ("price", "size")}

    trade = table_of(tmp_path, trades, compression=trade_keys, **TICK_KEYS)
    quote = table_of(tmp_path, quotes, table="quote", compression=quote_keys, **TICK_KEYS)

    assert_same(answers(trade, quote), expected)


@pytest.mark.parametrize("pieces", PIECES, ids=len)
def test_parts_change_no_bit(trades, quotes, expected, tmp_path, pieces):
    trade = table_of(tmp_path, trades, pieces=pieces, **TICK_KEYS)
    quote = table_of(tmp_path, quotes, pieces=pieces, table="quote", **TICK_KEYS)

    assert_same(answers(trade, quote), expected)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_change_no_bit(trades, quotes, expected, tmp_path, threads):
    trade = table_of(tmp_path, trades, **TICK_KEYS)
    quote = table_of(tmp_path, quotes, table="quote", **TICK_KEYS)

    assert_same(answers(trade, quote, threads=threads), expected)


@pytest.fixture
def cut(monkeypatch):
    """Cut tasks at this many rows, which must be no less than the rows of a symbol, or whole leaves."""

    def cut_at(task_rows: int) -> None:
        monkeypatch.setattr(prune, "TASK_ROWS", task_rows)
        monkeypatch.setattr(prune.cut_spans, "__defaults__", (task_rows,))

    return cut_at


@pytest.mark.parametrize("task_rows", [12_000, 20_000])
def test_task_cuts_change_no_bit(trades, quotes, expected, tmp_path, cut, task_rows):
    trade = table_of(tmp_path, trades, **TICK_KEYS)
    quote = table_of(tmp_path, quotes, table="quote", **TICK_KEYS)
    cut(task_rows)

    found = answers(trade, quote, threads=2)

    assert len(trade.select("seq").tasks()) > 1
    assert_same(found, expected)


@pytest.mark.parametrize("pieces", [[(0, ROWS)], PIECES[1]], ids=len)
def test_kernel_calls_that_end_early_change_no_bit(trades, quotes, expected, tmp_path, monkeypatch, pieces):
    trade = table_of(tmp_path, trades, pieces=pieces, compression="bitpack@4KiB", **TICK_KEYS)
    quote = table_of(tmp_path, quotes, pieces=pieces, table="quote", **TICK_KEYS)
    monkeypatch.setattr(general, "_ROW_BUDGET", 1)
    monkeypatch.setattr(general, "_OUT_ROWS", 16)
    monkeypatch.setattr(asof, "_ROW_BUDGET", 1)

    assert_same(answers(trade, quote), expected)


def test_a_symbol_of_several_leaves_is_summed_by_the_rule(tmp_path, cut):
    rows = 2 * LEAF_ROWS + 12_345
    random = np.random.default_rng(3)
    prices = np.round(random.normal(50, 20, rows), 2) + random.normal(0, 1e-7, rows)
    chosen = random.random(rows) < 0.7
    frame = pl.DataFrame(
        {
            "sym": ["A"] * rows,
            "time": np.arange(rows).astype("datetime64[ns]"),
            "price": prices,
            "kept": chosen,
        }
    )
    table = table_of(tmp_path, frame, compression="bitpack", **TICK_KEYS)
    every, some = 0.0, 0.0
    for start in range(0, rows, LEAF_ROWS):
        leaf = slice(start, start + LEAF_ROWS)
        every += lanes(prices[leaf])
        some += lanes(prices[leaf][chosen[leaf]])

    for threads, leaves in ((1, 4), (2, 1), (7, 2)):
        cut(leaves * LEAF_ROWS)
        by_symbol = table.group_by("sym").agg(total=col("price").sum()).collect(threads=threads)
        filtered = (
            table.where(col("kept")).group_by("sym").agg(total=col("price").sum()).collect(threads=threads)
        )
        assert by_symbol["total"].to_list() == [every]
        assert filtered["total"].to_list() == [some]


def lanes(values: np.ndarray) -> float:
    """Sum one leaf: lane k holds every eighth value from k on, added one by one."""
    padded = np.concatenate([values, np.zeros(-len(values) % LANES)]).reshape(-1, LANES)
    one_by_one = np.add.accumulate(padded, axis=0)[-1] if len(padded) else np.zeros(LANES)
    pairs = one_by_one[0::2] + one_by_one[1::2]
    return float((pairs[0] + pairs[1]) + (pairs[2] + pairs[3]))
