"""Frames to pictures made of characters."""

from colonnade.charts.candles import draw_candles

__all__ = ["draw_candles"]
