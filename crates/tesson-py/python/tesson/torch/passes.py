"""Where the passes of worker processes begin and end."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from multiprocessing import RawArray
from multiprocessing.context import get_spawning_popen
from typing import Any

import numpy as np

from ..errors import UsageError

__all__ = ["Passes"]


class Passes:
    """The progress of worker processes, in memory that they share with the process that starts them.

    A loader starts new workers for each iteration, from the dataset of the main process, which never learns what the
    previous workers have read. All of them read everything, so each can tell where the next pass begins.
    """

    #: Most workers, and most bytes of a position.
    WORKERS, ROOM = 1024, 2**15

    def __init__(self) -> None:
        # Not tensors: filling large ones starts the threads of OpenMP, and a process that is forked after that waits for them for ever.
        self._share(RawArray("b", 8 * 3 * (self.WORKERS + 1) + 2 * self.ROOM))
        # A worker that was started before has an older number than the memory.
        self._beginning = 0
        #: Of a worker: its identification in its row.
        self._owner = 0

    def _share(self, memory: Any) -> None:
        """Uses this memory."""
        self._memory = memory
        everything = np.frombuffer(memory, np.uint8)
        # Row w: passes that worker w has ended, 1 if it is inside one, and the process that counts there: a worker of a dropped
        # iteration may live on. The last row: number of workers, and how often the main process has restarted.
        self._counts = everything[: -2 * self.ROOM].view(np.int64).reshape(self.WORKERS + 1, 3)
        # Where an even pass begins, and an odd one: no worker begins a pass before all have begun the one before. A text that
        # ends with 0.
        self._places = everything[-2 * self.ROOM :].reshape(2, self.ROOM)

    def __getstate__(self) -> dict[str, Any]:
        # Spawned workers get the same memory; copies that pickle makes get their own.
        memory = self._memory if get_spawning_popen() is not None else bytes(self._memory)
        return {"memory": memory, "beginning": self._beginning, "owner": self._owner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        memory = state["memory"]
        self._share(RawArray("b", memory) if isinstance(memory, bytes) else memory)
        self._beginning, self._owner = state["beginning"], state["owner"]

    def number(self, worker: int) -> int:
        """The number of the pass that comes next, or in which the worker is."""
        return int(self._counts[worker, 0])

    @property
    def have_begun(self) -> bool:
        """True if worker processes have begun a pass since the main process read."""
        return self._workers() != 0

    def start(self, worker: int, workers: int) -> dict[str, Any] | None:
        """The position at which the worker's next pass begins; None for that of the dataset."""
        is_inside = bool(self._counts[worker, 1])
        return None if is_inside or self._workers() not in (0, workers) else self._place(self.number(worker))

    def begin(self, worker: int, workers: int, is_resumed: bool) -> None:
        """Record that the worker begins a pass, or continues the one that it has loaded."""
        if self._is_old() or (not self._is_owner(worker) if is_resumed else self._counts[worker, 1]):
            raise UsageError(_LEFT)
        if self._workers() not in (0, workers):
            raise UsageError(
                f"found {workers} workers, but the iteration before had {self._workers()}: call "
                "dataset.load_state_dict(dataset.state_dict()) before the number of workers changes"
            )
        self._counts[self.WORKERS, 0] = workers
        self._own(worker)
        self._counts[worker, 1] = 1

    def end(self, worker: int, number: int, position: Mapping[str, Any]) -> None:
        text = json.dumps(position).encode() + b"\0"
        if len(text) > self.ROOM:
            raise UsageError(f"the state of the source takes {len(text)} bytes, workers can share {self.ROOM}; use num_workers=0")
        if self._is_old() or not self._is_owner(worker):
            return
        following = number + 1
        self._places[following % 2, : len(text)] = np.frombuffer(text, np.uint8)
        self._counts[worker, 0] = following
        self._counts[worker, 1] = 0

    def load(self, worker: int, workers: int, number: int) -> None:
        """The worker resumes inside the pass of this number."""
        self._own(worker)
        self._counts[self.WORKERS, 0] = workers
        self._counts[worker, 0] = number
        self._counts[worker, 1] = 1

    def position(self) -> dict[str, Any] | None:
        """Where the next pass begins, if there have been passes, for the main process."""
        counts = self._counts[: self._workers()]
        if bool(counts[:, 1].any()) or len(set(counts[:, 0].tolist())) > 1:
            raise UsageError(_LEFT)
        return self._place(self.number(0))

    def clear(self) -> None:
        """Record that the main process resumes from the position of its own source."""
        self._beginning += 1
        self._counts[:] = 0
        self._counts[self.WORKERS, 1] = self._beginning

    def _own(self, worker: int) -> None:
        # Process ids are reused.
        self._owner = secrets.randbits(62)
        self._counts[worker, 2] = self._owner

    def _is_owner(self, worker: int) -> bool:
        return self._owner == int(self._counts[worker, 2])

    def _is_old(self) -> bool:
        return self._beginning != int(self._counts[self.WORKERS, 1])

    def _workers(self) -> int:
        return int(self._counts[self.WORKERS, 0])

    def _place(self, number: int) -> dict[str, Any] | None:
        if number == 0:
            return None
        text = self._places[number % 2].tobytes()
        position: dict[str, Any] = json.loads(text[: text.index(0)])
        return position


#: The error where workers had read ahead and it is unknown how many of their minibatches were used.
_LEFT = (
    "an iteration in worker processes was left before its end, or goes on, and what of it was used is not known here: resume from "
    "a state of StatefulDataLoader, load a state of the dataset and make a new loader, or use num_workers=0"
)
