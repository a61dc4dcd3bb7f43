import pytest

from colonnade.errors import SourceError
from colonnade.ingest.description import ColumnDescription, SourceDescription
from colonnade.ingest.description_file import load_description, parse_description, shipped_formats

LEAN_FILES = {
    "equity/usa/tick/ibm/20131007_trade.zip": "equity-tick-trade",
    "equity_usa_tick_ibm_20131007_quote.zip": "equity-tick-quote",
    "forex/oanda/tick/eurusd/20140501_quote.zip": "forex-tick-quote",
    "future/comex/tick/gc/20131007_trade.zip": "future-tick-trade",
    "future_comex_gc_tick_20131007_trade.zip": "future-tick-trade",
    "future_eurex_minute_fesx_20240603_trade.zip": "future-trade-bars",
    "crypto/coinbase/second/btcusd/20161008_trade.zip": "crypto-trade-bars",
    "cryptofuture_dydx_minute_btcusd_20260101_quote.zip": "crypto-quote-bars",
    "equity_usa_daily_aapl.zip": "equity-daily-bars",
    "index_ose_minute_n225_20210114_trade.zip": "index-trade-bars",
}


@pytest.mark.parametrize(("path", "variant"), LEAN_FILES.items())
def test_lean_chooses_the_variant_by_the_file_name(path, variant):
    assert load_description("lean").select(f"/data/{path}").name == variant


def test_lean_takes_date_and_symbol_from_file_and_member_names():
    chosen = load_description("lean").select("future/comex/tick/gc/20131007_trade.zip")
    groups = chosen.groups_of("future/comex/tick/gc/20131007_trade.zip", "20131007_gc_tick_trade_201312.csv")
    assert chosen.fill(chosen.columns[0].value or "", groups, path="x") == "gc_201312"
    assert str(chosen.date_of(groups, path="x")) == "2013-10-07"


def test_nyse_taq_chooses_the_variant_by_file_name_header_or_table():
    taq = load_description("nyse-taq")
    trade_header = [c.header_name for c in taq.variants[0].columns]
    assert taq.select("EQY_US_ALL_TRADE_20240102.gz").name == "nyse-taq-trade"
    assert taq.select("splits_us_all_bbo_c_20240102.psv").name == "nyse-taq-quote"
    assert taq.select("renamed.psv", header=trade_header).name == "nyse-taq-trade"
    assert taq.select("renamed.psv", table="quote").name == "nyse-taq-quote"
    with pytest.raises(SourceError, match="nyse-taq-trade, nyse-taq-quote"):
        taq.select("renamed.psv", table="bars", header=["a", "b"])


def test_every_shipped_format_can_be_read():
    assert shipped_formats() == ["lean", "nyse-taq"]
    assert all(load_description(name).variants for name in shipped_formats())


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ({"layout": "HHMMSSmmm"}, "time"),
        ({"layout": "iso", "zone": "UTC"}, "timestamp[UTC]"),
        ({"layout": "%Y%m%d"}, "date"),
        ({"layout": "%H:%M:%S%.f"}, "time"),
        ({"layout": "%d.%m.%Y %H:%M"}, "timestamp"),
        ({"unit": "ms"}, "timestamp[UTC]"),
        ({"unit": "ms", "type": "timestamp"}, "timestamp"),
        ({"layout": "iso"}, "None"),
        ({"unit": "ms", "epoch": "midnight"}, "time"),
        (
            {"unit": "ms", "epoch": "midnight", "type": "timestamp", "zone": "Asia/Tokyo"},
            "timestamp[Asia/Tokyo]",
        ),
        ({"scale": 4}, "float64"),
        ({"value": "{symbol}"}, "symbol"),
    ],
)
def test_the_type_of_a_column_follows_from_how_it_is_written(column, kind):
    assert str(ColumnDescription("x", **column).column_type) == kind


@pytest.mark.parametrize(
    "text",
    [
        "kind = 'csv'",
        "delimiter = ';;'",
        "header = 'yes'",
        "colums = []",
        "columns = [{type = 'float64'}]",
        "columns = [{name = 'a', type = 'flaot'}]",
        "columns = [{name = 'a', unit = 'minutes'}]",
        "columns = [{name = 'a', layout = 'HHMM'}]",
        "columns = [{name = 'a', zone = 'Mars/Olympus'}]",
        "columns = [{name = 'a', scale = 99}]",
        "columns = [{name = 'a', scale = 4, type = 'int64'}]",
        "columns = [{name = 'a'}, {name = 'a'}]",
        "header = false",
        "kind = 'fixed'\ncolumns = [{name = 'a'}]",
        "file = '('",
        "[trailer]\npattern = '['",
        "[trailer]\nchek = true",
        "[table]\nroles = {prise = 'p'}",
        "null = [1]",
        "not toml",
    ],
)
def test_a_wrong_description_is_refused(text):
    with pytest.raises(SourceError):
        parse_description(text, name="mine")


def test_an_unknown_format_lists_the_shipped_ones():
    with pytest.raises(SourceError, match="'lean', 'nyse-taq'"):
        load_description("nyse-tak")


def test_a_variant_inherits_what_it_does_not_say():
    text = "delimiter = ';'\n[[variants]]\nname = 'a'\ntables = ['t']\ncolumns = [{name = 'x'}]"
    chosen = parse_description(text, name="mine").select("f.csv", table="t")
    assert isinstance(chosen, SourceDescription)
    assert chosen.delimiter == ";"


def test_unknown_key_of_a_column_lists_the_keys_as_they_are_written(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('columns = [{ name = "time", form = "Time" }]\n')

    with pytest.raises(SourceError, match=r"column 'time' of description 'mine' .*'form'.* name, from, type"):
        load_description(path)
