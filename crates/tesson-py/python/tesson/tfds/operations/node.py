"""The nodes of datasets, and the passes over them.

A node is a source of examples, or an operation on other nodes, with a file for each. Nodes are descriptions and hold no
position: :meth:`Node.begin` makes an iterator for one pass, which holds all of it. An operation's state is the state of its
input and a few counters, so that resuming reads nothing again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeGuard, TypeVar

from ...errors import ResumeError, UsageError
from ..lock import Lock, Process, this_process

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

AUTOTUNE = -1
"""The value by which ``tf.data`` chooses a number itself; accepted and ignored."""
INFINITE_CARDINALITY = -1
"""The cardinality of a dataset without an end."""
UNKNOWN_CARDINALITY = -2
"""The cardinality of a dataset with elements that have to be counted."""

_INTERRUPT = "an interrupt"


class Traversal(Protocol[T_co]):
    """One pass: an iterator with a state."""

    def __iter__(self) -> Iterator[T_co]: ...
    def __next__(self) -> T_co: ...
    def skip(self, count: int) -> int:
        """Pass over ``count`` elements; returns how many there were. Fewer: the end has been seen."""

    def put_back(self) -> None:
        """Go back to before the last element delivered, if nothing has been done since."""

    def state_dict(self, include_buffers: bool = False) -> dict[str, Any]:
        """The position of the iterator, in a dictionary that ``json`` can write."""

    def load_state_dict(self, state: Mapping[str, Any], force: bool = False) -> None:
        """Go to where a state was taken."""


class Node(ABC):
    """Where examples come from, or an operation on other nodes."""

    name: str
    """The operation's name, that of the method of :class:`tesson.tfds.Dataset`."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes it is applied to."""
        return ()

    @abstractmethod
    def begin(self) -> Traversal[Any]:
        """The next pass, at its beginning."""

    @abstractmethod
    def cardinality(self) -> int:
        """Elements of a pass, by tf.data's rules."""

    def counted_length(self) -> int:
        """The cardinality, but for examples that have to be counted their number."""
        return self.cardinality()

    @abstractmethod
    def element_spec(self) -> Any:
        """The structure of an element, with shapes and types at its leaves."""

    @property
    def spec_is_declared(self) -> bool:
        """True if the spec follows from the dataset's features, without calling a function."""
        return all(node.spec_is_declared for node in self.inputs)

    @property
    def reshuffles(self) -> bool:
        """True if passes differ in their order."""
        return any(node.reshuffles for node in self.inputs)

    @property
    def seeds(self) -> list[int]:
        """Seeds of the shuffles of elements, in the order in which they were made."""
        return [seed for node in self.inputs for seed in node.seeds]

    def passes_begun(self) -> list[int]:
        """Passes that each shuffle in it has begun, in one order: inputs that begin later in a pass count from there."""
        return [begun for node in self.inputs for begun in node.passes_begun()]

    def set_passes(self, begun: Iterator[int]) -> None:
        """Set the result of :meth:`passes_begun`."""
        for node in self.inputs:
            node.set_passes(begun)

    def backup(self) -> Callable[[], None]:
        """A function that restores the present count of passes."""
        return all_of([node.backup() for node in self.inputs])

    def example(self, i: int, epoch: int) -> Any:
        """Element ``i`` of a pass, without those before it."""
        raise TypeError(
            f"elements of `{self.name}` are not numbered: iterate over the dataset, which is exactly resumable, or ask "
            f"for examples by their numbers before `{self.name}`"
        )

    def ordered(self, op: dict[str, Any]) -> Node | None:
        """The operation as a part of the plan, where order is decided without data; ``None`` if elements have to be seen."""
        return None

    def batches(self, size: int, drop_remainder: bool, pads: bool) -> Traversal[Any] | None:
        """The next pass in batches that are made without single elements; ``None`` if there is no such way."""
        return None

    def arguments(self) -> str:
        """The operation's arguments, for :func:`repr`."""
        return ""

    def __repr__(self) -> str:
        inputs = ", ".join(repr(node) for node in self.inputs)
        return f"{inputs}.{self.name}({self.arguments()})"


class Unary(Node):
    """An operation on one dataset."""

    def __init__(self, input: Node) -> None:
        self.input = input

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def cardinality(self) -> int:
        return self.input.cardinality()

    def element_spec(self) -> Any:
        return self.input.element_spec()


class OperationIterator(ABC, Iterator[Any]):
    """One pass over the elements of an operation. It is read by one thread at a time while others wait.

    ``state_dict()`` is exact after each element: it holds the state of the input and the operation's own counters. If
    a user's function or the input raises, ``next()`` tries the same element again, and nothing is lost; a state can
    be taken before and after, but not in between. After a ``skip()`` that raises, a state must be loaded: the number
    of skipped elements is unknown. A state that is refused does not change the iterator.

    Ctrl-C comes between any two steps of Python, even after an element has just been taken from the input. The
    iterator then goes back to before the element: to a state that it has kept, and past the elements delivered since.
    """

    KEPT_EVERY: ClassVar[int] = 4096
    """Elements from one kept state to the next: the most that are skipped after Ctrl-C."""

    _unfinished: Any = None
    """Elements that were taken from the input for an element that is not finished."""
    _step_of: Process | None = None
    """The process in which a step has begun and not ended: another one where the child of a fork lacks the thread that took it."""
    _left_by: str | None = None
    """The exception that has ended a step or a load in its middle."""
    _kept: Mapping[str, Any] | None = None
    """A state to go back to, of an iterator that is no other one's input."""
    _given_since: int = 0
    """Elements delivered since."""
    _due: float = math.inf
    """The number of elements delivered at which the next state is kept."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._turn = Lock()

    def outermost(self) -> Self:
        """Makes this the iterator that a loop has, no other one's input: it can go back to before an element."""
        self._due = 0
        return self

    def __next__(self) -> Any:
        if self._given_since >= self._due:
            self._keep_state()
        element = self._step(self._next)
        # No calls from here on: after an interrupt in one the element would count, and be lost.
        self._given_since += 1
        return element

    def skip(self, count: int) -> int:
        """Pass over ``count`` elements; returns how many there were. Fewer: the end has been seen."""
        if self._given_since >= self._due:
            self._keep_state()
        skipped = self._step(lambda: self._skip_or_leave(count))
        self._given_since += skipped
        return skipped

    def put_back(self) -> None:
        """Go back to before the last element delivered, if nothing has been done since."""
        if self._given_since > 0 and self._kept is not None:
            self._given_since -= 1
            self._left_by = _INTERRUPT

    def _keep_state(self) -> None:
        try:
            self.state_dict()
        except UsageError:
            # There is none in the middle of an element that failed; the next step tries again.
            pass

    def _go_back(self, kept: Mapping[str, Any]) -> None:
        """Go back to before the element that an interrupt has stopped."""
        try:
            self._load(kept, True)
            Saved(self._node.name, kept).set_passes("passes", self._node)
            skipped = self._skip(self._given_since)
        except BaseException:
            self._left_by = _INTERRUPT
            raise
        if skipped != self._given_since:
            self._left_by = "an interrupt after which its functions, which are not pure, give other elements"

    def _step(self, take: Callable[[], T]) -> T:
        """Takes elements while no other thread does."""
        try:
            with self._turn.held():
                if self._step_of or self._left_by:
                    self._go_back_or_refuse()
                self._step_of = self._turn.process
                try:
                    return take()
                finally:
                    self._step_of = None
        except BaseException as error:
            self._note(error)
            raise

    def _note(self, error: BaseException) -> None:
        if not isinstance(error, Exception):
            self._left_by = _INTERRUPT

    def _go_back_or_refuse(self) -> None:
        if self._left_by is _INTERRUPT and self._step_of is None and self._kept is not None:
            self._go_back(self._kept)
        if self._step_of is this_process():
            raise UsageError(
                f"`{self._node.name}` is in the middle of an element, where it has no state and cannot be read: leave it alone in the "
                "functions that it calls"
            )
        left_by = self._left_by or (self._step_of and "a thread of the process that forked this one")
        if left_by:
            raise UsageError(
                f"`{self._node.name}` was left in the middle by {left_by}, and elements may be lost: resume from a state that was taken "
                "before, in this iterator or a new one"
            )

    def _skip_or_leave(self, count: int) -> int:
        try:
            return self._skip(count)
        except Exception:
            # The caller does not know how many were skipped.
            self._left_by = "an error while it passed over elements"
            raise

    def state_dict(self, include_buffers: bool = False) -> dict[str, Any]:
        """The position of the iterator. Restored, here or in another process, it continues with the next element.

        ``include_buffers`` is passed on to the examples' iterator.
        """
        with self._turn.held():
            state = {**self._state(include_buffers), "passes": self._node.passes_begun()}
            if self._due < math.inf:
                self._kept, self._given_since, self._due = dict(state), 0, self.KEPT_EVERY
            return state

    def load_state_dict(self, state: Mapping[str, Any], force: bool = False) -> None:
        """Go to where a state was taken; ``force`` is passed on to the examples' iterator."""
        with self._turn.held():
            check_operation(state, self._node.name)
            go_back = all_of([self.backup(), self._node.backup()])
            try:
                self._load(state, force)
                # Afterwards, since passes that were begun on the way there do not count.
                Saved(self._node.name, state).set_passes("passes", self._node)
                self._kept, self._given_since = None, 0
                if self._due < math.inf:
                    self._due = 0
            except BaseException as error:
                # Some inputs may be there already.
                if isinstance(error, Exception):
                    go_back()
                self._note(error)
                raise

    def backup(self) -> Callable[[], None]:
        """A function that brings the iterator back to its present position, even in the middle of an element."""
        fields = dict(vars(self))
        inputs = all_of([backup_of(source) for source in self._sources()])

        def go_back() -> None:
            vars(self).update(fields)
            inputs()

        return go_back

    def _sources(self) -> list[Traversal[Any]]:
        """The iterators over inputs that have begun."""
        source = vars(self).get("_input")
        return [] if source is None else [source]

    @abstractmethod
    def _next(self) -> Any:
        """The next element."""

    def _skip(self, count: int) -> int:
        """Passes over elements."""
        for skipped in range(count):
            try:
                self._next()
            except StopIteration:
                return skipped
        return count

    def _state(self, include_buffers: bool) -> dict[str, Any]:
        self._go_back_or_refuse()
        if self._unfinished:
            raise UsageError(
                f"`{self._node.name}` failed in the middle of an element, where there is no state: call next() to try it "
                "again, or resume from a state that was taken before"
            )
        return {"operation": self._node.name, **self._position(include_buffers)}

    def _load(self, state: Mapping[str, Any], force: bool) -> None:
        check_operation(state, self._node.name)
        self._go_to(Saved(self._node.name, state), force)
        self._unfinished = None
        self._step_of, self._left_by = None, None

    @abstractmethod
    def _position(self, include_buffers: bool) -> dict[str, Any]:
        """The fields of the state."""

    @abstractmethod
    def _go_to(self, saved: Saved, force: bool) -> None:
        """Goes to where these fields were taken."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _resumed, (self._node, self.state_dict())

    def __repr__(self) -> str:
        return f"<iterator over {self._node!r}>"


class UnaryIterator(OperationIterator):
    """One pass over an operation on one dataset, which begins with it."""

    counters: ClassVar[Mapping[str, str]] = {}
    """The attributes that count something, by their names in states."""

    def __init__(self, node: Unary) -> None:
        super().__init__(node)
        self._input = node.input.begin()

    def _position(self, include_buffers: bool) -> dict[str, Any]:
        counts = {name: getattr(self, attribute) for name, attribute in self.counters.items()}
        return {**counts, "input": state_of(self._input, include_buffers)}

    def _go_to(self, saved: Saved, force: bool) -> None:
        counts = {attribute: saved.count(name) for name, attribute in self.counters.items()}
        load(self._input, saved.state("input"), force)
        vars(self).update(counts)


def all_of(steps: list[Callable[[], None]]) -> Callable[[], None]:
    """A function that takes all of these steps."""

    def take() -> None:
        for step in steps:
            step()

    return take


def backup_of(iterator: Traversal[Any]) -> Callable[[], None]:
    """A function that brings an operation's input back to its present position."""
    if isinstance(iterator, OperationIterator):
        return iterator.backup()
    state = iterator.state_dict()
    return lambda: iterator.native.restore(state, True)  # type: ignore[attr-defined]


def outermost(iterator: Traversal[Any]) -> Traversal[Any]:
    """An iterator for a loop, which goes back to before an element where Ctrl-C came in its middle."""
    return iterator.outermost() if isinstance(iterator, OperationIterator) else iterator


def state_of(iterator: Traversal[Any], include_buffers: bool = False) -> dict[str, Any]:
    """The state of an operation's input: passes are counted in the state that holds it."""
    return iterator._state(include_buffers) if isinstance(iterator, OperationIterator) else iterator.state_dict(include_buffers)


def load(iterator: Traversal[Any], state: Mapping[str, Any], force: bool) -> None:
    """Brings an operation's input to where :func:`state_of` was taken."""
    if isinstance(iterator, OperationIterator):
        iterator._load(state, force)
    else:
        iterator.load_state_dict(state, force)


@dataclass(frozen=True)
class Saved:
    """The fields of a state, each checked when it is read."""

    operation: str
    fields: Mapping[str, Any]

    def count(self, name: str, most: int | None = None) -> int:
        """A count with an upper limit."""
        value = self.fields.get(name)
        if _is_count(value) and (most is None or value <= most):
            return value
        raise self._refused(name, "a number from 0 on" if most is None else f"a number from 0 to {most}")

    def like(self, counters: Mapping[str, Any]) -> dict[str, Any]:
        """Counters and marks, as many as these and each of its type."""
        return {name: self.flag(name) if isinstance(value, bool) else self.count(name) for name, value in counters.items()}

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.fields.get(name)
        if isinstance(value, bool):
            return value
        raise self._refused(name, "true or false")

    def state(self, name: str) -> Mapping[str, Any]:
        """The state of an input."""
        value = self.fields.get(name)
        if isinstance(value, Mapping):
            return value
        raise self._refused(name, "a state")

    def set_passes(self, name: str, node: Node) -> None:
        """Sets the passes that were saved of a node."""
        value, count = self.fields.get(name), len(node.passes_begun())
        if not isinstance(value, (list, tuple)) or len(value) != count or not all(map(_is_count, value)):
            raise self._refused(name, f"{count} numbers from 0 on")
        node.set_passes(iter(value))

    def states(self, name: str, count: int) -> list[Mapping[str, Any]]:
        """The states of a number of inputs."""
        value = self.fields.get(name)
        if isinstance(value, (list, tuple)) and len(value) == count:
            return list(value)
        raise self._refused(name, f"{count} states")

    def _refused(self, name: str, expected: str) -> ResumeError:
        found = repr(self.fields.get(name))
        return ResumeError(
            f"the state of `{self.operation}`: found {found} as `{name}`, expected {expected}",
            what=f"`{name}` of `{self.operation}`",
            state=found,
            source=expected,
            code="resume.unreadable",
        )


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_operation(state: Mapping[str, Any], expected: str | None) -> None:
    """Refuse the state of another operation; ``None`` is that of the examples themselves."""
    if not isinstance(state, Mapping):
        what = f"found {state!r}, expected a state: the dictionary that state_dict() gives"
        raise ResumeError(
            what, what="the state", state=repr(state), source="a dictionary", code="resume.unreadable"
        )
    found = state.get("operation")
    if found == expected:
        return
    shown = [f"`{name}`" if name else "examples" for name in (found, expected)]
    raise ResumeError(
        f"the state was taken of {shown[0]}, the iterator is one of {shown[1]}: apply the same operations in the same order",
        what="the operation",
        state=shown[0],
        source=shown[1],
    )


def _resumed(node: Node, state: dict[str, Any]) -> Traversal[Any]:
    """An iterator from a pickle."""
    iterator = outermost(node.begin())
    iterator.load_state_dict(state)
    return iterator
