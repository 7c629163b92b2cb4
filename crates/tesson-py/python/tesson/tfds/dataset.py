"""Datasets: orders of examples with operations on them, iterators with exact states, random access."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _tesson
from . import seeds

# Examples that one call reads, at most, and about how many bytes of them.
_MOST = 512
_BYTES = 4 << 20


@dataclass(frozen=True)
class Request:
    """What is read, and how: the form that is understood below, and what becomes of examples."""

    split: Any
    shuffle_files: bool
    read_config: dict[str, Any]
    ops: tuple[dict[str, Any], ...] = ()
    global_seed: int | None = None
    features: list[str] | None = None
    raw: list[str] = field(default_factory=list)
    on_damage: str = "fail"
    supervised: Any = None

    def reading(self) -> dict[str, Any]:
        """What decides the order."""
        names = ("split", "shuffle_files", "read_config", "ops", "global_seed")
        return {name: getattr(self, name) for name in names}

    def reader(self, prepared: _tesson.PreparedDataset) -> _tesson.ExampleReader:
        """A reader at the beginning."""
        return prepared.reader(self.reading(), self.features, self.raw, self.on_damage)

    @property
    def with_ids(self) -> bool:
        """Whether examples have their ids."""
        return bool(self.read_config["add_tfds_id"])

    def shaped(self, example: Any) -> Any:
        """An example as the user wants it: whole, or the features of ``as_supervised``."""
        return example if self.supervised is None else _supervised(self.supervised, example)


def _supervised(keys: Any, example: dict[str, Any]) -> Any:
    if isinstance(keys, str):
        return example[keys]
    if isinstance(keys, dict):
        return {name: _supervised(of, example) for name, of in keys.items()}
    return tuple(_supervised(of, example) for of in keys)


class Dataset:
    """Examples of a split in TFDS' order; iterate over it, or add operations.

    Operations return new datasets and leave this one as it is. Iterating again is the next pass, as in ``tf.data``: files and
    examples are shuffled anew, unless ``reshuffle_each_iteration`` is false.

    Examples are dictionaries of NumPy values: scalars and arrays of the feature's type, byte strings as ``bytes`` (arrays of
    them have dtype ``object``), :class:`Ragged`, :class:`NestedDataset`.
    """

    def __init__(self, prepared: _tesson.PreparedDataset, request: Request) -> None:
        self._prepared = prepared
        self._request = request
        self._stream: _tesson.Stream | None = None
        self._random: _tesson.ExampleReader | None = None
        self._last: DatasetIterator | MinibatchIterator | None = None
        self._listed = 0

    def _with(self, **op: Any) -> Dataset:
        request = dataclasses.replace(self._request, ops=(*self._request.ops, op))
        dataset = Dataset(self._prepared, request)
        # What cannot be is said at once.
        dataset._order()
        return dataset

    def shuffle(
        self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool | None = None
    ) -> Dataset:
        """Draw each example from a buffer of so many."""
        reshuffle = reshuffle_each_iteration is not False
        seed = seeds.draw() if seed is None else seed
        op = {"buffer_size": buffer_size, "seed": seed, "reshuffle_each_iteration": reshuffle}
        return self._with(shuffle=op)

    def repeat(self, count: int | None = None) -> Dataset:
        """So many passes, one after the other; without a number for ever."""
        return self._with(repeat=-1 if count is None else count)

    def skip(self, count: int) -> Dataset:
        """All but the first examples."""
        return self._with(skip=count)

    def take(self, count: int) -> Dataset:
        """The first examples only."""
        return self._with(take=count)

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Every ``num_shards``-th example, from ``index`` on."""
        return self._with(shard={"num_shards": num_shards, "index": index})

    def _order(self) -> _tesson.Stream:
        if self._stream is None:
            self._stream = self._prepared.stream(self._request.reading())
        return self._stream

    def ids(self, epoch: int | None = None) -> np.ndarray:
        """The order itself, from the plan alone: for each example its number in its split.

        No shard is opened, and none needs to exist. Each call is the next pass; ``epoch`` chooses one. Iterating is not
        moved by it.
        """
        return self._order().ids(self._traversal(epoch))

    def tfds_ids(self, epoch: int | None = None) -> list[str]:
        """The same as ids of examples: the file of each, and its number in that."""
        return self._order().tfds_ids(self._traversal(epoch))

    def _traversal(self, epoch: int | None) -> int:
        if epoch is not None:
            return epoch
        self._listed += 1
        return self._listed - 1

    def __iter__(self) -> DatasetIterator:
        after = None if self._last is None else self._last.state_dict()
        iterator = DatasetIterator(self._request.reader(self._prepared), self._request, after)
        self._last = iterator
        return iterator

    def __len__(self) -> int:
        """Examples of an iteration."""
        length = self._order().length()
        if length is None:
            raise TypeError("the dataset has no end: take() some of it")
        return length

    def __getitem__(self, i: int) -> Any:
        """The ``i``-th example of the first pass, read alone."""
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"example {i} of {n}")
        if self._random is None:
            self._random = self._request.reader(self._prepared)
        return self._request.shaped(self._random.read_nth(i % n, self._request.with_ids)[0])

    def minibatches(
        self,
        size: int,
        *,
        num_data_partitions: int = 1,
        partition_index: int = 0,
        drop_remainder: bool = False,
    ) -> MinibatchIterator:
        """Examples many at a time: a dictionary with an array for each feature, ``[examples, *shape]``.

        Parameters
        ----------
        size : int
            Examples over all workers; fewer at the end.
        num_data_partitions, partition_index : int
            Number of workers, and whose share this is. A worker has every ``num_data_partitions``-th example of each
            minibatch, so the minibatches of all workers together do not depend on their number.
        drop_remainder : bool
            Whether a smaller minibatch at the end is left out.

        Returns
        -------
        MinibatchIterator
            One pass. Where examples differ in shape, arrays are padded at their ends with 0, ``b""`` or false; ragged features
            and nested datasets are lists with a value for each example. ``state_dict()`` is exact behind each
            minibatch, and the same on every worker.
        """
        after = None if self._last is None else self._last.state_dict()
        share = (num_data_partitions, partition_index)
        reader = self._request.reader(self._prepared)
        iterator = MinibatchIterator(reader, self._request, after, size, share, drop_remainder)
        self._last = iterator
        return iterator

    @property
    def seeds(self) -> dict[str, Any]:
        """The seeds of all shuffles, those that were drawn among them: with them the same order comes again."""
        ops = [op["shuffle"]["seed"] for op in self._request.ops if "shuffle" in op]
        return {"shuffle_seed": self._request.read_config.get("shuffle_seed"), "ops": ops}

    def __repr__(self) -> str:
        ops = "".join(f".{name}({of})" for op in self._request.ops for name, of in op.items())
        return f"<Dataset {self._request.split!r}{ops}>"


class DatasetIterator(Iterator[Any]):
    """One pass over a dataset. ``state_dict()`` says where it stands, exactly, in a handful of integers."""

    def __init__(self, reader: _tesson.ExampleReader, request: Request, after: dict[str, Any] | None = None) -> None:
        self._reader = reader
        self._request = request
        if after is not None:
            reader.begin(after)
        self._forget()

    def _forget(self) -> None:
        """Forgets examples that were read and not taken."""
        self._examples: list[Any] = []
        self._taken = 0
        self._next = 1
        self._failed: BaseException | None = None
        self._ended = False

    def __next__(self) -> Any:
        if self._taken == len(self._examples) and not self._read():
            raise StopIteration
        example = self._examples[self._taken]
        self._taken += 1
        return self._request.shaped(example)

    def _read(self) -> bool:
        """Reads on; false at the end. What is wrong is raised when all examples before it are taken."""
        if self._failed is not None:
            raise self._failed
        if self._ended:
            return False
        self._examples, self._failed = self._reader.read(self._next, self._request.with_ids)
        self._taken = 0
        if not self._examples:
            self._ended = self._failed is None
            return self._read()
        each = max(self._reader.batch_bytes() // len(self._examples), 1)
        self._next = max(1, min(self._next * 8, _MOST, _BYTES // each))
        return True

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator stands: restored, here or in another process, it goes on with the next example.

        The state is a small dictionary that ``json`` can write. It belongs to this split, read in this order: another one
        refuses it, and says what differs.
        """
        return self._reader.state(None if self._ended else self._taken)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to where a state was taken."""
        self._reader.restore(state)
        self._forget()

    @property
    def skipped(self) -> int:
        """Records left out because they are damaged (``on_damage="skip"``)."""
        return self._reader.skipped()


class MinibatchIterator(Iterator[Any]):
    """One pass over a dataset, many examples at a time."""

    def __init__(
        self,
        reader: _tesson.ExampleReader,
        request: Request,
        after: dict[str, Any] | None,
        size: int,
        share: tuple[int, int],
        drop_remainder: bool,
    ) -> None:
        if size < 1:
            raise ValueError(f"found size={size}, expected at least one example")
        self._reader = reader
        self._request = request
        self._size = size
        self._share = share
        self._drop_remainder = drop_remainder
        if after is not None:
            reader.begin(after)

    def __next__(self) -> Any:
        batch, examples = self._reader.read_batch(self._size, *self._share, self._request.with_ids)
        if examples == 0 or (self._drop_remainder and examples < self._size):
            raise StopIteration
        return self._request.shaped(batch)

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator stands; another number of workers may go on from there."""
        return self._reader.state(None)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to where a state was taken."""
        self._reader.restore(state)


class DataSource:
    """Examples by their places in the split, in the order of its files."""

    def __init__(self, prepared: _tesson.PreparedDataset, request: Request) -> None:
        self._request = request
        self._reader = request.reader(prepared)

    def __len__(self) -> int:
        return self._reader.split_length()

    def __getitem__(self, i: int) -> Any:
        return self.__getitems__([i])[0]

    def __getitems__(self, places: list[int]) -> list[Any]:
        """Several at once."""
        n = len(self)
        for place in places:
            if not -n <= place < n:
                raise IndexError(f"example {place} of {n}")
        places = [int(place) % n for place in places]
        return [self._request.shaped(e) for e in self._reader.read_at(places, self._request.with_ids)]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))
