"""Fixtures shared by tests and doctests: small files in a folder of their own."""

from __future__ import annotations

import importlib.util
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from prepare import tensor, write_dataset

import tesson
import tesson.io
from tesson import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs, tfds
from tesson.memory import MemoryDeserializer

#: What these modules import is optional.
OPTIONAL = (
    ("tesson/torch", "torch"),
    ("tesson/orbax.py", "orbax"),
    ("tesson/huggingface_shards.py", "datasets"),
    ("tesson/ray.py", "ray"),
)
collect_ignore = [module for module, needed in OPTIONAL if not importlib.util.find_spec(needed)]

# Processes that are started in the background may be told to ignore Ctrl-C, and so would those that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Six sequences of one sample; the key is the line's number.
TRAIN = "".join(f"|x {i} {i + 1} {i + 2} {i + 3} |y {i % 3}:1\n" for i in range(6))

#: Two sequences of words and their tags, three samples and two.
TAGGING = """\
7 |w 0:1 |t 1 0 0
7 |w 5:1 |t 0 1 0
7 |w 7:1 |t 0 0 1
8 |w 1:1 |t 1 0 0
8 |w 9:1 |t 0 0 1
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cluster", action="store_true", help="run tests of a cluster of network namespaces, which root can make")
    parser.addoption("--kills", type=int, default=50, help="how often tests kill a run that they compare with another")


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """How often a test kills its run."""
    return int(request.config.getoption("--kills"))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of every test: a folder of its own with ``train.ctf`` and ``tagging.ctf``."""
    (tmp_path / "train.ctf").write_text(TRAIN)
    (tmp_path / "tagging.ctf").write_text(TAGGING)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ctf(files: Path) -> Callable[[str], str]:
    """Writes a text to ``input.ctf`` and returns that name."""

    def write(text: str) -> str:
        (files / "input.ctf").write_text(text)
        return "input.ctf"

    return write


def train(**arguments: object) -> MinibatchSource:
    """A source on ``train.ctf``."""
    streams = StreamDefs(features=StreamDef("x", 4), labels=StreamDef("y", 3, is_sparse=True))
    return MinibatchSource(CTFDeserializer("train.ctf", streams), **arguments)


def tagging(**arguments: object) -> MinibatchSource:
    """A source on ``tagging.ctf``."""
    streams = StreamDefs(words=StreamDef("w", 10, is_sparse=True), tags=StreamDef("t", 3))
    return MinibatchSource(CTFDeserializer("tagging.ctf", streams), **arguments)


@pytest.fixture
def sources() -> tuple[Callable[..., MinibatchSource], Callable[..., MinibatchSource]]:
    """Makers of sources on ``train.ctf`` and ``tagging.ctf``."""
    return train, tagging


@pytest.fixture(autouse=True)
def namespace(request: pytest.FixtureRequest, files: Path, doctest_namespace: dict[str, object]) -> Iterator[None]:
    """Names that examples in docstrings may use."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    digits = [[{"label": 2 * shard + i} for i in range(2)] for shard in range(2)]
    write_dataset(files / "digits" / "1.0.0", {"label": tensor("int64")}, {"train": digits})
    with train(randomize=False, max_sweeps=2) as source, tagging(randomize=False) as tagged:
        names = {*tesson.__all__, *tesson.io.__all__}
        doctest_namespace.update({name: getattr(tesson, name) for name in names}, tesson=tesson)
        # A name that the module of the example has, too, is the module's.
        own = request.node.dtest.globs
        doctest_namespace.update({name: own[name] for name in names if name in own})
        doctest_namespace.update(np=np, tfds=tfds, MemoryDeserializer=MemoryDeserializer, source=source, minibatch=tagged.next_minibatch(5))
        yield
