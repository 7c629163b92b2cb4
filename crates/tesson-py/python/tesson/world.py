"""How many processes train together, and which of them this one is."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .errors import ConfigError

__all__ = ["World", "resolve_world"]


class World(NamedTuple):
    """Rank of this process, from 0, the number of processes, and their source."""

    rank: int
    size: int
    origin: str


class _Launcher(NamedTuple):
    """A program that starts processes, and the variables in which it numbers them."""

    name: str
    rank: str
    #: None: the launcher does not set a number of processes.
    size: str | None = None


#: The innermost first: a torchrun inside a Slurm job starts several processes for each task of Slurm.
_LAUNCHERS = (
    _Launcher("torchrun", "RANK", "WORLD_SIZE"),
    _Launcher("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    _Launcher("pmix", "PMIX_RANK"),
    _Launcher("pmi", "PMI_RANK", "PMI_SIZE"),
    _Launcher("flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    _Launcher("pals", "PALS_RANKID"),
    _Launcher("slurm", "SLURM_PROCID", "SLURM_NTASKS"),
    _Launcher("kubernetes", "JOB_COMPLETION_INDEX"),
)

#: The variable for the number of processes, for launchers that do not set one.
_SIZE_VARIABLE = "TESSON_WORLD_SIZE"

#: The first step of Slurm that is none of `srun`, but a batch script, an interactive shell and the like.
_SPECIAL_STEPS = 0xFFFF_FFF0


class _Report(NamedTuple):
    """The rank and number of processes that a launcher sets."""

    launcher: _Launcher
    rank: int
    size: int | None

    @property
    def variables(self) -> str:
        return self.launcher.rank if self.size is None else f"{self.launcher.rank} and {self.launcher.size}"

    @property
    def numbers(self) -> str:
        return f"says {self.rank}" if self.size is None else f"say {self.rank} of {self.size}"

    def __str__(self) -> str:
        return f"{self.variables} {self.numbers}"


class _Size(NamedTuple):
    """An explicit number of processes, and its source."""

    number: int
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
        found = _found(world, _given_size(world_size))
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


def _found(name: str, size: _Size | None) -> World:
    """The world with a name."""
    if name == "auto":
        found = _asked() or _launched(os.environ, size) or _alone(os.environ, size)
    elif ask := _ASKED.get(name):
        found = _named(name, ask())
    elif launcher := next((launcher for launcher in _LAUNCHERS if launcher.name == name), None):
        report = _report(launcher, os.environ)
        found = _named(name, report and _sized(report, size), f", by {launcher.rank}")
    else:
        names = ", ".join(repr(name) for name in ("auto", *_ASKED, *(launcher.name for launcher in _LAUNCHERS)))
        raise ConfigError(f"world: found {name!r}, expected one of {names}, a pair (rank, size) or one dimension of a device mesh")
    if size is not None and size.number != found.size:
        raise ConfigError(f"{size.origin} is {size.number}, but {found.origin} says rank {found.rank} of {found.size}; correct one, or give {_PAIR}")
    return found


#: The remedy that always works.
_PAIR = "world=(rank, size)"


def _named(name: str, found: World | None, by: str = "") -> World:
    if found is None:
        raise ConfigError(f"world: found {name!r}, which has not started this process{by}; use 'auto', or give {_PAIR}")
    return found


def _given_size(world_size: int | None) -> _Size | None:
    if world_size is not None:
        if type(world_size) is not int or world_size < 1:
            raise ConfigError(f"world_size: found {world_size!r}, expected a whole number from 1")
        return _Size(world_size, "world_size")
    text = os.environ.get(_SIZE_VARIABLE)
    return None if text is None else _Size(_number(_SIZE_VARIABLE, text), _SIZE_VARIABLE)


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
        raise _disagreement(shown)
    return next(iter(answers.values()), None)


def _launched(environ: Mapping[str, str], size: _Size | None) -> World | None:
    """The report of the innermost launcher that sets both numbers; with an explicit number, of the innermost one that
    sets the rank."""
    reports = _reports(environ)
    if not reports:
        return None
    inner = next((report for report in reports if report.size is not None), reports[0])
    found = _sized(inner, size)
    outside = ""
    for report in reports:
        if report.rank == inner.rank and report.size in (None, inner.size):
            continue
        if reports.index(report) < reports.index(inner) or not _may_have_started(report, inner):
            raise _disagreement({each.launcher.name: str(each) for each in (inner, report)})
        outside += f"; not from {report.variables}, which {report.numbers}"
    return found._replace(origin=found.origin + outside)


def _reports(environ: Mapping[str, str]) -> list[_Report]:
    """The reports of the launchers that have started this process, the innermost first."""
    reports: list[_Report] = []
    for launcher in _LAUNCHERS:
        try:
            report = _report(launcher, environ)
        except ConfigError:
            # Variables of no meaning are left over where another launcher has answered.
            if all(report.size is None for report in reports):
                raise
            continue
        reports += [] if report is None else [report]
    return reports


def _may_have_started(outer: _Report, inner: _Report) -> bool:
    """True if a launcher may have started the other one in each of its processes, which are fewer then."""
    if inner.size is None:
        return False
    return outer.rank < inner.size if outer.size is None else outer.size < inner.size


def _report(launcher: _Launcher, environ: Mapping[str, str]) -> _Report | None:
    """The report of a launcher; None if it has not started this process."""
    rank, size = environ.get(launcher.rank), environ.get(launcher.size or "")
    if rank is None and size is None or launcher.name == "slurm" and not _is_step(environ):
        return None
    for name, text, other in ((launcher.rank, rank, launcher.size), (launcher.size, size, launcher.rank)):
        if name is not None and text is None:
            raise ConfigError(f"{name} is not set, but {other} is; set both, or give {_PAIR}")
    return _Report(launcher, _number(launcher.rank, rank or ""), None if launcher.size is None else _number(launcher.size, size or ""))


def _is_step(environ: Mapping[str, str]) -> bool:
    """True if `srun` has started this process: in batch scripts and allocated shells Slurm sets the same variables
    for steps that it could start."""
    step = environ.get("SLURM_STEP_ID")
    if step is None and environ.get("SLURM_PROCID", "0") != "0":
        raise ConfigError(
            f"SLURM_PROCID is {environ['SLURM_PROCID']!r}, but SLURM_STEP_ID, which srun sets, is not set; start the program with srun, or give {_PAIR}"
        )
    return step is not None and _number("SLURM_STEP_ID", step) < _SPECIAL_STEPS


def _sized(report: _Report, size: _Size | None) -> World:
    """A report as a world; the size comes from another source if the launcher sets none."""
    if report.size is not None:
        return _checked(World(report.rank, report.size, report.variables), report.launcher.rank)
    if size is None:
        raise ConfigError(
            f"{report.launcher.rank} is {report.rank}, but nothing says how many processes there are; set {_SIZE_VARIABLE} to their number, or "
            f"give {_PAIR}"
        )
    return _checked(World(report.rank, size.number, f"{report.launcher.rank} and {size.origin}"), report.launcher.rank)


def _alone(environ: Mapping[str, str], size: _Size | None) -> World:
    """One process, if nothing reports several."""
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized() and ray.get_runtime_context().worker.mode == ray.WORKER_MODE:
        raise ConfigError(f"world: found a Ray worker outside of Ray Train, which has no rank; give {_PAIR}, which is (0, 1) if it reads alone")
    if size is not None and size.number != 1:
        raise ConfigError(f"{size.origin} is {size.number}, but no launcher says which rank this process has; give {_PAIR}")
    tasks = environ.get("SLURM_NTASKS", "1")
    return World(0, 1, "no launcher" if tasks == "1" else f"no launcher: srun has not started this process, whatever SLURM_NTASKS={tasks} says")


def _disagreement(shown: Mapping[str, str]) -> ConfigError:
    """The error for several launchers of which at most one can be right, with the report of each by its name."""
    names = " or ".join(f"world={name!r}" for name in shown)
    return ConfigError(f"world: {', but '.join(shown.values())}; choose {names}, or give {_PAIR}")


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"{name} is {text!r}, not a number from 0; correct it, or give {_PAIR}")
    return int(text)


def _checked(world: World, name: str) -> World:
    if not 0 <= world.rank < world.size:
        raise ConfigError(f"{name}: rank {world.rank} is not below the number of processes, {world.size}")
    return world
