"""The only place that makes threads: ingest, compression and queries all map over this pool."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from colonnade.errors import PlanError

Item = TypeVar("Item")
Result = TypeVar("Result")


def default_threads() -> int:
    """Give the number of threads to use: ``COLONNADE_THREADS``, or the cores this process may run on."""
    text = os.environ.get("COLONNADE_THREADS")
    if text is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise PlanError(f"COLONNADE_THREADS is {text!r}; expected a whole number from 1")
    return int(text)


def map_ordered(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int | None = None,
    ahead: int | None = None,
    stopped: threading.Event | None = None,
) -> Iterator[Result]:
    """Apply a function to items on several threads; yield the results in the order of the items.

    At most ``ahead`` items are under way or waiting, twice as many as threads by default, so memory stays
    bounded; a larger number keeps all threads busy beside an item that takes long. One thread runs in the
    caller and makes no pool. The first error stops what has not begun and is raised; ``stopped``
    is set then, or when the caller is interrupted, so that long work under way can end by itself.
    """
    count = threads or default_threads()
    if count == 1:
        yield from map(function, items)
        return
    remaining = iter(items)
    with ThreadPoolExecutor(count, thread_name_prefix="colonnade") as pool:
        pending: list[Future[Result]] = [
            pool.submit(function, item) for item in islice(remaining, ahead or 2 * count)
        ]
        try:
            while pending:
                result = pending.pop(0).result()
                pending += [pool.submit(function, item) for item in islice(remaining, 1)]
                yield result
        finally:
            if stopped is not None:
                stopped.set()
            for future in pending:
                future.cancel()
