"""How texts of options are read, and what is said of those that can't be."""

import pytest
import typer

from colonnade.cli.options import read_compressions, read_pairs, read_session


def test_compression_without_a_column_is_for_all_columns():
    assert read_compressions(["bitpack", "cond=zstd:3@128KiB"]) == {
        "default": "bitpack",
        "cond": "zstd:3@128KiB",
    }


def test_columns_that_are_not_named_are_auto():
    assert read_compressions(["price=bitpack"]) == {"default": "auto", "price": "bitpack"}
    assert read_compressions([]) == {"default": "auto"}


@pytest.mark.parametrize(
    "text", ["zstd:99", "price=nosuch", "bitpack@3KiB", "price=", "=bitpack", "bitpack+lz4+zstd"]
)
def test_compression_that_cannot_be_is_wrong_usage(text):
    with pytest.raises(typer.BadParameter):
        read_compressions([text])


@pytest.mark.parametrize("texts", [["price=bitpack", "price=plain"], ["plain", "bitpack"]])
def test_compression_given_twice_is_wrong_usage(texts):
    with pytest.raises(typer.BadParameter, match="twice"):
        read_compressions(texts)


def test_roles_are_pairs():
    assert read_pairs(["price=TradePrice", "size=Vol=ume"], "--role", "…") == {
        "price": "TradePrice",
        "size": "Vol=ume",
    }


def test_session_is_a_start_and_a_stop():
    assert read_session("09:30-16:00") == ("09:30", "16:00")
    assert read_session(None) is None


@pytest.mark.parametrize("text", ["09:30", "-16:00", "09:30-", "-", ""])
def test_session_without_start_or_stop_is_wrong_usage(text):
    with pytest.raises(typer.BadParameter, match="09:30-16:00"):
        read_session(text)
