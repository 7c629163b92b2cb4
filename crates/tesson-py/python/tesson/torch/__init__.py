"""For training scripts in PyTorch: minibatches as tensors, and Tesson's orders for other people's datasets.

Nothing else in the package imports PyTorch, and this module must be imported by its name.

>>> import tesson.torch
>>> dataset = tesson.torch.IterableDataset(source, minibatch_size=4, layouts={"labels": "classes"})
>>> batch = next(iter(tesson.torch.DataLoader(dataset)))
>>> batch["features"].shape, batch["labels"]
(torch.Size([4, 4]), tensor([0, 1, 2, 0]))

PyTorch's own ``DataLoader(dataset, batch_size=None)`` delivers the same batches. A prepared dataset is already a
map-style dataset, ``torch.utils.data.DataLoader(ds, batch_size=32)``: ``ds[i]`` is read alone, and
``ds.set_epoch(epoch)`` selects the pass.
"""

from .dataset import IterableDataset
from .layouts import Padded
from .loader import DataLoader
from .sampler import Sampler

__all__ = ["DataLoader", "IterableDataset", "Padded", "Sampler"]
