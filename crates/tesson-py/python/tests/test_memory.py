"""Sources of data in memory."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tesson import ConfigError, ResumeError
from tesson.io import FULL_DATA_SWEEP, MinibatchSource, MinibatchSourceFromData, StreamDef
from tesson.memory import MemoryDeserializer

N = 5
X = np.arange(3 * N, dtype=np.float32).reshape(N, 3)
Y = csr_matrix((np.ones(N, np.float32), ([0, 1, 2, 3, 4], [0, 1, 1, 0, 1])), shape=(N, 2))
WORDS = [np.arange(2 * n).reshape(n, 2) for n in (1, 3, 2, 2, 4)]


def test_arrays_come_in_their_order() -> None:
    with MinibatchSource.from_data(x=X, y=Y, max_sweeps=1) as source:
        first, second = source.minibatches(3)
        assert first["x"].samples.tolist() == X[:3].tolist()
        assert second["x"].samples.tolist() == X[3:].tolist()
        assert first["y"].asarray()[:, 0].tolist() == Y.toarray()[:3].tolist()
        assert source.streams.y.is_sparse and source.streams.y.shape == (2,)
        assert second["x"].keys == [3, 4]


def test_lists_are_sequences_and_the_longest_stream_counts() -> None:
    with MinibatchSource.from_data({"words": WORDS, "labels": Y}, max_sweeps=1) as source:
        assert source.num_samples_per_sweep == 12
        minibatch = source.next_minibatch(6)
        assert [s.tolist() for s in minibatch["words"].as_sequences()] == [w.tolist() for w in WORDS[:3]]
        assert minibatch["labels"].num_samples == 3


def test_sparse_sequences_and_scalars() -> None:
    rows = [Y[:2], Y[2:3]]
    with MinibatchSource.from_data(y=rows, n=np.array([7, 8]), max_sweeps=1) as source:
        minibatch = source.next_minibatch(9)
        assert [s.toarray().tolist() for s in minibatch["y"].as_sequences()] == [r.toarray().tolist() for r in rows]
        assert minibatch["n"].samples.tolist() == [7, 8]


@pytest.mark.parametrize("randomize", [False, True, "global"])
def test_every_order_resumes_and_holds_each_sequence_once(randomize: bool | str) -> None:
    x = np.arange(1000)

    def opened(workers: int = 1) -> MinibatchSource:
        return MinibatchSource.from_data(x=x, randomize=randomize, randomization_seed=3, max_samples=FULL_DATA_SWEEP)

    source = opened()
    first = source.next_minibatch(333)["x"].samples
    state = source.get_checkpoint_state()
    rest = [m["x"].samples.tolist() for m in source.minibatches(100)]
    assert sorted([*first.tolist(), *sum(rest, [])]) == x.tolist()
    assert (first.tolist() == x[:333].tolist()) == (randomize is False)
    fresh = pickle.loads(pickle.dumps(opened()))
    fresh.restore_from_checkpoint(state)
    assert [m["x"].samples.tolist() for m in fresh.minibatches(100)] == rest
    shares = [
        m["x"].samples.tolist()
        for rank in range(3)
        for m in opened().minibatches(90, num_data_partitions=3, partition_index=rank)
    ]
    assert sorted(sum(shares, [])) == x.tolist()


def test_options_of_a_source_hold_for_data_too() -> None:
    source = MinibatchSource.from_data(
        x=X,
        randomize=True,
        randomization_window_in_chunks=0,
        randomization_window_in_samples=2,
        max_sweeps=1,
        frame_mode=True,
        transforms={"x": np.negative},
    )
    assert sorted(source.next_minibatch(N)["x"].samples[:, 0].tolist()) == sorted((-X[:, 0]).tolist())
    assert source.config["randomizationWindowInSamples"] == 2


def test_a_state_of_other_data_is_refused() -> None:
    with MinibatchSource.from_data(x=X) as source, MinibatchSource.from_data(x=X + 1) as other:
        with pytest.raises(ResumeError):
            other.restore_from_checkpoint(source.get_checkpoint_state())


def test_the_source_of_cntk_ends_minibatches_with_the_sweep() -> None:
    source = MinibatchSourceFromData({"x": X, "y": Y}, max_samples=2 * N)
    assert [m["x"].samples[:, 0].tolist() for m in source.minibatches(3)] == [[0, 3, 6], [9, 12]] * 2
    assert not source.next_minibatch(3)
    source = MinibatchSourceFromData({"x": X})
    ends = [source.next_minibatch(3)["x"].end_of_sweep for _ in range(4)]
    assert ends == [False, True, False, True]
    assert pickle.loads(pickle.dumps(source)).next_minibatch(3)["x"].samples.tolist() == X[:3].tolist()


@pytest.mark.parametrize("kind", [SimpleNamespace(shape=(2,)), SimpleNamespace(shape=2), (2,), 2, StreamDef(shape=2)])
def test_a_type_beside_the_data_says_what_a_sample_is(kind: Any) -> None:
    padded = np.arange(12).reshape(3, 2, 2)
    source = MinibatchSourceFromData({"x": (padded, kind), "y": (np.arange(6).reshape(3, 2), kind)})
    minibatch = source.next_minibatch(6)
    assert minibatch["x"].lengths.tolist() == [2, 2, 2]
    assert minibatch["x"].asarray().tolist() == padded.tolist()
    assert minibatch["y"].lengths.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "data, what",
    [
        ({}, "no data"),
        ({"x": X, "y": X[:3]}, "stream `y`: found 3 sequences, expected 5 as in stream `x`"),
        ({"x": X[:0]}, "no sequences"),
        ({"x": []}, "stream `x`: an empty list"),
        ({"x": 7}, "stream `x`: found a single number"),
        ({"x": np.array(["a"])}, "stream `x`: found <U1"),
        ({"x": (Y, 3)}, "stream `x`: a matrix of 2 columns, expected 3"),
    ],
)
def test_data_that_cannot_be_are_refused(data: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        MinibatchSource.from_data(data)


def test_an_array_for_which_there_is_no_memory_raises_its_size() -> None:
    # 160 TiB of zeros: more than any address space has.
    ones = np.ones(20_000, np.float32)
    wide = csr_matrix((ones, np.zeros(20_000, np.int32), np.arange(20_001)), shape=(20_000, 2**31 - 1))
    with MinibatchSource.from_data(y=wide, max_sweeps=1) as source:
        minibatch = source.next_minibatch(20_000)
        with pytest.raises(MemoryError, match="20000, 1, 2147483647"):
            minibatch["y"].asarray()


def test_the_last_minibatch_is_dropped_where_that_is_asked_for() -> None:
    with MinibatchSource.from_data(x=np.ones((7, 1)), max_sweeps=1, drop_last=True) as source:
        assert [len(minibatch["x"].samples) for minibatch in source.minibatches(3)] == [3, 3]


def test_a_state_is_refused_where_any_value_differs() -> None:
    values = np.random.default_rng(1).random((200_000, 1), np.float32)
    lists = [np.arange(3, dtype=np.float32) for _ in range(5)]
    with MinibatchSource.from_data(x=values) as source:
        source.next_minibatch(4)
        state = source.get_checkpoint_state()
    for place in (0, 100_000, 199_999):
        others = values.copy()
        others[place] += 1
        with MinibatchSource.from_data(x=others) as source, pytest.raises(ResumeError, match="does not belong to this source"):
            source.restore_from_checkpoint(state)
    with MinibatchSource.from_data(x=values[::-1][::-1]) as source:
        source.restore_from_checkpoint(state)
    with MinibatchSource.from_data(x=lists) as source:
        source.next_minibatch(2)
        state = source.get_checkpoint_state()
    lists[2] = np.float32([0, 5, 2])
    with MinibatchSource.from_data(x=lists) as source, pytest.raises(ResumeError, match="does not belong to this source"):
        source.restore_from_checkpoint(state)


def test_any_value_of_a_sparse_matrix_counts() -> None:
    columns = np.arange(300) % 5
    matrices = [csr_matrix((np.ones(300, np.float32), (np.arange(300), c)), (300, 5)) for c in (columns, columns[::-1])]
    with MinibatchSource.from_data(x=matrices[0]) as source:
        source.next_minibatch(2)
        state = source.get_checkpoint_state()
    with MinibatchSource.from_data(x=matrices[1]) as source, pytest.raises(ResumeError, match="does not belong to this source"):
        source.restore_from_checkpoint(state)


def test_of_data_that_are_broadcast_only_the_values_that_there_are_are_read() -> None:
    # 4 TiB, if they were not.
    nothing = np.broadcast_to(np.float32(2), (2**40, 1))
    identities = [MemoryDeserializer({"x": array}).identity() for array in (nothing[:1000], nothing[:1001])]
    assert identities[0] != identities[1]
    assert MemoryDeserializer({"x": np.full((7, 2), 2, np.float32)}).identity() != identities[0]
