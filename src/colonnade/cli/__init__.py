"""The command line: one file per command, and the only place that joins features."""

from colonnade.cli.app import main

__all__ = ["main"]
