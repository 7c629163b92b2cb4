"""Byte strings and texts in memory, as Arrow has them: their bytes, and where each begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["StringColumn", "is_string", "string_column"]


def is_string(dtype: np.dtype[Any]) -> bool:
    """True of the types of byte strings and texts."""
    return dtype.kind in "SU"


class StringColumn:
    """The strings of one stream: sequences of one sample, or of several."""

    __slots__ = ("_begins", "_bytes", "_offsets", "is_text", "shape")

    def __init__(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        is_text: bool,
        shape: tuple[int, ...] = (),
        begins: NDArray[np.int64] | None = None,
    ) -> None:
        self._bytes, self._offsets = data, offsets
        #: True of texts in UTF-8, False of byte strings.
        self.is_text = is_text
        #: The shape of one sample.
        self.shape = shape
        #: The first sample of each sequence, and at last the number of samples; None: sequences have one each.
        self._begins = begins

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type for texts or byte strings of any length."""
        return np.dtype(np.str_ if self.is_text else np.bytes_)

    @property
    def is_ragged(self) -> bool:
        """True if sequences may have any number of samples."""
        return self._begins is not None

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of samples of each sequence."""
        return np.ones(len(self), np.int64) if self._begins is None else np.diff(self._begins)

    def __len__(self) -> int:
        if self._begins is not None:
            return len(self._begins) - 1
        return (len(self._offsets) - 1) // self._per_sample

    @property
    def _per_sample(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __getitem__(self, sequences: slice) -> StringColumn:
        begin, end, _ = sequences.indices(len(self))
        begins = None
        if self._begins is not None:
            begins = self._begins[begin : end + 1]
            begin, end = int(begins[0]), int(begins[-1])
        offsets = self._offsets[begin * self._per_sample : end * self._per_sample + 1]
        return StringColumn(self._bytes, offsets, self.is_text, self.shape, begins)

    def flat(self) -> tuple[Any, tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        """The column for the native half: where each sequence's samples begin, and the bytes and the end of each string."""
        first, last = self._offsets[0], self._offsets[-1]
        samples = 1 if self._begins is None else self._begins - self._begins[0]
        return samples, (self._bytes[first:last], self._offsets[1:] - first)

    def arrays(self) -> list[NDArray[Any]]:
        """All that makes up the column, to be hashed."""
        return [self._bytes, self._offsets, *([] if self._begins is None else [self._begins])]


def string_column(value: Any) -> StringColumn | None:
    """The column of a list or an array of strings, one for each sequence, or of a list of these; None if it has no strings.

    Raises
    ------
    TypeError, ValueError
        Some of it are no strings, or strings of another type.
    """
    if isinstance(value, np.ndarray):
        return _of_array(value) if _is_array(value) else None
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if isinstance(value[0], (str, bytes)):
        data, offsets, is_text = _encoded(value)
        return StringColumn(data, offsets, is_text)
    parts = [np.empty(0, object) if isinstance(part, (list, tuple)) and not part else part for part in value]
    if not any(_is_part(part) for part in parts):
        return None
    for number, part in enumerate(parts):
        if not (_is_part(part) or isinstance(part, np.ndarray) and part.size == 0):
            raise TypeError(f"found {_shown(part)} at {number}, expected a list of strings as in the others")
    arrays = [np.asarray(part, object) for part in parts]
    shape = next(array.shape[1:] for array in arrays if array.size)
    for number, array in enumerate(arrays):
        if array.size and array.shape[1:] != shape:
            raise ValueError(f"found samples of shape {array.shape[1:]} at {number}, expected {shape}")
    data, offsets, is_text = _encoded([string for array in arrays for string in array.reshape(-1).tolist()])
    begins = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(array) for array in arrays], out=begins[1:])
    return StringColumn(data, offsets, is_text, shape, begins)


def _is_array(value: NDArray[Any]) -> bool:
    """True of an array of strings, also one of objects."""
    return value.dtype.kind in "SUT" or value.dtype.kind == "O" and value.size > 0 and isinstance(value.reshape(-1)[0], (str, bytes))


def _is_part(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return _is_array(part)
    return isinstance(part, (list, tuple)) and len(part) > 0 and isinstance(part[0], (str, bytes))


def _of_array(array: NDArray[Any]) -> StringColumn:
    if array.ndim == 0:
        raise ValueError("found a single string, expected an array or a list of them")
    data, offsets, is_text = _encoded(array.reshape(-1).tolist())
    return StringColumn(data, offsets, is_text, array.shape[1:])


def _encoded(strings: Sequence[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int64], bool]:
    """Bytes and offsets of strings of one type, and whether they are texts."""
    is_text = isinstance(strings[0], str) if strings else True
    kind = str if is_text else bytes
    for number, string in enumerate(strings):
        if not isinstance(string, kind):
            raise TypeError(f"found {_shown(string)} at {number}, expected {kind.__name__} as in the first one; convert or replace it")
    encoded: Iterable[bytes] = [string.encode() for string in strings] if is_text else strings
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(strings)), out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets, is_text


def _shown(value: Any) -> str:
    return "None" if value is None else type(value).__name__
