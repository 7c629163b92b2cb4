"""Prepared datasets as Hugging Face's ``datasets.IterableDataset``, exactly resumable.

::

    ds = tesson.huggingface.iterable_dataset(tfds.load("mnist", split="train", shuffle_files=True), epoch=3)
    for step, example in enumerate(ds):
        ...
    state = ds.state_dict()  # after a restart: ds.load_state_dict(state)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from .errors import UsageError
from .tfds.dataset import Dataset

__all__ = ["iterable_dataset"]


def iterable_dataset(dataset: Dataset[Any], *, epoch: int = 0, examples_per_shard: int = 1024) -> Any:
    """One pass over a prepared dataset, in its order, as a ``datasets.IterableDataset``.

    What Hugging Face calls a shard is a run of consecutive examples of the pass here. It is what its states count in, so
    resuming skips whole shards without reading them, and what it gives to the worker processes of a ``DataLoader`` and to
    ``datasets.distributed.split_dataset_by_node``: each example goes to exactly one of them.

    Leave shuffling to the dataset: ``shuffle()`` and ``set_epoch()`` of the result reorder shards, which changes the order,
    though states stay exact; make the next pass with the next `epoch`.

    Parameters
    ----------
    dataset : tesson.tfds.Dataset
        The examples of a split, shuffled, repeated, skipped, taken or sharded. Apply ``map()`` and other operations
        on elements to the result.
    epoch : int
        Which pass, from 0: where passes are shuffled anew, the order depends on it.
    examples_per_shard : int
        Examples of a shard. Resuming reads at most this many that were delivered before; worker processes and nodes get
        even shares only where there are many shards.

    Returns
    -------
    datasets.IterableDataset
        Its examples are dictionaries of NumPy values, as the dataset's own.

    Raises
    ------
    ImportError
        ``datasets`` is not installed.
    TypeError
        The dataset is no prepared dataset, or has no end.
    UsageError
        An argument is out of range, or the dataset's elements are made by functions, or batched.
    """
    from datasets import IterableDataset  # type: ignore[import-not-found, import-untyped, unused-ignore]

    if not isinstance(dataset, Dataset):
        expected = "a dataset of tesson.tfds: only these are read from any example on"
        raise TypeError(f"found {type(dataset).__name__}, expected {expected}")
    for name, value, least in (("epoch", epoch, 0), ("examples_per_shard", examples_per_shard, 1)):
        if not isinstance(value, int) or value < least:
            raise UsageError(f"{name}: found {value!r}, expected a whole number from {least}")
    # Refuses what has no order of examples, here rather than in a worker process.
    dataset.seek(epoch, 0)
    length = len(dataset)
    begins = list(range(0, length, examples_per_shard))
    generator = _Shards(dataset, epoch, examples_per_shard, length)
    return IterableDataset.from_generator(generator, gen_kwargs={"begins": begins})


class _Shards:
    """The examples of the shards that begin at the positions given. It pickles, for worker processes."""

    def __init__(self, dataset: Dataset[Any], epoch: int, size: int, length: int) -> None:
        self._dataset, self._epoch, self._size, self._length = dataset, epoch, size, length

    def __call__(self, begins: Iterable[int]) -> Iterator[Any]:
        for begin in begins:
            yield from islice(self._dataset.seek(self._epoch, begin), min(self._size, self._length - begin))
