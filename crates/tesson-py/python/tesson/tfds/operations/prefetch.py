"""``prefetch``: nothing that can be seen."""

from __future__ import annotations

from typing import Any

from .node import Node, Traversal, Unary, UnaryIterator


class Prefetch(Unary):
    """The same elements: examples are read ahead by the threads that decode them, whether this is asked for or not."""

    name = "prefetch"

    def __init__(self, input: Node, buffer_size: int | None) -> None:
        super().__init__(input)
        self.buffer_size = buffer_size

    def begin(self) -> Traversal[Any]:
        return PrefetchIterator(self)

    @property
    def changes_nothing(self) -> bool:
        return self.buffer_size == 0

    def example(self, i: int, epoch: int) -> Any:
        return self.input.example(i, epoch)

    def arguments(self) -> str:
        return "" if self.buffer_size is None else str(self.buffer_size)


class PrefetchIterator(UnaryIterator):
    """One pass of a :class:`Prefetch`."""

    def _next(self) -> Any:
        return next(self._input)

    def _skip(self, count: int) -> int:
        return self._input.skip(count)
