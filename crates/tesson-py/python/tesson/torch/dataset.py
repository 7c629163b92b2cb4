"""For training scripts in PyTorch: minibatches as tensors, and Tesson's orders for other people's datasets.

Nothing else in the package imports PyTorch, and this module has to be imported by its name.

>>> from torch.utils.data import DataLoader
>>> import tesson.torch
>>> dataset = tesson.torch.IterableDataset(source, minibatch_size=4, layouts={"labels": "classes"})
>>> batch = next(iter(DataLoader(dataset, batch_size=None)))
>>> batch["features"].shape, batch["labels"]
(torch.Size([4, 4]), tensor([0, 1, 2, 0]))
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, Literal, NamedTuple

import numpy as np
# Types are checked where PyTorch is not installed, too.
import torch  # type: ignore[import-not-found, unused-ignore]
from torch.nn.utils.rnn import pack_sequence, pad_sequence  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import IterableDataset as TorchIterableDataset  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import Sampler as TorchSampler
from torch.utils.data import get_worker_info

from .errors import ConfigError, ResumeError, UsageError
from .minibatch import Minibatch, MinibatchData
from .source import MinibatchSource
from .world import resolve_world

__all__ = ["IterableDataset", "Padded", "Sampler"]

#: How the data of a stream become tensors.
StreamLayout = Literal["samples", "padded", "nested", "packed", "csr", "coo", "classes"]


class Padded(NamedTuple):
    """Sequences of a minibatch side by side, filled up with zeros at their ends."""

    #: ``[sequences, longest, *sample_shape]``.
    values: torch.Tensor
    #: int64 ``[sequences]``: samples of each.
    lengths: torch.Tensor

    @property
    def mask(self) -> torch.Tensor:
        """bool ``[sequences, longest]``: where there are samples."""
        return torch.arange(self.values.shape[1], device=self.lengths.device) < self.lengths[:, None]


def _samples(data: MinibatchData, dtype: torch.dtype | None) -> Any:
    if data.is_ragged:
        return [_cast(torch.from_numpy(sample), dtype) for sample in data.sample_list]
    return _cast(torch.from_numpy(data.samples), dtype)


def _padded(data: MinibatchData, dtype: torch.dtype | None) -> Padded:
    sequences = _sequences(data, dtype)
    # PyTorch pads at least one sequence; an empty share has none.
    values = pad_sequence(sequences, batch_first=True) if sequences else _samples(data, dtype)[:, None]
    return Padded(values, _lengths(data))


def _nested(data: MinibatchData, dtype: torch.dtype | None) -> Any:
    offsets = torch.zeros(data.num_sequences + 1, dtype=torch.int64)
    torch.cumsum(_lengths(data), 0, out=offsets[1:])
    return torch.nested.nested_tensor_from_jagged(_samples(data, dtype), offsets)


def _packed(data: MinibatchData, dtype: torch.dtype | None) -> Any:
    if data.num_sequences == 0 or not data.lengths.all():
        raise UsageError(
            f"stream `{data.name}`: found a sequence without samples, or no sequences, which a PackedSequence cannot hold; "
            "choose the layout 'padded' or 'nested'"
        )
    return pack_sequence(_sequences(data, dtype), enforce_sorted=False)


def _csr(data: MinibatchData, dtype: torch.dtype | None) -> torch.Tensor:
    indptr, indices, values = (torch.from_numpy(array) for array in (data.indptr, data.indices, data.values))
    size = (data.num_samples, data.sample_shape[0])
    return torch.sparse_csr_tensor(indptr, indices, _cast(values, dtype), size, check_invariants=False)


def _coo(data: MinibatchData, dtype: torch.dtype | None) -> torch.Tensor:
    rows = np.repeat(np.arange(data.num_samples), np.diff(data.indptr))
    places = torch.from_numpy(np.stack([rows, data.indices]))
    size = (data.num_samples, data.sample_shape[0])
    return torch.sparse_coo_tensor(places, _cast(torch.from_numpy(data.values), dtype), size, check_invariants=False)


def _classes(data: MinibatchData, dtype: torch.dtype | None) -> torch.Tensor:
    return torch.from_numpy(data.class_indices.astype(np.int64))


def _cast(values: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    # Bytes of pictures stay bytes.
    return values.to(dtype) if dtype is not None and values.is_floating_point() else values


def _lengths(data: MinibatchData) -> torch.Tensor:
    return torch.from_numpy(data.lengths.astype(np.int64))


def _sequences(data: MinibatchData, dtype: torch.dtype | None) -> list[torch.Tensor]:
    """The sequences as views of the flat samples."""
    return list(torch.split(_samples(data, dtype), data.lengths.tolist())) if data.num_sequences else []


_DENSE = {"samples": _samples, "padded": _padded, "nested": _nested, "packed": _packed}
_SPARSE = {"csr": _csr, "coo": _coo, "classes": _classes}


class IterableDataset(TorchIterableDataset[dict[str, Any]]):
    """Minibatches of a source as dictionaries of tensors, for ``DataLoader(dataset, batch_size=None)``.

    Each iteration begins where the one before ended: of a source without an end it is one sweep, of one with an end all that is
    left. Tensors share memory with the minibatch wherever no type or layout has to be made.

    Use ``num_workers=0``: the source reads ahead on threads of its own, without Python. With `n` worker processes all of them read
    all minibatches and each delivers every `n`-th, so ``DataLoader`` gives the very sequence that it gives without workers, at
    `n` times the reading. That pays only where what follows in the worker is slow Python. Workers may be forked or spawned, and may
    be persistent; each opens the source for itself.

    ``DataLoader`` rebuilds each dictionary, which takes longer than making its tensors; ``collate_fn=lambda batch: batch`` hands it
    on as it is.

    ``torchdata``'s ``StatefulDataLoader`` resumes exactly behind the last batch that it has yielded, whatever had been read ahead,
    with the number of workers that its state was saved with. The dataset is a ``Stateful`` of ``torch.distributed.checkpoint``,
    too. Without worker processes :meth:`state_dict` stands behind the last minibatch yielded.

    Parameters
    ----------
    source : MinibatchSource or function
        The source, or a function without arguments that opens it, once in each process that reads. To be spawned, it has to pickle.
    minibatch_size : int, optional
        Samples over all ranks, as for :meth:`MinibatchSource.next_minibatch`.
    layouts : mapping, optional
        For streams by name. Of dense ones: ``"samples"``, the default, is ``[samples, *shape]``, sequence behind sequence;
        ``"padded"`` a :class:`Padded`; ``"nested"`` a jagged nested tensor on the flat samples; ``"packed"`` a ``PackedSequence``.
        Of sparse ones: ``"csr"``, the default, and ``"coo"`` are ``[samples, columns]``; ``"classes"`` is int64 ``[samples]``, the
        columns of samples of one entry each. Samples of shapes of their own are a list of tensors.
    dtype : torch.dtype, optional
        A floating-point type to convert values to, such as ``torch.bfloat16``.

    Raises
    ------
    ConfigError
        A layout that the stream cannot have.
    UsageError
        When iterating: the iteration before, in worker processes, was left before its end; which of its minibatches were used is unknown.
    """

    def __init__(
        self,
        source: MinibatchSource | Callable[[], MinibatchSource],
        minibatch_size: int | None = None,
        *,
        layouts: Mapping[str, StreamLayout] | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if not isinstance(source, MinibatchSource) and not callable(source):
            raise ConfigError(f"found {source!r}, expected a MinibatchSource or a function that opens one", path="source")
        if dtype is not None and not dtype.is_floating_point:
            raise ConfigError(f"dtype: found {dtype}, expected a floating-point type such as torch.bfloat16", path="dtype")
        self._given = source
        self._size = minibatch_size
        self._layouts = dict(layouts or {})
        self._dtype = dtype
        #: The source that is read, and the process that reads it: after a fork it is of no use to the child.
        self._opened: tuple[MinibatchSource, int] | None = None
        #: Where to begin once the source is opened; None: where it stands then.
        self._start: dict[str, Any] | None = None
        #: Whether a sweep of an endless source has ended with the last minibatch.
        self._ended = False
        #: Whether a state was loaded of the end of an iteration, which therefore has nothing more to give.
        self._nothing_left = False
        #: Of a worker: minibatches of others that come before its next, and whether a state that was loaded says so.
        self._skip = 0
        self._loaded = False
        #: Of a worker: the number of the iteration it is in.
        self._pass = 0
        self._passes = _Passes()
        if isinstance(source, MinibatchSource):
            self._check_layouts(source)
            self._opened = source, os.getpid()

    def _check_layouts(self, source: MinibatchSource) -> None:
        for name, layout in self._layouts.items():
            if name not in source.streams:
                raise ConfigError(f"layouts: no stream `{name}`, there are {', '.join(source.streams)}", path=f"layouts.{name}")
            known = _SPARSE if source.streams[name].is_sparse else _DENSE
            if layout not in known:
                kind = source.streams[name].storage_format
                what = f"found {layout!r} for a {kind} stream, expected one of {', '.join(known)}"
                raise ConfigError(f"layouts.{name}: {what}", path=f"layouts.{name}")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        if worker is None:
            return self._iterate()
        # Now, not when the first minibatch is asked for: a loader may drop this iteration for another one.
        loaded, self._loaded = self._loaded, False
        if not loaded:
            start = self._passes.start(worker.id, worker.num_workers)
            if start is not None:
                self._reader().restore_from_checkpoint(start)
            self._pass = self._passes.number(worker.id)
            self._skip, self._ended, self._nothing_left = worker.id, False, False
        return self._iterate_in_worker(worker.id, worker.num_workers)

    def _iterate(self) -> Iterator[dict[str, Any]]:
        source = self._reader_after_workers()
        self._passes.clear()
        self._ended = False
        if self._nothing_left:
            self._nothing_left = False
            return
        while not self._ended and (minibatch := self._read(source)):
            yield self._tensors(minibatch)
        self._ended = False

    def _iterate_in_worker(self, worker: int, workers: int) -> Iterator[dict[str, Any]]:
        if self._nothing_left:
            return
        source = self._reader()
        self._passes.begin(worker, workers)
        while not self._ended and (minibatch := self._read(source)):
            if self._skip > 0:
                self._skip -= 1
                continue
            self._skip = workers - 1
            yield self._tensors(minibatch)
        self._ended = True
        self._passes.end(worker, self._pass, source.get_checkpoint_state())

    def _read(self, source: MinibatchSource) -> Minibatch:
        """The next minibatch; takes down whether the sweep of an endless source ends with it."""
        if not source.is_infinite():
            return source.next_minibatch(self._size)
        before = source._source.local_sweeps()
        minibatch = source.next_minibatch(self._size)
        after = source._source.local_sweeps()
        self._ended = minibatch.sweep_end if before is None or after is None else after > before
        return minibatch

    def _reader(self) -> MinibatchSource:
        """The source of this process."""
        if self._opened is None or self._opened[1] != os.getpid():
            start = self._start if self._opened is None else self._opened[0].get_checkpoint_state()
            source = self._given._reopened() if isinstance(self._given, MinibatchSource) else self._given()
            if not isinstance(source, MinibatchSource):
                raise ConfigError(f"source: the function returned {source!r}, expected a MinibatchSource", path="source")
            self._check_layouts(source)
            if start is not None:
                source.restore_from_checkpoint(start)
            self._opened = source, os.getpid()
        return self._opened[0]

    def _reader_after_workers(self) -> MinibatchSource:
        """The source of the main process, behind what worker processes have delivered."""
        source = self._reader()
        position = self._passes.position()
        if position is not None:
            source.restore_from_checkpoint(position)
        return source

    def _tensors(self, minibatch: Minibatch) -> dict[str, Any]:
        tensors = {}
        for name, data in minibatch.items():
            makers, default = (_SPARSE, "csr") if data.is_sparse else (_DENSE, "samples")
            tensors[name] = makers[self._layouts.get(name, default)](data, self._dtype)
        return tensors

    def state_dict(self) -> dict[str, Any]:
        """The state behind the last minibatch yielded: a small dictionary that `json` can write.

        Its keys are always the same, since ``torch.distributed.checkpoint`` loads those alone that the dataset has already:
        the source's state, which has lists of any length, is a text in it.

        Raises
        ------
        UsageError
            Worker processes are in the middle of the data: they alone know where. Ask ``StatefulDataLoader`` for its state.
        """
        worker = get_worker_info()
        if worker is None:
            source = self._reader_after_workers()
            return {"source": json.dumps(source.get_checkpoint_state()), "ended": self._ended or self._nothing_left}
        return {
            "source": json.dumps(self._reader().get_checkpoint_state()),
            "ended": self._ended or self._nothing_left,
            "worker": worker.id,
            "workers": worker.num_workers,
            "skip": self._skip,
            "pass": self._pass,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from a state: the next iteration gives what the one had left in which the state was saved.

        Raises
        ------
        ResumeError
            The state is none of this dataset's, or that of a worker among others than there are here. The dataset is as it was.
        """
        worker = get_worker_info()
        here = None if worker is None else (worker.id, worker.num_workers)
        if not isinstance(state_dict, Mapping) or "source" not in state_dict:
            raise ResumeError("found no state of an IterableDataset, expected what state_dict() returned", code="resume.unreadable")
        saved = (state_dict["worker"], state_dict["workers"]) if "worker" in state_dict else None
        if saved != here:
            who = ["the main process" if at is None else "worker {} of {}".format(*at) for at in (saved, here)]
            raise ResumeError(
                f"the state is that of {who[0]}, found {who[1]}: resume with the num_workers that it was saved with",
                code="resume.unreadable",
            )
        position = state_dict["source"]
        if isinstance(position, str):
            try:
                position = json.loads(position)
            except ValueError:
                raise ResumeError("found a state whose `source` is no JSON, expected what state_dict() returned", code="resume.unreadable") from None
        self._reader().restore_from_checkpoint(position)
        self._ended = False
        self._nothing_left = bool(state_dict["ended"])
        if worker is None:
            self._passes.clear()
            return
        self._loaded = True
        self._skip = state_dict["skip"]
        self._pass = state_dict["pass"]
        self._passes.load(worker.id, worker.num_workers, self._pass)
        if self._nothing_left:
            self._passes.end(worker.id, self._pass, position)

    def __getstate__(self) -> dict[str, Any]:
        opened = None if self._opened is None else self._opened[0].get_checkpoint_state()
        return {**self.__dict__, "_opened": None, "_start": opened or self._start}


class _Passes:
    """How far worker processes have come, in memory that they share with the process that starts them.

    A loader starts new workers for each iteration, from the dataset of the main process, which never learns what the workers
    before have read. All of them read everything, so each can say where the next pass begins.
    """

    #: Most workers, and most bytes of a position.
    WORKERS, ROOM = 1024, 2**15

    def __init__(self) -> None:
        # Row w: passes that worker w has ended, and whether it is inside one. The last row: number of workers, and how often the
        # main process has begun anew.
        self._counts = torch.zeros((self.WORKERS + 1, 2), dtype=torch.int32).share_memory_()
        # Where an even pass begins, and an odd one: no worker begins a pass before all have begun the one before. A text that
        # ends with 0.
        self._places = torch.zeros((2, self.ROOM), dtype=torch.uint8).share_memory_()
        # A worker of a dropped iteration may live on: it has an older number than the memory.
        self._beginning = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Spawned workers get the same memory; copies that pickle makes get their own.
        self.__dict__ = {**state, **{name: state[name].share_memory_() for name in ("_counts", "_places")}}

    def number(self, worker: int) -> int:
        """The number of the pass that comes next, or in which the worker is."""
        return int(self._counts[worker, 0])

    def start(self, worker: int, workers: int) -> dict[str, Any] | None:
        """Where the worker's next pass begins; None where the dataset stands."""
        return self._place(self.number(worker)) if self._workers() in (0, workers) else None

    def begin(self, worker: int, workers: int) -> None:
        if self._counts[worker, 1] or self._is_old():
            raise UsageError(_LEFT)
        if self._workers() not in (0, workers):
            raise UsageError(
                f"found {workers} workers, but the iteration before had {self._workers()}: call "
                "dataset.load_state_dict(dataset.state_dict()) before the number of workers changes"
            )
        self._counts[self.WORKERS, 0] = workers
        self._counts[worker, 1] = 1

    def end(self, worker: int, number: int, position: Mapping[str, Any]) -> None:
        text = json.dumps(position).encode() + b"\0"
        if len(text) > self.ROOM:
            raise UsageError(f"the state of the source takes {len(text)} bytes, workers can share {self.ROOM}; use num_workers=0")
        if self._is_old():
            return
        following = number + 1
        self._places[following % 2, : len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        self._counts[worker, 0] = following
        self._counts[worker, 1] = 0

    def load(self, worker: int, workers: int, number: int) -> None:
        """The worker resumes inside the pass of this number."""
        self._counts[self.WORKERS, 0] = workers
        self._counts[worker, 0] = number
        self._counts[worker, 1] = 0

    def position(self) -> dict[str, Any] | None:
        """Where the next pass begins, if there have been passes, for the main process."""
        counts = self._counts[: self._workers()]
        if bool(counts[:, 1].any()) or len(set(counts[:, 0].tolist())) > 1:
            raise UsageError(_LEFT)
        return self._place(self.number(0))

    def clear(self) -> None:
        """The main process resumes from where its own source stands."""
        self._beginning += 1
        self._counts.zero_()
        self._counts[self.WORKERS, 1] = self._beginning

    def _is_old(self) -> bool:
        return self._beginning != int(self._counts[self.WORKERS, 1])

    def _workers(self) -> int:
        return int(self._counts[self.WORKERS, 0])

    def _place(self, number: int) -> dict[str, Any] | None:
        if number == 0:
            return None
        text = self._places[number % 2].numpy().tobytes()
        position: dict[str, Any] = json.loads(text[: text.index(0)])
        return position


#: The error where workers had read ahead and it is unknown how many of their minibatches were used.
_LEFT = (
    "an iteration in worker processes was left before its end, or goes on, and what of it was used is not known here: resume from "
    "a state of StatefulDataLoader, load a state of the dataset and make a new loader, or use num_workers=0"
)


class Sampler(TorchSampler[int]):
    """Tesson's order ``"global"`` for a map-style dataset: the same indices in the same order as a source of as many sequences.

    Ranks take turns, so the indices of all ranks together do not depend on their number. Each iteration is an epoch, or the rest
    of one after :meth:`load_state_dict`; the one after it is the next epoch, also without :meth:`set_epoch`.

    The state counts what was taken from the sampler. A ``DataLoader`` with worker processes takes indices ahead: use
    ``StatefulDataLoader`` there, whose state counts what it has yielded.

    Parameters
    ----------
    data_source : sized or int
        The dataset, or its number of items.
    seed : int
        As `randomization_seed` of :class:`MinibatchSource`.
    world : "auto", (int, int) or device mesh
        Rank and number of ranks, as :func:`tesson.world.resolve_world` finds them.
    equal_steps : {"repeat", "drop"}, optional
        Where items are left over that not all ranks have one of: ``"repeat"`` gives the others the first items of the epoch
        again, as PyTorch's ``DistributedSampler`` does; ``"drop"`` leaves them out; by default ranks have unequally many.

    Examples
    --------
    >>> import tesson.torch
    >>> sampler = tesson.torch.Sampler(6, seed=1)
    >>> first = list(sampler)
    >>> sorted(first), list(sampler) == first
    ([0, 1, 2, 3, 4, 5], False)
    """

    #: Indices that are planned at a time.
    BLOCK = 4096

    def __init__(
        self,
        data_source: Sized | int,
        *,
        seed: int = 0,
        world: Any = "auto",
        equal_steps: Literal["repeat", "drop"] | None = None,
    ) -> None:
        if equal_steps not in ("repeat", "drop", None):
            raise ConfigError(f"found {equal_steps!r}, expected 'repeat' or 'drop'", path="equal_steps")
        self._items = data_source if isinstance(data_source, int) else len(data_source)
        if self._items < 1:
            raise ConfigError(f"found {self._items} items, expected at least 1", path="data_source")
        self._seed = seed
        self._rank, self._ranks, _ = resolve_world(world)
        self._equal_steps = equal_steps
        self._epoch = 0
        #: Indices of the epoch that all ranks together have taken.
        self._taken = 0

    def set_epoch(self, epoch: int) -> None:
        """Begin this epoch, counted from 0; nothing happens if it is the current one, of which some may be taken already."""
        if epoch != self._epoch:
            self._epoch, self._taken = epoch, 0

    def __len__(self) -> int:
        """Indices of an epoch for this rank."""
        return len(range(self._rank, self._end(), self._ranks))

    def _end(self) -> int:
        """Indices of an epoch over all ranks."""
        spare = self._items % self._ranks
        if self._equal_steps == "drop":
            return self._items - spare
        return self._items + (self._ranks - spare if spare and self._equal_steps == "repeat" else 0)

    def __iter__(self) -> Iterator[int]:
        # Only the order is of interest: the data are zeros that take no memory.
        nothing = np.broadcast_to(np.float32(0), (self._items, 1))
        with MinibatchSource.from_data({"item": nothing}, randomize="global", randomization_seed=self._seed, threads=1) as source:
            end, begin = self._end(), 0
            block: list[Any] = []
            while self._taken + self._rank < end:
                place = (self._taken + self._rank) % self._items
                if not begin <= place < begin + len(block):
                    begin = place
                    source.restore_from_checkpoint({"minibatchSourcePosition": self._epoch * self._items + begin})
                    block = source.next_minibatch(min(self.BLOCK, self._items - begin))["item"].keys
                self._taken += self._ranks
                yield int(block[place - begin])
        self.set_epoch(self._epoch + 1)

    def state_dict(self) -> dict[str, Any]:
        """What has been taken. The state of any rank resumes on any number of them."""
        return {"epoch": self._epoch, "taken": self._taken, "items": self._items, "seed": self._seed}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from a state.

        Raises
        ------
        ResumeError
            The state is that of another number of items or another seed. The sampler is as it was.
        """
        for name, mine in (("items", self._items), ("seed", self._seed)):
            if state_dict.get(name) != mine:
                raise ResumeError(f"the state is that of {name}={state_dict.get(name)}, found {mine}", code="resume.unreadable")
        self._epoch, self._taken = state_dict["epoch"], state_dict["taken"]
