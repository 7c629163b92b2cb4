"""Passes that fail and states that are refused leave nothing behind: no thread, no other order."""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prepare import tensor, write_dataset

import tesson
from tesson import tfds

PASSES = 200


def number(example: dict[str, Any]) -> int:
    return int(example["n"])


@pytest.fixture
def numbers(tmp_path: Path) -> tfds.Builder:
    """Twenty numbers in four shards of five."""
    shards = [[{"n": 5 * shard + i} for i in range(5)] for shard in range(4)]
    write_dataset(tmp_path / "numbers" / "1.0.0", {"n": tensor("int64")}, {"train": shards})
    return tfds.builder_from_directory(tmp_path / "numbers" / "1.0.0")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Three hundred numbers in two shards, the second of which is damaged near its end."""
    folder = tmp_path / "damaged" / "1.0.0"
    shards = [[{"n": 150 * shard + i} for i in range(150)] for shard in range(2)]
    write_dataset(folder, {"n": tensor("int64")}, {"train": shards})
    shard = sorted(folder.glob("*tfrecord*"))[1]
    data = bytearray(shard.read_bytes())
    data[-40] ^= 1
    shard.write_bytes(data)
    return folder


# Threads


def read_source(folder: Path) -> None:
    source = tesson.MinibatchSource(tesson.TFDSDeserializer(folder, {"n": tesson.StreamDef("n")}, split="train"), randomize=False)
    while source.next_minibatch(16):
        pass


def read_places(folder: Path) -> None:
    source = tfds.builder_from_directory(folder).as_data_source("train")
    source[0:300]


def all_of(make: Callable[[tfds.Dataset[Any]], Any]) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        for _ in make(tfds.builder_from_directory(folder).as_dataset("train")):
            pass

    return read


def consume(elements: Iterator[Any]) -> Iterator[Any]:
    yield from elements


DOORS: dict[str, Callable[[Path], None]] = {
    "examples": all_of(iter),
    "minibatches": all_of(lambda ds: ds.minibatches(16)),
    "shares": all_of(lambda ds: ds.minibatches(16, num_data_partitions=2, partition_index=0)),
    "batches": all_of(lambda ds: ds.batch(16).repeat(2)),
    "map": all_of(lambda ds: ds.map(number)),
    "shuffled elements": all_of(lambda ds: ds.map(number).shuffle(10, seed=1).batch(4)),
    "zip": all_of(lambda ds: tfds.Dataset.zip(ds, ds.shuffle(5, seed=1))),
    "a place": all_of(lambda ds: ds.seek(1)),
    "a generator": all_of(lambda ds: consume(iter(ds))),
    "data source": read_places,
    "deserializer": read_source,
}


def count_threads() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
@pytest.mark.parametrize("kept", [False, True], ids=["dropped", "kept"])
@pytest.mark.parametrize("door", DOORS)
def test_a_pass_that_fails_leaves_no_thread(damaged: Path, door: str, kept: bool) -> None:
    # Exceptions that are kept keep the frames in which they were raised, and so the iterators.
    caught = []
    before = count_threads()
    for _ in range(PASSES):
        with pytest.raises(tesson.DataError) as error:
            DOORS[door](damaged)
        if kept:
            caught.append(error.value)
        del error
    # Threads that were told to end do so on their own.
    deadline = time.monotonic() + 60
    while count_threads() > before + 4 and time.monotonic() < deadline:
        os.sched_yield()
    assert count_threads() <= before + 4
    assert len(caught) == (PASSES if kept else 0)


# States that are refused


def shuffled(builder: tfds.Builder) -> tfds.Dataset[Any]:
    config = tfds.ReadConfig(shuffle_seed=8)
    return builder.as_dataset("train", shuffle_files=True, read_config=config).shuffle(7, seed=4)


ITERATORS: dict[str, Callable[[tfds.Dataset[Any]], Any]] = {
    "examples": lambda ds: ds,
    "repeated": lambda ds: ds.repeat(2),
    "map": lambda ds: ds.map(number),
    "elements": lambda ds: ds.map(number).repeat(2).shuffle(5, seed=1).skip(1).take(12).shard(2, 1),
    "zip": lambda ds: tfds.Dataset.zip(ds.map(number), ds.batch(1).shuffle(4, seed=2)),
    "concatenate": lambda ds: ds.map(number).take(3).concatenate(ds.map(number).shuffle(4, seed=3)),
    "cache": lambda ds: ds.map(number).cache().repeat(2),
    "unbatch": lambda ds: ds.batch(3).unbatch().filter(lambda example: example["n"] % 5 > 0),
}


class Minibatches:
    """A dataset whose passes are minibatches."""

    def __init__(self, ds: tfds.Dataset[Any]) -> None:
        self._ds = ds

    def __iter__(self) -> Any:
        return self._ds.minibatches(3)


ITERATORS["minibatches"] = Minibatches


def changed(state: Any) -> Iterator[Any]:
    """A state with each of its values changed, one after the other, and with each of its members missing."""
    members = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list) else ()
    for key, value in members:
        for other in changed(value):
            copied = copy.copy(state)
            copied[key] = other
            yield copied
        copied = copy.copy(state)
        del copied[key]
        yield copied
    if isinstance(state, (dict, list)):
        yield 3
        return
    yield None
    if isinstance(state, str):
        yield state + "x"
    elif isinstance(state, bool):
        yield "true"
    elif isinstance(state, int):
        yield -1
        yield 10**6


@pytest.mark.parametrize("name", ITERATORS)
def test_a_state_that_is_refused_leaves_this_pass_and_the_next_as_they_were(numbers: tfds.Builder, name: str) -> None:
    def begun() -> tuple[Any, Any]:
        ds = ITERATORS[name](shuffled(numbers))
        list(ds)
        iterator = iter(ds)
        first = [next(iterator) for _ in range(2)]
        assert len(first) == 2
        return ds, iterator

    ds, iterator = begun()
    state = json.loads(json.dumps(iterator.state_dict()))
    expected = [str(list(iterator)), str(list(ds)), str(list(ds))]
    others = [iter(ITERATORS[other](shuffled(numbers))).state_dict() for other in ITERATORS]
    junk = [None, 3, "x", [1], {}, *others, *changed(state)]
    ds, iterator = begun()
    refused = 0
    for wrong in junk:
        before = iterator.state_dict()
        try:
            iterator.load_state_dict(wrong)
        except (tesson.ResumeError, tesson.UsageError):
            refused += 1
            assert iterator.state_dict() == before, wrong
        else:
            # It is some state of this dataset.
            ds, iterator = begun()
    assert refused > 10
    assert [str(list(iterator)), str(list(ds)), str(list(ds))] == expected


def test_a_state_that_is_refused_in_the_middle_of_an_element_loses_nothing(numbers: tfds.Builder) -> None:
    fails = [True]

    def once(example: dict[str, Any]) -> int:
        if number(example) == 3 and fails.pop():
            raise RuntimeError("no luck")
        return number(example)

    def dataset(function: Callable[[dict[str, Any]], int]) -> Any:
        ds = numbers.as_dataset("train")
        return tfds.Dataset.zip(ds.map(function).batch(2), ds.map(number))

    state = iter(dataset(number)).state_dict()
    # The first input is another one already when the second is refused.
    state["inputs"][1]["operation"] = "filter"
    iterator = iter(dataset(once))
    fails[:] = [False, True]
    first = next(iterator)
    with pytest.raises(RuntimeError):
        next(iterator)
    with pytest.raises(tesson.ResumeError):
        iterator.load_state_dict(state)
    fails[:] = [False] * 2
    assert str([first, *iterator]) == str(list(dataset(number)))


def test_a_place_that_is_refused_leaves_the_pass_as_it_was(numbers: tfds.Builder) -> None:
    plain, ds = shuffled(numbers), shuffled(numbers)
    expected = iter(plain)
    iterator = iter(ds)
    assert next(iterator) == next(expected)
    for place in ((21,), (0, 21), (2**70,)):
        with pytest.raises((tesson.UsageError, tesson.ResumeError, OverflowError)):
            iterator.seek(*place)
        with pytest.raises((tesson.UsageError, tesson.ResumeError, OverflowError)):
            ds.seek(*place)
    assert list(map(number, iterator)) == list(map(number, expected))
    assert list(map(number, ds)) == list(map(number, plain))


# Sources


def text(**options: Any) -> tesson.MinibatchSource:
    streams = tesson.StreamDefs(x=tesson.StreamDef("x", 1))
    return tesson.MinibatchSource(tesson.CTFDeserializer("numbers.ctf", streams), **options)


def prepared(**options: Any) -> tesson.MinibatchSource:
    return tesson.MinibatchSource(tesson.TFDSDeserializer("numbers/1.0.0", {"x": tesson.StreamDef("n")}, split="train"), **options)


SOURCES: dict[str, Callable[[], tesson.MinibatchSource]] = {
    "windows": lambda: text(randomization_seed=3),
    "in order": lambda: text(randomize=False),
    "global": lambda: text(randomize="global"),
    "sweeps": lambda: text(max_sweeps=9),
    "samples": lambda: text(max_samples=400),
    "truncation": lambda: text(truncation_length=2),
    "buckets": lambda: text(bucketing=True, minibatch_size_in_sequences=3),
    "excluded": lambda: text(exclude_keys=[3, 5]),
    "chunks of a rank": lambda: text(num_data_partitions=2, partition_index=1),
    "positions of a rank": lambda: text(sharing="position", num_data_partitions=2, partition_index=1),
    "equal steps": lambda: text(equal_steps="repeat", num_data_partitions=2, partition_index=0),
    "examples": lambda: prepared(randomization_seed=3),
    "examples, global": lambda: prepared(randomize="global"),
}

REFUSED_CALLS: list[Callable[[tesson.MinibatchSource], Any]] = [
    lambda source: source.next_minibatch(0),
    lambda source: source.next_minibatch(-1),
    lambda source: source.next_minibatch(4, num_data_partitions=2, partition_index=2),
    lambda source: source.next_minibatch(4, num_data_partitions=0, partition_index=0),
    lambda source: source.next_minibatch(4, {"nothing": "y"}),
    lambda source: source.skip_to(-1, 4),
    lambda source: source.skip_to(2**70, 4),
    lambda source: source.which(-1, 4),
    lambda source: source.steps_per_sweep(0),
    lambda source: tesson.merge_states([source.get_checkpoint_state(), {}]),
]


@pytest.fixture
def two_corpora(numbers: tfds.Builder, tmp_path: Path) -> None:
    lines = [f"{key} |x {10 * key + i}\n" for key in range(12) for i in range(1 + key % 3)]
    (tmp_path / "numbers.ctf").write_text("".join(lines))


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.usefixtures("two_corpora")
def test_a_source_continues_after_a_refused_call_as_without_it(name: str) -> None:
    def begun() -> tesson.MinibatchSource:
        source = SOURCES[name]()
        for _ in range(2):
            source.next_minibatch(4)
        return source

    def following(source: tesson.MinibatchSource) -> str:
        minibatch = source.next_minibatch(4)
        return str([minibatch["x"].samples.tolist(), minibatch.sweep_end] if minibatch else None)

    plain = begun()
    state = json.loads(json.dumps(plain.get_checkpoint_state()))
    expected = [following(plain) for _ in range(20)]
    others = [SOURCES[other]().get_checkpoint_state() for other in SOURCES if other != name]
    restores = [lambda source, wrong=wrong: source.restore_from_checkpoint(wrong) for wrong in [None, 3, [], {}, *others, *changed(state)]]
    refused = 0
    source, position = begun(), 0
    for call in [*REFUSED_CALLS, *restores]:
        try:
            call(source)
        except (tesson.ResumeError, tesson.UsageError, tesson.ConfigError, ValueError, TypeError, KeyError, OverflowError):
            refused += 1
            if position < len(expected):
                assert following(source) == expected[position], refused
                position += 1
        else:
            source, position = begun(), 0
    assert refused > 20
