"""Rank and size from launchers, pairs and meshes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from tesson import ConfigError, MinibatchSource
from tesson.world import World, resolve_world

PAIRS = [
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
]


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (name for pair in PAIRS for name in pair):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("rank", "size"), PAIRS)
def test_launchers(rank: str, size: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(rank, "2")
    monkeypatch.setenv(size, "5")
    with caplog.at_level(logging.INFO, "tesson"):
        assert resolve_world()[:2] == (2, 5)
    assert f"rank 2 of 5, from {rank} and {size}" in caplog.text


def test_torchrun_inside_slurm_counts_its_own_processes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}.items():
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.INFO, "tesson"):
        assert resolve_world()[:2] == (5, 8)
    assert "from RANK and WORLD_SIZE; not from SLURM_PROCID and SLURM_NTASKS, which say 1 of 2" in caplog.text
    caplog.clear()
    for name, value in {"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}.items():
        monkeypatch.setenv(name, value)
    with caplog.at_level(logging.INFO, "tesson"):
        resolve_world()
    assert "SLURM" not in caplog.text


def test_without_a_launcher_there_is_one_process() -> None:
    assert resolve_world() == World(0, 1, "no launcher")


@pytest.mark.parametrize(
    ("values", "named"),
    [({"RANK": "1"}, "WORLD_SIZE"), ({"PMI_SIZE": "2", "PMI_RANK": "-1"}, "PMI_RANK"), ({"RANK": "4", "WORLD_SIZE": "4"}, "RANK")],
)
def test_faulty_variables_are_named(values: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=f"^{named}"):
        resolve_world()


@pytest.mark.parametrize("world", ["none", 3, (2, 2), (0, 0), (-1, 2), (True, 2), (0.0, 1)])
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
