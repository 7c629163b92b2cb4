"""A lock for what the iterators of a dataset share, and counts of passes that threads begin."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from typing import Any


class Lock:
    """A lock that pickles, as a new one, and that no thread holds in the child of a fork."""

    def __init__(self) -> None:
        self._locks: dict[int, AbstractContextManager[bool]] = {}

    def held(self) -> AbstractContextManager[bool]:
        """This process' lock; a thread that holds it may take it again."""
        # The child inherits the parent's lock, maybe held by a thread that it does not have. `setdefault` is one step:
        # all threads get the same lock.
        process = os.getpid()
        return self._locks.get(process) or self._locks.setdefault(process, threading.RLock())

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, ()


class PassCount:
    """How many passes have begun. Of threads that begin passes at the same time, each has a number of its own."""

    def __init__(self) -> None:
        self.begun: int = 0
        self._lock = Lock()

    def begin(self) -> int:
        """The number of the pass that begins now."""
        with self._lock.held():
            self.begun += 1
            return self.begun - 1

    def set(self, begun: int) -> None:
        """Counts from this number of passes."""
        with self._lock.held():
            self.begun = begun
