"""Bars as candles in a terminal: prices above, volumes below.

A line of text holds two steps of price, told apart by half-length strokes:

```
 44.61 ┤  ╷
       │  ┃╷ ╷
 44.40 ┤╷╷╿┃╽┃
       │┃┃│ ╵╹
```

Where only ASCII can be shown, a body is ``#`` for a rise and ``o`` for a fall, and a wick ``|``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import polars as pl
from rich.text import Text

_UP, _DOWN, _AXIS = "green", "red", "dim"
_NOTHING, _WICK, _BODY = 0, 1, 2
_STROKES: Final = {  # (upper half, lower half) of a character
    (_NOTHING, _NOTHING): " ",
    (_WICK, _WICK): "│",
    (_BODY, _BODY): "┃",
    (_WICK, _BODY): "╽",
    (_BODY, _WICK): "╿",
    (_NOTHING, _WICK): "╷",
    (_WICK, _NOTHING): "╵",
    (_NOTHING, _BODY): "╻",
    (_BODY, _NOTHING): "╹",
}
_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_LINES_PER_LABEL: Final = 4
_COLUMNS_PER_TIME: Final = 12
_PRICES: Final = ("open", "high", "low", "close")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Prices to steps, two a line, from the bottom."""

    low: float
    high: float
    lines: int

    def step(self, price: float) -> int:
        if self.high <= self.low:
            return self.lines
        return round((price - self.low) / (self.high - self.low) * (2 * self.lines - 1))

    def price(self, line: int) -> float:
        """Give the price in the middle of a line; lines count from the bottom."""
        if self.high <= self.low:
            return self.low
        return self.low + (2 * line + 0.5) / (2 * self.lines - 1) * (self.high - self.low)


@dataclass(frozen=True, slots=True)
class _Candle:
    label: str
    open: float
    high: float
    low: float
    close: float
    volume: float

    @property
    def colour(self) -> str:
        return _UP if self.close >= self.open else _DOWN

    def half(self, step: int, scale: _Scale) -> int:
        """Say what lies at a step: nothing, wick or body."""
        bottom, top = sorted((scale.step(self.open), scale.step(self.close)))
        if bottom <= step <= top:
            return _BODY
        return _WICK if scale.step(self.low) <= step <= scale.step(self.high) else _NOTHING

    def stroke(self, line: int, scale: _Scale, *, unicode: bool) -> str:
        upper, lower = self.half(2 * line + 1, scale), self.half(2 * line, scale)
        if unicode:
            return _STROKES[upper, lower]
        if _BODY in (upper, lower):
            return "#" if self.close >= self.open else "o"
        return "|" if _WICK in (upper, lower) else " "


def draw_candles(
    bars: pl.DataFrame,
    *,
    time: str,
    width: int = 80,
    lines: int = 14,
    volume_lines: int = 3,
    unicode: bool = True,
) -> Text:
    """Draw bars of one symbol as candles.

    Parameters
    ----------
    bars
        Columns open, high, low, close, volume, and the time; ascending.
    time
        Name of the time column.
    width
        Columns of text. Where there are more bars than fit, neighbours are drawn as one.
    lines, volume_lines
        Lines for the prices and for the volumes below them.
    unicode
        Whether line and block characters can be shown.
    """
    known = bars.filter(pl.all_horizontal(pl.col(_PRICES).is_finite()))
    if known.is_empty():
        return Text("no bars to draw\n")
    low, high = known["low"].min(), known["high"].max()
    scale = _Scale(_number(low), _number(high), lines)
    digits = _digits(scale)
    margin = max(len(f"{scale.low:,.{digits}f}"), len(f"{scale.high:,.{digits}f}"))
    together = -(-known.height // max(1, width - margin - 3))
    candles = _candles(_merged(known, time, together), time)
    picture = Text()
    for line in range(lines - 1, -1, -1):
        labelled = (lines - 1 - line) % _LINES_PER_LABEL == 0 or line == 0
        label = f"{scale.price(line):,.{digits}f}" if labelled else ""
        _draw_axis(picture, label.rjust(margin), ticked=labelled, unicode=unicode)
        for candle in candles:
            picture.append(candle.stroke(line, scale, unicode=unicode), candle.colour)
        picture.append("\n")
    _draw_volumes(picture, candles, margin, volume_lines, unicode=unicode)
    _draw_times(picture, candles, margin)
    if together > 1:
        picture.append(f"{' ' * (margin + 2)}{together} bars a candle\n", _AXIS)
    return picture


def _draw_axis(picture: Text, label: str, *, ticked: bool, unicode: bool) -> None:
    stroke = ("┤" if ticked else "│") if unicode else ("+" if ticked else "|")
    picture.append(f"{label} {stroke}", _AXIS)


def _draw_volumes(picture: Text, candles: list[_Candle], margin: int, lines: int, *, unicode: bool) -> None:
    most = max(candle.volume for candle in candles) or 1.0
    for line in range(lines - 1, -1, -1):
        label = _short_number(most) if line == lines - 1 else "vol" if line == 0 else ""
        _draw_axis(picture, label.rjust(margin), ticked=line == lines - 1, unicode=unicode)
        for candle in candles:
            eighths = round(candle.volume / most * lines * 8) - line * 8
            filled = min(max(eighths, 0), 8)
            picture.append(_EIGHTHS[filled] if unicode else " .:#"[(filled + 2) // 3], candle.colour)
        picture.append("\n")


def _draw_times(picture: Text, candles: list[_Candle], margin: int) -> None:
    axis = ""
    for column in range(0, len(candles), _COLUMNS_PER_TIME):
        label = candles[column].label
        if column + len(label) <= max(len(candles), len(label)):
            axis = axis.ljust(column) + label
    picture.append(" " * (margin + 2) + axis + "\n", _AXIS)


def _merged(bars: pl.DataFrame, time: str, together: int) -> pl.DataFrame:
    """Join neighbours, so many to one."""
    if together == 1:
        return bars
    groups = pl.int_range(pl.len()) // together
    return bars.group_by(groups.alias("group"), maintain_order=True).agg(
        pl.col(time).first(),
        pl.col("open").first(),
        pl.col("high").max(),
        pl.col("low").min(),
        pl.col("close").last(),
        pl.col("volume").sum(),
    )


def _candles(bars: pl.DataFrame, time: str) -> list[_Candle]:
    form = _label(bars[time])
    labels = bars[time].cast(pl.String) if form is None else bars[time].dt.strftime(form)
    shown = bars.select(pl.col(name).cast(pl.Float64).fill_null(0) for name in (*_PRICES, "volume"))
    return [_Candle(label, *row) for label, row in zip(labels, shown.iter_rows(), strict=True)]


def _label(times: pl.Series) -> str | None:
    """Give the form of the labels: times of day, or days where there are several; None for plain text."""
    if times.dtype == pl.Time:
        return "%H:%M"
    if not isinstance(times.dtype, pl.Datetime):
        return None
    return "%H:%M" if times.dt.date().n_unique() == 1 else "%m-%d"


def _digits(scale: _Scale) -> int:
    """Give the decimals that tell the lines of a picture apart: 2 as prices have, or more."""
    step = (scale.high - scale.low) / (2 * scale.lines) or abs(scale.high)
    return min(max(2, -math.floor(math.log10(step))), 8) if step else 2


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _short_number(value: float) -> str:
    """Give at most five characters: ``1.2M``, ``340k``."""
    for suffix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"
