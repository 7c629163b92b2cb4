"""Preparing datasets: examples in, a directory out that TFDS reads as well."""

from __future__ import annotations

import functools
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from .. import _tesson
from ..paths import AnyPath, text_of
from .builder import Builder
from .features import to_feature
from .values import Ragged


class Writer:
    """Writes a prepared dataset, one example after the other, also in several attempts.

    Parameters
    ----------
    data_dir : path
        The directory of datasets; this one becomes ``<data_dir>/<name>/<version>``, or ``<data_dir>/<name>/<config>/<version>``.
    name, version, config : str
        The name, version and configuration of the dataset.
    features : mapping
        The features of an example: for each one of :mod:`tesson.tfds.features`, such as ``tfds.features.Image()`` or
        ``tfds.features.ClassLabel(names=["cat", "dog"])``, a mapping of further features, a type such as
        ``np.int64``, or a node of features.json.
    splits : mapping of str to int or None
        The number of shards of each split, 1 to 99,999; with ``None`` one for each 256 MiB.
    file_format : {"tfrecord", "array_record"}
        The format of the shards.
    disable_shuffling : bool
        True if the order of the examples is meaningful.
    supervised_keys : optional
        The features that ``as_supervised`` delivers: a tuple of names, or of tuples and dictionaries of them.
    description : str
        A description of the dataset for people.
    flush_every : int, optional
        Call :meth:`flush` for a split each time it has this many more examples. By default examples are buffered up
        to a megabyte. If examples take long to make, 1 has no noticeable cost, and a kill then loses no example.

    Notes
    -----
    Until it is finished, the dataset is made in a separate folder. A writer that is opened again after a kill
    continues after the last complete example that was flushed: :meth:`written` returns their number. As a context
    manager it finishes the dataset, or, after an exception, keeps the written examples for the next attempt.

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
        data_dir: AnyPath,
        name: str,
        version: str,
        features: Mapping[str, Any],
        splits: Mapping[str, int | None],
        *,
        config: str | None = None,
        file_format: Literal["tfrecord", "array_record"] = "tfrecord",
        disable_shuffling: bool = False,
        supervised_keys: Any = None,
        description: str = "",
        flush_every: int | None = None,
    ) -> None:
        if flush_every is not None and (isinstance(flush_every, bool) or operator.index(flush_every) < 1):
            raise ValueError(f"found flush_every={flush_every!r}, expected a number of examples from 1 on, or None")
        root = to_feature(features)
        dataset = {
            "name": name,
            "version": version,
            "config": config,
            "features": root.to_json(),
            "labels": [[list(keys), names] for keys, names in root._classes()],
            "file_format": file_format,
            "disable_shuffling": disable_shuffling,
            "supervised_keys": supervised_keys,
            "description": description,
        }
        self._native = _tesson.DatasetWriter(text_of(data_dir), dataset, list(splits.items()))
        self._native.flush_every(flush_every)
        found = self._native.features()
        self._features = {path: (levels, is_plain) for path, levels, is_plain in found}
        self._dictionaries = {path[:end] for path in self._features for end, c in enumerate(path) if c == "/"}

    def written(self, split: str) -> int:
        """Examples of a split so far, those of earlier attempts among them."""
        return self._native.written(split)

    def write(self, split: str, example: Mapping[str, Any]) -> None:
        """Add an example to a split.

        Parameters
        ----------
        split : str
            The split of the example.
        example : mapping
            Values by feature, nested as the features are: numbers, arrays, lists; ``str`` and ``bytes``; names or
            numbers of classes; :class:`Ragged` or lists of lists for sequences of sequences; lists of dictionaries
            for sequences of dictionaries. For an image an array of its pixels, or the bytes or the path of its file;
            for lazily decoded sound the file. An optional feature, or an empty sequence, may be left out or be
            ``None``.

        Raises
        ------
        KeyError
            The dataset has no such feature.
        TypeError
            Values of another kind than the feature's.
        ValueError
            A value that reading would refuse or change: a missing feature, another shape, a number that the type
            cannot hold, an invalid label, bytes that are not an image. Nothing is written of a refused example.

        Examples
        --------
        >>> features = {"label": tfds.features.ClassLabel(names=["cat", "dog"])}
        >>> writer = tfds.Writer("data", "pets", "1.0.0", features, {"train": 1})
        >>> writer.write("train", {"label": "dog"})
        >>> writer.write("train", {"label": "dogs"})
        Traceback (most recent call last):
            ...
        tesson.errors.UsageError: split `train`, example 1, feature `label`: label `dogs`, expected one of cat, dog, did you mean `dog`?
        """
        try:
            given = [self._given(path, value) for path, value in self._flat(example)]
        except (KeyError, TypeError, ValueError, OSError) as error:
            number = self._native.written(split)
            what = error.args[0] if isinstance(error, KeyError) else error
            kind = KeyError if isinstance(error, KeyError) else TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"split `{split}`, example {number}, {what}") from error
        self._native.write(split, given)

    def _flat(self, example: Any, path: str = "") -> Iterator[tuple[str, Any]]:
        """Values by the paths of features."""
        if not isinstance(example, Mapping):
            where = f"feature `{path}`: " if path else ""
            raise TypeError(f"{where}found {_shown(example)}, expected a dictionary of features")
        for name, value in example.items():
            here = f"{path}/{name}" if path else str(name)
            if here in self._features:
                if value is not None:
                    yield here, value
            elif here in self._dictionaries:
                yield from self._flat(_columns(here, value), here) if value is not None else ()
            else:
                known = [*self._features, *self._dictionaries]
                near = _tesson.nearest_name(here, known)
                hint = f", did you mean `{near}`?" if near else f"; there are {', '.join(self._features)}"
                raise KeyError(f"the dataset has no feature `{here}`{hint}")

    def _given(self, path: str, value: Any) -> tuple[str, list[list[int]], Any]:
        """A value as arrays: row lengths of inner sequences, and all items."""
        levels, is_plain = self._features[path]
        try:
            lengths, items = _unstacked(value, levels)
            return path, lengths, _array(items) if is_plain else [_item(item) for item in (items if levels else [items])]
        except (TypeError, ValueError, OSError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"feature `{path}`: {error}") from error

    def flush(self) -> None:
        """Pass all examples so far to the operating system: a kill of the process loses only later ones.

        Unlike :meth:`sync` it does not wait for the disk, which matters only for a loss of power.
        """
        self._native.flush()

    def sync(self) -> None:
        """Write all examples so far to the disk: a kill or a loss of power loses only later ones."""
        self._native.sync()

    def finish(self) -> Builder:
        """Complete the dataset from the written examples, and open it."""
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


def _columns(path: str, value: Any) -> Any:
    """A sequence of dictionaries as a dictionary of sequences."""
    if isinstance(value, Mapping) or not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        return value
    rows = list(value)
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"feature `{path}`: found {_shown(row)}, expected dictionaries of features")
        if row.keys() != rows[0].keys():
            other = sorted(row.keys() ^ rows[0].keys())
            raise ValueError(f"feature `{path}`: only some of the dictionaries have `{other[0]}`, expected all or none")
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def _unstacked(value: Any, levels: int) -> tuple[list[list[int]], Any]:
    """Row lengths of all sequences but the outermost, and the items of the innermost one after the other."""
    if isinstance(value, Ragged):
        return [np.asarray(lengths).tolist() for lengths in value.row_lengths], value.values
    lengths = []
    for _ in range(levels - 1):
        lengths.append([len(part) for part in value])
        value = [item for part in value for item in part]
    return lengths, value


def _array(value: Any) -> tuple[Any, ...]:
    """Type, shape and memory of numbers, or the shape and the values of strings."""
    if isinstance(value, (str, bytes)):
        return (), [value.encode() if isinstance(value, str) else value]
    if type(value) is int and -(2**63) <= value < 2**63:
        return "int64", (), value.to_bytes(8, "little", signed=True)
    if isinstance(value, (Mapping, Set)):
        raise TypeError(f"found {_shown(value)}, expected an array or a list")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"found lists of different lengths, expected an array ({error})") from None
    if array.dtype.kind in "SUO" and (array.size > 0 or array.dtype.kind != "O"):
        objects = np.asarray(value, dtype=object)
        return objects.shape, [_string(text) for text in objects.ravel()]
    return _numbers(array)


def _numbers(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
        raise TypeError(f"found {array.dtype} values, expected numbers, str or bytes")
    if not array.dtype.isnative or sys.byteorder == "big":
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return _name(array.dtype), array.shape, array.tobytes()


#: The name of a type, cached because NumPy builds it at each call.
_name: Callable[[np.dtype[Any]], str] = functools.cache(operator.attrgetter("name"))


def _string(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, bytes):
        return text
    raise TypeError(f"found {_shown(text)}, expected str or bytes, or numbers of one type")


def _item(value: Any) -> Any:
    """An item that is stored as one byte string: these bytes, those of a file, or an array to be encoded."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, os.PathLike)):
        return Path(value).read_bytes()
    array = np.asarray(value)
    if array.dtype.kind in "SUO":
        raise TypeError(f"found {_shown(value)}, expected an array of numbers, bytes, or the path of a file")
    return _numbers(array)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
