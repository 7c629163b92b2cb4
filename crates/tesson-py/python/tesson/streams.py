"""Streams: how a deserializer's inputs become named channels of samples."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike

from .errors import ConfigError

__all__ = ["StreamDef", "StreamDefs", "StreamInformation", "Streams"]


@dataclass(frozen=True, init=False)
class StreamDef:
    """One input of a deserializer.

    Parameters
    ----------
    field : str, optional
        The input's name in the file; by default the stream's own name.
    shape : int or tuple of int, optional
        The shape of one sample; of dense streams by default that of the first sample in the file. A shape of
        several dimensions is filled in row-major order. Sparse streams have one dimension, the number of columns.
    is_sparse : bool
        Whether the file holds ``column:value`` pairs.
    transforms : sequence of callable, optional
        What is done with each sample, in order: functions from array to array, or :class:`UserTransform`.
    defines_mb_size : bool
        Whether the samples of this stream alone are counted for the size of minibatches.

    Examples
    --------
    >>> StreamDef(field="x", shape=784)
    StreamDef(field='x', shape=(784,), is_sparse=False, defines_mb_size=False)
    """

    field: str | None
    shape: tuple[int, ...] | None
    is_sparse: bool
    defines_mb_size: bool
    transforms: tuple[Callable[..., Any], ...] = dataclasses.field(default=(), repr=False)

    def __init__(
        self,
        field: str | None = None,
        shape: SupportsIndex | Sequence[SupportsIndex] | None = None,
        is_sparse: bool = False,
        transforms: Sequence[Callable[..., Any]] | None = None,
        *,
        defines_mb_size: bool = False,
    ) -> None:
        # Up to `transforms` the arguments stand in CNTK's order, where further ones may stand before `defines_mb_size`.
        dims = None if shape is None else _dims(shape)
        if is_sparse and dims is not None and len(dims) != 1:
            raise ConfigError(f"found shape {dims} of a sparse stream, expected one dimension")
        # The dataclass is frozen: it serves as a value.
        for name, value in (
            ("field", field), ("shape", dims), ("is_sparse", is_sparse), ("defines_mb_size", defines_mb_size),
            ("transforms", tuple(transforms or ())),
        ):
            object.__setattr__(self, name, value)


def _dims(shape: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]:
    """A shape as a tuple: a number of values is a shape of one dimension."""
    if isinstance(shape, Sequence):
        return tuple(operator.index(d) for d in shape)
    return (operator.index(shape),)


class StreamDefs(dict[str, StreamDef]):
    """Streams by name, in the order of delivery.

    Examples
    --------
    >>> defs = StreamDefs(features=StreamDef("x", 784), labels=StreamDef("y", 10, is_sparse=True))
    >>> list(defs), defs.labels.is_sparse
    (['features', 'labels'], True)
    """

    def __init__(self, *args: Mapping[str, StreamDef], **streams: StreamDef) -> None:
        super().__init__(*args, **streams)
        for name, stream in self.items():
            if not isinstance(stream, StreamDef):
                raise ConfigError(f"found {stream!r} for stream `{name}`, expected a StreamDef", path=name)

    def __getattr__(self, name: str) -> StreamDef:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        if all(name.isidentifier() for name in self):
            inside = ", ".join(f"{name}={stream!r}" for name, stream in self.items())
        else:
            inside = dict.__repr__(self)
        return f"StreamDefs({inside})"


@dataclass(frozen=True, init=False)
class StreamInformation:
    """A stream of a source, or of a deserializer of the user's own. Serves as a key of minibatches.

    Parameters
    ----------
    name : str
        The name minibatches deliver it by.
    stream_id : int
        Its number within the source, from 0.
    storage_format : str
        ``"dense"`` or ``"sparse"``.
    dtype : numpy.dtype
        The type of its values, float32 or float64.
    shape : tuple of int
        The shape of one sample.

    Examples
    --------
    >>> StreamInformation("words", 0, "sparse", np.float32, 1000).is_sparse
    True
    """

    name: str
    stream_id: int
    storage_format: str
    dtype: np.dtype[np.float32 | np.float64]
    shape: tuple[int, ...]

    def __init__(
        self,
        name: str,
        stream_id: int = 0,
        storage_format: str = "dense",
        dtype: DTypeLike = np.float32,
        shape: SupportsIndex | Sequence[SupportsIndex] = (),
    ) -> None:
        if storage_format not in ("dense", "sparse"):
            raise ConfigError(f"found the storage format {storage_format!r}, expected `dense` or `sparse`")
        # The dataclass is frozen: it serves as a key.
        for attribute, value in (
            ("name", name),
            ("stream_id", stream_id),
            ("storage_format", storage_format),
            ("dtype", np.dtype(dtype)),
            ("shape", _dims(shape)),
        ):
            object.__setattr__(self, attribute, value)

    @property
    def is_sparse(self) -> bool:
        """Whether samples are lists of (column, value) pairs."""
        return self.storage_format == "sparse"


class Streams(Mapping[str, StreamInformation]):
    """The streams of a source, by name and as attributes, in the order of the configuration.

    Examples
    --------
    >>> list(source.streams), source.streams.labels.is_sparse, source.streams["features"].shape
    (['features', 'labels'], True, (4,))
    """

    def __init__(self, streams: Mapping[str, StreamInformation]) -> None:
        self._streams = dict(streams)

    def __getitem__(self, name: str) -> StreamInformation:
        try:
            return self._streams[name]
        except KeyError:
            raise KeyError(no_stream(name, self._streams)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._streams)

    def __len__(self) -> int:
        return len(self._streams)

    def __getattr__(self, name: str) -> StreamInformation:
        if name == "_streams":
            # Asked for before __init__, by copy and pickle.
            raise AttributeError(name)
        try:
            return self._streams[name]
        except KeyError:
            raise AttributeError(no_stream(name, self._streams)) from None

    def __repr__(self) -> str:
        return f"Streams({list(self._streams.values())!r})"


def no_stream(name: object, among: Iterable[object]) -> str:
    """What to say where a stream is asked for that is not there."""
    return f"no stream `{getattr(name, 'name', name)}`, there are {', '.join(map(str, among))}"
