"""The names of ``cntk.io``, so that a script for CNTK runs with ``tesson.io`` in its place, and those of the formats and results that
came later to the same interface.

>>> from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tesson import (
        DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS,
        FULL_DATA_SWEEP,
        INFINITELY_REPEAT,
        AudioDeserializer,
        Base64ImageDeserializer,
        CBFDeserializer,
        CTFDeserializer,
        Deserializer,
        HTKFeatureDeserializer,
        HTKMLFBinaryDeserializer,
        HTKMLFDeserializer,
        ImageDeserializer,
        KaldiAlignmentDeserializer,
        KaldiFeatureDeserializer,
        KeyDelivery,
        Layout,
        Minibatch,
        MinibatchData,
        MinibatchSource,
        MinibatchSourceFromData,
        PlannedSequence,
        PlannedStep,
        StreamConfiguration,
        StreamDef,
        StreamDefs,
        StreamInformation,
        Streams,
        TFDSDeserializer,
        TarImageDeserializer,
        UserDeserializer,
        UserMinibatchSource,
        UserTransform,
        merge_states,
        register_deserializer,
        resolve_config,
        sequence_to_cntk_text_format,
    )

    from . import transforms

__all__ = [
    "DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS",
    "FULL_DATA_SWEEP",
    "INFINITELY_REPEAT",
    "AudioDeserializer",
    "Base64ImageDeserializer",
    "CBFDeserializer",
    "CTFDeserializer",
    "Deserializer",
    "HTKFeatureDeserializer",
    "HTKMLFBinaryDeserializer",
    "HTKMLFDeserializer",
    "ImageDeserializer",
    "KaldiAlignmentDeserializer",
    "KaldiFeatureDeserializer",
    "KeyDelivery",
    "Layout",
    "Minibatch",
    "MinibatchData",
    "MinibatchSource",
    "MinibatchSourceFromData",
    "PlannedSequence",
    "PlannedStep",
    "StreamConfiguration",
    "StreamDef",
    "StreamDefs",
    "StreamInformation",
    "Streams",
    "TFDSDeserializer",
    "TarImageDeserializer",
    "UserDeserializer",
    "UserMinibatchSource",
    "UserTransform",
    "merge_states",
    "register_deserializer",
    "resolve_config",
    "sequence_to_cntk_text_format",
    "transforms",
]


def __getattr__(name: str) -> object:
    # A script imports what it uses, and no format that it does not.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    if name == "transforms":
        return _import_module(".transforms", __name__)
    value = getattr(_import_module("tesson"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
