"""Long ways to a position: their progress is shown on a terminal, and nowhere else."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from prepare import tensor, write_dataset

pty = pytest.importorskip("pty")

#: A position that no test waits for.
FAR = 1 << 50


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """Ten numbers."""
    return write_dataset(tmp_path / "numbers" / "1.0.0", {"n": tensor("int64")}, {"train": [[{"n": i} for i in range(10)]]})


def shown_on_terminal(command: list[str]) -> str:
    """Runs a command until the terminal that is its standard error shows the remaining time; returns all that is shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    try:
        while b" left" not in shown:
            assert select.select([ours], [], [], 60)[0], shown
            shown += os.read(ours, 4096)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        os.close(ours)
    return shown.decode()


@pytest.mark.parametrize("way", ["examples.seek(FAR)", "examples.load_state_dict({**state, 'stream': {**state['stream'], 'delivered': FAR}})"])
def test_a_long_way_to_a_position_is_shown_on_a_terminal(numbers: Path, way: str) -> None:
    script = f"""
from tesson import tfds
FAR = {FAR}
examples = iter(tfds.builder_from_directory({str(numbers)!r}).as_dataset("train").repeat().shuffle(5, seed=1))
state = examples.state_dict()
{way}
"""
    shown = shown_on_terminal([sys.executable, "-c", script])
    assert "going to the position" in shown
    assert f"0 % of {FAR:,} examples" in shown


def test_the_command_shows_it_too(numbers: Path) -> None:
    order = ["--op", "repeat=-1", "--op", 'shuffle={"buffer_size": 5, "seed": 1}', "--take", "3"]
    command = [sys.executable, "-m", "tesson", "read", str(numbers), "--split", "train", *order, "--start-at", str(FAR)]
    assert f"0 % of {FAR:,} examples" in shown_on_terminal(command)


def test_a_short_way_and_one_without_a_terminal_show_nothing(numbers: Path) -> None:
    script = f"""
from tesson import tfds
examples = iter(tfds.builder_from_directory({str(numbers)!r}).as_dataset("train").repeat().shuffle(5, seed=1))
examples.seek(8_000_000)
print(next(examples)["n"])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stderr, done.stdout.strip().isdigit()) == ("", True)
