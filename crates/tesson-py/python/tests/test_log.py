"""Warnings about data go to Python's logging."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable

import pytest

from tesson import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

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


def test_an_interrupt_inside_of_a_handler_comes_behind_the_minibatch(ctf: Callable[[str], str]) -> None:
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
    assert not reader.next_minibatch(3)
