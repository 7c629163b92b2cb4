"""Preparing datasets: examples in, a directory out that TFDS reads as well."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from .. import _tesson
from .builder import Builder
from .info import ClassLabel, FeatureInfo
from .values import Ragged

_MODULE = "tensorflow_datasets.core.features"


class Writer:
    """Writes a prepared dataset, one example after the other, also in several attempts.

    Parameters
    ----------
    data_dir : path
        Where datasets are; this one becomes ``<data_dir>/<name>/<version>``, or ``<data_dir>/<name>/<config>/<version>``.
    name, version, config : str
        What the dataset is called.
    features : mapping
        For each feature a :class:`FeatureInfo` (``FeatureInfo((28, 28), "uint8")``), a :class:`ClassLabel`, a mapping of
        further features, or a node as features.json has it, for whatever else there is: pictures, encodings, sequences.
    splits : mapping of str to int or None
        How many shards each split has; with ``None`` one for each 256 MiB.
    file_format : {"tfrecord", "array_record"}
        What the shards are.
    disable_shuffling : bool
        Says that the order of the examples means something.
    supervised_keys : optional
        What ``as_supervised`` hands out: a tuple of names, or of tuples and dictionaries of them.
    description : str
        What the dataset is, for people.

    Notes
    -----
    Until it is finished, the dataset is made in a folder of its own. A writer that is opened again after a kill goes on
    behind the last whole example: :meth:`written` says how many there are. As a context manager it finishes the dataset, or,
    if an exception comes, keeps what was written for the next attempt.

    Examples
    --------
    >>> features = {"n": tfds.FeatureInfo((), "int64"), "name": tfds.FeatureInfo((), "string")}
    >>> with tfds.Writer("data", "numbers", "1.0.0", features, {"train": 2}) as writer:
    ...     for n in range(writer.written("train"), 5):
    ...         writer.write("train", {"n": n, "name": f"number {n}"})
    >>> builder = tfds.builder("numbers", data_dir="data")
    >>> builder.info.splits["train"].shard_lengths
    [2, 3]
    >>> builder.as_dataset("train")[4]
    {'n': np.int64(4), 'name': b'number 4'}
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str],
        name: str,
        version: str,
        features: Mapping[str, Any],
        splits: Mapping[str, int | None],
        *,
        config: str | None = None,
        file_format: str = "tfrecord",
        disable_shuffling: bool = False,
        supervised_keys: Any = None,
        description: str = "",
    ) -> None:
        dataset = {
            "name": name,
            "version": version,
            "config": config,
            "features": _node(features),
            "labels": list(_labels(features)),
            "splits": dict(splits),
            "file_format": file_format,
            "disable_shuffling": disable_shuffling,
            "supervised_keys": supervised_keys,
            "description": description,
        }
        self._native = _tesson.DatasetWriter(data_dir, dataset)
        self._kinds = dict(self._native.keys())

    def written(self, split: str) -> int:
        """Examples of a split so far, those of earlier attempts among them."""
        return self._native.written(split)

    def write(self, split: str, example: Mapping[str, Any]) -> None:
        """Add an example to a split.

        Parameters
        ----------
        split : str
            Where it goes.
        example : mapping
            Values by feature, nested as the features are: numbers, arrays, lists; ``str`` and ``bytes``; :class:`Ragged` for
            sequences of sequences. Of pictures, sound and encoded tensors the bytes that are stored. An optional feature, or
            an empty sequence, may be left out or be ``None``.

        Raises
        ------
        KeyError
            The dataset has no such feature.
        TypeError
            Values of another kind than the feature's.
        """
        self._native.write(split, [(key, self._stored(key, value)) for key, value in _flat(example)])

    def _stored(self, key: str, value: Any) -> Any:
        """The list that a key stores."""
        match self._kinds.get(key):
            case "bytes":
                return _strings(key, value)
            case "ints":
                return _numbers(key, value, "biu", "whole numbers", np.int64)
            case "floats":
                return _numbers(key, value, "biuf", "numbers", np.float32)
        near = difflib.get_close_matches(key, self._kinds, 1)
        hint = f", did you mean `{near[0]}`?" if near else ""
        raise KeyError(f"the dataset has no feature `{key}`{hint}")

    def sync(self) -> None:
        """Hand all examples so far to the disk: a kill or a loss of power loses only what comes after."""
        self._native.sync()

    def finish(self) -> Builder:
        """Make the dataset of what was written, and open it."""
        return Builder([os.fspath(self._native.finish())])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.sync()


def _flat(example: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Keys and values as they are stored."""
    for name, value in example.items():
        key = path + name
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}/")
        elif isinstance(value, Ragged):
            yield f"{key}/ragged_flat_values", value.values
            for level, lengths in enumerate(value.row_lengths):
                yield f"{key}/ragged_row_lengths_{level}", lengths
        elif value is not None:
            yield key, value


def _strings(key: str, value: Any) -> list[bytes]:
    if isinstance(value, (str, bytes)):
        value = [value]
    found = [text.encode() if isinstance(text, str) else text for text in np.ravel(np.asarray(value, dtype=object))]
    for text in found:
        if not isinstance(text, bytes):
            raise TypeError(f"found {text!r} for `{key}`, expected str or bytes")
    return found


def _numbers(key: str, value: Any, kinds: str, expected: str, dtype: type[np.generic]) -> np.ndarray:
    array = np.asarray(value)
    if array.size > 0 and array.dtype.kind not in kinds:
        raise TypeError(f"found {array.dtype} values for `{key}`, expected {expected}")
    return np.ascontiguousarray(array.ravel(), dtype=dtype)


def _node(feature: Any) -> dict[str, Any]:
    """A node of features.json."""
    if isinstance(feature, Mapping):
        if "pythonClassName" in feature or "type" in feature:
            return dict(feature)
        fields = {name: _node(of) for name, of in feature.items()}
        return _named("features_dict.FeaturesDict", featuresDict={"features": fields})
    if not isinstance(feature, FeatureInfo):
        raise TypeError(f"found {feature!r}, expected FeatureInfo, a mapping, or a node of features.json")
    rank = feature.sequence_rank
    node = _leaf(feature, feature.shape[rank:])
    for length in reversed(feature.shape[:rank]):
        inner = {"feature": node, "length": str(-1 if length is None else length)}
        node = _named("sequence_feature.Sequence", sequence=inner)
    return node


def _leaf(feature: FeatureInfo, shape: Sequence[int | None]) -> dict[str, Any]:
    if isinstance(feature, ClassLabel):
        return _named("class_label_feature.ClassLabel", classLabel={"numClasses": str(feature.num_classes)})
    if feature.dtype == "string" and not shape and not feature.optional:
        return _named("text_feature.Text", text={})
    dims = {"dimensions": [str(-1 if d is None else d) for d in shape]}
    tensor: dict[str, Any] = {"shape": dims, "dtype": feature.dtype, "encoding": "none"}
    if feature.optional:
        tensor["optional"] = True
    return _named("tensor_feature.Tensor", tensor=tensor)


def _named(name: str, **content: Any) -> dict[str, Any]:
    return {"pythonClassName": f"{_MODULE}.{name}", **content}


def _labels(features: Any, path: tuple[str, ...] = ()) -> Iterator[list[list[str]]]:
    """The keys from the root to each feature of classes, and the names of these."""
    if isinstance(features, Mapping) and "pythonClassName" not in features and "type" not in features:
        for name, of in features.items():
            yield from _labels(of, (*path, name))
    elif isinstance(features, ClassLabel):
        yield [list(path), features.names]
