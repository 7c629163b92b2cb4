"""What datasets do with their elements: one operation a file.

Operations on the order of examples (shuffle, repeat, skip, take, shard) are part of the plan where nothing but order is
asked for. The same words here are for elements that only Python has: results of functions, batches.
"""

from .batch import Batch
from .cache import Cache
from .concatenate import Concatenate
from .enumerate import Enumerate
from .filter import Filter, FilterIterator
from .map import Map
from .node import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, OperationIterator, Traversal, check_operation
from .padded_batch import PaddedBatch
from .prefetch import Prefetch
from .repeat import Repeat
from .shard import Shard
from .shuffle import Shuffle
from .skip import Skip
from .structure import DatasetSpec, RaggedTensorSpec, TensorSpec
from .take import Take
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
    "PaddedBatch",
    "Prefetch",
    "RaggedTensorSpec",
    "Repeat",
    "Shard",
    "Shuffle",
    "Skip",
    "Take",
    "TensorSpec",
    "Traversal",
    "Unbatch",
    "Zip",
    "check_operation",
]
