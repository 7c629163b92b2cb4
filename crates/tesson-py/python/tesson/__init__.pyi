# The package as type checkers and editors see it; at run time it imports its modules when they are first used.

from . import transforms
from ._tesson import __version__
from .audio_deserializers import AudioDeserializer as AudioDeserializer
from .batch import Batch, Ragged, Sparse
from .config import resolve_config as resolve_config
from .dataset import Dataset, dense, from_arrays, ragged, read_ctf, sparse
from .deserializers import (
    CBFDeserializer as CBFDeserializer,
    CTFDeserializer as CTFDeserializer,
    Deserializer as Deserializer,
    TFDSDeserializer as TFDSDeserializer,
)
from .errors import ConfigError, DataError, ResumeError, StoreError, TessonError, UsageError
from .feature_deserializers import (
    HTKFeatureDeserializer as HTKFeatureDeserializer,
    KaldiFeatureDeserializer as KaldiFeatureDeserializer,
)
from .image_deserializers import (
    Base64ImageDeserializer as Base64ImageDeserializer,
    ImageDeserializer as ImageDeserializer,
    TarImageDeserializer as TarImageDeserializer,
)
from .images import read_images, read_webdataset
from .label_deserializers import (
    HTKMLFBinaryDeserializer as HTKMLFBinaryDeserializer,
    HTKMLFDeserializer as HTKMLFDeserializer,
    KaldiAlignmentDeserializer as KaldiAlignmentDeserializer,
)
from .loader import EpochReport, Loader, Window
from .minibatch import (
    Layout as Layout,
    Minibatch as Minibatch,
    MinibatchData as MinibatchData,
)
from .plugins import register_deserializer
from .datasets import read_cbf, read_tfds
from .source import (
    DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS as DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS,
    FULL_DATA_SWEEP as FULL_DATA_SWEEP,
    INFINITELY_REPEAT as INFINITELY_REPEAT,
    MinibatchSource as MinibatchSource,
    MinibatchSourceFromData as MinibatchSourceFromData,
    merge_states as merge_states,
)
from .speech import read_audio, read_htk, read_kaldi, read_kaldi_alignments, read_mlf
from .steps import KeyDelivery, PlannedSequence, PlannedStep
from .streams import (
    StreamConfiguration as StreamConfiguration,
    StreamDef as StreamDef,
    StreamDefs as StreamDefs,
    StreamInformation as StreamInformation,
    Streams as Streams,
)
from .tables import Column, column, from_table, image_column, read_arff, read_array_records, read_arrow, read_csv, read_json, read_libsvm, read_mds, read_numpy, read_parquet, read_tfrecords, read_tokens, read_vw
from .text_format import sequence_to_cntk_text_format as sequence_to_cntk_text_format
from .transforming import UserTransform
from .user import UserDeserializer
from .user_source import UserMinibatchSource as UserMinibatchSource

__all__ = [
    "Batch",
    "Column",
    "ConfigError",
    "DataError",
    "Dataset",
    "EpochReport",
    "KeyDelivery",
    "Loader",
    "PlannedSequence",
    "PlannedStep",
    "Ragged",
    "ResumeError",
    "Sparse",
    "StoreError",
    "TessonError",
    "UsageError",
    "UserDeserializer",
    "UserTransform",
    "Window",
    "__version__",
    "column",
    "dense",
    "from_arrays",
    "from_table",
    "image_column",
    "ragged",
    "read_arff",
    "read_array_records",
    "read_arrow",
    "read_audio",
    "read_cbf",
    "read_csv",
    "read_ctf",
    "read_htk",
    "read_images",
    "read_json",
    "read_kaldi",
    "read_kaldi_alignments",
    "read_libsvm",
    "read_mds",
    "read_mlf",
    "read_numpy",
    "read_parquet",
    "read_tfds",
    "read_tfrecords",
    "read_tokens",
    "read_vw",
    "read_webdataset",
    "register_deserializer",
    "sparse",
    "transforms",
]
