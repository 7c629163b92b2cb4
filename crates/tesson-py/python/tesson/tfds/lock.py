"""A lock for data that the iterators of a dataset share, and counts of passes that threads begin."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from typing import Any


class Process:
    """A process: the child of a fork is another one. Comparing is free, where asking the system takes as long as an element."""


_process: Process = Process()
_renewing = threading.Lock()


def this_process() -> Process:
    """The process that calls."""
    return _process


def _forked() -> None:
    global _process, _renewing
    _process, _renewing = Process(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Lock:
    """A lock that pickles, as a new one, and that no thread holds in the child of a fork."""

    def __init__(self) -> None:
        self.process: Process = _process
        """That of this lock; once :meth:`held` was called, the one that calls."""
        self._lock: AbstractContextManager[bool] = threading.RLock()

    def held(self) -> AbstractContextManager[bool]:
        """This process' lock; a thread that holds it may take it again."""
        if self.process is not _process:
            self._renew()
        return self._lock

    def _renew(self) -> None:
        # The child inherits the parent's lock, maybe held by a thread that it does not have.
        with _renewing:
            if self.process is not _process:
                self._lock = threading.RLock()
                self.process = _process

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, ()


class PassCount:
    """The number of passes that have begun. Threads that begin passes at the same time get different numbers."""

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
