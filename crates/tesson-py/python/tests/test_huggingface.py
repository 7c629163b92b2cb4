"""Prepared datasets as Hugging Face's: order, exact states, shares."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from prepare import tensor, write_dataset

import tesson.huggingface
from tesson import UsageError, tfds

datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets is an optional dependency")


@pytest.fixture
def numbers(tmp_path: Path) -> tfds.Dataset[Any]:
    """The numbers from 0 to 22 in three files, shuffled anew in each pass."""
    files = [[{"n": n} for n in range(begin, min(begin + 8, 23))] for begin in (0, 8, 16)]
    write_dataset(tmp_path / "numbers" / "1.0.0", {"n": tensor("int64")}, {"train": files})
    ds = tfds.builder_from_directory(tmp_path / "numbers" / "1.0.0").as_dataset("train")
    return ds.shuffle(23, seed=5)


def values(examples: Any) -> list[int]:
    return [int(example["n"]) for example in examples]


def adapted(ds: tfds.Dataset[Any], **options: Any) -> Any:
    return tesson.huggingface.iterable_dataset(ds, **{"examples_per_shard": 5} | options)


@pytest.mark.parametrize("size", [1, 5, 23, 100])
def test_each_epoch_has_the_order_of_the_dataset(numbers: tfds.Dataset[Any], size: int) -> None:
    passes = [values(numbers) for _ in range(3)]
    assert passes[0] != passes[1]
    for epoch, expected in enumerate(passes):
        ds = adapted(numbers, epoch=epoch, examples_per_shard=size)
        assert isinstance(ds, datasets.IterableDataset)
        assert values(ds) == values(ds) == expected


def test_a_state_is_exact_after_each_example(numbers: tfds.Dataset[Any]) -> None:
    everything = values(adapted(numbers, epoch=1))
    for steps in range(len(everything)):
        ds = adapted(numbers, epoch=1)
        examples = iter(ds)
        begun = values(next(examples) for _ in range(steps))
        state = json.loads(json.dumps(ds.state_dict()))
        resumed = adapted(numbers, epoch=1)
        resumed.load_state_dict(state)
        assert begun + values(resumed) == everything, steps


def test_operations_behind_keep_exact_states(numbers: tfds.Dataset[Any]) -> None:
    def mapped() -> Any:
        return adapted(numbers).map(lambda example: {"n": int(example["n"]) * 10}).filter(lambda example: example["n"] % 20 == 0)

    everything = values(mapped())
    assert sorted(everything) == list(range(0, 230, 20))
    ds = mapped()
    examples = iter(ds)
    begun = values(next(examples) for _ in range(4))
    resumed = mapped()
    resumed.load_state_dict(ds.state_dict())
    assert begun + values(resumed) == everything


def test_it_pickles_for_worker_processes(numbers: tfds.Dataset[Any]) -> None:
    ds = adapted(numbers, epoch=2)
    assert values(pickle.loads(pickle.dumps(ds))) == values(ds)


def test_nodes_share_each_example_once(numbers: tfds.Dataset[Any]) -> None:
    from datasets.distributed import split_dataset_by_node

    shares = [values(split_dataset_by_node(adapted(numbers), rank=rank, world_size=3)) for rank in range(3)]
    assert all(shares)
    assert sorted(sum(shares, [])) == list(range(23))


def test_what_has_no_order_of_examples_is_refused(numbers: tfds.Dataset[Any]) -> None:
    with pytest.raises(TypeError, match="found list, expected a dataset of tesson.tfds"):
        adapted([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no end"):
        adapted(numbers.repeat())
    for made in (numbers.batch(2), numbers.filter(lambda example: True)):
        with pytest.raises(UsageError, match="`seek` is for examples as the plan orders them"):
            adapted(made)
    with pytest.raises(UsageError, match="epoch: found -1, expected a whole number from 0"):
        adapted(numbers, epoch=-1)
    with pytest.raises(UsageError, match="examples_per_shard: found 0"):
        adapted(numbers, examples_per_shard=0)
