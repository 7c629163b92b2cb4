"""``zip``: elements of several datasets, side by side."""

from __future__ import annotations

from typing import Any

from .node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, OperationIterator, Saved, Traversal, load, state_of
from .structure import map_values, values


class Zip(Node):
    """Combines one element of each dataset, in the structure of the datasets, up to the end of the shortest."""

    name = "zip"

    def __init__(self, datasets: Any) -> None:
        self.datasets = datasets
        """Nodes, in tuples and dictionaries."""
        self.parts: tuple[Node, ...] = tuple(values(datasets))
        if not self.parts:
            raise TypeError(f"found {datasets!r}, expected at least one dataset")

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def put_together(self, elements: list[Any]) -> Any:
        """Elements of all datasets in the structure of these."""
        ordered = iter(elements)
        return map_values(lambda _: next(ordered), self.datasets)

    def begin(self) -> Traversal[Any]:
        return ZipIterator(self)

    def cardinality(self) -> int:
        sizes = [node.cardinality() for node in self.parts]
        if UNKNOWN_CARDINALITY in sizes:
            return UNKNOWN_CARDINALITY
        return min((n for n in sizes if n != INFINITE_CARDINALITY), default=INFINITE_CARDINALITY)

    def element_spec(self) -> Any:
        return self.put_together([node.element_spec() for node in self.parts])

    def __repr__(self) -> str:
        return f"zip({self.datasets!r})"


class ZipIterator(OperationIterator):
    """One pass of a :class:`Zip`; it ends with the first dataset that ends, and no element is taken from those after it."""

    _node: Zip

    def __init__(self, node: Zip) -> None:
        super().__init__(node)
        self._inputs = [part.begin() for part in node.parts]
        self._has_ended = False

    def _next(self) -> Any:
        if self._has_ended:
            raise StopIteration
        found: list[Any] = self._unfinished or []
        self._unfinished = found
        try:
            while len(found) < len(self._inputs):
                found.append(next(self._inputs[len(found)]))
        except StopIteration:
            self._has_ended, self._unfinished = True, None
            raise
        self._unfinished = None
        return self._node.put_together(found)

    def _sources(self) -> list[Traversal[Any]]:
        return self._inputs

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        return {"has_ended": self._has_ended, "inputs": [state_of(part, include_buffers) for part in self._inputs]}

    def _go_to(self, saved: Saved, force: bool) -> None:
        has_ended, states = saved.flag("has_ended"), saved.states("inputs", len(self._inputs))
        for part, of in zip(self._inputs, states, strict=True):
            load(part, of, force)
        self._has_ended = has_ended
