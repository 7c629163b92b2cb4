"""Scripts that are interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys


def interrupted(script: str) -> tuple[int, str]:
    """Runs a script, sends it SIGINT when it says that it is reading, and returns how it ended."""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, err
