"""Answers over many parts whose rows alternate: the same as over one, bit for bit, in every compression."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import colonnade as cn
from colonnade import col
from colonnade.store.compact import compact
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
