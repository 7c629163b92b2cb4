"""Batches as JAX arrays: those of a :class:`~tesson.Loader`, and minibatches of a prepared dataset."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .batch import Batch, Ragged, Sparse
from .errors import ConfigError, DataError, UsageError
from .jax import _check_rows, _part_of, _with_axes
from .loader import Loader
from .schema import Field
from .strings import is_string
from .tfds.dataset import Dataset as PreparedDataset

__all__ = ["JaxBatches", "LoaderReader", "PreparedReader", "SparseLayout"]

#: How a sparse stream becomes an array: with a cell for each column, or the class numbers of samples with one entry.
SparseLayout = Literal["dense", "classes"]

#: The types that JAX narrows by default.
_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32"}


class Reader(Protocol):
    """Gives batches of NumPy arrays."""

    def begin(self) -> None:
        """Begins an epoch, or the rest of one."""

    def read(self) -> dict[str, NDArray[Any]] | None:
        """The next batch of the epoch; None at its end."""

    def state(self) -> dict[str, Any]:
        """The position after the batch that was read last."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes to a position."""

    def handed(self, state: dict[str, Any] | None) -> None:
        """Notes the position after the batch that was handed over, where others were read after it; None where none were."""

    def is_current(self) -> bool:
        """True unless something else has moved what is read."""

    def __len__(self) -> int: ...


class LoaderReader:
    """The batches of a loader."""

    def __init__(self, loader: Loader, layouts: Mapping[str, SparseLayout], pad_to: int | None, pad_value: Any, pad_multiple: int) -> None:
        self._loader = loader
        self._pad = (pad_value, pad_to, pad_multiple)
        for name in layouts:
            if name not in loader.schema:
                raise ConfigError(f"layouts: no stream {name!r}, there are {', '.join(loader.schema)}", path=f"layouts.{name}")
        self._makers = {name: self._maker(field, layouts.get(name)) for name, field in loader.schema.items()}
        self._batches: Iterator[Batch] = iter(())
        #: True if processes share each array.
        self.is_shared = False

    def _maker(self, field: Field, layout: str | None) -> Callable[[Any], dict[str, NDArray[Any]]]:
        """The function that makes the arrays of a stream's values."""
        name = field.name
        if is_string(field.dtype):
            raise UsageError(f"stream `{name}` has strings, which JAX has no arrays for; leave it out by select(), or iterate over the loader itself")
        if layout is not None and (not field.is_sparse or layout not in ("dense", "classes")):
            kind = "sparse stream, expected 'dense' or 'classes'" if field.is_sparse else "dense stream; leave it out"
            raise ConfigError(f"layouts.{name}: found {layout!r} for a {kind}", path=f"layouts.{name}")
        if field.is_sparse and layout is None:
            what = f"layouts.{name}: JAX has no arrays for sparse streams; choose 'dense', or 'classes' for the numbers of one-hot samples"
            raise ConfigError(what, path=f"layouts.{name}")
        if field.is_cut:
            return lambda pieces: {name: pieces.values, f"{name}_mask": pieces.mask, f"{name}_is_start": pieces.is_start}
        values = _classes if layout == "classes" else np.asarray
        return self._padded(name, values) if field.is_ragged else lambda found: {name: _one_shape(name, values(found))}

    def _padded(self, name: str, values: Callable[[Any], NDArray[Any]]) -> Callable[[Any], dict[str, NDArray[Any]]]:
        value, to, multiple = self._pad

        def make(ragged: Ragged) -> dict[str, NDArray[Any]]:
            padded = Ragged(values(ragged.values), ragged.offsets).pad(value, to, multiple)
            return {name: padded.values, f"{name}_lengths": ragged.lengths.astype(np.int32)}

        return make

    def begin(self) -> None:
        self._batches = iter(self._loader)

    def read(self) -> dict[str, NDArray[Any]] | None:
        batch = next(self._batches, None)
        if batch is None:
            return None
        if self.is_shared and batch._batch.share is not None:
            _check_rows(*batch._batch.share)
        arrays: dict[str, NDArray[Any]] = {}
        for name, make in self._makers.items():
            arrays |= make(batch[name])
        return arrays

    def state(self) -> dict[str, Any]:
        return self._loader._epochs.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._loader.load_state_dict(state)

    def handed(self, state: dict[str, Any] | None) -> None:
        self._loader._yielded = state

    def is_current(self) -> bool:
        return self._loader._pass is self._batches

    def __len__(self) -> int:
        return len(self._loader)


class PreparedReader:
    """The minibatches of a prepared dataset."""

    def __init__(self, dataset: PreparedDataset[Any], size: int, part: tuple[int, int]) -> None:
        self._dataset, self._size, self._part = dataset, size, part
        self._pass = self._new()

    def _new(self) -> Any:
        rank, ranks = self._part
        return self._dataset.minibatches(self._size, num_data_partitions=ranks, partition_index=rank)

    def begin(self) -> None:
        if self._pass is None:
            self._pass = self._new()

    def read(self) -> dict[str, NDArray[Any]] | None:
        for batch in self._pass or ():
            return dict(_leaves(batch, ""))
        self._pass = None
        return None

    def state(self) -> dict[str, Any]:
        if self._pass is None:
            self._pass = self._new()
        state: dict[str, Any] = self._pass.state_dict()
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        self._pass = self._new()
        self._pass.load_state_dict(state)

    def handed(self, state: dict[str, Any] | None) -> None:
        pass

    def is_current(self) -> bool:
        return True

    def __len__(self) -> int:
        elements = self._dataset.cardinality()
        if elements < 0:
            raise TypeError("the number of minibatches is not known without reading")
        return -(-elements // self._size)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a minibatch by their paths, such as ``objects/id``."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}/{name}" if path else name)
    elif isinstance(value, tuple):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}/{number}" if path else str(number))
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        yield path, value
    else:
        what = f"feature `{path}` is {getattr(value, 'dtype', type(value).__name__)} in minibatches, which JAX has no arrays for"
        raise UsageError(f"{what}; leave it out by `decoders=PartialDecoding(…)`, or map it to numbers")


def _classes(values: Any) -> NDArray[Any]:
    counts = np.diff(values.indptr)
    if (counts != 1).any():
        number = int(np.flatnonzero(counts != 1)[0])
        raise UsageError(f"sample {number} of a sparse stream has {counts[number]} entries, expected 1; choose the layout 'dense'")
    return np.asarray(values.indices, np.int32)


def _one_shape(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype == object:
        raise UsageError(f"stream `{name}` has images of several shapes, expected one: give them a size")
    return values


class JaxBatches(Iterator[dict[str, Any]]):
    """Batches as dictionaries of :class:`jax.Array`, copied to the devices ahead of the loop, made by :meth:`tesson.Loader.jax`.

    Iterating gives an epoch, and iterating again the next one. States are those after the last batch handed over.
    """

    def __init__(self, reader: LoaderReader | PreparedReader, sharding: Any, prefetch: int) -> None:
        if isinstance(prefetch, bool) or not isinstance(prefetch, int) or prefetch < 0:
            raise ConfigError(f"prefetch: found {prefetch!r}, expected a whole number from 0", path="prefetch")
        self._reader: Reader = reader
        self._sharding, self._prefetch = sharding, prefetch
        #: Batches on their way to the devices, each with the state after it.
        self._ahead: deque[tuple[dict[str, Any], dict[str, Any]]] = deque()
        #: The state after the batch that was handed over last.
        self._state = reader.state()
        #: True from the first batch of an epoch that is read until its end is.
        self._is_reading = False

    def __iter__(self) -> JaxBatches:
        if not self._reader.is_current():
            self._ahead.clear()
            self._is_reading = False
        if not self._ahead and not self._is_reading:
            self._reader.begin()
            self._is_reading = True
        return self

    def __next__(self) -> dict[str, Any]:
        if self._ahead and not self._reader.is_current():
            raise UsageError("the loader has begun another iteration; use one iterator of a loader at a time, or one loader for each")
        # One more than are prefetched, since the first is handed over at once.
        while self._is_reading and len(self._ahead) <= self._prefetch:
            arrays = self._reader.read()
            self._is_reading = arrays is not None
            if arrays is not None:
                self._ahead.append((self._put(arrays), self._reader.state()))
            elif not self._ahead:
                self._state = self._reader.state()
        if not self._ahead:
            raise StopIteration
        batch, self._state = self._ahead.popleft()
        self._reader.handed(self._state if self._ahead or not self._is_reading else None)
        return batch

    def __len__(self) -> int:
        return len(self._reader)

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that was handed over."""
        return copy.deepcopy(self._state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume after the batch after which the state was taken; batches that were read ahead are dropped."""
        self._reader.restore(state)
        self._ahead.clear()
        self._is_reading, self._state = False, self._reader.state()

    def _put(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Starts the copy to the devices."""
        import jax  # type: ignore[import-not-found, unused-ignore]

        if not jax.config.jax_enable_x64:
            arrays = {name: _narrowed(name, array) for name, array in arrays.items()}
        if self._sharding is None:
            return dict(zip(arrays, jax.device_put(list(arrays.values())), strict=True))
        return {
            name: jax.make_array_from_process_local_data(_with_axes(self._sharding, array.ndim), array) for name, array in arrays.items()
        }


def _narrowed(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """An array in the type that JAX has without 64 bits; values that this cannot hold are refused."""
    narrow = _NARROWED.get(array.dtype.name)
    if narrow is None:
        return array
    with np.errstate(over="ignore"):
        found = array.astype(narrow)
    if array.dtype.kind == "f":
        what = f"stream `{name}` is float64, which JAX would round to float32"
        raise UsageError(f"{what}; set jax.config.update('jax_enable_x64', True), or convert it by a transform or the loader's dtype")
    lost = found != array
    if lost.any():
        raise DataError(
            f"stream `{name}` has {array[lost].flat[0]}, which is no {narrow}, the type that JAX has for {array.dtype}; set "
            "jax.config.update('jax_enable_x64', True)",
            stream=name,
        )
    return found


def share_of(sharding: Any, rank: int, ranks: int, batch_size: int | None) -> bool:
    """True if processes share each array; refuses shares that do not fit the sharding."""
    if sharding is None or sharding.is_fully_addressable:
        return False
    index, parts = _part_of(sharding)
    if (index, parts) != (rank, ranks):
        raise UsageError(
            f"sharding: found one of which this process has part {index} of {parts} of the rows, and a loader of rank {rank} of {ranks}; give the "
            f"loader world=({index}, {parts})"
        )
    if batch_size is not None and batch_size % parts:
        raise UsageError(f"batch_size: found {batch_size}, expected a multiple of {parts}, the number of parts of each array")
    return True
