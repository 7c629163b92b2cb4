"""Ray Train: the example, whose workers are killed and change in number."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.train", reason="ray is not installed")
pytest.importorskip("torch", reason="torch is not installed")

EXAMPLE = Path(__file__).parents[4] / "examples" / "ray" / "train.py"

#: Runs the example on a cluster of one machine that has room for three workers.
ON_THREE = """\
import ray, runpy, sys
del sys.argv[0]
ray.init(num_cpus=3, include_dashboard=False)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Run:
    """A run of the example, with all of its processes."""

    def __init__(self, storage: Path, *workers: int) -> None:
        #: A variable that all processes of the run inherit, and no others have.
        self.mark = f"TESSON_TEST_RUN={uuid.uuid4().hex}"
        name, value = self.mark.split("=")
        options = [str(EXAMPLE), "--storage", str(storage), "--epochs", "4", "--save-every", "5", "--workers", *map(str, workers)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", ON_THREE, *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, name: value},
        )

    def reports(self) -> Iterator[None]:
        """An item for each report of the run, as it comes, until the run ends; then its digest is known."""
        assert self.process.stdout is not None
        self.printed: list[str] = []
        for line in self.process.stdout:
            self.printed.append(line)
            if "Reporting training result" in line:
                yield
        self.process.wait(60)

    @property
    def digest(self) -> str:
        found = re.findall(r"digest of all steps (\w+)", "".join(self.printed))
        assert found, "".join(self.printed[-40:])
        return str(found[0])

    def processes(self, title: str = "") -> list[int]:
        """The processes with a title that begins so."""
        def is_ours(folder: Path) -> bool:
            try:
                is_marked = self.mark.encode() in (folder / "environ").read_bytes().split(b"\0")
                return is_marked and (folder / "cmdline").read_bytes().startswith(title.encode())
            except OSError:
                # It has ended meanwhile.
                return False

        return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit() and is_ours(folder)]

    def kill(self, title: str = "", choose: Callable[[list[int]], list[int]] = list) -> int:
        """Kill processes, and return how many."""
        killed = choose(self.processes(title))
        for process in killed:
            os.kill(process, signal.SIGKILL)
        return len(killed)


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
