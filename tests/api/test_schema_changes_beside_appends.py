"""Rows that are appended by another process while columns come, go and change their types."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import polars as pl

import colonnade as cn
from api.appending import APPENDS, ROWS, append_all, rows
from colonnade import col


def test_no_row_is_lost_or_changed_while_columns_change_beside_appends(tmp_path: Path) -> None:
    database = cn.create(tmp_path / "db")
    database.ingest("trade", rows(0), part_by="sym", sort_by="time")
    trade = database["trade"]
    appender = multiprocessing.get_context("spawn").Process(target=append_all, args=(tmp_path / "db",))
    appender.start()
    rounds = 0
    while appender.is_alive() or rounds < 3:
        rounds += 1
        trade.cast_column("size", "int64")
        trade.add_column("venue", "symbol")
        trade.cast_column("size", "int16")
        trade.drop_column("venue")
        trade.cast_column("price", "float32")
        trade.cast_column("price", "float64")
        found = trade.group_by().agg(n=cn.len(), total=col("size").sum()).collect()
        assert found["n"].item() % ROWS == 0
        assert found["total"].item() == sum(range(found["n"].item() // ROWS)) * ROWS
    appender.join()

    assert appender.exitcode == 0
    expected = pl.concat([rows(number) for number in range(APPENDS)]).sort("sym", "time")
    found = trade.select("sym", "time", "size", "price").collect(symbols="string")
    assert found.equals(expected)
    assert database.verify().is_empty()
