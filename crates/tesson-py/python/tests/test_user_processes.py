"""User-defined deserializers between threads, processes and signals."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from test_processes import interrupted, posix

from tesson import UserDeserializer
from tesson.io import MinibatchSource, StreamInformation


class Counted(UserDeserializer):
    """Three chunks of two samples, numbered."""

    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("x", 0, "dense", np.float32, (1,))]

    def num_chunks(self) -> int:
        return 3

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        return {"x": np.array([[2 * chunk_id], [2 * chunk_id + 1]])}

    def sequence_lengths(self, chunk_id: int) -> list[int]:
        return [1, 1]


def values(source: MinibatchSource) -> list[float]:
    return [float(x) for m in source.minibatches(2) for x in m["x"].samples.ravel()]


def test_other_threads_run_while_a_chunk_is_waited_for() -> None:
    asked, go = threading.Event(), threading.Event()

    class Waiting(Counted):
        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            asked.set()
            assert go.wait(60)
            return super().get_chunk(chunk_id)

    thread = threading.Thread(target=lambda: asked.wait(60) and go.set())
    thread.start()
    with MinibatchSource(Waiting(), randomize=False, max_sweeps=1) as source:
        assert values(source) == [0, 1, 2, 3, 4, 5]
    thread.join()


def test_a_source_that_becomes_garbage_in_its_own_thread_ends_there() -> None:
    class Collecting(Counted):
        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            gc.collect()
            return super().get_chunk(chunk_id)

    gc.disable()
    try:
        for _ in range(3):
            source = MinibatchSource(Collecting(), max_sweeps=1)
            circle: list[Any] = [MinibatchSource(Collecting()), source]
            circle.append(circle)
            circle[0].next_minibatch(1)
            del circle
            assert sorted(values(source)) == [0, 1, 2, 3, 4, 5]
    finally:
        gc.enable()


def test_a_source_goes_to_a_spawned_process() -> None:
    source = MinibatchSource(Counted(), max_sweeps=1)
    first = source.next_minibatch(2)["x"].samples.ravel().tolist()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(values, (source,))
    assert there == values(source)
    assert sorted(first + there) == [0, 1, 2, 3, 4, 5]


@posix
def test_a_forked_child_opens_its_own() -> None:
    deserializer = Counted()
    source = MinibatchSource(deserializer, max_sweeps=1)
    source.next_minibatch(2)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        # The child leaves by os._exit only: it must never run the rest of the tests.
        try:
            own = MinibatchSource(deserializer, max_sweeps=1)
            own.restore_from_checkpoint(source.get_checkpoint_state())
            os.write(send, repr(values(own)).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    assert said == repr(values(source))


# A chunk that never comes, whoever waits.
SCRIPT = """
import numpy as np
class Never(UserDeserializer):
    def __init__(self, tells): self.tells = tells
    def stream_infos(self): return [StreamInformation("x", 0, "dense", np.float32, (1,))]
    def num_chunks(self): return 2
    def sequence_lengths(self, chunk_id): return [1] if self.tells else None
    def get_chunk(self, chunk_id):
        print('reading', flush=True)
        threading.Event().wait()
"""


@posix
@pytest.mark.parametrize(
    "call",
    [
        "MinibatchSource(Never(False))",
        "MinibatchSource(Never(True)).next_minibatch(2)",
        "with MinibatchSource(Never(True)) as source: source.next_minibatch(2)",
    ],
)
def test_ctrl_c_ends_a_call_that_waits_for_a_chunk(call: str) -> None:
    code, err = interrupted(SCRIPT + call)
    assert "KeyboardInterrupt" in err
    assert code == -signal.SIGINT


# Minibatches are made ahead while the interpreter ends.
ENDING = """
import numpy as np
from tesson.io import *
class Busy(UserDeserializer):
    def stream_infos(self): return [StreamInformation("x", 0, "dense", np.float32, (1,))]
    def num_chunks(self): return 50
    def get_chunk(self, chunk_id): return {"x": [np.full((n, 1), 7) for n in range(1, 60)]}
source = MinibatchSource(Busy(), memory_limit="200kB", threads=4, randomization_window_in_chunks=2)
print(source.next_minibatch(100)["x"].samples[0, 0])
"""


@pytest.mark.parametrize("last", ["", "del source", "source.close()", "circle = [source]; circle.append(circle); del source"])
def test_the_interpreter_ends_while_chunks_are_read(last: str) -> None:
    done = subprocess.run([sys.executable, "-c", ENDING + last], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "7.0\n"), done.stderr
