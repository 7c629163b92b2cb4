"""``skip``: all but the first elements."""

from __future__ import annotations

from typing import Any

from .node import Node, OperationIterator, Saved, Traversal, Unary, load, state_of


class Skip(Unary):
    """All but the first elements; none at all if the number is negative."""

    name = "skip"

    def __init__(self, input: Node, count: int) -> None:
        super().__init__(input)
        self.count = count

    def begin(self) -> Traversal[Any]:
        return SkipIterator(self)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if n < 0:
            return n
        return 0 if self.count < 0 else max(0, n - self.count)

    @property
    def changes_nothing(self) -> bool:
        return self.count == 0

    def example(self, i: int, epoch: int) -> Any:
        return self.input.example(i + self.count, epoch)

    def arguments(self) -> str:
        return str(self.count)


class SkipIterator(OperationIterator):
    """One pass of a :class:`Skip`."""

    _node: Skip

    def __init__(self, node: Skip) -> None:
        super().__init__(node)
        self._input = None if node.count < 0 else node.input.begin()
        self._left = max(node.count, 0)

    def _next(self) -> Any:
        if self._input is None:
            raise StopIteration
        self._pass_over()
        return next(self._input)

    def _skip(self, count: int) -> int:
        if self._input is None or count == 0:
            return 0
        self._pass_over()
        return self._input.skip(count)

    def _pass_over(self) -> None:
        if self._left > 0 and self._input is not None:
            self._left -= self._input.skip(self._left)

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        return {"left": self._left, "input": self._input and state_of(self._input, include_buffers)}

    def _go_to(self, saved: Saved, force: bool) -> None:
        left = saved.count("left")
        if self._input is not None:
            load(self._input, saved.state("input"), force)
        self._left = left
