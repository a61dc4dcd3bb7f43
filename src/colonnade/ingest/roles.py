"""Which column is the symbol, the time, the price: guessed from names, said by the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from colonnade.errors import SchemaError
from colonnade.ingest.description import folded
from colonnade.schema import ROLES, ColumnType

_NAMES: Final[dict[str, tuple[str, ...]]] = {  # folded names, the likeliest first
    "symbol": ("sym", "symbol", "ticker", "instrument", "instrumentid", "security", "secid", "pair", "root"),
    "time": (
        "time", "timestamp", "siptimestamp", "tsrecv", "tsevent", "ts", "datetime", "dt", "tradetime",
        "quotetime", "exchangetimestamp", "participanttimestamp", "localtimestamp", "t",
    ),
    "price": ("price", "tradeprice", "lastprice", "last", "px", "prc", "p"),
    "size": (
        "size", "tradevolume", "tradesize", "volume", "quantity", "qty", "amount", "shares", "vol", "sz",
    ),
    "bid": ("bid", "bidprice", "bidpx", "bidpx00", "bestbid", "bestbidprice", "bp"),
    "ask": (
        "ask", "askprice", "askpx", "askpx00", "offer", "offerprice", "ofr", "bestask", "bestaskprice", "ap",
    ),
    "bid_size": ("bidsize", "bidsz", "bidsz00", "bidsiz", "bsize", "bidqty", "bidquantity", "bidvolume"),
    "ask_size": (
        "asksize", "asksz", "asksz00", "asksiz", "asize", "askqty", "askquantity", "offersize", "ofrsiz",
        "askvolume",
    ),
    "exchange": ("exchange", "ex", "exch", "venue", "mic", "exchangeid"),
}  # fmt: skip


def guess_roles(columns: Mapping[str, ColumnType]) -> dict[str, str]:
    """Guess which column plays which role, by name and type; roles without a column are left out.

    Examples
    --------
    >>> guess_roles({"Ticker": ColumnType("symbol"), "TradePrice": ColumnType("float64")})
    {'symbol': 'Ticker', 'price': 'TradePrice'}
    """
    roles = {}
    for role, names in _NAMES.items():
        by_name = {folded(name): name for name, kind in columns.items() if _may_play(role, kind)}
        found = next((by_name[name] for name in names if name in by_name), None)
        if found is not None:
            roles[role] = found
    return roles


def is_symbol_name(name: str) -> bool:
    """Whether a column of this name is taken for the symbol."""
    return folded(name) in _NAMES["symbol"]


def complete_roles(
    columns: Mapping[str, ColumnType],
    *,
    part_by: str | None,
    sort_by: str | None,
    said: Mapping[str, str],
) -> dict[str, str]:
    """Give the roles of a table: what the user says, then the keys, then guesses.

    Raises
    ------
    SchemaError
        If a role or its column isn't known.
    """
    for role in said:
        if role not in ROLES:
            raise SchemaError(f"unknown role {role!r}; there are {', '.join(ROLES)}")
    roles = guess_roles(columns)
    if part_by is not None:
        roles["symbol"] = part_by
    if sort_by is not None and _may_play("time", columns[sort_by]):
        roles["time"] = sort_by
    return {role: column for role, column in {**roles, **said}.items() if column}


def _may_play(role: str, kind: ColumnType) -> bool:
    if role == "symbol":
        return kind.kind == "symbol"
    if role == "time":
        return kind.kind in ("timestamp", "time", "timespan", "date", "int64", "uint64")
    if role == "exchange":
        return kind.kind in ("symbol", "char", "string") or kind.kind.startswith(("int", "uint"))
    return kind.is_numeric or kind.kind == "decimal"
