"""Prepared datasets and sources as Hugging Face's ``datasets.IterableDataset``, exactly resumable.

::

    ds = tesson.huggingface.iterable_dataset(tfds.load("mnist", split="train", shuffle_files=True), epoch=3)
    for step, example in enumerate(ds):
        ...
    state = ds.state_dict()  # after a restart: ds.load_state_dict(state)
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from .errors import DataError, UsageError
from .minibatch import Minibatch
from .source import MinibatchSource
from .stream_names import check_storage, named_streams
from .tfds.dataset import Dataset

__all__ = ["iterable_dataset"]


def iterable_dataset(
    dataset: Dataset[Any] | MinibatchSource,
    *,
    epoch: int = 0,
    examples_per_shard: int = 1024,
    classes: Collection[str] = (),
) -> Any:
    """One pass over a prepared dataset, or one sweep of a source, in its order, as a ``datasets.IterableDataset``.

    A shard in Hugging Face's sense is here a run of consecutive examples of the pass. States count in shards, so
    resuming skips whole shards without reading them. Shards are also distributed to the worker processes of a
    ``DataLoader`` and by ``datasets.distributed.split_dataset_by_node``: each example goes to exactly one of them.

    Leave shuffling to the dataset: ``shuffle()`` and ``set_epoch()`` of the result reorder shards, which changes the order,
    though states stay exact; make the next pass with the next `epoch`.

    A state records its data, pass and shards. ``load_state_dict()`` accepts any state; iterating raises
    :class:`ResumeError` if it belongs to others, also after ``map()`` and similar operations on the result.

    Parameters
    ----------
    dataset : tesson.tfds.Dataset or MinibatchSource
        The examples of a split, shuffled, repeated, skipped, taken or sharded; or the sequences of a source, which
        must then be read only through the result. Apply ``map()`` and other operations on elements to the result.
    epoch : int
        The number of the pass or sweep, from 0; it decides the order if passes are reshuffled.
    examples_per_shard : int
        Examples of a shard. Resuming reads at most this many that were delivered before; worker processes and nodes
        get even shares only if there are many shards.
    classes : collection of str, optional
        Sparse streams of a source with one column in each sample, such as labels: they become int32 numbers.

    Returns
    -------
    datasets.IterableDataset
        Its examples are dictionaries of NumPy values: those of a prepared dataset unchanged; of a source the
        sequence's ``key``, and for each stream ``[samples, *sample_shape]``, or ``[samples]`` of `classes`. The axis
        of samples is left out if the corpus has as many samples as sequences. Sequences with faults are missing.

    Raises
    ------
    ImportError
        ``datasets`` is not installed.
    TypeError
        The dataset has another type, or no end.
    DataError
        When iterating: the axis of samples is left out, and a sequence has none or several samples of a stream.
    UsageError
        An argument is out of range; the dataset's elements are made by functions, or batched; a stream is sparse and
        not in `classes`; the source is one rank's share, truncates, or ends before the sweep.
    """
    from datasets import IterableDataset  # type: ignore[import-not-found, import-untyped, unused-ignore]

    from .huggingface_shards import ShardedExamples

    if not isinstance(dataset, (Dataset, MinibatchSource)):
        expected = "a dataset of tesson.tfds or a MinibatchSource: only these are read from any example on"
        raise TypeError(f"found {type(dataset).__name__}, expected {expected}")
    for name, value, least in (("epoch", epoch, 0), ("examples_per_shard", examples_per_shard, 1)):
        if not isinstance(value, int) or value < least:
            raise UsageError(f"{name}: found {value!r}, expected a whole number from {least}")
    # A dataset without an order of examples is refused here rather than in a worker process.
    shards: _ExampleShards | _SourceShards
    if isinstance(dataset, MinibatchSource):
        shards = _SourceShards(dataset, epoch, examples_per_shard, named_streams("classes", classes, dataset))
    else:
        if classes:
            raise UsageError("classes: those are for streams of a source, found a prepared dataset, whose labels are numbers")
        shards = _ExampleShards(dataset, epoch, examples_per_shard)
    return IterableDataset(ShardedExamples(shards, list(range(0, shards.length, examples_per_shard))))


class _ExampleShards:
    """The examples of the shards that begin at some positions. It pickles, for worker processes."""

    def __init__(self, dataset: Dataset[Any], epoch: int, size: int) -> None:
        self.start: dict[str, Any] = dataset.seek(epoch, 0).state_dict()
        self.epoch, self.examples_per_shard, self.length = epoch, size, len(dataset)
        self._dataset = dataset

    def __call__(self, begins: Iterable[int]) -> Iterator[tuple[int, Any]]:
        for begin in begins:
            examples = self._dataset.seek(self.epoch, begin)
            yield from enumerate(islice(examples, min(self.examples_per_shard, self.length - begin)), begin)

    def check(self, state: dict[str, Any]) -> None:
        self._dataset.seek(self.epoch, 0).load_state_dict(state)


class _SourceShards:
    """The sequences of a sweep in the shards that begin at some positions. It pickles, for worker processes."""

    def __init__(self, source: MinibatchSource, epoch: int, size: int, classes: frozenset[str]) -> None:
        if source._share not in ((None, None), (1, 0)):
            raise UsageError("the source is one rank's share: open it without `world`, and share with split_dataset_by_node")
        if source._source.is_truncated():
            raise UsageError("the source truncates sequences, expected one that gives them whole: open it without truncation_length")
        if "key" in source.streams:
            raise UsageError("a stream is called `key`, which is where examples have the keys of sequences: give it another name")
        check_storage(source, classes)
        self.epoch, self.examples_per_shard = epoch, size
        self.length: int = source.steps_per_sweep(1)
        self._has_samples_axis = source.num_samples_per_sweep != source.num_sequences
        self._begin, self._classes = epoch * self.length, classes
        #: Where each iteration starts from, so that faults are charged alike in each.
        self.start: dict[str, Any] = source.get_checkpoint_state()
        # Refuses sweeps beyond the end.
        source.skip_to(self._begin + self.length, 1)
        self._source = source
        #: Opened sources that no iteration reads, and the process that opened them: a fork has to open its own.
        self._idle = [source]
        self._process = os.getpid()

    def __call__(self, begins: Iterable[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        with self._opened() as source:
            source.restore_from_checkpoint(self.start)
            for begin in begins:
                source.skip_to(self._begin + begin, 1)
                for position in range(begin, min(begin + self.examples_per_shard, self.length)):
                    # A minibatch of one sample is one sequence, however long; none if a fault leaves it out.
                    minibatch = source.next_minibatch(1)
                    if minibatch.num_sequences > 0:
                        yield position, self._example(minibatch)

    def check(self, state: dict[str, Any]) -> None:
        with self._opened() as source:
            source.restore_from_checkpoint(state)

    @contextmanager
    def _opened(self) -> Iterator[MinibatchSource]:
        """A source with no other reader."""
        if self._process != os.getpid():
            self._idle, self._process = [], os.getpid()
        process = self._process
        try:
            source = self._idle.pop()
        except IndexError:
            source = self._source._reopened()
        try:
            yield source
        finally:
            # One is enough for consecutive iterations. A source that another process has opened must not be closed by this one.
            if process == os.getpid() and not self._idle:
                self._idle.append(source)
            elif process == os.getpid():
                source.close()

    def _example(self, minibatch: Minibatch) -> dict[str, Any]:
        example: dict[str, Any] = {}
        for name, data in minibatch.items():
            example.setdefault("key", data.keys[0])
            if not self._has_samples_axis and data.num_samples != 1:
                raise DataError(
                    f"stream `{name}`: sequence {data.keys[0]!r} has {data.num_samples} samples, expected 1, since the corpus has as "
                    f"many samples as sequences; leave the stream out, or the sequence with exclude_keys",
                    stream=name,
                    key=data.keys[0],
                )
            kind = "class_indices" if name in self._classes else "sample_list" if data.is_ragged else "samples"
            values = getattr(data, kind)
            example[name] = values if self._has_samples_axis else values[0]
        return example

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_idle": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._idle, self._process = [self._source], os.getpid()
