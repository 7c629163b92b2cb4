"""``batch``: consecutive elements stacked into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .node import Node, Traversal, Unary, UnaryIterator
from .structure import Keys, array, batched, is_list_like, shown, together


class Batch(Unary):
    """Consecutive elements stacked into arrays; they must agree in shape and type."""

    name = "batch"
    pads = False

    def __init__(self, input: Node, batch_size: int, drop_remainder: bool = False) -> None:
        if batch_size < 1:
            raise ValueError(f"found batch_size={batch_size}, expected at least one element")
        super().__init__(input)
        self.batch_size: int = batch_size
        self.drop_remainder: bool = drop_remainder

    def begin(self) -> Traversal[Any]:
        return self._made_of_examples() or BatchIterator(self, stacked)

    def _made_of_examples(self) -> Traversal[Any] | None:
        return self.input.batches(self.batch_size, self.drop_remainder, self.pads)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if n < 0:
            return n
        whole, rest = divmod(n, self.batch_size)
        return whole + (rest > 0 and not self.drop_remainder)

    def element_spec(self) -> Any:
        return batched(self.input.element_spec(), self.batch_size if self.drop_remainder else None)

    def arguments(self) -> str:
        return f"{self.batch_size}{', drop_remainder=True' if self.drop_remainder else ''}"


class BatchIterator(UnaryIterator):
    """One pass of a :class:`Batch` or a :class:`PaddedBatch`, element by element."""

    _node: Batch

    def __init__(self, node: Batch, put_together: Callable[[list[Any], Keys], Any]) -> None:
        super().__init__(node)
        self._put_together = put_together

    def _next(self) -> Any:
        elements: list[Any] = self._unfinished or []
        self._unfinished = elements
        while len(elements) < self._node.batch_size:
            try:
                elements.append(next(self._input))
            except StopIteration:
                break
        if not elements or (len(elements) < self._node.batch_size and self._node.drop_remainder):
            self._unfinished = None
            raise StopIteration
        batch = together(self._put_together, elements)
        self._unfinished = None
        return batch

    def _skip(self, count: int) -> int:
        if count == 0:
            return 0
        # Elements that were taken for a batch that failed belong to the first one.
        size, taken = self._node.batch_size, len(self._unfinished or ())
        self._unfinished = None
        whole, rest = divmod(taken + self._input.skip(count * size - taken), size)
        return whole + (rest > 0 and not self._node.drop_remainder)


def stacked(found: list[Any], keys: Keys) -> Any:
    """Values of one shape as one array."""
    if is_list_like(found[0]):
        return list(found)
    arrays = arrays_of(found, keys)
    for i, of in enumerate(arrays):
        if of.shape != arrays[0].shape:
            raise ValueError(
                f"{shown(keys)}: the first element of the batch has shape {list(arrays[0].shape)}, element {i} has "
                f"{list(of.shape)}; `batch` takes elements of one shape: use `padded_batch`, or `map` them to one shape before"
            )
    if any(isinstance(of, np.ma.MaskedArray) for of in arrays):
        return np.ma.stack(arrays)
    return np.stack(arrays)


def arrays_of(found: list[Any], keys: Keys) -> list[np.ndarray]:
    """Values as arrays of one type."""
    if any(value is None for value in found):
        raise ValueError(
            f"{shown(keys)}: an element is None, which no array holds; read the dataset with `absent='fill'`, or `map` "
            "it to a value before"
        )
    arrays = [array(value) for value in found]
    for i, of in enumerate(arrays):
        if of.dtype != arrays[0].dtype:
            raise ValueError(
                f"{shown(keys)}: the first element of the batch is {arrays[0].dtype}, element {i} is {of.dtype}; "
                "`map` them to one type before"
            )
    return arrays
