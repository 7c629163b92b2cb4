"""Rank and size from launchers, pairs and meshes."""

from __future__ import annotations

import logging
import re
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from tesson import ConfigError
from tesson.io import MinibatchSource
from tesson.world import World, resolve_world

VARIABLES = """
    RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_RANK PMI_SIZE FLUX_TASK_RANK FLUX_JOB_SIZE PALS_RANKID
    SLURM_PROCID SLURM_NTASKS SLURM_STEP_ID JOB_COMPLETION_INDEX TESSON_WORLD_SIZE
"""


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the variables of launchers, written as in a shell, and no others."""

    def set_to(environment: str) -> None:
        for name in VARIABLES.split():
            monkeypatch.delenv(name, raising=False)
        for name, value in (assignment.split("=") for assignment in environment.split()):
            monkeypatch.setenv(name, value)

    set_to("")
    return set_to


@pytest.fixture(autouse=True)
def no_launcher(launched: Callable[[str], None]) -> None:
    """Removes the variables of a launcher that may have started the tests."""


TORCHRUN = "RANK=5 WORLD_SIZE=8"
SRUN = "SLURM_PROCID=2 SLURM_NTASKS=5 SLURM_STEP_ID=0"


@pytest.mark.parametrize(
    ("environment", "rank", "size", "origin"),
    [
        ("", 0, 1, "no launcher"),
        ("RANK=2 WORLD_SIZE=5", 2, 5, "RANK and WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=5", 2, 5, "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK=2 PMI_SIZE=5", 2, 5, "PMI_RANK and PMI_SIZE"),
        ("FLUX_TASK_RANK=2 FLUX_JOB_SIZE=5", 2, 5, "FLUX_TASK_RANK and FLUX_JOB_SIZE"),
        (SRUN, 2, 5, "SLURM_PROCID and SLURM_NTASKS"),
        # A rank alone, and the number of processes from elsewhere.
        ("PMIX_RANK=2 TESSON_WORLD_SIZE=5", 2, 5, "PMIX_RANK and TESSON_WORLD_SIZE"),
        ("PALS_RANKID=2 TESSON_WORLD_SIZE=5", 2, 5, "PALS_RANKID and TESSON_WORLD_SIZE"),
        ("JOB_COMPLETION_INDEX=2 TESSON_WORLD_SIZE=5", 2, 5, "JOB_COMPLETION_INDEX and TESSON_WORLD_SIZE"),
        (f"PMIX_RANK=2 {SRUN}", 2, 5, "SLURM_PROCID and SLURM_NTASKS"),
        ("PMI_RANK=2 PMI_SIZE=5 PALS_RANKID=2", 2, 5, "PMI_RANK and PMI_SIZE"),
        (f"{SRUN} TESSON_WORLD_SIZE=5", 2, 5, "SLURM_PROCID and SLURM_NTASKS"),
        ("TESSON_WORLD_SIZE=1", 0, 1, "no launcher"),
        # One inside the other.
        (f"{TORCHRUN} SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=0", 5, 8,
         "RANK and WORLD_SIZE; not from SLURM_PROCID and SLURM_NTASKS, which say 1 of 2"),
        (f"{TORCHRUN} JOB_COMPLETION_INDEX=1", 5, 8, "RANK and WORLD_SIZE; not from JOB_COMPLETION_INDEX, which says 1"),
        # The daemons of Open MPI are tasks of Slurm, one less than nodes.
        ("OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 PMIX_RANK=5 SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_STEP_ID=0", 5, 8,
         "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE; not from SLURM_PROCID and SLURM_NTASKS, which say 1 of 3"),
        (f"{TORCHRUN} SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_STEP_ID=0", 5, 8, "RANK and WORLD_SIZE"),
        (f"{TORCHRUN} PMI_RANK=x PMI_SIZE=3", 5, 8, "RANK and WORLD_SIZE"),
        # Batch scripts, and the shells of an allocation: Slurm says what srun could start.
        ("SLURM_PROCID=0 SLURM_NTASKS=8", 0, 1, "no launcher: srun has not started this process, whatever SLURM_NTASKS=8 says"),
        ("SLURM_NTASKS=8", 0, 1, "no launcher: srun has not started this process, whatever SLURM_NTASKS=8 says"),
        ("SLURM_PROCID=0 SLURM_NTASKS=1", 0, 1, "no launcher"),
        ("SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_STEP_ID=4294967291", 0, 1,
         "no launcher: srun has not started this process, whatever SLURM_NTASKS=8 says"),
        (f"{TORCHRUN} SLURM_PROCID=0 SLURM_NTASKS=8", 5, 8, "RANK and WORLD_SIZE"),
    ],
)
def test_the_environment_says_who_this_process_is(
    environment: str, rank: int, size: int, origin: str, launched: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    launched(environment)
    with caplog.at_level(logging.INFO, "tesson"):
        assert resolve_world() == World(rank, size, origin)
    assert f"rank {rank} of {size}, from {origin}" in caplog.text


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ("RANK=1", "WORLD_SIZE is not set, but RANK is; set both, or give world=(rank, size)"),
        ("WORLD_SIZE=2", "RANK is not set, but WORLD_SIZE is"),
        ("PMI_SIZE=2 PMI_RANK=-1", "PMI_RANK is '-1', not a number from 0"),
        ("RANK=4 WORLD_SIZE=4", "RANK: rank 4 is not below the number of processes, 4"),
        ("SLURM_PROCID=1 SLURM_STEP_ID=0", "SLURM_NTASKS is not set, but SLURM_PROCID is"),
        ("SLURM_PROCID=1 SLURM_NTASKS=8", "SLURM_PROCID is '1', but SLURM_STEP_ID, which srun sets, is not set; start the program with srun"),
        # A rank without a number of processes is never taken for the only one.
        ("PMIX_RANK=0", "PMIX_RANK is 0, but nothing says how many processes there are; set TESSON_WORLD_SIZE to their number, or give world=(rank, "),
        ("PALS_RANKID=3", "PALS_RANKID is 3, but nothing says how many processes there are; set TESSON_WORLD_SIZE"),
        ("JOB_COMPLETION_INDEX=3", "JOB_COMPLETION_INDEX is 3, but nothing says how many processes there are; set TESSON_WORLD_SIZE"),
        ("JOB_COMPLETION_INDEX=3 TESSON_WORLD_SIZE=3", "JOB_COMPLETION_INDEX: rank 3 is not below the number of processes, 3"),
        ("JOB_COMPLETION_INDEX=3 TESSON_WORLD_SIZE=three", "TESSON_WORLD_SIZE is 'three', not a number from 0"),
        ("TESSON_WORLD_SIZE=3", "TESSON_WORLD_SIZE is 3, but no launcher says which rank this process has; give world=(rank, size)"),
        # Each may be right, and not both.
        ("RANK=0 WORLD_SIZE=1 SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_STEP_ID=0",
         "world: RANK and WORLD_SIZE say 0 of 1, but SLURM_PROCID and SLURM_NTASKS say 3 of 8; choose world='torchrun' or world='slurm', or give"),
        ("RANK=1 WORLD_SIZE=2 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0", "choose world='torchrun' or world='slurm', or give world=(rank, size)"),
        ("RANK=0 WORLD_SIZE=1 JOB_COMPLETION_INDEX=3", "RANK and WORLD_SIZE say 0 of 1, but JOB_COMPLETION_INDEX says 3"),
        (f"PMIX_RANK=7 {SRUN}", "SLURM_PROCID and SLURM_NTASKS say 2 of 5, but PMIX_RANK says 7; choose world='slurm' or world='pmix'"),
        ("PMIX_RANK=7 JOB_COMPLETION_INDEX=1 TESSON_WORLD_SIZE=8", "PMIX_RANK says 7, but JOB_COMPLETION_INDEX says 1"),
        (f"{TORCHRUN} TESSON_WORLD_SIZE=2", "TESSON_WORLD_SIZE is 2, but RANK and WORLD_SIZE says rank 5 of 8; correct one"),
    ],
)
def test_an_environment_of_no_single_meaning_is_refused(environment: str, message: str, launched: Callable[[str], None]) -> None:
    launched(environment)
    with pytest.raises(ConfigError, match=re.escape(message)):
        resolve_world()


@pytest.mark.parametrize(("name", "expected"), [("torchrun", (0, 1)), ("slurm", (3, 8)), ("kubernetes", (1, 4))])
def test_a_name_chooses_one_of_several_launchers(name: str, expected: tuple[int, int], launched: Callable[[str], None]) -> None:
    launched("RANK=0 WORLD_SIZE=1 SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_STEP_ID=0 JOB_COMPLETION_INDEX=1")
    assert resolve_world(name, 4 if name == "kubernetes" else None)[:2] == expected
    with pytest.raises(ConfigError, match="world: found 'flux', which has not started this process, by FLUX_TASK_RANK; use 'auto'"):
        resolve_world("flux")
    with pytest.raises(ConfigError, match="world: found 'ray', which has not started this process; use 'auto'"):
        resolve_world("ray")


def test_a_world_that_was_found_is_one_to_read_with(launched: Callable[[str], None]) -> None:
    launched("JOB_COMPLETION_INDEX=1")
    world = resolve_world(world_size=2)
    assert resolve_world(world) == world == World(1, 2, "JOB_COMPLETION_INDEX and world_size")
    assert len(values(opened(world), 1)[0]) == 12
    with pytest.raises(ConfigError, match="world_size: found 2 beside world="):
        resolve_world((0, 2), 2)
    with pytest.raises(ConfigError, match="world_size: found 0, expected a whole number from 1"):
        resolve_world(world_size=0)


class Context:
    """The context of a worker of Ray Train."""

    def __init__(self, rank: int, size: int) -> None:
        self.get_world_rank, self.get_world_size = lambda: rank, lambda: size


def ray_train(monkeypatch: pytest.MonkeyPatch, get_context: Callable[[], Context]) -> None:
    monkeypatch.setitem(sys.modules, "ray.train", types.SimpleNamespace(get_context=get_context))


def ray(monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    context = types.SimpleNamespace(worker=types.SimpleNamespace(mode=mode))
    module = types.SimpleNamespace(is_initialized=lambda: True, get_runtime_context=lambda: context, WORKER_MODE=1)
    monkeypatch.setitem(sys.modules, "ray", module)


def refusing() -> Context:
    raise RuntimeError("`get_context` cannot be used outside of a Ray Train training function.")


def warning() -> Context:
    """Behaves like the older implementation, which warns."""
    context = Context(0, 1)

    def guessed() -> int:
        warnings.warn("`get_world_rank` is meant to only be called inside a function that is executed by a Trainer", stacklevel=1)
        return 0

    context.get_world_rank = guessed
    return context


def test_a_worker_of_ray_train_is_asked(monkeypatch: pytest.MonkeyPatch, launched: Callable[[str], None]) -> None:
    ray_train(monkeypatch, lambda: Context(3, 4))
    ray(monkeypatch, mode=1)
    assert resolve_world() == resolve_world("ray") == World(3, 4, "Ray Train")
    # What the environment says is that of the processes that Ray runs in.
    launched("SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0")
    assert resolve_world()[:2] == (3, 4)
    assert resolve_world("slurm")[:2] == (0, 2)


@pytest.mark.parametrize("outside", [refusing, warning])
def test_a_ray_worker_without_a_rank_is_not_the_only_process(
    outside: Callable[[], Context], monkeypatch: pytest.MonkeyPatch, launched: Callable[[str], None]
) -> None:
    ray_train(monkeypatch, outside)
    ray(monkeypatch, mode=1)
    with pytest.raises(ConfigError, match=r"found a Ray worker outside of Ray Train, which has no rank; give world=\(rank, size\)"):
        resolve_world()
    launched("RANK=1 WORLD_SIZE=2")
    assert resolve_world()[:2] == (1, 2)
    launched("")
    # The program that starts the workers is no worker.
    ray(monkeypatch, mode=0)
    assert resolve_world() == World(0, 1, "no launcher")


def test_frameworks_that_disagree_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ray_train(monkeypatch, lambda: Context(3, 4))
    distributed = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 0, get_world_size=lambda: 1
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    message = "torch.distributed says 0 of 1, but Ray Train says 3 of 4; choose world='torch' or world='ray', or give"
    with pytest.raises(ConfigError, match=message):
        resolve_world()
    assert (resolve_world("torch")[:2], resolve_world("ray")[:2]) == ((0, 1), (3, 4))


@pytest.mark.parametrize("world", ["none", 3, (2, 2), (0, 0), (-1, 2), (True, 2), (0.0, 1), World(2, 2, "")])
def test_what_is_no_world_is_refused(world: object) -> None:
    with pytest.raises(ConfigError, match="^world"):
        resolve_world(world)


def test_a_mesh_gives_one_dimension() -> None:
    class Mesh:
        def __init__(self, ndim: int) -> None:
            self.ndim = ndim

        def get_local_rank(self) -> int:
            return 3

        def size(self) -> int:
            return 4

    assert resolve_world(Mesh(1)) == World(3, 4, "device mesh")
    with pytest.raises(ConfigError, match="2 dimensions"):
        resolve_world(Mesh(2))


def opened(world: Any, **arguments: Any) -> MinibatchSource:
    return MinibatchSource.from_data(x=np.arange(100.0).reshape(100, 1), randomize=True, max_sweeps=1, world=world, **arguments)


def values(source: MinibatchSource, steps: int) -> list[list[float]]:
    return [source.next_minibatch(24)["x"].samples[:, 0].tolist() for _ in range(steps)]


@pytest.mark.parametrize("size", [1, 4, 6, 16])
@pytest.mark.parametrize("saved_by", [0, 7])
def test_a_state_of_any_of_eight_ranks_resumes_on_other_numbers(size: int, saved_by: int) -> None:
    before = [opened((rank, 8)) for rank in range(8)]
    consumed = [value for source in before for step in values(source, 2) for value in step]
    after = [opened((rank, size)) for rank in range(size)]
    for source in after:
        source.restore_from_checkpoint(before[saved_by].get_checkpoint_state())
    # 52 samples are left: 24, 24 and 4.
    consumed += [value for source in after for step in values(source, 3) for value in step]
    assert sorted(consumed) == list(range(100))


def test_world_is_instead_of_partitions() -> None:
    with pytest.raises(ConfigError, match="^world"):
        opened((0, 2), num_data_partitions=2)


def test_configurations_take_a_world(ctf: Callable[[str], str]) -> None:
    reader = {"type": "CNTKTextFormatDeserializer", "file": ctf("|x 1\n|x 2\n"), "input": {"x": {"dim": 1, "format": "dense"}}}
    config = {"deserializers": [reader], "maxSweeps": 1}
    shares = [MinibatchSource.from_config(config, world=(rank, 2)).next_minibatch(2)["x"].num_samples for rank in range(2)]
    # Both lie in one chunk: only by position each rank gets one.
    assert shares == [1, 1]


@pytest.mark.parametrize("sharing", ["chunk", "position"])
def test_an_empty_share_does_not_end_the_loop_of_its_rank(sharing: Literal["chunk", "position"]) -> None:
    shares = []
    for rank in range(4):
        # Two sequences a minibatch, four ranks: two of them have nothing of any.
        source = MinibatchSource.from_data(x=np.arange(6.0), max_sweeps=1, randomize=True, world=(rank, 4), sharing=sharing)
        counts = []
        while minibatch := source.next_minibatch(2):
            counts.append(minibatch["x"].num_samples)
        shares.append(counts)
    if sharing == "position":
        assert [len(counts) for counts in shares] == [3] * 4
        assert 0 in [count for counts in shares for count in counts]
    assert sum(map(sum, shares)) == 6
