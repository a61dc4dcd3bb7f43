"""Answers over many parts whose rows alternate: the same as over one, bit for bit, in every compression."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import colonnade as cn
from colonnade import col
from colonnade.maintenance.compact import compact
from colonnade.store.version import Addition, Edits
from databases import bits
from store.rows import DAY, new_table, trades, write

PARTS = 37  # more than kernels keep open at once


@pytest.fixture(params=["plain@4KiB", "zstd:1@4KiB", "bitpack", "pco", "dict", "runs+lz4"])
def table(request, tmp_path):
    random = np.random.default_rng(7)
    frames = [trades(700, seed=seed, symbols=9, start=seed * 700) for seed in range(PARTS)]
    frames = [frame.with_columns(price=pl.col("price") + float(random.random())) for frame in frames]
    store = new_table(tmp_path / "db", frames[0], compression=request.param)
    for frame in frames[1:]:
        part = write(store, frame, compression=request.param)
        store.commit(store.current(), Edits(appended={DAY: Addition((part,))}))
    return cn.open(tmp_path / "db")["trade"], store


def test_many_parts_answer_as_one_does(table):
    trade, store = table
    queries = [
        trade.group_by("sym", col("time").bucket("1ms")).agg(
            open=col("price").first(), high=col("price").max(), volume=col("size").sum()
        ),
        trade.where(col("size") > 1_000).group_by("sym").agg(mean=col("price").mean(), n=cn.len()),
        trade.group_by("size").agg(sum=col("price").sum(), last=col("price").last()),
        trade.where(sym="S003").select("time", "price", "cond"),
    ]
    before = [bits(query.collect()) for query in queries]

    compact(store, DAY)

    assert [bits(query.collect()) for query in queries] == before


def test_overlapping_parts_are_ordered_by_keys_beyond_int64(tmp_path):
    random = np.random.default_rng(3)
    keys = random.integers(2**63 - 40, 2**63 + 40, 300, dtype=np.uint64)
    frame = pl.DataFrame({"sym": random.choice(["a", "b"], 300), "seq": keys, "n": np.arange(300)})
    db = cn.create(tmp_path / "db")
    for start in range(0, 300, 100):
        rows = frame[start : start + 100]
        db.ingest("trade", rows, part_by="sym", sort_by="seq", date="2024-01-02", mode="append")

    found = db["trade"].select("n").collect()

    expected = frame.sort("sym", "seq", maintain_order=True).select("n")
    assert found.equals(expected)
