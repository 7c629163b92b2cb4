"""``unbatch``: makes each row of an element an element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .node import UNKNOWN_CARDINALITY, Saved, Traversal, Unary, UnaryIterator, load, state_of
from .structure import RaggedTensorSpec, TensorSpec, map_values, values


class Unbatch(Unary):
    """Elements along the first dimension of all values."""

    name = "unbatch"

    def begin(self) -> Traversal[Any]:
        return UnbatchIterator(self)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if n <= 0:
            return n
        size = self._batch_size()
        return UNKNOWN_CARDINALITY if size is None else n * size

    def _batch_size(self) -> int | None:
        """Rows of each element, if all have as many."""
        try:
            specs = values(self.input.element_spec())
        except TypeError:
            return None
        sizes = [of.shape[0] for of in specs if isinstance(of, TensorSpec) and of.shape]
        return next((size for size in sizes if size is not None), None)

    def element_spec(self) -> Any:
        def row(of: Any) -> Any:
            match of:
                case TensorSpec():
                    return TensorSpec(of.shape[1:], of.dtype)
                case RaggedTensorSpec(ragged_rank=1):
                    return TensorSpec(of.shape[1:], of.dtype)
                case RaggedTensorSpec():
                    return RaggedTensorSpec(of.shape[1:], of.dtype, of.ragged_rank - 1)
                case _:
                    return of

        return map_values(row, self.input.element_spec())


class UnbatchIterator(UnaryIterator):
    """One pass of an :class:`Unbatch`."""

    def __init__(self, node: Unbatch) -> None:
        super().__init__(node)
        self._batch: Any = None
        self._before: dict[str, Any] = {}
        self._given = self._rows = 0

    def _next(self) -> Any:
        while self._given == self._rows:
            self._take_batch()
        row = self._given
        element = map_values(lambda value: value[row], self._batch)
        self._given += 1
        return element

    def _take_batch(self) -> None:
        if not self._unfinished:
            self._unfinished = [self._input.state_dict()]
        if len(self._unfinished) == 1:
            try:
                self._unfinished.append(next(self._input))
            except StopIteration:
                self._unfinished = None
                raise
        before, batch = self._unfinished
        lengths = {_length(value) for value in values(batch)}
        if len(lengths) != 1:
            raise ValueError(
                f"found values of {sorted(lengths)} rows in an element, expected one number for all: `unbatch` needs batches"
            )
        self._before, self._batch = before, batch
        self._unfinished = None
        self._given, self._rows = 0, lengths.pop()

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        # If all of a batch has been delivered, there is nothing to read again.
        is_within = self._given < self._rows
        return {
            "given": self._given if is_within else 0,
            "input": self._before if is_within else state_of(self._input, include_buffers),
        }

    def _go_to(self, saved: Saved, force: bool) -> None:
        given = saved.count("given")
        if given > 0:
            self._input.load_state_dict(saved.state("input"), force)
        else:
            load(self._input, saved.state("input"), force)
        self._given = self._rows = 0
        if given > 0:
            self._take_batch()
            self._given = given


def _length(value: Any) -> int:
    is_scalar = isinstance(value, (bytes, str)) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if is_scalar or not hasattr(value, "__len__"):
        raise ValueError(f"found {value!r}, expected rows: `unbatch` needs elements that are batches")
    return len(value)
