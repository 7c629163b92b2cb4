"""Minibatches that are planned, not read: which sequences they hold, and where a key comes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KeyDelivery", "PlannedSequence", "PlannedStep"]


class PlannedSequence(NamedTuple):
    """A sequence of a minibatch, and its position."""

    #: The worker that delivers it.
    rank: int
    key: int | str
    sweep: int
    #: Its place in the corpus, both counted from 0.
    chunk: int
    sequence: int
    #: Its samples in the minibatch, from and to, by counted length.
    samples: tuple[int, int]
    #: The file of the sequence, and its bytes there, from and to; ``None`` for data that are not in a file.
    file: str | None
    bytes: tuple[int, int] | None


class PlannedStep(NamedTuple):
    """A minibatch as it was or will be delivered; sequences that turn out to be invalid are among its sequences."""

    step: int
    sweep_end: bool
    sequences: list[PlannedSequence]

    @property
    def keys(self) -> list[int | str]:
        """The keys of the sequences, in their order."""
        return [sequence.key for sequence in self.sequences]


class KeyDelivery(NamedTuple):
    """A minibatch that a sequence comes in."""

    step: int
    rank: int
    sweep: int
    chunk: int
    sequence: int
