"""Checks that a call lets other threads run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def calls_until_another_thread_ran(call: Callable[[], object], most: int) -> int:
    """How often `call` had to be called until another thread came to run Python; `most` if it never did."""
    go, ran = threading.Event(), []

    def other() -> None:
        go.wait()
        ran.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    interval = sys.getswitchinterval()
    # From here on a thread runs Python only where another one lets it.
    sys.setswitchinterval(1e6)
    try:
        go.set()
        calls = 0
        while not ran and calls < most:
            call()
            calls += 1
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    return calls
