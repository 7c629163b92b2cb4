"""Minibatches as columns of Arrow: rows are sequences, and values stay where they are."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._tesson import StreamData
    from .minibatch import Minibatch, MinibatchData
    from .schema import Field

#: Format, name, metadata, length, buffers and children of one level of a column, as Arrow's C data interface has them.
Level: TypeAlias = "tuple[str, str, bytes | None, int, list[NDArray[Any]], list[Level]]"

#: The letters of types of values.
_FORMATS = {
    "bool": "b", "int8": "c", "int16": "s", "int32": "i", "int64": "l", "uint8": "C", "uint16": "S", "uint32": "I", "uint64": "L",
    "float16": "e", "float32": "f", "float64": "g",
}


def columns(minibatch: Minibatch) -> Level:
    """The keys of a minibatch and its streams, as one structure.

    Raises
    ------
    UsageError
        A stream is ragged.
    """
    streams = [(str(getattr(name, "name", name)), data) for name, data in minibatch.items()]
    keys = [_keys(streams[0][1].keys)] if streams else []
    length = streams[0][1].num_sequences if streams else 0
    return "+s", "", None, length, [], [*keys, *(_stream(name, data) for name, data in streams)]


def batch_columns(streams: Mapping[str, tuple[Field, StreamData]], length: int) -> Level:
    """The streams of a batch as one structure: a value or a list of a fixed size for each example, or a list of any size.

    Raises
    ------
    UsageError
        The samples of a stream have different shapes.
    """
    return "+s", "", None, length, [], [_column(name, field, data) for name, (field, data) in streams.items()]


def _column(name: str, field: Field, data: StreamData) -> Level:
    if data.is_ragged:
        raise UsageError(f"samples of stream `{name}` have different shapes, which Arrow has no column for; scale them alike")
    sample = "sample" if field.is_ragged else name
    if field.is_sparse:
        level = _named(sample, _sparse(data))
    else:
        level = _strings(data) or _values("item", data.samples.reshape(-1))
        if size := field.shape:
            level = (f"+w:{math.prod(size)}", sample, _tensor(size), data.num_samples, [], [level])
        level = _named(sample, level)
    if not field.is_ragged:
        return level
    offsets = np.concatenate([[0], np.cumsum(data.lengths, dtype=np.int64)])
    return "+L", name, None, data.num_sequences, [offsets], [level]


def _named(name: str, level: Level) -> Level:
    kind, _, metadata, length, buffers, children = level
    return kind, name, metadata, length, buffers, children


def _strings(data: StreamData) -> Level | None:
    """The level of the strings of a stream, if it has strings."""
    if data.dtype.kind not in "SU":
        return None
    values, offsets = data._strings()
    return "U" if data.dtype.kind == "U" else "Z", "item", None, len(offsets) - 1, [offsets, values], []


def _keys(keys: Sequence[int] | Sequence[str]) -> Level:
    if keys and isinstance(keys[0], str):
        texts = [str(key).encode() for key in keys]
        return "u", "key", None, len(keys), [_offsets([len(text) for text in texts]), np.frombuffer(b"".join(texts) or b"\0", np.uint8)], []
    return _values("key", np.array(keys, np.uint64))


def _stream(name: str, data: MinibatchData) -> Level:
    """A list of samples for each sequence."""
    if data.is_ragged:
        raise UsageError(f"stream `{name}` is ragged, which Arrow has no column for: use sample_list, or scale its samples alike")
    lists = [_offsets(data.lengths)]
    return "+l", name, None, data.num_sequences, lists, [_sparse(data) if data.is_sparse else _dense(data)]


def _sparse(data: StreamData) -> Level:
    """A list of columns and values for each sample."""
    entries: Level = ("+s", "entry", None, len(data.indices), [], [_values("index", data.indices), _values("value", data.values)])
    return "+l", "sample", None, data.num_samples, [data.indptr], [entries]


def _dense(data: MinibatchData) -> Level:
    """The level of dense samples: a list of values, marked as a tensor extension if a sample has several dimensions."""
    size = math.prod(data.sample_shape)
    values = _strings(data) or _values("item", data.samples.reshape(-1))
    return f"+w:{size}", "sample", _tensor(data.sample_shape), data.num_samples, [], [values]


def _tensor(shape: tuple[int, ...]) -> bytes | None:
    """The metadata of samples that have several dimensions."""
    if len(shape) < 2:
        return None
    dims = ", ".join(map(str, shape))
    return _metadata({"ARROW:extension:name": "arrow.fixed_shape_tensor", "ARROW:extension:metadata": f'{{"shape": [{dims}]}}'})


def _values(name: str, values: NDArray[Any]) -> Level:
    # Arrow has a bit for each bool.
    stored = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return _FORMATS[values.dtype.name], name, None, len(values), [stored], []


def _offsets(lengths: Any) -> NDArray[np.int32]:
    """Where lists of these lengths begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32)


def _metadata(pairs: dict[str, str]) -> bytes:
    encoded = struct.pack("=i", len(pairs))
    for text in (text.encode() for pair in pairs.items() for text in pair):
        encoded += struct.pack("=i", len(text)) + text
    return encoded
