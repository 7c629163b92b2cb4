"""``map``: a function of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .node import Node, Traversal, Unary, UnaryIterator
from .structure import call, spec_of


class Map(Unary):
    """A pure function of each element. It is called in the order of the elements, in the thread that reads them."""

    name = "map"

    def __init__(self, input: Node, function: Callable[..., Any]) -> None:
        super().__init__(input)
        self.function = function

    def begin(self) -> Traversal[Any]:
        return MapIterator(self)

    def element_spec(self) -> Any:
        """The spec of the function's result for the first element: its types and numbers of dimensions."""
        return spec_of(self.example(0, 0))

    @property
    def spec_is_declared(self) -> bool:
        return False

    def example(self, i: int, epoch: int) -> Any:
        return call(self.function, self.input.example(i, epoch))

    def arguments(self) -> str:
        return function_name(self.function)


class MapIterator(UnaryIterator):
    """One pass of a :class:`Map`."""

    _node: Map

    def _next(self) -> Any:
        if self._unfinished is None:
            self._unfinished = (next(self._input),)
        result = call(self._node.function, self._unfinished[0])
        self._unfinished = None
        return result

    def _skip(self, count: int) -> int:
        if self._unfinished is None or count == 0:
            return self._input.skip(count)
        # The element that failed is the first one.
        self._unfinished = None
        return 1 + self._input.skip(count - 1)


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function."""
    return str(getattr(function, "__name__", None) or repr(function))
