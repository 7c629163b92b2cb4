"""Minibatches, and the data of each stream in them as NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ._tesson import Batch, StreamData, batch_of
from .errors import UsageError
from .memory import stream_of
from .streams import no_stream
from .user import column

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Layout", "Minibatch", "MinibatchData"]

#: Makes the data of a stream of a minibatch, past the constructor, which takes a user's values.
_of_stream = StreamData.__new__


class Layout(NamedTuple):
    """The layout of a stream's sequences, side by side in rows of equal length.

    Examples
    --------
    >>> layout = source.next_minibatch(3)["features"].layout
    >>> layout.steps, layout.rows, layout.places.tolist()
    (1, 3, [[0, 0, 0, 1], [1, 1, 0, 1], [2, 2, 0, 1]])
    """

    #: Length of a row: the longest sequence.
    steps: int
    #: Number of rows.
    rows: int
    #: int64 ``[sequences, 4]``: sequence number, row, first step, and the step after the last.
    places: NDArray[np.int64]


class Minibatch(Mapping[Any, "MinibatchData"]):
    """One minibatch: a mapping from streams to :class:`MinibatchData`.

    Streams are looked up by name or :class:`StreamInformation`, or by the keys of the ``input_map`` of
    :meth:`MinibatchSource.next_minibatch`; iteration yields names, or those keys.

    At the end of the data it is false and has no streams. A minibatch *without sequences* that still has its streams
    is true: a worker's share may be empty before the end of the data.

    Examples
    --------
    >>> minibatch = source.next_minibatch(4)
    >>> list(minibatch), minibatch.num_sequences, minibatch.sweep_end
    (['features', 'labels'], 4, False)
    >>> minibatch["features"] == minibatch[source.streams.features], bool(minibatch)
    (False, True)
    """

    __slots__ = ("_batch", "_numbers", "_names")

    def __init__(
        self, batch: Batch | None, numbers: Mapping[Hashable, int], names: tuple[Hashable, ...]
    ) -> None:
        self._batch = batch
        #: Every key that is understood, and the number of its stream.
        self._numbers = numbers
        #: The keys that iteration yields.
        self._names = names

    def __getitem__(self, key: Hashable) -> MinibatchData:
        if self._batch is None:
            raise KeyError("the data have ended: the minibatch is empty, and false")
        try:
            return _of_stream(MinibatchData, self._batch, self._numbers[key])
        except KeyError:
            raise KeyError(no_stream(key, self._names)) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(() if self._batch is None else self._names)

    def __len__(self) -> int:
        return 0 if self._batch is None else len(self._names)

    def __bool__(self) -> bool:
        return self._batch is not None

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        """The minibatch as a batch of Arrow's records, which shares its memory: ``pyarrow.record_batch(minibatch)``.

        Rows are sequences. The column ``key`` has their keys; each stream is a column of lists of samples: dense ones of a fixed
        size (``arrow.fixed_shape_tensor`` for several dimensions), sparse ones lists of ``index`` and ``value``.

        Raises
        ------
        UsageError
            A stream is ragged.
        """
        from . import _tesson, arrow

        return _tesson.arrow_array(arrow.columns(self))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The minibatch as an Arrow stream of one batch: ``pyarrow.table(minibatch)``, ``polars.DataFrame(minibatch)``."""
        from . import _tesson, arrow

        return _tesson.arrow_stream(arrow.columns(self))

    def paired(self, *streams: Hashable) -> tuple[MinibatchData, ...]:
        """Return streams with paired samples: sample *i* of each belongs to the same position of the same sequence.

        Use it wherever flat arrays of several streams are used together: `samples`, `class_indices`, or the rows of
        sparse samples. Formats allow sequences with more samples of one stream than of another; the flat arrays then
        drift apart without an error.

        Parameters
        ----------
        *streams : str or StreamInformation
            Streams, as for indexing; by default all, in their order.

        Returns
        -------
        tuple of MinibatchData
            The requested streams.

        Raises
        ------
        DataError
            A sequence has more samples of one of the streams than of another. The message and ``.key`` name the first
            one, ``.stream`` the stream. Pair such data by sequence, with :meth:`MinibatchData.as_sequences`.

        Examples
        --------
        >>> words, tags = minibatch.paired("words", "tags")
        >>> words.class_indices.tolist(), tags.samples.shape
        ([0, 5, 7, 1, 9], (5, 3))
        """
        wanted = streams or self._names
        found = tuple(self[stream] for stream in wanted)
        if self._batch is not None:
            self._batch.check_paired([self._numbers[stream] for stream in wanted])
        return found

    @property
    def num_sequences(self) -> int:
        """Number of sequences; 0 at the end of the data, and in an empty share."""
        return 0 if self._batch is None else self._batch.num_sequences

    @property
    def sweep_end(self) -> bool:
        """True if a sweep ends in or with this minibatch."""
        return self._batch is not None and self._batch.sweep_end

    @property
    def state(self) -> dict[str, Any] | None:
        """The state after this minibatch, whatever has been read since; None at the end of the data."""
        return None if self._batch is None else self._batch.state()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = None if self._batch is None else self._batch.parts()
        return _unpickled, (parts, self._numbers, self._names)

    def __repr__(self) -> str:
        if self._batch is None:
            return "Minibatch(end of data)"
        streams = ", ".join(f"{key!r}: {data!r}" for key, data in self.items())
        return f"Minibatch({{{streams}}})"


class MinibatchData(StreamData):
    """The data of one stream in a minibatch.

    Sources make them; a custom source (:class:`UserMinibatchSource`) makes them of its values.

    Parameters
    ----------
    value : array, sparse matrix or list of them
        Data as for :meth:`MinibatchSource.from_data`: rows are sequences of one sample, entries of lists are
        sequences. An array with the samples of each sequence in its second axis is read as ``[sequences, samples,
        *shape]``, even with one sample.
    num_sequences, num_samples : int
        The numbers of sequences and samples in it.
    sweep_end : bool
        True if a sweep ends in or with the minibatch.

    Notes
    -----
    ``samples`` (dense) and ``indptr``, ``indices``, ``values`` (sparse) are views on the minibatch's own memory:
    writable, made once, and valid as long as a reference to them exists, even after the minibatch and its source are
    gone. All other arrays are copies, made at each call.

    Flat arrays of two streams belong together sample by sample only if every sequence has the same number of samples
    of both: :meth:`Minibatch.paired` returns streams for which this holds, or raises an error. ``class_indices`` has
    the columns of a sparse stream with one entry in each sample.

    ``np.asarray(data)``, ``torch.as_tensor(data)`` and ``np.from_dlpack(data)`` return the same as :meth:`asarray`,
    the last two for dense streams only. Minibatches and their data pickle.

    Examples
    --------
    >>> source = MinibatchSource(CTFDeserializer("tagging.ctf", StreamDefs(
    ...     words=StreamDef("w", 10, is_sparse=True), tags=StreamDef("t", 3))), randomize=False)
    >>> minibatch = source.next_minibatch(5)
    >>> minibatch["tags"]
    <MinibatchData `tags`: 2 sequences, 5 samples, dense (3,)>
    >>> x = minibatch["words"]
    >>> x.indptr.tolist(), x.indices.tolist(), x.values.tolist()
    ([0, 1, 2, 3, 4, 5], [0, 5, 7, 1, 9], [1.0, 1.0, 1.0, 1.0, 1.0])
    >>> minibatch["tags"].samples.shape, minibatch["tags"].asarray().shape
    ((5, 3), (2, 3, 3))
    >>> minibatch["tags"].mask
    array([[2, 1, 1],
           [2, 1, 0]], dtype=uint8)
    """

    __slots__ = ()

    def __new__(cls, value: Any, num_sequences: int, num_samples: int, sweep_end: bool = False) -> Self:
        stream = stream_of(value, None, "value", 0)
        # Sequences of equal length may come in one array, which then has an axis for their samples.
        if len(stream.shape) > 0 and not stream.is_sparse and not isinstance(value, (list, tuple)):
            has_axis = num_sequences * stream.shape[0] == num_samples and (len(stream.shape) > 1 or num_sequences != num_samples)
            if has_axis:
                stream = stream_of(value, stream.shape[1:], "value", 0)
        columns = column(value, stream)
        double = columns[-1].dtype == np.float64
        data = super().__new__(cls, batch_of(columns, stream.shape, stream.is_sparse, double, sweep_end), 0)
        found = (data.num_sequences, data.num_samples)
        if found != (num_sequences, num_samples):
            raise UsageError(
                f"the value has {found[0]} sequences and {found[1]} samples, "
                f"{num_sequences} and {num_samples} are said to be in it"
            )
        return data

    def __reduce__(self) -> tuple[Any, ...]:
        batch, number = self._of()
        return _unpickled_data, (batch.parts(), number)

    def reshaped(self, shape: tuple[int, ...]) -> MinibatchData:
        """The data with samples of another shape with as many values; itself if the shape is the same or does not fit."""
        if shape == self.sample_shape or math.prod(shape) != math.prod(self.sample_shape):
            return self
        streams, *others = self._of()[0].parts()
        (name, _, _, is_sparse, lengths, arrays, layout) = streams[0]
        if not is_sparse:
            arrays = [arrays[0].reshape(-1, *shape)]
        stream = (name, list(shape), list(shape), is_sparse, lengths, arrays, layout)
        return _unpickled_data(([stream], *others), 0)

    def __dlpack__(self, **arguments: Any) -> Any:
        """Export :meth:`asarray` to other frameworks; for dense streams only.

        Takes what NumPy's own arrays take: `stream`, and from NumPy 2.1 on `max_version`, `dl_device` and `copy` of the
        versioned protocol. An older NumPy raises `TypeError` for those, and a framework then calls again without them.
        """
        if self.is_ragged:
            raise BufferError(f"stream `{self.name}` is ragged: hand over the arrays of its sample_list one by one")
        if self.is_sparse:
            raise BufferError(
                f"stream `{self.name}` is sparse: hand over its indptr, indices and values, or asarray(), which is dense"
            )
        array = self.asarray()
        if arguments.get("copy") is False and not self._is_view(array):
            raise BufferError(
                f"stream `{self.name}` has sequences to be padded, which takes a copy: hand over its samples, or leave out copy=False"
            )
        return array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The processor's own memory."""
        return 1, 0

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return :meth:`asarray` for NumPy's functions.

        Raises
        ------
        ValueError
            ``copy=False``, and the stream is sparse, has sequences to be padded, or values of another type.
        """
        array = self.asarray()
        if copy is False and not self._is_view(array):
            what = "is sparse" if self.is_sparse else "has sequences to be padded"
            parts = "indptr, indices and values" if self.is_sparse else "samples"
            raise ValueError(f"stream `{self.name}` {what}, which takes a copy: take its {parts}, or leave out copy=False")
        return np.array(array, dtype=dtype, copy=copy)

    def _is_view(self, array: NDArray[Any]) -> bool:
        """True if the result of :meth:`asarray` is the minibatch's own memory. Without values there is nothing to copy."""
        return array.size == 0 or (not self.is_sparse and np.may_share_memory(array, self.samples))

    @property
    def number_of_sequences(self) -> int:
        """CNTK's name for `num_sequences`."""
        return self.num_sequences

    @property
    def number_of_samples(self) -> int:
        """CNTK's name for `num_samples`."""
        return self.num_samples

    @property
    def sweep_end(self) -> bool:
        """Another name for `end_of_sweep`."""
        return self.end_of_sweep

    @property
    def layout(self) -> Layout:
        """The layout of the sequences side by side in rows, as CNTK would pack them."""
        return Layout(*self._layout())

    @property
    def data(self) -> MinibatchData:
        """The data itself: CNTK's scripts say ``minibatch[stream].data.asarray()``."""
        return self

    @property
    def value(self) -> MinibatchData:
        """Another name for `data`."""
        return self

    def as_sequences(self, variable: object = None) -> list[Any]:
        """The sequences one by one.

        Parameters
        ----------
        variable : object, optional
            Accepted for CNTK's scripts, and ignored.

        Returns
        -------
        list
            Dense: an array ``[samples, *sample_shape]`` each, a view of `samples`. Sparse: a
            :class:`scipy.sparse.csr_matrix` ``[samples, columns]`` each, on views of `indices` and `values`. Ragged: a list of
            arrays each, part of `sample_list`.

        Raises
        ------
        ImportError
            The stream is sparse and SciPy is not installed.

        Examples
        --------
        >>> [s.shape for s in minibatch["tags"].as_sequences()]
        [(3, 3), (2, 3)]
        """
        ends = np.cumsum(self.lengths, dtype=np.intp).tolist()
        spans = list(zip([0, *ends], ends))
        if not self.is_sparse:
            samples = self.sample_list if self.is_ragged else self.samples
            return [samples[begin:end] for begin, end in spans]
        return _rows(self.indptr, self.indices, self.values, spans, math.prod(self.sample_shape))

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "ragged" if self.is_ragged else "dense"
        return (
            f"<MinibatchData `{self.name}`: {self.num_sequences} sequences, "
            f"{self.num_samples} samples, {kind} {self.sample_shape}>"
        )


def _unpickled(parts: Any, numbers: Mapping[Hashable, int], names: tuple[Hashable, ...]) -> Minibatch:
    return Minibatch(None if parts is None else Batch.of_parts(*parts), numbers, names)


def _unpickled_data(parts: Any, number: int) -> MinibatchData:
    return _of_stream(MinibatchData, Batch.of_parts(*parts), number)


def _rows(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    spans: list[tuple[int, int]],
    columns: int,
) -> list[Any]:
    """The rows ``begin:end`` of a CSR matrix for each span, without copying its entries."""
    # Only here, when a sparse matrix is requested: SciPy is an optional dependency.
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

    parts = []
    for begin, end in spans:
        at = indptr[begin : end + 1]
        entries = slice(at[0], at[-1])
        parts.append(csr_matrix((values[entries], indices[entries], at - at[0]), shape=(end - begin, columns)))
    return parts
