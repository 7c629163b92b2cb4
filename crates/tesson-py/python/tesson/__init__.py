"""Feeds training jobs: deterministic, exactly resumable minibatches.

>>> import tesson
>>> from tesson import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs
>>> source = MinibatchSource(CTFDeserializer("train.ctf", StreamDefs(
...     features=StreamDef(field="x", shape=4),
...     labels=StreamDef(field="y", shape=3, is_sparse=True))), max_sweeps=1)
>>> for minibatch in source.minibatches(4):
...     print(minibatch["features"].samples.sum(), minibatch["features"].keys)
48.0 [3, 2, 1, 0]
48.0 [4, 5]
"""

from importlib import import_module as _import_module

# Importing the package imports nothing else, not even NumPy: a module is imported when it or one of its names is first used.
# Type checkers read `__init__.pyi`.
_NAMES = {
    "_tesson": ["__version__"],
    "audio_deserializers": ["AudioDeserializer"],
    "batch": ["Batch", "Ragged", "Sparse"],
    "config": ["resolve_config"],
    "dataset": ["Dataset", "dense", "from_arrays", "ragged", "read_ctf", "sparse"],
    "deserializers": ["CBFDeserializer", "CTFDeserializer", "Deserializer", "TFDSDeserializer"],
    "errors": ["ConfigError", "DataError", "ResumeError", "StoreError", "TessonError", "UsageError"],
    "feature_deserializers": ["HTKFeatureDeserializer", "KaldiFeatureDeserializer"],
    "images": ["read_images", "read_webdataset"],
    "datasets": ["read_cbf", "read_tfds"],
    "speech": ["read_audio", "read_htk", "read_kaldi", "read_kaldi_alignments", "read_mlf"],
    "image_deserializers": ["Base64ImageDeserializer", "ImageDeserializer", "TarImageDeserializer"],
    "label_deserializers": ["HTKMLFBinaryDeserializer", "HTKMLFDeserializer", "KaldiAlignmentDeserializer"],
    "loader": ["EpochReport", "Loader", "Window"],
    "minibatch": ["Layout", "Minibatch", "MinibatchData"],
    "plugins": ["register_deserializer"],
    "source": [
        "DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS",
        "FULL_DATA_SWEEP",
        "INFINITELY_REPEAT",
        "MinibatchSource",
        "MinibatchSourceFromData",
        "merge_states",
    ],
    "steps": ["KeyDelivery", "PlannedSequence", "PlannedStep"],
    "streams": ["StreamConfiguration", "StreamDef", "StreamDefs", "StreamInformation", "Streams"],
    "tables": ["Column", "column", "from_table", "image_column", "read_arrow", "read_numpy", "read_parquet", "read_tokens"],
    "text_format": ["sequence_to_cntk_text_format"],
    "transforming": ["UserTransform"],
    "user": ["UserDeserializer"],
    "user_source": ["UserMinibatchSource"],
    # Modules alone.
    "keywords": [],
    "memory": [],
    "paths": [],
    "schema": [],
    "source_base": [],
    "transforms": [],
    "world": [],
}

_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, "transforms"])


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is not None:
        value = getattr(_import_module(f".{module}", __name__), name)
        # From now on it is found without this function.
        globals()[name] = value
        return value
    if name in _NAMES:
        return _import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_NAMES})
