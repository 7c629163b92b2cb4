"""Loaders in PyTorch: tensors of each kind of stream, and states that count what was yielded."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from kills import free_port

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import DataLoader  # noqa: E402

import tesson  # noqa: E402
from tesson import ConfigError, UsageError  # noqa: E402


def numbers() -> tesson.Dataset:
    return tesson.from_arrays(x=np.arange(10), lists=[list(range(i % 3)) for i in range(10)])


def values(batches: Any) -> list[list[int]]:
    return [batch["x"].tolist() for batch in batches]


EPOCH = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.fixture
def pins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that counts as pinned, which takes a driver that a machine without a GPU does not have."""
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor, device=None: tensor.clone())
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "float16", "float32", "float64"])
def test_types_are_kept(dtype: str) -> None:
    array = np.arange(12).reshape(6, 2).astype(dtype)
    batch = next(iter(tesson.from_arrays(x=array).loader(batch_size=6).torch()))
    assert batch["x"].dtype == getattr(torch, dtype)
    np.testing.assert_array_equal(batch["x"].numpy(), array)


def test_ragged_and_sparse_streams_have_layouts() -> None:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(np.eye(3, dtype=np.float32)[[2, 0, 1]])
    data = tesson.from_arrays(lists=[[1, 2], [], [3]], sparse=matrix)
    padded = next(iter(data.loader(batch_size=3).torch()))
    assert padded["lists"].values.tolist() == [[1, 2], [0, 0], [3, 0]]
    assert padded["lists"].lengths.tolist() == [2, 0, 1]
    assert padded["lists"].mask.tolist() == [[True, True], [False, False], [True, False]]
    assert padded["sparse"].to_dense().tolist() == matrix.toarray().tolist()
    others = next(iter(data.loader(batch_size=3).torch(layouts={"lists": "nested", "sparse": "classes"})))
    assert [part.tolist() for part in others["lists"].unbind()] == [[1, 2], [], [3]]
    assert others["sparse"].tolist() == [2, 0, 1]
    coo = next(iter(data.loader(batch_size=3).torch(layouts={"sparse": "coo"})))["sparse"]
    assert coo.to_dense().tolist() == matrix.toarray().tolist()


def test_layouts_that_do_not_fit_are_refused() -> None:
    loader = numbers().loader(batch_size=4)
    with pytest.raises(ConfigError, match="found 'padded' for a dense stream"):
        loader.torch(layouts={"x": "padded"})
    with pytest.raises(ConfigError, match="no stream 'y', there are x, lists"):
        loader.torch(layouts={"y": "padded"})


def test_epochs_are_those_of_the_loader() -> None:
    batches = numbers().loader(batch_size=4).torch()
    assert len(batches) == 3
    assert [values(batches) for _ in range(2)] == [EPOCH] * 2


def test_pytorchs_loader_takes_it_without_workers() -> None:
    batches = numbers().loader(batch_size=4).torch()
    assert values(DataLoader(batches, batch_size=None)) == EPOCH
    with pytest.raises(UsageError, match="num_workers=0"):
        values(DataLoader(batches, batch_size=None, num_workers=1))


@pytest.mark.parametrize("pin_memory", [False, True])
def test_a_state_counts_what_was_yielded(pins: None, pin_memory: bool) -> None:
    def batches() -> Any:
        return numbers().loader(batch_size=4).torch(device="cpu", pin_memory=pin_memory)

    for taken in range(6):
        first = batches()
        found: list[list[int]] = []
        while len(found) < taken:
            for batch in first:
                found.append(batch["x"].tolist())
                if len(found) == taken:
                    break
        second = batches()
        second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
        while len(found) < 6:
            found += values(second)
        assert found == EPOCH * 2, taken


def test_a_loop_in_pinned_memory_that_is_left_goes_on_with_the_rest(pins: None) -> None:
    batches = numbers().loader(batch_size=4).torch(pin_memory=True)
    for batch in batches:
        assert batch["x"].tolist() == EPOCH[0]
        break
    assert values(batches) == EPOCH[1:]


def test_stateful_data_loaders_resume_after_the_last_batch() -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

    def loader() -> Any:
        return stateful.StatefulDataLoader(numbers().loader(batch_size=4).torch(), batch_size=None)

    first = loader()
    iterator = iter(first)
    assert next(iterator)["x"].tolist() == EPOCH[0]
    second = loader()
    second.load_state_dict(first.state_dict())
    assert [values(second), values(second)] == [EPOCH[1:], EPOCH]


def test_batches_have_keys_and_padding_as_asked() -> None:
    data = tesson.from_arrays(t=[[1, 2, 3], [4]], x=np.arange(2))
    batch = next(iter(data.loader(batch_size=2).torch(keys="id", pad_value=-1, pad_multiple=4)))
    assert batch["id"] == [0, 1]
    assert batch["t"].values.tolist() == [[1, 2, 3, -1], [4, -1, -1, -1]]
    assert batch["t"].lengths.tolist() == [3, 1]
    with pytest.raises(tesson.ConfigError, match="the data have a stream 'x'"):
        data.loader(batch_size=2).torch(keys="x")
    with pytest.raises(tesson.UsageError, match="no int64"):
        next(iter(data.loader(batch_size=2).torch(pad_value=0.5)))


def test_pinning_without_a_gpu_warns_and_goes_on() -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator here")
    batches = numbers().loader(batch_size=4).torch(pin_memory=True)
    with pytest.warns(UserWarning, match="found no accelerator"):
        assert values(batches) == EPOCH


RANKS = """
import sys, datetime
import numpy as np, torch.distributed as dist
import tesson
rank = int(sys.argv[1])
store = dist.TCPStore("127.0.0.1", int(sys.argv[2]), 2, rank == 0, datetime.timedelta(seconds=60))
dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
tesson.from_arrays(x=np.arange(9)).loader(batch_size=4)
dist.barrier()
try:
    tesson.from_arrays(x=np.arange(10 + rank)).loader(batch_size=4)
except tesson.DataError as e:
    print(e)
dist.barrier()
"""


def test_ranks_that_have_other_data_than_each_other_are_told() -> None:
    port = str(free_port())
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANKS, str(rank), port], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    said = [rank.communicate() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert any("has 10 examples and rank 1 has 11" in out or "has 11 examples and rank 0 has 10" in out for out, _ in said), said


def test_pieces_are_tensors_of_the_same_values() -> None:
    data = tesson.from_arrays(x=[np.arange(n, dtype=np.float32) for n in (7, 1, 4, 9, 2, 2)])
    arrays, tensors = (data.loader(batch_size=2, truncate=3, shuffle=True, seed=1, epochs=1) for _ in range(2))
    pairs = list(zip([batch["x"] for batch in arrays], [batch["x"] for batch in tensors.torch()], strict=True))
    assert len(pairs) == 5
    for array, tensor in pairs:
        for expected, found in zip(array, tensor, strict=True):
            assert isinstance(found, torch.Tensor)
            assert np.array_equal(found.numpy(), expected)
