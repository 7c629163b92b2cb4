"""Warnings about data go to Python's logging."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from tesson import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs


def test_a_forgiven_fault_is_a_warning_of_the_logger_tesson(
    ctf: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    file = ctf("1 |a 1\n1 |a x\n2 |a 3\n")
    source = MinibatchSource(CTFDeserializer(file, StreamDefs(a=StreamDef(shape=1)), max_errors=5), randomize=False)
    with caplog.at_level(logging.WARNING, "tesson"):
        source.next_minibatch(3)
    records = [record for record in caplog.records if record.name == "tesson"]
    assert records
    assert {record.levelno for record in records} == {logging.WARNING}
    assert any("input.ctf:2" in record.getMessage() for record in records)
