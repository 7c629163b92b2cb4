"""Prepared datasets and sources as Hugging Face's: order, exact states, shares."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from prepare import tensor, write_dataset

import tesson.huggingface
from tesson import DataError, ResumeError, UsageError, tfds
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

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
    with pytest.raises(TypeError, match="found list, expected a dataset of tesson.tfds or a MinibatchSource"):
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
    with pytest.raises(UsageError, match="classes: those are for streams of a source"):
        adapted(numbers, classes=["n"])


def source_of(file: Path, **options: Any) -> MinibatchSource:
    streams = StreamDefs(x=StreamDef(shape=2), y=StreamDef(shape=30, is_sparse=True))
    return MinibatchSource(CTFDeserializer(file, streams, max_errors=1), **options)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """The sequences 0 to 22, each its number as `x`, its class and its key."""
    file = tmp_path / "lines.ctf"
    file.write_text("".join(f"{i} |x {i} {i % 5} |y {i}:1\n" for i in range(23)))
    return file


def keys(examples: Any) -> list[int]:
    return [example["key"] for example in examples]


def adapted_source(source: MinibatchSource, **options: Any) -> Any:
    return tesson.huggingface.iterable_dataset(source, **{"examples_per_shard": 5, "classes": ["y"]} | options)


def test_each_epoch_is_a_sweep_of_the_source(lines: Path) -> None:
    source = source_of(lines)
    sweeps = [[key for _ in range(23) for key in source.next_minibatch(1)["x"].keys] for _ in range(3)]
    assert sweeps[0] != sweeps[1]
    for epoch, expected in enumerate(sweeps):
        ds = adapted_source(source_of(lines), epoch=epoch)
        assert keys(ds) == keys(ds) == expected
        assert [(example["x"].tolist(), int(example["y"])) for example in ds] == [([i, i % 5], i) for i in expected]


def test_a_state_of_a_source_is_exact_after_each_example(lines: Path) -> None:
    everything = keys(adapted_source(source_of(lines), epoch=1))
    for steps in range(len(everything)):
        ds = adapted_source(source_of(lines), epoch=1)
        examples = iter(ds)
        begun = keys(next(examples) for _ in range(steps))
        resumed = adapted_source(source_of(lines), epoch=1)
        resumed.load_state_dict(json.loads(json.dumps(ds.state_dict())))
        assert begun + keys(resumed) == everything, steps


def test_iterations_of_a_source_side_by_side_do_not_disturb_each_other(lines: Path) -> None:
    ds = adapted_source(source_of(lines))
    expected = keys(ds)
    pairs = list(zip(ds, ds))
    assert [a["key"] for a, _ in pairs] == [b["key"] for _, b in pairs] == expected
    assert keys(pickle.loads(pickle.dumps(ds))) == expected


def test_nodes_share_each_sequence_of_a_source_once(lines: Path) -> None:
    from datasets.distributed import split_dataset_by_node

    shares = [keys(split_dataset_by_node(adapted_source(source_of(lines)), rank=rank, world_size=3)) for rank in range(3)]
    assert all(shares)
    assert sorted(sum(shares, [])) == list(range(23))


def test_a_sequence_that_a_fault_leaves_out_is_missing(lines: Path) -> None:
    lines.write_text(lines.read_text().replace("|x 7 ", "|x seven "))
    ds = adapted_source(source_of(lines))
    # One fault is forgiven in each iteration: none is charged twice.
    for _ in range(3):
        assert sorted(keys(ds)) == [i for i in range(23) if i != 7]


def test_sequences_of_several_samples_keep_their_axis(tmp_path: Path) -> None:
    file = tmp_path / "long.ctf"
    file.write_text("0 |x 1 2\n0 |x 3 4\n1 |x 5 6\n")
    source = MinibatchSource(CTFDeserializer(file, StreamDefs(x=StreamDef(shape=2))), randomize=False)
    ds = tesson.huggingface.iterable_dataset(source)
    assert [example["x"].tolist() for example in ds] == [[[1, 2], [3, 4]], [[5, 6]]]


def test_a_sequence_without_a_sample_is_an_error_where_all_have_one(tmp_path: Path) -> None:
    file = tmp_path / "gap.ctf"
    file.write_text("0 |x 1 2 |y 3:1\n1 |x 3 4\n")
    with pytest.raises(DataError, match="stream `y`: sequence 1 has 0 samples, expected 1"):
        list(adapted_source(source_of(file, randomize=False)))


def test_what_a_source_cannot_give_is_refused(lines: Path) -> None:
    with pytest.raises(UsageError, match="stream `y` is sparse"):
        adapted_source(source_of(lines), classes=[])
    with pytest.raises(UsageError, match="classes: stream `x` is dense"):
        adapted_source(source_of(lines), classes=["x", "y"])
    with pytest.raises(UsageError, match="one rank's share"):
        adapted_source(source_of(lines, world=(1, 2)))
    with pytest.raises(UsageError, match="truncates sequences"):
        adapted_source(source_of(lines, truncation_length=2))
    with pytest.raises(UsageError, match="step 69 is asked for, the data end after 23"):
        adapted_source(source_of(lines, max_sweeps=1), epoch=2)
    with pytest.raises(UsageError, match="a stream is called `key`"):
        streams = StreamDefs(key=StreamDef("x", shape=2))
        tesson.huggingface.iterable_dataset(MinibatchSource(CTFDeserializer(lines, streams)))


def saved_after(ds: Any, steps: int) -> dict[str, Any]:
    """The state after some examples, as a checkpoint file has it."""
    examples = iter(ds)
    for _ in range(steps):
        next(examples)
    return json.loads(json.dumps(ds.state_dict()))  # type: ignore[no-any-return]


@pytest.mark.parametrize("derived", [False, True])
def test_the_state_of_other_data_is_refused(numbers: tfds.Dataset[Any], lines: Path, tmp_path: Path, derived: bool) -> None:
    def made(ds: Any) -> Any:
        return ds.map(lambda example: example) if derived else ds

    write_dataset(tmp_path / "others" / "1.0.0", {"n": tensor("int64")}, {"train": [[{"n": n} for n in range(23)]]})
    others = tfds.builder_from_directory(tmp_path / "others" / "1.0.0").as_dataset("train")
    from datasets.distributed import split_dataset_by_node as shared

    cases = [
        (adapted(numbers), adapted(numbers, epoch=1), "epoch=1, found 0"),
        (adapted(numbers), adapted(numbers, examples_per_shard=4), "examples_per_shard=4, found 5"),
        (adapted(numbers), adapted(others), "others 1.0.0"),
        (adapted(numbers), adapted(numbers.shuffle(7, seed=1)), "order"),
        (adapted(numbers), shared(adapted(numbers), rank=0, world_size=5), "as many workers and nodes"),
        (adapted(numbers), datasets.IterableDataset.from_generator(lambda: iter([{"n": 1}] * 23)), "expected what state_dict"),
        (adapted_source(source_of(lines)), adapted_source(source_of(lines, randomization_seed=3)), "randomization seed"),
        (adapted_source(source_of(lines)), adapted_source(source_of(lines, randomize="global")), "order"),
        (adapted_source(source_of(lines)), adapted(numbers), "state"),
        (adapted(numbers), adapted_source(source_of(lines)), "state"),
    ]
    for mine, other, message in cases:
        mine, other = made(mine), made(other)
        everything = list(mine)
        state = saved_after(mine, 7)
        mine.load_state_dict(saved_after(other, 3))
        for _ in range(2):
            with pytest.raises(ResumeError, match=message):
                list(mine)
        mine.load_state_dict(state)
        assert str(list(mine)) == str(everything[7:])


@pytest.mark.parametrize("change", [{"shard_idx": -1}, {"shard_idx": "1"}, {"shard_example_idx": None}, {"tesson": "{"}, {"tesson": 3}, {"type": "x"}])
def test_a_state_that_no_dataset_has_is_refused(numbers: tfds.Dataset[Any], change: dict[str, Any]) -> None:
    ds = adapted(numbers)
    expected = values(ds)
    state = saved_after(ds, 7)
    ds.load_state_dict({**state, "examples_iterable": {**state["examples_iterable"], **change}})
    with pytest.raises(ResumeError, match=r"expected what state_dict\(\) of such a dataset returned"):
        list(ds)
    ds.load_state_dict(state)
    assert values(ds) == expected[7:]


def test_worker_processes_resume_each_its_own_shards(numbers: tfds.Dataset[Any]) -> None:
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

    def loader(workers: int) -> Any:
        return torchdata.StatefulDataLoader(adapted(numbers), batch_size=None, num_workers=workers)

    begun = loader(2)
    batches = iter(begun)
    first = [int(next(batches)["n"]) for _ in range(9)]
    state = begun.state_dict()
    resumed = loader(2)
    resumed.load_state_dict(state)
    assert sorted(first + values(resumed)) == list(range(23))
