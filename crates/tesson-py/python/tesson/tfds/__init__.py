"""Prepared TFDS datasets, without TensorFlow, in TFDS' order.

>>> from tesson import tfds
>>> builder = tfds.builder_from_directory("digits/1.0.0")
>>> ds = builder.as_dataset(split="train[50%:]", read_config=tfds.ReadConfig(add_tfds_id=True))
>>> [int(example["label"]) for example in ds]
[2, 3]
>>> ds.tfds_ids()
['digits-train.tfrecord-00001-of-00002__0', 'digits-train.tfrecord-00001-of-00002__1']

Orders are those of ``tfds.load(…)`` and ``tf.data``, example for example; an iterator's ``state_dict()`` goes on exactly there
in another process.
"""

from .builder import Builder, builder, builder_from_directories, builder_from_directory, load
from .dataset import Dataset, DataSource
from .decode import PartialDecoding, ReducedScale, SkipDecoding
from .examples import DatasetIterator, MinibatchIterator
from .info import ClassLabel, DatasetInfo, FeatureInfo, FileInstruction, SplitInfo
from .operations import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    DatasetSpec,
    OperationIterator,
    RaggedTensorSpec,
    TensorSpec,
)
from .read_config import MISSING, InputContext, ReadConfig
from .seeds import set_random_seed
from .splits import EvenSplit, ReadInstruction, SumOfSplits, even_splits, split_for_jax_process
from .values import NestedDataset, Ragged
from .writer import Writer

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "MISSING",
    "UNKNOWN_CARDINALITY",
    "Builder",
    "ClassLabel",
    "DataSource",
    "Dataset",
    "DatasetInfo",
    "DatasetIterator",
    "DatasetSpec",
    "EvenSplit",
    "FeatureInfo",
    "FileInstruction",
    "InputContext",
    "MinibatchIterator",
    "NestedDataset",
    "OperationIterator",
    "PartialDecoding",
    "Ragged",
    "RaggedTensorSpec",
    "ReadConfig",
    "ReadInstruction",
    "ReducedScale",
    "SkipDecoding",
    "SplitInfo",
    "SumOfSplits",
    "TensorSpec",
    "Writer",
    "builder",
    "builder_from_directories",
    "builder_from_directory",
    "even_splits",
    "load",
    "set_random_seed",
    "split_for_jax_process",
]
