"""Types, shapes and units of the compiled kernels; checked against the built module by stubtest."""

from typing import Final

__all__ = ["IS_DEBUG_BUILD"]

IS_DEBUG_BUILD: Final[bool]
