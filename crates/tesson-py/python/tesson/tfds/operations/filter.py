"""``filter``: the elements for which a function is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from .map import function_name
from .node import UNKNOWN_CARDINALITY, Node, Traversal, Unary, UnaryIterator
from .structure import call


class Filter(Unary):
    """The elements for which a pure function is true."""

    name = "filter"

    def __init__(self, input: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(input)
        self.predicate = predicate

    def begin(self) -> Traversal[Any]:
        return FilterIterator(self)

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY

    def arguments(self) -> str:
        return function_name(self.predicate)


class FilterIterator(UnaryIterator):
    """One pass of a :class:`Filter`.

    Attributes
    ----------
    passed_over : int
        Elements of this pass that were left out so far.
    """

    _node: Filter
    counters: ClassVar[Mapping[str, str]] = {"passed_over": "passed_over"}

    def __init__(self, node: Filter) -> None:
        super().__init__(node)
        self.passed_over: int = 0

    def _next(self) -> Any:
        while True:
            if self._unfinished is None:
                self._unfinished = (next(self._input),)
            element = self._unfinished[0]
            is_kept = _truth(call(self._node.predicate, element))
            self._unfinished = None
            if is_kept:
                return element
            self.passed_over += 1


def _truth(answer: Any) -> bool:
    if isinstance(answer, (bool, np.bool_)):
        return bool(answer)
    if isinstance(answer, np.ndarray) and answer.dtype == bool and answer.shape == ():
        return bool(answer)
    raise TypeError(f"found {answer!r} of type {type(answer).__name__} as answer of the filter's function, expected a bool")
