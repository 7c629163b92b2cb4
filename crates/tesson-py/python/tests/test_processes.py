"""Threads, processes and signals."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import interrupt
import pytest
from gil import calls_until_another_thread_ran

from tesson import UsageError
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

Make = Callable[..., MinibatchSource]

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_threads_share_a_source(sources: tuple[Make, Make]) -> None:
    source = sources[0](max_sweeps=50)
    read: list[list[int]] = [[], []]

    def work(mine: list[int]) -> None:
        for minibatch in source.minibatches(2):
            mine += minibatch["features"].keys

    threads = [threading.Thread(target=work, args=(mine,)) for mine in read]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read[0] + read[1]) == sorted(list(range(6)) * 50)


def test_reading_releases_the_gil(sources: tuple[Make, Make]) -> None:
    source = sources[0]()
    assert calls_until_another_thread_ran(lambda: source.next_minibatch(6), most=100_000) < 100_000


def test_closing_ends_a_read_in_another_thread(sources: tuple[Make, Make]) -> None:
    source = sources[0]()
    raised = []

    def read() -> None:
        try:
            while True:
                source.next_minibatch(1000)
        except UsageError as error:
            raised.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    source.close()
    thread.join(30)
    assert not thread.is_alive()
    assert "closed" in str(raised[0])


def test_a_pickled_source_goes_on_where_it_stood(sources: tuple[Make, Make]) -> None:
    source = sources[1](max_sweeps=3)
    source.next_minibatch(3)
    again = pickle.loads(pickle.dumps(source))
    assert again.config == source.config
    assert again.state_dict() == source.state_dict()
    rest = [minibatch["tags"].samples.tolist() for minibatch in source.minibatches(3)]
    assert [minibatch["tags"].samples.tolist() for minibatch in again.minibatches(3)] == rest


def keys_of(source: MinibatchSource) -> list[list[int]]:
    return [minibatch["features"].keys for minibatch in source.minibatches(2)]


def test_a_source_goes_to_a_spawned_process(sources: tuple[Make, Make]) -> None:
    source = sources[0](max_sweeps=1)
    source.next_minibatch(2)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(keys_of, (source,))
    assert there == keys_of(source)


@posix
def test_a_forked_child_is_told_to_open_its_own(sources: tuple[Make, Make]) -> None:
    source = sources[0](max_sweeps=1)
    first = source.next_minibatch(2)["features"].keys
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        # The child leaves by os._exit only: it must never run the rest of the tests.
        try:
            try:
                source.next_minibatch(2)
                said = "no error"
            except UsageError as error:
                said = str(error)
            state = source.get_checkpoint_state()
            source.close()
            own = sources[0](max_sweeps=1)
            own.restore_from_checkpoint(state)
            said += f" {keys_of(own)}"
            del source, own
            os.write(send, said.encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0
    rest = keys_of(source)
    assert "fork" in said
    assert said.endswith(str(rest))
    assert sorted(first + sum(rest, [])) == list(range(6))


def interrupted(script: str) -> tuple[int, str]:
    return interrupt.interrupted("from tesson.io import *\nimport threading\n" + script)


# A minibatch that takes long enough for a signal to come while it is made, over and over the same six sequences.
SOURCE = """
LONG = 1_000_000
config = MinibatchSource(CTFDeserializer("train.ctf", StreamDefs(x=StreamDef("x", 4), y=StreamDef("y", 3, True)))).config
source = MinibatchSource.from_config({**config, "prefetch": False})
"""


@posix
def test_ctrl_c_ends_a_read_that_waits() -> None:
    code, err = interrupted(SOURCE + "print('reading', flush=True)\nsource.next_minibatch(LONG)\n")
    assert "KeyboardInterrupt" in err
    assert code == -signal.SIGINT


@pytest.fixture
def large(files: Path) -> None:
    """A file that takes longer to index than a signal's way: a sparse one, of one line of blanks and one row.

    Under less memory than the test has a line of this length is refused.
    """
    with open(files / "large.ctf", "wb") as file:
        file.write(b"|x 1\n")
        file.truncate(2**31)
        file.seek(2**31)
        file.write(b"\n|x 2\n")


LARGE = 'CTFDeserializer("large.ctf", StreamDefs(x=StreamDef(shape=1))), memory_limit="32GiB"'


@posix
@pytest.mark.usefixtures("large")
def test_ctrl_c_ends_opening() -> None:
    code, err = interrupted(f"print('reading', flush=True)\nMinibatchSource({LARGE})\nprint('opened', flush=True)\n")
    assert "KeyboardInterrupt" in err
    assert code == -signal.SIGINT


@posix
@pytest.mark.usefixtures("large")
def test_ctrl_c_ends_a_restore_and_leaves_the_source_as_it_was() -> None:
    script = f"""
source = MinibatchSource({LARGE}, randomize=False)
try:
    print('reading', flush=True)
    source.restore_from_checkpoint({{"minibatchSourcePosition": 2}})
except KeyboardInterrupt:
    assert source.get_checkpoint_state()["minibatchSourcePosition"] == 0
    raise SystemExit(7)
"""
    code, err = interrupted(script)
    assert code == 7, err


@posix
def test_nothing_is_lost_by_an_interrupted_read() -> None:
    script = """
first = source.next_minibatch(6)["x"].keys
try:
    print('reading', flush=True)
    source.next_minibatch(LONG)
except KeyboardInterrupt:
    # Had the call gone on to its end, the position would be far from here.
    assert source.get_checkpoint_state()["minibatchSourcePosition"] == 6
    fresh = MinibatchSource.from_config(source.config)
    assert fresh.next_minibatch(6)["x"].keys == first
    assert fresh.next_minibatch(6)["x"].keys == source.next_minibatch(6)["x"].keys
    raise SystemExit(7)
"""
    code, err = interrupted(SOURCE + script)
    assert code == 7, err


@posix
def test_ctrl_c_reaches_a_thread_that_waits_for_its_turn() -> None:
    script = """
def read():
    try:
        while True:
            source.next_minibatch(LONG)
    except UsageError as error:
        assert "closed" in str(error)
thread = threading.Thread(target=read)
thread.start()
try:
    print('reading', flush=True)
    while True:
        source.next_minibatch(1)
finally:
    source.close()
    thread.join()
"""
    code, err = interrupted(SOURCE + script)
    assert "KeyboardInterrupt" in err and "AssertionError" not in err
    assert code == -signal.SIGINT


@posix
def test_a_signal_that_comes_during_a_call_is_not_lost_where_the_call_does_not_notice(
    ctf: Callable[[str], str],
) -> None:
    deserializer = CTFDeserializer(ctf("1 |x 1\n1 |x 2\n2 |x 3\n"), StreamDefs(x=StreamDef(shape=1)))
    source = MinibatchSource(deserializer, randomize=False)
    handled = threading.Event()

    def handler(_signal: int, _frame: FrameType | None) -> None:
        handled.set()
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(TimeoutError):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            # Sequences of different lengths: all steps before are planned, half a second of work.
            source.which(5_000_000, 3)
            # Had the call taken no time the signal would come here.
            handled.wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@posix
def test_text_files_may_be_more_than_a_process_may_open(files: Path) -> None:
    for number in range(2000):
        (files / f"{number}.ctf").write_text(f"{number} |x {number}\n")
    script = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs
names = [f"{number}.ctf" for number in range(2000)]
source = MinibatchSource(CTFDeserializer(names, StreamDefs(x=StreamDef("x", 1))), randomize="global", max_sweeps=1)
found = [int(x) for minibatch in source.minibatches(300) for x in minibatch["x"].samples.ravel()]
assert sorted(found) == list(range(2000))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit of threads that holds for a process' user")
def test_where_no_thread_can_be_started_the_error_says_so() -> None:
    script = """
import os, resource
import numpy as np
import tesson
source = tesson.MinibatchSource.from_data(x=np.arange(5), max_sweeps=1)
if os.geteuid() == 0:
    # The limit does not hold for root.
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
for call in (lambda: tesson.MinibatchSource.from_data(x=np.arange(5)), lambda: source.num_sequences, lambda: source.next_minibatch(2)):
    try:
        print(call())
    except tesson.UsageError as error:
        print(error)
source.close()
"""
    run = subprocess.run([sys.executable, "-c", script], check=True, timeout=100, capture_output=True, text=True)
    said = run.stdout.splitlines()
    assert len(said) == 3 and all(line.startswith("no worker thread can be started: ") for line in said), run.stdout + run.stderr
    assert "panicked" not in run.stderr
