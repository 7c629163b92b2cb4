"""``concatenate``: one dataset after another."""

from __future__ import annotations

from typing import Any

from .node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, OperationIterator, Saved, Traversal, load, state_of
from .structure import map_values


class Concatenate(Node):
    """All elements of one dataset, then all of another."""

    name = "concatenate"

    def __init__(self, first: Node, second: Node) -> None:
        self.parts: tuple[Node, Node] = (first, second)
        if first.spec_is_declared and second.spec_is_declared:
            one, other = map_values(_type, first.element_spec()), map_values(_type, second.element_spec())
            if one != other:
                raise TypeError(f"found datasets of {one!r} and of {other!r}, expected elements of one structure and one type")

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def begin(self) -> Traversal[Any]:
        return ConcatenateIterator(self)

    def cardinality(self) -> int:
        sizes = [node.cardinality() for node in self.parts]
        for special in (INFINITE_CARDINALITY, UNKNOWN_CARDINALITY):
            if special in sizes:
                return special
        return sum(sizes)

    def element_spec(self) -> Any:
        return self.parts[0].element_spec()

    def __repr__(self) -> str:
        return f"{self.parts[0]!r}.concatenate({self.parts[1]!r})"


def _type(spec: Any) -> str:
    return getattr(spec, "dtype", type(spec).__name__)


class ConcatenateIterator(OperationIterator):
    """One pass of a :class:`Concatenate`. As in tf.data, the second part begins when the first has ended."""

    _node: Concatenate

    def __init__(self, node: Concatenate) -> None:
        super().__init__(node)
        self._part = 0
        self._input = node.parts[0].begin()

    def _next(self) -> Any:
        try:
            return next(self._input)
        except StopIteration:
            if self._part == 1:
                raise
        self._begin_second()
        return next(self._input)

    def _skip(self, count: int) -> int:
        skipped = self._input.skip(count)
        if skipped < count and self._part == 0:
            self._begin_second()
            skipped += self._input.skip(count - skipped)
        return skipped

    def _begin_second(self) -> None:
        self._part, self._input = 1, self._node.parts[1].begin()

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        return {"part": self._part, "input": state_of(self._input, include_buffers)}

    def _go_to(self, saved: Saved, force: bool) -> None:
        part = saved.count("part", most=1)
        source = self._input if part == self._part else self._node.parts[part].begin()
        load(source, saved.state("input"), force)
        self._part, self._input = part, source
