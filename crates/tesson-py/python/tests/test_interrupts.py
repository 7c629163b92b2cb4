"""Ctrl-C at any moment: what was not handed over is not lost, what was handed over does not come again."""

from __future__ import annotations

import _thread
import random
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, repeat, starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepare import tensor, write_dataset

import tesson
from tesson import tfds
from tesson.io import CTFDeserializer, ImageDeserializer, Minibatch, MinibatchSource, StreamDef, StreamDefs

timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")


@pytest.fixture
def numbers(tmp_path: Path) -> tfds.Dataset[Any]:
    """Thirty numbers in three shards, over and over, in another order each time."""
    shards = [[{"n": 10 * shard + i} for i in range(10)] for shard in range(3)]
    folder = write_dataset(tmp_path / "numbers" / "1.0.0", {"n": tensor("int64")}, {"train": shards})
    dataset: tfds.Dataset[Any] = tfds.builder_from_directory(folder).as_dataset("train").shuffle(7, seed=1).repeat()
    return dataset


# During one call


@pytest.mark.parametrize("truncation_length", [0, 1])
@pytest.mark.parametrize("at", range(8))
def test_a_minibatch_that_an_interrupt_kept_from_its_caller_comes_again(at: int, truncation_length: int) -> None:
    interrupts: list[int] = []

    def interrupting(samples: np.ndarray) -> np.ndarray:
        if float(samples) in interrupts:
            interrupts.clear()
            _thread.interrupt_main()
        return samples

    def source() -> MinibatchSource:
        options: Any = {"truncation_length": truncation_length, "max_sweeps": 2}
        made = MinibatchSource.from_data(x=np.arange(8), transforms={"x": interrupting}, **options)
        # The signal comes during the call.
        return MinibatchSource.from_config({**made.config, "prefetch": False})

    def values(minibatches: Iterable[Minibatch]) -> list[list[float]]:
        return [minibatch["x"].samples.ravel().tolist() for minibatch in minibatches]

    straight = values(source().minibatches(2))
    interrupted = source()
    start = interrupted.get_checkpoint_state()
    taken: list[Minibatch] = []
    minibatch = None
    interrupts.append(at)
    with pytest.raises(KeyboardInterrupt):
        while minibatch := interrupted.next_minibatch(2):
            taken.append(minibatch)
    # Sequences for later minibatches are made beside the call. A signal from there may come just after it: the caller has
    # the minibatch, but has not kept it.
    if minibatch and (not taken or taken[-1] is not minibatch):
        taken.append(minibatch)
    read, state = values(taken), taken[-1].state if taken else start
    assert interrupted.get_checkpoint_state() == state
    again = source()
    again.restore_from_checkpoint(state)
    assert read + values(again.minibatches(2)) == straight
    assert read + values(interrupted.minibatches(2)) == straight


def test_a_minibatch_that_another_one_followed_is_not_put_back() -> None:
    source = MinibatchSource.from_data(x=np.arange(6), max_sweeps=1)
    first, second = source.next_minibatch(2), source.next_minibatch(2)
    source._put_back(first)
    assert source.get_checkpoint_state() == second.state
    source._put_back(second)
    assert source.get_checkpoint_state() == first.state
    source._put_back(first)
    assert [minibatch["x"].keys for minibatch in source.minibatches(2)] == [[2, 3], [4, 5]]


def test_the_last_minibatch_of_the_data_can_be_put_back() -> None:
    source = MinibatchSource.from_data(x=np.arange(4), max_sweeps=1)
    source.next_minibatch(2)
    source._put_back(source.next_minibatch(2))
    assert [minibatch["x"].keys for minibatch in source.minibatches(2)] == [[2, 3]]


@pytest.mark.parametrize("taken", [0, 1, 5, 40])
@pytest.mark.parametrize("way", ["examples", "minibatches"])
def test_a_signal_that_waits_is_told_before_an_example_is_handed_over(numbers: tfds.Dataset[Any], way: str, taken: int) -> None:
    iterator = iter(numbers) if way == "examples" else numbers.minibatches(4)
    start = iterator.state_dict()
    straight = [example["n"].tolist() for example in islice(iterator, taken + 3)]
    iterator.load_state_dict(start)
    read = [next(iterator)["n"].tolist() for _ in range(taken)]
    before = iterator.state_dict()
    with pytest.raises(KeyboardInterrupt):
        # No line of Python runs between the signal and the call.
        next(zip(starmap(_thread.interrupt_main, repeat(())), iterator, strict=True))
    assert iterator.state_dict() == before
    assert read + [next(iterator)["n"].tolist() for _ in range(3)] == straight


# At random moments


class Alarm:
    """Raises KeyboardInterrupt in the main thread after a random time, and again until it is off: where Python collects garbage it tells
    of an interrupt, and goes on. A loop without end would then never end."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(seed)
        self.is_set = False

    def ring(self, *_: object) -> None:
        if self.is_set:
            raise KeyboardInterrupt

    @contextmanager
    def heard(self) -> Iterator[None]:
        before = signal.signal(signal.SIGALRM, self.ring)
        try:
            yield
        finally:
            self.is_set = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def set(self) -> None:
        self.is_set = True
        signal.setitimer(signal.ITIMER_REAL, 10 ** self.draws.uniform(-5, -2.5), 0.25)


class Door:
    """A way to read: what is opened, its loop, its states, and what is compared of what it gives."""

    def __init__(
        self,
        open: Callable[[Any], Any],
        loop: Callable[[Any], Iterator[Any]] = iter,
        shown: Callable[[Any], Any] = lambda example: example["n"].tolist(),
    ) -> None:
        self.open, self.loop, self.shown = open, loop, shown

    def take(self, reader: Any, alarm: Alarm) -> list[Any]:
        """Takes batches until the alarm rings or the loop ends, and returns them."""
        taken: list[Any] = []
        one = None
        try:
            alarm.set()
            for one in self.loop(reader):
                taken.append(one)
            alarm.is_set = False
        except KeyboardInterrupt:
            alarm.is_set = False
            # The loop has it, the list has not.
            if one is not None and (not taken or taken[-1] is not one):
                taken.append(one)
        return taken


class Calls(Door):
    """Calls of `next_minibatch`."""

    def take(self, reader: Any, alarm: Alarm) -> list[Any]:
        taken: list[Any] = []
        one = None
        try:
            alarm.set()
            while True:
                one = reader.next_minibatch(5)
                taken.append(one)
        except KeyboardInterrupt:
            alarm.is_set = False
            if one is not None and (not taken or taken[-1] is not one):
                taken.append(one)
        return taken


TEXT = "".join(f"{i} |n {i}\n" * (1 + i % 3) for i in range(40))


def text(_: object, **options: Any) -> MinibatchSource:
    Path("numbers.ctf").write_text(TEXT)
    deserializer = CTFDeserializer("numbers.ctf", StreamDefs(n=StreamDef(shape=1)), chunk_size_in_bytes=64)
    return MinibatchSource(deserializer, minibatch_size_in_sequences=4, **options)


def of_stream(minibatch: Any) -> Any:
    return minibatch["n"].keys, minibatch["n"].samples.tolist()


def write_images() -> None:
    """Writes 24 images of one pixel, whose red value is the number, and their map."""
    for i in range(24):
        Path(f"{i}.ppm").write_bytes(b"P6\n1 1\n255\n" + bytes([i, 0, 0]))
    Path("images.map").write_text("".join(f"{i}.ppm\t0\n" for i in range(24)))


def images(_: object) -> MinibatchSource:
    write_images()
    streams = StreamDefs(n=StreamDef(field="image", transforms=[]), label=StreamDef(field="label", shape=1))
    return MinibatchSource(ImageDeserializer("images.map", streams), minibatch_size_in_sequences=4)


def image_loader(_: object) -> tesson.Loader:
    write_images()
    return tesson.read_images("images.map").loader(batch_size=5, shuffle=True, seed=3)


def table_loader(_: object) -> tesson.Loader:
    return tesson.from_arrays(n=np.arange(90)).loader(batch_size=7, shuffle=True, seed=3)


def of_jax(_: object) -> Any:
    jax = pytest.importorskip("tesson.jax")
    pytest.importorskip("jax")
    return jax.minibatches(text(None), padded=["n"], pad_to=3)


def of_torch(read: Any, size: int | None = None) -> Any:
    pytest.importorskip("torch")
    import tesson.torch

    return tesson.torch.IterableDataset(read, size)


DOORS = {
    "next_minibatch": Calls(text, shown=of_stream),
    "iteration": Door(text, shown=of_stream),
    "minibatches": Door(text, lambda source: source.minibatches([(1, 3), (2, 6)], epoch_size=50, sweeps=2), of_stream),
    "truncated": Door(lambda _: text(None, truncation_length=2), shown=of_stream),
    "global": Door(lambda _: text(None, randomize="global"), shown=of_stream),
    "images": Calls(images, shown=of_stream),
    "loader of images": Door(image_loader, shown=lambda batch: batch["image"][:, 0, 0, 0].tolist()),
    "loader": Door(table_loader, shown=lambda batch: batch["n"].tolist()),
    "examples": Door(iter),
    "batches of examples": Door(lambda ds: ds.minibatches(7)),
    "batch": Door(lambda ds: iter(ds.batch(5))),
    "functions": Door(lambda ds: iter(ds.map(lambda e: {"n": e["n"] + 1}).filter(lambda e: e["n"] % 3 > 0).shuffle(4, seed=2).batch(3))),
    "zip": Door(lambda ds: iter(tfds.Dataset.zip(ds.map(dict), ds.batch(2).unbatch())), shown=lambda pair: [of["n"].tolist() for of in pair]),
    "jax": Door(of_jax, shown=lambda batch: batch["n"].tolist()),
    "torch": Door(lambda _: of_torch(text(None))),
    "torch, examples": Door(of_torch),
    "torch, minibatches of examples": Door(lambda ds: of_torch(ds, 6)),
}


@timers
# Where Python collects garbage for JAX it tells of an interrupt, and goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", DOORS)
def test_an_interrupt_at_a_random_moment_neither_loses_nor_repeats_anything(
    name: str, numbers: tfds.Dataset[Any], kills: int
) -> None:
    door, alarm = DOORS[name], Alarm(len(name))
    reader = door.open(numbers)
    start, read = reader.state_dict(), []
    with alarm.heard():
        for killed in range(kills):
            read += map(door.shown, door.take(reader, alarm))
            if killed % 3 > 0:
                # Otherwise the same reader goes on.
                state = reader.state_dict()
                reader = door.open(numbers)
                reader.load_state_dict(state)
    straight = door.open(numbers)
    straight.load_state_dict(start)
    expected: list[Any] = []
    while len(expected) < len(read):
        if isinstance(door, Calls):
            expected.append(door.shown(straight.next_minibatch(5)))
        else:
            expected += map(door.shown, islice(door.loop(straight), len(read) - len(expected)))
    assert read == expected
