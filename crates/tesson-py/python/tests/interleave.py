"""Two threads: one stops between two lines while the other runs, at each line in turn, so that nothing depends on time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import tesson

PACKAGE = str(Path(tesson.__file__).parent)


def interleaved(prepare: Callable[[], tuple[Callable[[], Any], Callable[[], Any]]]) -> Iterator[tuple[Any, Any]]:
    """The results of two functions, once for each line of Tesson that the first one runs.

    There it stops, and the second one runs in another thread: until it has ended, or waits for a lock of the first one.
    Each time `prepare` makes both anew.
    """
    line = 0
    while (results := _stopped(prepare, line)) is not None:
        yield results
        line += 1
    assert line > 0


def _stopped(prepare: Callable[[], tuple[Callable[[], Any], Callable[[], Any]]], line: int) -> tuple[Any, Any] | None:
    """The results where the first function stops at this line; ``None`` if it runs fewer."""
    settled = threading.Event()
    results: list[Any] = []
    passed = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            if passed == line:
                thread.start()
                assert settled.wait(60)
            passed += 1
        return trace

    with mock.patch("threading.RLock", lambda: _Lock(settled)):
        one, other = prepare()

        def run() -> None:
            try:
                results.append(other())
            except BaseException as error:
                results.append(error)
            settled.set()

        thread, before = threading.Thread(target=run), sys.gettrace()
        sys.settrace(trace)
        try:
            result = one()
        finally:
            sys.settrace(before)
    if passed <= line:
        return None
    thread.join(60)
    if isinstance(results[0], BaseException):
        raise results[0]
    return result, results[0]


class _Lock:
    """A lock that says when a thread begins to wait for it."""

    def __init__(self, waits: threading.Event) -> None:
        self._lock, self._waits = _RLock(), waits

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._waits.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_RLock = threading.RLock
