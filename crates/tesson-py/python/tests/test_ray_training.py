"""Ray Train: the example, whose workers are killed and change in number."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from ray_runs import Run

pytest.importorskip("ray.train", reason="ray is not installed")
pytest.importorskip("torch", reason="torch is not installed")

@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = Run(tmp_path_factory.mktemp("undisturbed"), 1)
    assert len(list(run.reports())) > 10, "".join(run.printed[-40:])
    return run.digest


def test_workers_that_are_killed_change_nothing(tmp_path: Path, undisturbed: str, kills: int) -> None:
    chance = random.Random(1)
    left = kills
    while left > 0:
        run = Run(tmp_path / str(left), 1, 3)
        for _ in run.reports():
            if left > 0 and chance.random() < 0.5:
                left -= run.kill("ray::RayTrainWorker", lambda workers: [chance.choice(workers)] if workers else [])
        assert run.digest == undisturbed


def test_a_run_resumes_on_any_number_of_workers(tmp_path: Path, undisturbed: str) -> None:
    for workers in (2, 3):
        run = Run(tmp_path, workers)
        for number, _ in enumerate(run.reports()):
            if number == 5 * workers:
                run.kill()
        assert run.process.returncode == -signal.SIGKILL
    last = Run(tmp_path, 1)
    assert 0 < len(list(last.reports())) < 18
    assert last.digest == undisturbed
