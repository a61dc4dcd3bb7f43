"""The Rust border: native functions by name, and the layout in which a column reaches them."""

from __future__ import annotations

import warnings

from colonnade.kernels._native import IS_DEBUG_BUILD

if IS_DEBUG_BUILD:
    warnings.warn("colonnade's kernels are a debug build and slow; build with `make build`", stacklevel=2)

__all__ = ["IS_DEBUG_BUILD"]
