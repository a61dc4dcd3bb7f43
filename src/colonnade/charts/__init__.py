"""Frames to pictures and tables made of characters."""

from colonnade.charts.candles import draw_candles
from colonnade.charts.tables import bytes_text, draw_columns, draw_frame, empty_table, ratio_text

__all__ = ["bytes_text", "draw_candles", "draw_columns", "draw_frame", "empty_table", "ratio_text"]
