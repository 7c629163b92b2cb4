"""Tesson's orders for other people's map-style datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from typing import Any, Literal

import numpy as np
# Types are checked where PyTorch is not installed, too.
from torch.utils.data import Sampler as TorchSampler  # type: ignore[import-not-found, unused-ignore]

from ..errors import ConfigError, ResumeError
from ..source import MinibatchSource
from ..world import resolve_world

__all__ = ["Sampler"]


class Sampler(TorchSampler[int]):
    """Tesson's order ``"global"`` for a map-style dataset: the same indices in the same order as a source of as many sequences.

    Ranks take turns, so the indices of all ranks together do not depend on their number. Each iteration is an epoch, or the rest
    of one after :meth:`load_state_dict`; the one after it is the next epoch, also without :meth:`set_epoch`.

    The state counts what was taken from the sampler. A ``DataLoader`` with worker processes takes indices ahead: use
    ``StatefulDataLoader`` there, whose state counts what it has yielded.

    Parameters
    ----------
    data_source : sized or int
        The dataset, or its number of items.
    seed : int
        As `randomization_seed` of :class:`MinibatchSource`.
    world : "auto", (int, int) or device mesh
        Rank and number of ranks, as :func:`tesson.world.resolve_world` finds them.
    equal_steps : {"repeat", "drop"}, optional
        Where items are left over that not all ranks have one of: ``"repeat"`` gives the others the first items of the epoch
        again, as PyTorch's ``DistributedSampler`` does; ``"drop"`` leaves them out; by default ranks have unequally many.

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
        self._items = data_source if isinstance(data_source, int) else len(data_source)
        if self._items < 1:
            raise ConfigError(f"found {self._items} items, expected at least 1", path="data_source")
        self._seed = seed
        self._rank, self._ranks, _ = resolve_world(world)
        self._equal_steps = equal_steps
        self._epoch = 0
        #: Indices of the epoch that all ranks together have taken.
        self._taken = 0

    def set_epoch(self, epoch: int) -> None:
        """Begin this epoch, counted from 0; nothing happens if it is the current one, of which some may be taken already."""
        if epoch != self._epoch:
            self._epoch, self._taken = epoch, 0

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
        # Only the order is of interest: the data are zeros that take no memory.
        nothing = np.broadcast_to(np.float32(0), (self._items, 1))
        with MinibatchSource.from_data({"item": nothing}, randomize="global", randomization_seed=self._seed, threads=1) as source:
            end, begin = self._end(), 0
            block: list[Any] = []
            while self._taken + self._rank < end:
                place = (self._taken + self._rank) % self._items
                if not begin <= place < begin + len(block):
                    begin = place
                    source.restore_from_checkpoint({"minibatchSourcePosition": self._epoch * self._items + begin})
                    block = source.next_minibatch(min(self.BLOCK, self._items - begin))["item"].keys
                self._taken += self._ranks
                yield int(block[place - begin])
        self.set_epoch(self._epoch + 1)

    def state_dict(self) -> dict[str, Any]:
        """What has been taken. The state of any rank resumes on any number of them."""
        return {"epoch": self._epoch, "taken": self._taken, "items": self._items, "seed": self._seed}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from a state.

        Raises
        ------
        ResumeError
            The state is that of another number of items or another seed. The sampler is as it was.
        """
        for name, mine in (("items", self._items), ("seed", self._seed)):
            if state_dict.get(name) != mine:
                raise ResumeError(f"the state is that of {name}={state_dict.get(name)}, found {mine}", code="resume.unreadable")
        self._epoch, self._taken = state_dict["epoch"], state_dict["taken"]
