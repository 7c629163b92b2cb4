"""The shards of a pass as Hugging Face iterates over them, with states that record what they belong to."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from datasets.iterable_dataset import ExamplesIterable  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .errors import ResumeError

__all__ = ["Shards", "ShardedExamples"]


class Shards(Protocol):
    """The examples of a pass, in runs of equal length."""

    epoch: int
    examples_per_shard: int
    #: The state at the beginning of the data, in a dictionary that `json` can write.
    start: dict[str, Any]

    def __call__(self, begins: Iterable[int]) -> Iterator[Any]:
        """The examples of the shards that begin at these positions."""

    def check(self, state: dict[str, Any]) -> None:
        """Raises :class:`ResumeError` for the state of other data."""


class ShardedExamples(ExamplesIterable):  # type: ignore[misc, unused-ignore]
    """Examples of some shards. Hugging Face's own class counts shards and examples, whatever they are of."""

    #: The key in a state for what it belongs to, as one text: a dictionary would be merged into the present one.
    OF = "tesson"

    def __init__(self, shards: Shards, begins: list[int]) -> None:
        super().__init__(shards.__call__, {"begins": begins})
        self._shards = shards

    def _init_state_dict(self) -> dict[str, Any]:
        self._state_dict = {**super()._init_state_dict(), self.OF: json.dumps(self._identity())}
        return self._state_dict

    def _identity(self) -> dict[str, Any]:
        begins = self.kwargs["begins"]
        # Each worker and node has its own shards.
        shards = [len(begins), zlib.crc32(json.dumps(begins).encode())]
        return {"epoch": self._shards.epoch, "examples_per_shard": self._shards.examples_per_shard, "shards": shards, "data": self._shards.start}

    def __iter__(self) -> Iterator[Any]:
        if self._state_dict:
            # Only here, because the value with which it is resumed is written into the state.
            self._check(self._state_dict)
        yield from super().__iter__()

    def _check(self, state: dict[str, Any]) -> None:
        """Refuses a state of anything else."""
        own = self._identity()
        try:
            found = json.loads(state[self.OF])
            is_own = state["type"] == type(self).__name__ and found.keys() == own.keys()
        except (AttributeError, TypeError, ValueError):
            is_own = False
        counts = [state["shard_idx"], state["shard_example_idx"]]
        if not is_own or not all(type(count) is int and count >= 0 for count in counts):
            what = f"found the state {state!r}, expected what state_dict() of such a dataset returned"
            raise ResumeError(what, code="resume.unreadable")
        for name in ("epoch", "examples_per_shard"):
            if found[name] != own[name]:
                what = f"the state is that of {name}={found[name]}, found {own[name]}"
                raise ResumeError(what, what=name, state=str(found[name]), source=str(own[name]))
        if found["data"] != own["data"]:
            self._shards.check(found["data"])
        if found["shards"] != own["shards"]:
            what = "the state is that of other shards; resume with as many workers and nodes as it was saved with, and with the same shuffle"
            raise ResumeError(what, what="shards", state=str(found["shards"]), source=str(own["shards"]))

    # Hugging Face's own class makes others of itself.

    def shuffle_data_sources(self, *arguments: Any, **keywords: Any) -> ShardedExamples:
        """Put the shards into another order."""
        return self._of(super().shuffle_data_sources(*arguments, **keywords))

    def shard_data_sources(self, *arguments: Any, **keywords: Any) -> ShardedExamples:
        """Some of the shards."""
        return self._of(super().shard_data_sources(*arguments, **keywords))

    def reshard_data_sources(self) -> ShardedExamples:
        """Return the shards unchanged: they are not divided."""
        return self

    def _of(self, chosen: Any) -> ShardedExamples:
        return ShardedExamples(self._shards, chosen.kwargs["begins"])
