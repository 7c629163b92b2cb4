"""Batches in pinned memory, made ahead of the loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

# Types are checked where PyTorch is not installed, too.
import torch  # type: ignore[import-not-found, unused-ignore]
from torch.nn.utils.rnn import PackedSequence  # type: ignore[import-not-found, unused-ignore]

__all__ = ["Ahead", "Made", "can_pin", "pinned"]


class Made(NamedTuple):
    """A batch, and the position after it."""

    #: None: the pass has none left.
    batch: Any
    state: dict[str, Any]
    #: True if the pass ends with it.
    ended: bool


class Ahead:
    """Makes one batch while the loop uses the one before, on a thread: also for the GPU's copy, which then needs no CPU."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tesson-pinning")
        self._next: Future[Made] | None = self._thread.submit(make)

    def take(self) -> Made | None:
        """The next batch; None once the pass is over, or :meth:`stop` was called."""
        if self._next is None:
            return None
        made = self._next.result()
        is_over = made.batch is None or made.ended
        self._next = None if is_over else self._thread.submit(self._make)
        return made

    def settle(self) -> int:
        """Wait until nothing is being made. Returns how many batches were made last and stay, to be taken."""
        if self._next is None:
            return 0
        wait([self._next])
        return int(self._next.exception() is None and self._next.result().batch is not None)

    def stop(self) -> None:
        """Wait until nothing is being made. A batch that was made and not taken is dropped."""
        self._next = None
        self._thread.shutdown(cancel_futures=True)


def can_pin() -> bool:
    """True if there is an accelerator with a driver that pins memory; warns if there is none."""
    if torch.accelerator.is_available():
        return True
    warnings.warn("pin_memory=True: found no accelerator to copy to, so memory is not pinned", stacklevel=4)
    return False


def pinned(batch: Any) -> Any:
    """A batch with its tensors in pinned memory."""
    if isinstance(batch, (torch.Tensor, PackedSequence)):
        return batch.pin_memory()
    if isinstance(batch, dict):
        return {name: pinned(value) for name, value in batch.items()}
    if isinstance(batch, tuple):
        parts = map(pinned, batch)
        # A named tuple takes its fields one by one.
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    return [pinned(value) for value in batch] if isinstance(batch, list) else batch
