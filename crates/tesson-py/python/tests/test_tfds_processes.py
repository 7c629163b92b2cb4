"""Prepared datasets: threads, processes, pickles and signals."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import interrupt
import pytest
from gil import calls_until_another_thread_ran
from interleave import interleaved
from prepare import node, tensor, write_dataset

import tesson
from tesson import tfds
from tesson.tfds.examples import Examples

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def numbers(tmp_path: Path) -> tfds.Builder:
    """A thousand numbers in four shards."""
    shards = [[{"n": 250 * shard + i} for i in range(250)] for shard in range(4)]
    write_dataset(tmp_path / "numbers" / "1.0.0", {"n": tensor("int64")}, {"train": shards})
    return tfds.builder_from_directory(tmp_path / "numbers" / "1.0.0")


def values(examples: Any) -> list[int]:
    return [int(example["n"]) for example in examples]


def shuffled(builder: tfds.Builder) -> tfds.Dataset:
    config = tfds.ReadConfig(shuffle_seed=3, interleave_block_length=2)
    return builder.as_dataset("train", shuffle_files=True, read_config=config).shuffle(50, seed=1)


def test_threads_share_an_iterator(numbers: tfds.Builder) -> None:
    iterator = iter(shuffled(numbers))
    read: list[list[int]] = [[], [], []]

    def work(mine: list[int]) -> None:
        mine += values(iterator)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in read]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(sum(read, [])) == list(range(1000))


def test_threads_share_minibatches_and_random_access(numbers: tfds.Builder) -> None:
    minibatches, source = shuffled(numbers).minibatches(7), numbers.as_data_source("train")
    read: list[list[int]] = [[], []]
    found: list[list[int]] = [[], []]

    def work(mine: list[int], places: list[int]) -> None:
        for batch in minibatches:
            mine += batch["n"].tolist()
            places.append(int(source[len(mine) % 1000]["n"]) - len(mine) % 1000)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(read, found, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(read, [])) == list(range(1000))
    assert not any(sum(found, []))


def test_reading_releases_the_gil(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    assert calls_until_another_thread_ran(lambda: values(ds), most=1000) < 1000


def test_a_pickled_iterator_goes_on_where_it_stood(numbers: tfds.Builder) -> None:
    for k in (0, 1, 9, 1000):
        iterator = iter(shuffled(numbers).repeat(2))
        for _ in range(k):
            next(iterator)
        again = pickle.loads(pickle.dumps(iterator))
        assert again.state_dict() == iterator.state_dict()
        assert values(again) == values(iterator)
    minibatches = shuffled(numbers).minibatches(300)
    next(minibatches)
    rest = [batch["n"].tolist() for batch in pickle.loads(pickle.dumps(minibatches))]
    assert rest == [batch["n"].tolist() for batch in minibatches] and len(rest) == 3


def test_passes_of_a_pickled_dataset_count_on(numbers: tfds.Builder) -> None:
    ds = shuffled(numbers)
    first = values(ds)
    again = pickle.loads(pickle.dumps(ds))
    second = values(again)
    assert first != second == values(ds)
    # And a pickle of a pickle that nobody has iterated over.
    third = values(pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(ds)))))
    assert third == values(ds)


def test_whatever_else_there_is_pickles(numbers: tfds.Builder) -> None:
    builder = pickle.loads(pickle.dumps(numbers))
    assert builder.info == numbers.info or builder.info.splits["train"] == numbers.info.splits["train"]
    source = pickle.loads(pickle.dumps(numbers.as_data_source("train[10:]")))
    assert values(source[:3]) == [10, 11, 12]
    batches = pickle.loads(pickle.dumps(numbers.as_dataset("train", batch_size=600)))
    assert [len(batch["n"]) for batch in batches] == [600, 400]


def test_nested_datasets_pickle(tmp_path: Path) -> None:
    steps = node(
        "dataset_feature.Dataset",
        sequence={
            "feature": node("features_dict.FeaturesDict", featuresDict={"features": {"a": tensor("int32")}}),
            "length": "-1",
        },
    )
    folder = write_dataset(tmp_path / "x" / "1.0.0", {"steps": steps}, {"train": [[{"steps/a": [7, 8]}]]})
    (example,) = tfds.builder_from_directory(folder).as_dataset("train")
    assert list(pickle.loads(pickle.dumps(example["steps"]))) == [{"a": 7}, {"a": 8}]


def test_a_dataset_goes_to_a_spawned_process(numbers: tfds.Builder) -> None:
    ds = shuffled(numbers)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(values, (ds,))
    assert there == values(ds)


def in_a_fork(act: Callable[[], Any]) -> Any:
    """Calls `act` in the child of a fork and returns its result, by JSON."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        # The child leaves by os._exit only: it must never run the rest of the tests. One that waits for ever ends by a signal.
        signal.alarm(120)
        try:
            os.write(send, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0
    return json.loads(said)


@posix
def test_a_forked_child_is_told_to_make_its_own_iterator(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    iterator, minibatches = iter(ds), ds.minibatches(10)
    # Two are taken, and more have been read: the child must not hand those out either.
    first = [next(iterator), next(iterator)]
    next(minibatches)

    def child() -> list[Any]:
        said = []
        for inherited in (iterator, minibatches):
            try:
                next(inherited)
                said.append("no error")
            except tesson.UsageError as error:
                said.append(str(error))
        own = iter(numbers.as_dataset("train"))
        own.load_state_dict(iterator.state_dict())
        return [*said, values(own)]

    one, other, rest = in_a_fork(child)
    assert "fork" in one and "fork" in other
    assert rest == values(iterator) and values(first) + rest == values(numbers.as_dataset("train"))


@posix
def test_random_access_goes_on_in_a_forked_child(numbers: tfds.Builder) -> None:
    # As the workers of torch.utils.data.DataLoader do.
    source, ds = numbers.as_data_source("train"), numbers.as_dataset("train")
    assert (int(source[3]["n"]), int(ds[0]["n"])) == (3, 0)
    assert in_a_fork(lambda: values([source[999], source[-1], ds[17]])) == values([source[999], source[999], ds[17]])


@posix
def test_threads_of_a_forked_child_reopen_a_source_together(numbers: tfds.Builder) -> None:
    # A forked child opens each of them once.
    sources = iter([numbers.as_data_source("train") for _ in range(100)])

    def prepare() -> tuple[Callable[[], Any], Callable[[], Any]]:
        source = next(sources)
        return lambda: source[3], lambda: source[999]

    def child() -> list[list[int]] | str:
        try:
            return [values(found) for found in interleaved(prepare)]
        except tesson.UsageError as error:
            return str(error)

    read = in_a_fork(child)
    assert read == [[3, 999]] * len(read)


@posix
def test_a_forked_child_begins_a_pass_where_a_thread_of_its_parent_was_about_to(numbers: tfds.Builder) -> None:
    ds = shuffled(numbers)
    node = ds._node
    assert isinstance(node, Examples)
    lock, is_taken, is_read = node.passes[0].lock, threading.Event(), threading.Event()

    def begin() -> None:
        with lock.held():
            is_taken.set()
            is_read.wait()

    thread = threading.Thread(target=begin, daemon=True)
    thread.start()
    is_taken.wait()
    read = in_a_fork(lambda: values(ds))
    is_read.set()
    thread.join()
    assert read == values(ds)


@posix
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent(numbers: tfds.Builder) -> None:
    shard = Path(numbers.info.splits["train"].filepaths[0])
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    ds = numbers.as_dataset("train", on_damage="skip").shuffle(1000, seed=1)
    iterator = iter(ds)
    is_reading, is_over = threading.Event(), threading.Event()

    class Waits(logging.Handler):
        def emit(self, _: logging.LogRecord) -> None:
            is_reading.set()
            is_over.wait()

    def child() -> list[str]:
        told = []
        for ask in (lambda: iter(ds), iterator.state_dict, lambda: iterator.skipped):
            with pytest.raises(tesson.UsageError) as error:
                ask()
            told.append(str(error.value))
        return told

    handler = Waits()
    logging.getLogger("tesson").addHandler(handler)
    # The thread that reads the iterator logs the damaged record.
    thread = threading.Thread(target=lambda: list(iterator), daemon=True)
    thread.start()
    try:
        is_reading.wait()
        assert all("forked" in told for told in in_a_fork(child))
    finally:
        is_over.set()
        thread.join()
        logging.getLogger("tesson").removeHandler(handler)


@posix
def test_a_forked_child_does_not_wait_for_an_operation_of_a_thread_of_its_parent(numbers: tfds.Builder) -> None:
    is_reading, is_over = threading.Event(), threading.Event()

    def waits(example: dict[str, Any]) -> int:
        if int(example["n"]) == 3:
            is_reading.set()
            is_over.wait()
        return int(example["n"])

    ds = numbers.as_dataset("train").map(waits)
    iterator = iter(ds)
    first = next(iterator)
    state = iterator.state_dict()

    def child() -> list[Any]:
        is_over.set()
        told = []
        for ask in (lambda: next(iterator), lambda: iterator.skip(1), iterator.state_dict):
            with pytest.raises(tesson.UsageError) as error:
                ask()
            told.append(str(error.value))
        own = iter(ds)
        own.load_state_dict(state)
        return [told, list(own)]

    rest: list[int] = []
    thread = threading.Thread(target=lambda: rest.extend(iterator), daemon=True)
    thread.start()
    try:
        is_reading.wait()
        told, read = in_a_fork(child)
    finally:
        is_over.set()
        thread.join()
    assert all("left in the middle by a thread of the process that forked" in one for one in told)
    assert read == rest and sorted([first, *rest]) == list(range(1000))


def interrupted(script: str) -> tuple[int, str]:
    return interrupt.interrupted("from tesson import tfds\nds = tfds.builder_from_directory('digits/1.0.0').as_dataset('train')\n" + script)


@pytest.fixture
def digits(files: Path) -> None:
    """A dataset in the working directory."""
    shard = [{"label": i} for i in range(1000)]
    write_dataset(files / "digits" / "1.0.0", {"label": tensor("int64")}, {"train": [shard]})


@posix
def test_datasets_may_have_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    shards = [[{"n": 3 * shard + i} for i in range(3)] for shard in range(300)]
    folder = write_dataset(tmp_path / "many" / "1.0.0", {"n": tensor("int64")}, {"train": shards})
    script = f"""
import resource
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, most))
import tesson
from tesson import tfds
builder = tfds.builder_from_directory({str(folder)!r})
config = tfds.ReadConfig(shuffle_seed=1, interleave_block_length=1)
ds = builder.as_dataset('train', shuffle_files=True, read_config=config)
assert [int(example['n']) for example in ds] == ds.ids().tolist()
source = builder.as_data_source('train')
assert [int(source[i * 7 % 900]['n']) for i in range(900)] == [i * 7 % 900 for i in range(900)]
split = {{'type': 'TFDSDeserializer', 'directory': {str(folder)!r}, 'input': {{'n': {{}}}}}}
with tesson.MinibatchSource.from_config({{'deserializers': [split], 'randomize': True, 'maxSweeps': 1}}) as source:
    found = [int(n) for minibatch in source.minibatches(100) for n in minibatch['n'].samples.ravel()]
assert sorted(found) == list(range(900))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)


@posix
@pytest.mark.usefixtures("digits")
def test_ctrl_c_ends_a_loop_in_c() -> None:
    # No line of Python runs in here.
    script = "from collections import deque\nprint('reading', flush=True)\ndeque(iter(ds.repeat()), maxlen=0)\n"
    code, err = interrupted(script)
    assert "KeyboardInterrupt" in err
    assert code == -signal.SIGINT


@posix
@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("way", ["examples.seek(0, far)", "examples.load_state_dict(there)", "endless[far]", "endless.take(far).ids()"])
def test_ctrl_c_ends_the_way_to_a_far_place(way: str) -> None:
    script = f"""
far = 1 << 40
endless = ds.shuffle(100, seed=1).repeat().shuffle(100, seed=2)
examples = iter(endless)
first = next(examples)
before = examples.state_dict()
there = {{**before, "stream": {{**before["stream"], "delivered": far}}}}
endless = endless.take(far + 1)
endless.set_epoch(0)
try:
    print('reading', flush=True)
    {way}
except KeyboardInterrupt:
    assert examples.state_dict() == before
    next(examples)
    raise SystemExit(7)
"""
    code, err = interrupted(script)
    assert code == 7, err


@posix
@pytest.mark.usefixtures("digits")
def test_nothing_is_lost_by_an_interrupted_minibatch() -> None:
    script = """
batches = ds.repeat().minibatches(100_000_000)
before = batches.state_dict()
try:
    print('reading', flush=True)
    next(batches)
except KeyboardInterrupt:
    assert batches.state_dict() == before
    raise SystemExit(7)
"""
    code, err = interrupted(script)
    assert code == 7, err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs leases on files")
@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("read", ["next(examples)", "next(batches)", "source[5]"])
def test_ctrl_c_ends_a_call_whose_storage_does_not_answer(read: str) -> None:
    script = f"""
import fcntl
import signal
import time
from pathlib import Path
examples, batches, source = iter(ds), ds.minibatches(10), ds.take(100)
shard = open(next(Path().glob('digits/1.0.0/*tfrecord*')))
# Opening the file blocks until the lease is given back.
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(shard, fcntl.F_SETLEASE, fcntl.F_WRLCK)
before = examples.state_dict(), batches.state_dict()
began = time.monotonic()
try:
    print('reading', flush=True)
    {read}
except KeyboardInterrupt:
    assert time.monotonic() - began < 20
    assert (examples.state_dict(), batches.state_dict()) == before
    fcntl.fcntl(shard, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    assert int(source[5]['label']) == 5
    assert [int(example['label']) for example in examples] == list(range(1000))
    assert next(batches)['label'].tolist() == list(range(10))
    raise SystemExit(7)
"""
    code, err = interrupted(script)
    assert code == 7, err
