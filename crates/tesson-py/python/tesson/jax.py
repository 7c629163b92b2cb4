"""Minibatches as JAX arrays: copied to devices ahead of the training loop, sharded over a mesh, exactly resumable.

JAX is imported when the first minibatch is read, so that this module costs nothing where it is not used.

::

    batches = tesson.jax.minibatches(source, 256, sharding=NamedSharding(mesh, PartitionSpec("data")))
    for step, batch in enumerate(batches):
        params = train_step(params, batch["features"], batch["labels"])
        if step % 1000 == 0:
            manager.save(step, args=ocp.args.Composite(
                params=ocp.args.StandardSave(params), data=ocp.args.JsonSave(batches.get_state())))
"""

from __future__ import annotations

import copy
import json
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._tesson import BatchState
from .dataset import Dataset as Described
from .errors import DataError, ResumeError, UsageError
from .keywords import suggests_arguments
from .minibatch import Minibatch, MinibatchData
from .source import MinibatchSource
from .source_base import Source
from .stream_names import check_storage, named_streams
from .strings import is_string
from .tfds.dataset import Dataset

if TYPE_CHECKING:
    from .jax_batches import JaxBatches

__all__ = ["MinibatchIterator", "minibatches"]


@suggests_arguments
def minibatches(
    source: Source | Dataset[Any] | Described,
    minibatch_size: int | None = None,
    *,
    sharding: Any = None,
    prefetch: int = 2,
    padded: Collection[str] | None = None,
    pad_to: int | None = None,
    classes: Collection[str] = (),
) -> MinibatchIterator | JaxBatches:
    """Iterate over the minibatches of a source or a dataset as dictionaries of :class:`jax.Array`.

    For a :class:`tesson.Dataset` and a dataset of :mod:`tesson.tfds` these are epochs, as of :meth:`tesson.Loader.jax`; `minibatch_size`
    counts examples, and the arrays of nested features have paths as names.

    Parameters
    ----------
    source : Source
        Its streams have to be dense, or be among `classes`. The iterator reads ahead of the training loop, so read,
        save and restore through the iterator and no longer through the source.
    minibatch_size : int, optional
        Samples of a minibatch over all processes; by default as for :meth:`MinibatchSource.minibatches`.
    sharding : jax.sharding.Sharding, optional
        The distribution of arrays over devices: each becomes one global array, and this process supplies its share
        (:func:`jax.make_array_from_process_local_data`). For arrays with fewer axes, such as lengths, a
        ``NamedSharding`` is cut to its first entries. If the source has no ``num_data_partitions`` and
        ``partition_index``, they follow from the sharding: processes that have the same rows read the same share. All
        parts need the same number of rows in each minibatch, so open the source with ``sharing="position"``,
        ``drop_last=True`` and a size that the number of parts divides, for sequences of several samples
        ``minibatch_size_in_sequences``. By default arrays are on JAX's default device.
    prefetch : int
        The number of minibatches, from 0, that are copied to the devices before the loop requests them. Each takes device memory.
    padded : collection of str, optional
        Streams with several samples in a sequence. By default all streams if the corpus has more samples than
        sequences, which indexes it, or is truncated; for custom sources (:class:`UserMinibatchSource`) none.
    pad_to : int, optional
        Steps to which the sequences of padded streams are filled up with 0. By default as many as the longest
        sequence of the minibatch, so compiled functions are compiled again for each length. Required if processes share arrays.
    classes : collection of str, optional
        Sparse streams with one column in each sample, such as labels: they become int32 arrays of its numbers. JAX
        has no sparse arrays for other sparse streams.

    Returns
    -------
    MinibatchIterator
        For each minibatch a dictionary: of a stream ``name`` the array ``[sequences, *sample_shape]``; of a padded one
        ``[sequences, steps, *sample_shape]`` and, as ``name_lengths``, the int32 samples of each sequence; of `classes`
        ``[sequences]``.

    Raises
    ------
    UsageError
        The source is a prepared dataset; a stream is sparse or ragged, or, of a source that truncates, not padded; an
        argument is invalid. When iterating: processes that share by position would have unequal rows of an array.
    """
    if not isinstance(source, (Dataset, Described)):
        return MinibatchIterator(source, minibatch_size, sharding, prefetch, padded, pad_to, classes)
    from .jax_batches import JaxBatches, PreparedReader

    if minibatch_size is None:
        raise UsageError("minibatch_size: found None, expected the number of examples in a minibatch of a dataset")
    part = (0, 1) if sharding is None or sharding.is_fully_addressable else _part_of(sharding)
    if isinstance(source, Described):
        loader = source.loader(batch_size=minibatch_size, world=part if part[1] > 1 else None)
        made: JaxBatches = loader.jax(sharding=sharding, prefetch=prefetch, pad_to=pad_to, layouts=dict.fromkeys(classes, "classes"))
        return made
    if padded or classes:
        raise UsageError("found `padded` or `classes`, which are for streams of a source; a prepared dataset has arrays")
    return JaxBatches(PreparedReader(source, minibatch_size, part), sharding, prefetch)


class MinibatchIterator(Iterator[dict[str, Any]]):
    """An iterator over minibatches as JAX arrays, made by :func:`minibatches`.

    A loop over it ends like one over the source: with the data, or with the sweep if the data have no end. The next
    loop delivers the next sweep.

    Its state is that after the last minibatch returned, independent of prefetching: a dictionary that `json` can
    write. A state saved inside a loop, after its last minibatch, resumes in that loop: the first loop is empty, and
    the next one delivers the next sweep. :meth:`state_dict` and :meth:`load_state_dict` are PyTorch's names for it.
    Grain's :meth:`get_state` and :meth:`set_state` have it as one text, since a state there has the same structure
    after every step.

    If Grain is imported before an iterator is made, the class counts as a ``DatasetIterator`` of Grain, whose Orbax handlers then save and
    restore it. It also is a ``StatefulCheckpointable`` of Orbax.
    """

    def __init__(
        self,
        source: Source,
        minibatch_size: int | None,
        sharding: Any,
        prefetch: int,
        padded: Collection[str] | None,
        pad_to: int | None,
        classes: Collection[str] = (),
    ) -> None:
        _check_kind(source)
        _check_numbers(source)
        for name, value, least in (("prefetch", prefetch, 0), ("pad_to", pad_to, 1)):
            if value is not None and (not isinstance(value, int) or value < least):
                raise UsageError(f"{name}: found {value!r}, expected a whole number from {least}")
        self._classes = named_streams("classes", classes, source)
        check_storage(source, self._classes)
        self._source = source
        #: The source, if it has sweeps without an end: a loop is over one of them.
        self._endless = source if isinstance(source, MinibatchSource) and source.is_infinite() else None
        self._arguments = () if minibatch_size is None else (minibatch_size,)
        self._sharding = sharding
        self._prefetch = prefetch
        self._padded = _checked(padded, source)
        _check_truncated(source, self._padded - self._classes)
        self._pad_to = pad_to
        self._state: dict[str, Any] | BatchState = source.get_checkpoint_state()
        #: True if that is the state after the last minibatch of a sweep and its loop has not ended, here or when the
        #: state was saved.
        self._at_end = self._nothing_left = False
        #: The minibatches ahead of the loop, each with the state after it and true if it ends the sweep.
        self._ahead: deque[tuple[dict[str, Any], dict[str, Any] | BatchState, bool]] = deque()
        self._device_put: Callable[[list[NDArray[Any]]], list[Any]] | None = None
        self._reading: Iterator[Mapping[Any, MinibatchData]] | None = None
        #: A minibatch that was read and is not made into arrays: if that fails, it stays here.
        self._unfinished: Mapping[Any, MinibatchData] | None = None
        #: An error that was met ahead of the loop, which has minibatches to come before it.
        self._failure: Exception | None = None
        #: The number of this process's part of each array, and the number of parts.
        self._part: tuple[int, int] | None = None
        self._ended = False
        #: The state after the end of the data or the sweep, once that was read.
        self._end: dict[str, Any] | None = None
        self._closed = False
        if grain := sys.modules.get("grain"):
            grain.DatasetIterator.register(MinibatchIterator)

    def __iter__(self) -> MinibatchIterator:
        if not self._ahead and (self._ended or self._at_end):
            # A loop over the next sweep.
            self._ended, self._at_end, self._reading = False, False, None
        return self

    def __next__(self) -> dict[str, Any]:
        if self._closed:
            raise ValueError("found a closed iterator, expected one that reads: make another one of an open source")
        if self._at_end or self._nothing_left:
            self._at_end, self._nothing_left, self._ended = False, False, True
        # One more than are prefetched, since the first is handed over at once.
        self._read_ahead(self._prefetch + 1)
        if not self._ahead:
            if self._end is not None:
                self._state, self._end = self._end, None
            raise StopIteration
        # No calls from here on: after an interrupt in one the minibatch would count, and be lost.
        arrays, self._state, self._at_end = self._ahead[0]
        del self._ahead[0]
        return arrays

    def state_dict(self) -> dict[str, Any]:
        """The state after the minibatch last handed over."""
        # Made when it is requested: most steps are not saved.
        state = _to_dict(self._state)
        return {**state, "ended": True} if self._at_end or self._nothing_left else state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from a state of this iterator or of its source; prefetched minibatches are dropped.

        Raises
        ------
        ResumeError
            The state belongs to other data, another order or another version. The iterator does not change.
        """
        self._source.restore_from_checkpoint(state_dict)
        self._state = self._source.get_checkpoint_state()
        self._at_end, self._nothing_left = False, self._endless is not None and bool(state_dict.get("ended"))
        self._ahead.clear()
        self._ended, self._end, self._reading, self._unfinished, self._failure = False, None, None, None, None

    def get_state(self) -> dict[str, Any]:
        """Return :meth:`state_dict` as a dictionary of one text in JSON."""
        return {"source": json.dumps(self.state_dict())}

    def set_state(self, state: Mapping[str, Any] | str | bytes) -> None:
        """Resume from a state of :meth:`get_state` or :meth:`state_dict`, or its text in JSON.

        Raises
        ------
        ResumeError
            As :meth:`load_state_dict`, or a text is no JSON.
        """
        given: Any = _of_json(state) if isinstance(state, (str, bytes)) else state
        text = given.get("source") if isinstance(given, Mapping) and len(given) == 1 else None
        self.load_state_dict(_of_json(text) if isinstance(text, str) else given)

    async def save(self, directory: Any) -> Awaitable[None]:
        """Save the present state into a directory that Orbax makes; awaiting the result writes it."""
        from .orbax import write_state

        state = self.state_dict()

        async def write() -> None:
            write_state(Path(await directory.await_creation()), state)

        return write()

    async def load(self, directory: Any) -> Awaitable[None]:
        """Resume from files of :meth:`save`, in any number of processes, by awaiting the result."""
        from .orbax import read_state

        async def read() -> None:
            self.load_state_dict(read_state(Path(directory)))

        return read()

    def start_prefetch(self) -> None:
        """Begin to read and to copy to the devices, before the loop asks."""
        if not self._closed and not self._at_end and not self._nothing_left:
            self._read_ahead(self._prefetch)

    def close(self) -> None:
        """Drop prefetched minibatches and close the source. There are no more minibatches, but the state stays."""
        if not self._closed:
            self._closed, self._state = True, self.state_dict()
            self._at_end, self._nothing_left, self._reading = False, False, None
            self._unfinished, self._failure = None, None
            self._ahead.clear()
            self._source.close()

    def skip_failed(self) -> None:
        """Skip the minibatch at which the last call failed because it could not be read or turned into arrays.

        A custom source that failed continues with its next minibatch, whether this is called or not.
        """
        self._failure = None
        if self._unfinished is None:
            if isinstance(self._source, MinibatchSource):
                self._source.skip_failed()
            return
        (state, is_last), self._unfinished = self._behind(self._unfinished), None
        if self._ahead:
            arrays, _, _ = self._ahead.pop()
            self._ahead.append((arrays, state, is_last))
        else:
            self._state, self._at_end = state, is_last

    def _read_ahead(self, n: int) -> None:
        """Reads until `n` minibatches wait for the loop, or the loop has no more. An error comes when none wait any more."""
        while not self._ended and self._failure is None and len(self._ahead) < n:
            try:
                self._read()
            except Exception as error:
                self._failure = error
        if self._failure is not None and not self._ahead:
            # The next call tries again.
            failure, self._failure = self._failure, None
            raise failure

    def _read(self) -> None:
        """Starts the copy of one more minibatch, or notes that there is none."""
        if self._unfinished is None and not self._take():
            # A share may have had less than others: only now is it known where all of them end.
            self._ended, self._end = True, self._source.get_checkpoint_state()
            return
        minibatch = self._unfinished
        assert minibatch is not None
        share = getattr(getattr(minibatch, "_batch", None), "share", None)
        if self._part is not None and share is not None:
            _check_rows(*share)
        arrays: dict[str, NDArray[Any]] = {}
        for name, data in minibatch.items():
            self._add(arrays, getattr(name, "name", name), data)
        made = (self._put(arrays), *self._behind(minibatch))
        # No calls from here on: after an interrupt between two of them the minibatch would come twice.
        self._ahead += (made,)
        self._unfinished = None

    def _take(self) -> bool:
        """Takes the source's next minibatch, if the loop has one more."""
        if self._reading is None:
            if self._ahead and self._ahead[-1][2]:
                return False
            self._reading = self._source.minibatches(*self._arguments, **self._share())
        try:
            for minibatch in self._reading:
                self._unfinished = minibatch
                return True
        except BaseException:
            # The generator is at its end, the source is not.
            self._reading = None
            raise
        return False

    def _behind(self, minibatch: Mapping[Any, MinibatchData]) -> tuple[dict[str, Any] | BatchState, bool]:
        """The state after the minibatch that was taken last, and true if it ends the sweep of the loop."""
        batch = minibatch._batch if isinstance(minibatch, Minibatch) else None
        if batch is None:
            # Custom sources have no state in their minibatches, and do not read ahead.
            return self._source.get_checkpoint_state(), False
        return batch.state_later(), self._endless is not None and batch.sweeps_ended > 0

    def _share(self) -> dict[str, int]:
        """The share of the minibatches that this process reads, if the source has none of its own."""
        import jax  # type: ignore[import-not-found, unused-ignore]

        processes = 1 if self._sharding is None else jax.process_count()
        is_local = processes == 1 or self._sharding.is_fully_addressable
        self._part = None if is_local else _part_of(self._sharding)
        index, parts = self._part or (0 if processes == 1 else jax.process_index(), processes)
        own = getattr(self._source, "_share", (None, None))
        if own == (None, None):
            share = {} if parts == 1 else {"num_data_partitions": parts, "partition_index": index}
        elif is_local or own[0] == parts and (own[1] == index or parts == processes):
            share = {}
        else:
            raise UsageError(
                f"sharding: found one of which this process has part {index} of {parts} of the rows, and a source that gives it share {own[1]} of "
                f"{own[0]}; expected the same: open the source without `world` and `num_data_partitions`, and they follow from the sharding"
            )
        if self._part is not None and parts > 1 and self._padded and self._pad_to is None:
            raise UsageError(
                "pad_to: found None, expected the steps of the longest sequence: processes that share an array fill it up to the same length"
            )
        return share

    def _add(self, arrays: dict[str, NDArray[Any]], name: str, data: MinibatchData) -> None:
        """Adds the arrays of one stream."""
        if data.is_ragged:
            raise UsageError(f"stream `{name}` is ragged, expected samples of one shape: scale or crop its images alike")
        if name in self._padded and name not in self._classes:
            lengths = data.lengths
            arrays[name] = self._filled(name, data, lengths)
            arrays[f"{name}_lengths"] = lengths.astype(np.int32)
            return
        if data.num_samples != data.num_sequences or data.shape[1] > 1:
            lengths = data.lengths
            number = int(np.flatnonzero(lengths != 1)[0])
            remedy = "" if name in self._classes else "; name the stream in `padded`"
            raise DataError(
                f"stream `{name}`: sequence {data.keys[number]!r} has {lengths[number]} samples, expected 1{remedy}",
                stream=name,
                key=data.keys[number],
            )
        arrays[name] = data.class_indices if name in self._classes else data.samples

    def _filled(self, name: str, data: MinibatchData, lengths: NDArray[np.uint32]) -> NDArray[Any]:
        """A padded stream's sequences, padded to the requested number of steps."""
        array = data.asarray()
        if self._pad_to is None or array.shape[1] == self._pad_to:
            return array
        if array.shape[1] > self._pad_to:
            number = int(lengths.argmax())
            raise DataError(
                f"stream `{name}`: sequence {data.keys[number]!r} has {lengths[number]} samples, expected at most "
                f"pad_to={self._pad_to}; raise it, or cut sequences with truncation_length",
                stream=name,
                key=data.keys[number],
            )
        filled = np.zeros((array.shape[0], self._pad_to, *array.shape[2:]), array.dtype)
        filled[:, : array.shape[1]] = array
        return filled

    def _put(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Starts copying arrays to the devices. On the CPU they may share the memory of the minibatch, which has no other user."""
        if self._device_put is not None:
            # One call, since its fixed cost exceeds that of small arrays. JAX would sort the keys of a dictionary.
            return dict(zip(arrays, self._device_put(list(arrays.values()))))
        import jax  # type: ignore[import-not-found, unused-ignore]

        if self._sharding is None:
            self._device_put = jax.device_put
            return self._put(arrays)
        return {
            name: jax.make_array_from_process_local_data(_with_axes(self._sharding, array.ndim), array)
            for name, array in arrays.items()
        }


def _part_of(sharding: Any) -> tuple[int, int]:
    """The number of this process's part of the rows of an array, and the number of parts: processes may have the same
    one, along another axis of a mesh."""
    import jax  # type: ignore[import-not-found, unused-ignore]

    if not isinstance(sharding, jax.sharding.NamedSharding):
        return jax.process_index(), jax.process_count()
    # Any number of parts divides this number of rows.
    rows = len(sharding.device_set)
    held: dict[int, set[int]] = {}
    for device, (indices, *_) in _with_axes(sharding, 1).devices_indices_map((rows,)).items():
        held.setdefault(device.process_index, set()).update(range(rows)[indices])
    parts = sorted({tuple(sorted(of_process)) for of_process in held.values()})
    if sum(map(len, parts)) != rows:
        raise UsageError("sharding: found processes that have some rows alike and others not, expected all or none")
    here = tuple(sorted(held.get(jax.process_index(), ())))
    if here not in parts:
        raise UsageError(f"sharding: found no device of process {jax.process_index()}, expected one: it has no part of the arrays")
    # One process for each part: its number, whatever the order of devices in the mesh.
    return (jax.process_index(), len(parts)) if len(parts) == jax.process_count() else (parts.index(here), len(parts))


def _check_rows(parts: int, least: int, most: int) -> None:
    """Refuses a minibatch that processes cannot put together: JAX takes it that all have as many rows, and does not ask."""
    if least != most:
        raise UsageError(
            f"{parts} parts of a minibatch have from {least} to {most} sequences, expected equally many, as arrays over all processes need: "
            f"open the source with drop_last=True and a size that {parts} divides, for sequences of several samples "
            "minibatch_size_in_sequences; sequences that are left out, damaged or by exclude_keys, make parts unequal, too"
        )


def _to_dict(state: dict[str, Any] | BatchState) -> dict[str, Any]:
    return state.to_dict() if isinstance(state, BatchState) else copy.deepcopy(state)


def _of_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ResumeError("found a state that is no JSON, expected what get_state() returned", code="resume.unreadable") from None


def _with_axes(sharding: Any, axes: int) -> Any:
    """The sharding of an array that may have fewer axes than the sharding has entries."""
    import jax  # type: ignore[import-not-found, unused-ignore]

    if not isinstance(sharding, jax.sharding.NamedSharding) or len(sharding.spec) <= axes:
        return sharding
    return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec(*sharding.spec[:axes]))


def _check_kind(source: Any) -> None:
    """Refuses objects without minibatches of a source."""
    if not isinstance(source, Source):
        remedy = "open a MinibatchSource, or derive from UserMinibatchSource"
        raise UsageError(f"found {type(source).__name__}, expected a source: {remedy}")


def _check_numbers(source: Source) -> None:
    """Refuses streams of strings, of which JAX has no arrays."""
    for name, stream in source.streams.items() if isinstance(source, MinibatchSource) else ():
        if is_string(stream.dtype):
            raise UsageError(f"stream `{name}` has strings, which JAX has no arrays for; read the data without it, or take its minibatches in NumPy")


def _check_truncated(source: Source, padded: Collection[str]) -> None:
    """Refuses streams of truncated minibatches that are not padded, since their segments lie in slots of many steps."""
    if isinstance(source, MinibatchSource) and source._source.is_truncated():
        for name in source.streams:
            if name not in padded:
                raise UsageError(
                    f"stream `{name}`: the source truncates sequences, whose pieces have many steps; expected a dense stream that is padded: name it "
                    "in `padded` and not in `classes`, or open the source without truncation_length"
                )


def _checked(padded: Collection[str] | None, source: Source) -> frozenset[str]:
    """The padded streams: those named, or by default those that the corpus requires."""
    if padded is None:
        # Pieces of truncated sequences may have any number of steps, also where all sequences have one sample.
        several = isinstance(source, MinibatchSource) and (
            source._source.is_truncated() or source.num_samples_per_sweep > source.num_sequences
        )
        return frozenset(source.streams if several else ())
    return named_streams("padded", padded, source)
