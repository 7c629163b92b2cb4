"""Operations of datasets on their elements, one in each file.

Operations on the order of examples (shuffle, repeat, skip, take, shard, prefetch) are part of the plan as long as
only the order is involved. On elements that only Python has, results of functions and batches, they are
:class:`Ordered`, with the plan's order.
"""

from .batch import Batch
from .cache import Cache
from .concatenate import Concatenate
from .enumerate import Enumerate
from .filter import Filter, FilterIterator
from .map import Map
from .node import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, OperationIterator, Traversal, check_operation
from .ordered import Ordered
from .padded_batch import PaddedBatch
from .shuffle import Shuffle
from .structure import DatasetSpec, RaggedTensorSpec, TensorSpec
from .unbatch import Unbatch
from .zip import Zip

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Batch",
    "Cache",
    "Concatenate",
    "DatasetSpec",
    "Enumerate",
    "Filter",
    "FilterIterator",
    "Map",
    "Node",
    "OperationIterator",
    "Ordered",
    "PaddedBatch",
    "RaggedTensorSpec",
    "Shuffle",
    "TensorSpec",
    "Traversal",
    "Unbatch",
    "Zip",
    "check_operation",
]
