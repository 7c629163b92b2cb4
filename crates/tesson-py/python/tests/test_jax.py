"""Minibatches as JAX arrays: values, shardings, and states that count what was handed over, not what was prefetched."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from damaged import damaged, is_refused
from kills import free_port
from prepare import tensor, write_dataset

import tesson.jax
from tesson import DataError, ResumeError, UsageError, tfds
from tesson.io import (
    INFINITELY_REPEAT,
    CTFDeserializer,
    MinibatchData,
    MinibatchSource,
    StreamDef,
    StreamDefs,
    StreamInformation,
    UserMinibatchSource,
)

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")


def source(**options: Any) -> MinibatchSource:
    """Twelve sequences of one sample, shuffled."""
    return MinibatchSource.from_data(
        x=np.arange(24, dtype=np.float32).reshape(12, 2), y=np.arange(12, dtype=np.float32), randomize=True, **options
    )


def sequences(**options: Any) -> MinibatchSource:
    """Six sequences of 1, 2 and 3 samples."""
    return MinibatchSource.from_data(
        x=[np.full((1 + i % 3, 2), i, np.float32) for i in range(6)], y=np.arange(6, dtype=np.float32), **options
    )


def as_lists(batches: Any) -> list[list[float]]:
    return [batch["y"].tolist() for batch in batches]


def test_values_are_those_of_the_source_in_its_order() -> None:
    batches = list(tesson.jax.minibatches(source(max_sweeps=1), 5))
    expected = list(source(max_sweeps=1).minibatches(5))
    assert len(batches) == len(expected) == 3
    for batch, minibatch in zip(batches, expected):
        assert list(batch) == ["x", "y"]
        for name, array in batch.items():
            assert isinstance(array, jax.Array)
            np.testing.assert_array_equal(array, minibatch[name].samples)


def test_streams_keep_their_order() -> None:
    source = MinibatchSource.from_data(z=np.arange(3), a=np.arange(3), max_sweeps=1)
    assert [list(batch) for batch in tesson.jax.minibatches(source, 3)] == [["z", "a"]]


def test_arrays_stay_as_they_are_when_the_source_reads_on() -> None:
    batches = tesson.jax.minibatches(source(), 4, prefetch=1)
    first = next(batches)
    before = np.array(first["x"])
    for _ in range(3):
        list(batches)
    np.testing.assert_array_equal(first["x"], before)


@pytest.mark.parametrize("prefetch", [0, 1, 2, 7])
def test_a_loop_ends_with_the_sweep_and_the_next_one_goes_on(prefetch: int) -> None:
    batches = tesson.jax.minibatches(source(), 5, prefetch=prefetch)
    plain = source()
    for _ in range(3):
        assert as_lists(batches) == [m["y"].samples.tolist() for m in plain.minibatches(5)]


@pytest.mark.parametrize("prefetch", [0, 2, 7])
def test_a_state_is_that_of_the_minibatch_handed_over_last(prefetch: int) -> None:
    def fresh() -> tesson.jax.MinibatchIterator:
        return tesson.jax.minibatches(source(max_sweeps=2), 5, prefetch=prefetch)

    everything = as_lists(fresh())
    assert len(everything) == 5
    for steps in range(len(everything) + 1):
        batches = fresh()
        begun = [next(batches)["y"].tolist() for _ in range(steps)]
        state = json.loads(json.dumps(batches.get_state()))
        resumed = fresh()
        resumed.set_state(state)
        assert resumed.get_state() == state
        # A second resume, before anything was read, and a state loaded over minibatches that were prefetched.
        again = fresh()
        next(again)
        again.load_state_dict(resumed.state_dict())
        assert begun + as_lists(resumed) == begun + as_lists(again) == everything


@pytest.mark.parametrize("prefetch", [0, 2, 7])
@pytest.mark.parametrize("sharing", ["position", "chunk"])
def test_a_loop_that_had_nothing_left_is_empty_when_it_is_resumed(prefetch: int, sharing: Literal["position", "chunk"]) -> None:
    def fresh() -> tesson.jax.MinibatchIterator:
        return tesson.jax.minibatches(source(sharing=sharing), 5, prefetch=prefetch)

    batches, seen = fresh(), fresh()
    sweeps = [as_lists(seen) for _ in range(3)]
    for sweep in sweeps[:2]:
        for i, _ in enumerate(batches):
            resumed, state = fresh(), batches.get_state()
            resumed.set_state(state)
            resumed.start_prefetch()
            assert resumed.get_state() == state
            assert as_lists(resumed) == sweep[i + 1 :]
        # The loop over the resumed one has ended, as this one has.
        assert batches.state_dict() == resumed.state_dict() and "ended" not in batches.state_dict()
    assert as_lists(batches) == as_lists(resumed) == sweeps[2]
    # A loop that is left behind its last minibatch is over, too.
    left = fresh()
    assert as_lists(itertools.islice(left, len(sweeps[0]))) == sweeps[0] and as_lists(left) == sweeps[1]


def test_states_of_shares_merge_though_some_had_nothing() -> None:
    def share(rank: int) -> tesson.jax.MinibatchIterator:
        data = MinibatchSource.from_data(y=np.arange(2), randomize=True, max_sweeps=1, world=(rank, 3), sharing="chunk")
        return tesson.jax.minibatches(data, 1)

    shares = [share(rank) for rank in range(3)]
    assert sorted(sum(([next(each, None) is not None] for each in shares), [])) == [False, True, True]
    merged = tesson.merge_states([each.state_dict() for each in shares])
    whole = MinibatchSource.from_data(y=np.arange(2), randomize=True, max_sweeps=1)
    whole.restore_from_checkpoint(merged)
    assert not whole.next_minibatch(1)


def test_loops_that_had_nothing_left_merge_to_one() -> None:
    def share(rank: int) -> tesson.jax.MinibatchIterator:
        return tesson.jax.minibatches(source(world=(rank, 2), sharing="chunk"), 4, prefetch=0)

    states = []
    for rank in range(2):
        each = share(rank)
        states += [each.state_dict() for _ in each][-1:]
    resumed = tesson.jax.minibatches(source(), 4)
    resumed.load_state_dict(tesson.merge_states(states))
    assert [len(as_lists(resumed)) for _ in range(2)] == [0, 3]


def test_a_state_is_nobody_elses() -> None:
    batches = tesson.jax.minibatches(source(), 5)
    next(batches)
    batches.set_state(batches.get_state())
    state = batches.get_state()
    batches.state_dict().clear()
    assert batches.get_state() == state
    data = [np.full((5, 1), i, np.float32) for i in range(8)]
    truncated = tesson.jax.minibatches(MinibatchSource.from_data(x=data, truncation_length=2), 6)
    next(truncated)
    truncated.set_state(truncated.get_state())
    state = truncated.get_state()
    lists = [value for value in truncated.state_dict().values() if isinstance(value, list)]
    assert any(lists)
    for each in lists:
        each.clear()
    assert truncated.get_state() == state


def test_states_may_be_texts() -> None:
    batches = tesson.jax.minibatches(source(max_sweeps=1), 5)
    next(batches)
    text = batches.get_state()["source"]
    rest = as_lists(batches)
    for state in (text, text.encode()):
        batches.set_state(state)
        assert as_lists(batches) == rest
    for state in ("{", b"x"):
        with pytest.raises(ResumeError, match="no JSON"):
            batches.set_state(state)
    with pytest.raises(ResumeError):
        batches.set_state("[1]")


def test_a_closed_iterator_has_a_state_but_no_minibatches() -> None:
    opened = source()
    batches = tesson.jax.minibatches(opened, 5)
    next(batches)
    state = batches.get_state()
    batches.close()
    batches.close()
    assert batches.get_state() == state
    with pytest.raises(ValueError, match="closed iterator"):
        next(batches)
    batches.start_prefetch()
    with pytest.raises(UsageError):
        opened.next_minibatch(5)
    # Nothing is left to be read of an open one.
    finite = source(max_sweeps=1)
    ended = tesson.jax.minibatches(finite, 5)
    list(ended)
    finite.close()
    assert next(ended, None) is None


@pytest.mark.parametrize("options", [{}, {"truncation_length": 2}, {"bucketing": 8, "randomize": True}])
def test_states_have_one_structure_whatever_the_source_keeps_in_them(options: dict[str, Any]) -> None:
    data = [np.full((1 + 7 * i % 5, 2), i, np.float32) for i in range(30)]

    def fresh() -> tesson.jax.MinibatchIterator:
        return tesson.jax.minibatches(MinibatchSource.from_data(x=data, max_sweeps=2, **options), 8, prefetch=1)

    def rest(batches: tesson.jax.MinibatchIterator) -> list[list[float]]:
        return [batch["x"].ravel().tolist() for batch in batches]

    batches, states, seen = fresh(), [], []
    while True:
        states.append(batches.get_state())
        if (batch := next(batches, None)) is None:
            break
        seen.append(batch["x"].ravel().tolist())
    assert {tuple((name, type(value)) for name, value in state.items()) for state in states} == {(("source", str),)}
    resumed = fresh()
    # Back and forth, in one iterator.
    for step in [*range(0, len(seen), 5), 3, len(seen), 0]:
        resumed.set_state(states[step])
        assert resumed.get_state() == states[step]
        assert rest(resumed) == seen[step:]


def test_states_are_taken_by_any_source_of_the_data() -> None:
    batches = tesson.jax.minibatches(source(max_sweeps=1), 5)
    next(batches)
    plain = source(max_sweeps=1)
    plain.restore_from_checkpoint(batches.state_dict())
    assert [m["y"].samples.tolist() for m in plain.minibatches(5)] == as_lists(batches)


def test_a_state_of_other_data_leaves_the_iterator_as_it_was() -> None:
    batches = tesson.jax.minibatches(source(max_sweeps=1), 5)
    next(batches)
    state = batches.get_state()
    other = tesson.jax.minibatches(sequences(max_sweeps=1), 5)
    next(other)
    with pytest.raises(ResumeError):
        batches.set_state(other.get_state())
    assert batches.get_state() == state
    assert as_lists(batches) == [m["y"].samples.tolist() for m in source(max_sweeps=1).minibatches(5)][1:]


def test_sequences_are_padded_with_their_lengths() -> None:
    batches = list(tesson.jax.minibatches(sequences(max_sweeps=1), 6))
    expected = list(sequences(max_sweeps=1).minibatches(6))
    assert len(batches) == len(expected) > 1
    for batch, minibatch in zip(batches, expected):
        assert list(batch) == ["x", "x_lengths", "y", "y_lengths"]
        np.testing.assert_array_equal(batch["x"], minibatch["x"].asarray())
        assert batch["x_lengths"].dtype == np.int32
        assert batch["x_lengths"].tolist() == minibatch["x"].lengths.tolist()


def test_streams_may_be_padded_to_one_length_and_others_not_at_all() -> None:
    for batch in tesson.jax.minibatches(sequences(max_sweeps=1), 4, padded=["x"], pad_to=5):
        rows = len(batch["y"])
        assert batch["x"].shape == (rows, 5, 2) and batch["y"].shape == (rows,)
        assert batch["x"].sum() == (batch["x_lengths"] * batch["y"] * 2).sum()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"prefetch": -1}, UsageError, "prefetch: found -1, expected a whole number from 0"),
        ({"pad_to": 0}, UsageError, "pad_to: found 0"),
        ({"batch_size": 4}, TypeError, r"^minibatches\(\) has no keyword argument `batch_size`, did you mean `minibatch_size`\?"),
        ({"shardings": None}, TypeError, r"has no keyword argument `shardings`, did you mean `sharding`\?"),
        ({"padded": ["z"]}, UsageError, r"padded: found \['z'\], expected streams of the source: x, y"),
        ({"padded": "y"}, DataError, "stream `x`: sequence 1 has 2 samples, expected 1; name the stream in `padded`"),
        ({"pad_to": 2}, DataError, "stream `x`: sequence 2 has 3 samples, expected at most pad_to=2"),
    ],
)
def test_arguments_and_data_that_do_not_fit_are_refused(arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        list(tesson.jax.minibatches(sequences(max_sweeps=1), 6, **arguments))


def test_sparse_streams_are_refused_before_anything_is_read() -> None:
    from scipy.sparse import csr_matrix

    with pytest.raises(UsageError, match="stream `x` is sparse"):
        tesson.jax.minibatches(MinibatchSource.from_data(x=csr_matrix(np.eye(3))))


def test_sparse_streams_of_classes_are_numbers() -> None:
    from scipy.sparse import csr_matrix

    def source() -> MinibatchSource:
        return MinibatchSource.from_data(x=np.eye(4)[:, :1], y=csr_matrix(np.eye(4)[[2, 0, 3, 3]]), max_sweeps=1)

    (batch,) = tesson.jax.minibatches(source(), 10, classes=["y"])
    assert batch["y"].dtype == np.int32 and batch["y"].tolist() == [2, 0, 3, 3]
    with pytest.raises(UsageError, match=r"classes: found \['z'\], expected streams of the source: x, y"):
        tesson.jax.minibatches(source(), classes=["z"])
    with pytest.raises(UsageError, match="classes: stream `x` is dense"):
        tesson.jax.minibatches(source(), classes=["x", "y"])
    several = MinibatchSource.from_data(x=[np.ones(2)], y=[csr_matrix(np.eye(2))], max_sweeps=1)
    with pytest.raises(DataError, match="stream `y`: sequence 0 has 2 samples, expected 1$"):
        list(tesson.jax.minibatches(several, classes="y"))


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_an_error_comes_behind_the_minibatches_before_it_and_stays(prefetch: int) -> None:
    def make() -> MinibatchSource:
        return MinibatchSource.from_data(y=[np.full(1 + (i == 6), i, np.float32) for i in range(9)], max_sweeps=1)

    batches = tesson.jax.minibatches(make(), 2, padded=(), prefetch=prefetch)
    read = []
    for _ in range(3):
        with pytest.raises(DataError, match="sequence 6 has 2 samples"):
            for batch in batches:
                read.append(batch["y"].tolist())
    assert read == [[0, 1], [2, 3], [4, 5]]
    rest = make()
    rest.restore_from_checkpoint(batches.state_dict())
    assert rest.next_minibatch(4)["y"].samples.tolist() == [6, 6, 7, 8]


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_a_minibatch_that_cannot_be_read_may_be_left_out(tmp_path: Path, prefetch: int) -> None:
    path = tmp_path / "train.ctf"
    path.write_text("".join(f"|y {'x' if i == 5 else i}\n" for i in range(9)))
    broken = MinibatchSource(CTFDeserializer(path, StreamDefs(y=StreamDef(shape=1))), randomize=False, max_sweeps=1)
    batches = tesson.jax.minibatches(broken, 2, prefetch=prefetch)
    read = []
    for _ in range(2):
        with pytest.raises(DataError, match="train.ctf"):
            for batch in batches:
                read.append(batch["y"].flatten().tolist())
    broken.skip_failed()
    assert read == [[0, 1], [2, 3]]
    assert [batch["y"].flatten().tolist() for batch in batches] == [[6, 7], [8]]


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_a_minibatch_of_which_no_arrays_can_be_made_may_be_left_out(prefetch: int) -> None:
    def make() -> MinibatchSource:
        return MinibatchSource.from_data(y=[np.full(1 + (i == 5), i, np.float32) for i in range(9)], max_sweeps=1)

    sound = [minibatch["y"].samples.tolist() for minibatch in make().minibatches(3) if 5 not in minibatch["y"].samples]
    batches = tesson.jax.minibatches(make(), 3, padded=(), prefetch=prefetch)
    read = []
    with pytest.raises(DataError, match="sequence 5 has 2 samples"):
        for batch in batches:
            read.append(batch["y"].tolist())
    batches.skip_failed()
    again = tesson.jax.minibatches(make(), 3, padded=())
    again.load_state_dict(batches.state_dict())
    rest = as_lists(batches)
    assert [*read, *rest] == sound and read and rest
    assert as_lists(again) == rest


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_an_error_of_a_custom_source_that_comes_once_is_raised(prefetch: int) -> None:
    class Fails(Counting):
        has_failed = False

        def next_minibatch(self, num_samples: int) -> Any:
            if self.at == 2 and not self.has_failed:
                self.has_failed = True
                raise OSError("gone for a moment")
            return super().next_minibatch(num_samples)

    batches = tesson.jax.minibatches(Fails(), 1, prefetch=prefetch)
    read = []
    with pytest.raises(OSError, match="gone for a moment"):
        for batch in batches:
            read.append(batch["y"].tolist())
    assert read == [[[1]], [[2]]]
    assert as_lists(batches) == [[[3]], [[4]]]


# A sweep is three minibatches; with some read ahead, the loop asks for a fourth before it ends.
@pytest.mark.parametrize(("prefetch", "at"), [(0, 0), (0, 2), (1, 0), (1, 2), (1, 3), (5, 1), (5, 3)])
def test_an_interrupt_loses_nothing_and_does_not_run_into_the_next_sweep(
    prefetch: int, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = tesson.jax.minibatches(source(), 5)
    batches = tesson.jax.minibatches(source(), 5, prefetch=prefetch)
    take, calls = batches._take, itertools.count()

    def interrupted() -> bool:
        if next(calls) == at:
            raise KeyboardInterrupt
        return take()

    monkeypatch.setattr(batches, "_take", interrupted)
    read = []
    with pytest.raises(KeyboardInterrupt):
        for batch in batches:
            read.append(batch["y"].tolist())
    read += as_lists(batches)
    assert read == as_lists(straight)
    assert as_lists(batches) == as_lists(straight)


class Counting(UserMinibatchSource):
    """A custom source of four minibatches with a state of its own."""

    def __init__(self) -> None:
        self.at = 0

    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("y", 0, "dense", np.float32, (1,))]

    def next_minibatch(self, num_samples: int) -> Any:
        if self.at == 4:
            return {}
        self.at += 1
        value = np.full((num_samples, 1), self.at, np.float32)
        return {self.streams.y: MinibatchData(value, num_samples, num_samples)}

    def is_infinite(self) -> bool:
        return False

    def get_checkpoint_state(self) -> dict[str, Any]:
        return {"at": self.at}

    def restore_from_checkpoint(self, checkpoint: Any) -> None:
        self.at = checkpoint["at"]


def test_custom_sources_resume_exactly_too() -> None:
    batches = tesson.jax.minibatches(Counting(), 2)
    assert next(batches)["y"].tolist() == [[1], [1]]
    assert batches.state_dict() == {"at": 1}
    again = tesson.jax.minibatches(Counting(), 2)
    again.set_state(batches.get_state())
    assert as_lists(again) == as_lists(batches) == [[[n], [n]] for n in (2, 3, 4)]


def test_processes_share_by_default_only_where_the_arrays_are_global(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    monkeypatch.setattr(jax, "process_count", lambda: 3)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    shared = {"num_data_partitions": 3, "partition_index": 1}
    assert tesson.jax.minibatches(source(), 6, sharding=alone)._share() == shared
    assert tesson.jax.minibatches(source(), 6)._share() == {}
    own = source(num_data_partitions=2, partition_index=0)
    assert tesson.jax.minibatches(own, 6, sharding=alone)._share() == {}


#: Four devices need a process of their own: JAX counts them when it starts.
SHARDED = """
import jax, numpy as np, tesson.jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tesson.io import MinibatchSource
def source():
    return MinibatchSource.from_data(
        x=[np.full((1 + i % 3, 2), i, np.float32) for i in range(8)], minibatch_size_in_sequences=4, max_sweeps=1)
sharding = NamedSharding(Mesh(np.array(jax.devices()), "data"), PartitionSpec("data", None, None))
batches = list(tesson.jax.minibatches(source(), sharding=sharding))
assert len(batches) == 2
for batch, minibatch in zip(batches, source()):
    x, lengths = batch["x"], batch["x_lengths"]
    assert len(x.sharding.device_set) == 4 and len(lengths.sharding.device_set) == 4
    assert [shard.data.shape[0] for shard in x.addressable_shards] == [1] * 4
    np.testing.assert_array_equal(x, minibatch["x"].asarray())
    assert lengths.tolist() == minibatch["x"].lengths.tolist()
print("sharded")
"""


def test_arrays_are_sharded_over_a_mesh(tmp_path: Path) -> None:
    script = tmp_path / "sharded.py"
    script.write_text(SHARDED)
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run([sys.executable, script], env=os.environ | flags, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "sharded\n"


#: One of four processes of one device each.
SHARED = """
import sys, jax, numpy as np, tesson.jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tesson import UsageError
from tesson.io import MinibatchSource
jax.distributed.initialize(sys.argv[1], 4, int(sys.argv[2]))
devices = np.array(jax.devices())
rows = NamedSharding(Mesh(devices, "data"), PartitionSpec("data"))
alike = NamedSharding(rows.mesh, PartitionSpec())
half = NamedSharding(Mesh(devices.reshape(2, 2), ("data", "model")), PartitionSpec("data"))
def first(sharding, size, longest=1, items=16, pad_to=None, **options):
    source = MinibatchSource.from_data(
        x=[np.full((1 + i % longest, 1), i, np.float32) for i in range(items)],
        minibatch_size_in_sequences=size, sharing="position", max_sweeps=1, **options)
    try:
        x = next(tesson.jax.minibatches(source, sharding=sharding, pad_to=pad_to))["x"]
    except UsageError as error:
        return str(error)
    return f"{x.shape} {x.addressable_data(0).ravel().astype(int).tolist()}"
print(first(rows, 7))
print(first(rows, 8))
print(first(rows, 8, exclude_keys=[1]))
print(first(rows, 4, items=3, equal_steps="repeat"))
print(first(rows, 8, longest=3))
print(first(rows, 8, longest=3, pad_to=3))
print(first(alike, 4, longest=2))
print(first(half, 8))
print(first(half, 8, num_data_partitions=4, partition_index=jax.process_index()))
"""


def test_processes_share_arrays_of_equal_rows_alone(tmp_path: Path) -> None:
    script = tmp_path / "shared.py"
    script.write_text(SHARED)
    coordinator = f"127.0.0.1:{free_port()}"
    processes = [
        subprocess.Popen(
            [sys.executable, script, coordinator, str(process)],
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for process in range(4)
    ]
    try:
        for process, started in enumerate(processes):
            printed, errors = started.communicate(timeout=100)
            assert started.returncode == 0, errors
            unequal, equal, excluded, repeated, unpadded, padded, alike, half, other = printed.splitlines()
            assert "4 parts of a minibatch have from 1 to 2 sequences, expected equally many" in unequal
            assert equal == f"(8, 1) {[process, process + 4]}"
            assert "have from 1 to 2 sequences" in excluded and "exclude_keys" in excluded
            assert repeated == f"(4, 1) {[process % 3]}"
            assert "pad_to: found None, expected the steps of the longest sequence" in unpadded
            assert padded.startswith("(8, 3, 1)")
            assert alike == "(4, 2, 1) [0, 0, 1, 1, 2, 0, 3, 3]"
            assert half == f"(8, 1) {list(range(process // 2, 8, 2))}"
            assert f"this process has part {process // 2} of 2 of the rows, and a source that gives it share {process} of 4" in other
    finally:
        for started in processes:
            started.kill()


def test_orbax_saves_states_as_json(tmp_path: Path) -> None:
    ocp = pytest.importorskip("orbax.checkpoint", reason="Orbax is an optional dependency")
    batches = tesson.jax.minibatches(source(max_sweeps=1), 5)
    next(batches)
    with ocp.CheckpointManager(tmp_path / "run") as manager:
        manager.save(1, args=ocp.args.Composite(data=ocp.args.JsonSave(batches.get_state())))
        manager.wait_until_finished()
        restored = manager.restore(1, args=ocp.args.Composite(data=ocp.args.JsonRestore()))
    resumed = tesson.jax.minibatches(source(max_sweeps=1), 5)
    resumed.set_state(restored["data"])
    assert as_lists(resumed) == as_lists(batches) != []


@pytest.mark.parametrize("step", [0, 2, None])
@pytest.mark.parametrize("options", [{}, {"max_sweeps": 2}])
def test_a_state_that_is_refused_changes_nothing(options: dict[str, Any], step: int | None) -> None:
    def make() -> tesson.jax.MinibatchIterator:
        return tesson.jax.minibatches(MinibatchSource.from_data(x=np.arange(22.0), randomize="global", **options), 4)

    plain, refusing, scratch = make(), make(), make()
    read = [[str(batch) for batch in itertools.islice(each, step)] for each in (plain, refusing)]
    state = refusing.get_state()
    refused = [each for each in damaged(state) if is_refused(scratch.set_state, each)]
    assert len(refused) > 20
    for each in refused:
        assert is_refused(refusing.set_state, each)
        assert refusing.get_state() == state
    read = [[*begun, *map(str, loop)] for begun, loop in zip(read, (plain, refusing), strict=True)]
    assert read[0] == read[1]
    assert [str(batch) for batch in refusing] == [str(batch) for batch in plain]


def test_pieces_of_sequences_of_one_sample_are_padded() -> None:
    def truncated() -> MinibatchSource:
        return MinibatchSource.from_data(x=np.arange(6.0), truncation_length=2, max_sweeps=1)

    batches = list(tesson.jax.minibatches(truncated(), 4))
    assert [(batch["x"].shape, batch["x_lengths"].tolist()) for batch in batches] == [((4, 2), [1] * 4), ((2, 2), [1] * 2)]
    assert sorted(value for batch in batches for value in batch["x"][:, 0].tolist()) == list(range(6))
    with pytest.raises(UsageError, match="stream `x`: the source truncates sequences, .* name it in `padded`"):
        tesson.jax.minibatches(truncated(), 4, padded=())


def test_what_is_no_source_is_refused_with_what_to_read() -> None:
    with pytest.raises(UsageError, match="found list, expected a source: open a MinibatchSource"):
        tesson.jax.minibatches([1, 2], 1)  # type: ignore[arg-type]
