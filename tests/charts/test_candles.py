"""Candles of characters, held against small bars drawn by hand."""

import datetime as dt

import polars as pl
import pytest

from colonnade.charts import draw_candles


def make_bars(
    prices: list[tuple[float, float, float, float]], volume: list[int] | None = None
) -> pl.DataFrame:
    minutes = [dt.time(9 + (30 + number) // 60, (30 + number) % 60) for number in range(len(prices))]
    frame = pl.DataFrame(prices, schema=["open", "high", "low", "close"], orient="row")
    return frame.with_columns(time=pl.Series(minutes), volume=pl.Series(volume or [100] * len(prices)))


def columns_of(text: str, margin: int) -> list[str]:
    lines = [line[margin:] for line in text.splitlines()]
    return [
        "".join(line[column : column + 1] or " " for line in lines) for column in range(max(map(len, lines)))
    ]


def test_candle_shows_body_between_open_and_close_and_wick_to_high_and_low():
    bars = make_bars([(2.0, 4.0, 1.0, 3.0), (1.0, 4.0, 1.0, 4.0)])

    text = draw_candles(bars, time="time", lines=2, volume_lines=0, unicode=True).plain

    assert [line[-2:] for line in text.splitlines()[:2]] == ["╽┃", "╿┃"]


def test_ascii_picture_tells_rise_from_fall_and_has_no_other_characters():
    bars = make_bars([(1.0, 4.0, 1.0, 4.0), (4.0, 4.0, 1.0, 1.0)])

    text = draw_candles(bars, time="time", lines=2, volume_lines=1, unicode=False).plain

    assert text.isascii()
    assert [line[-2:] for line in text.splitlines()[:2]] == ["#o", "#o"]


def test_picture_never_leaves_the_width():
    bars = make_bars([(100.0 + i % 7, 108.0 + i % 5, 99.0, 101.0 + i % 3) for i in range(390)])
    for width in (30, 80, 120):
        text = draw_candles(bars, time="time", width=width).plain
        assert max(map(len, text.splitlines())) <= width


def test_neighbours_are_joined_when_there_are_more_bars_than_columns():
    bars = make_bars([(1.0, 2.0, 1.0, 2.0), (2.0, 9.0, 2.0, 3.0)] * 40)

    text = draw_candles(bars, time="time", width=60, lines=4).plain

    drawn = text.splitlines()[0].split("┤")[1]
    assert len(drawn) == 40  # 80 bars, two a candle


def test_volumes_are_drawn_in_proportion_to_the_largest():
    bars = make_bars([(1.0, 2.0, 1.0, 2.0)] * 3, volume=[0, 50, 100])

    text = draw_candles(bars, time="time", lines=1, volume_lines=1).plain

    assert text.splitlines()[1].endswith(" ▄█")


def test_times_stand_below_the_bars_they_name():
    bars = make_bars([(1.0, 2.0, 1.0, 2.0)] * 30)

    text = draw_candles(bars, time="time").plain

    axis, first_line = text.splitlines()[-1], text.splitlines()[0]
    assert axis.index("09:30") == first_line.index("┤") + 1
    assert axis.index("09:42") - axis.index("09:30") == 12


@pytest.mark.parametrize(
    "bars", [make_bars([]), make_bars([(float("nan"),) * 4])], ids=["none", "not finite"]
)
def test_nothing_to_draw_is_said(bars):
    assert "no bars" in draw_candles(bars.cast({"open": pl.Float64}), time="time").plain


@pytest.mark.parametrize("price", [0.0, -37.63, 1e9, 1e-4])
def test_one_price_all_day_is_drawn(price):
    text = draw_candles(make_bars([(price,) * 4] * 3), time="time").plain

    assert "┃┃┃" in text or "╻╻╻" in text or "╹╹╹" in text


@pytest.mark.parametrize(("count", "said"), [(70, False), (90, True)])
def test_joined_neighbours_are_said(count, said):
    text = draw_candles(make_bars([(1.0, 2.0, 1.0, 2.0)] * count), time="time", width=80).plain

    assert ("2 bars a candle" in text) == said


def test_bars_of_several_days_are_labelled_with_their_days():
    bars = make_bars([(1.0, 2.0, 1.0, 2.0)] * 2).with_columns(
        time=pl.Series([dt.datetime(2024, 1, 2, 16), dt.datetime(2024, 1, 3, 9)])  # noqa: DTZ001 - wall clock
    )

    assert "01-02" in draw_candles(bars, time="time").plain
    assert "09:00" in draw_candles(bars.tail(1), time="time").plain
