"""Values that NumPy has no type for: ragged arrays and nested datasets."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


def _bfloat16() -> Any:
    """The bfloat16 type of the package ``ml_dtypes``, since NumPy has none; None without that package."""
    try:
        return importlib.import_module("ml_dtypes").bfloat16
    except ImportError:
        return None


bfloat16: Any = _bfloat16()


class Ragged:
    """An array with rows of different lengths.

    Attributes
    ----------
    values : numpy.ndarray
        The innermost items, one after the other: ``[items, *item shape]``.
    row_lengths : list of numpy.ndarray
        For each level, outermost first, the number of parts of each row. The sum of one level is the length of the next;
        that of the last is the number of items.

    Examples
    --------
    >>> ragged = Ragged(np.array([1, 2, 3]), [np.array([2, 0, 1])])
    >>> ragged.to_list()
    [[1, 2], [], [3]]
    >>> len(ragged), ragged[0]
    (3, array([1, 2]))
    """

    __slots__ = ("row_lengths", "values")

    def __init__(self, values: np.ndarray, row_lengths: Sequence[np.ndarray]) -> None:
        self.values: np.ndarray = values
        self.row_lengths: list[np.ndarray] = list(row_lengths)

    def __len__(self) -> int:
        return len(self.row_lengths[0])

    def __getitem__(self, row: int) -> Any:
        """A row: an array, or a ragged one where there are levels left."""
        n = len(self)
        if not -n <= row < n:
            raise IndexError(f"row {row} of {n}")
        start = int(self.row_lengths[0][: row % n].sum())
        end = start + int(self.row_lengths[0][row])
        inner = []
        for lengths in self.row_lengths[1:]:
            inner.append(lengths[start:end])
            start, end = int(lengths[:start].sum()), int(lengths[:end].sum())
        values = self.values[start:end]
        return Ragged(values, inner) if inner else values

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def to_list(self) -> list[Any]:
        """The rows as lists of lists."""
        items: list[Any] = self.values.tolist()
        for lengths in reversed(self.row_lengths):
            ends = np.cumsum(lengths).tolist()
            items = [items[end - n : end] for end, n in zip(ends, lengths.tolist(), strict=True)]
        return items

    def __repr__(self) -> str:
        return f"Ragged({self.to_list()})"


class NestedDataset(Sequence[Any]):
    """A dataset in an example (RLDS' episodes have their steps so): iterable, with a length.

    An element is made at each access. Its decoded values are kept with the examples that were read together with this one.
    """

    __slots__ = ("_elements",)

    def __init__(self, elements: Any) -> None:
        self._elements = elements

    def __len__(self) -> int:
        return len(self._elements)

    def __getitem__(self, i: Any) -> Any:
        """An element, or a list of those of a slice."""
        if isinstance(i, slice):
            return [self._elements[place] for place in range(*i.indices(len(self)))]
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"element {i} of {n}")
        return self._elements[i % n]

    def __reduce__(self) -> tuple[Any, ...]:
        return NestedDataset, (list(self),)

    def __repr__(self) -> str:
        return f"<NestedDataset of {len(self)} elements>"
