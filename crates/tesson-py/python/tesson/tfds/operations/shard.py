"""``shard``: every so many-th element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .node import Node, Traversal, Unary, UnaryIterator


class Shard(Unary):
    """Every ``num_shards``-th element, from ``index`` on."""

    name = "shard"

    def __init__(self, input: Node, num_shards: int, index: int) -> None:
        if not 0 <= index < num_shards:
            raise ValueError(f"found shard {index} of {num_shards}, expected an index from 0 to {num_shards - 1}")
        super().__init__(input)
        self.num_shards: int = num_shards
        self.index: int = index

    def begin(self) -> Traversal[Any]:
        return ShardIterator(self)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        return n if n < 0 else n // self.num_shards + (self.index < n % self.num_shards)

    @property
    def changes_nothing(self) -> bool:
        return self.num_shards == 1

    def example(self, i: int, epoch: int) -> Any:
        return self.input.example(i * self.num_shards + self.index, epoch)

    def arguments(self) -> str:
        return f"{self.num_shards}, {self.index}"


class ShardIterator(UnaryIterator):
    """One pass of a :class:`Shard`."""

    _node: Shard
    counters: ClassVar[Mapping[str, str]] = {"before": "_before"}

    def __init__(self, node: Shard) -> None:
        super().__init__(node)
        self._before = node.index

    def _next(self) -> Any:
        self._before -= self._input.skip(self._before)
        element = next(self._input)
        self._before = self._node.num_shards - 1
        return element

    def _skip(self, count: int) -> int:
        if count == 0:
            return 0
        every = self._node.num_shards
        passed = self._input.skip(self._before + (count - 1) * every + 1)
        own = max(0, -(-(passed - self._before) // every))
        self._before = every - 1 if own == count else 0
        return own
