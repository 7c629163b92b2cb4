"""Custom deserializers: chunks of data from Python, ordered, shared and resumed like any other."""

from __future__ import annotations

import atexit
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _tesson
from .errors import ConfigError
from .streams import StreamInformation
from .strings import StringColumn, is_string, string_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UserDeserializer"]

# Worker threads call into Python: no more of that once the interpreter is about to end.
atexit.register(_tesson.end_calls)


class UserDeserializer(ABC):
    """The base of deserializers that are written in Python.

    A subclass declares the streams and the number of chunks, and returns the data of a chunk. Everything else (order,
    workers, saved states, joining with other deserializers) is as for any deserializer. The data of a chunk must
    depend on its number alone: the chunk is requested again after it has been evicted, in later sweeps, and after a
    state was restored, perhaps in another process.

    Calls come from worker threads, one at a time; a subclass that can take several at once sets ``thread_safe = True``.
    An exception ends reading with a :class:`DataError` that names the chunk and has it as its ``__cause__``. A source
    pickles if its deserializer does.

    Examples
    --------
    >>> class Squares(UserDeserializer):
    ...     def stream_infos(self):
    ...         return [StreamInformation("x", 0, "dense", np.float32, (2,))]
    ...     def num_chunks(self):
    ...         return 3
    ...     def get_chunk(self, chunk_id):
    ...         return {"x": np.array([[i, i * i] for i in range(2 * chunk_id, 2 * chunk_id + 2)])}
    >>> source = MinibatchSource(Squares(), randomize=False, max_sweeps=1)
    >>> source.next_minibatch(4)["x"].samples.tolist()
    [[0.0, 0.0], [1.0, 1.0], [2.0, 4.0], [3.0, 9.0]]
    """

    #: True if several threads may call at the same time.
    thread_safe: bool = False
    #: True if minibatches have the values of each stream in the type that :meth:`stream_infos` declares; otherwise all are of the
    #: source's `dtype`.
    keeps_types: bool = False
    #: True if it is ordered and shared as files are, even if it is the only deserializer. If not, it is read as CNTK
    #: reads user-defined deserializers: each worker counts its own samples, and whole windows are shuffled.
    composable: bool = False

    def _with_streams(self, names: Mapping[str, str]) -> UserDeserializer | None:
        """None: a user's own code gives all of its streams. See :class:`Deserializer`."""
        return None

    @abstractmethod
    def stream_infos(self) -> Sequence[StreamInformation]:
        """The streams, in order; the source decides their types.

        If a stream has ``defines_mb_size``, only its samples count for the size of minibatches; at most one stream may have it.
        """

    @abstractmethod
    def num_chunks(self) -> int:
        """Number of chunks, at least 1."""

    @abstractmethod
    def get_chunk(self, chunk_id: int) -> Mapping[str, Any]:
        """The data of a chunk, by name of the stream.

        Parameters
        ----------
        chunk_id : int
            Number of the chunk, from 0.

        Returns
        -------
        mapping
            For each stream the same number of sequences. Dense: an array ``[sequences, *shape]`` for sequences of one
            sample, or a list of arrays ``[samples, *shape]``. Sparse: a :class:`scipy.sparse.csr_matrix`
            ``[sequences, columns]``, or a list of them ``[samples, columns]``; for a shape of several dimensions the
            columns are its samples' values in row-major order. Numbers of any type.
        """

    def sequence_lengths(self, chunk_id: int) -> Sequence[int] | NDArray[Any] | None:
        """The number of samples of each sequence in a chunk, if known without reading it: those of the stream with
        ``defines_mb_size``, else of its longest stream.

        Where this is None, every chunk is read once when a source is opened.
        """
        return None

    def keys(self, chunk_id: int) -> Sequence[int] | Sequence[str] | NDArray[Any] | None:
        """The key of each sequence in a chunk, by which it is joined to those of other deserializers.

        By default sequences are numbered over all chunks, from 0.
        """
        return None

    def identity(self) -> str:
        """Everything that changes the contents of chunks (names of files, options): a state is refused if it was
        saved with another identity."""
        return ""


def described(deserializer: Any) -> dict[str, Any]:
    """Describe a custom deserializer to the native half."""
    name = type(deserializer).__qualname__.rpartition(".")[2]
    chunks = deserializer.num_chunks()
    if not hasattr(chunks, "__index__") or not 1 <= int(chunks) < 2**32:
        raise ConfigError(f"`{name}.num_chunks()` returned {chunks!r}, expected a whole number from 1 below 2^32")
    identity = getattr(deserializer, "identity", "")
    streams = list(deserializer.stream_infos())
    described_streams = [_stream(stream, name) for stream in streams]
    keeps_types = bool(getattr(deserializer, "keeps_types", False))
    for stream in streams:
        if keeps_types:
            check_dtype(np.dtype(stream.dtype), stream.name)
        elif is_string(np.dtype(stream.dtype)):
            found = np.dtype(stream.dtype).name
            raise ConfigError(f"`{name}`: stream `{stream.name}` is {found}, which takes `keeps_types = True` of the class", path=stream.name)
    counted = [number for number, stream in enumerate(streams) if stream.defines_mb_size]
    if len(counted) > 1:
        both = " and ".join(f"`{streams[number].name}`" for number in counted)
        raise ConfigError(f"`{name}.stream_infos()`: {both} have defines_mb_size, expected one at most")
    return {
        "name": name,
        "identity": str(identity() if callable(identity) else identity),
        "streams": described_streams,
        "counted_stream": counted[0] if counted else None,
        "num_chunks": int(chunks),
        "thread_safe": bool(getattr(deserializer, "thread_safe", False)),
        "keeps_types": keeps_types,
    }


def _stream(stream: Any, deserializer: str) -> tuple[str, list[int], bool, str]:
    """The name and shape of a stream that ``stream_infos`` returned, true if it is sparse, and the type of its values."""
    if not isinstance(stream, StreamInformation):
        found = type(stream).__name__
        raise ConfigError(f"`{deserializer}.stream_infos()` returned {found}, expected StreamInformation")
    if -1 in stream.shape:
        what = f"found the shape {stream.shape} of `{stream.name}`, expected numbers from 1"
        raise ConfigError(f"`{deserializer}.stream_infos()`: {what}")
    return stream.name, list(stream.shape), stream.is_sparse, _dtype_name(np.dtype(stream.dtype))


def _dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a type, of strings without a length."""
    return dtype.type.__name__.rstrip("_") if is_string(dtype) else dtype.name


def columns(chunk: Any, deserializer: Any) -> list[tuple[Any, ...]]:
    """The result of ``get_chunk`` as flat arrays for each stream.

    Dense: ``(samples, values)``, where `samples` are int64 numbers of the sample each sequence begins with and one
    after the last, or the one length of all sequences. Sparse: ``(samples, pairs, indices, values)``.
    """
    if not isinstance(chunk, Mapping):
        raise TypeError(f"returned {type(chunk).__name__}, expected a mapping from names of streams to data")
    streams = list(deserializer.stream_infos())
    names = {stream.name: None for stream in streams}
    for name in names:
        if name not in chunk:
            raise ValueError(f"no data for stream `{name}`, found {', '.join(map(repr, chunk)) or 'nothing'}")
    for name in chunk:
        if name not in names:
            raise ValueError(f"data for `{name}`, which is no stream; there are {', '.join(names)}")
    dtypes = [np.dtype(stream.dtype).newbyteorder("=") if getattr(deserializer, "keeps_types", False) else None for stream in streams]
    return [column(chunk[stream.name], stream, dtype) for stream, dtype in zip(streams, dtypes, strict=True)]


def column(data: Any, stream: StreamInformation, dtype: np.dtype[Any] | None = None) -> tuple[Any, ...]:
    """The data of a stream, as flat arrays: see :func:`columns`.

    Values become float32, float64 or uint8, or, with a `dtype`, the bits of values of that type.
    """
    try:
        if dtype is not None and is_string(dtype):
            return _strings(data, stream.shape, dtype)
        *bounds, values = _sparse(data, math.prod(stream.shape), dtype) if stream.is_sparse else _dense(data, stream.shape, dtype)
        return *bounds, _values(values) if dtype is None else _bits(values, dtype)
    except (TypeError, ValueError) as e:
        raise type(e)(f"stream `{stream.name}`: {e}") from None


def _strings(data: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Where sequences begin, and strings as a tuple of their bytes and the end of each."""
    found = data if isinstance(data, StringColumn) else string_column(data)
    if found is None:
        if not isinstance(data, (list, tuple, np.ndarray)) or np.size(np.asarray(data, object)) > 0:
            raise TypeError(f"found {type(data).__name__}, expected a list or an array of {_dtype_name(dtype)}")
        # Without strings there is no type to be seen.
        return _begins([0] * len(data)), (np.empty(0, np.uint8), np.empty(0, np.int64))
    if found.dtype.kind != dtype.kind:
        raise TypeError(f"found {_dtype_name(found.dtype)}, expected {_dtype_name(dtype)}; convert them, or declare their type")
    if found.shape != shape:
        raise ValueError(f"strings of shape {found.shape}, expected {shape}")
    return found.flat()


def _dense(data: Any, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> tuple[Any, NDArray[Any]]:
    size = math.prod(shape)
    if isinstance(data, (list, tuple)):
        parts = [_exact(_sequence(part, shape, size, number), dtype) for number, part in enumerate(data)]
        flat = np.concatenate(parts) if parts else np.empty((0, size), np.float32)
        return _begins([len(part) for part in parts]), flat
    array = _numbers(data)
    inner = array.shape[1:]
    if inner in (shape, (size,)) or (inner == () and size == 1):
        return 1, array
    if len(inner) == len(shape) + 1 and inner[1:] == shape and inner[0] > 0:
        return inner[0], array
    raise ValueError(f"an array of shape {array.shape}, expected {_shown('sequences', shape)}")


def _sequence(data: Any, shape: tuple[int, ...], size: int, number: int) -> NDArray[Any]:
    """A sequence as an array ``[samples, size]``."""
    array = _numbers(data)
    if array.shape[1:] in (shape, (size,)) or (array.ndim == 1 and size == 1):
        return array.reshape(len(array), size)
    raise ValueError(f"sequence {number} is an array of shape {array.shape}, expected {_shown('samples', shape)}")


def _numbers(data: Any) -> NDArray[Any]:
    if hasattr(data, "tocsr"):
        raise TypeError("a sparse matrix for a dense stream, expected an array")
    array = np.asarray(data)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of {array.dtype}, expected numbers")
    if array.ndim == 0:
        raise ValueError("a single number, expected an array or a list of arrays")
    return array


def _values(array: NDArray[Any]) -> NDArray[Any]:
    """The values of an array, flat, in a type that holds them: uint8, float32 or float64."""
    if array.dtype.kind == "b" or array.dtype == np.uint8:
        dtype: Any = np.uint8
    elif array.dtype.itemsize <= 2 or array.dtype == np.float32:
        dtype = np.float32
    else:
        dtype = np.float64
    return np.ascontiguousarray(array, dtype).reshape(-1)


def _exact(array: NDArray[Any], dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """An array in exactly this type, if there is one."""
    if dtype is None or array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):
        values = array.astype(dtype)
        differ = (values != array) & ~((values != values) & (array != array))
        if dtype.kind == "f" and array.dtype.kind in "iu":
            # NumPy compares these as floats, where 2^60 + 1 is 2^60.
            fits = values < 2.0 ** (8 * array.itemsize - (array.dtype.kind == "i"))
            differ = ~fits | (np.where(fits, values, 0).astype(array.dtype) != array)
    if differ.any():
        raise ValueError(f"{array[differ][0]} is no {dtype.name}; declare a type that holds all values")
    return values


#: The types that streams can have.
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")


def check_dtype(dtype: np.dtype[Any], stream: str) -> None:
    """Refuse a type that streams cannot have."""
    if dtype.name not in DTYPES and not is_string(dtype):
        expected = ", ".join([*DTYPES, "str", "bytes"])
        raise ConfigError(f"stream `{stream}`: found {dtype.name}, expected one of {expected}; convert the values", path=stream)


def _bits(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values of an array, flat, in exactly this type; of other types than floats the bits, as unsigned numbers."""
    values = np.ascontiguousarray(_exact(array, dtype), dtype).reshape(-1)
    return values if dtype in (np.float32, np.float64) else values.view(f"u{dtype.itemsize}")


def _begins(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Where parts of these lengths begin, and at the end where the last one ends."""
    begins = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.asarray(lengths, np.int64), out=begins[1:])
    return begins


def _shown(first: str, shape: tuple[int, ...]) -> str:
    return f"[{', '.join([first, *map(str, shape)])}]"


def _sparse(data: Any, dim: int, dtype: np.dtype[Any] | None) -> tuple[Any, ...]:
    if isinstance(data, (list, tuple)):
        matrices = [_rows(part, dim, f"sequence {number} is ") for number, part in enumerate(data)]
        samples: Any = _begins([matrix.shape[0] for matrix in matrices])
    else:
        matrices, samples = [_rows(data, dim, "")], 1
    if dtype is not None and dtype not in (np.float32, np.float64):
        # Pairs of other types cannot be added up, and so have to come in order.
        matrices = [matrix.sorted_indices() for matrix in matrices]
    for matrix in matrices:
        pointers = np.asarray(matrix.indptr)
        if len(pointers) != matrix.shape[0] + 1 or pointers[0] != 0 or (np.diff(pointers) < 0).any():
            raise ValueError("a matrix whose `indptr` does not ascend from 0 to the number of its values")
    pairs = _begins(np.concatenate([np.diff(m.indptr) for m in matrices]) if matrices else [])
    # A matrix may have more room than its last row needs.
    indices = [np.asarray(m.indices[: m.indptr[-1]], np.int64) for m in matrices]
    weights = [_exact(_numbers(m.data[: m.indptr[-1]]), dtype) for m in matrices]
    flat = np.concatenate(indices) if indices else np.empty(0, np.int64)
    wrong = flat[(flat < 0) | (flat >= dim)]
    if len(wrong):
        raise ValueError(f"found index {wrong[0]}, expected one from 0 below {dim}")
    return samples, pairs, flat, np.concatenate(weights) if weights else np.empty(0, np.float32)


def _rows(data: Any, dim: int, where: str) -> Any:
    """A sparse matrix of `dim` columns, as CSR."""
    if not hasattr(data, "tocsr"):
        raise TypeError(f"{where}{type(data).__name__}, expected a sparse matrix such as scipy.sparse.csr_matrix")
    matrix = data.tocsr()
    if len(matrix.shape) != 2 or matrix.shape[1] != dim:
        raise ValueError(f"{where}a matrix of shape {matrix.shape}, expected {dim} columns")
    return matrix


def lengths(given: Any) -> NDArray[np.uint32]:
    """The result of ``sequence_lengths`` as uint32."""
    array = np.asarray(given)
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise TypeError(f"returned an array of shape {array.shape} and {array.dtype}, expected one length a sequence")
    # Written so that NaN is wrong too.
    wrong = array[~((array >= 1) & (array < 2**32) & (array == np.floor(array)))]
    if len(wrong):
        raise ValueError(f"found the length {wrong[0]}, expected a whole number from 1 below 2^32")
    return array.astype(np.uint32)
