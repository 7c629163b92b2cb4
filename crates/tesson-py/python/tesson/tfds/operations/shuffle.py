"""``shuffle`` of elements that only Python has: batches, results of functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ... import _tesson
from ...errors import ResumeError
from ..lock import PassCount
from .node import Node, OperationIterator, Saved, Traversal, Unary


class Shuffle(Unary):
    """Each element is drawn from a buffer of so many, by tf.data's algorithm.

    Passes are counted here, so all datasets that are made of this one go on counting where the last one was.
    """

    name = "shuffle"

    def __init__(self, input: Node, buffer_size: int, seed: int, global_seed: int | None, reshuffle: bool) -> None:
        if buffer_size < 1:
            raise ValueError(f"found buffer_size={buffer_size}, expected at least one element")
        super().__init__(input)
        self.buffer_size: int = buffer_size
        self.seed: int = seed
        self.global_seed: int | None = global_seed
        self.reshuffle: bool = reshuffle
        self.passes: PassCount = PassCount()

    def order(self, number: int) -> _tesson.ItemShuffle:
        """The order of a pass, as numbers."""
        return _tesson.ItemShuffle(self.buffer_size, self.seed, self.global_seed, self.reshuffle, number)

    def begin(self) -> Traversal[Any]:
        return ShuffleIterator(self)

    @property
    def reshuffles(self) -> bool:
        return self.reshuffle or super().reshuffles

    @property
    def seeds(self) -> list[int]:
        return [*super().seeds, self.seed]

    def passes_begun(self) -> list[int]:
        return [self.passes.begun, *super().passes_begun()]

    def set_passes(self, begun: Iterator[int]) -> None:
        self.passes.set(next(begun))
        super().set_passes(begun)

    def arguments(self) -> str:
        once = "" if self.reshuffle else ", reshuffle_each_iteration=False"
        return f"{self.buffer_size}, seed={self.seed}{once}"


class ShuffleIterator(OperationIterator):
    """One pass of a :class:`Shuffle`.

    Its state says how many elements have been taken in and drawn. What the buffer held follows from that; restoring goes
    through the input from the beginning of the pass, and reads of it what the buffer held.
    """

    _node: Shuffle

    def __init__(self, node: Shuffle) -> None:
        super().__init__(node)
        self._pass = node.passes.begin()
        self._order = node.order(self._pass)
        self._held: dict[int, Any] = {}
        # As in tf.data, the input begins with the first element that is asked for.
        self._input: Traversal[Any] | None = None
        self._begun: Mapping[str, Any] | None = None
        self._has_ended = False

    def _next(self) -> Any:
        source = self._flowing()
        while not self._has_ended and self._order.has_room():
            try:
                element = next(source)
            except StopIteration:
                self._has_ended = True
            else:
                self._held[self._order.push()] = element
        number = self._order.draw()
        if number is None:
            raise StopIteration
        return self._held.pop(number)

    def _flowing(self) -> Traversal[Any]:
        if self._input is None:
            self._input = self._node.input.begin()
            self._begun = self._input.state_dict()
        return self._input

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        pushed, drawn = self._order.position()
        position = {"pass": self._pass, "pushed": pushed, "drawn": drawn, "has_ended": self._has_ended}
        return {**position, "input_at_beginning": self._begun}

    def _go_to(self, saved: Saved, force: bool) -> None:
        number, has_ended = saved.count("pass"), saved.flag("has_ended")
        order = self._node.order(number)
        order.go_to(saved.count("pushed"), saved.count("drawn"))
        begun, source, held = None, None, {}
        if saved.fields.get("input_at_beginning") is not None:
            begun = saved.state("input_at_beginning")
            source = self._node.input.begin()
            source.load_state_dict(begun, force)
            held = _read_again(source, order, has_ended)
        self._pass, self._order, self._held = number, order, held
        self._input, self._begun, self._has_ended = source, begun, has_ended


def _read_again(source: Traversal[Any], order: _tesson.ItemShuffle, has_ended: bool) -> dict[int, Any]:
    """The elements that the buffer holds, by their numbers; the input stands after all that was taken in then."""
    pushed, _ = order.position()
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
