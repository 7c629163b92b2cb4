"""Tesson's orders for other people's map-style datasets."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sized
from operator import index
from typing import Any, Literal, NamedTuple, SupportsIndex

# Types are checked where PyTorch is not installed, too.
from torch.utils.data import Sampler as TorchSampler  # type: ignore[import-not-found, unused-ignore]

from .._tesson import GlobalOrder
from ..errors import ConfigError, ResumeError, UsageError
from ..keywords import suggests_keywords
from ..world import resolve_world

__all__ = ["Sampler"]


@suggests_keywords
class Sampler(TorchSampler[int]):
    """Tesson's order ``"global"`` for a map-style dataset: the same indices in the same order as a source with that
    many sequences.

    Ranks take turns, so the indices of all ranks together do not depend on their number. Each iteration is an epoch,
    or the rest of one after :meth:`load_state_dict`; the one after it is the next epoch, also without
    :meth:`set_epoch`, and even if a loop was left in the middle, since a loader with worker processes has taken a
    part that depends on their number.

    The state counts what was taken from the sampler, and a loader with worker processes takes indices ahead, so there is no state then.
    Use ``torchdata``'s ``StatefulDataLoader`` there: its state counts what it has yielded.

    Parameters
    ----------
    data_source : sized or int
        The dataset, or its number of items.
    seed : int
        The seed, like `randomization_seed` of :class:`MinibatchSource`.
    world : "auto", str, (int, int), World or device mesh
        Rank and number of ranks, as :func:`tesson.world.resolve_world` finds them.
    equal_steps : {"repeat", "drop"}, optional
        The treatment of items that are left over when not all ranks can have one more: ``"repeat"`` gives the other
        ranks the first items of the epoch again, as PyTorch's ``DistributedSampler`` does; ``"drop"`` leaves them
        out; by default ranks have different numbers of items.

    Examples
    --------
    >>> import tesson.torch
    >>> sampler = tesson.torch.Sampler(6, seed=1)
    >>> first = list(sampler)
    >>> sorted(first), list(sampler) == first
    ([0, 1, 2, 3, 4, 5], False)
    """

    #: Indices that are planned at a time.
    BLOCK = 4096

    def __init__(
        self,
        data_source: Sized | int,
        *,
        seed: int = 0,
        world: Any = "auto",
        equal_steps: Literal["repeat", "drop"] | None = None,
    ) -> None:
        if equal_steps not in ("repeat", "drop", None):
            raise ConfigError(f"found {equal_steps!r}, expected 'repeat' or 'drop'", path="equal_steps")
        if not isinstance(data_source, (int, Sized)):
            what = f"found {data_source!r}, expected a dataset with a length, or its number of items"
            raise ConfigError(what, path="data_source")
        self._items = data_source if isinstance(data_source, int) else len(data_source)
        if self._items < 1:
            raise ConfigError(f"found {self._items} items, expected at least 1", path="data_source")
        if type(seed) is not int or not 0 <= seed < 2**64:
            raise ConfigError(f"found {seed!r}, expected a whole number from 0 below 2^64", path="seed")
        self._seed = seed
        self._rank, self._ranks, _ = resolve_world(world)
        self._equal_steps = equal_steps
        #: Where the next iteration begins.
        self._start = _Place(0, 0)
        #: The iteration that has begun and not ended.
        self._running: _Indices | None = None
        #: Worker processes of the loader that has taken indices ahead of its loop.
        self._workers = 0

    def set_epoch(self, epoch: int) -> None:
        """Begin this epoch, counted from 0, with the next iteration; nothing happens if a state of it was loaded for that."""
        if not isinstance(epoch, SupportsIndex) or not 0 <= index(epoch) < 2**64:
            raise ConfigError(f"found {epoch!r}, expected a whole number from 0 below 2^64", path="epoch")
        if self._running is not None or epoch != self._start.epoch:
            self._start, self._running = _Place(index(epoch), 0), None
        self._workers = 0

    def __len__(self) -> int:
        """Indices of an epoch for this rank."""
        return len(range(self._rank, self._end(), self._ranks))

    def _end(self) -> int:
        """Indices of an epoch over all ranks."""
        spare = self._items % self._ranks
        if self._equal_steps == "drop":
            return self._items - spare
        return self._items + (self._ranks - spare if spare and self._equal_steps == "repeat" else 0)

    def __iter__(self) -> Iterator[int]:
        return _Indices(self)

    def _begin(self, iteration: _Indices, place: _Place) -> None:
        """Notes that an iteration begins at a place: the one after it has the next epoch."""
        self._start, self._running = _Place(place.epoch + 1, 0), iteration
        self._workers = _workers_of_caller() or 0

    def _end_of(self, iteration: _Indices) -> None:
        if self._running is iteration:
            self._running = None

    def state_dict(self) -> dict[str, Any]:
        """The position in the epoch. The state of any rank resumes on any number of ranks.

        Raises
        ------
        UsageError
            A loader with worker processes has taken indices, and only it knows how many of them were used. Between
            epochs, :meth:`set_epoch` declares that all were.
        """
        # `StatefulDataLoader` asks, and counts itself.
        if self._workers > 0 and _workers_of_caller() is None:
            raise UsageError(
                f"a loader with {self._workers} worker processes takes indices ahead of its loop, and how many of them were used is not known "
                "here: ask StatefulDataLoader for its state, use num_workers=0, or, between epochs, call set_epoch() for the next one first"
            )
        return self._state(self._start if self._running is None else self._running.place)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from a state.

        Raises
        ------
        ResumeError
            The state is that of another number of items or another seed. The sampler is as it was.
        """
        self._start, self._running, self._workers = self._place(state_dict), None, 0

    def _state(self, place: _Place) -> dict[str, Any]:
        return {"epoch": place.epoch, "taken": place.taken, "items": self._items, "seed": self._seed}

    def _place(self, state: Mapping[str, Any]) -> _Place:
        given = state if isinstance(state, Mapping) else {}
        for name, mine in (("items", self._items), ("seed", self._seed)):
            if given.get(name) != mine:
                raise ResumeError(f"the state is that of {name}={given.get(name)}, found {mine}", code="resume.unreadable")
        epoch, taken = (given.get(name, -1) for name in ("epoch", "taken"))
        # Another number of ranks may have gone further, to have equally many steps.
        if not all(type(count) is int and 0 <= count < 2**63 for count in (epoch, taken)):
            found = f"found epoch={epoch!r} and taken={taken!r}, expected numbers from 0, as state_dict() returned"
            raise ResumeError(found, code="resume.unreadable")
        return _Place(epoch, taken)


def _workers_of_caller() -> int | None:
    """The number of worker processes of the loader that calls; None if no loader does.

    A sampler does not learn who takes its indices, but a loader's iteration takes them in a method of its class,
    which is on the stack.
    """
    frame = sys._getframe(2)
    while frame is not None:
        workers = getattr(frame.f_locals.get("self"), "_num_workers", None)
        if isinstance(workers, int):
            return workers
        frame = frame.f_back  # type: ignore[assignment]
    return None


class _Place(NamedTuple):
    """A place in the order of a sampler."""

    epoch: int
    #: Indices of the epoch that all ranks together have taken.
    taken: int


class _Indices(Iterator[int]):
    """One iteration over a sampler. It begins with its first index: loaders make some that they never use.

    Its state stays after the last index when the epoch has ended, so that ``StatefulDataLoader``, which saves it, finds nothing left
    in the epoch that its last batch belongs to.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        #: The epoch, once it has begun, and the indices of it that all ranks together have taken.
        self._epoch: int | None = None
        self._taken = 0
        self._order: GlobalOrder | None = None
        #: Indices that are ready, and the position of the first one in the epoch.
        self._block: list[int] = []
        self._block_start = 0

    @property
    def place(self) -> _Place:
        """The position that has been reached, or at which it would begin."""
        return self._sampler._start if self._epoch is None else _Place(self._epoch, self._taken)

    def __next__(self) -> int:
        sampler = self._sampler
        if self._epoch is None:
            self._begin(sampler._start)
        place = self._taken + sampler._rank
        if place >= self._end:
            self._order = None
            sampler._end_of(self)
            raise StopIteration
        place %= sampler._items
        at = place - self._block_start
        if not 0 <= at < len(self._block):
            self._read(place)
            at = 0
        self._taken += sampler._ranks
        return self._block[at]

    def _begin(self, place: _Place) -> None:
        self._epoch, self._taken = place
        self._end = self._sampler._end()
        self._order, self._block = GlobalOrder(self._sampler._items, self._sampler._seed, place.epoch), []
        self._sampler._begin(self, place)

    def _read(self, place: int) -> None:
        """Makes the indices from a place on ready."""
        assert self._order is not None
        self._block = self._order.range(place, min(place + Sampler.BLOCK, self._sampler._items)).tolist()
        self._block_start = place

    def state_dict(self) -> dict[str, Any]:
        """The place after the last index."""
        return self._sampler._state(self.place)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a place."""
        self._begin(self._sampler._place(state_dict))
