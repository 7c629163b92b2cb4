"""Datasets: orders of examples with operations on them, iterators with exact states, random access."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, cast

import numpy as np

from ..errors import ConfigError, UsageError
from ..transforms import AnyTransform
from . import operations, seeds
from .examples import Examples, MinibatchIterator, Prepared, RandomAccess, Request
from .operations.node import INFINITE_CARDINALITY, Node, T, Traversal, outermost
from .operations.structure import children, like
from .lock import PassCount


ELSEWHERE = {
    name: remedy
    for names, remedy in (
        ("flat_map interleave", "`map` to arrays of one length and `unbatch`, or read several splits as one"),
        ("apply", "call the function with the dataset"),
        ("reduce", "loop over the dataset"),
        ("take_while", "loop and break, or `filter`"),
        ("window group_by_window", "use `batch`"),
        ("bucket_by_sequence_length ragged_batch sparse_batch dense_to_ragged_batch", "use `padded_batch`"),
        ("options with_options", "the order is deterministic, and threads are an argument of `as_dataset`"),
        ("snapshot save", "`tfds.Writer` prepares a dataset from examples"),
        ("rebatch", "use `unbatch().batch(n)`"),
        ("scan unique rejection_resample", "each result would depend on all elements before it, which no small state holds"),
        ("from_tensor_slices from_tensors from_generator range random list_files", "elements come from prepared datasets: `tfds.load`"),
    )
    for name in names.split()
}
"""Missing operations of tf.data, with their replacements."""


class Dataset(Generic[T]):
    """Elements in TFDS' order: the examples of a split, and the results of operations on them.

    Operations are those of ``tf.data``. They return new datasets and do not change this one. Iterating again is the
    next pass: files and examples are shuffled again, unless ``reshuffle_each_iteration`` is false. Datasets that are
    derived from one count its passes together, so that ``ds.take(5)`` in a loop over epochs is the next pass each
    time.

    Examples are dictionaries of NumPy values: scalars and arrays of the feature's type, byte strings as ``bytes``
    (arrays of them have dtype ``object``), :class:`Ragged`, :class:`NestedDataset`. Arrays are writable and not
    shared with anything else; those of examples that were read together are parts of one block of memory, which lives
    as long as one of them.

    Iterators of all operations have ``state_dict()`` and ``load_state_dict()``, exact after each element. Functions given to
    :meth:`map` and :meth:`filter` must be pure. The arguments ``name``, ``num_parallel_calls`` and ``deterministic`` of
    ``tf.data`` are accepted and change nothing: the order is always the same.

    A dataset pickles: the copy opens the files again and continues the count of passes.

    >>> ds = tfds.builder_from_directory("digits/1.0.0").as_dataset("train")
    >>> next(iter(ds))
    {'label': np.int64(0)}
    >>> ds.map(lambda example: example["label"] * 10).filter(lambda n: n != 10).batch(2)
    <Dataset 'train'.map(<lambda>).filter(<lambda>).batch(2): an unknown number of elements>
    >>> [batch["label"].tolist() for batch in ds.repeat(2).batch(3)]
    [[0, 1, 2], [3, 0, 1], [2, 3]]
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._epoch: Epoch | None = None
        self._listed = PassCount()

    # Order

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset[T]:
        """Draw each element from a buffer of ``buffer_size``."""
        reshuffle = reshuffle_each_iteration is not False
        seed = seeds.draw() if seed is None else seeds.narrow_given(_whole("seed", seed))
        buffer_size = _whole("buffer_size", buffer_size)
        op = {"buffer_size": buffer_size, "seed": seed, "reshuffle_each_iteration": reshuffle}
        return self._ordered({"shuffle": op})

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset[T]:
        """Repeat the dataset ``count`` times; without a number endlessly."""
        count = -1 if count is None else _whole("count", count)
        return self._ordered({"repeat": count})

    def skip(self, count: int, name: str | None = None) -> Dataset[T]:
        """All but the first elements."""
        count = _whole("count", count)
        return self._ordered({"skip": count})

    def take(self, count: int, name: str | None = None) -> Dataset[T]:
        """The first elements only."""
        count = _whole("count", count)
        return self._ordered({"take": count})

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset[T]:
        """Every ``num_shards``-th element, from ``index`` on."""
        num_shards, index = _whole("num_shards", num_shards), _whole("index", index)
        return self._ordered({"shard": {"num_shards": num_shards, "index": index}})

    def prefetch(self, buffer_size: int | None = None, name: str | None = None) -> Dataset[T]:
        """Return the same elements: examples are always read ahead, as far as ``memory_limit`` allows."""
        return self._ordered({"prefetch": buffer_size})

    def _ordered(self, op: dict[str, Any]) -> Dataset[T]:
        """An operation on the order: a part of the plan, or of elements that have no numbers."""
        try:
            node = self._node.ordered(op)
            if node is None:
                node = operations.Shuffle(self._node, op, seeds.global_seed()) if "shuffle" in op else operations.Ordered(self._node, op)
        except ConfigError as error:
            if error.path != "ops":
                raise
            # The list of operations is no argument: the text names the operation and its argument.
            raise ConfigError(str(error).removeprefix("ops: ")) from None
        return Dataset(node)

    # Elements

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset[Any]:
        """A pure function of each element; a tuple's members are its arguments.

        It is called in the order of the elements. If it raises, ``next()`` tries the same element again.
        """
        return Dataset(operations.Map(self._node, _function("map_func", map_func)))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset[T]:
        """The elements for which a pure function is true; a tuple's members are its arguments."""
        return Dataset(operations.Filter(self._node, _function("predicate", predicate)))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset[tuple[np.int64, T]]:
        """Pairs of a number, from ``start`` on, and an element."""
        return Dataset(operations.Enumerate(self._node, _whole("start", start)))

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset[Any]:
        """Consecutive elements stacked into arrays of shape ``[elements, *shape]``.

        Ragged features and nested datasets are lists with a value for each element. Where arrays differ in shape, the batch
        is an error that names the feature: use :meth:`padded_batch`.
        """
        return Dataset(operations.Batch(self._node, _whole("batch_size", batch_size), drop_remainder))

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset[Any]:
        """Batch elements like :meth:`batch`, and pad them at their ends if they differ in shape.

        Parameters
        ----------
        batch_size : int
            Elements of a batch.
        padded_shapes : optional
            The shape to which each value is padded, in the structure of the elements; ``None`` or -1 for a dimension,
            or for all of them, is the longest in the batch.
        padding_values : optional
            The padding, in the structure of the elements or one value for all; by default 0, ``b""`` or false.
        drop_remainder : bool
            True if a smaller batch at the end is left out.
        """
        size = _whole("batch_size", batch_size)
        return Dataset(operations.PaddedBatch(self._node, size, padded_shapes, padding_values, drop_remainder))

    def unbatch(self, name: str | None = None) -> Dataset[Any]:
        """Make each row of an element an element."""
        return Dataset(operations.Unbatch(self._node))

    def cache(self, filename: str | os.PathLike[str] = "", name: str | None = None) -> Dataset[T]:
        """Keep the elements of the first complete pass in memory; each later pass delivers the same in the same order."""
        if os.fspath(filename):
            raise UsageError(
                f"found filename={os.fspath(filename)!r}, but caches are kept in memory only: call `cache()`, or read the "
                "prepared dataset again, which is a file already"
            )
        return Dataset(operations.Cache(self._node))

    # Several datasets

    def concatenate(self, dataset: Dataset[Any], name: str | None = None) -> Dataset[Any]:
        """All elements of this dataset, then all of another."""
        return Dataset(operations.Concatenate(self._node, _node(dataset)))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset[Any]:
        """Combine one element of each dataset, in the structure of the arguments, up to the end of the shortest.

        ``Dataset.zip(a, b)`` has pairs, ``Dataset.zip((a, {"x": b}))`` has pairs with a dictionary.
        """
        given = args if datasets is None else (*args, datasets)
        structure = given[0] if len(given) == 1 else given
        return Dataset(operations.Zip(_nodes(structure)))

    # Properties

    def cardinality(self) -> int:
        """Elements of a pass; :data:`INFINITE_CARDINALITY` (-1) if it has no end, :data:`UNKNOWN_CARDINALITY` (-2) if they
        have to be counted."""
        return self._node.cardinality()

    def __len__(self) -> int:
        """Elements of a pass.

        For the examples of a split it is the number in dataset_info.json, which reading checks. With
        ``assert_cardinality=False``, or with an ``input_context``, nothing checks it: then the shards are counted.
        """
        match self._node.counted_length():
            case operations.INFINITE_CARDINALITY:
                raise TypeError("the dataset has no end: take() some of it")
            case operations.UNKNOWN_CARDINALITY:
                raise TypeError("the dataset's length is not known without reading it: count its elements, or use cardinality()")
            case length:
                return length

    def __bool__(self) -> bool:
        return True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            what = f"'Dataset' object has no attribute {name!r}"
            if name in ELSEWHERE:
                what = f"`{name}` of tf.data is not available: {ELSEWHERE[name]}"
            raise AttributeError(what, name=name, obj=self)

    @property
    def element_spec(self) -> Any:
        """The structure of an element, with :class:`TensorSpec`, :class:`RaggedTensorSpec` and :class:`DatasetSpec` at its
        leaves.

        The result of a function is found by calling it: for a :meth:`map` it has the types and numbers of dimensions
        of the first example's result.
        """
        return self._node.element_spec()

    @property
    def seeds(self) -> dict[str, Any]:
        """The seeds of all shuffles, including those that were drawn: with them the same order can be repeated."""
        files = [node.request.read_config.get("shuffle_seed") for node in _sources(self._node)]
        return {"shuffle_seed": files[0] if len(files) == 1 else files, "ops": self._node.seeds}

    def __repr__(self) -> str:
        match self.cardinality():
            case operations.INFINITE_CARDINALITY:
                size = "endless"
            case operations.UNKNOWN_CARDINALITY:
                size = "an unknown number of elements"
            case 1:
                size = "1 element"
            case n:
                size = f"{n} elements"
        return f"<Dataset {self._node!r}: {size}>"

    # Reading

    def __iter__(self) -> Traversal[T]:
        return outermost(self._node.begin())

    def as_numpy_iterator(self) -> Traversal[T]:
        """The next pass: elements are NumPy's in any case."""
        return iter(self)

    def set_epoch(self, epoch: int) -> None:
        """Which pass ``ds[i]`` is an element of.

        ``torch.utils.data.DataLoader`` reads datasets by ``ds[i]``; call this before each epoch, as for its samplers. Worker
        processes take the epoch along when they start: leave ``persistent_workers`` off.
        """
        self._epoch = Epoch(_whole("epoch", epoch))

    def __getitem__(self, i: SupportsIndex) -> T:
        """Element ``i`` of the epoch that was set (:meth:`set_epoch`), read alone.

        Without an epoch it is the element of every pass, and refused if passes are reshuffled.
        """
        place, n = _whole("i", i), len(self)
        if not -n <= place < n:
            raise IndexError(_no_such_example(place, n))
        if self._epoch is None and self._node.reshuffles:
            raise UsageError(
                "each pass of the dataset has another order, and `ds[i]` belongs to none: call `ds.set_epoch(epoch)` before "
                "each epoch, iterate over the dataset, which goes from pass to pass, or shuffle with "
                "`reshuffle_each_iteration=False`"
            )
        if self._epoch is None:
            return self._node.example(place % n, 0)  # type: ignore[no-any-return]
        if self._node.reshuffles:
            self._epoch.ask(place % n, n)
        return self._node.example(place % n, self._epoch.number)  # type: ignore[no-any-return]

    def seek(self, *place: int) -> Traversal[T]:
        """Begin the pass that iterating would begin, at a position: ``seek(position)``; or that of an epoch:
        ``seek(epoch, position)``.

        Both count from 0, and nothing before the position is read. The pass after it is the next one, as after any iterator.

        >>> ds = tfds.builder_from_directory("digits/1.0.0").as_dataset("train")
        >>> [int(example["label"]) for example in ds.seek(2)]
        [2, 3]
        """
        return self._examples("seek").begin_at(place)

    def ids(self, epoch: int | None = None) -> np.ndarray:
        """The order itself, from the plan alone: for each example its number in its split.

        No shard is opened, and none needs to exist. Each call is the next pass; ``epoch`` chooses one. Iterating is not
        moved by it.
        """
        return self._examples("ids").order.ids(self._traversal(epoch))

    def tfds_ids(self, epoch: int | None = None) -> list[str]:
        """The ids of examples: the file of each, and its number there."""
        return self._examples("tfds_ids").order.tfds_ids(self._traversal(epoch))

    def _traversal(self, epoch: int | None) -> int:
        return self._listed.begin() if epoch is None else epoch

    def minibatches(
        self,
        size: int,
        *,
        transforms: Mapping[str, Sequence[AnyTransform]] | None = None,
        transform_seed: int = 0,
        num_data_partitions: int = 1,
        partition_index: int = 0,
        drop_remainder: bool = False,
    ) -> MinibatchIterator:
        """Iterate over minibatches of examples: dictionaries with an array for each feature, ``[examples, *shape]``.

        Parameters
        ----------
        size : int
            Examples over all workers; fewer at the end.
        transforms : mapping, optional
            For features that are images, a list of :mod:`tesson.transforms`. Images are decoded as in TensorFlow
            Datasets, red first, unless the list begins with a decoder. Arrays have 8-bit values if no transform makes
            floats, else 32-bit ones. Examples are transformed while they are read ahead, on the `threads` of the dataset.
        transform_seed : int
            The seed of the transforms' random numbers, which depend on it, the pass and the example's id alone; if
            the order repeats examples (:meth:`repeat`), also on the position in the pass. Default 0.
        num_data_partitions, partition_index : int
            Number of workers, and the number of this one. A worker gets every ``num_data_partitions``-th example of each
            minibatch, so the minibatches of all workers together do not depend on their number.
        drop_remainder : bool
            True if a smaller minibatch at the end is left out.

        Returns
        -------
        MinibatchIterator
            One pass. If examples differ in shape, arrays are padded at their ends with 0, ``b""`` or false; ragged
            features and nested datasets are lists with a value for each example. ``state_dict()`` is exact after each
            minibatch, and the same on every worker.
        """
        share = (num_data_partitions, partition_index)
        examples = self._examples("minibatches").transformed(transforms, transform_seed)
        return examples.minibatches(size, share, drop_remainder, pads=True)

    def _examples(self, method: str) -> Examples:
        """The examples themselves, for requests that the plan answers."""
        if isinstance(self._node, Examples):
            return self._node
        raise UsageError(
            f"`{method}` is for examples as the plan orders them, found elements of `{self._node.name}`: call it before "
            f"`{self._node.name}`"
        )

    def _everything(self) -> Any:
        """All examples in one batch."""
        return next(self.minibatches(max(len(self), 1)))


def _whole(name: str, value: Any) -> int:
    """An argument that counts something."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"found {name}={value!r}, expected a whole number") from None


def _function(name: str, value: Any) -> Callable[..., Any]:
    if callable(value):
        return cast(Callable[..., Any], value)
    raise TypeError(f"found {name}={value!r}, expected a function of an element")


class Epoch:
    """The epoch of examples that are read by number."""

    def __init__(self, number: int) -> None:
        if number < 0:
            raise ValueError(f"found epoch {number}, expected a number from 0 on")
        self.number = number
        self._process = os.getpid()
        self._asked = bytearray()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_asked": bytearray()}

    def ask(self, i: int, n: int) -> None:
        """Refuse a number in this worker process if the epoch has changed without its knowledge."""
        if self._process == os.getpid():
            return
        self._asked = self._asked or bytearray(n)
        if self._asked[i]:
            raise UsageError(
                f"example {i} of epoch {self.number} is asked for again in the same worker process, where set_epoch() of the "
                "main process does not arrive: use persistent_workers=False, and a sampler that takes each example once"
            )
        self._asked[i] = 1


def _node(dataset: Any) -> Node:
    if isinstance(dataset, Dataset):
        return dataset._node
    raise TypeError(f"found {dataset!r}, expected a dataset")


def _nodes(datasets: Any) -> Any:
    """The nodes of datasets in a structure."""
    if isinstance(datasets, list):
        raise TypeError("found a list, expected datasets in a tuple or dictionary: `zip((a, b))`")
    members = children(datasets)
    if members is None:
        return _node(datasets)
    return like(datasets, {key: _nodes(of) for key, of in members.items()})


def _sources(node: Node) -> Iterator[Examples]:
    """Where all of its examples come from."""
    if isinstance(node, Examples):
        yield node
    for part in node.inputs:
        yield from _sources(part)


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

    def __repr__(self) -> str:
        examples = "1 example" if len(self) == 1 else f"{len(self)} examples"
        return f"<DataSource {self._random.split!r}: {examples}>"

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
                raise IndexError(_no_such_example(place, n))
            found.append(int(place) % n)
        return self._random.reader().read_at(found)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


def _no_such_example(place: int, n: int) -> str:
    """Why a place is refused. Sequences end at an ``IndexError``."""
    return f"found example {place}, expected one from {-n} to {n - 1}" if n else f"found example {place} of no examples"
