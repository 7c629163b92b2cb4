"""Sources in PyTorch's loaders: tensors, worker processes, states, and Tesson's order for other datasets."""

from __future__ import annotations

import _thread
import functools
import itertools
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import DataLoader  # noqa: E402

from damaged import damaged, is_refused  # noqa: E402
from prepare import tensor, write_dataset  # noqa: E402

import tesson.torch  # noqa: E402
from tesson import ConfigError, DataError, ResumeError, UsageError, tfds
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs
from tesson.torch.passes import Passes  # noqa: E402
from tesson.torch.readers import SourceReader  # noqa: E402

SIZE, ITEMS = 4, 22


def endless(**options: Any) -> MinibatchSource:
    """Items of one sample each: a sweep is five minibatches of 4, and a half."""
    return MinibatchSource.from_data(x=np.arange(float(ITEMS)), randomize="global", randomization_seed=5, **options)


def values(batches: Iterable[dict[str, Any]]) -> list[list[float]]:
    return [batch["x"].flatten().tolist() for batch in batches]


def sweeps(count: int) -> list[list[list[float]]]:
    """The minibatches of so many passes of a source without a loader."""
    with endless() as source:
        return [[m["x"].samples.flatten().tolist() for m in source.minibatches(SIZE)] for _ in range(count)]


def test_the_package_imports_no_pytorch() -> None:
    script = "import sys, tesson; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_tensors_share_memory_with_the_minibatch() -> None:
    kept = []

    class Source(MinibatchSource):
        def next_minibatch(self, *arguments: Any, **keywords: Any) -> Any:
            kept.append(super().next_minibatch(*arguments, **keywords))
            return kept[-1]

    source = Source.from_data(x=np.arange(12).reshape(6, 2))
    batch = next(iter(tesson.torch.IterableDataset(source, 3)))
    assert batch["x"].data_ptr() == kept[0]["x"].samples.ctypes.data
    assert batch["x"].tolist() == [[0, 1], [2, 3], [4, 5]]


def sequences(**options: Any) -> MinibatchSource:
    return MinibatchSource.from_data(x=[np.full((n, 2), n) for n in (2, 1, 3)], **options)


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
def test_layouts_of_sequences(dtype: Any) -> None:
    def of(layout: Any) -> Any:
        with sequences() as source:
            return next(iter(tesson.torch.IterableDataset(source, 6, layouts={"x": layout}, dtype=dtype)))["x"]

    flat, padded, nested, packed = map(of, ("samples", "padded", "nested", "packed"))
    parts = list(torch.split(flat, [2, 1, 3]))
    assert {flat.dtype, padded.values.dtype, nested.dtype, packed.data.dtype} == {dtype or torch.float32}
    assert padded.lengths.tolist() == [2, 1, 3]
    assert padded.mask.tolist() == [[True, True, False], [True, False, False], [True, True, True]]
    assert torch.equal(padded.values[padded.mask], flat)
    assert padded.values[~padded.mask].count_nonzero() == 0
    for ours, other in zip(nested.unbind(), parts, strict=True):
        assert torch.equal(ours, other)
    unpacked = torch.nn.utils.rnn.unpack_sequence(packed)
    assert all(torch.equal(ours, other) for ours, other in zip(unpacked, parts, strict=True))


@pytest.mark.parametrize(("transforms", "shapes"), [([], [(2, 3, 3), (4, 1, 3)]), ([tesson.transforms.scale(2, 5, 3)], [(3, 5, 2)] * 2)])
def test_samples_of_shapes_of_their_own_are_a_list_of_tensors(tmp_path: Path, transforms: list[Any], shapes: list[Any]) -> None:
    for name, width, height in (("a", 3, 2), ("b", 1, 4)):
        (tmp_path / f"{name}.ppm").write_bytes(f"P6 {width} {height} 255\n".encode() + bytes(range(3 * width * height)))
    (tmp_path / "map").write_text("".join(f"{tmp_path}/{name}.ppm\t0\n" for name in "ab"))
    streams = StreamDefs(x=StreamDef("image", transforms=transforms, dtype="uint8", ragged=True), y=StreamDef("label", 1))
    deserializer = tesson.ImageDeserializer(tmp_path / "map", streams, layout="CHW" if transforms else "HWC")
    with MinibatchSource(deserializer, randomize=False, max_sweeps=1) as source:
        found = next(iter(tesson.torch.IterableDataset(source, 2)))["x"]
    assert [tuple(sample.shape) for sample in found] == shapes
    assert all(sample.dtype == torch.uint8 for sample in found)


def test_nested_tensors_share_memory() -> None:
    with sequences() as source:
        dataset = tesson.torch.IterableDataset(source, 6, layouts={"x": "nested"})
        minibatch = source.next_minibatch(6)
        nested = dataset._reader().tensors(minibatch)["x"]
        assert nested.values().data_ptr() == minibatch["x"].samples.ctypes.data


def test_layouts_of_sparse_streams() -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    matrix = sparse.csr_matrix(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3]], np.float32))
    for layout in ("csr", "coo"):
        with MinibatchSource.from_data(x=matrix) as source:
            dataset = tesson.torch.IterableDataset(source, 3, layouts={"x": layout}, dtype=torch.float16)
            got = next(iter(dataset))["x"]
        assert got.dtype == torch.float16
        assert got.to_dense().tolist() == matrix.toarray().tolist()
    with MinibatchSource.from_data(x=matrix) as source:
        classes = next(iter(tesson.torch.IterableDataset(source, 3, layouts={"x": "classes"})))["x"]
    assert classes.tolist() == [1, 0, 2]
    assert classes.dtype == torch.int64


def test_a_minibatch_that_cannot_be_made_into_tensors_is_not_passed_over() -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    matrix = sparse.csr_matrix(np.array([[0, 2], [1, 0], [1, 1], [0, 3]], np.float32))

    def make(**options: Any) -> tesson.torch.IterableDataset:
        return tesson.torch.IterableDataset(MinibatchSource.from_data(x=matrix, max_sweeps=1), 1, **options)

    dataset = make(layouts={"x": "classes"})
    read = []
    for _ in range(2):
        with pytest.raises(DataError, match="sequence 2"):
            for batch in dataset:
                read.append(batch["x"].tolist())
                state = dataset.state_dict()
        assert dataset.state_dict() == state
    assert read == [[1], [0]]
    with pytest.raises(DataError, match="sequence 2"):
        list(DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context="fork"))
    dataset.load_state_dict(state)
    assert dataset.state_dict() == state
    rest = make()
    rest.load_state_dict(state)
    assert [batch["x"].to_dense().tolist() for batch in rest] == [[[1, 1]], [[0, 3]]]


class Interrupting(SourceReader):
    """A reader that Ctrl-C reaches after it has made the tensors of its fourth minibatch, in C, where no signal is let in."""

    ended = property(
        functools.partial(next, itertools.chain([False] * 3, map(bool, itertools.starmap(_thread.interrupt_main, [()])), itertools.repeat(False))),
        lambda self, ended: None,
    )


def test_an_interrupt_before_a_minibatch_is_yielded_does_not_lose_it() -> None:
    dataset = tesson.torch.IterableDataset(endless(), SIZE)
    dataset._reader().__class__ = Interrupting
    taken: list[dict[str, Any]] = []
    batch = None
    with pytest.raises(KeyboardInterrupt):
        for batch in dataset:
            taken.append(batch)
    if batch is not taken[-1]:
        # The loop has it, the list has not.
        taken.append(batch)
    assert len(taken) == 4
    resumed = tesson.torch.IterableDataset(endless(), SIZE)
    resumed.load_state_dict(dataset.state_dict())
    assert values(taken) + values(resumed) == sweeps(1)[0]


def test_threads_that_share_a_dataset_have_each_minibatch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = tesson.torch.IterableDataset(endless(max_sweeps=1), SIZE)
    reader, mine, others = dataset._reader(), iter(dataset), iter(dataset)
    tensors, read = reader.tensors, []

    def interleaved(batch: Any) -> Any:
        # Another thread reads while this one makes tensors.
        monkeypatch.setattr(reader, "tensors", tensors)
        read.extend(values([next(others)]))
        return tensors(batch)

    monkeypatch.setattr(reader, "tensors", interleaved)
    read += values(mine)
    assert sorted(sum(read, [])) == list(range(ITEMS))


def test_an_empty_share_has_every_layout_but_packed() -> None:
    for layout in ("samples", "padded", "nested"):
        with sequences(num_data_partitions=3, partition_index=2, sharing="position", max_sweeps=1) as source:
            dataset = tesson.torch.IterableDataset(source, 1, layouts={"x": layout})
            shapes = [len(batch["x"].values if layout == "padded" else batch["x"]) for batch in dataset]
        assert 0 in shapes and len(shapes) == 3
    with sequences(num_data_partitions=3, partition_index=2, sharing="position", max_sweeps=1) as source:
        with pytest.raises(UsageError, match="packed|PackedSequence"):
            list(tesson.torch.IterableDataset(source, 1, layouts={"x": "packed"}))


@pytest.mark.parametrize(
    ("arguments", "path"),
    [({"layouts": {"y": "csr"}}, "layouts.y"), ({"layouts": {"x": "csr"}}, "layouts.x"), ({"dtype": torch.int64}, "dtype")],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], path: str) -> None:
    with endless() as source, pytest.raises(ConfigError) as error:
        tesson.torch.IterableDataset(source, SIZE, **arguments)
    assert error.value.path == path


WORKERS = [
    {"num_workers": 0},
    {"num_workers": 2, "multiprocessing_context": "fork"},
    {"num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
    # Each spawned worker imports PyTorch, so these live on.
    {"num_workers": 2, "multiprocessing_context": "spawn", "persistent_workers": True},
]


def name(options: dict[str, Any]) -> str:
    return "-".join(f"{key}={value}" for key, value in options.items())


@pytest.mark.parametrize("workers", WORKERS, ids=name)
@pytest.mark.parametrize("given", ["source", "function"])
def test_loaders_give_the_order_of_the_source_sweep_by_sweep(given: str, workers: dict[str, Any]) -> None:
    dataset = tesson.torch.IterableDataset(endless if given == "function" else endless(), SIZE)
    loader = DataLoader(dataset, batch_size=None, **workers)
    assert [values(loader) for _ in range(3)] == sweeps(3)


@pytest.mark.parametrize("given", ["source", "function"])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_go_on_where_the_main_process_stands_and_it_where_they_do(given: str, method: str) -> None:
    dataset = tesson.torch.IterableDataset(endless if given == "function" else endless(), SIZE)
    first = values(itertools.islice(dataset, 3))
    rest = values(DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context=method))
    assert [first + rest, values(dataset)] == sweeps(2)


def rank_of_two(rank: int) -> MinibatchSource:
    return endless(world=(rank, 2))


@pytest.mark.parametrize("workers", [0, 2])
def test_ranks_share_each_minibatch_whatever_their_workers(workers: int) -> None:
    loaders = [
        DataLoader(tesson.torch.IterableDataset(functools.partial(rank_of_two, rank), SIZE), batch_size=None, num_workers=workers)
        for rank in range(2)
    ]
    for sweep in sweeps(2):
        shares = [values(loader) for loader in loaders]
        assert [sorted(one + other) for one, other in zip(*shares, strict=True)] == [sorted(whole) for whole in sweep]


def test_the_state_of_a_rank_resumes_on_one_process() -> None:
    dataset = tesson.torch.IterableDataset(rank_of_two(1), SIZE)
    list(itertools.islice(dataset, 3))
    resumed = tesson.torch.IterableDataset(endless, SIZE)
    resumed.load_state_dict(dataset.state_dict())
    assert values(resumed) == sweeps(1)[0][3:]


@pytest.mark.parametrize(
    "options", [{}, {"num_workers": 2}, {"collate_fn": lambda batch: batch}, {"pin_memory": True}], ids=["plain", "workers", "collate", "pin"]
)
def test_its_own_loader_gives_what_that_of_pytorch_does(options: dict[str, Any]) -> None:
    loader = tesson.torch.DataLoader(tesson.torch.IterableDataset(endless, SIZE), **options)
    assert isinstance(loader, DataLoader)
    assert [values(loader) for _ in range(3)] == sweeps(3)


def test_its_own_loader_hands_on_the_batches_themselves() -> None:
    dataset = tesson.torch.IterableDataset(endless(), SIZE)
    made = []
    kept = dataset._reader().tensors
    dataset._reader().tensors = lambda batch: made.append(kept(batch)) or made[-1]
    assert all(batch is made[-1] for batch in tesson.torch.DataLoader(dataset))
    assert made


def test_its_own_loader_is_of_minibatches_that_have_their_size(prepared: Any) -> None:
    dataset = tesson.torch.IterableDataset(endless(), SIZE)
    with pytest.raises(ConfigError, match="batch_size: found 4, expected None: the size is the dataset's `minibatch_size`"):
        tesson.torch.DataLoader(dataset, batch_size=4)
    with pytest.raises(ConfigError, match="expected a tesson.torch.IterableDataset"):
        tesson.torch.DataLoader(prepared)


@pytest.mark.parametrize("workers", WORKERS[:3], ids=name)
def test_a_source_with_an_end_is_read_to_it_once(workers: dict[str, Any]) -> None:
    dataset = tesson.torch.IterableDataset(functools.partial(endless, max_sweeps=2), SIZE)
    loader = DataLoader(dataset, batch_size=None, **workers)
    read = [values(loader) for _ in range(2)]
    with endless(max_sweeps=2) as source:
        assert read == [[m["x"].samples.flatten().tolist() for m in source.minibatches(SIZE)], []]


def test_more_workers_than_minibatches() -> None:
    # Of such short passes the first worker begins and ends each before the second does.
    dataset = tesson.torch.IterableDataset(endless, ITEMS)
    loader = DataLoader(dataset, batch_size=None, num_workers=2)
    expected = order_of_source(ITEMS, 5, 3)
    assert [values(loader) for _ in range(3)] == [[sweep] for sweep in expected]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda source: tesson.torch.IterableDataset(source, 4, layouts="classes"), "layouts: found 'classes', expected the layout of each"),
        (lambda source: tesson.torch.IterableDataset(source, 4, dtype="bfloat16"), "dtype: found 'bfloat16', expected a floating-point type"),
        (lambda source: tesson.torch.IterableDataset(source, 4, dtype=np.float16), "dtype: found .*float16.*, expected a floating-point type"),
        (lambda source: tesson.torch.DataLoader(source), r"found MinibatchSource, .*; give IterableDataset\(…, minibatch_size\)"),
        (lambda source: tesson.torch.Sampler(1.5), "found 1.5, expected a dataset with a length, or its number of items"),
        (lambda source: tesson.torch.Sampler(3).set_epoch("1"), "found '1', expected a whole number from 0"),
        (lambda source: tesson.torch.Sampler(3).set_epoch(-1), "found -1, expected a whole number from 0"),
    ],
)
def test_arguments_of_another_kind_are_refused_by_name(make: Any, message: str) -> None:
    with MinibatchSource.from_data(x=np.eye(3)) as source, pytest.raises(ConfigError, match=message):
        make(source)


@pytest.mark.parametrize(
    ("make", "wrong", "meant"),
    [
        (tesson.torch.IterableDataset, "batch_size", "minibatch_size"),
        (tesson.torch.IterableDataset, "layout", "layouts"),
        (tesson.torch.Sampler, "sed", "seed"),
        (tesson.torch.Sampler, "num_replicas", "world"),
    ],
)
def test_a_keyword_that_there_is_not_has_the_one_that_may_be_meant(make: Any, wrong: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"{make.__name__}\(\) has no keyword argument `{wrong}`, did you mean `{meant}`\?"):
        make(3, **{wrong: 1})


def test_layouts_cross_processes() -> None:
    for layout in ("padded", "nested", "packed"):
        here, there = (
            next(iter(DataLoader(tesson.torch.IterableDataset(sequences, 6, layouts={"x": layout}), batch_size=None, num_workers=n)))["x"]
            for n in (0, 1)
        )
        if layout == "nested":
            here, there = [list(nested.unbind()) for nested in (here, there)]
        assert type(there) is type(here)
        assert str(there) == str(here)


def test_an_iteration_in_workers_that_was_left_is_refused_until_a_state_is_loaded() -> None:
    dataset = tesson.torch.IterableDataset(endless, SIZE)
    start = dataset.state_dict()
    loader = DataLoader(dataset, batch_size=None, num_workers=2)
    next(iter(loader))
    with pytest.raises(UsageError, match="left before its end"):
        list(loader)
    with pytest.raises(UsageError, match="left before its end"):
        dataset.state_dict()
    dataset.load_state_dict(start)
    assert values(loader) == sweeps(1)[0]


def test_the_number_of_workers_changes_between_iterations() -> None:
    dataset = tesson.torch.IterableDataset(endless, SIZE)
    first = values(DataLoader(dataset, batch_size=None, num_workers=2))
    other = DataLoader(dataset, batch_size=None, num_workers=3)
    with pytest.raises(UsageError, match="number of workers"):
        list(other)
    dataset.load_state_dict(dataset.state_dict())
    second = values(other)
    third = values(DataLoader(dataset, batch_size=None))
    assert [first, second, third] == sweeps(3)


def stateful(workers: dict[str, Any], state: Any = None, **options: Any) -> Any:
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    dataset = tesson.torch.IterableDataset(endless, SIZE)
    loader = torchdata.StatefulDataLoader(dataset, batch_size=None, **workers, **options)
    if state is not None:
        loader.load_state_dict(state)
    return loader


FORKED = WORKERS[:3]


@pytest.mark.parametrize("workers", FORKED, ids=name)
def test_a_stateful_loader_resumes_at_any_step_and_again(workers: dict[str, Any]) -> None:
    expected = sweeps(2)
    steps = len(expected[0])
    for step in range(steps + 1):
        loader = stateful(workers)
        states = {0: loader.state_dict()}
        for count, _ in enumerate(itertools.islice(loader, step), start=1):
            states[count] = loader.state_dict()
        if step == steps:
            break
        # What the state does not count was read ahead.
        resumed = stateful(workers, pickle.loads(pickle.dumps(states[step])))
        again = None
        rest = []
        for batch in resumed:
            rest.append(batch["x"].flatten().tolist())
            again = again or resumed.state_dict()
        assert rest == expected[0][step:]
        assert values(resumed) == expected[1]
        assert values(stateful(workers, again)) == expected[0][step + 1 :]


@pytest.mark.parametrize("workers", FORKED, ids=name)
@pytest.mark.parametrize("at_the_end", ["before the loop ends", "after the loop"])
def test_a_stateful_loader_resumes_at_the_end_of_a_sweep(workers: dict[str, Any], at_the_end: str) -> None:
    expected = sweeps(3)
    loader = stateful(workers)
    for batch in loader:
        state = loader.state_dict()
    if at_the_end == "after the loop":
        state = loader.state_dict()
        rest = expected[1:]
    else:
        rest = [[], *expected[1:]]
    resumed = stateful(workers, state)
    assert [values(resumed) for _ in rest] == rest


def test_a_state_is_of_its_number_of_workers() -> None:
    dataset = tesson.torch.IterableDataset(endless, SIZE)
    state = dataset.state_dict()
    with pytest.raises(ResumeError, match="worker 0 of 2, found the main process"):
        dataset.load_state_dict({**state, "worker": 0, "workers": 2})
    with pytest.raises(ResumeError):
        dataset.load_state_dict({})


def test_states_are_json_and_a_stateful_of_distributed_checkpoints() -> None:
    from torch.distributed.checkpoint.stateful import Stateful

    dataset = tesson.torch.IterableDataset(endless(), SIZE)
    assert isinstance(dataset, Stateful)
    assert isinstance(tesson.torch.Sampler(3, world=(0, 1)), Stateful)
    batches = iter(dataset)
    next(batches)
    state = json.loads(json.dumps(dataset.state_dict()))
    rest = values(batches)
    resumed = tesson.torch.IterableDataset(endless, SIZE)
    resumed.load_state_dict(state)
    assert values(resumed) == rest == sweeps(1)[0][1:]


def test_a_pickled_dataset_goes_on_where_it_stood() -> None:
    for given in (endless, endless()):
        dataset = tesson.torch.IterableDataset(given, SIZE)
        next(iter(dataset))
        assert values(pickle.loads(pickle.dumps(dataset))) == sweeps(1)[0][1:]


def test_a_loop_left_after_the_last_minibatch_goes_on_with_the_next_sweep() -> None:
    dataset = tesson.torch.IterableDataset(endless(), SIZE)
    expected = sweeps(2)
    read = [values(itertools.islice(dataset, len(sweep))) for sweep in expected]
    assert read == expected


PREPARED = 10


@pytest.fixture
def prepared(tmp_path: Path) -> Any:
    """Examples in two shards, shuffled anew in each pass."""
    shards = [[{"label": 5 * shard + i, "name": str(i).encode()} for i in range(5)] for shard in range(2)]
    features = {"label": tensor("int64"), "name": tensor("string")}
    write_dataset(tmp_path / "numbers" / "1.0.0", features, {"train": shards})
    return tfds.builder_from_directory(str(tmp_path / "numbers" / "1.0.0")).as_dataset("train").shuffle(4, seed=3)


def labels(batches: Iterable[Any]) -> list[list[int]]:
    return [batch["label"].tolist() for batch in batches]


def passes(dataset: Any, count: int) -> list[list[list[int]]]:
    """The minibatches of so many passes, without PyTorch."""
    fresh = pickle.loads(pickle.dumps(dataset))
    return [labels(fresh.minibatches(SIZE)) for _ in range(count)]


@pytest.mark.parametrize("workers", WORKERS, ids=name)
def test_loaders_give_prepared_datasets_pass_by_pass(prepared: Any, workers: dict[str, Any]) -> None:
    expected = passes(prepared, 3)
    assert expected[0] != expected[1]
    loader = DataLoader(tesson.torch.IterableDataset(prepared, SIZE), batch_size=None, **workers)
    assert [labels(loader) for _ in range(3)] == expected


def test_elements_of_a_prepared_dataset_are_tensors_where_they_have_numbers(prepared: Any) -> None:
    batched = prepared.map(lambda example: {**example, "half": np.float32(example["label"] / 2)}).batch(SIZE)
    batch = next(iter(tesson.torch.IterableDataset(batched, dtype=torch.bfloat16)))
    assert (batch["label"].dtype, batch["half"].dtype) == (torch.int64, torch.bfloat16)
    assert batch["name"].tolist() == [str(i % 5).encode() for i in batch["label"].tolist()]
    pairs = prepared.map(lambda example: (example["label"], example["label"] + 1))
    first, second = next(iter(tesson.torch.IterableDataset(pairs)))
    assert second - first == 1


@pytest.mark.parametrize("workers", WORKERS[:3], ids=name)
def test_a_stateful_loader_resumes_a_prepared_dataset_at_any_step(prepared: Any, workers: dict[str, Any]) -> None:
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    expected = passes(prepared, 2)
    opened = pickle.dumps(prepared)

    def loader(state: Any = None) -> Any:
        made = torchdata.StatefulDataLoader(tesson.torch.IterableDataset(pickle.loads(opened), SIZE), batch_size=None, **workers)
        if state is not None:
            made.load_state_dict(state)
        return made

    for step in range(1, len(expected[0])):
        begun = loader()
        for _ in itertools.islice(begun, step):
            state = begun.state_dict()
        resumed = loader(json.loads(json.dumps(state)))
        assert [labels(resumed), labels(resumed)] == [expected[0][step:], expected[1]]


def test_ranks_share_the_minibatches_of_a_prepared_dataset(prepared: Any) -> None:
    expected = passes(prepared, 1)[0]
    opened = pickle.dumps(prepared)
    ranks = [tesson.torch.IterableDataset(pickle.loads(opened), SIZE, world=(rank, 3)) for rank in range(3)]
    iterations = [iter(rank) for rank in ranks]
    assert [sorted(sum(labels([next(each) for each in iterations]), [])) for _ in range(2)] == [sorted(batch) for batch in expected[:2]]
    alone = tesson.torch.IterableDataset(pickle.loads(opened), SIZE)
    alone.load_state_dict(ranks[2].state_dict())
    assert labels(alone) == expected[2:]


def test_what_is_for_sources_or_for_prepared_datasets_is_refused_for_the_other(prepared: Any) -> None:
    for given, size, arguments, path in (
        (prepared, SIZE, {"layouts": {"label": "samples"}}, "layouts"),
        (prepared, None, {"world": (0, 2)}, "world"),
        (endless, SIZE, {"world": (0, 2)}, "world"),
        (lambda: 3, SIZE, {}, "source"),
    ):
        with pytest.raises(ConfigError) as error:
            next(iter(tesson.torch.IterableDataset(given, size, **arguments)))
        assert error.value.path == path


@pytest.mark.parametrize("workers", [0, 2])
def test_a_prepared_dataset_is_map_style_by_the_epoch_that_is_set(prepared: Any, workers: int) -> None:
    expected = [sum(each, []) for each in passes(prepared, 2)]
    for epoch in (1, 0):
        prepared.set_epoch(epoch)
        loader = DataLoader(prepared, batch_size=3, num_workers=workers, collate_fn=list)
        assert [int(example["label"]) for batch in loader for example in batch] == expected[epoch]


@pytest.fixture
def pins(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The pinned tensors. Memory is pinned by a driver that a machine without a GPU does not have."""
    pinned: list[Any] = []

    def pin_memory(tensor: Any, device: Any = None) -> Any:
        pinned.append(tensor.clone())
        return pinned[-1]

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin_memory)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    return pinned


def test_without_an_accelerator_nothing_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    dataset = tesson.torch.IterableDataset(endless(), SIZE, pin_memory=True)
    with pytest.warns(UserWarning, match="pin_memory=True: found no accelerator"):
        assert values(dataset) == sweeps(1)[0]


def test_every_tensor_of_a_batch_is_pinned(pins: list[Any]) -> None:
    for layout, n in (("samples", 1), ("padded", 2), ("nested", 1)):
        with sequences(max_sweeps=1) as source:
            batch = next(iter(tesson.torch.IterableDataset(source, 6, layouts={"x": layout}, pin_memory=True)))["x"]
        parts = batch if layout == "padded" else (batch,)
        assert len(pins) == len(parts) == n
        assert {id(part) for part in parts} == {id(tensor) for tensor in pins}
        pins.clear()


def test_what_is_pinned_ahead_of_the_loop_and_not_yielded_is_not_counted(pins: list[Any], prepared: Any) -> None:
    expected = sweeps(3)
    steps = len(expected[0])
    for step in range(1, steps):
        dataset = tesson.torch.IterableDataset(endless(), SIZE, pin_memory=True)
        batches = iter(dataset)
        read = values(itertools.islice(batches, step))
        state = dataset.state_dict()
        resumed = tesson.torch.IterableDataset(endless, SIZE, pin_memory=True)
        resumed.load_state_dict(state)
        assert read + values(resumed) == expected[0]
        assert values(resumed) == expected[1]
        # Another iteration, and a copy, go on where this one was left.
        copy = pickle.loads(pickle.dumps(dataset))
        assert read + values(copy) == read + values(dataset) == expected[0]
        assert list(batches) == []
        assert values(dataset) == expected[1]
    in_passes = passes(prepared, 2)
    of_prepared = tesson.torch.IterableDataset(prepared, SIZE, pin_memory=True)
    assert [labels(of_prepared) for _ in range(2)] == in_passes


def test_a_minibatch_that_failed_ahead_of_the_loop_may_be_left_out(pins: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "train.ctf"
    path.write_text("".join(f"|x {'?' if i == 5 else i}\n" for i in range(9)))
    for pin_memory in (False, True):
        with MinibatchSource(CTFDeserializer(path, StreamDefs(x=StreamDef(shape=1))), randomize=False, max_sweeps=1) as source:
            dataset = tesson.torch.IterableDataset(source, 2, pin_memory=pin_memory)
            for _ in range(2):
                with pytest.raises(DataError, match="train.ctf"):
                    values(dataset)
            source.skip_failed()
            assert values(dataset) == [[6, 7], [8]]


def test_an_error_ahead_of_the_loop_comes_where_the_batch_would(pins: list[Any], ctf: Any) -> None:
    streams = StreamDefs(x=StreamDef("x", 1))
    source = MinibatchSource(CTFDeserializer(ctf("|x 1\n|x 2\n|x z\n"), streams), randomize=False, max_errors=0)
    dataset = tesson.torch.IterableDataset(source, 1, pin_memory=True)
    batches = iter(dataset)
    assert [next(batches)["x"].item() for _ in range(2)] == [1, 2]
    state = dataset.state_dict()
    with pytest.raises(DataError):
        next(batches)
    assert dataset.state_dict() == state


DOORS: dict[str, Any] = {
    "source": lambda prepared: tesson.torch.IterableDataset(endless(), SIZE),
    "source with an end": lambda prepared: tesson.torch.IterableDataset(endless(max_sweeps=2), SIZE),
    "pinned": lambda prepared: tesson.torch.IterableDataset(endless(), SIZE, pin_memory=True),
    "minibatches": lambda prepared: tesson.torch.IterableDataset(prepared, SIZE),
    "pinned minibatches": lambda prepared: tesson.torch.IterableDataset(prepared, SIZE, pin_memory=True),
    "elements": lambda prepared: tesson.torch.IterableDataset(prepared),
    "operations": lambda prepared: tesson.torch.IterableDataset(prepared.map(lambda example: example).batch(3)),
    "sampler": lambda prepared: sampler(),
}


@pytest.mark.parametrize("step", [0, 2, None])
@pytest.mark.parametrize("door", DOORS)
def test_a_state_that_is_refused_changes_nothing(door: str, step: int | None, prepared: Any, pins: list[Any]) -> None:
    opened = pickle.dumps(prepared)

    def make() -> Any:
        return DOORS[door](pickle.loads(opened))

    plain, refusing, scratch = make(), make(), make()
    loops = [iter(each) for each in (plain, refusing)]
    read = [[str(batch) for batch in itertools.islice(loop, step)] for loop in loops]
    state = refusing.state_dict()
    refused = [each for each in damaged(state) if is_refused(scratch.load_state_dict, each)]
    assert len(refused) > 20
    for each in refused:
        assert is_refused(refusing.load_state_dict, each)
        assert refusing.state_dict() == state
    after = [[*begun, *map(str, loop)] for begun, loop in zip(read, loops, strict=True)]
    assert after[0] == after[1]
    for _ in range(2):
        assert [str(batch) for batch in refusing] == [str(batch) for batch in plain]


@pytest.mark.parametrize("snapshot_every", [0, 1, 4])
@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("kind", ["endless", "finite", "elements"])
def test_workers_know_with_their_last_minibatch_that_the_pass_has_ended(
    kind: str, workers: int, snapshot_every: int, prepared: Any
) -> None:
    # StatefulDataLoader resumes a finished iteration from states behind the last minibatches, and starts the workers of the next
    # one without waiting for those that it resumed.
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    elements = functools.partial(pickle.loads, pickle.dumps(prepared.batch(3)))

    def loader() -> Any:
        made = {
            "endless": lambda: tesson.torch.IterableDataset(endless, SIZE),
            "finite": lambda: tesson.torch.IterableDataset(functools.partial(endless, max_sweeps=1), SIZE),
            "elements": lambda: tesson.torch.IterableDataset(elements),
        }[kind]()
        options = {"num_workers": workers, "multiprocessing_context": "fork", "snapshot_every_n_steps": snapshot_every}
        return torchdata.StatefulDataLoader(made, batch_size=None, **options)

    def batches(of: Iterable[dict[str, Any]]) -> list[list[float]]:
        return [next(iter(batch.values())).flatten().tolist() for batch in of]

    whole = loader()
    passes = [batches(whole)]
    after = whole.state_dict()
    passes += [batches(whole) for _ in range(2)]
    begun = loader()
    for step, _ in enumerate(begun, start=1):
        state = begun.state_dict()
        if step == len(passes[0]) and snapshot_every == 1:
            saved = state["_snapshot"]["_worker_snapshots"].values()
            # Those that had none have not begun.
            assert sum(worker["dataset_state"]["ended"] for worker in saved) == min(workers, len(passes[0]))
    for state, expected in ((state, [[], *passes[1:]]), (after, passes[1:])):
        resumed = loader()
        resumed.load_state_dict(state)
        assert [batches(resumed) for _ in expected] == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_reads_after_its_parent() -> None:
    script = Path(__file__).with_name("fork_twice.py")
    # OpenMP has threads where there are several cores, or so many are asked for.
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    child = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)
    assert (child.returncode, child.stdout) == (0, "0\n"), child.stderr


def test_copies_of_a_dataset_count_their_own_passes() -> None:
    memory = Passes()
    memory.begin(0, 1, is_resumed=False)
    memory.end(0, 0, {"at": 3})
    copied = pickle.loads(pickle.dumps(memory))
    assert copied.position() == memory.position() == {"at": 3}
    copied.clear()
    assert (copied.position(), memory.position()) == (None, {"at": 3})


def test_a_worker_of_a_dropped_iteration_does_not_count() -> None:
    memory = Passes()

    def in_another_process() -> Passes:
        """The memory is shared, all else is its own."""
        other = Passes.__new__(Passes)
        other.__dict__.update(memory.__dict__)
        return other

    dropped, resumed, third = (in_another_process() for _ in range(3))
    dropped.begin(0, 1, is_resumed=False)
    resumed.load(0, 1, 3)
    dropped.end(0, 0, {"at": "the end of another pass"})
    assert (resumed.number(0), resumed.start(0, 1)) == (3, None)
    with pytest.raises(UsageError, match="left before its end"):
        dropped.begin(0, 1, is_resumed=True)
    with pytest.raises(UsageError, match="left before its end"):
        third.begin(0, 1, is_resumed=False)
    resumed.begin(0, 1, is_resumed=True)
    resumed.end(0, 3, {"at": 7})
    assert (memory.number(0), memory.position(), third.start(0, 1)) == (4, {"at": 7}, {"at": 7})
    third.begin(0, 1, is_resumed=False)


def order_of_source(items: int, seed: int, epochs: int) -> list[list[int]]:
    """The sequences of each sweep, as a source gives them."""
    with MinibatchSource.from_data(x=np.zeros((items, 1)), randomize="global", randomization_seed=seed) as source:
        keys = list(source.next_minibatch(items * epochs)["x"].keys)
    return [keys[items * epoch : items * (epoch + 1)] for epoch in range(epochs)]


def sampler(items: int = 23, world: tuple[int, int] = (0, 1), **options: Any) -> Any:
    return tesson.torch.Sampler(range(items), seed=7, world=world, **options)


@pytest.mark.parametrize("block", [1, 5, 4096])
def test_a_sampler_has_the_order_of_a_source(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tesson.torch.Sampler, "BLOCK", block)
    expected = order_of_source(23, 7, 3)
    for ranks in (1, 3, 8):
        samplers = [sampler(world=(rank, ranks)) for rank in range(ranks)]
        assert [[list(each) for each in samplers] for _ in range(3)] == [
            [epoch[rank::ranks] for rank in range(ranks)] for epoch in expected
        ]


@pytest.mark.parametrize("ranks", [1, 3, 8, 30])
def test_all_ranks_of_a_sampler_take_equally_many_steps(ranks: int) -> None:
    epoch = order_of_source(23, 7, 1)[0]
    spare = len(epoch) % ranks
    for equal_steps, whole in (
        ("drop", epoch[: len(epoch) - spare]),
        ("repeat", [*epoch, *itertools.islice(itertools.cycle(epoch), -len(epoch) % ranks)]),
    ):
        for rank in range(ranks):
            each = sampler(world=(rank, ranks), equal_steps=equal_steps)
            assert len(each) == len(whole) / ranks
            assert list(each) == whole[rank::ranks]


def test_a_sampler_begins_the_epoch_that_is_set() -> None:
    expected = order_of_source(23, 7, 5)
    each = sampler()
    each.set_epoch(4)
    assert list(each) == expected[4]
    each.set_epoch(1)
    # As a loader with workers does, whose loop is left: how much it took does not matter to the next iteration.
    assert list(itertools.islice(each, 5)) == expected[1][:5]
    assert list(each) == expected[2]
    assert list(itertools.islice(each, 5)) == expected[3][:5]
    each.set_epoch(3)
    assert list(each) == expected[3]


def test_an_iteration_over_a_sampler_goes_to_any_place() -> None:
    expected = order_of_source(23, 7, 4)
    each = sampler()
    iteration = iter(each)
    for taken in (0, 5, 22, 23):
        iteration.load_state_dict({**each.state_dict(), "epoch": 2, "taken": taken})
        assert list(iteration) == expected[2][taken:] and iteration.state_dict()["taken"] == 23
    assert list(each) == expected[3]


def test_a_sampler_goes_on_in_the_epoch_of_a_state_that_is_set_as_well() -> None:
    expected = order_of_source(23, 7, 3)
    begun, resumed = sampler(), sampler()
    begun.set_epoch(1)
    list(itertools.islice(begun, 5))
    resumed.load_state_dict(begun.state_dict())
    resumed.set_epoch(1)
    assert [list(resumed), list(resumed)] == [expected[1][5:], expected[2]]
    resumed.load_state_dict(begun.state_dict())
    resumed.set_epoch(2)
    assert (resumed.state_dict()["epoch"], list(resumed)) == (2, expected[2])


@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_a_sampler_resumes_on_another_number_of_ranks(ranks: int) -> None:
    expected = order_of_source(23, 7, 2)
    first = [sampler(world=(rank, 4)) for rank in range(4)]
    for each in first:
        list(itertools.islice(each, 3))
    state = json.loads(json.dumps(first[2].state_dict()))
    assert [each.state_dict() for each in first] == [state] * 4
    resumed = [sampler(world=(rank, ranks)) for rank in range(ranks)]
    for rank, each in enumerate(resumed):
        each.load_state_dict(state)
        assert list(each) == expected[0][12:][rank::ranks]
        assert list(each) == expected[1][rank::ranks]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sampler_has_no_state_of_indices_that_were_taken_ahead(workers: int) -> None:
    each = sampler(100)
    loader = DataLoader(range(100), batch_size=5, sampler=each, num_workers=workers)
    read: list[int] = []
    for batch in itertools.islice(loader, 4):
        read += batch.tolist()
    if workers > 0:
        with pytest.raises(UsageError, match="a loader with 2 worker processes takes indices ahead of its loop"):
            each.state_dict()
    else:
        resumed = sampler(100)
        resumed.load_state_dict(each.state_dict())
        assert sorted(read + list(resumed)) == list(range(100))
    list(loader)
    if workers > 0:
        # It might still be in the middle of the loop.
        with pytest.raises(UsageError, match=r"call set_epoch\(\) for the next one first"):
            each.state_dict()
    each.set_epoch(2)
    assert (each.state_dict()["epoch"], each.state_dict()["taken"]) == (2, 0)


def test_a_sampler_of_many_items_takes_no_memory_for_them() -> None:
    import tracemalloc

    many = tesson.torch.Sampler(2**62, seed=1, world=(1, 4))
    tracemalloc.start()
    first = list(itertools.islice(many, 10_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(set(first)) == 10_000 and all(0 <= index < 2**62 for index in first)
    assert peak < 2**20
    assert len(many) == 2**60


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True])
def test_a_seed_that_no_order_has_is_refused(seed: Any) -> None:
    with pytest.raises(ConfigError, match="expected a whole number from 0 below") as error:
        tesson.torch.Sampler(3, seed=seed, world=(0, 1))
    assert error.value.path == "seed"


LENGTHS: dict[str, Any] = {
    "whole sweeps": lambda prepared: tesson.torch.IterableDataset(functools.partial(endless, num_data_partitions=1, partition_index=0), 11),
    "minibatches of two sweeps": lambda prepared: tesson.torch.IterableDataset(endless, SIZE),
    "pinned": lambda prepared: tesson.torch.IterableDataset(endless, SIZE, pin_memory=True),
    "windows": lambda prepared: tesson.torch.IterableDataset(
        MinibatchSource.from_data(x=np.arange(float(ITEMS)), randomize=True), SIZE
    ),
    "unequal sequences": lambda prepared: tesson.torch.IterableDataset(
        MinibatchSource.from_data(x=[np.zeros(1 + n % 3) for n in range(ITEMS)], randomize="global"), 7
    ),
    "buckets": lambda prepared: tesson.torch.IterableDataset(
        MinibatchSource.from_data(x=[np.zeros(1 + n % 3) for n in range(ITEMS)], randomize=True, bucketing=7), 7
    ),
    "an end": lambda prepared: tesson.torch.IterableDataset(functools.partial(endless, max_sweeps=2), SIZE),
    "a share": lambda prepared: tesson.torch.IterableDataset(functools.partial(rank_of_two, 1), SIZE),
    "a share by chunk": lambda prepared: tesson.torch.IterableDataset(
        MinibatchSource.from_data(x=np.arange(130.0), randomize=True, num_data_partitions=2, partition_index=1), 24
    ),
    "minibatches": lambda prepared: tesson.torch.IterableDataset(prepared, SIZE),
    "elements": lambda prepared: tesson.torch.IterableDataset(prepared.map(lambda example: example).batch(3)),
}


@pytest.mark.parametrize("data", LENGTHS)
def test_the_length_is_that_of_each_iteration(data: str, prepared: Any, pins: list[Any]) -> None:
    opened = pickle.dumps(prepared)

    def make() -> Any:
        return LENGTHS[data](pickle.loads(opened))

    dataset = make()
    for _ in range(3):
        begin = dataset.state_dict()
        length, loop = len(dataset), iter(dataset)
        found = [len(dataset)]
        states = []
        for _ in loop:
            found.append(len(dataset))
            states.append(dataset.state_dict())
        assert found == [length] * (1 + len(states)) == [len(states)] * (1 + len(states))
        # A resumed iteration has the length of the whole one, as loaders have it; a new one after a loop was left has what is left.
        for step, state in enumerate(states, start=1):
            resumed = make()
            resumed.load_state_dict(state)
            assert len(resumed) == length
            assert [len(resumed) for _ in resumed] == [length] * (length - step)
        if states:
            left = make()
            left.load_state_dict(begin)
            list(itertools.islice(left, 1))
            rest = iter(left)
            assert len(left) == length - 1 or length == 1
            assert length == 1 or len(list(rest)) == length - 1


def test_a_length_that_is_not_known_is_an_error_of_the_type(prepared: Any, ctf: Any) -> None:
    streams = StreamDefs(x=StreamDef("x", 1))
    file = ctf("|x 1\n|x 2\n|x 3\n")
    for given, size in (
        (MinibatchSource(CTFDeserializer(file, streams), randomize=False), 2),
        (endless(truncation_length=2), SIZE),
        (prepared.filter(lambda example: True), None),
    ):
        dataset = tesson.torch.IterableDataset(given, size)
        with pytest.raises(TypeError, match="the number of minibatches is not known"):
            len(dataset)
        assert list(dataset)


@pytest.mark.parametrize("size", [SIZE, 11])
def test_with_workers_only_a_length_that_all_passes_have_is_known(size: int) -> None:
    dataset = tesson.torch.IterableDataset(endless, size)
    loader = DataLoader(dataset, batch_size=None, num_workers=2)
    assert len(loader) == (2 if size == 11 else 6)
    list(loader)
    if size == 11:
        assert len(loader) == 2
    else:
        with pytest.raises(TypeError, match="not known"):
            len(loader)


def test_a_sampler_refuses_the_state_of_another() -> None:
    with pytest.raises(ResumeError, match="items=23"):
        sampler(24).load_state_dict(sampler().state_dict())


@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"snapshot_every_n_steps": 3}], ids=["all", "whole batches", "snapshots"])
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_stateful_loader_resumes_with_the_sampler_at_any_step(workers: int, options: dict[str, Any]) -> None:
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    n = 20 if "drop_last" in options else 23
    expected = [epoch[:n] for epoch in order_of_source(23, 7, 4)]

    def loader() -> Any:
        return torchdata.StatefulDataLoader(range(23), batch_size=5, sampler=sampler(), num_workers=workers, **options)

    def indices(batches: Any) -> list[int]:
        return [i for batch in batches for i in batch.tolist()]

    # States before the first step, in two epochs and behind each of them: what is left of which epoch.
    begun = loader()
    saved = [(0, 0, begun.state_dict())]
    for epoch in range(2):
        taken = 0
        for batch in begun:
            taken += len(batch)
            saved.append((epoch, taken, begun.state_dict()))
        saved.append((epoch + 1, 0, begun.state_dict()))
    for epoch, taken, state in saved:
        resumed = loader()
        resumed.load_state_dict(json.loads(json.dumps(state)))
        assert [indices(resumed), indices(resumed)] == [expected[epoch][taken:], expected[epoch + 1]]


@pytest.mark.parametrize("options", [{}, {"truncation_length": 4}, {"bucketing": 32, "randomize": True}], ids=["whole", "truncated", "buckets"])
def test_distributed_checkpoints_hold_all_of_a_state(tmp_path: Path, options: dict[str, Any]) -> None:
    import torch.distributed.checkpoint as dcp

    sequences = [np.full((1 + 7 * i % 13, 1), i, np.float32) for i in range(40)]

    def dataset() -> tesson.torch.IterableDataset:
        return tesson.torch.IterableDataset(MinibatchSource.from_data(x=sequences, max_sweeps=2, **options), minibatch_size=32)

    saved = dataset()
    iteration = iter(saved)
    for _ in range(5):
        next(iteration)
    dcp.save({"data": saved}, checkpoint_id=tmp_path, no_dist=True)
    loaded = dataset()
    dcp.load({"data": loaded}, checkpoint_id=tmp_path, no_dist=True)
    assert loaded.state_dict() == saved.state_dict()
    assert [batch["x"].tolist() for batch in loaded] == [batch["x"].tolist() for batch in iteration]


@pytest.mark.parametrize("change", [{"source": "{"}, {"source": 3}, {"source": None}, {"ended": None}, {"ended": "x"}, {"worker": 0}])
def test_a_state_that_cannot_be_read_is_refused(change: dict[str, Any]) -> None:
    dataset = tesson.torch.IterableDataset(MinibatchSource.from_data(x=np.ones((3, 1))), minibatch_size=2)
    next(iter(dataset))
    state = dataset.state_dict()
    with pytest.raises(ResumeError):
        dataset.load_state_dict({**state, **change})
    assert dataset.state_dict() == state


@pytest.mark.parametrize("change", [{"epoch": None}, {"epoch": -1}, {"taken": "x"}, {"taken": -1}, {"items": 5}, {}])
def test_a_state_that_no_sampler_has_is_refused(change: dict[str, Any]) -> None:
    each = sampler()
    list(itertools.islice(each, 3))
    state = each.state_dict()
    with pytest.raises(ResumeError):
        each.load_state_dict({**state, **change} if change else {})
    assert each.state_dict() == state
