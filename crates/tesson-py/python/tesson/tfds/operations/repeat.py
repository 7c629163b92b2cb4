"""``repeat``: several passes, one after the other."""

from __future__ import annotations

from typing import Any

from .node import INFINITE_CARDINALITY, Node, OperationIterator, Saved, Traversal, Unary, load, state_of
from .shuffle import Shuffle


class Repeat(Unary):
    """So many passes, one after the other; endless if the number is negative."""

    name = "repeat"

    def __init__(self, input: Node, count: int) -> None:
        super().__init__(input)
        self.count = count

    def begin(self) -> Traversal[Any]:
        return RepeatIterator(self)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        if self.count == 0 or n == 0:
            return 0
        if self.count < 0:
            return INFINITE_CARDINALITY
        return n if n < 0 else n * self.count

    @property
    def changes_nothing(self) -> bool:
        return self.count == 1

    @property
    def is_on_a_shuffle(self) -> bool:
        """Whether tf.data makes one operation of this and the shuffle that it stands on."""
        node = self.input
        while node.changes_nothing:
            (node,) = node.inputs
        return isinstance(node, Shuffle)

    def arguments(self) -> str:
        return "" if self.count < 0 else str(self.count)


class RepeatIterator(OperationIterator):
    """All passes of a :class:`Repeat`."""

    _node: Repeat

    def __init__(self, node: Repeat) -> None:
        super().__init__(node)
        self._input = None if node.count == 0 else node.input.begin()
        self._ended = 0
        self._is_fresh = True
        self._is_over = node.count == 0

    def _next(self) -> Any:
        while self._input is not None and not self._is_over:
            try:
                element = next(self._input)
            except StopIteration:
                self._end_pass()
                continue
            self._is_fresh = False
            return element
        raise StopIteration

    def _skip(self, count: int) -> int:
        skipped = 0
        while self._input is not None and not self._is_over and skipped < count:
            found = self._input.skip(count - skipped)
            skipped += found
            self._is_fresh &= found == 0
            if skipped < count:
                self._end_pass()
        return skipped

    def _end_pass(self) -> None:
        node = self._node
        self._ended += 1
        # An endless repeat ends with a pass that gives nothing; a finite one tries again, unless nothing can come.
        is_empty = self._is_fresh and (node.count < 0 or node.input.cardinality() == 0)
        self._is_over = self._ended == node.count or is_empty
        # tf.data begins the next pass before it looks whether it is wanted; but not in the one operation that it makes
        # of a shuffle and a repeat.
        if not self._is_over or not node.is_on_a_shuffle:
            self._input = node.input.begin()
            self._is_fresh = True

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        return {
            "ended": self._ended,
            "is_fresh": self._is_fresh,
            "is_over": self._is_over,
            "input": self._input and state_of(self._input, include_buffers),
        }

    def _go_to(self, saved: Saved, force: bool) -> None:
        ended, is_fresh, is_over = saved.count("ended"), saved.flag("is_fresh"), saved.flag("is_over")
        if self._input is not None:
            load(self._input, saved.state("input"), force)
        self._ended, self._is_fresh, self._is_over = ended, is_fresh, is_over
