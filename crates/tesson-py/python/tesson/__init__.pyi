# The package as type checkers and editors see it; at run time it imports its modules when they are first used.

from . import transforms
from ._tesson import __version__
from .audio_deserializers import AudioDeserializer
from .batch import Batch, Ragged, Sparse
from .config import resolve_config
from .dataset import Dataset, dense, from_arrays, ragged, read_ctf, sparse
from .deserializers import CBFDeserializer, CTFDeserializer, Deserializer, TFDSDeserializer
from .errors import ConfigError, DataError, ResumeError, StoreError, TessonError, UsageError
from .feature_deserializers import HTKFeatureDeserializer, KaldiFeatureDeserializer
from .image_deserializers import Base64ImageDeserializer, ImageDeserializer, TarImageDeserializer
from .images import read_images, read_webdataset
from .label_deserializers import HTKMLFBinaryDeserializer, HTKMLFDeserializer, KaldiAlignmentDeserializer
from .loader import EpochReport, Loader, Window
from .minibatch import Layout, Minibatch, MinibatchData
from .plugins import register_deserializer
from .datasets import read_cbf, read_tfds
from .source import (
    DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS,
    FULL_DATA_SWEEP,
    INFINITELY_REPEAT,
    MinibatchSource,
    MinibatchSourceFromData,
    merge_states,
)
from .speech import read_audio, read_htk, read_kaldi, read_kaldi_alignments, read_mlf
from .steps import KeyDelivery, PlannedSequence, PlannedStep
from .streams import StreamConfiguration, StreamDef, StreamDefs, StreamInformation, Streams
from .tables import Column, column, from_table, image_column, read_arrow, read_numpy, read_parquet, read_tokens
from .text_format import sequence_to_cntk_text_format
from .transforming import UserTransform
from .user import UserDeserializer
from .user_source import UserMinibatchSource

__all__ = [
    "AudioDeserializer",
    "Base64ImageDeserializer",
    "Batch",
    "CBFDeserializer",
    "CTFDeserializer",
    "Column",
    "ConfigError",
    "DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS",
    "DataError",
    "Dataset",
    "Deserializer",
    "EpochReport",
    "FULL_DATA_SWEEP",
    "HTKFeatureDeserializer",
    "HTKMLFBinaryDeserializer",
    "HTKMLFDeserializer",
    "INFINITELY_REPEAT",
    "ImageDeserializer",
    "KaldiAlignmentDeserializer",
    "KaldiFeatureDeserializer",
    "KeyDelivery",
    "Layout",
    "Loader",
    "Minibatch",
    "MinibatchData",
    "MinibatchSource",
    "MinibatchSourceFromData",
    "PlannedSequence",
    "PlannedStep",
    "Ragged",
    "ResumeError",
    "Sparse",
    "StoreError",
    "StreamConfiguration",
    "StreamDef",
    "StreamDefs",
    "StreamInformation",
    "Streams",
    "TFDSDeserializer",
    "TarImageDeserializer",
    "TessonError",
    "UsageError",
    "UserDeserializer",
    "UserMinibatchSource",
    "UserTransform",
    "Window",
    "__version__",
    "column",
    "dense",
    "from_arrays",
    "from_table",
    "image_column",
    "merge_states",
    "ragged",
    "read_arrow",
    "read_audio",
    "read_cbf",
    "read_ctf",
    "read_htk",
    "read_images",
    "read_kaldi",
    "read_kaldi_alignments",
    "read_mlf",
    "read_numpy",
    "read_parquet",
    "read_tfds",
    "read_tokens",
    "read_webdataset",
    "register_deserializer",
    "resolve_config",
    "sequence_to_cntk_text_format",
    "sparse",
    "transforms",
]
