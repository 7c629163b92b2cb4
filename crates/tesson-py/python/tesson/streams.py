"""Streams: how a deserializer's inputs become named channels of samples."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeGuard, cast

import numpy as np

from .errors import ConfigError
from .keywords import suggests_keywords
from .paths import AnyPath
from .transforms import AnyTransform
from .values import Value

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["StreamConfiguration", "StreamDef", "StreamDefs", "StreamInformation", "Streams"]


#: What the repr of a stream's definition leaves out.
_RARELY_GIVEN = ("transforms", "context", "scp", "mlf", "broadcast", "max_sequence_length", "dtype", "ragged", "_refused")


@suggests_keywords
class StreamDef(Value, unshown=_RARELY_GIVEN):
    """One input of a deserializer.

    Parameters
    ----------
    field : str, optional
        The input's name in the file; by default the stream's own name.
    shape : int or tuple of int, optional
        The shape of one sample; of dense streams by default that of the first sample in the file. A shape of
        several dimensions is filled in row-major order. Sparse streams have one dimension, the number of columns.
    is_sparse : bool
        True if the file holds ``column:value`` pairs.
    transforms : transform or sequence of them, optional
        The transforms of each sample, in order: functions from array to array, :class:`UserTransform`, or, for
        images, those of :mod:`tesson.transforms`.
    context : tuple of int, optional
        Frames before and after each frame of speech. Like `scp`, `broadcast` and `max_sequence_length` it is for
        :class:`HTKFeatureDeserializer`; others ignore it.
    scp : path or list of paths, optional
        The script file of features of speech, or several of them.
    mlf : path or list of paths, optional
        For :class:`HTKMLFDeserializer` and :class:`HTKMLFBinaryDeserializer`: the label files.
    broadcast : bool, optional
        True if an utterance of one frame is repeated for each sample of its sequence.
    defines_mb_size : bool
        True if only the samples of this stream count for the size of minibatches.
    max_sequence_length : int
        Longer utterances are left out; 65535, the default, leaves none out.
    dtype : dtype, optional
        For images ``uint8``, which delivers them in 8 bits, if no transform makes floats of them; for the classes of images and
        of frames ``int64``, which delivers their numbers in place of sparse samples. By default the type of the source.
    ragged : bool
        For images only. ``True``: images may have different shapes and are delivered in
        :attr:`~tesson.MinibatchData.sample_list`; ``False``: an image of another shape than the first is an error.

    Attributes
    ----------
    stream_alias, dim
        The names of `field` and of the number of values in a sample in CNTK's stream definitions.

    Examples
    --------
    >>> StreamDef(field="x", shape=784)
    StreamDef(field='x', shape=(784,), is_sparse=False, defines_mb_size=False)
    >>> StreamDef(field="x", shape=(28, 28)).dim
    784
    """

    field: str | None
    shape: tuple[int, ...] | None
    is_sparse: bool
    defines_mb_size: bool
    transforms: tuple[AnyTransform, ...]
    context: tuple[int, int] | None
    scp: AnyPath | Sequence[AnyPath] | None
    mlf: AnyPath | Sequence[AnyPath] | None
    broadcast: bool | None
    max_sequence_length: int
    dtype: str | None
    ragged: bool
    #: A shape that is none, until the stream has a name to refuse it by.
    _refused: tuple[Any] | None

    def __init__(
        self,
        field: str | None = None,
        shape: SupportsIndex | Sequence[SupportsIndex] | None = None,
        is_sparse: bool = False,
        transforms: AnyTransform | Sequence[AnyTransform] | None = None,
        context: tuple[int, int] | None = None,
        scp: AnyPath | Sequence[AnyPath] | None = None,
        mlf: AnyPath | Sequence[AnyPath] | None = None,
        broadcast: bool | None = None,
        defines_mb_size: bool = False,
        max_sequence_length: int = 65535,
        dtype: DTypeLike | None = None,
        ragged: bool = False,
    ) -> None:
        # The order of the arguments is CNTK's.
        dims, refused = None, None
        try:
            dims = _sample_shape(shape, is_sparse, "" if field is None else f" of `{field}`")
        except ConfigError:
            if field is not None:
                raise
            # Only StreamDefs knows what the stream is called, and refuses the shape by that name.
            refused = (shape,)
        if context is not None:
            whole = isinstance(context, Sequence) and all(isinstance(n, (int, np.integer)) and n >= 0 for n in context)
            if not whole or len(context) != 2:
                raise ConfigError(
                    f"found {context!r}, expected the numbers of frames before and after each, such as (5, 5)", path="context"
                )
        steps: tuple[AnyTransform, ...]
        if callable(transforms) or isinstance(transforms, Mapping):
            steps = (transforms,)
        else:
            steps = tuple(transforms or ())
        self._become(
            field=field, shape=dims, is_sparse=is_sparse, defines_mb_size=defines_mb_size, transforms=steps, context=context, scp=scp,
            mlf=mlf, broadcast=broadcast, max_sequence_length=max_sequence_length, dtype=None if dtype is None else np.dtype(dtype).name,
            ragged=ragged, _refused=refused,
        )

    def _check_shape(self, name: str) -> None:
        """Refuse a shape that is none, by the stream's name."""
        if self._refused is not None:
            _sample_shape(self._refused[0], self.is_sparse, f" of `{name}`")

    @property
    def stream_alias(self) -> str | None:
        """CNTK's name for `field`."""
        return self.field

    @property
    def dim(self) -> int | None:
        """Number of values in a sample, None where it is left to the file."""
        return None if self.shape is None else math.prod(self.shape)


def _sample_shape(shape: SupportsIndex | Sequence[SupportsIndex] | None, is_sparse: bool, of: str) -> tuple[int, ...] | None:
    """The shape of a sample of a stream as a tuple, None where it is left to the file. Errors say whose it is: `of`."""
    dims = None if shape is None else _dims(shape, of=of)
    if is_sparse and dims is not None and len(dims) != 1:
        raise ConfigError(f"found the shape {dims}{of}, a sparse stream, expected one dimension", path="shape")
    return dims


def _dims(shape: SupportsIndex | Sequence[SupportsIndex], *, or_open: bool = False, of: str = "") -> tuple[int, ...]:
    """A shape as a tuple: a number of values is a shape of one dimension. Dimensions may be open: -1. Errors name its
    owner, `of`."""
    try:
        several = isinstance(shape, Sequence) or isinstance(shape, np.ndarray) and shape.ndim == 1
        dims = tuple(map(operator.index, cast(Sequence[SupportsIndex], shape))) if several else (operator.index(cast(SupportsIndex, shape)),)
    except TypeError:
        raise ConfigError(f"found the shape {shape!r}{of}, expected a whole number or several of them", path="shape") from None
    if any(dim < 1 and not (or_open and dim == -1) for dim in dims):
        raise ConfigError(f"found the shape {shape!r}{of}, expected numbers from 1", path="shape")
    return dims


class StreamConfiguration(Value):
    """One input of a text file, as older scripts for CNTK define it; :class:`CTFDeserializer` takes a list of them.

    Parameters
    ----------
    name : str
        The stream's name.
    dim : int
        Values in a sample; of sparse streams the number of columns.
    is_sparse : bool
        True if the file holds ``column:value`` pairs.
    stream_alias : str
        The input's name in the file, by default `name`.
    defines_mb_size : bool
        True if only the samples of this stream count for the size of minibatches.

    Examples
    --------
    >>> CTFDeserializer("train.ctf", [StreamConfiguration("features", 4, stream_alias="x")]).streams
    StreamDefs(features=StreamDef(field='x', shape=(4,), is_sparse=False, defines_mb_size=False))
    """

    name: str
    dim: int
    is_sparse: bool
    stream_alias: str
    defines_mb_size: bool

    def __init__(self, name: str, dim: int, is_sparse: bool = False, stream_alias: str = "", defines_mb_size: bool = False) -> None:
        self._become(name=name, dim=dim, is_sparse=is_sparse, stream_alias=stream_alias, defines_mb_size=defines_mb_size)

    @property
    def definition(self) -> StreamDef:
        """The stream as a :class:`StreamDef`."""
        _dims(self.dim, of=f" of `{self.name}`")
        return StreamDef(self.stream_alias or None, self.dim, self.is_sparse, defines_mb_size=self.defines_mb_size)


class StreamDefs(dict[str, StreamDef]):
    """Streams by name, in the order of delivery.

    Examples
    --------
    >>> defs = StreamDefs(features=StreamDef("x", 784), labels=StreamDef("y", 10, is_sparse=True))
    >>> list(defs), defs.labels.is_sparse
    (['features', 'labels'], True)
    """

    def __init__(
        self, *args: Mapping[str, StreamDef] | Iterable[StreamConfiguration], **streams: StreamDef
    ) -> None:
        for streams_of in args:
            if not isinstance(streams_of, Mapping) and not _is_configurations(streams_of):
                what = f"found {streams_of!r}, expected streams by name such as StreamDefs(x=StreamDef('x', 3))"
                raise ConfigError(what, path="streams")
        given = ({s.name: s.definition for s in a} if _is_configurations(a) else a for a in args)
        super().__init__(*given, **streams)
        for name, stream in self.items():
            if not isinstance(stream, StreamDef):
                what = f"found {stream!r} for stream `{name}`, expected a StreamDef such as StreamDef(field={name!r}, shape=3)"
                raise ConfigError(what, path=name)
            stream._check_shape(name)

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


def _is_configurations(streams: object) -> TypeGuard[list[StreamConfiguration]]:
    """True if streams are a list of :class:`StreamConfiguration`."""
    return isinstance(streams, list) and bool(streams) and all(isinstance(s, StreamConfiguration) for s in streams)


class StreamInformation(Value, unshown=("classes", "any_length", "unit")):
    """A stream of a source, or of a custom deserializer. Serves as a key of minibatches.

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
        The shape of one sample. In a source, -1 is a dimension that differs between minibatches, such as those of
        images that are not scaled.
    defines_mb_size : bool
        For a stream of a custom deserializer: true if only its samples count for the size of minibatches.
    classes : sequence of str
        For a stream of classes: their names in the order of their numbers, if the data have names.
    any_length : bool
        True if the data declare that a sequence may have any number of samples, as columns of lists do.
    unit : str, optional
        What its whole numbers count, if the data say so: ``"timestamp[us, UTC]"``, ``"decimal(10, 2)"``.

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
    defines_mb_size: bool
    classes: tuple[str, ...]
    any_length: bool
    unit: str | None

    def __init__(
        self,
        name: str,
        stream_id: int = 0,
        storage_format: Literal["dense", "sparse"] = "dense",
        dtype: DTypeLike = np.float32,
        shape: SupportsIndex | Sequence[SupportsIndex] = (),
        defines_mb_size: bool = False,
        classes: Sequence[str] = (),
        any_length: bool = False,
        unit: str | None = None,
    ) -> None:
        if storage_format not in ("dense", "sparse"):
            raise ConfigError(f"found the storage format {storage_format!r}, expected `dense` or `sparse`")
        self._become(
            name=name, stream_id=stream_id, storage_format=storage_format, dtype=np.dtype(dtype),
            shape=_dims(shape, or_open=True, of=f" of `{name}`"), defines_mb_size=defines_mb_size, classes=tuple(classes),
            any_length=any_length, unit=unit,
        )

    @property
    def is_sparse(self) -> bool:
        """True if samples are lists of (column, value) pairs."""
        return self.storage_format == "sparse"

    @property
    def m_name(self) -> str:
        """The name of `name` in CNTK's scripts."""
        return self.name

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Another name for `shape`."""
        return self.shape


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
            # Used by copy and pickle before __init__.
            raise AttributeError(name)
        try:
            return self._streams[name]
        except KeyError:
            raise AttributeError(no_stream(name, self._streams)) from None

    def __repr__(self) -> str:
        return f"Streams({list(self._streams.values())!r})"


def no_stream(name: object, among: Iterable[object]) -> str:
    """The message for a stream that does not exist."""
    return f"no stream `{getattr(name, 'name', name)}`, there are {', '.join(map(str, among))}"
