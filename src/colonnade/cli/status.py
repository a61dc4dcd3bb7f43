"""Exit statuses of the program."""

from enum import IntEnum


class Status(IntEnum):
    """What the program tells the shell."""

    DONE = 0
    FAILED = 1
    WRONG_USAGE = 2
    NOTHING_TO_DO = 3
    INTERRUPTED = 130  # Ctrl-C, as shells number it
    BROKEN_PIPE = 141  # the reader of our output has gone, as shells number it
