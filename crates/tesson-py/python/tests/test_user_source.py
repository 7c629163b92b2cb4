"""Sources of the user's own, and minibatch data made of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tesson import UsageError
from tesson.io import MinibatchData, StreamInformation, UserMinibatchSource


class Counting(UserMinibatchSource):
    """Ten samples, numbered."""

    def __init__(self) -> None:
        self.position = 0
        self.x = StreamInformation("x", 0, "dense", np.float32, (1,))

    def stream_infos(self) -> list[StreamInformation]:
        return [self.x]

    def next_minibatch(
        self, num_samples: int, number_of_workers: int, worker_rank: int, device: object = None
    ) -> Mapping[StreamInformation, MinibatchData]:
        numbers = np.arange(self.position, min(self.position + num_samples, 10))
        self.position += len(numbers)
        own = numbers[worker_rank::number_of_workers]
        return {self.x: MinibatchData(own[:, None], len(own), len(own), self.position == 10)} if len(numbers) else {}

    def get_checkpoint_state(self) -> dict[str, Any]:
        return {"position": self.position}

    def restore_from_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        self.position = checkpoint["position"]


def test_it_is_read_as_any_source() -> None:
    with Counting() as source:
        assert [m["x"].samples.ravel().tolist() for m in source.minibatches(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert not source.next_minibatch(4)
        assert source.streams.x == source.stream_info("x") == source["x"]


def test_streams_are_looked_up_by_name_information_and_input_map() -> None:
    source = Counting()
    minibatch = source.next_minibatch(3, {"input": source.streams.x})
    assert minibatch["input"] is minibatch["x"] is minibatch[source.streams.x]
    assert list(minibatch) == ["input"]
    assert list(source.next_minibatch(1)) == ["x"]
    with pytest.raises(KeyError):
        minibatch["y"]


def test_workers_are_passed_as_the_source_or_as_cntk_passes_them() -> None:
    for call in (
        lambda s: s.next_minibatch(6, num_data_partitions=2, partition_index=1),
        lambda s: s.next_minibatch(6, None, None, 2, 1),
        lambda s: s.next_minibatch(6, 2, 1),
        lambda s: s.next_minibatch(num_samples=6, number_of_workers=2, worker_rank=1, device=None),
    ):
        assert call(Counting())["x"].samples.ravel().tolist() == [1, 3, 5]
    with pytest.raises(TypeError, match="workers"):
        Counting().next_minibatch(6, workers=2)


def test_its_state_is_its_own() -> None:
    source, other = Counting(), Counting()
    source.next_minibatch(7)
    other.load_state_dict(source.state_dict())
    assert other.current_position == {"position": 7}
    assert other.next_minibatch(9)["x"].samples.ravel().tolist() == [7, 8, 9]


def test_values_of_all_kinds_become_minibatch_data() -> None:
    dense = MinibatchData(np.eye(2), 2, 2, True)
    assert (dense.num_sequences, dense.num_samples, dense.end_of_sweep, dense.shape) == (2, 2, True, (2, 1, 2))
    sequences = MinibatchData([np.ones((1, 2)), np.zeros((3, 2))], 2, 4)
    assert sequences.mask.tolist() == [[2, 0, 0], [2, 1, 1]]
    assert sequences.layout.rows == 2
    padded = MinibatchData(np.arange(8).reshape(2, 2, 2), 2, 4)
    assert (padded.lengths.tolist(), padded.asarray().tolist()) == ([2, 2], np.arange(8).reshape(2, 2, 2).tolist())
    sparse = MinibatchData(csr_matrix(np.eye(3)), 3, 3)
    assert [s.toarray().tolist() for s in sparse.as_sequences()] == [[[1, 0, 0]], [[0, 1, 0]], [[0, 0, 1]]]
    assert MinibatchData(np.array([[0.1]], np.float64), 1, 1).samples.dtype == np.float64
    assert MinibatchData(np.array([[0.5]], np.float32), 1, 1).samples.dtype == np.float32


def test_numbers_that_do_not_fit_the_value_are_refused() -> None:
    with pytest.raises(UsageError, match="2 sequences and 2 samples, 3 and 3 are said to be in it"):
        MinibatchData(np.eye(2), 3, 3)
