"""``python -m tesson`` is the command."""

from __future__ import annotations

import subprocess
import sys


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tesson", *arguments], capture_output=True, text=True)


def test_the_module_is_the_command() -> None:
    done = command("--help")
    assert done.returncode == 0
    assert "tesson" in done.stdout and "read" in done.stdout


def test_exit_codes_are_those_of_the_command() -> None:
    unknown = command("frobnicate")
    assert unknown.returncode == 2
    assert "Usage: tesson" in unknown.stderr
    assert command("info", "missing.json").returncode in (1, 2)
