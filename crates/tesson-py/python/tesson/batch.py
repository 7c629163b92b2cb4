"""Batches of a :class:`~tesson.Loader`: arrays by stream, of a kind that the schema decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _tesson
from ._tesson import StreamData
from .arrow import batch_columns
from .errors import UsageError
from .keywords import no_attribute, suggests_in_methods
from .schema import Field, Schema

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Batch", "Padded", "Pieces", "Ragged", "Sparse"]


class Padded(NamedTuple):
    """A ragged stream in one array, and which of its cells hold values."""

    #: ``[examples, longest, *shape]``.
    values: NDArray[Any]
    #: bool ``[examples, longest]``: False where `values` are padding.
    mask: NDArray[np.bool_]


class Pieces(NamedTuple):
    """A stream of examples that a loader cuts into pieces: a row continues, step by step, in the same row of the next batch.

    Where an example ends inside a row, the next one begins behind it; see ``truncate`` of :class:`~tesson.Loader`.
    """

    #: ``[rows, steps, *shape]``.
    values: NDArray[Any]
    #: bool ``[rows, steps]``: False where `values` are padding, behind the last example of a row.
    mask: NDArray[np.bool_]
    #: bool ``[rows, steps]``: True where an example begins, and what a model has kept of the row is to be forgotten.
    is_start: NDArray[np.bool_]


@suggests_in_methods
class Sparse:
    """Examples as compressed sparse rows (CSR).

    Attributes
    ----------
    indptr : int32 array ``[rows + 1]``
        The beginning of each row's entries, and at last their end.
    indices : int32 array ``[entries]``
        The column of each entry, ascending within a row.
    values : array ``[entries]``
        The value of each entry.
    shape : (int, int)
        Rows and columns.
    """

    __slots__ = ("indices", "indptr", "shape", "values")

    def __init__(self, indptr: NDArray[np.int32], indices: NDArray[np.int32], values: NDArray[Any], shape: tuple[int, int]) -> None:
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    def to_dense(self) -> NDArray[Any]:
        """The rows in an array ``[rows, columns]``, with 0 where there is no entry."""
        dense = np.zeros(self.shape, self.values.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        dense[rows, self.indices] = self.values
        return dense

    def to_scipy(self) -> Any:
        """The rows as a :class:`scipy.sparse.csr_matrix` on the same memory."""
        # SciPy has no types of its own.
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

        return csr_matrix((self.values, self.indices, self.indptr), shape=self.shape)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a sparse stream becomes an array by a copy: use its indptr, indices and values, or leave out copy=False")
        return self.to_dense().astype(dtype or self.values.dtype, copy=False)

    if not TYPE_CHECKING:
        __getattr__ = no_attribute("OF_SPARSE")

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<Sparse {self.dtype} [{rows}, {columns}], {len(self.values)} entries>"


@suggests_in_methods
class Ragged:
    """Examples with several samples each, one after the other.

    Attributes
    ----------
    values : array ``[samples, *shape]`` or Sparse
        The samples of all examples.
    offsets : int64 array ``[examples + 1]``
        The number of the first sample of each example, and at last that of all samples.
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: NDArray[Any] | Sparse, offsets: NDArray[np.int64]) -> None:
        self.values, self.offsets = values, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of samples of each example, int64 ``[examples]``."""
        return np.diff(self.offsets)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    def __getitem__(self, example: int) -> NDArray[Any]:
        """The samples of one example, ``[samples, *shape]``."""
        if not -len(self) <= example < len(self):
            raise IndexError(f"found example {example}, there are {len(self)}")
        begin, end = self.offsets[example % len(self)], self.offsets[example % len(self) + 1]
        return self._dense()[begin:end]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[example] for example in range(len(self)))

    def to_list(self) -> list[NDArray[Any]]:
        """An array ``[samples, *shape]`` for each example, on the same memory where values are dense."""
        dense = self._dense()
        return [dense[begin:end] for begin, end in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def pad(self, value: Any = None, to: int | None = None, multiple: int = 1) -> Padded:
        """The examples in one array, filled up with `value`, by default 0 or an empty string.

        They are as long as `to` says, or as the longest one, whose length is rounded up to a `multiple`, so that there are fewer shapes.

        Raises
        ------
        UsageError
            An example has more than `to` samples; or the type of the stream cannot hold `value`.

        Examples
        --------
        >>> ragged = tesson.from_arrays(x=[[1, 2, 3], [4]]).head(2)["x"]
        >>> ragged.pad(value=-1, multiple=2).values
        array([[ 1,  2,  3, -1],
               [ 4, -1, -1, -1]])
        """
        lengths = self.lengths
        longest = int(lengths.max(initial=0))
        if multiple < 1:
            raise UsageError(f"found multiple={multiple}, expected a whole number from 1")
        length = -(-longest // multiple) * multiple if to is None else to
        if length < longest:
            raise UsageError(f"found to={to}, the longest example has {longest} samples; give at least that, or cut examples before")
        dense = self._dense()
        if value is None:
            is_bytes = dense.dtype == object and dense.size > 0 and isinstance(dense.reshape(-1)[0], bytes)
            value = 0 if dense.dtype != object else b"" if is_bytes else ""
        check_fill(value, dense.dtype)
        mask = np.arange(length) < lengths[:, None]
        padded = np.full((len(self), length, *dense.shape[1:]), value, dense.dtype)
        padded[mask] = dense
        return Padded(padded, mask)

    def _dense(self) -> NDArray[Any]:
        return self.values.to_dense() if isinstance(self.values, Sparse) else self.values

    if not TYPE_CHECKING:
        __getattr__ = no_attribute("OF_RAGGED")

    def __repr__(self) -> str:
        inner = repr(self.values) if isinstance(self.values, Sparse) else f"{self.dtype} {list(self.values.shape[1:])}"
        return f"<Ragged {len(self)} examples, {self.offsets[-1]} samples, {inner}>"


def check_fill(value: Any, dtype: np.dtype[Any]) -> None:
    """Refuse a padding value that a type cannot hold."""
    if dtype == object:
        return
    with np.errstate(all="ignore"):
        try:
            held = np.asarray(value).astype(dtype)[()]
        except (TypeError, ValueError, OverflowError):
            held = None
    # Floats are rounded, as everywhere; NaN is equal to nothing.
    is_float = dtype.kind == "f" and held is not None and np.asarray(value).dtype.kind in "iufb"
    if not is_float and (held is None or held != value):
        raise UsageError(f"found the padding value {value!r}, which is no {dtype}; choose another one, or convert the values before")


_no_attribute_of_batch = no_attribute("OF_BATCH")


class _Keys(list[Any]):
    """The keys of a batch's examples. Called like the method of dictionaries it says what to write, also for ``dict(batch)``."""

    __slots__ = ()

    def __call__(self) -> list[str]:
        raise UsageError(
            "`batch.keys` holds the key of each example and is no method; write `batch.as_dict()` for a dictionary of the streams, "
            "`list(batch)` for their names"
        )


@suggests_in_methods
class Batch:
    """The examples of one step: ``batch["x"]`` is an array, a :class:`Ragged`, a :class:`Sparse` or :class:`Pieces`, as the schema says.

    Arrays of texts and of byte strings have an object for each.

    Examples
    --------
    >>> loader = tesson.from_arrays(x=np.arange(6).reshape(3, 2), y=[[1], [2, 3], [4]]).loader(batch_size=2)
    >>> batch = next(iter(loader))
    >>> batch["x"], batch["y"]
    (array([[0, 1],
           [2, 3]]), <Ragged 2 examples, 3 samples, int64 []>)
    >>> len(batch), batch.keys, batch.is_epoch_end
    (2, [0, 1], False)
    """

    __slots__ = ("_batch", "_made", "_schema")

    def __init__(self, batch: _tesson.Batch, schema: Schema) -> None:
        self._batch, self._schema = batch, schema
        #: The values of streams that were asked for.
        self._made: dict[str, Any] = {}

    def __getitem__(self, stream: str) -> Any:
        made = self._made.get(stream)
        if made is None:
            field = self._schema[stream]
            made = self._made[stream] = _values(self._data(stream), field)
        return made

    def __contains__(self, stream: object) -> bool:
        return stream in self._schema

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema)

    def __len__(self) -> int:
        return self._batch.num_sequences

    def as_dict(self) -> dict[str, Any]:
        """The values of every stream by name."""
        return {name: self[name] for name in self}

    def as_arrow(self) -> Any:
        """The streams as a :class:`pyarrow.RecordBatch` on the same memory: lists of ragged and sparse streams, texts and bytes without
        an object for each.

        Raises
        ------
        ImportError
            pyarrow is not installed.
        UsageError
            The samples of a stream have different shapes, for which Arrow has no column.
        """
        # An optional dependency.
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

        return pyarrow.record_batch(self)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return _tesson.arrow_array(batch_columns({name: (self._schema[name], self._data(name)) for name in self}, len(self)))

    def _data(self, stream: str) -> StreamData:
        return StreamData(self._batch, self._schema[stream].number)

    @property
    def keys(self) -> list[int] | list[str]:
        """The key of each example, or of each piece of one: its number in the data, or what the data name it."""
        return _Keys(StreamData(self._batch, 0).keys)

    @property
    def sources(self) -> list[str] | None:
        """The name of the file that each example begins in; `None` if the examples are in no file.

        Of a join that is the file of the first data set. Names are looked up when they are asked for.
        """
        return self._batch.sources

    @property
    def is_epoch_end(self) -> bool:
        """True if it is the last batch of its epoch."""
        return self._batch.sweep_end

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if not name.startswith("_") and name in self._schema:
                raise AttributeError(f"streams are items of a batch: batch[{name!r}]", name=name, obj=self)
            return _no_attribute_of_batch(self, name)

    def __repr__(self) -> str:
        return f"<Batch {len(self)} examples: {', '.join(f'{name} {self._schema[name].type}' for name in self)}>"


def _pieces(data: StreamData) -> Pieces:
    """The samples of a stream in the rows and steps where they lie."""
    steps, rows, places = data._layout()
    samples: NDArray[Any] = data.samples
    begins = np.maximum(places[:, 2], 0)
    lengths = np.minimum(places[:, 3], steps) - begins
    row = np.repeat(places[:, 1], lengths)
    step = np.arange(len(samples)) - np.repeat(np.cumsum(lengths) - lengths - begins, lengths)
    values = np.full((rows, steps, *samples.shape[1:]), 0 if samples.dtype != object else None, samples.dtype)
    mask, is_start = np.zeros((rows, steps), np.bool_), np.zeros((rows, steps), np.bool_)
    values[row, step], mask[row, step] = samples, True
    is_start[places[places[:, 2] >= 0, 1], places[places[:, 2] >= 0, 2]] = True
    return Pieces(values, mask, is_start)


def _values(data: StreamData, field: Field) -> Any:
    """The values of a stream in the kind that its field has."""
    if field.is_cut:
        return _pieces(data)
    lengths = data.lengths
    if data.is_ragged:
        return data.sample_list
    values: Any = Sparse(data.indptr, data.indices, data.values, (data.num_samples, field.shape[0])) if field.is_sparse else data.samples
    if field.is_ragged:
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Ragged(values, offsets)
    if len(lengths) != data.num_samples or (lengths != 1).any():
        example = int(np.flatnonzero(lengths != 1)[0])
        raise UsageError(
            f"stream `{field.name}` has {lengths[example]} samples in the example with the key {data.keys[example]}, expected 1; declare "
            "several samples by tesson.ragged()"
        )
    return values
