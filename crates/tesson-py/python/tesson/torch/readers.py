"""Readers of a dataset's minibatches: of a source, or of passes over a prepared dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
# Types are checked where PyTorch is not installed, too.
import torch  # type: ignore[import-not-found, unused-ignore]

from ..errors import ConfigError
from ..minibatch import Minibatch
from ..source import MinibatchSource
from ..tfds import Dataset
from ..tfds.operations.node import Traversal
from ..world import resolve_world
from .layouts import StreamLayout, tensor_makers

__all__ = ["Readable", "Reader", "ReaderOptions", "reader_of"]

#: The types that can be read.
Readable = MinibatchSource | Dataset[Any]


class ReaderOptions:
    """How a reader makes batches of tensors."""

    def __init__(
        self, size: int | None, layouts: Mapping[str, StreamLayout] | None, dtype: torch.dtype | None, world: Any
    ) -> None:
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise ConfigError(f"dtype: found {dtype!r}, expected a floating-point type such as torch.bfloat16", path="dtype")
        if layouts is not None and not isinstance(layouts, Mapping):
            what = f"found {layouts!r}, expected the layout of each stream by its name, such as {{'labels': 'classes'}}"
            raise ConfigError(f"layouts: {what}", path="layouts")
        self.size: int | None = size
        self.layouts: dict[str, StreamLayout] = dict(layouts or {})
        self.dtype: torch.dtype | None = dtype
        self.world: Any = world


class Reader(Protocol):
    """Batches, pass by pass, and the place between them."""

    #: True if the pass has ended with the last batch read.
    ended: bool

    def read(self) -> Any:
        """The next batch; None if the pass has none left."""

    def tensors(self, batch: Any) -> Any:
        """A batch as tensors."""

    def put_back(self, batch: Any) -> None:
        """Go back to before the batch that was read last."""

    def state(self) -> dict[str, Any]:
        """The position after the last batch, in a dictionary that `json` can write."""

    def behind(self, batch: Any) -> Callable[[], dict[str, Any]]:
        """A function that returns the position after this batch, even when others have been read after it."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go to a place."""

    def of_every_pass(self) -> int | None:
        """How many batches each pass has, if that is one number and known."""

    def left(self, taken: int) -> int | None:
        """The number of batches that the pass has left after `taken` ones, if it is known."""


def reader_of(given: Readable | Callable[[], Readable], options: ReaderOptions, reopens: bool = False) -> Reader:
    """A reader of a dataset's source, opened again for another process if it `reopens`."""
    read = given if isinstance(given, (MinibatchSource, Dataset)) else given()
    if isinstance(read, MinibatchSource):
        return SourceReader(read._reopened() if reopens and read is given else read, options)
    if isinstance(read, Dataset):
        return PreparedReader(read, options)
    raise ConfigError(f"source: the function returned {read!r}, expected a MinibatchSource or a tesson.tfds.Dataset", path="source")


class SourceReader:
    """Minibatches of a source. A pass is a sweep where the source has no end, else all that is left."""

    def __init__(self, source: MinibatchSource, options: ReaderOptions) -> None:
        if options.world is not None:
            raise ConfigError("world: a source has ranks of its own; give it world=…", path="world")
        self._source, self._size = source, options.size
        self._makers = tensor_makers(options.layouts, source.streams, options.dtype)
        self._is_infinite = source.is_infinite()
        self.ended: bool = False

    def read(self) -> Minibatch | None:
        minibatch = self._source.next_minibatch(self._size)
        # No calls from here on: an interrupt in one would lose the minibatch.
        batch = minibatch._batch
        if batch is None:
            return None
        self.ended = self._is_infinite and batch.sweeps_ended > 0
        return minibatch

    def tensors(self, batch: Minibatch) -> dict[str, Any]:
        return {name: make(batch[name]) for name, make in self._makers}

    def put_back(self, batch: Minibatch) -> None:
        self._source._put_back(batch)

    def state(self) -> dict[str, Any]:
        return self._source.get_checkpoint_state()

    def behind(self, batch: Minibatch) -> Callable[[], dict[str, Any]]:
        # Only an empty minibatch has none, and it is not delivered.
        return lambda: batch.state or {}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._source.restore_from_checkpoint(state)
        self.ended = False

    def of_every_pass(self) -> int | None:
        size = self._constant_size()
        return None if size is None else self._source._source.steps_of_every_sweep(size, *self._source._share)

    def left(self, taken: int) -> int | None:
        size = self._constant_size()
        return None if size is None else self._source._source.steps_left(size, *self._source._share)

    def _constant_size(self) -> int | None:
        return self._source._source.default_sizes().constant() if self._size is None else self._size


class PreparedReader:
    """Elements of a prepared dataset, or minibatches of its examples."""

    def __init__(self, dataset: Dataset[Any], options: ReaderOptions) -> None:
        if options.layouts:
            raise ConfigError("layouts: those are for streams of a source, found a prepared dataset, which has arrays", path="layouts")
        if options.world is not None and options.size is None:
            raise ConfigError("world: ranks share minibatches; give minibatch_size, or call shard() of the dataset", path="world")
        self._dataset, self._size, self._dtype = dataset, options.size, options.dtype
        self._rank, self._ranks = (0, 1) if options.world is None else resolve_world(options.world)[:2]
        self._pass: Traversal[Any] | None = None
        self.ended: bool = False

    def _begun(self) -> Traversal[Any]:
        """The pass, which counts as begun once something of it is read."""
        if self._pass is None:
            self._pass = self._new_pass()
        return self._pass

    def _new_pass(self) -> Traversal[Any]:
        if self._size is not None:
            return self._dataset.minibatches(self._size, num_data_partitions=self._ranks, partition_index=self._rank)
        elements: Traversal[Any] = iter(self._dataset)
        return elements

    def read(self) -> Any:
        for batch in self._begun():
            return batch
        self._pass = None
        return None

    def tensors(self, batch: Any) -> Any:
        if isinstance(batch, Mapping):
            return {name: self.tensors(value) for name, value in batch.items()}
        if isinstance(batch, tuple):
            return tuple(map(self.tensors, batch))
        # Strings, ragged features and nested datasets have no tensor.
        if not isinstance(batch, (np.ndarray, np.generic)) or batch.dtype.kind not in "biufc":
            return batch
        values = torch.from_numpy(np.asarray(batch))
        return values.to(self._dtype) if self._dtype is not None and values.is_floating_point() else values

    def put_back(self, batch: Any) -> None:
        self._begun().put_back()

    def state(self) -> dict[str, Any]:
        return self._begun().state_dict()

    def behind(self, batch: Any) -> Callable[[], dict[str, Any]]:
        state = self.state()
        return lambda: state

    def restore(self, state: Mapping[str, Any]) -> None:
        # Not a new pass: it would count as begun, also if the state is refused.
        self._begun().load_state_dict(state)

    def of_every_pass(self) -> int | None:
        elements = self._dataset.cardinality()
        return None if elements < 0 else elements if self._size is None else math.ceil(elements / self._size)

    def left(self, taken: int) -> int | None:
        whole = self.of_every_pass()
        return None if whole is None else max(0, whole - taken)
