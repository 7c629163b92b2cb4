"""For training scripts in PyTorch: minibatches as tensors, and Tesson's orders for other people's datasets.

Nothing else in the package imports PyTorch, and this module has to be imported by its name.

>>> from torch.utils.data import DataLoader
>>> import tesson.torch
>>> dataset = tesson.torch.IterableDataset(source, minibatch_size=4, layouts={"labels": "classes"})
>>> batch = next(iter(DataLoader(dataset, batch_size=None)))
>>> batch["features"].shape, batch["labels"]
(torch.Size([4, 4]), tensor([0, 1, 2, 0]))

A prepared dataset is a map-style dataset by itself, ``DataLoader(ds, batch_size=32)``: ``ds[i]`` is read alone, and
``ds.set_epoch(epoch)`` says of which pass.
"""

from .dataset import IterableDataset
from .layouts import Padded
from .sampler import Sampler

__all__ = ["IterableDataset", "Padded", "Sampler"]
