"""``shuffle`` of elements that only Python has: batches, results of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from ... import _tesson
from ...errors import ResumeError
from ..lock import PassCount
from .node import Node, OperationIterator, Saved, Traversal, all_of
from .ordered import Ordered, OrderedIterator


class Shuffle(Ordered):
    """Draws each element from a buffer, by tf.data's algorithm.

    Passes are counted here, so all datasets that are made of this one continue its count.
    """

    def __init__(self, input: Node, op: dict[str, Any], global_seed: int | None) -> None:
        super().__init__(input, op, global_seed)
        self.passes: PassCount = PassCount()

    def begin(self) -> Traversal[Any]:
        return ShuffleIterator(self)

    @property
    def reshuffles(self) -> bool:
        return self.argument["reshuffle_each_iteration"] or super().reshuffles

    @property
    def seeds(self) -> list[int]:
        return [*super().seeds, self.argument["seed"]]

    def passes_begun(self) -> list[int]:
        return [self.passes.begun, *super().passes_begun()]

    def set_passes(self, begun: Iterator[int]) -> None:
        self.passes.set(next(begun))
        super().set_passes(begun)

    def backup(self) -> Callable[[], None]:
        begun = self.passes.begun
        return all_of([super().backup(), lambda: self.passes.set(begun)])

    def arguments(self) -> str:
        once = "" if self.argument["reshuffle_each_iteration"] else ", reshuffle_each_iteration=False"
        return f"{self.argument['buffer_size']}, seed={self.argument['seed']}{once}"


class ShuffleIterator(OrderedIterator):
    """One pass of a :class:`Shuffle`.

    Its state has the numbers of elements that were taken and drawn. The contents of the buffer follow from that;
    restoring goes through the input from the beginning of the pass, and reads only the elements that the buffer held.
    """

    _node: Shuffle

    def __init__(self, node: Shuffle) -> None:
        self._held: dict[int, Any] = {}
        self._pushed = 0
        self._begun: Mapping[str, Any] | None = None
        """Where the input stood at the beginning of the pass."""
        super().__init__(node, node.passes.begin())

    # All of them come from the input, through the buffer.
    _skip = OperationIterator._skip

    def _begin_input(self) -> None:
        super()._begin_input()
        self._begun = None if self._input is None else self._input.state_dict()

    def _keep(self, element: Any) -> None:
        self._held[self._pushed] = element
        self._pushed += 1

    def _give(self, number: int) -> Any:
        return self._held.pop(number)

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        position = self._order.position()
        # The state of the input has it.
        del position["has_begun"]
        return {**position, "input_at_beginning": self._begun}

    def _go_to(self, saved: Saved, force: bool) -> None:
        position = self._order.position()
        del position["has_begun"]
        position = saved.like(position)
        begun = None if saved.fields.get("input_at_beginning") is None else saved.state("input_at_beginning")
        order = self._node.order()
        order.go_to({**position, "has_begun": begun is not None})
        source, held = None, {}
        if begun is not None:
            source = self._node.input.begin()
            source.load_state_dict(begun, force)
            held = _read_again(source, order, position)
        self._order, self._held, self._pushed = order, held, position["pushed"]
        self._input, self._begun = source, begun


def _read_again(source: Traversal[Any], order: _tesson.ElementOrder, at: Mapping[str, int]) -> dict[int, Any]:
    """Read the elements of the buffer again, by their numbers; the input is then after all that were taken."""
    pushed, has_ended = at["pushed"], at["has_ended"]
    held, position = {}, 0
    for number in sorted(order.held()):
        position += source.skip(number - position)
        if position == number and (element := list(islice(source, 1))):
            held[number] = element[0]
            position += 1
    position += source.skip(pushed - position)
    if position != pushed or (has_ended and source.skip(1) != 0):
        raise ResumeError(
            f"the shuffle had taken in {pushed} elements{' and all' if has_ended else ''}, its input now gives another "
            "number: a function below it is another one, or not pure",
            what="the input of the shuffle",
        )
    return held
