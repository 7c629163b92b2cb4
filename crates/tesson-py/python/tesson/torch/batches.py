"""Batches of a :class:`tesson.Loader` as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
# Types are checked where PyTorch is not installed, too.
import torch  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import IterableDataset as TorchIterableDataset  # type: ignore[import-not-found, unused-ignore]
from torch.utils.data import get_worker_info

from ..batch import Pieces, Ragged, Sparse
from ..errors import ConfigError, UsageError
from ..loader import Loader
from ..schema import Field
from ..strings import is_string
from .ahead import Ahead, Made, can_pin, pinned
from .layouts import Padded

__all__ = ["RaggedLayout", "SparseLayout", "TorchBatches"]

#: How a ragged stream becomes tensors: :class:`Padded`, or a jagged nested tensor.
RaggedLayout = Literal["padded", "nested"]
#: How a sparse stream becomes tensors: CSR, COO, or the class numbers of samples with one entry.
SparseLayout = Literal["csr", "coo", "classes"]


def _padding(value: Any, multiple: int) -> Callable[[Any], Padded]:
    """The function that fills examples up with a value, to a multiple of a length."""

    def padded(ragged: Ragged) -> Padded:
        values = ragged.pad(value, multiple=multiple).values
        return Padded(torch.from_numpy(values), torch.from_numpy(ragged.lengths))

    return padded


def _nested(ragged: Ragged) -> Any:
    values = _csr(ragged.values).to_dense() if isinstance(ragged.values, Sparse) else torch.from_numpy(ragged.values)
    return torch.nested.nested_tensor_from_jagged(values, torch.from_numpy(ragged.offsets))


def _csr(sparse: Sparse) -> Any:
    parts = (torch.from_numpy(part) for part in (sparse.indptr, sparse.indices, sparse.values))
    return torch.sparse_csr_tensor(*parts, sparse.shape, check_invariants=False)


def _coo(sparse: Sparse) -> Any:
    rows = np.repeat(np.arange(len(sparse), dtype=np.int64), np.diff(sparse.indptr))
    places = torch.from_numpy(np.stack([rows, sparse.indices]))
    return torch.sparse_coo_tensor(places, torch.from_numpy(sparse.values), sparse.shape, check_invariants=False)


def _classes(sparse: Sparse) -> Any:
    if (np.diff(sparse.indptr) != 1).any():
        row = int(np.flatnonzero(np.diff(sparse.indptr) != 1)[0])
        raise UsageError(f"row {row} of a sparse stream has {np.diff(sparse.indptr)[row]} entries, expected 1; choose the layout 'csr'")
    return torch.from_numpy(sparse.indices.astype(np.int64))


# The first of each is the default.
_RAGGED: dict[str, Callable[[Any], Any]] = {"padded": _padding(None, 1), "nested": _nested}
_SPARSE: dict[str, Callable[[Any], Any]] = {"csr": _csr, "coo": _coo, "classes": _classes}


def _strings(values: Any) -> list[Any]:
    """Texts or byte strings as a list, of ragged streams a list for each example: PyTorch has no tensors of them."""
    strings: list[Any] = [part.tolist() for part in values.to_list()] if isinstance(values, Ragged) else values.tolist()
    return strings


def _maker(field: Field, layout: str | None) -> Callable[[Any], Any]:
    """The function that makes tensors of a stream's values."""
    if is_string(field.dtype):
        if layout is not None:
            raise ConfigError(f"layouts.{field.name}: found {layout!r} for strings, which are a list; leave it out", path=f"layouts.{field.name}")
        return _strings
    known = _RAGGED if field.is_ragged else _SPARSE if field.is_sparse else {}
    if field.is_cut:
        if layout is not None:
            raise ConfigError(f"layouts.{field.name}: found {layout!r} for pieces of examples, which have one layout; leave it out", path=f"layouts.{field.name}")
        return lambda pieces: Pieces(*map(torch.from_numpy, pieces))
    if layout is None:
        return next(iter(known.values()), torch.from_numpy)
    if layout not in known:
        kind = "ragged" if field.is_ragged else "sparse" if field.is_sparse else "dense"
        expected = f"expected one of {', '.join(known)}" if known else "which has one layout; leave it out"
        raise ConfigError(f"layouts.{field.name}: found {layout!r} for a {kind} stream, {expected}", path=f"layouts.{field.name}")
    return known[layout]


def _moved(batch: Any, device: torch.device) -> Any:
    """A batch with its tensors on a device; copies from pinned memory go on while the program does."""
    if isinstance(batch, dict):
        return {name: _moved(value, device) for name, value in batch.items()}
    if isinstance(batch, tuple):
        return type(batch)(*(_moved(part, device) for part in batch))
    if isinstance(batch, list):
        # Strings stay where they are.
        return batch
    return batch.to(device, non_blocking=True)


class TorchBatches(TorchIterableDataset[dict[str, Any]]):
    """A loader's batches as dictionaries of tensors, made by :meth:`tesson.Loader.torch`.

    Iterating, :func:`len` and states are as of the loader. Tensors of dense streams are on the memory of the batch; texts and byte
    strings are lists. It is also a
    dataset for ``DataLoader(batches, batch_size=None)`` and ``StatefulDataLoader`` without worker processes, which would only slow it
    down: the loader reads ahead on threads of its own.
    """

    def __init__(
        self,
        loader: Loader,
        layouts: Mapping[str, RaggedLayout | SparseLayout] | None,
        device: Any,
        pin_memory: bool,
        *,
        keys: str | None = None,
        pad_value: Any = None,
        pad_multiple: int = 1,
    ) -> None:
        if keys is not None and keys in loader.schema:
            raise ConfigError(f"keys: the data have a stream {keys!r}; choose another name for the keys", path="keys")
        if isinstance(pad_multiple, bool) or not isinstance(pad_multiple, int) or pad_multiple < 1:
            raise ConfigError(f"pad_multiple: found {pad_multiple!r}, expected a whole number from 1", path="pad_multiple")
        for name in layouts or {}:
            if name not in loader.schema:
                raise ConfigError(f"layouts: no stream {name!r}, there are {', '.join(loader.schema)}", path=f"layouts.{name}")
        self._loader = loader
        self._makers = {name: _maker(field, (layouts or {}).get(name)) for name, field in loader.schema.items()}
        self._keys = keys
        if pad_value is not None or pad_multiple != 1:
            makers = self._makers.items()
            padding = _padding(pad_value, pad_multiple)
            self._makers = {name: padding if make is _RAGGED["padded"] else make for name, make in makers}
        self._device = None if device is None else torch.device(device)
        self._pin_memory = pin_memory

    def _tensors(self, batch: Any) -> dict[str, Any]:
        tensors = {name: make(batch[name]) for name, make in self._makers.items()}
        return tensors if self._keys is None else {**tensors, self._keys: batch.keys}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if get_worker_info() is not None:
            raise UsageError("found worker processes, expected num_workers=0: the loader reads ahead on its own threads")
        pins = self._pin_memory and can_pin()
        if pins:
            yield from self._iterate_ahead()
            return
        for batch in self._loader:
            tensors = self._tensors(batch)
            yield tensors if self._device is None else _moved(tensors, self._device)

    def _iterate_ahead(self) -> Iterator[dict[str, Any]]:
        loader = self._loader
        batches = iter(loader)

        def make() -> Made:
            batch = next(batches, None)
            tensors = None if batch is None else pinned(self._tensors(batch))
            if tensors is not None and self._device is not None:
                tensors = _moved(tensors, self._device)
            return Made(tensors, loader._epochs.state(), batch is None)

        loader._yielded = loader.state_dict()
        ahead = Ahead(make)
        try:
            while (made := ahead.take()) and made.batch is not None:
                if loader._pass is not batches:
                    # It raises what says so.
                    next(batches)
                loader._yielded = made.state
                yield made.batch
            if loader._pass is batches:
                loader._yielded = None
        finally:
            ahead.stop()
            if loader._pass is batches and loader._yielded is not None:
                loader.load_state_dict(loader._yielded)

    def __len__(self) -> int:
        return len(self._loader)

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that was yielded."""
        return self._loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume after the batch after which the state was taken."""
        self._loader.load_state_dict(state)
