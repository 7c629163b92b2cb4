"""Minibatches as columns of Arrow: rows are sequences, and values stay where they are."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import UsageError

if TYPE_CHECKING:
    from .minibatch import Minibatch, MinibatchData

#: Format, name, metadata, length, buffers and children of one level of a column, as Arrow's C data interface has them.
Level: TypeAlias = tuple[str, str, "bytes | None", int, list[NDArray[Any]], "list[Level]"]

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


def _sparse(data: MinibatchData) -> Level:
    """A list of columns and values for each sample."""
    entries: Level = ("+s", "entry", None, len(data.indices), [], [_values("index", data.indices), _values("value", data.values)])
    return "+l", "sample", None, data.num_samples, [data.indptr], [entries]


def _dense(data: MinibatchData) -> Level:
    """The level of dense samples: a list of values, marked as a tensor extension if a sample has several dimensions."""
    size = int(np.prod(data.sample_shape, dtype=np.int64))
    metadata = None
    if len(data.sample_shape) > 1:
        shape = ", ".join(map(str, data.sample_shape))
        metadata = _metadata({"ARROW:extension:name": "arrow.fixed_shape_tensor", "ARROW:extension:metadata": f'{{"shape": [{shape}]}}'})
    return f"+w:{size}", "sample", metadata, data.num_samples, [], [_values("item", data.samples.reshape(-1))]


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
