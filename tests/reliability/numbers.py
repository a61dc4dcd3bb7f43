"""How much the tests do: in every run, and under the marker `long`; `docs/reliability.md` says so.

`STRIDE` numbers are "one in so many".
"""

from __future__ import annotations

from typing import Final

KILLED_ROUNDS: Final = (20, 200)
POWER_CUTS: Final = (5, 40)  # on each file system
FAULT_STRIDE: Final = (29, 1)  # of an append; the long run is that of `FAULTS_OF_EVERY_CALL`
FAULTS_OF_EVERY_CALL: Final = ("append", "recompress")
OTHER_STRIDE: Final = 5
BIT_STRIDE: Final = (127, 1)
LENGTH_STRIDE: Final = (31, 1)
READER_SECONDS: Final = (2, 30)
WRITER_APPENDS: Final = (10, 100)  # of each of two writers
LARGE_ROWS: Final = (50_000, 1_000_000)  # in each of two dates
COPIES: Final = (2, 40)
RACE_CHANGES: Final = (20, 500)  # of each of three writers
