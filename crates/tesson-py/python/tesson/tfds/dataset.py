"""Datasets: orders of examples with operations on them, iterators with exact states, random access."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _tesson
from . import seeds

# In the child of a fork, readers of the parent say so instead of waiting for threads that are not there.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tesson.forked)


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
    scales: list[tuple[str, int]] = field(default_factory=list)
    on_damage: str = "fail"
    supervised: Any = None
    marks_absent: bool = False
    threads: int = 0
    memory_limit: int | str | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """What decides the order."""
        names = ("split", "shuffle_files", "read_config", "ops", "global_seed")
        return {name: getattr(self, name) for name in names}

    @property
    def with_ids(self) -> bool:
        """Whether examples have their ids."""
        return bool(self.read_config["add_tfds_id"])


class Prepared:
    """A prepared dataset as it was opened: what pickles hold of one is where it is."""

    def __init__(self, directories: list[str], file_format: str | None) -> None:
        self.directories = directories
        self.file_format = file_format
        self.native = _tesson.PreparedDataset(directories, file_format)

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, (self.directories, self.file_format)


class Dataset:
    """Examples of a split in TFDS' order; iterate over it, or add operations.

    Operations return new datasets and leave this one as it is. Iterating again is the next pass, as in ``tf.data``: files and
    examples are shuffled anew, unless ``reshuffle_each_iteration`` is false.

    Examples are dictionaries of NumPy values: scalars and arrays of the feature's type, byte strings as ``bytes`` (arrays of
    them have dtype ``object``), :class:`Ragged`, :class:`NestedDataset`. Arrays are writable, and nobody else's; those of
    examples that were read together share one piece of memory, which lives as long as one of them.

    A dataset pickles: it is opened anew where it arrives, and the passes that were begun count on.

    >>> ds = tfds.builder_from_directory("digits/1.0.0").as_dataset("train")
    >>> next(iter(ds))
    {'label': np.int64(0)}
    >>> [batch["label"].tolist() for batch in ds.repeat(2).batch(3)]
    [[0, 1, 2], [3, 0, 1], [2, 3]]
    """

    def __init__(self, prepared: Prepared, request: Request) -> None:
        self._prepared = prepared
        self._request = request
        self._stream: _tesson.Stream | None = None
        self._random: RandomAccess | None = None
        self._last: DatasetIterator | MinibatchIterator | None = None
        self._after: dict[str, Any] | None = None
        self._listed = 0

    def __getstate__(self) -> tuple[Any, ...]:
        return self._prepared, self._request, self._passes(), self._listed

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        prepared, request, after, listed = state
        self.__init__(prepared, request)  # type: ignore[misc]
        self._after, self._listed = after, listed

    def _passes(self) -> dict[str, Any] | None:
        """A state of the last pass, which the next one comes behind."""
        return self._after if self._last is None else self._last.state_dict()

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
        seed = seeds.draw() if seed is None else seeds.narrow(seed)
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
            self._stream = self._prepared.native.stream(self._request.reading)
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
        after = self._passes()
        iterator = DatasetIterator(self._prepared.native, self._request)
        iterator.opened_as = (self._prepared, self._request)
        if after is not None:
            iterator.begin_after(after)
        self._last = iterator
        return iterator

    def seek(self, *place: int) -> DatasetIterator:
        """The pass that iterating would begin, from a position on: ``seek(position)``; or that of an epoch:
        ``seek(epoch, position)``.

        Both count from 0, and nothing that lies before is read. The pass after it is the next one, as behind any iterator.

        >>> ds = tfds.builder_from_directory("digits/1.0.0").as_dataset("train")
        >>> [int(example["label"]) for example in ds.seek(2)]
        [2, 3]
        """
        iterator = iter(self)
        iterator.seek(*place)
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
            self._random = RandomAccess(self._prepared, self._request)
        return self._random.reader().read_nth(i % n)[0]

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
        after = self._passes()
        share = (num_data_partitions, partition_index)
        iterator = MinibatchIterator(self._prepared, self._request, size, share, drop_remainder)
        if after is not None:
            iterator._reader.begin_after(after)
        self._last = iterator
        return iterator

    def batch(self, batch_size: int, drop_remainder: bool = False) -> BatchedDataset:
        """The same examples many at a time, as :meth:`minibatches` hands them out, in a dataset of batches.

        Unlike ``tf.data``'s ``batch`` it pads where examples differ in shape, as TFDS' ``batch_size`` does.
        """
        return BatchedDataset(self, batch_size, drop_remainder)

    def _everything(self) -> Any:
        """All examples in one batch."""
        return next(self.minibatches(max(len(self), 1)))

    @property
    def seeds(self) -> dict[str, Any]:
        """The seeds of all shuffles, those that were drawn among them: with them the same order comes again."""
        ops = [op["shuffle"]["seed"] for op in self._request.ops if "shuffle" in op]
        return {"shuffle_seed": self._request.read_config.get("shuffle_seed"), "ops": ops}

    def __repr__(self) -> str:
        ops = "".join(f".{name}({of})" for op in self._request.ops for name, of in op.items())
        return f"<Dataset {self._request.split!r}{ops}>"


@dataclass(frozen=True)
class BatchedDataset:
    """A dataset whose examples come many at a time; iterating over it is a pass of the dataset."""

    dataset: Dataset
    batch_size: int
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"found batch_size={self.batch_size}, expected at least one example")

    def __iter__(self) -> MinibatchIterator:
        return self.dataset.minibatches(self.batch_size, drop_remainder=self.drop_remainder)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole if self.drop_remainder or rest == 0 else whole + 1


class DatasetIterator(_tesson.ExampleIterator):
    """One pass over a dataset. ``state_dict()`` says where it stands, exactly, in a handful of integers.

    It is read from one thread at a time, others wait; after ``fork()`` the child is told to make its own, and can still ask
    for the state. Pickling takes dataset and state along.

    >>> ds = tfds.builder_from_directory("digits/1.0.0").as_dataset("train")
    >>> examples = iter(ds)
    >>> next(examples), examples.state_dict()["stream"]["delivered"]
    ({'label': np.int64(0)}, 1)
    """

    opened_as: tuple[Prepared, Request]

    def state_dict(self, rings: bool = False) -> dict[str, Any]:
        """Where the iterator stands: restored, here or in another process, it goes on with the next example.

        The state is a small dictionary that ``json`` can write. It belongs to this split, read in this order: another one
        refuses it, and says what differs. With ``rings`` it holds which examples wait in the buffers of shuffles, some
        bytes for each: without them, going there takes some nanoseconds for each example of the pass.
        """
        return self.state(rings)

    def load_state_dict(self, state: dict[str, Any], force: bool = False) -> None:
        """Go to where a state was taken; with ``force`` also if the shards have other names now."""
        self.restore(state, force)

    def seek(self, *place: int) -> None:
        """Go to a position in this pass, ``seek(position)``, or in another: ``seek(epoch, position)``."""
        self.go_to(*_place(place))

    @property
    def skipped(self) -> int:
        """Records left out because they are damaged (``on_damage="skip"``)."""
        return self.skipped_records()

    def __reduce__(self) -> tuple[Any, ...]:
        return _go_on, (self.opened_as, self.state_dict())


def _place(place: tuple[int, ...]) -> tuple[int | None, int]:
    """Epoch, if it is named, and position."""
    if len(place) not in (1, 2):
        raise TypeError(f"found {len(place)} numbers, expected a position, or an epoch and a position")
    if any(number < 0 for number in place):
        raise ValueError(f"found {place}, expected numbers from 0 on")
    return (None if len(place) == 1 else place[0]), place[-1]


def _go_on(opened_as: tuple[Prepared, Request], state: dict[str, Any]) -> DatasetIterator:
    """An iterator out of a pickle."""
    prepared, request = opened_as
    iterator = DatasetIterator(prepared.native, request)
    iterator.opened_as = opened_as
    iterator.load_state_dict(state)
    return iterator


class MinibatchIterator(Iterator[Any]):
    """One pass over a dataset, many examples at a time."""

    def __init__(
        self, prepared: Prepared, request: Request, size: int, share: tuple[int, int], drop_remainder: bool
    ) -> None:
        if size < 1:
            raise ValueError(f"found size={size}, expected at least one example")
        self._made_of = (prepared, request, size, share, drop_remainder)
        self._reader = _tesson.ExampleReader(prepared.native, request)

    def __next__(self) -> Any:
        _, _, size, share, drop_remainder = self._made_of
        batch, examples = self._reader.read_batch(size, *share)
        if examples == 0 or (drop_remainder and examples < size):
            raise StopIteration
        return batch

    def state_dict(self, rings: bool = False) -> dict[str, Any]:
        """Where the iterator stands; another number of workers may go on from there. ``rings`` as of examples' iterator."""
        return self._reader.state(rings)

    def load_state_dict(self, state: dict[str, Any], force: bool = False) -> None:
        """Go to where a state was taken; with ``force`` also if the shards have other names now."""
        self._reader.restore(state, force)

    def seek(self, *place: int) -> None:
        """Go to a position in this pass, ``seek(position)``, or in another: ``seek(epoch, position)``; in examples."""
        self._reader.go_to(*_place(place))

    @property
    def skipped(self) -> int:
        """Records left out because they are damaged (``on_damage="skip"``)."""
        return self._reader.skipped_records()

    def __getstate__(self) -> tuple[Any, ...]:
        return self._made_of, self.state_dict()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        made_of, position = state
        self.__init__(*made_of)  # type: ignore[misc]
        self.load_state_dict(position)


class RandomAccess:
    """A reader by places. It stands nowhere, so each process simply has its own: also behind a fork, and out of a pickle."""

    def __init__(self, prepared: Prepared, request: Request) -> None:
        self._made_of = (prepared, request)
        self._process = os.getpid()
        self._reader = _tesson.ExampleReader(prepared.native, request)

    def reader(self) -> _tesson.ExampleReader:
        """This process' reader."""
        if self._process != os.getpid():
            self.__init__(*self._made_of)  # type: ignore[misc]
        return self._reader

    def __reduce__(self) -> tuple[Any, ...]:
        return RandomAccess, self._made_of


class DataSource(Sequence[Any]):
    """Examples by their places in the split, in the order of its files.

    It pickles, and works in any number of threads and forked processes: a dataset for ``torch.utils.data.DataLoader``.
    Shards that are compressed as a whole, by gzip or zlib, are streams: places in them are refused.

    >>> source = tfds.builder_from_directory("digits/1.0.0").as_data_source("train[1:]")
    >>> len(source), source[-1], source[:2]
    (3, {'label': np.int64(3)}, [{'label': np.int64(1)}, {'label': np.int64(2)}])
    """

    def __init__(self, prepared: Prepared, request: Request) -> None:
        self._random = RandomAccess(prepared, request)

    def __len__(self) -> int:
        return self._random.reader().split_length()

    def __getitem__(self, i: Any) -> Any:
        """An example, or a list of those of a slice."""
        if isinstance(i, slice):
            return self.__getitems__(range(*i.indices(len(self))))
        return self.__getitems__([i])[0]

    def __getitems__(self, places: Iterable[int]) -> list[Any]:
        """Several at once."""
        n = len(self)
        found = []
        for place in places:
            if not -n <= place < n:
                raise IndexError(f"example {place} of {n}")
            found.append(int(place) % n)
        return self._random.reader().read_at(found)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))
