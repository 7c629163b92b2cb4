"""``cache``: the first complete pass, again and again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .node import Node, OperationIterator, Saved, Traversal, Unary


@dataclass(frozen=True)
class CachedPass:
    """The pass that a cache repeats."""

    begun: Mapping[str, Any]
    """Where the input stood at its beginning."""
    elements: list[Any] | None = None
    """``None`` where they have to be read again."""


class Cache(Unary):
    """Keeps the elements of the first complete pass in memory; each later pass delivers the same in the same order.

    As in tf.data, a shuffle below has the same order in every pass, and a pass that is left early caches nothing. In
    another process the elements are read again, from where that pass began.
    """

    name = "cache"

    def __init__(self, input: Node) -> None:
        super().__init__(input)
        self.cached: CachedPass | None = None
        """One object, which is replaced as a whole: no iterator takes the elements of one pass for those of another."""

    def begin(self) -> Traversal[Any]:
        return CacheIterator(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "cached": self.cached and replace(self.cached, elements=None)}


class CacheIterator(OperationIterator):
    """One pass of a :class:`Cache`: from memory, or from the input, which is kept on the way."""

    _node: Cache

    def __init__(self, node: Cache) -> None:
        super().__init__(node)
        self._begin(node.cached)

    def _begin(self, cached: CachedPass | None, force: bool = False) -> None:
        """The pass that is cached, or the next one."""
        if cached is not None and cached.elements is not None:
            self._enter(None, cached.begun, cached.elements)
            return
        source = self._node.input.begin()
        if cached is not None:
            source.load_state_dict(cached.begun, force)
        self._enter(source, source.state_dict() if cached is None else cached.begun, [])

    def _enter(self, source: Traversal[Any] | None, begun: Mapping[str, Any], elements: list[Any] | None) -> None:
        self._input, self._begun, self._given = source, begun, 0
        # All of a pass from memory, which the node may give up for another one meanwhile; of a pass from the input those so
        # far, if they are kept.
        self._elements = elements

    def _next(self) -> Any:
        try:
            element = self._take()
        except StopIteration:
            self._node.cached = CachedPass(self._begun, self._elements)
            raise
        self._given += 1
        # The user may write to delivered elements.
        return copy.deepcopy(element)

    def _take(self) -> Any:
        if self._input is None:
            elements = self._elements or []
            if self._given == len(elements):
                raise StopIteration
            return elements[self._given]
        element = next(self._input)
        if self._elements is not None:
            self._elements.append(element)
        return element

    def backup(self) -> Callable[[], None]:
        cached, go_back = self._node.cached, super().backup()

        def also_cached() -> None:
            self._node.cached = cached
            go_back()

        return also_cached

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        cached = self._node.cached
        return {
            "given": self._given,
            "is_cached": cached is not None and cached.begun == self._begun,
            "input_at_beginning": self._begun,
        }

    def _go_to(self, saved: Saved, force: bool) -> None:
        given, is_cached, begun = saved.count("given"), saved.flag("is_cached"), saved.state("input_at_beginning")
        cached = self._node.cached
        if cached is None or cached.begun != begun:
            cached = CachedPass(begun)
        self._begin(cached, force)
        if self._input is not None and given > 0:
            self._input.skip(given)
            # Skipped elements are not kept, so this pass fills no cache.
            self._elements = None
        self._given = given
        self._node.cached = cached if is_cached else None
