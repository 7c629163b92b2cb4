"""The cases whose deserializer only a Python module has, through ``python -m tesson read --json``.

All others are asked of the same command without Python, in ``conformance/tests``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conformance_cases import Case, Line, cases, compare


def parameters() -> list[Any]:
    """A test for each case with a deserializer of the user's own."""
    of_users = (case for case in cases() if any("module" in d for d in case.source["deserializers"]))
    return [pytest.param(case, id=case.name) for case in of_users]


def test_there_are_such_cases() -> None:
    assert parameters()


@pytest.mark.parametrize("case", parameters())
def test_case(case: Case, tmp_path: Path) -> None:
    compare(case.expected(), Program(case.source, case.folder, tmp_path).run(case.json["steps"]), case.element)


class Program:
    """Answers steps by a process each; the file of a state is all that one leaves to the next."""

    def __init__(self, config: Line, base_dir: Path, folder: Path) -> None:
        self.config = folder / "source.json"
        self.config.write_text(json.dumps(config))
        self.base_dir = base_dir
        self.state = folder / "state.json"
        self.labels: dict[str, Any] = {}

    def run(self, steps: list[Line]) -> list[Line]:
        """All answers, line by line."""
        return self.look() or [line for step in steps for line in self.answer(step)]

    def answer(self, step: Line) -> list[Line]:
        """The answers to one step."""
        if "next" in step:
            return self.minibatches(step)
        if "reopen" in step:
            self.state.unlink()
            return self.look() or [{"reopen": True}]
        if "checkpoint" in step:
            self.labels[step["checkpoint"]] = self.saved()
            return [{"checkpoint": step["checkpoint"], "state": self.saved()}]
        wanted = step["restore"]
        self.state.write_text(json.dumps(self.labels[wanted] if isinstance(wanted, str) else wanted))
        return self.look() or [{"restore": wanted, "state": self.saved()}]

    def look(self) -> list[Line]:
        """Opens the source and closes it again; answers nothing but an error."""
        return self.read("--take", "0")

    def minibatches(self, step: Line) -> list[Line]:
        """Asks for a number of minibatches, a process for each, or in one process until the end."""
        request = step["next"]
        options = ["--minibatch-size", str(request["minibatchSizeInSamples"])]
        options += ["--workers", str(request.get("numberOfWorkers", 1)), "--rank", str(request.get("workerRank", 0))]
        if "until" in step:
            return self.read(*options)
        return [line for _ in range(step.get("repeat", 1)) for line in self.read(*options, "--take", "1")]

    def read(self, *options: str) -> list[Line]:
        """Runs the command in a process and returns the lines that it prints."""
        command = [sys.executable, "-m", "tesson", "read", str(self.config), "--json", "--layout"]
        command += ["--base-dir", str(self.base_dir), "--save-state", str(self.state), *options]
        if self.state.exists():
            command += ["--state", str(self.state)]
        # The module that has the deserializer lies beside this one.
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        lines: list[Line] = [json.loads(line) for line in done.stdout.splitlines()]
        assert (done.returncode != 0) == any("error" in line for line in lines), done.stderr
        return lines

    def saved(self) -> Any:
        """The state in the file."""
        return json.loads(self.state.read_text())
