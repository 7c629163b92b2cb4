"""Minibatches as tensors, for PyTorch's loaders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

# Types are checked where PyTorch is not installed, too.
import torch  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import IterableDataset as TorchIterableDataset  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import get_worker_info

from ..errors import ConfigError, ResumeError, UsageError
from ..keywords import suggests_keywords
from ..source import MinibatchSource
from ..tfds import Dataset
from .ahead import Ahead, Made, can_pin, pinned
from .layouts import StreamLayout
from .passes import Passes
from .readers import Readable, Reader, ReaderOptions, reader_of

__all__ = ["IterableDataset"]


#: Numbers in the state of a worker.
_OF_WORKERS = ("worker", "workers", "skip", "pass")


class _Next(NamedTuple):
    """The result of a worker for its next turn: a minibatch and the position after it, an error, or nothing."""

    batch: Any = None
    behind: Callable[[], dict[str, Any]] = dict
    failure: Exception | None = None


@suggests_keywords
class IterableDataset(TorchIterableDataset[dict[str, Any]]):
    """Minibatches of a source or a prepared dataset as dictionaries of tensors, for ``DataLoader(dataset, batch_size=None)``.

    Each iteration begins where the previous one ended: of a source without an end it is one sweep, of one with an end
    the rest of the data, of a prepared dataset one pass. Tensors share memory with the minibatch unless a type or
    layout has to be converted.

    Use ``num_workers=0``: the source reads ahead on its own threads, without Python. With `n` worker processes all of
    them read all minibatches and each delivers every `n`-th, so ``DataLoader`` delivers the same sequence as without
    workers, at `n` times the reading. That pays only if the worker then runs slow Python. Workers may be forked or
    spawned, and may be persistent; each opens the source for itself.

    PyTorch's ``DataLoader`` rebuilds each dictionary, which takes longer than making its tensors;
    :class:`tesson.torch.DataLoader` passes it on unchanged.

    ``torchdata``'s ``StatefulDataLoader`` resumes exactly after the last batch that it has yielded, independent of
    read-ahead, with the number of workers in its state. Lightning's trainer saves that state in the middle of an
    epoch, and then resumes exactly, since :func:`len` tells it which minibatch is the last one; at the end of an
    epoch it drops the state, and a run resumed from there begins with the first pass, unless the module keeps the
    dataset's state (``examples/torch/lightning_module.py``). The dataset is a ``Stateful`` of
    ``torch.distributed.checkpoint``, too. Without worker processes :meth:`state_dict` is the position after the last
    minibatch yielded.

    Parameters
    ----------
    source : MinibatchSource, tesson.tfds.Dataset or function
        The source, or a function without arguments that opens it, once in each process that reads. It must pickle if
        workers are spawned. Features of a prepared dataset that are not numbers, such as strings and ragged features,
        stay as they are.
    minibatch_size : int, optional
        Samples over all ranks, as for :meth:`MinibatchSource.next_minibatch`. For a prepared dataset, examples over
        all ranks, as for :meth:`tesson.tfds.Dataset.minibatches`; without it, elements are delivered one by one, for
        datasets that end in ``batch()``.
    layouts : mapping, optional
        For streams of a source by name. Of dense ones: ``"samples"``, the default, is ``[samples, *shape]``, sequence
        after sequence; ``"padded"`` a :class:`Padded`; ``"nested"`` a jagged nested tensor on the flat samples;
        ``"packed"`` a ``PackedSequence``. Of sparse ones: ``"csr"``, the default, and ``"coo"`` are ``[samples,
        columns]``; ``"classes"`` is int64 ``[samples]``, the columns of samples with one entry. Samples of different
        shapes are a list of tensors.
    dtype : torch.dtype, optional
        A floating-point type to convert values to, such as ``torch.bfloat16``.
    pin_memory : bool
        True if tensors are in pinned memory, from which a GPU copies while the program continues. A thread makes each
        batch while the loop uses the previous one, and a batch that was made and not yielded is never counted. In
        worker processes nothing is pinned: the loader has to do it. Without an accelerator nothing is pinned, with a
        warning.
    world : "auto", str, (int, int), World or device mesh, optional
        For a prepared dataset, the ranks that share each minibatch, as :func:`tesson.world.resolve_world` finds them.
        All have the same number of minibatches. A source has an option of that name.

    Raises
    ------
    ConfigError
        A layout that the stream cannot have, or an option that is for sources alone, or for prepared datasets.
    UsageError
        When iterating: the previous iteration, in worker processes, was left before its end, so it is unknown which
        of its minibatches were used. If its workers had already read to the end, the next pass begins.
    """

    def __init__(
        self,
        source: Readable | Callable[[], Readable],
        minibatch_size: int | None = None,
        *,
        layouts: Mapping[str, StreamLayout] | None = None,
        dtype: torch.dtype | None = None,
        pin_memory: bool = False,
        world: Any = None,
    ) -> None:
        is_open = isinstance(source, (MinibatchSource, Dataset))
        if not is_open and not callable(source):
            expected = "a MinibatchSource, a tesson.tfds.Dataset or a function that opens one"
            raise ConfigError(f"found {source!r}, expected {expected}", path="source")
        self._given = source
        self._options = ReaderOptions(minibatch_size, layouts, dtype, world)
        self._pin_memory = pin_memory
        #: The reader, and the process that reads: after a fork it is of no use to the child.
        self._opened: tuple[Reader, int] | None = (reader_of(source, self._options), os.getpid()) if is_open else None
        #: The position at which to begin when the reader is opened; None: the reader's own.
        self._start: dict[str, Any] | None = None
        #: Of an iteration in pinned memory: the reader ahead, and the position after the last batch yielded.
        self._ahead: tuple[Ahead, dict[str, Any]] | None = None
        #: True if it is reading, or failed in doing so.
        self._is_reading = False
        #: True if a pass has ended with the last minibatch.
        self._ended = False
        #: True if the loaded state is that of the end of an iteration, which therefore has nothing left.
        self._nothing_left = False
        #: Without workers: minibatches of the pass that were yielded, and how many of them before this iteration;
        #: true if it continues that of a loaded state, and true if it is about to begin.
        self._taken = self._taken_before = 0
        self._is_resumed = self._is_about_to_begin = False
        #: Of a worker: the number of others' minibatches before its next one, and true if a loaded state has set it.
        self._skip = 0
        self._loaded = False
        #: Of a worker that has read further than the minibatch it yielded last: the place after that one, and minibatches to skip there.
        self._behind: tuple[Callable[[], dict[str, Any]], int] | None = None
        #: Of a worker: true if it has read all minibatches of the pass.
        self._read_all = False
        #: Of a worker: the number of the iteration it is in.
        self._pass = 0
        self._passes = Passes()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        if worker is None:
            self._is_about_to_begin = True
            return self._iterate()
        # Now, not when the first minibatch is requested: a loader may drop this iteration for another one.
        is_resumed, self._loaded = self._loaded, False
        if not is_resumed:
            start = self._passes.start(worker.id, worker.num_workers)
            if start is not None:
                self._reader().restore(start)
            self._pass = self._passes.number(worker.id)
            self._skip, self._behind, self._ended, self._nothing_left = worker.id, None, False, False
        self._read_all = False
        first = None
        if is_resumed and not self._nothing_left:
            first = self._next_of_worker(worker.num_workers)
            self._say_end(worker.id)
        return self._iterate_in_worker(worker.id, worker.num_workers, is_resumed, first)

    def _iterate(self) -> Iterator[dict[str, Any]]:
        reader = self._reader_after_workers()
        if self._ended or self._passes.have_begun:
            self._taken = 0
        self._passes.clear()
        self._ended = self._is_about_to_begin = False
        self._taken_before, self._is_resumed = 0 if self._is_resumed else self._taken, False
        if self._nothing_left:
            self._nothing_left = False
        elif self._pin_memory and can_pin():
            yield from self._iterate_ahead(reader)
        else:
            while not self._ended:
                # Not in the condition: there Python lets an interrupt in before the minibatch is yielded.
                tensors = self._next(reader)
                if tensors is None:
                    break
                self._taken += 1
                yield tensors
        self._ended, self._taken, self._taken_before = False, 0, 0

    def __len__(self) -> int:
        """The number of minibatches in the present iteration, or the next one; after a resume, including those before it.

        It is planned, without reading data, at about 50 ns a sequence if minibatches are not all alike.

        Raises
        ------
        TypeError
            It is not known: of sources that were opened without an index and have not read to their end, of truncated ones and those whose
            sizes change, of datasets whose elements have to be counted, and while worker processes read passes of unequal length.
        """
        length = self._length()
        if length is None:
            raise TypeError("the number of minibatches is not known: iterate to the end")
        return length

    def _length(self) -> int | None:
        reader = self._reader()
        if self._passes.have_begun:
            # Only the workers know their positions. The first pass begins at the position of the main process.
            every = reader.of_every_pass()
            return reader.left(0) if every is None and self._passes.number(0) == 0 else every
        if self._nothing_left or self._ended and not self._is_about_to_begin:
            return self._taken - self._taken_before
        taken = 0 if self._ended else self._taken
        before = 0 if self._is_resumed else taken if self._is_about_to_begin else self._taken_before
        if self._is_about_to_begin:
            self._stop_ahead()
        ahead = self._ahead[0].settle() if self._ahead is not None else 0
        # The reader is after the batches that were made ahead.
        left = 0 if self._ahead is not None and reader.ended else reader.left(taken + ahead)
        return None if left is None else taken - before + ahead + left

    def _next(self, reader: Reader) -> dict[str, Any] | None:
        """The next minibatch, if the pass has one more."""
        batch = reader.read()
        try:
            tensors: dict[str, Any] | None = None if batch is None else reader.tensors(batch)
        except BaseException:
            reader.put_back(batch)
            raise
        self._ended = reader.ended
        return tensors

    def _iterate_ahead(self, reader: Reader) -> Iterator[dict[str, Any]]:
        def make() -> Made:
            self._is_reading = True
            batch = reader.read()
            self._is_reading = False
            tensors = None if batch is None else pinned(reader.tensors(batch))
            return Made(tensors, reader.state(), reader.ended)

        start, self._is_reading = reader.state(), False
        ahead = Ahead(make)
        self._ahead = ahead, start
        try:
            while (made := ahead.take()) and made.batch is not None:
                self._ahead, self._ended = (ahead, made.state), made.ended
                self._taken += 1
                yield made.batch
            if made:
                self._ahead = ahead, made.state
        finally:
            if self._ahead is not None and self._ahead[0] is ahead:
                self._stop_ahead()

    def _stop_ahead(self) -> None:
        """End an iteration in pinned memory: the reader goes back to the position after the last batch yielded."""
        if self._ahead is not None:
            _, state = self._ahead
            self._drop_ahead()
            # A failed read has left the reader there, and a restore would undo the user's decision about the failure.
            if not self._is_reading:
                self._reader().restore(state)

    def _drop_ahead(self) -> None:
        """End an iteration in pinned memory, at any position of the reader."""
        if self._ahead is not None:
            (ahead, _), self._ahead = self._ahead, None
            ahead.stop()

    def _iterate_in_worker(self, worker: int, workers: int, is_resumed: bool, first: _Next | None) -> Iterator[dict[str, Any]]:
        if self._nothing_left:
            return
        if not self._ended:
            self._passes.begin(worker, workers, is_resumed)
        # A worker reads up to its next minibatch before it yields one, so its state after the last one records that
        # the pass has ended. `StatefulDataLoader` saves that state. It does not wait for workers that it has resumed
        # at the end of a pass, but starts those of the next pass at once.
        found = first or self._next_of_worker(workers)
        while found.batch is not None:
            following = self._next_of_worker(workers)
            self._behind = found.behind, workers - 1
            if is_resumed:
                self._say_end(worker)
            yield self._reader().tensors(found.batch)
            found = following
        if found.failure is not None:
            raise found.failure
        self._say_end(worker)

    def _next_of_worker(self, workers: int) -> _Next:
        """The next minibatch that the worker yields. If there is none, the pass has ended."""
        reader = self._reader()
        try:
            while not self._read_all and (batch := reader.read()) is not None:
                self._read_all = reader.ended
                if self._skip == 0:
                    self._skip = workers - 1
                    return _Next(batch, reader.behind(batch))
                self._skip -= 1
        except Exception as failure:
            return _Next(failure=failure)
        self._ended = True
        return _Next()

    def _say_end(self, worker: int) -> None:
        """Pass the beginning of the next pass to its workers, if this one has ended."""
        if self._ended:
            self._passes.end(worker, self._pass, self._reader().state())

    def _reader(self) -> Reader:
        """The reader of this process."""
        if self._opened is None or self._opened[1] != os.getpid():
            start = self._start if self._opened is None else self._opened[0].state()
            reader = reader_of(self._given, self._options, reopens=True)
            if start is not None:
                reader.restore(start)
            self._opened = reader, os.getpid()
        return self._opened[0]

    def _reader_after_workers(self) -> Reader:
        """The reader of the main process, after the minibatches that worker processes have delivered."""
        self._stop_ahead()
        reader = self._reader()
        position = self._passes.position()
        if position is not None:
            reader.restore(position)
        return reader

    def _position(self) -> dict[str, Any]:
        """The position after the last minibatch yielded."""
        return self._reader_after_workers().state() if self._ahead is None else self._ahead[1]

    def state_dict(self) -> dict[str, Any]:
        """The state after the last minibatch yielded: a small dictionary that `json` can write.

        Its keys are always the same, since ``torch.distributed.checkpoint`` loads only those that the dataset already has:
        the source's state, which has lists of any length, is a text in it.

        Raises
        ------
        UsageError
            Worker processes are in the middle of the data, and only they know where. Use the state of ``StatefulDataLoader``.
        """
        worker = get_worker_info()
        ended = self._ended or self._nothing_left
        if worker is None:
            return {"source": json.dumps(self._position()), "ended": ended, "taken": self._taken}
        behind, skip = self._behind if self._behind is not None and not ended else (self._reader().state, self._skip)
        return {
            "source": json.dumps(behind()),
            "ended": ended,
            "worker": worker.id,
            "workers": worker.num_workers,
            "skip": skip,
            "pass": self._pass,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from a state: the next iteration delivers the rest of the one in which the state was saved.

        Raises
        ------
        ResumeError
            The state belongs to another dataset, or to a worker among another number of workers. The dataset does not change.
        """
        worker = get_worker_info()
        here = None if worker is None else (worker.id, worker.num_workers)
        if not isinstance(state_dict, Mapping) or "source" not in state_dict:
            raise ResumeError("found no state of an IterableDataset, expected what state_dict() returned", code="resume.unreadable")
        saved = (state_dict["worker"], state_dict.get("workers")) if "worker" in state_dict else None
        if saved != here:
            who = ["the main process" if at is None else "worker {} of {}".format(*at) for at in (saved, here)]
            raise ResumeError(
                f"the state is that of {who[0]}, found {who[1]}: resume with the num_workers that it was saved with",
                code="resume.unreadable",
            )
        position, numbers = state_dict["source"], [state_dict.get(name) for name in _OF_WORKERS] if saved else [state_dict.get("taken", 0)]
        if not isinstance(state_dict.get("ended"), bool) or not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
            raise ResumeError(f"found the state {dict(state_dict)!r}, expected what state_dict() returned", code="resume.unreadable")
        if isinstance(position, str):
            try:
                position = json.loads(position)
            except ValueError:
                raise ResumeError("found a state whose `source` is no JSON, expected what state_dict() returned", code="resume.unreadable") from None
        if self._ahead is not None:
            self._ahead[0].settle()
        # If the state is refused, the iteration that makes batches ahead continues.
        self._reader().restore(position)
        self._drop_ahead()
        self._ended = self._is_about_to_begin = False
        self._taken, self._is_resumed = state_dict.get("taken", 0), True
        self._nothing_left = bool(state_dict["ended"])
        if worker is None:
            self._passes.clear()
            return
        self._loaded = True
        self._skip, self._pass = state_dict["skip"], state_dict["pass"]
        self._behind = (lambda: position), self._skip
        self._passes.load(worker.id, worker.num_workers, self._pass)
        if self._nothing_left:
            self._passes.end(worker.id, self._pass, position)

    def __getstate__(self) -> dict[str, Any]:
        start = self._start if self._opened is None else self._opened[0].state() if self._ahead is None else self._ahead[1]
        return {**self.__dict__, "_opened": None, "_ahead": None, "_start": start}
