"""The interface of all sources: those that read files and custom ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from .minibatch import MinibatchData
from .streams import StreamInformation, Streams

__all__ = ["Source"]


class Source(ABC):
    """Streams to look up, states to save and restore, and an end."""

    @property
    @abstractmethod
    def streams(self) -> Streams:
        """The streams, by name and as attributes: ``source.streams.features``."""

    def stream_info(self, name: str) -> StreamInformation:
        """The stream of this name.

        Raises
        ------
        KeyError
            There is none.
        """
        return self.streams[name]

    def __getitem__(self, name: str) -> StreamInformation:
        return self.streams[name]

    @abstractmethod
    def get_checkpoint_state(self) -> dict[str, Any]:
        """The state after the last minibatch delivered."""

    @abstractmethod
    def restore_from_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        """Resume from a state."""

    @abstractmethod
    def minibatches(self) -> Iterator[Mapping[Any, MinibatchData]]:
        """Iterate over minibatches."""

    def __iter__(self) -> Iterator[Mapping[Any, MinibatchData]]:
        """Iterate as :meth:`minibatches` does without arguments."""
        return self.minibatches()

    @abstractmethod
    def is_infinite(self) -> bool:
        """True if the data never end."""

    def state_dict(self) -> dict[str, Any]:
        """PyTorch's name for :meth:`get_checkpoint_state`."""
        return self.get_checkpoint_state()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """PyTorch's name for :meth:`restore_from_checkpoint`."""
        self.restore_from_checkpoint(state_dict)

    @property
    def current_position(self) -> dict[str, Any]:
        """The state, as :meth:`get_checkpoint_state` returns it; setting it restores."""
        return self.get_checkpoint_state()

    @current_position.setter
    def current_position(self, position: Mapping[str, Any]) -> None:
        self.restore_from_checkpoint(position)

    def close(self) -> None:
        """Release the files and memory of the source."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
