"""How many processes train together, and which of them this one is."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ._tesson import check_world_size, launched, without_launcher
from .errors import ConfigError

__all__ = ["World", "resolve_world"]


class World(NamedTuple):
    """Rank of this process, from 0, the number of processes, and their source."""

    rank: int
    size: int
    origin: str


def resolve_world(world: Any = "auto", world_size: int | None = None) -> World:
    """Find rank and number of processes, and log them to ``tesson``.

    Parameters
    ----------
    world : "auto", str, (int, int), World or device mesh
        ``"auto"``: the first that applies of an initialised ``torch.distributed`` (``"torch"``) or JAX (``"jax"``),
        the training function of a Ray Train worker (``"ray"``), none of which is imported here, and the variables of
        torchrun, Open MPI, PMIx, PMI, Flux, PALS, Slurm (of steps that ``srun`` starts) and indexed jobs of
        Kubernetes; else one process. The names ``"torchrun"``, ``"openmpi"``, ``"pmix"``, ``"pmi"``, ``"flux"``,
        ``"pals"``, ``"slurm"`` and ``"kubernetes"`` choose one if several disagree. A pair is (rank, size). A mesh
        has to be of one dimension, as ``mesh["dp"]`` is.
    world_size : int, optional
        Number of processes, for launchers that set only a rank: PMIx, PALS and Kubernetes. By default the variable
        ``TESSON_WORLD_SIZE``.

    Returns
    -------
    World
        A value that every parameter `world` accepts, too.

    Raises
    ------
    ConfigError
        Two disagree, unless one may have started the other: the outer one has fewer processes then. Or there is a
        rank without a number of processes, a Ray worker without a rank, a variable that is not a number or lacks its
        partner, or a rank that is not below the size.
    """
    if isinstance(world, str):
        if world_size is not None and (type(world_size) is not int or world_size < 1):
            raise ConfigError(f"world_size: found {world_size!r}, expected a whole number from 1", path="world_size")
        found = _found(world, world_size)
    elif world_size is not None:
        raise ConfigError(f"world_size: found {world_size!r} beside world={world!r}, expected it beside 'auto' or the name of a launcher")
    elif isinstance(world, World):
        found = _checked(world, "world")
    elif hasattr(world, "get_local_rank") and hasattr(world, "ndim"):
        if world.ndim != 1:
            raise ConfigError(f"world: the mesh has {world.ndim} dimensions; choose that of the data, as in mesh['dp']")
        found = World(world.get_local_rank(), world.size(), "device mesh")
    else:
        try:
            rank, size = world
        except (TypeError, ValueError):
            raise ConfigError(f"world: found {world!r}, expected 'auto', the name of a launcher, a pair (rank, size) or one dimension of a device mesh") from None
        if type(rank) is not int or type(size) is not int:
            raise ConfigError(f"world: rank and size of {world!r} have to be integers")
        found = _checked(World(rank, size, "the argument"), "world")
    # A program that has not imported it has no handler that takes this, and importing it takes longer than opening a file.
    if (logging := sys.modules.get("logging")) is not None:
        logging.getLogger("tesson").info("rank %d of %d, from %s", *found)
    return found


def _found(name: str, world_size: int | None) -> World:
    """The world with a name."""
    if name == "auto":
        found = _asked()
    elif ask := _ASKED.get(name):
        found = ask()
        if found is None:
            raise ConfigError(f"world: found {name!r}, which has not started this process; use 'auto', or give {_PAIR}")
    else:
        found = None
    if found is not None:
        check_world_size(found, world_size)
        return found
    if launcher := launched(name, world_size, list(_ASKED)):
        return World(*launcher)
    _refuse_ray_worker()
    return World(*without_launcher(world_size))


#: The remedy that always works.
_PAIR = "world=(rank, size)"


# Frameworks that the script has imported, and which know.


def _torch() -> World | None:
    torch = sys.modules.get("torch.distributed")
    if torch is not None and torch.is_available() and torch.is_initialized():
        return World(torch.get_rank(), torch.get_world_size(), "torch.distributed")
    return None


def _jax() -> World | None:
    jax = sys.modules.get("jax")
    # Absent while the module is being imported, and from releases before 0.4.34.
    is_initialized = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    if jax is not None and is_initialized is not None and is_initialized():
        return World(jax.process_index(), jax.process_count(), "jax.distributed")
    return None


def _ray() -> World | None:
    train = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        # Outside of a training function Ray refuses; its older implementation warns, and answers 0 of 1.
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            context = train.get_context()
            return World(context.get_world_rank(), context.get_world_size(), "Ray Train")
    except (RuntimeError, UserWarning):
        return None


_ASKED: dict[str, Callable[[], World | None]] = {"torch": _torch, "jax": _jax, "ray": _ray}


def _asked() -> World | None:
    """The report of the frameworks. They number the processes of the program itself, whatever has started them."""
    answers = {name: found for name, ask in _ASKED.items() if (found := ask()) is not None}
    shown = {name: f"{found.origin} says {found.rank} of {found.size}" for name, found in answers.items()}
    if len({found[:2] for found in answers.values()}) > 1:
        names = " or ".join(f"world={name!r}" for name in shown)
        raise ConfigError(f"world: {', but '.join(shown.values())}; choose {names}, or give {_PAIR}")
    return next(iter(answers.values()), None)


def _refuse_ray_worker() -> None:
    """Refuses a process that Ray has started without a rank."""
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized() and ray.get_runtime_context().worker.mode == ray.WORKER_MODE:
        raise ConfigError(f"world: found a Ray worker outside of Ray Train, which has no rank; give {_PAIR}, which is (0, 1) if it reads alone")


def _checked(world: World, name: str) -> World:
    if not 0 <= world.rank < world.size:
        raise ConfigError(f"{name}: rank {world.rank} is not below the number of processes, {world.size}")
    return world
