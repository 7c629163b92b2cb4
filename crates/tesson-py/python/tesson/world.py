"""How many processes train together, and which of them this one is."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

from .errors import ConfigError

__all__ = ["World", "resolve_world"]

#: Variables of rank and size that launchers set, the most specific first: a torchrun inside a Slurm job starts several
#: processes for each task of Slurm.
_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


class World(NamedTuple):
    """Rank of this process, from 0, the number of processes, and what said so."""

    rank: int
    size: int
    origin: str


def resolve_world(world: Any = "auto") -> World:
    """Find rank and number of processes, and log them to ``tesson``.

    Parameters
    ----------
    world : "auto", (int, int) or device mesh
        ``"auto"``: an initialised ``torch.distributed``, else an initialised JAX, else the variables of torchrun
        (``RANK``, ``WORLD_SIZE``), Open MPI, PMI and Slurm in this order, else one process. Neither framework is imported
        here. A pair is (rank, size). A mesh has to be of one dimension, as ``mesh["dp"]`` is.

    Raises
    ------
    ConfigError
        A variable is no number, its partner is missing, or the rank is not below the size.
    """
    if isinstance(world, str):
        if world != "auto":
            raise ConfigError(f"world: {world!r} is none; use 'auto', a pair (rank, size) or one dimension of a device mesh")
        found = _initialised() or _launched() or World(0, 1, "no launcher")
    elif hasattr(world, "get_local_rank") and hasattr(world, "ndim"):
        if world.ndim != 1:
            raise ConfigError(f"world: the mesh has {world.ndim} dimensions; choose that of the data, as in mesh['dp']")
        found = World(world.get_local_rank(), world.size(), "device mesh")
    else:
        try:
            rank, size = world
        except (TypeError, ValueError):
            raise ConfigError(f"world: {world!r} is no pair (rank, size)") from None
        if type(rank) is not int or type(size) is not int:
            raise ConfigError(f"world: rank and size of {world!r} have to be integers")
        found = _checked(World(rank, size, "the argument"), "world")
    # Here: the import of the package loads nothing that few programs need.
    import logging

    logging.getLogger("tesson").info("rank %d of %d, from %s", *found)
    return found


def _initialised() -> World | None:
    """What a framework says that the script has imported and initialised."""
    torch = sys.modules.get("torch.distributed")
    if torch is not None and torch.is_available() and torch.is_initialized():
        return World(torch.get_rank(), torch.get_world_size(), "torch.distributed")
    jax = sys.modules.get("jax")
    # Absent while the module is being imported, and from releases before 0.4.34.
    is_initialized = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    if jax is not None and is_initialized is not None and is_initialized():
        return World(jax.process_index(), jax.process_count(), "jax.distributed")
    return None


def _launched() -> World | None:
    """What the first launcher says that has set its variables."""
    for names in _VARIABLES:
        texts = [os.environ.get(name) for name in names]
        if texts == [None, None]:
            continue
        rank, size = (_number(name, text, names) for name, text in zip(names, texts, strict=True))
        return _checked(World(rank, size, " and ".join(names) + _others(names, (rank, size))), names[0])
    return None


def _others(names: tuple[str, str], found: tuple[int, int]) -> str:
    """What other launchers' variables say that differs: one launcher may run inside another, or variables be left over."""
    differing = ""
    for other in _VARIABLES:
        texts = [os.environ.get(name) for name in other]
        if other != names and None not in texts and texts != [str(number) for number in found]:
            differing += f"; not from {other[0]} and {other[1]}, which say {texts[0]} of {texts[1]}"
    return differing


def _number(name: str, text: str | None, names: tuple[str, str]) -> int:
    if text is None:
        other = names[1] if name == names[0] else names[0]
        raise ConfigError(f"{name} is not set, but {other} is; set both, or give world=(rank, size)")
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"{name} is {text!r}, not a number from 0; correct it, or give world=(rank, size)")
    return int(text)


def _checked(world: World, name: str) -> World:
    if not 0 <= world.rank < world.size:
        raise ConfigError(f"{name}: rank {world.rank} is not below the number of processes, {world.size}")
    return world
