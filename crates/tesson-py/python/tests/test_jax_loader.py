"""Batches of loaders and of prepared datasets as JAX arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepare import tensor, write_dataset
from scipy.sparse import csr_matrix

import tesson.jax
from tesson import Loader, tfds

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")


def loader(**options: Any) -> Loader:
    """Eleven examples in batches of four."""
    data = tesson.from_arrays(x=np.arange(22, dtype=np.float32).reshape(11, 2), y=np.arange(11), t=[[i] * (i % 3) for i in range(11)])
    return data.loader(**{"batch_size": 4, "shuffle": True, "seed": 2, **options})


def taken(batches: Any, n: int | None = None) -> list[list[int]]:
    found = []
    for batch in batches:
        found.append(batch["y"].tolist())
        if len(found) == n:
            break
    return found


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_epochs_are_those_of_the_loader(prefetch: int) -> None:
    plain, batches = loader(), loader().jax(prefetch=prefetch, pad_multiple=4)
    for _ in range(2):
        for batch, expected in zip(batches, plain, strict=True):
            assert isinstance(batch["x"], jax.Array)
            np.testing.assert_array_equal(batch["x"], expected["x"])
            assert batch["y"].dtype == np.int32
            np.testing.assert_array_equal(batch["y"], expected["y"])
            np.testing.assert_array_equal(batch["t"], expected["t"].pad(multiple=4).values)
            np.testing.assert_array_equal(batch["t_lengths"], expected["t"].lengths)
    assert len(batches) == 3


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("stop", range(7))
def test_states_are_those_of_what_was_handed_over(prefetch: int, stop: int) -> None:
    whole = loader()
    expected = [batch["y"].tolist() for batch in whole.steps(7)]
    first, found = loader().jax(prefetch=prefetch), []
    while len(found) < stop:
        found += taken(first, stop - len(found))
    second = loader().jax(prefetch=prefetch)
    second.load_state_dict(first.state_dict())
    while len(found) < 7:
        found += taken(second, 7 - len(found))
    assert found == expected
    plain = loader()
    plain.load_state_dict(first.state_dict())
    assert [batch["y"].tolist() for batch in plain.steps(7 - stop)] == expected[stop:]


def test_arrays_are_sharded() -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    batch = next(iter(loader().jax(sharding=sharding)))
    assert batch["x"].sharding == sharding


def test_values_that_jax_would_change_are_refused() -> None:
    with pytest.raises(tesson.DataError, match="1152921504606846976, which is no int32"):
        next(iter(tesson.from_arrays(x=np.array([1, 2**60])).loader(batch_size=2).jax()))
    with pytest.raises(tesson.UsageError, match="would round to float32"):
        next(iter(tesson.from_arrays(x=np.array([0.1])).loader(batch_size=2).jax()))
    with pytest.raises(tesson.UsageError, match="strings"):
        tesson.from_arrays(x=["a", "b"]).loader(batch_size=2).jax()


def test_sparse_streams_have_a_layout() -> None:
    matrix = csr_matrix(np.eye(3, dtype=np.float32)[[2, 0]])
    loader = tesson.from_arrays(x=matrix).loader(batch_size=2)
    with pytest.raises(tesson.ConfigError, match="choose 'dense', or 'classes'"):
        loader.jax()
    assert next(iter(loader.jax(layouts={"x": "classes"})))["x"].tolist() == [2, 0]
    assert next(iter(loader.jax(layouts={"x": "dense"})))["x"].tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(tesson.ConfigError, match="no stream 'y'"):
        loader.jax(layouts={"y": "dense"})


def test_the_loader_stands_where_its_batches_do() -> None:
    plain = loader()
    batches = plain.jax()
    assert taken(batches, 1) == [batch["y"].tolist() for batch in loader().steps(1)]
    assert plain.state_dict() == batches.state_dict()
    rest = [batch["y"].tolist() for batch in plain]
    assert rest == [batch["y"].tolist() for batch in loader().steps(3)][1:]
    with pytest.raises(tesson.UsageError, match="begun another iteration"):
        next(batches)


def test_every_dataset_has_minibatches() -> None:
    data = tesson.from_arrays(y=np.arange(5))
    assert taken(tesson.jax.minibatches(data, 3)) == [[0, 1, 2], [3, 4]]


def test_prepared_datasets_have_minibatches_and_resume(tmp_path: Path) -> None:
    examples = [{"y": i, "x": [i, i + 0.5]} for i in range(7)]
    at = write_dataset(tmp_path / "d" / "1.0.0", {"y": tensor("int64"), "x": tensor("float32", 2)}, {"train": [examples]})
    dataset = tfds.builder_from_directory(at).as_dataset(split="train")
    batches = tesson.jax.minibatches(dataset, 3)
    assert len(batches) == 3
    assert taken(batches) == [[0, 1, 2], [3, 4, 5], [6]]
    assert taken(batches, 1) == [[0, 1, 2]]
    other = tesson.jax.minibatches(tfds.builder_from_directory(at).as_dataset(split="train"), 3)
    other.load_state_dict(batches.state_dict())
    assert taken(other) == taken(batches) == [[3, 4, 5], [6]]
