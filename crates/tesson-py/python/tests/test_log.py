"""Warnings about data go to Python's logging."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tesson import UserDeserializer
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs, StreamInformation

FAULTY = "1 |a 1\n1 |a x\n2 |a 3\n"


def source(file: str, **arguments: object) -> MinibatchSource:
    deserializer = CTFDeserializer(file, StreamDefs(a=StreamDef(shape=1)), max_errors=5)
    return MinibatchSource(deserializer, randomize=False, **arguments)


def test_a_forgiven_fault_is_a_warning_of_the_logger_tesson(
    ctf: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tesson"):
        source(ctf(FAULTY)).next_minibatch(3)
    records = [record for record in caplog.records if record.name == "tesson"]
    assert {record.levelno for record in records} == {logging.WARNING}
    assert any("input.ctf:2" in record.getMessage() for record in records)


def test_the_trace_level_says_what_is_logged(ctf: Callable[[str], str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "tesson"):
        source(ctf(FAULTY), trace_level=0).next_minibatch(3)
    assert not [record for record in caplog.records if record.name == "tesson"]


def test_what_a_source_has_to_say_is_its_own_whichever_is_called_next(
    ctf: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    warned, silent_was_called = threading.Event(), threading.Event()

    class OneChunk(UserDeserializer):
        def stream_infos(self) -> list[StreamInformation]:
            return [StreamInformation("x", 0, "dense", np.float32, (1,))]

        def num_chunks(self) -> int:
            return 1

        def get_chunk(self, _chunk_id: int) -> dict[str, Any]:
            # It has been said by now that the chunk is read only for the lengths of its sequences.
            warned.set()
            assert silent_was_called.wait(60)
            return {"x": np.ones((3, 1))}

    silent = source(ctf(FAULTY), trace_level=0)
    opening = threading.Thread(target=MinibatchSource, args=(OneChunk(),))
    with caplog.at_level(logging.DEBUG, "tesson"):
        opening.start()
        assert warned.wait(60)
        silent.next_minibatch(3)
        silent_was_called.set()
        opening.join()
    records = [(record.levelno, record.getMessage()) for record in caplog.records if record.name == "tesson"]
    assert len(records) == 1
    assert records[0][0] == logging.WARNING
    assert "OneChunk" in records[0][1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_logs_what_its_own_sources_log(ctf: Callable[[str], str]) -> None:
    file = ctf(FAULTY)
    of_parent = source(file)
    of_parent.next_minibatch(3)
    forks = multiprocessing.get_context("fork")
    receive, send = forks.Pipe(duplex=False)

    class Sends(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send.send(record.getMessage())

    def child() -> None:
        logging.getLogger("tesson").addHandler(Sends())
        source(file).next_minibatch(3)
        send.send("over")

    process = forks.Process(target=child)
    process.start()
    messages = []
    while not messages or messages[-1] != "over":
        assert receive.poll(60)
        messages.append(receive.recv())
    process.join()
    assert process.exitcode == 0
    assert len(messages) == 2
    assert "input.ctf:2" in messages[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_handler_that_raises_does_not_cost_the_minibatch(ctf: Callable[[str], str]) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError(record.getMessage())

    handler = Broken()
    logging.getLogger("tesson").addHandler(handler)
    try:
        assert source(ctf(FAULTY)).next_minibatch(3)["a"].samples.tolist() == [[1], [3]]
    finally:
        logging.getLogger("tesson").removeHandler(handler)


def test_an_interrupt_inside_of_a_handler_loses_no_minibatch(ctf: Callable[[str], str]) -> None:
    class Interrupted(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise KeyboardInterrupt

    reader = source(ctf(FAULTY), max_sweeps=1)
    handler = Interrupted()
    # Where tests run in the background, interrupts are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger("tesson").addHandler(handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            reader.next_minibatch(3)
    finally:
        logging.getLogger("tesson").removeHandler(handler)
        signal.signal(signal.SIGINT, before)
    assert reader.next_minibatch(3)["a"].num_sequences == 2
    assert not reader.next_minibatch(3)
