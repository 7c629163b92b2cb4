"""PyTorch's loader of minibatches that are made already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Types are checked where PyTorch is not installed, too.
from torch.utils.data import DataLoader as TorchDataLoader  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import default_convert

from ..errors import ConfigError
from ..source import MinibatchSource
from ..tfds import Dataset
from .dataset import IterableDataset

__all__ = ["DataLoader"]


class DataLoader(TorchDataLoader[dict[str, Any]]):
    """PyTorch's ``DataLoader(dataset, batch_size=None)`` with the same batches and less overhead.

    PyTorch's own rebuilds each dictionary and reports each step to the profiler: that takes longer than making the
    tensors, and if the source already keeps all cores busy, the loop waits for it. This one passes on the dataset's
    batches. With worker processes, ``pin_memory``, a ``timeout`` or a ``collate_fn`` it works like PyTorch's;
    otherwise it draws no number from PyTorch's generator, while PyTorch's draws one for each iteration.

    A state that is saved after Ctrl-C is exact here. Other loaders, ``StatefulDataLoader`` among them, run code of their own between the
    dataset and the loop, and an interrupt in it loses the minibatch: save states in the body of the loop.

    Parameters
    ----------
    dataset : IterableDataset
        The dataset; its minibatches already have their size.
    **options
        Options of ``torch.utils.data.DataLoader``, such as ``num_workers``.

    Raises
    ------
    ConfigError
        Another kind of dataset, or a ``batch_size``.

    Examples
    --------
    >>> import tesson.torch
    >>> dataset = tesson.torch.IterableDataset(source, minibatch_size=4)
    >>> next(iter(tesson.torch.DataLoader(dataset)))["features"].shape
    torch.Size([4, 4])
    """

    def __init__(self, dataset: IterableDataset, *, batch_size: None = None, **options: Any) -> None:
        if not isinstance(dataset, IterableDataset):
            is_ours = isinstance(dataset, (MinibatchSource, Dataset))
            remedy = "give IterableDataset(…, minibatch_size)" if is_ours else "others are for torch.utils.data.DataLoader"
            what = f"found {type(dataset).__name__}, expected a tesson.torch.IterableDataset; {remedy}"
            raise ConfigError(what, path="dataset")
        if batch_size is not None:
            what = f"found {batch_size!r}, expected None: the size is the dataset's `minibatch_size`"
            raise ConfigError(f"batch_size: {what}", path="batch_size")
        super().__init__(dataset, batch_size=None, **options)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self.num_workers > 0 or self.pin_memory or self.timeout > 0 or self.collate_fn is not default_convert:
            batches: Iterator[dict[str, Any]] = super().__iter__()
            return batches
        return iter(self.dataset)
