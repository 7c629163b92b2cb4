"""``enumerate``: elements with their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .node import Node, Traversal, Unary, UnaryIterator
from .structure import TensorSpec


class Enumerate(Unary):
    """Pairs of a number, from ``start`` on, and an element."""

    name = "enumerate"

    def __init__(self, input: Node, start: int) -> None:
        super().__init__(input)
        self.start = start

    def begin(self) -> Traversal[Any]:
        return EnumerateIterator(self)

    def element_spec(self) -> Any:
        return TensorSpec((), "int64"), self.input.element_spec()

    def example(self, i: int, epoch: int) -> Any:
        return np.int64(self.start + i), self.input.example(i, epoch)

    def arguments(self) -> str:
        return str(self.start) if self.start else ""


class EnumerateIterator(UnaryIterator):
    """One pass of an :class:`Enumerate`."""

    counters: ClassVar[Mapping[str, str]] = {"next": "_number"}

    def __init__(self, node: Enumerate) -> None:
        super().__init__(node)
        self._number = node.start

    def _next(self) -> Any:
        element = next(self._input)
        self._number += 1
        return np.int64(self._number - 1), element

    def _skip(self, count: int) -> int:
        skipped = self._input.skip(count)
        self._number += skipped
        return skipped
