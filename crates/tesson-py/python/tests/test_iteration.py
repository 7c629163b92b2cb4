"""Iterating over sources, and what can be done with minibatches elsewhere: pickles, and arrays of other frameworks."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tesson import UserDeserializer
from tesson.io import (
    INFINITELY_REPEAT,
    CTFDeserializer,
    Minibatch,
    MinibatchData,
    MinibatchSource,
    StreamDef,
    StreamDefs,
    StreamInformation,
    UserMinibatchSource,
)

Makers = tuple[Callable[..., MinibatchSource], Callable[..., MinibatchSource]]


def values(minibatches: Any) -> list[list[float]]:
    return [minibatch["x"].samples.ravel().tolist() for minibatch in minibatches]


def test_a_source_without_an_end_is_read_to_the_end_of_the_sweep() -> None:
    source = MinibatchSource.from_data(x=np.arange(6))
    # A minibatch may hold the beginning of the next sweep, which is then not read again.
    assert values(source.minibatches(4)) == [[0, 1, 2, 3], [4, 5, 0, 1]]
    assert values(source.minibatches(4)) == [[2, 3, 4, 5]]
    source = MinibatchSource.from_data(x=np.arange(6))
    epochs = [values(source.minibatches(3)) for _ in range(3)]
    assert epochs == [[[0, 1, 2], [3, 4, 5]]] * 3
    source.next_minibatch(3)
    assert values(source.minibatches(3)) == [[3, 4, 5]]
    assert len(values(source.minibatches(3, sweeps=4))) == 8
    endless = source.minibatches(3, sweeps=INFINITELY_REPEAT)
    assert len([next(endless) for _ in range(20)]) == 20


def test_a_source_with_an_end_is_read_to_it_or_to_the_end_of_the_sweeps_asked_for() -> None:
    source = MinibatchSource.from_data(x=np.arange(6), max_sweeps=3)
    assert len(values(source.minibatches(3, sweeps=1))) == 2
    assert len(values(source.minibatches(3))) == 4
    assert values(source.minibatches(3)) == []


def test_a_source_is_iterated_with_its_own_size() -> None:
    source = MinibatchSource.from_data(x=np.arange(300))
    assert [minibatch.num_sequences for minibatch in source] == [256, 256]
    assert [len(minibatch["x"].samples) for minibatch in MinibatchSource.from_data(x=np.arange(3), max_sweeps=1)] == [3]


class Chunks(UserDeserializer):
    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("x", 0, "dense", np.float32, (1,))]

    def num_chunks(self) -> int:
        return 2

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        return {"x": np.arange(4 * chunk_id, 4 * chunk_id + 4).reshape(4, 1)}


@pytest.mark.parametrize("randomize", [False, True])
def test_a_sweep_of_a_local_timeline_ends_where_its_minibatches_fill_up(randomize: bool) -> None:
    source = MinibatchSource(Chunks(), randomize=randomize)
    for _ in range(3):
        assert sorted(sum(values(source.minibatches(4)), [])) == list(range(8))


class Endless(UserMinibatchSource):
    """Numbers from 0, of which every third ends a sweep."""

    position = 0

    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("x", 0, "dense", np.float32, (1,))]

    def next_minibatch(
        self, num_samples: int, number_of_workers: int, worker_rank: int, device: object = None
    ) -> dict[str, MinibatchData]:
        self.position += 1
        return {"x": MinibatchData(np.full((1, 1), self.position), 1, 1, self.position % 3 == 0)}


def test_a_custom_source_is_iterated_alike() -> None:
    source = Endless()
    assert values(source) == [[1], [2], [3]]
    assert len(values(source.minibatches(1, sweeps=2))) == 6


def test_minibatches_pickle_with_all_they_hold(sources: Makers) -> None:
    train, tagging = sources
    for minibatch in [
        train().next_minibatch(4),
        tagging().next_minibatch(5),
        tagging(dtype="float64").next_minibatch(5),
        tagging(truncation_length=2, randomize=False).next_minibatch(4),
        MinibatchSource.from_data(x=np.eye(4), data=[np.eye(2)] * 4).next_minibatch(3),
    ]:
        again: Minibatch = pickle.loads(pickle.dumps(minibatch))
        assert repr(again) == repr(minibatch) and list(again) == list(minibatch)
        assert (again.state, again.sweep_end, again.num_sequences) == (
            minibatch.state, minibatch.sweep_end, minibatch.num_sequences,
        )
        for name, data in minibatch.items():
            for copy in (again[name], pickle.loads(pickle.dumps(data))):
                assert (copy.keys, copy.lengths.tolist(), copy.dtype) == (data.keys, data.lengths.tolist(), data.dtype)
                assert np.array_equal(copy.asarray(), data.asarray()) and np.array_equal(copy.mask, data.mask)
                assert copy.layout.places.tolist() == data.layout.places.tolist()


def test_the_end_of_the_data_and_custom_data_pickle() -> None:
    assert not pickle.loads(pickle.dumps(MinibatchSource.from_data(x=np.eye(2), max_sweeps=0).next_minibatch(2)))
    data = pickle.loads(pickle.dumps(MinibatchData(np.eye(2), 2, 2, True)))
    assert data.samples.tolist() == np.eye(2).tolist() and data.end_of_sweep


def test_a_restored_pickle_is_a_state_to_continue_from(sources: Makers) -> None:
    source = sources[0]()
    minibatch = pickle.loads(pickle.dumps(source.next_minibatch(2)))
    rest = source.next_minibatch(4)["features"].keys
    source.restore_from_checkpoint(minibatch.state)
    assert source.next_minibatch(4)["features"].keys == rest


def test_parts_that_do_not_fit_make_no_minibatch(sources: Makers) -> None:
    batch = sources[1]().next_minibatch(5)._batch
    streams, keys, sweep_end, state = batch.parts()
    for wrong in ([*streams[1][:4], [9, 9], *streams[1][5:]], [*streams[0][:4], [9, 9], *streams[0][5:]]):
        with pytest.raises(ValueError, match="no minibatch"):
            type(batch).of_parts([tuple(wrong)], keys, sweep_end, state)
    with pytest.raises(ValueError, match="2 sequences, 1 key"):
        type(batch).of_parts(streams, keys[:1], sweep_end, state)


def test_dense_data_are_arrays_of_other_frameworks(sources: Makers) -> None:
    minibatch = sources[1]().next_minibatch(5)
    tags = minibatch["tags"]
    assert np.array_equal(np.from_dlpack(tags), tags.asarray())
    assert np.array_equal(np.asarray(tags), tags.asarray())
    assert tags.__dlpack_device__() == (1, 0)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert "dltensor_versioned" in repr(tags.__dlpack__(max_version=(1, 0)))
        even = MinibatchSource.from_data(x=np.eye(4), max_sweeps=1).next_minibatch(4)["x"]
        assert np.shares_memory(np.from_dlpack(even, copy=False), even.samples)
        assert not np.shares_memory(np.from_dlpack(even, copy=True), even.samples)
        with pytest.raises(BufferError, match="`tags` has sequences to be padded"):
            np.from_dlpack(tags, copy=False)
        with pytest.raises(BufferError):
            tags.__dlpack__(dl_device=(2, 0), max_version=(1, 0))
    with pytest.raises(BufferError, match="`words` is sparse: hand over its indptr"):
        np.from_dlpack(minibatch["words"])


def test_a_copy_that_is_ruled_out_is_refused(sources: Makers) -> None:
    minibatch = sources[1](randomize=False).next_minibatch(5)
    even = MinibatchSource.from_data(x=np.eye(4, dtype=np.float32), max_sweeps=1).next_minibatch(4)["x"]
    assert np.shares_memory(even.__array__(copy=False), even.samples)
    assert not np.shares_memory(even.__array__(copy=True), even.samples)
    with pytest.raises(ValueError, match="`tags` has sequences to be padded, which takes a copy: take its samples"):
        minibatch["tags"].__array__(copy=False)
    with pytest.raises(ValueError, match="`words` is sparse, which takes a copy: take its indptr"):
        minibatch["words"].__array__(copy=False)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="avoid copy"):
            even.__array__(np.float64, copy=False)
    empty = MinibatchData([np.zeros((0, 2), np.float32)], 1, 0)
    assert empty.__array__(copy=False).shape == (1, 0, 2)


@pytest.mark.parametrize("framework", ["torch", "jax.numpy"])
def test_frameworks_take_dense_streams_as_they_are(sources: Makers, framework: str) -> None:
    module = pytest.importorskip(framework, reason="frameworks are optional dependencies")
    tags = sources[1](randomize=False).next_minibatch(5)["tags"]
    take = getattr(module, "as_tensor", None) or module.asarray
    assert np.asarray(take(tags)).tolist() == tags.asarray().tolist()
    assert np.asarray(module.from_dlpack(tags)).tolist() == tags.asarray().tolist()


def test_sources_say_what_they_hold(sources: Makers) -> None:
    assert str(sources[0]()) == "<MinibatchSource: features dense (4,), labels sparse (3,); no end>"
    source = MinibatchSource.from_data(x=np.eye(4), max_sweeps=1)
    assert "<MemoryDeserializer: 4 sequences, x dense (4,)>" in repr(source)


def few_chunks(files: Path, **arguments: Any) -> MinibatchSource:
    streams = StreamDefs(x=StreamDef("x", 4))
    return MinibatchSource(CTFDeserializer("train.ctf", streams), max_sweeps=1, **arguments)


@pytest.mark.parametrize("rank", [0, 1])
def test_every_rank_is_told_at_opening_that_some_get_no_data(
    rank: int, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tesson"):
        source = few_chunks(files, num_data_partitions=2, partition_index=rank)
    (record,) = caplog.records
    assert record.getMessage().startswith("rank 1 of 2 gets no data, and a job whose ranks wait for each other hangs")
    assert '`sharing="position"`' in record.getMessage()
    assert len(list(source.minibatches(2))) == (0 if rank else 6)


def test_more_than_one_rank_without_data_are_counted(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tesson"):
        few_chunks(files, num_data_partitions=4, partition_index=0)
    assert "ranks 1 to 3 of 4 get no data" in caplog.text


def test_sharing_by_position_needs_no_warning(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tesson"):
        source = few_chunks(files, num_data_partitions=2, partition_index=1, sharing="position")
    assert caplog.records == []
    assert [minibatch.num_sequences for minibatch in source.minibatches(2)] == [1, 1, 1]
    # Pickles keep the share.
    again = few_chunks(files, num_data_partitions=2, partition_index=1, sharing="position")
    assert pickle.loads(pickle.dumps(again)).next_minibatch(2).num_sequences == 1
    # A call may still name another.
    assert again.next_minibatch(2, num_data_partitions=1, partition_index=0).num_sequences == 2
