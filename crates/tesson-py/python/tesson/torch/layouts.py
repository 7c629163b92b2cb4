"""The data of a stream as tensors, on the memory of the minibatch wherever no type or layout has to be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
# Types are checked where PyTorch is not installed, too.
import torch  # type: ignore[import-not-found, unused-ignore]
from torch.nn.utils.rnn import pack_sequence  # type: ignore[import-not-found, unused-ignore]

from ..errors import ConfigError, UsageError
from ..minibatch import MinibatchData
from ..streams import Streams
from ..strings import is_string

__all__ = ["Padded", "StreamLayout", "TensorMaker", "tensor_makers"]

#: How the data of a stream become tensors.
StreamLayout = Literal["samples", "padded", "nested", "packed", "csr", "coo", "classes"]


class Padded(NamedTuple):
    """Sequences of a minibatch side by side, filled up with zeros at their ends."""

    #: ``[sequences, longest, *sample_shape]``.
    values: torch.Tensor
    #: int64 ``[sequences]``: samples of each.
    lengths: torch.Tensor

    @property
    def mask(self) -> torch.Tensor:
        """bool ``[sequences, longest]``: where there are samples."""
        return torch.arange(self.values.shape[1], device=self.lengths.device) < self.lengths[:, None]


def _plain(data: MinibatchData) -> Any:
    # Samples of one shape may be those of a ragged stream.
    return _samples(data, None) if data.is_ragged else torch.from_numpy(data.samples)


def _samples(data: MinibatchData, dtype: torch.dtype | None) -> Any:
    if data.is_ragged:
        return [_cast(torch.from_numpy(sample), dtype) for sample in data.sample_list]
    return _cast(torch.from_numpy(data.samples), dtype)


def _padded(data: MinibatchData, dtype: torch.dtype | None) -> Padded:
    return Padded(_cast(torch.from_numpy(data.asarray()), dtype), torch.from_numpy(data.lengths.astype(np.int64)))


def _nested(data: MinibatchData, dtype: torch.dtype | None) -> Any:
    offsets = np.concatenate([[0], np.cumsum(data.lengths, dtype=np.int64)])
    return torch.nested.nested_tensor_from_jagged(_samples(data, dtype), torch.from_numpy(offsets))


def _packed(data: MinibatchData, dtype: torch.dtype | None) -> Any:
    if data.num_sequences == 0 or not data.lengths.all():
        raise UsageError(
            f"stream `{data.name}`: found a sequence without samples, or no sequences, which a PackedSequence cannot hold; "
            "choose the layout 'padded' or 'nested'"
        )
    return pack_sequence(_sequences(data, dtype), enforce_sorted=False)


def _csr(data: MinibatchData, dtype: torch.dtype | None) -> torch.Tensor:
    indptr, indices, values = (torch.from_numpy(array) for array in (data.indptr, data.indices, data.values))
    size = (data.num_samples, data.sample_shape[0])
    return torch.sparse_csr_tensor(indptr, indices, _cast(values, dtype), size, check_invariants=False)


def _coo(data: MinibatchData, dtype: torch.dtype | None) -> torch.Tensor:
    rows = np.repeat(np.arange(data.num_samples), np.diff(data.indptr))
    places = torch.from_numpy(np.stack([rows, data.indices]))
    size = (data.num_samples, data.sample_shape[0])
    return torch.sparse_coo_tensor(places, _cast(torch.from_numpy(data.values), dtype), size, check_invariants=False)


def _classes(data: MinibatchData, dtype: torch.dtype | None) -> torch.Tensor:
    return torch.from_numpy(data._classes())


def _cast(values: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    # Bytes of images stay bytes.
    return values.to(dtype) if dtype is not None and values.is_floating_point() else values


def _sequences(data: MinibatchData, dtype: torch.dtype | None) -> list[torch.Tensor]:
    """The sequences as views of the flat samples."""
    return list(torch.split(_samples(data, dtype), data.lengths.tolist())) if data.num_sequences else []


# The first of each is the default.
_DENSE = {"samples": _samples, "padded": _padded, "nested": _nested, "packed": _packed}
_SPARSE = {"csr": _csr, "coo": _coo, "classes": _classes}


#: Makes a tensor of the data of a stream.
TensorMaker = Callable[[MinibatchData], Any]

#: A layout with values converted to a type, if there is one.
_TypedMaker = Callable[[MinibatchData, torch.dtype | None], Any]


def _of_type(make: _TypedMaker, dtype: torch.dtype | None) -> TensorMaker:
    return lambda data: make(data, dtype)


def _strings(data: MinibatchData) -> list[Any]:
    """Texts or byte strings: PyTorch has no tensors of them."""
    strings: list[Any] = data.samples.tolist()
    return strings


def tensor_makers(
    layouts: Mapping[str, StreamLayout], streams: Streams, dtype: torch.dtype | None
) -> list[tuple[str, TensorMaker]]:
    """The function that makes the tensor of each stream, converted to a type if there is one: by default its
    ``"samples"``, or ``"csr"`` of a sparse one.

    Raises
    ------
    ConfigError
        The stream does not exist, or it is sparse and the layout is for dense ones, or vice versa.
    """
    for name in layouts:
        if name not in streams:
            raise ConfigError(f"layouts: no stream `{name}`, there are {', '.join(streams)}", path=f"layouts.{name}")
    makers: list[tuple[str, TensorMaker]] = []
    for name, stream in streams.items():
        if is_string(stream.dtype):
            if name in layouts:
                what = f"found {layouts[name]!r} for strings, which are a list; leave it out"
                raise ConfigError(f"layouts.{name}: {what}", path=f"layouts.{name}")
            makers.append((name, _strings))
            continue
        known: Mapping[str, _TypedMaker] = _SPARSE if stream.is_sparse else _DENSE
        layout = layouts.get(name, next(iter(known)))
        if layout not in known:
            what = f"found {layout!r} for a {stream.storage_format} stream, expected one of {', '.join(known)}"
            raise ConfigError(f"layouts.{name}: {what}", path=f"layouts.{name}")
        # The most frequent case has a separate function, since each call counts if minibatches are small.
        is_plain = layout == "samples" and dtype is None
        makers.append((name, _plain if is_plain else _of_type(known[layout], dtype)))
    return makers
