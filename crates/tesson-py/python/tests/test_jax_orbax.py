"""States of data in Orbax checkpoints, beside other items, by several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")
ocp = pytest.importorskip("orbax.checkpoint", reason="Orbax is an optional dependency")

import tesson.jax  # noqa: E402
import tesson.orbax  # noqa: E402
from tesson import ResumeError
from tesson.io import MinibatchSource


def source(**options: Any) -> MinibatchSource:
    return MinibatchSource.from_data(x=np.arange(40.0), randomize=True, max_sweeps=1, **options)


def values(batches: Any) -> list[list[float]]:
    return [np.ravel(batch["x"] if isinstance(batch["x"], jax.Array) else batch["x"].samples).tolist() for batch in batches]


def test_a_manager_saves_data_beside_weights(tmp_path: Path) -> None:
    whole = values(tesson.jax.minibatches(source(), 8))
    batches = tesson.jax.minibatches(source(), 8)
    weights = {"w": np.arange(3.0)}
    with ocp.CheckpointManager(tmp_path / "run") as manager:
        for step in range(3):
            next(batches)
            saved = ocp.args.Composite(weights=ocp.args.StandardSave(weights), data=tesson.orbax.DataSave(batches))
            manager.save(step, args=saved)
        manager.wait_until_finished()
        for step in (1, 2, 0):
            resumed = tesson.jax.minibatches(source(), 8)
            wanted = ocp.args.Composite(weights=ocp.args.StandardRestore(weights), data=tesson.orbax.DataRestore(resumed))
            restored = manager.restore(step, args=wanted)
            assert restored["data"] is resumed
            assert values(resumed) == whole[step + 1 :]
    assert values(batches) == whole[3:]


def steps_and_rest(steps: int) -> tuple[tesson.jax.MinibatchIterator, list[list[float]]]:
    """Minibatches of which so many were read, and those that are left."""
    batches = tesson.jax.minibatches(source(), 8)
    whole = values(tesson.jax.minibatches(source(), 8))
    for _ in range(steps):
        next(batches)
    return batches, whole[steps:]


@pytest.mark.parametrize("steps", [0, 3, 5])
def test_the_first_version_of_orbax_saves_minibatches_as_they_are(tmp_path: Path, steps: int) -> None:
    v1 = getattr(ocp, "v1", None) or pytest.skip("this Orbax has no v1")
    batches, rest = steps_and_rest(steps)
    v1.save_checkpointables(tmp_path / "run", {"weights": {"w": np.arange(3.0)}, "data": batches})
    assert values(batches) == rest
    resumed = tesson.jax.minibatches(source(), 8)
    next(resumed)
    v1.load_checkpointables(tmp_path / "run", {"data": resumed})
    assert values(resumed) == rest


@pytest.mark.parametrize("steps", [0, 3, 5])
def test_handlers_of_grain_save_minibatches(tmp_path: Path, steps: int) -> None:
    grain = pytest.importorskip("grain", reason="Grain is not installed")
    batches, rest = steps_and_rest(steps)
    assert isinstance(batches, grain.DatasetIterator)
    with ocp.CheckpointManager(tmp_path / "run") as manager:
        manager.save(0, args=grain.checkpoint.CheckpointSave(batches))
        manager.wait_until_finished()
        resumed = tesson.jax.minibatches(source(), 8)
        assert manager.restore(0, args=grain.checkpoint.CheckpointRestore(resumed)) is resumed
    assert values(resumed) == values(batches) == rest


def ranks(monkeypatch: pytest.MonkeyPatch, rank: int, size: int) -> None:
    monkeypatch.setattr(jax, "process_index", lambda: rank)
    monkeypatch.setattr(jax, "process_count", lambda: size)


@pytest.mark.parametrize("sharing", ["position", "chunk"])
@pytest.mark.parametrize("resumed", [1, 2, 3])
def test_any_number_of_processes_restores_what_several_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharing: Literal["position", "chunk"], resumed: int
) -> None:
    def opened(rank: int, size: int) -> MinibatchSource:
        return source(sharing=sharing, num_data_partitions=size, partition_index=rank)

    handler, seen = tesson.orbax.DataHandler(), []
    for rank in range(2):
        ranks(monkeypatch, rank, 2)
        reading = opened(rank, 2)
        seen += sum(values([reading.next_minibatch(8) for _ in range(2)]), [])
        handler.save(tmp_path, tesson.orbax.DataSave(reading))
    for rank in range(resumed):
        ranks(monkeypatch, rank, resumed)
        rest = handler.restore(tmp_path, tesson.orbax.DataRestore(opened(rank, resumed)))
        assert isinstance(rest, MinibatchSource)
        seen += sum(values(rest.minibatches(8)), [])
    assert sorted(seen) == np.arange(40.0).tolist()


def test_states_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = tesson.orbax.DataHandler()
    with pytest.raises(ResumeError, match="found the states none"):
        handler.restore(tmp_path, tesson.orbax.DataRestore(source()))
    ranks(monkeypatch, 1, 2)
    handler.save(tmp_path, tesson.orbax.DataSave(source()))
    with pytest.raises(ResumeError, match="rank-1-of-2.json"):
        handler.restore(tmp_path, tesson.orbax.DataRestore(source()))
