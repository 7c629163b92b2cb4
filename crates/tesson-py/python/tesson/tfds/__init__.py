"""Prepared TFDS datasets, without TensorFlow, in TFDS' order.

>>> from tesson import tfds
>>> builder = tfds.builder_from_directory("digits/1.0.0")
>>> ds = builder.as_dataset(split="train[50%:]", read_config=tfds.ReadConfig(add_tfds_id=True))
>>> [int(example["label"]) for example in ds]
[2, 3]
>>> ds.tfds_ids()
['digits-train.tfrecord-00001-of-00002__0', 'digits-train.tfrecord-00001-of-00002__1']

Orders are those of ``tfds.load(…)`` and ``tf.data``, example for example; an iterator's ``state_dict()`` resumes
exactly there in another process. """

from importlib import metadata as _metadata
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import core, decode, features
from .builder import (
    Builder,
    builder,
    builder_from_directories,
    builder_from_directory,
    data_source,
    list_builders,
    load,
)
from .dataset import Dataset, DataSource
from .decode import PartialDecoding, ReducedScale, SkipDecoding
from .examples import DatasetIterator, MinibatchIterator
from .features import ClassLabel, FeatureInfo, Image
from .info import DatasetInfo, FileInstruction, SplitInfo
from .missing import refused as _refused
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
from .splits import EvenSplit, ReadInstruction, Split, SumOfSplits, even_splits, split_for_jax_process
from .tools import as_dataframe, as_numpy, benchmark, disable_progress_bar, display_progress_bar, show_examples
from .values import NestedDataset, Ragged
from .writer import Writer

__version__ = _metadata.version("tesson")
"""Tesson's version; the behaviour is that of TFDS 4.9."""


if not _TYPE_CHECKING:

    def __getattr__(name: str) -> None:
        raise _refused(__name__, name)


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
    "Image",
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
    "Split",
    "SplitInfo",
    "SumOfSplits",
    "TensorSpec",
    "Writer",
    "__version__",
    "as_dataframe",
    "as_numpy",
    "benchmark",
    "builder",
    "builder_from_directories",
    "builder_from_directory",
    "core",
    "data_source",
    "decode",
    "disable_progress_bar",
    "display_progress_bar",
    "even_splits",
    "features",
    "list_builders",
    "load",
    "set_random_seed",
    "show_examples",
    "split_for_jax_process",
]
