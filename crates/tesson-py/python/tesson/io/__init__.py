"""The names of ``cntk.io``, so that a script for CNTK runs with ``tesson.io`` in its place.

>>> from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs
"""

from __future__ import annotations

from tesson import (
    DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS,
    FULL_DATA_SWEEP,
    INFINITELY_REPEAT,
    Base64ImageDeserializer,
    CBFDeserializer,
    CTFDeserializer,
    HTKFeatureDeserializer,
    HTKMLFBinaryDeserializer,
    HTKMLFDeserializer,
    ImageDeserializer,
    MinibatchData,
    MinibatchSource,
    MinibatchSourceFromData,
    StreamConfiguration,
    StreamDef,
    StreamDefs,
    StreamInformation,
    UserDeserializer,
    UserMinibatchSource,
    sequence_to_cntk_text_format,
)

from . import transforms

__all__ = [
    "DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS",
    "FULL_DATA_SWEEP",
    "INFINITELY_REPEAT",
    "Base64ImageDeserializer",
    "CBFDeserializer",
    "CTFDeserializer",
    "HTKFeatureDeserializer",
    "HTKMLFBinaryDeserializer",
    "HTKMLFDeserializer",
    "ImageDeserializer",
    "MinibatchData",
    "MinibatchSource",
    "MinibatchSourceFromData",
    "StreamConfiguration",
    "StreamDef",
    "StreamDefs",
    "StreamInformation",
    "UserDeserializer",
    "UserMinibatchSource",
    "sequence_to_cntk_text_format",
    "transforms",
]
