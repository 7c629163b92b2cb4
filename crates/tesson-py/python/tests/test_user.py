"""Deserializers of the user's own, in Python."""

from __future__ import annotations

import logging
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tesson import DataError, ResumeError, UserDeserializer
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs, StreamInformation


class Numbers(UserDeserializer):
    """Chunks of sequences of 1, 2, 3, 1, … samples; sample `t` of sequence `k` is ``[100 * k + t, k]``."""

    def __init__(self, chunks: int = 5, per_chunk: int = 4, **hooks: Any) -> None:
        self.chunks, self.per_chunk = chunks, per_chunk
        self.calls: list[int] = []
        self.__dict__.update(hooks)

    def stream_infos(self) -> list[StreamInformation]:
        return [
            StreamInformation("x", 0, "dense", np.float32, (2,)),
            StreamInformation("y", 1, "sparse", np.float32, (10,)),
        ]

    def num_chunks(self) -> int:
        return self.chunks

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        self.calls.append(chunk_id)
        numbers = range(chunk_id * self.per_chunk, (chunk_id + 1) * self.per_chunk)
        dense = [np.array([[100 * k + t, k] for t in range(1 + k % 3)]) for k in numbers]
        sparse = [csr_matrix(([k + 0.5], ([0], [k % 10])), (1, 10)) for k in numbers]
        return {"x": dense, "y": sparse}


class Plain(UserDeserializer):
    """One chunk, as given."""

    def __init__(self, chunk: Any, *streams: StreamInformation, chunks: int = 1) -> None:
        self.chunk, self.streams, self.chunks = chunk, streams, chunks

    def stream_infos(self) -> tuple[StreamInformation, ...]:
        return self.streams or (StreamInformation("x", 0, "dense", np.float32, (2,)),)

    def num_chunks(self) -> int:
        return self.chunks

    def get_chunk(self, chunk_id: int) -> Any:
        return self.chunk(chunk_id) if callable(self.chunk) else self.chunk


def first_values(source: MinibatchSource, size: int = 7, **share: int) -> list[list[float]]:
    """The first value of each sample, minibatch by minibatch."""
    return [m["x"].samples[:, 0].tolist() for m in source.minibatches(size, **share)]


def test_chunks_come_as_they_are_handed_over() -> None:
    with MinibatchSource(Numbers(), randomize=False, max_sweeps=1) as source:
        minibatch = source.next_minibatch(6)
        assert minibatch["x"].samples.tolist() == [[0, 0], [100, 1], [101, 1], [200, 2], [201, 2], [202, 2]]
        assert minibatch["x"].lengths.tolist() == [1, 2, 3]
        assert minibatch["y"].indices.tolist() == [0, 1, 2]
        assert minibatch["y"].values.tolist() == [0.5, 1.5, 2.5]
        assert minibatch["x"].keys == [0, 1, 2]
        assert source.streams.x.shape == (2,)
        assert source.streams.y.is_sparse


@pytest.mark.parametrize("composable", [False, True])
@pytest.mark.parametrize("randomize", [False, True, "global"])
def test_a_fresh_source_goes_on_from_every_state(randomize: bool | str, composable: bool) -> None:
    def opened() -> MinibatchSource:
        return MinibatchSource(Numbers(composable=composable), randomize=randomize, max_sweeps=2)

    straight = first_values(opened())
    assert sorted(sum(straight, [])) == sorted([100.0 * k + t for k in range(20) for t in range(1 + k % 3)] * 2)
    source = opened()
    for behind in range(1, len(straight) + 1):
        state = source.next_minibatch(7).state
        fresh = opened()
        fresh.restore_from_checkpoint(state)
        assert first_values(fresh) == straight[behind:]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("randomize", [False, True])
def test_it_joins_a_file_by_key_shared_and_resumed(randomize: bool, first: int) -> None:
    class Names(UserDeserializer):
        """The number of each of the six lines of ``train.ctf``, the last line first."""

        def stream_infos(self) -> list[StreamInformation]:
            return [StreamInformation("number", 0, "dense", np.float32, ())]

        def num_chunks(self) -> int:
            return 3

        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            return {"number": np.array(self.keys(chunk_id))}

        def keys(self, chunk_id: int) -> list[int]:
            return [5 - 2 * chunk_id, 4 - 2 * chunk_id]

    def opened() -> MinibatchSource:
        parts = [CTFDeserializer("train.ctf", StreamDefs(x=StreamDef("x", 4))), Names()]
        return MinibatchSource(parts[first:] + parts[:first], randomize=randomize, max_sweeps=2)

    source, rest = opened(), []
    state = source.next_minibatch(2).state
    for minibatch in source.minibatches(2):
        assert minibatch["number"].samples.tolist() == minibatch["x"].samples[:, 0].tolist() == minibatch["x"].keys
        rest.append(minibatch["x"].keys)
    assert len(sum(rest, [])) == 10
    fresh = opened()
    fresh.restore_from_checkpoint(state)
    assert [minibatch["x"].keys for minibatch in fresh.minibatches(2)] == rest
    shares = [
        m["number"].samples.tolist()
        for rank in range(2)
        for m in opened().minibatches(2, num_data_partitions=2, partition_index=rank)
    ]
    assert sorted(sum(shares, [])) == sorted(list(range(6)) * 2)


def test_workers_share_all_of_it() -> None:
    shares = [
        first_values(MinibatchSource(Numbers(), max_sweeps=1), num_data_partitions=2, partition_index=rank)
        for rank in range(2)
    ]
    assert sorted(sum(shares[0] + shares[1], [])) == sorted(100.0 * k + t for k in range(20) for t in range(1 + k % 3))


def test_a_source_pickles_with_its_deserializer() -> None:
    with MinibatchSource(Numbers(), max_sweeps=1) as source:
        source.next_minibatch(7)
        copy = pickle.loads(pickle.dumps(source))
        assert first_values(copy) == first_values(source)


def test_anything_that_looks_like_a_deserializer_is_one() -> None:
    class Looks:
        def stream_infos(self) -> list[StreamInformation]:
            return [StreamInformation("x", 0, "dense", np.float32, 2)]

        def num_chunks(self) -> int:
            return 1

        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            return {"x": np.eye(2)}

    with MinibatchSource([Looks()], randomize=False, max_sweeps=1) as source:  # type: ignore[list-item]
        assert source.next_minibatch(5)["x"].samples.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "data, shape, expected",
    [
        (np.arange(4).reshape(2, 2), (2,), [[[0, 1]], [[2, 3]]]),
        (np.arange(4, dtype=np.float64).reshape(2, 2).T, (2,), [[[0, 2]], [[1, 3]]]),
        (np.arange(2, dtype=np.uint8), (1,), [[[0]], [[1]]]),
        (np.array([True, False]), (), [[1], [0]]),
        (np.arange(8, dtype=np.int16).reshape(2, 2, 2), (2, 2), [[[[0, 1], [2, 3]]], [[[4, 5], [6, 7]]]]),
        (np.arange(4).reshape(1, 4), (2, 2), [[[[0, 1], [2, 3]]]]),
        (np.arange(8).reshape(2, 2, 2), (2,), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
        ([np.zeros((0, 2)), np.ones((1, 2), np.float16)], (2,), [[], [[1, 1]]]),
        ([[[1, 2]], [[3, 4], [5, 6]]], (2,), [[[1, 2]], [[3, 4], [5, 6]]]),
        ([np.arange(3)], (1,), [[[0], [1], [2]]]),
    ],
)
def test_dense_data_of_all_kinds(data: Any, shape: tuple[int, ...], expected: list[Any]) -> None:
    plain = Plain({"x": data}, StreamInformation("x", 0, "dense", np.float32, shape))
    with MinibatchSource(plain, randomize=False, max_sweeps=1) as source:
        found = source.next_minibatch(100)["x"].as_sequences()
        assert [s.tolist() for s in found] == expected
        assert all(s.dtype == np.float32 for s in found)


def test_doubles_stay_doubles_where_the_source_has_them() -> None:
    with MinibatchSource(Plain({"x": np.array([[0.1, 2**53 - 1]])}), randomize=False, dtype="float64") as source:
        assert source.next_minibatch(1)["x"].samples.tolist() == [[0.1, 2**53 - 1]]


SPARSE = StreamInformation("x", 0, "sparse", np.float32, (4,))


def test_sparse_rows_are_sorted_and_added_up() -> None:
    matrix = csr_matrix((np.array([1, 2, 4]), np.array([3, 0, 3]), np.array([0, 3, 3])), (2, 4))
    with MinibatchSource(Plain({"x": matrix}, SPARSE), randomize=False, max_sweeps=1) as source:
        x = source.next_minibatch(9)["x"]
        assert (x.indptr.tolist(), x.indices.tolist(), x.values.tolist()) == ([0, 2, 2], [0, 3], [2, 5])
        assert x.num_sequences == 2


def matrix_with(indices: list[int], columns: int = 4) -> csr_matrix:
    """A matrix of one row with these column numbers, which SciPy would refuse."""
    matrix = csr_matrix((1, columns))
    matrix.indices, matrix.data = np.array(indices, np.int32), np.ones(len(indices))
    matrix.indptr = np.array([0, len(indices)], np.int32)
    return matrix


@pytest.mark.parametrize(
    "chunk, streams, what",
    [
        (7, (), "TypeError: returned int, expected a mapping"),
        ({}, (), "ValueError: no data for stream `x`, found nothing"),
        ({"x": np.eye(2), "z": 1}, (), "ValueError: data for `z`, which is no stream; there are x"),
        ({"x": np.eye(3)}, (), "ValueError: stream `x`: an array of shape (3, 3), expected [sequences, 2]"),
        ({"x": [np.eye(3)]}, (), "ValueError: stream `x`: sequence 0 is an array of shape (3, 3), expected [samples, 2]"),
        ({"x": np.array([["a", "b"]])}, (), "TypeError: stream `x`: an array of <U1, expected numbers"),
        ({"x": np.array([[1j, 0]])}, (), "TypeError: stream `x`: an array of complex128, expected numbers"),
        ({"x": csr_matrix((1, 2))}, (), "TypeError: stream `x`: a sparse matrix for a dense stream"),
        ({"x": np.eye(4)}, (SPARSE,), "TypeError: stream `x`: ndarray, expected a sparse matrix"),
        ({"x": csr_matrix((1, 5))}, (SPARSE,), "ValueError: stream `x`: a matrix of shape (1, 5), expected 4 columns"),
        ({"x": matrix_with([-1])}, (SPARSE,), "ValueError: stream `x`: found index -1, expected one from 0 below 4"),
        ({"x": matrix_with([4])}, (SPARSE,), "ValueError: stream `x`: found index 4, expected one from 0 below 4"),
    ],
)
def test_a_chunk_that_does_not_fit_is_an_error_that_says_why(
    chunk: Any, streams: tuple[StreamInformation, ...], what: str
) -> None:
    with pytest.raises(DataError) as e:
        MinibatchSource(Plain(chunk, *streams))
    assert f"Plain, chunk 0: `get_chunk(0)` raised {what}" in str(e.value)
    assert e.value.chunk == 0 and e.value.file == "Plain"


def test_streams_of_different_numbers_of_sequences_are_an_error() -> None:
    streams = [StreamInformation(name, i, "dense", np.float32, (1,)) for i, name in enumerate("xy")]
    with pytest.raises(DataError, match="stream `y` has 3 sequences, stream `x` has 2"):
        MinibatchSource(Plain({"x": np.ones((2, 1)), "y": np.ones((3, 1))}, *streams))


@pytest.mark.parametrize(
    "arguments, what",
    [
        ({"streams": ()}, None),
        ({"streams": ("x", "x")}, "two streams of the name `x`"),
        ({"chunks": 0}, "returned 0, expected a whole number from 1"),
        ({"chunks": float("nan")}, "returned nan, expected a whole number from 1"),
    ],
)
def test_a_deserializer_that_cannot_be_is_refused(arguments: dict[str, Any], what: str | None) -> None:
    names = arguments.pop("streams", ("x",))
    streams = [StreamInformation(name, i, "dense", np.float32, (1,)) for i, name in enumerate(names)]
    plain = Plain({"x": np.ones((1, 1))}, *streams, **arguments)
    if what is None:
        plain.stream_infos = lambda: ()  # type: ignore[method-assign]
        what = "`Plain` has no streams"
    with pytest.raises(ValueError, match=what):
        MinibatchSource(plain)


def test_an_exception_of_the_users_code_is_the_cause() -> None:
    def chunk(number: int) -> dict[str, Any]:
        if number == 1:
            raise KeyError("gone")
        return {"x": np.eye(2)}

    plain = Plain(chunk, chunks=3)
    plain.sequence_lengths = lambda number: [1, 1]  # type: ignore[method-assign]
    with MinibatchSource(plain, randomize=False, max_sweeps=1) as source:
        source.next_minibatch(2)
        for _ in range(2):
            with pytest.raises(DataError, match=r"Plain, chunk 1: `get_chunk\(1\)` raised KeyError: 'gone'") as e:
                source.next_minibatch(2)
            assert isinstance(e.value.__cause__, KeyError)
            assert e.value.chunk == 1
        source.skip_failed()
        assert source.next_minibatch(2)["x"].num_sequences == 2


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("lengths", [True, False])
def test_an_interrupt_in_the_users_code_is_no_error_of_the_data(interrupt: type[BaseException], lengths: bool) -> None:
    def chunk(number: int) -> dict[str, Any]:
        raise interrupt

    plain = Plain(chunk, chunks=3)
    if lengths:
        plain.sequence_lengths = lambda number: [1, 1]  # type: ignore[method-assign]
    with pytest.raises(interrupt), MinibatchSource(plain, randomize=False, max_sweeps=1) as source:
        source.next_minibatch(2)


def test_lengths_that_are_told_spare_the_index_pass(caplog: pytest.LogCaptureFixture) -> None:
    numbers = Numbers()
    numbers.sequence_lengths = lambda c: [1 + k % 3 for k in range(4 * c, 4 * c + 4)]  # type: ignore[method-assign]
    with caplog.at_level(logging.INFO, "tesson"), MinibatchSource(numbers) as source:
        assert numbers.calls == []
        assert source.num_sequences == 20
    assert caplog.records == []


def test_an_index_pass_is_announced_once(caplog: pytest.LogCaptureFixture) -> None:
    numbers = Numbers(composable=True)
    with caplog.at_level(logging.INFO, "tesson"), MinibatchSource(numbers):
        assert sorted(numbers.calls) == [0, 1, 2, 3, 4]
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["Numbers does not tell the lengths of its sequences: its 5 chunks are read once to index them"]


@pytest.mark.parametrize(
    "told, what",
    [
        ([1, float("nan")], "ValueError: found the length nan"),
        ([1, 0], "ValueError: found the length 0"),
        ([1, 1.5], "ValueError: found the length 1.5"),
        ([1, -2], "ValueError: found the length -2"),
        (["1"], "TypeError: returned an array of shape"),
    ],
)
def test_lengths_that_are_none_are_refused(told: Any, what: str) -> None:
    plain = Plain({"x": np.eye(2)})
    plain.sequence_lengths = lambda number: told  # type: ignore[method-assign]
    with pytest.raises(DataError) as e:
        MinibatchSource(plain)
    assert f"chunk 0: `sequence_lengths(0)` raised {what}" in str(e.value)


def test_other_lengths_than_told_are_an_error_that_names_chunk_and_sequence() -> None:
    plain = Plain({"x": np.eye(2)})
    plain.sequence_lengths = lambda number: [1, 2]  # type: ignore[method-assign]
    with MinibatchSource(plain) as source:
        with pytest.raises(DataError, match="Plain, chunk 0: .*: sequence 1 has 1 sample, 2 when it was indexed"):
            source.next_minibatch(9)


def test_keys_are_numbers_or_texts() -> None:
    plain = Plain({"x": np.eye(2)})
    plain.keys = lambda number: np.array([7, 2**63], np.uint64)  # type: ignore[method-assign]
    with MinibatchSource(plain, randomize=False) as source:
        assert source.next_minibatch(2)["x"].keys == [7, 2**63]
    for keys, what in [([7], "1 key for 2 sequences"), ([1, -1], "found the key -1"), ([1, "a"], "keys of one kind")]:
        plain.keys = lambda number: keys  # type: ignore[method-assign]
        with pytest.raises(DataError, match=what):
            MinibatchSource(plain)


def test_a_state_of_other_data_is_refused() -> None:
    with MinibatchSource(Numbers()) as source, MinibatchSource(Numbers(chunks=4)) as other:
        with pytest.raises(ResumeError):
            other.restore_from_checkpoint(source.get_checkpoint_state())


@pytest.mark.parametrize("thread_safe", [False, True])
def test_calls_are_made_one_at_a_time_unless_it_may_have_several(thread_safe: bool) -> None:
    class Watched(Numbers):
        inside = most = 0
        #: Lets calls wait for each other: two of them, where two may come.
        meeting = threading.Barrier(2 if thread_safe else 1)

        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            Watched.inside += 1
            Watched.most = max(Watched.most, Watched.inside)
            Watched.meeting.wait(60)
            Watched.inside -= 1
            return super().get_chunk(chunk_id)

    # The index pass makes eight calls, which meet in pairs where they may.
    with MinibatchSource(Watched(chunks=8, thread_safe=thread_safe), max_sweeps=1, threads=4) as source:
        assert source.num_sequences == 32
    assert (Watched.most > 1) == thread_safe


@pytest.mark.parametrize("threads", [1, 2])
def test_a_deserializer_cannot_use_the_source_that_calls_it(threads: int) -> None:
    class Greedy(Numbers):
        source: MinibatchSource | None = None

        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            if self.source is not None:
                self.source.next_minibatch(1)
            return super().get_chunk(chunk_id)

    greedy = Greedy()
    with MinibatchSource(greedy, randomize=False, max_sweeps=1, threads=threads) as source:
        greedy.source = source
        with pytest.raises(DataError, match=r"`get_chunk\(\d\)` raised UsageError: the source is used by its own transform"):
            for _ in source.minibatches(1):
                pass
