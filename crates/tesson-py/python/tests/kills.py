"""Kills processes that train, again and again, and starts them anew until they have finished.

What they run is an example, by way of `killable.py`. Processes are started as commands, or forked from this one where that has
imported all that takes long.
"""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import killable

EXAMPLES = Path(__file__).parents[4] / "examples"

#: Starts a process whose output goes to this file; returns its number.
Start = Callable[[int], int]


def python(example: str, *arguments: object) -> list[str]:
    """The command that trains so that it can be killed."""
    return [sys.executable, killable.__file__, str(EXAMPLES / example), *map(str, arguments)]


def spawned(command: Sequence[str], **variables: object) -> Start:
    """A command, with these variables."""
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    program = shutil.which(command[0])
    assert program is not None, command[0]
    return lambda output: os.posix_spawn(
        program, command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, output, 1)], setsid=True
    )


def forked(example: str, *arguments: object, **variables: object) -> Start:
    """Starts an example in a fork of this process, which saves the time of imports."""

    def start(output: int) -> int:
        with warnings.catch_warnings():
            # A pool of threads that nothing uses yet.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            # The child leaves by os._exit only: it must never run the rest of the tests.
            try:
                os.setsid()
                os.dup2(output, 1)
                os.environ.update({name: str(value) for name, value in variables.items()})
                sys.argv[:] = python(example, *arguments)[1:]
                killable.main()
                os._exit(0)
            finally:
                os._exit(1)
        return child

    return start


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class Job:
    """The processes of one start of a run, or those that a launcher starts, and what they print."""

    #: Seconds without a line after which something hangs.
    PATIENCE = 100

    def __init__(self, starts: Sequence[Start], processes: int) -> None:
        self.receive, send = os.pipe()
        self.heads = [start(send) for start in starts]
        os.close(send)
        self.lines = self.read_lines()
        self.processes = processes

    def read_lines(self) -> Iterator[str]:
        """The lines that any of the processes prints, until all have ended."""
        text = b""
        while select.select([self.receive], [], [], self.PATIENCE)[0]:
            read = os.read(self.receive, 2**16)
            if not read:
                os.close(self.receive)
                return
            *lines, text = (text + read).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
        self.kill_rest()
        raise TimeoutError(f"the processes have printed nothing for {self.PATIENCE} s")

    def kill_one(self, draws: random.Random) -> bool:
        """Kills one of the processes after a few checkpoints, somewhere in a step; or says that all have ended."""
        running: list[int] = []
        saves, point = draws.randint(0, 3), draws.choice(["step", "saving", "saved"])
        saved = 0
        for line in self.lines:
            word, *rest = line.split() or [""]
            if word == "process":
                if len(running) == self.processes:
                    # Those that a launcher has started in place of the ones before.
                    running, saved = [], 0
                running.append(int(rest[0]))
            saved += word == "saved"
            if len(running) == self.processes and saved >= saves and word == point:
                os.kill(draws.choice(running), signal.SIGKILL)
                return True
        return False

    def end(self) -> list[int]:
        """How all of them end: exit statuses, those of killed ones below 0."""
        # Who prints into a full pipe does not end.
        for _ in self.lines:
            pass
        return [os.waitstatus_to_exitcode(os.waitpid(head, 0)[1]) for head in self.heads]

    def kill_rest(self) -> None:
        for head in self.heads:
            os.killpg(head, signal.SIGKILL)


def train_killed(starts: Callable[[int], Sequence[Start]], processes: Callable[[int], int], kills: int, seed: int) -> None:
    """Starts a run `kills` times, kills one of its processes each time and then the others, and lets it finish.

    Both functions get how often it was killed before.
    """
    draws = random.Random(seed)
    for killed in range(kills):
        job = Job(starts(killed), processes(killed))
        assert job.kill_one(draws), f"the run ended after {killed} kills: {job.end()}"
        job.kill_rest()
        assert -signal.SIGKILL in job.end()
    assert set(Job(starts(kills), processes(kills)).end()) == {0}
