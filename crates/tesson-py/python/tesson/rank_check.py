"""A check that all ranks have opened the same data."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from ._tesson import Digest
from .errors import DataError
from .world import World

__all__ = ["check_same_data"]

#: How often this process has opened the data of each description.
_opened: Counter[str] = Counter()


def check_same_data(world: World, description: str, count: Callable[[], int]) -> None:
    """Compare the number of examples with those of the ranks that have opened the data so far, without waiting for others.

    The ranks need PyTorch's process group, whose store all of them reach. Of two ranks with different numbers the later one notices,
    if one of them is rank 0.

    Raises
    ------
    DataError
        Another rank has another number.
    """
    store = _store(world)
    if store is None:
        return
    examples = count()
    digest = Digest()
    digest.update(description.encode())
    _opened[description] += 1
    prefix = f"tesson/{digest.hexdigest()}/{_opened[description]}"
    store.set(f"{prefix}/{world.rank}", str(examples))
    for rank in range(1, world.size) if world.rank == 0 else [0]:
        if not store.check([f"{prefix}/{rank}"]):
            continue
        found = int(store.get(f"{prefix}/{rank}"))
        if found != examples:
            raise DataError(
                f"{description}: rank {world.rank} has {examples} examples and rank {rank} has {found}, expected equally many; give all ranks "
                "the same files"
            )


def _store(world: World) -> Any:
    """The store that all ranks reach; None where there is none."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if world.size < 2 or distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    if distributed.get_world_size() != world.size:
        return None
    # It has no public name, and another version may have none at all.
    get = getattr(distributed.distributed_c10d, "_get_default_store", None)
    return None if get is None else get()
