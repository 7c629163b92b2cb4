"""Names of TFDS that Tesson does not have, each with the reason and the replacement."""

from __future__ import annotations

_PREPARES = "Tesson reads datasets that are prepared; write one with `tfds.Writer`"
_DOWNLOADS = "Tesson downloads nothing; prepare the dataset with TFDS, or write one with `tfds.Writer`"
_FOLDERS = "Tesson reads prepared datasets only; write one of the files with `tfds.Writer`"

_REASONS = {
    "BeamBasedBuilder": _PREPARES,
    "BeamMetadataDict": _PREPARES,
    "BuilderConfig": _PREPARES,
    "ConfigBasedBuilder": _PREPARES,
    "DatasetIdentity": _PREPARES,
    "Experiment": _PREPARES,
    "FolderMetadata": _FOLDERS,
    "GeneratorBasedBuilder": _PREPARES,
    "ImageFolder": _FOLDERS,
    "Metadata": _PREPARES,
    "MetadataDict": _PREPARES,
    "SplitGenerator": _PREPARES,
    "TranslateFolder": _FOLDERS,
    "add_data_dir": "pass `data_dir=`, or set the environment variable TFDS_DATA_DIR",
    "as_path": "use `pathlib.Path`",
    "beam": _PREPARES,
    "dataset_builders": _PREPARES,
    "dataset_collection": "collections of datasets are not supported; load each dataset by its name",
    "deprecated": "the sub-word text encoders were removed from TFDS; use a tokenizer of another package",
    "download": _DOWNLOADS,
    "enable_progress_bar": "Tesson prepares nothing that takes long, there is no bar to show",
    "folder_dataset": _FOLDERS,
    "is_dataset_on_gcs": _DOWNLOADS,
    "lazy_imports": "import the package itself",
    "path": "use `pathlib.Path`",
    "rlds": "steps of an episode are a `NestedDataset`, which is iterable",
    "show_statistics": "statistics are not stored; compute them from the examples",
    "testing": "there is no mock data; write a small dataset with `tfds.Writer`",
    "transform": "use `map` of the dataset",
    "visualization": "use `tfds.show_examples`",
}


def refused(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have."""
    reason = f": {_REASONS[name]}" if name in _REASONS else ""
    return AttributeError(f"module `{module}` has no attribute `{name}`{reason}", name=name)
