"""``take``: the first elements."""

from __future__ import annotations

from typing import Any

from .node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, OperationIterator, Saved, Traversal, Unary, load, state_of


class Take(Unary):
    """The first elements; all of them if the number is negative."""

    name = "take"

    def __init__(self, input: Node, count: int) -> None:
        super().__init__(input)
        self.count = count

    def begin(self) -> Traversal[Any]:
        return TakeIterator(self)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if n == UNKNOWN_CARDINALITY or self.count < 0:
            return n
        return self.count if n == INFINITE_CARDINALITY else min(n, self.count)

    @property
    def changes_nothing(self) -> bool:
        return self.count < 0

    def example(self, i: int, epoch: int) -> Any:
        return self.input.example(i, epoch)

    def arguments(self) -> str:
        return str(self.count)


class TakeIterator(OperationIterator):
    """One pass of a :class:`Take`."""

    _node: Take

    def __init__(self, node: Take) -> None:
        super().__init__(node)
        # As in tf.data, the input of take(0) does not begin.
        self._input = None if node.count == 0 else node.input.begin()
        self._taken = 0

    def _next(self) -> Any:
        if self._input is None or self._taken == self._node.count:
            raise StopIteration
        element = next(self._input)
        self._taken += 1
        return element

    def _skip(self, count: int) -> int:
        if self._input is None:
            return 0
        wanted = count if self._node.count < 0 else min(count, self._node.count - self._taken)
        skipped = self._input.skip(wanted)
        self._taken += skipped
        return skipped

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        return {"taken": self._taken, "input": self._input and state_of(self._input, include_buffers)}

    def _go_to(self, saved: Saved, force: bool) -> None:
        taken = saved.count("taken")
        if self._input is not None:
            load(self._input, saved.state("input"), force)
        self._taken = taken
