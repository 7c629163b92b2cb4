"""Data in memory as a deserializer: arrays, sparse matrices, and lists of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._tesson import Digest
from .errors import ConfigError
from .streams import StreamInformation
from .strings import StringColumn, string_column
from .user import UserDeserializer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MemoryDeserializer", "stream_of"]

#: Values in a chunk, about, over all streams.
CHUNK_VALUES = 2**18
#: Bytes of strings that count as a value.
BYTES_OF_VALUE = 4
#: Chunks to be had at least, where there are as many sequences: shuffling and sharing work on chunks.
CHUNKS = 64
#: Bytes of an array that are copied at a time, to be hashed.
HASHED_AT_ONCE = 2**20


class MemoryDeserializer(UserDeserializer):
    """Streams in memory, each an array, a sparse matrix, or a list of them. Nothing is copied until it is delivered.

    Parameters
    ----------
    data : mapping
        For each stream: an array ``[sequences, *shape]`` or a :class:`scipy.sparse.csr_matrix` ``[sequences,
        columns]`` with sequences of one sample as rows; or a list of arrays ``[samples, *shape]`` or of sparse
        matrices, each of which is a sequence. Or one of these and its type, in a tuple: an object with the ``shape``
        of a sample, like CNTK's types, or that shape itself. All streams have the same number of sequences.

    Examples
    --------
    >>> deserializer = MemoryDeserializer({"x": np.eye(3), "words": [np.zeros((2, 4)), np.ones((1, 4)), np.ones((5, 4))]})
    >>> [stream.shape for stream in deserializer.stream_infos()]
    [(3,), (4,)]
    >>> deserializer.sequence_lengths(0)
    array([2], dtype=uint32)
    """

    thread_safe = True
    composable = True

    def __init__(self, data: Mapping[str, Any]) -> None:
        if not data:
            raise ConfigError("no data, expected at least one stream")
        self._data: dict[str, Any] = {}
        self._streams: list[StreamInformation] = []
        for number, (name, given) in enumerate(data.items()):
            value, shape = _typed(given)
            try:
                value = (string_column(value) if self.keeps_types else None) or value
                self._streams.append(stream_of(value, shape, name, number))
            except (TypeError, ValueError) as e:
                raise ConfigError(f"stream `{name}`: {e}", path=name) from None
            self._data[name] = value.tocsr() if hasattr(value, "tocsr") else value
        counts = {name: _count(value) for name, value in self._data.items()}
        (first, self._count), *others = counts.items()
        for name, count in others:
            if count != self._count:
                raise ConfigError(
                    f"stream `{name}`: found {count} sequences, expected {self._count} as in stream `{first}`; give all streams "
                    "equally many",
                    path=name,
                )
        if self._count == 0:
            raise ConfigError("no sequences, expected at least 1")
        self._lengths = self._longest()
        values = sum(math.prod(stream.shape) if not stream.is_sparse else 4 for stream in self._streams)
        strings = sum(len(value.flat()[1][0]) for value in self._data.values() if isinstance(value, StringColumn))
        average = max(1, (values * int(self._lengths.sum(dtype=np.int64)) + strings // BYTES_OF_VALUE) // self._count)
        self._per_chunk = max(1, min(CHUNK_VALUES // average, math.ceil(self._count / CHUNKS)))

    def __repr__(self) -> str:
        streams = ", ".join(f"{s.name} {s.storage_format} {s.shape}" for s in self._streams)
        return f"<MemoryDeserializer: {self._count} sequences, {streams}>"

    def _longest(self) -> NDArray[np.uint32]:
        """Samples of each sequence's longest stream, at least 1."""
        longest = np.ones(self._count, np.uint32)
        for stream in self._streams:
            value = self._data[stream.name]
            if isinstance(value, StringColumn):
                np.maximum(longest, value.lengths, out=longest, casting="unsafe")
            elif isinstance(value, (list, tuple)):
                np.maximum(longest, [_count(part) for part in value], out=longest, casting="unsafe")
            elif value.ndim == len(stream.shape) + 2:
                np.maximum(longest, value.shape[1], out=longest, casting="unsafe")
        return longest

    def _numbers(self, chunk_id: int) -> slice:
        """The sequences of a chunk."""
        return slice(chunk_id * self._per_chunk, (chunk_id + 1) * self._per_chunk)

    def stream_infos(self) -> list[StreamInformation]:
        """The streams, with the shapes found in the data."""
        return self._streams

    def num_chunks(self) -> int:
        """Number of chunks: a matter of the data's shapes alone."""
        return math.ceil(self._count / self._per_chunk)

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        """Slices of the data."""
        return {name: value[self._numbers(chunk_id)] for name, value in self._data.items()}

    def sequence_lengths(self, chunk_id: int) -> NDArray[np.uint32]:
        """The number of samples of each sequence's longest stream."""
        return self._lengths[self._numbers(chunk_id)]

    def identity(self) -> str:
        """A hash of all the data, with their shapes and types."""
        digest = Digest()
        for name, value in self._data.items():
            if isinstance(value, StringColumn):
                for array in value.arrays():
                    digest.update(f"{name} {value.shape} {value.dtype.name} {array.shape} ".encode())
                    _add(digest, array)
                continue
            for part in value if isinstance(value, (list, tuple)) else [value]:
                arrays = (part.data, part.indices, part.indptr) if hasattr(part, "tocsr") else (part,)
                for array in map(np.asarray, arrays):
                    digest.update(f"{name} {array.shape} {array.dtype} ".encode())
                    _add(digest, array)
        return digest.hexdigest()


def _add(digest: Digest, array: NDArray[Any]) -> None:
    """Hash the values of an array, piece by piece; of a broadcast array the stored values."""
    values = np.atleast_1d(array[tuple(slice(None) if stride else slice(1) for stride in array.strides)])
    rows = max(1, HASHED_AT_ONCE * len(values) // max(1, values.nbytes))
    for first in range(0, len(values), rows):
        digest.update(values[first : first + rows].tobytes())


def stream_of(value: Any, shape: tuple[int, ...] | None, name: str, number: int) -> StreamInformation:
    """The stream that a value is, its shape taken from the value where `shape` is None."""
    first = value
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError("an empty list, expected at least one sequence")
        first = value[0]
    if isinstance(value, StringColumn):
        if shape is not None and shape != value.shape:
            raise ValueError(f"strings of shape {value.shape}, expected {shape}")
        return StreamInformation(name, number, "dense", value.dtype, value.shape)
    if hasattr(first, "tocsr"):
        columns = int(first.shape[1])
        if shape is not None and math.prod(shape) != columns:
            raise ValueError(f"a matrix of {columns} columns, expected {math.prod(shape)}")
        return StreamInformation(name, number, "sparse", np.float32, (columns,) if shape is None else shape)
    array = np.asarray(first)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"found {array.dtype}, expected an array of numbers, a sparse matrix or a list of them")
    if array.ndim == 0:
        raise ValueError("found a single number, expected an array or a list of arrays")
    return StreamInformation(name, number, "dense", np.float32, array.shape[1:] if shape is None else shape)


def _typed(given: Any) -> tuple[Any, tuple[int, ...] | None]:
    """A value, and the shape that comes with it, if any."""
    shape: tuple[int, ...] | None
    if not (isinstance(given, tuple) and len(given) == 2 and _is_type(given[1])):
        value, shape = given, None
    else:
        value, kind = given
        dims: Any = getattr(kind, "shape", kind)
        shape = tuple(int(d) for d in dims) if isinstance(dims, Sequence) else (int(dims),)
    if not isinstance(value, (list, tuple)) and not hasattr(value, "tocsr"):
        value = np.asarray(value)
    return value, shape


def _is_type(thing: Any) -> bool:
    """True if an object is a type and not data."""
    is_data = isinstance(thing, (np.ndarray, list)) or hasattr(thing, "tocsr")
    return not is_data and (isinstance(thing, (int, tuple)) or hasattr(thing, "shape"))


def _count(value: Any) -> int:
    """The number of rows: a sparse matrix has no length."""
    return int(value.shape[0]) if hasattr(value, "shape") and not isinstance(value, StringColumn) else len(value)
