"""Every kind of source of rows passes the contract: texts and their compressions, Parquet, Arrow, frames."""

from __future__ import annotations

import gzip
import lzma
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from contracts.frame_source import FrameSourceContract, trades

try:
    from compression import zstd
except ImportError:
    from backports import zstd


class TestCsv(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        path = folder / "trades.csv"
        frame.write_csv(path)
        return path


class TestGzippedCsv(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        path = folder / "trades.csv.gz"
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
        return path


class TestZstdCsv(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        path = folder / "trades.csv.zst"
        path.write_bytes(zstd.compress(frame.write_csv().encode()))
        return path


class TestXzCsv(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        path = folder / "trades.csv.xz"
        path.write_bytes(lzma.compress(frame.write_csv().encode()))
        return path


class TestZippedCsv(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        path = folder / "trades.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("trades.csv", frame.write_csv())
        return path


class TestParquet(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        path = folder / "trades.parquet"
        frame.write_parquet(path)
        return path


class TestArrowFile(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        path = folder / "trades.arrow"
        frame.write_ipc(path)
        return path


class TestPolarsFrame(FrameSourceContract):
    is_file = False

    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:  # noqa: ARG003 - the contract's form
        return frame


class TestArrowTable(FrameSourceContract):
    is_file = False

    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:  # noqa: ARG003 - the contract's form
        pytest.importorskip("pyarrow")
        return frame.to_arrow()


class TestSeveralFiles(FrameSourceContract):
    @classmethod
    def write(cls, frame: pl.DataFrame, folder: Path) -> Any:
        half = frame.height // 2
        paths = [folder / "first.csv", folder / "second.csv"]
        frame[:half].write_csv(paths[0])
        frame[half:].write_csv(paths[1])
        return paths


def test_the_trades_of_the_contract_hold_what_it_speaks_of():
    frame = trades()

    assert frame.height - frame.unique().height == 1
    assert frame.null_count().row(0) == (0, 0, 1, 1, 1)
