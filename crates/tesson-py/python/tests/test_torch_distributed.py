"""Training with PyTorch in several processes: launchers, numbers of processes that change, and kills at any step."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kills import EXAMPLES, Job, Start, forked, free_port, python, spawned, train_killed

torch = pytest.importorskip("torch", reason="torch is not installed")

EXAMPLE = "torch/distributed.py"
#: Minibatches of an epoch of the digits, and a few that are left over.
STEPS = 22


def contents(path: Path) -> dict[str, Any]:
    """The weights and the samples of each step, as `killable.py` saves them."""
    saved = torch.load(path, weights_only=True)
    return {"seen": saved["seen"], "weights": [weight.tolist() for weight in saved["model"].values()]}


def arguments(path: Path, kills: int) -> list[object]:
    """Of a run that does not end before it was killed so often."""
    return ["--epochs", 2 + 2 * kills // STEPS, "--save-every", 1, "--checkpoint", path]


def fork_ranks(path: Path, kills: int, ranks: int) -> Sequence[Start]:
    group = {"WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    return [forked(EXAMPLE, *arguments(path, kills), RANK=rank, **group) for rank in range(ranks)]


def train_straight(path: Path, kills: int) -> dict[str, Any]:
    """The results of a run of one process that is not killed."""
    train_killed(lambda _: fork_ranks(path, kills, 1), lambda _: 1, 0, seed=0)
    return contents(path)


@pytest.fixture(autouse=True)
def imports_that_children_need() -> None:
    # Once for all children that are forked. Pools of threads do not outlive a fork: none is made.
    torch.optim.SGD([torch.zeros(1)])
    torch.distributed.is_available()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_that_is_killed_resumes_in_two_processes_then_in_three_then_in_one(tmp_path: Path, kills: int) -> None:
    def ranks(killed: int) -> int:
        return (2, 3, 1)[min(3 * killed // kills, 2)]

    path = tmp_path / "killed.pt"
    train_killed(lambda killed: fork_ranks(path, kills, ranks(killed)), ranks, kills, seed=1)
    assert contents(path) == train_straight(tmp_path / "straight.pt", kills)


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
def test_a_run_under_mpirun_that_is_killed_again_and_again_ends_in_the_same_weights(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "killed.pt"

    def start(_: int) -> Sequence[Start]:
        options = ["--oversubscribe", *(["--allow-run-as-root"] if os.getuid() == 0 else [])]
        return [spawned(["mpirun", *options, "-n", "2", *python(EXAMPLE, *arguments(path, kills))], MASTER_PORT=free_port())]

    draws = random.Random(2)
    for _ in range(kills):
        # Open MPI ends the other process, and says with its own status that one was killed.
        job = Job(start(0), 2)
        assert job.kill_one(draws)
        assert job.end() == [128 + 9]
    assert Job(start(0), 2).end() == [0]
    assert contents(path) == train_straight(tmp_path / "straight.pt", kills)


def test_a_run_that_torchrun_restarts_again_and_again_ends_in_the_same_weights(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "killed.pt"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--monitor-interval", "0.05"]
    command = [*launcher, "--max-restarts", str(kills), *python(EXAMPLE, *arguments(path, kills))[1:]]
    # The address of a process that was killed must not be left where its successor's is looked up.
    job = Job([spawned(command, TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1)], 2)
    draws = random.Random(3)
    for _ in range(kills):
        # The launcher ends the other process and starts two new ones.
        assert job.kill_one(draws)
    assert job.end() == [0]
    assert contents(path) == train_straight(tmp_path / "straight.pt", kills)


def test_the_example_learns(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, str(EXAMPLES / EXAMPLE), "--epochs", "2"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert float(re.findall(r"([\d.]+)%", run.stdout)[0]) > 85
