"""``cache``: the first complete pass, again and again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from .node import Node, OperationIterator, Saved, Traversal, Unary


class Cache(Unary):
    """The elements of the first complete pass, in memory; each later pass gives the same in the same order.

    As in tf.data, a shuffle below gives one order for ever, and a pass that is left early caches nothing. In another process
    the elements are read again, from where that pass began.
    """

    name = "cache"

    def __init__(self, input: Node) -> None:
        super().__init__(input)
        self.begun: Mapping[str, Any] | None = None
        """Where the input stood at the beginning of the pass that is cached."""
        self.elements: list[Any] | None = None

    def begin(self) -> Traversal[Any]:
        return CacheIterator(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "elements": None}


class CacheIterator(OperationIterator):
    """One pass of a :class:`Cache`: from memory, or from the input, which is kept on the way."""

    _node: Cache

    def __init__(self, node: Cache) -> None:
        super().__init__(node)
        self._begin(node.begun)

    def _begin(self, begun: Mapping[str, Any] | None, force: bool = False) -> None:
        """The pass that began there, or the next one."""
        self._given = 0
        self._kept: list[Any] | None = []
        self._input: Traversal[Any] | None = None
        if begun is None or self._node.elements is None:
            self._input = self._node.input.begin()
            if begun is not None:
                self._input.load_state_dict(begun, force)
        self._begun: Mapping[str, Any] = begun or (self._input.state_dict() if self._input else {})

    def _next(self) -> Any:
        try:
            element = self._take()
        except StopIteration:
            self._node.begun = self._begun
            if self._input is not None:
                self._node.elements = self._kept
            raise
        self._given += 1
        # The user may write to what is given.
        return copy.deepcopy(element)

    def _take(self) -> Any:
        if self._input is None:
            elements = self._node.elements or []
            if self._given == len(elements):
                raise StopIteration
            return elements[self._given]
        element = next(self._input)
        if self._kept is not None:
            self._kept.append(element)
        return element

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        return {
            "given": self._given,
            "is_cached": self._node.begun == self._begun,
            "input_at_beginning": self._begun,
        }

    def _go_to(self, saved: Saved, force: bool) -> None:
        given, is_cached, begun = saved.count("given"), saved.flag("is_cached"), saved.state("input_at_beginning")
        if self._node.begun != begun:
            self._node.elements = None
        self._begin(begun, force)
        if self._input is not None and given > 0:
            self._input.skip(given)
            # What was passed over is not kept, so this pass fills no memory.
            self._kept = None
        self._given = given
        self._node.begun = begun if is_cached else None
