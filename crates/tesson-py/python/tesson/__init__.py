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
    "batch": ["Batch", "Ragged", "Sparse"],
    "dataset": ["Dataset", "dense", "from_arrays", "ragged", "read_ctf", "sparse"],
    "datasets": ["read_cbf", "read_tfds"],
    "errors": ["ConfigError", "DataError", "ResumeError", "StoreError", "TessonError", "UsageError"],
    "images": ["read_images", "read_webdataset"],
    "loader": ["EpochReport", "Loader", "Window"],
    "plugins": ["register_deserializer"],
    "speech": ["read_audio", "read_htk", "read_kaldi", "read_kaldi_alignments", "read_mlf"],
    "steps": ["KeyDelivery", "PlannedSequence", "PlannedStep"],
    "tables": ["Column", "column", "from_table", "image_column", "read_arff", "read_array_records", "read_arrow", "read_csv", "read_json", "read_libsvm", "read_mds", "read_numpy", "read_parquet", "read_tfrecords", "read_tokens", "read_vw"],
    "transforming": ["UserTransform"],
    "user": ["UserDeserializer"],
}

# The names of the older interface, which `tesson.io` lists: they resolve here for scripts that have them from here.
_OLDER = {
    "audio_deserializers": ["AudioDeserializer"],
    "config": ["resolve_config"],
    "deserializers": ["CBFDeserializer", "CTFDeserializer", "Deserializer", "TFDSDeserializer"],
    "feature_deserializers": ["HTKFeatureDeserializer", "KaldiFeatureDeserializer"],
    "image_deserializers": ["Base64ImageDeserializer", "ImageDeserializer", "TarImageDeserializer"],
    "label_deserializers": ["HTKMLFBinaryDeserializer", "HTKMLFDeserializer", "KaldiAlignmentDeserializer"],
    "minibatch": ["Layout", "Minibatch", "MinibatchData"],
    "source": [
        "DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS",
        "FULL_DATA_SWEEP",
        "INFINITELY_REPEAT",
        "MinibatchSource",
        "MinibatchSourceFromData",
        "merge_states",
    ],
    "streams": ["StreamConfiguration", "StreamDef", "StreamDefs", "StreamInformation", "Streams"],
    "text_format": ["sequence_to_cntk_text_format"],
    "user_source": ["UserMinibatchSource"],
    # Modules alone.
    "elsewhere": [],
    "keywords": [],
    "memory": [],
    "paths": [],
    "schema": [],
    "source_base": [],
    "transforms": [],
    "values": [],
    "world": [],
}

# Interfaces of their own, which load what they are for.
_INTERFACES = frozenset({"arrow", "huggingface", "io", "jax", "orbax", "ray", "tfds", "torch"})

_MODULES = {name: module for modules in (_NAMES, _OLDER) for module, names in modules.items() for name in names}

__all__ = sorted([*(name for names in _NAMES.values() for name in names), "transforms"])


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is not None:
        value = getattr(_import_module(f".{module}", __name__), name)
        # From now on it is found without this function.
        globals()[name] = value
        return value
    if name in _NAMES or name in _OLDER or name in _INTERFACES:
        return _import_module(f".{name}", __name__)
    hint = ""
    if not name.startswith("_"):
        from .elsewhere import OF_PACKAGE, hinted

        hint = hinted(name, OF_PACKAGE, __all__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
