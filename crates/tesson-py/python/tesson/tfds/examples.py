"""Where datasets begin: the examples of a split, in an order that the plan decides without data."""

from __future__ import annotations

import dataclasses
import operator
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .. import _tesson
from ..errors import UsageError
from . import seeds
from .features import arrays
from .operations.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, Traversal, all_of, check_operation
from .operations.structure import DatasetSpec, RaggedTensorSpec, TensorSpec, children
from .lock import Lock

# In the child of a fork, readers of the parent say so instead of waiting for threads that are not there.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tesson.forked)

WORTH_SEEKING = 256
"""The number of examples above which going to a position is cheaper than decoding those before it."""


@dataclass(frozen=True)
class Request:
    """A request to read examples, in the form of the native half, and how they are delivered."""

    split: Any
    shuffle_files: bool
    read_config: dict[str, Any]
    ops: tuple[dict[str, Any], ...] = ()
    global_seed: int | None = None
    features: list[str] | None = None
    raw: list[str] = field(default_factory=list)
    scales: list[tuple[str, int]] = field(default_factory=list)
    transforms: dict[str, list[Any]] | None = None
    transform_seed: int = 0
    on_damage: str = "fail"
    supervised: Any = None
    marks_absent: bool = False
    threads: int = 0
    memory_limit: int | str | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """The options that decide the order."""
        names = ("split", "shuffle_files", "read_config", "ops", "global_seed")
        return {name: getattr(self, name) for name in names}

    @property
    def with_ids(self) -> bool:
        """True if examples have their ids."""
        return bool(self.read_config["add_tfds_id"])


class Prepared:
    """A prepared dataset as it was opened; pickles hold only its location."""

    def __init__(self, directories: list[str], file_format: str | None) -> None:
        self.directories = directories
        self.file_format = file_format
        self.native: _tesson.PreparedDataset = _tesson.PreparedDataset(directories, file_format)

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, (self.directories, self.file_format)


class Passes:
    """The number of passes that a shuffle has begun. All datasets that are derived from it share the count, as in TensorFlow 2.

    The next pass follows the one that was begun or resumed last, as far as it has delivered examples.
    """

    def __init__(self, begun: int = 0, lock: Lock | None = None) -> None:
        self._begun = begun
        self._last: tuple[PlanIterator, int] | None = None
        self.lock: Lock = lock or Lock()
        """The lock for beginning a pass and for reading or setting counts. Stacked shuffles share one, since a pass
        of one is a pass of all."""

    @staticmethod
    def begun(of: tuple[Passes, ...]) -> list[int]:
        """Passes that each of some shuffles has begun."""
        with of[0].lock.held():
            # Asking an iterator may cost some milliseconds, and most often one iterator knows all.
            known = {iterator: iterator.native.passes() for passes in of if passes._last for iterator in passes._last[:1]}
            given = [known[passes._last[0]][passes._last[1]] if passes._last else 0 for passes in of]
            return [max(passes._begun, n) for passes, n in zip(of, given, strict=True)]

    def set(self, begun: int) -> None:
        """Counts from this number of passes; an iterator that has begun more is one of before. The caller holds the lock."""
        if Passes.begun((self,))[0] > begun:
            self._last = None
        self._begun = begun

    def backup(self) -> Callable[[], None]:
        """A function that restores the present counts."""
        begun, last = self._begun, self._last

        def go_back() -> None:
            self._begun, self._last = begun, last

        return go_back

    def follow(self, iterator: PlanIterator, place: int) -> None:
        """Continue the count of an iterator, in which this shuffle has the number ``place``. The caller holds the lock."""
        self._begun, self._last = 0, (iterator, place)

    def __reduce__(self) -> tuple[Any, ...]:
        return Passes, (*Passes.begun((self,)), self.lock)


class Examples(Node):
    """The examples of a split with operations on their order, all of which are parts of the plan."""

    name = "examples"

    def __init__(self, prepared: Prepared, request: Request, passes: tuple[Passes, ...] = ()) -> None:
        self.prepared: Prepared = prepared
        self.request: Request = request
        self.passes: tuple[Passes, ...] = passes or (Passes(),)
        """Those of each shuffle, the files' first."""
        self._order: _tesson.Stream | None = None
        self._random: RandomAccess | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Examples, (self.prepared, self.request, self.passes)

    @property
    def order(self) -> _tesson.Stream:
        """The order, from the plan alone."""
        if self._order is None:
            self._order = self.prepared.native.stream(self.request.reading)
        return self._order

    def ordered(self, op: dict[str, Any]) -> Examples:
        request = dataclasses.replace(self.request, ops=(*self.request.ops, op))
        passes = (*self.passes, Passes(lock=self.passes[0].lock)) if "shuffle" in op else self.passes
        node = Examples(self.prepared, request, passes)
        # Invalid requests are refused at once.
        _ = node.order
        return node

    def begin(self) -> DatasetIterator:
        return self.begin_at(None)

    def begin_at(self, place: tuple[int, ...] | None) -> DatasetIterator:
        """The next pass, from a place on if one is named."""
        iterator = DatasetIterator(self.prepared.native, self.request)
        iterator.opened_as = self.prepared, self.request
        self._follow(iterator, place)
        return iterator

    def transformed(self, transforms: Mapping[str, Iterable[Any]] | None, seed: int) -> Examples:
        """The examples with transformed images; their passes are counted together with these."""
        if not transforms:
            return self
        given = {feature: list(of) for feature, of in transforms.items()}
        request = dataclasses.replace(self.request, transforms=given, transform_seed=operator.index(seed))
        return Examples(self.prepared, request, self.passes)

    def minibatches(self, size: int, share: tuple[int, int], drop_remainder: bool, pads: bool) -> MinibatchIterator:
        """The next pass in batches, of which a worker has a share."""
        if share[0] > 1 and any(isinstance(seed, seeds.Random) for seed in (self.request.read_config["shuffle_seed"], *self.seeds)):
            raise UsageError(
                "found a shuffle without a seed, expected one that all workers have: each would draw its own, so that their shares "
                "lose and repeat examples; give `shuffle` a seed and `tfds.ReadConfig` a shuffle_seed, or call `tfds.set_random_seed`"
            )
        iterator = MinibatchIterator(self.prepared, self.request, size, share, drop_remainder, pads)
        self._follow(iterator)
        return iterator

    def batches(self, size: int, drop_remainder: bool, pads: bool) -> Traversal[Any]:
        return self.minibatches(size, (1, 0), drop_remainder, pads)

    def _follow(self, iterator: PlanIterator, place: tuple[int, ...] | None = None) -> None:
        """Begins the pass after those that have begun, and counts on from this one."""
        # The lock is held from reading the count until this pass is counted; otherwise another thread could begin the same pass.
        with self.passes[0].lock.held():
            iterator.native.begin_after(self.passes_begun())
            if place is not None:
                # Before it is counted: a place that does not exist begins no pass.
                iterator.seek(*place)
            iterator.lock, iterator.counted_by = self.passes[0].lock, tuple(map(weakref.ref, self.passes))
            _count(iterator)

    def length(self) -> int | None:
        """Examples of a pass; ``None`` if it has no end."""
        return self.order.length()

    def cardinality(self) -> int:
        length = self.length()
        if length is None:
            return INFINITE_CARDINALITY
        # As in TFDS, a number in dataset_info.json that reading does not check is not trusted.
        return length if self.order.is_checked else UNKNOWN_CARDINALITY

    def counted_length(self) -> int:
        n = self.cardinality()
        if n != UNKNOWN_CARDINALITY:
            return n
        counted = self._reader().length()
        return INFINITE_CARDINALITY if counted is None else counted

    def passes_begun(self) -> list[int]:
        return Passes.begun(self.passes)

    def set_passes(self, begun: Iterator[int]) -> None:
        with self.passes[0].lock.held():
            for passes in self.passes:
                passes.set(next(begun))

    def backup(self) -> Callable[[], None]:
        with self.passes[0].lock.held():
            go_back = all_of([passes.backup() for passes in self.passes])

        def held() -> None:
            with self.passes[0].lock.held():
                go_back()

        return held

    @property
    def reshuffles(self) -> bool:
        return self.order.reshuffles()

    @property
    def seeds(self) -> list[int]:
        return [op["shuffle"]["seed"] for op in self.request.ops if "shuffle" in op]

    def example(self, i: int, epoch: int) -> Any:
        return self._reader().read_nth(epoch, i)[0]

    def _reader(self) -> _tesson.ExampleReader:
        """A reader by places."""
        if self._random is None:
            self._random = RandomAccess(self.prepared, self.request)
        return self._random.reader()

    def element_spec(self) -> Any:
        described = self.prepared.native.describe()
        spec = _spec(arrays(described["arrays"]), self.request)
        if self.request.with_ids:
            spec = {**spec, "tfds_id": TensorSpec((), "string")}
        return spec if self.request.supervised is None else _chosen(spec, self.request.supervised)

    def __repr__(self) -> str:
        return "".join([repr(self.request.split), *map(_shown, self.request.ops)])


def _count(iterator: PlanIterator) -> None:
    """Makes the datasets that an iterator comes from count on from it. The caller holds the lock."""
    for place, reference in enumerate(iterator.counted_by):
        passes = reference()
        if passes is not None:
            passes.follow(iterator, place)


def _shown(op: dict[str, Any]) -> str:
    """An operation of the plan as it was called."""
    ((name, of),) = op.items()
    match name, of:
        case "shuffle", {"buffer_size": size, "seed": seed, "reshuffle_each_iteration": reshuffle}:
            return f".shuffle({size}, seed={seed}{'' if reshuffle else ', reshuffle_each_iteration=False'})"
        case "shard", {"num_shards": num_shards, "index": index}:
            return f".shard({num_shards}, {index})"
        case "repeat", -1:
            return ".repeat()"
        case "prefetch", _:
            return ".prefetch()"
        case _:
            return f".{name}({of})"


def _spec(tree: Any, request: Request, path: str = "", level: int = 0) -> Any:
    """The spec of the features that are read."""
    if not isinstance(tree, dict):
        return _spec_of_feature(tree, request, path, level)
    # Features of a nested dataset are one level deeper than the dataset.
    inner = level + 1
    if path and all(of.dataset_level >= inner for of in _leaves(tree)):
        return DatasetSpec(_spec(tree, request, path, inner)) if tree else tree
    names = {name: f"{path}/{name}" if path else name for name in tree}
    return {name: _spec(of, request, names[name], level) for name, of in tree.items() if _is_read(names[name], of, request)}


def _spec_of_feature(of: Any, request: Request, path: str, level: int) -> Any:
    if of.dataset_level > level:
        return DatasetSpec(_spec_of_feature(of, request, path, level + 1))
    shape, dtype, rank = of.shape, of.dtype, of.sequence_rank
    if path in request.raw:
        shape, dtype = shape[:rank], "string"
    if path in dict(request.scales):
        shape = (*shape[:-3], None, None, shape[-1])
    if any(n is None for n in shape[1:rank]):
        return RaggedTensorSpec(shape, dtype, rank - 1)
    return TensorSpec(shape, dtype)


def _leaves(tree: Any) -> Iterator[Any]:
    if not isinstance(tree, dict):
        yield tree
        return
    for of in tree.values():
        yield from _leaves(of)


def _is_read(path: str, tree: Any, request: Request) -> bool:
    """True if a feature, or any in a dictionary of them, is read."""
    if request.features is None:
        return True
    return any(path == chosen or path.startswith(f"{chosen}/") or chosen.startswith(f"{path}/") for chosen in request.features)


def _chosen(spec: Any, keys: Any) -> Any:
    """The features that ``as_supervised`` names."""
    if isinstance(keys, str):
        return spec[keys]
    members = children(keys) if isinstance(keys, dict) else None
    if members is not None:
        return {name: _chosen(spec, of) for name, of in members.items()}
    return tuple(_chosen(spec, of) for of in keys)


class PlanIterator:
    """The base of iterators over examples: the plan that they were opened with, and the counts that continue from them."""

    opened_as: tuple[Prepared, Request]
    # No more than references: the datasets hold the iterator that they count from.
    counted_by: tuple[weakref.ref[Passes], ...] = ()

    @property
    def native(self) -> _tesson.Traversal:
        """The native half."""
        raise NotImplementedError

    @cached_property
    def lock(self) -> Lock:
        """That of the datasets that count on from it, or its own where none does."""
        return Lock()

    def load_state_dict(self, state: Mapping[str, Any], force: bool = False) -> None:
        """Go to where a state was taken; with ``force`` also if the shards have other names now."""
        check_operation(state, None)
        with self.lock.held():
            self.native.restore(state, force)
            _count(self)

    def seek(self, *place: int) -> None:
        """Go to a position in this pass, ``seek(position)``, or in another: ``seek(epoch, position)``; in examples."""
        self.native.go_to(*_place(place))

    @cached_property
    def length(self) -> int | None:
        """Examples of the pass; ``None`` if it has no end."""
        return Examples(*self.opened_as).length()

    @cached_property
    def is_checked(self) -> bool:
        """True if reading checks that shards hold as many examples as dataset_info.json declares."""
        return Examples(*self.opened_as).order.is_checked

    @property
    def skipped(self) -> int:
        """Records left out because they are damaged (``on_damage="skip"``)."""
        return self.native.skipped_records()


class DatasetIterator(PlanIterator, _tesson.ExampleIterator):
    """One pass over examples. ``state_dict()`` is its exact position, a few integers. It is read by one thread at a
    time while others wait; after ``fork()`` the child must make its own, and can still read the state. Pickling takes
    dataset and state along.

    >>> ds = tfds.builder_from_directory("digits/1.0.0").as_dataset("train")
    >>> examples = iter(ds)
    >>> next(examples), examples.state_dict()["stream"]["delivered"]
    ({'label': np.int64(0)}, 1)
    >>> examples
    <DatasetIterator over 'train': 1 of 4 examples given>
    """

    @property
    def native(self) -> _tesson.Traversal:
        return self

    def state_dict(self, include_buffers: bool = False) -> dict[str, Any]:
        """The position of the iterator. Restored, here or in another process, it continues with the next example.

        The state is a small dictionary that ``json`` can write. It belongs to this split, read in this order: another
        one refuses it and names the difference. With ``include_buffers`` it lists the examples in the buffers of
        shuffles, with some bytes for each: without them, a restore takes some nanoseconds for each example of the
        pass.
        """
        return self.state(include_buffers)

    def skip(self, count: int) -> int:
        """Pass over ``count`` examples; returns how many there were. Fewer: the end has been seen."""
        return _skip(self, count, 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return _go_on, (*self.opened_as, self.state_dict())

    def __repr__(self) -> str:
        return f"<DatasetIterator over {_progress(self)}>"


def _progress(iterator: ExamplesIterator) -> str:
    given = iterator.state_dict()["stream"]["delivered"]
    of = "" if iterator.length is None else f" of {iterator.length}"
    return f"{Examples(*iterator.opened_as)!r}: {given}{of} examples given"


def _skip(iterator: ExamplesIterator, count: int, size: int) -> int:
    """Skip a number of elements of ``size`` examples; the end is noticed if it is reached."""
    skipped = 0
    # If damaged records are left out, or shards may be shorter than declared, how many examples lie between two positions
    # is known when they are read.
    if count * size >= WORTH_SEEKING and iterator.opened_as[1].on_damage == "fail" and iterator.is_checked:
        skipped = iterator.native.pass_over(min(count, 2**63 - 1), size, iterator.length)
    while skipped < count:
        try:
            next(iterator)
        except StopIteration:
            break
        skipped += 1
    return skipped


def _place(place: tuple[int, ...]) -> tuple[int | None, int]:
    """Epoch, if it is named, and position."""
    if len(place) not in (1, 2):
        raise TypeError(f"found {len(place)} numbers, expected a position, or an epoch and a position")
    if any(number < 0 for number in place):
        raise ValueError(f"found {place}, expected numbers from 0 on")
    return (None if len(place) == 1 else place[0]), place[-1]


def _go_on(prepared: Prepared, request: Request, state: dict[str, Any]) -> DatasetIterator:
    """An iterator out of a pickle."""
    iterator = DatasetIterator(prepared.native, request)
    iterator.opened_as = prepared, request
    iterator.load_state_dict(state)
    return iterator


class MinibatchIterator(PlanIterator, Iterator[Any]):
    """One pass over examples, many at a time."""

    def __init__(
        self,
        prepared: Prepared,
        request: Request,
        size: int,
        share: tuple[int, int],
        drop_remainder: bool,
        pads: bool = True,
    ) -> None:
        if size < 1:
            raise ValueError(f"found size={size}, expected at least one example")
        self.opened_as: tuple[Prepared, Request] = prepared, request
        self._made_of = (prepared, request, size, share, drop_remainder, pads)
        self._reader = _tesson.ExampleReader(prepared.native, request)
        self._batches = self._reader.batches(size, *share, drop_remainder, pads)

    @property
    def native(self) -> _tesson.Traversal:
        return self._reader

    def __next__(self) -> Any:
        # No call, after which an interrupt would lose the batch.
        for batch in self._batches:
            return batch
        raise StopIteration

    def put_back(self) -> None:
        """Go back to before the last minibatch delivered, if nothing has been done since."""
        self._reader.put_back()

    def state_dict(self, include_buffers: bool = False) -> dict[str, Any]:
        """The position of the iterator; another number of workers may resume there.

        ``include_buffers`` is that of the examples' iterator.
        """
        return self._reader.state(include_buffers)

    def skip(self, count: int) -> int:
        """Pass over ``count`` minibatches; returns how many there were. Fewer: the end has been seen."""
        return _skip(self, count, self._made_of[2])

    def __getstate__(self) -> tuple[Any, ...]:
        return self._made_of, self.state_dict()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        made_of, position = state
        self.__init__(*made_of)  # type: ignore[misc]
        self.load_state_dict(position)

    def __repr__(self) -> str:
        return f"<MinibatchIterator of {self._made_of[2]} over {_progress(self)}>"


ExamplesIterator = DatasetIterator | MinibatchIterator
"""Iterators that count passes of shuffles."""


class RandomAccess:
    """A reader of examples by number. It has no position, so each process simply has its own, also after a fork or
    from a pickle."""

    def __init__(self, prepared: Prepared, request: Request) -> None:
        self._made_of = (prepared, request)
        self._open()

    @property
    def split(self) -> Any:
        """The split that is read."""
        return self._made_of[1].split

    def reader(self) -> _tesson.ExampleReader:
        """This process' reader."""
        reader, process = self._opened
        return reader if process == os.getpid() else self._open()

    def _open(self) -> _tesson.ExampleReader:
        prepared, request = self._made_of
        reader = _tesson.ExampleReader(prepared.native, request)
        # Set together, so that no other thread takes the parent's reader for this process'.
        self._opened = reader, os.getpid()
        return reader

    def __reduce__(self) -> tuple[Any, ...]:
        return RandomAccess, self._made_of
