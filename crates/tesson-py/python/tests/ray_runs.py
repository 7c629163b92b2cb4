"""Runs of the example of Ray Train, to be disturbed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

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

    def __init__(
        self,
        storage: Path,
        *workers: int,
        epochs: int = 4,
        save_every: int = 5,
        program: Sequence[str] = (sys.executable, "-c", ON_THREE),
    ) -> None:
        #: A variable that all processes of the run inherit, and no others have.
        self.mark = f"TESSON_TEST_RUN={uuid.uuid4().hex}"
        name, value = self.mark.split("=")
        options = [str(EXAMPLE), "--storage", str(storage), "--epochs", str(epochs), "--save-every", str(save_every)]
        self.process = subprocess.Popen(
            [*program, *options, "--workers", *map(str, workers)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, name: value},
        )
        self.printed: list[str] = []

    def lines(self) -> Iterator[str]:
        """Each line that the run prints, as it comes, until the run ends; then its digest is known."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line)
            yield line
        self.process.wait(60)

    def reports(self) -> Iterator[None]:
        """An item for each report of the run."""
        return (None for line in self.lines() if "Reporting training result" in line)

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
