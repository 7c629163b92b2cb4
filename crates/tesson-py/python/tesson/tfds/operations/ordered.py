"""``repeat``, ``skip``, ``take``, ``shard`` and ``prefetch`` of elements that only Python has: batches, results of functions.

Rust decides their order (``ElementOrder``), as for examples: it requests input step by step.
"""

from __future__ import annotations

from typing import Any

from ... import _tesson
from .node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Node, OperationIterator, Saved, Traversal, Unary, load, state_of


class Ordered(Unary):
    """An operation on the order of elements, in the form in which plans have it: ``{"take": 5}``."""

    def __init__(self, input: Node, op: dict[str, Any], global_seed: int | None = None) -> None:
        super().__init__(input)
        self.op = op
        self.global_seed = global_seed
        ((self.name, self.argument),) = op.items()
        self.is_idle: bool = _tesson.is_idle(op)
        """True if the operation changes nothing. As in tf.data, it is then left out."""

    def order(self, number: int = 0) -> _tesson.ElementOrder:
        """The order of a pass; shuffles number them."""
        ops, node = [self.op], self.input
        while isinstance(node, Ordered):
            ops.append(node.op)
            node = node.input
        return _tesson.ElementOrder(ops[::-1], self.global_seed, number)

    def begin(self) -> Traversal[Any]:
        return self.input.begin() if self.is_idle else OrderedIterator(self)

    def cardinality(self) -> int:
        n = self.input.cardinality()
        match self.name, self.argument:
            case "repeat", 0:
                return 0
            case "repeat", int(count) if n != 0 and count < 0:
                return INFINITE_CARDINALITY
            case "repeat", int(count) if n > 0:
                return n * count
            case "take", int(count) if count >= 0 and n != UNKNOWN_CARDINALITY:
                return count if n == INFINITE_CARDINALITY else min(n, count)
            case "skip", int(count) if n > 0:
                return 0 if count < 0 else max(0, n - count)
            case "shard", {"num_shards": int(num_shards), "index": int(index)} if n > 0:
                return n // num_shards + (index < n % num_shards)
            case _:
                return n

    def example(self, i: int, epoch: int) -> Any:
        match self.name, self.argument:
            case ("take" | "prefetch"), _:
                return self.input.example(i, epoch)
            case "skip", count:
                return self.input.example(i + count, epoch)
            case "shard", {"num_shards": num_shards, "index": index}:
                return self.input.example(i * num_shards + index, epoch)
            case _ if self.is_idle:
                return self.input.example(i, epoch)
            case _:
                return super().example(i, epoch)

    def arguments(self) -> str:
        match self.name, self.argument:
            case "shard", {"num_shards": num_shards, "index": index}:
                return f"{num_shards}, {index}"
            case ("repeat", -1) | ("prefetch", None):
                return ""
            case _, count:
                return str(count)


class OrderedIterator(OperationIterator):
    """One pass of an :class:`Ordered`."""

    _node: Ordered

    def __init__(self, node: Ordered, number: int = 0) -> None:
        super().__init__(node)
        self._order = node.order(number)
        # Operations without elements (`take(0)`) do not begin their input.
        self._input: Traversal[Any] | None = None
        self._element: Any = None
        self._answer(self._order.resume())

    def _next(self) -> Any:
        word, number = self._answer(self._order.next_element())
        if word == "end":
            raise StopIteration
        return self._give(number)

    def _skip(self, count: int) -> int:
        return self._answer(self._order.skip(count))[1]

    def _answer(self, step: tuple[str, int]) -> tuple[str, int]:
        """Fulfil the order's requests for input until it has an answer."""
        order = self._order
        while True:
            word, number = step
            if word == "take" and self._input is not None:
                try:
                    element = next(self._input)
                except StopIteration:
                    step = self._end_input()
                else:
                    self._keep(element)
                    step = order.given()
            elif word == "skip" and self._input is not None:
                step = order.skipped(self._input.skip(number))
            elif word == "begin":
                self._begin_input()
                step = order.begun()
            else:
                return step

    def _begin_input(self) -> None:
        self._input = self._node.input.begin()

    def _end_input(self) -> tuple[str, int]:
        # A finite repeat tries each of its passes, unless nothing can come.
        if self._order.position().get("is_fresh") and self._node.input.cardinality() == 0:
            self._order.expect_nothing()
        return self._order.ended()

    def _keep(self, element: Any) -> None:
        self._element = element

    def _give(self, number: int) -> Any:
        element, self._element = self._element, None
        return element

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        return {**self._order.position(), "input": self._input and state_of(self._input, include_buffers)}

    def _go_to(self, saved: Saved, force: bool) -> None:
        order = self._node.order()
        order.go_to(saved.like(self._order.position()))
        if self._input is not None:
            load(self._input, saved.state("input"), force)
        self._order, self._element = order, None
