"""Training with JAX: the example in one process and in two, killed at any step."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kills import EXAMPLES, Start, free_port, python, spawned, train_killed

pytest.importorskip("jax", reason="JAX is not installed")

EXAMPLE = "jax/train.py"


def test_the_example_learns_and_resumes_in_another_process(tmp_path: Path) -> None:
    def trained(steps: int, path: Path) -> str:
        command = [sys.executable, str(EXAMPLES / EXAMPLE), "--steps", str(steps), "--checkpoint", str(path)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert run.returncode == 0, run.stderr
        return run.stdout

    straight, stopped = tmp_path / "straight.npz", tmp_path / "stopped.npz"
    printed = trained(100, straight)
    assert float(re.findall(r"([\d.]+)%", printed)[0]) > 90
    trained(37, stopped)
    trained(100, stopped)
    assert contents(stopped) == contents(straight)


def contents(path: Path) -> dict[str, Any]:
    with np.load(path) as saved:
        return {name: array.tolist() for name, array in saved.items()}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_that_is_killed_again_and_again_ends_in_the_same_weights(tmp_path: Path, processes: int, kills: int) -> None:
    # So many that it does not end before it was killed so often.
    steps = 20 + 10 * kills
    straight, killed = tmp_path / "straight.npz", tmp_path / "killed.npz"

    def starts(path: Path) -> Sequence[Start]:
        command = python(EXAMPLE, "--steps", steps, "--save-every", 1, "--checkpoint", path)
        if processes == 1:
            return [spawned(command)]
        coordinator = ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", str(processes)]
        return [spawned([*command, *coordinator, "--process", str(number)]) for number in range(processes)]

    train_killed(lambda _: starts(straight), lambda _: processes, 0, seed=0)
    train_killed(lambda _: starts(killed), lambda _: processes, kills, seed=processes)
    assert contents(killed) == contents(straight)
    seen = json.loads(contents(killed)["seen"])
    assert len(seen) == steps and {len(step) for step in seen} == {64}
