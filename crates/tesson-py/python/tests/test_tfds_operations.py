"""Operations on datasets: what tf.data gives, by hand from its rules, and exact states of every composition."""

from __future__ import annotations

import json
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interleave import interleaved
from prepare import node, tensor, write_dataset

import tesson
from tesson import tfds
from tesson.tfds.operations.node import OperationIterator

TEXT = node("text_feature.Text", text={})


@pytest.fixture
def numbers(tmp_path: Path) -> tfds.Builder:
    """Twenty numbers in four shards of five."""
    shards = [[{"n": 5 * shard + i, "t": b"%d" % (5 * shard + i)} for i in range(5)] for shard in range(4)]
    folder = write_dataset(tmp_path / "numbers" / "1.0.0", {"n": tensor("int64"), "t": TEXT}, {"train": shards})
    return tfds.builder_from_directory(folder)


@pytest.fixture
def lengths(tmp_path: Path) -> tfds.Builder:
    """Five arrays of 0, 1, 2, 3 and 1 numbers, with texts of as many letters."""
    of = [0, 1, 2, 3, 1]
    shard = [{"x": np.arange(n, dtype=np.float32), "t": b"a" * n} for n in of]
    folder = write_dataset(tmp_path / "lengths" / "1.0.0", {"x": tensor("float32", -1), "t": TEXT}, {"train": [shard]})
    return tfds.builder_from_directory(folder)


def n_of(ds: Any) -> list[int]:
    return [int(example["n"]) for example in ds]


def plain(value: Any) -> Any:
    """Elements as lists and numbers, which compare as a whole."""
    if isinstance(value, dict):
        return {key: plain(of) for key, of in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(of) for of in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def shards_of_one(folder: Path, n: int) -> tfds.Builder:
    """A dataset with as many shards as examples."""
    write_dataset(folder / "many" / "1.0.0", {"n": tensor("int64")}, {"train": [[{"n": i}] for i in range(n)]})
    return tfds.builder_from_directory(folder / "many" / "1.0.0")


def shuffled_files(builder: tfds.Builder, seed: int = 32) -> tfds.Dataset[Any]:
    config = tfds.ReadConfig(shuffle_seed=seed, interleave_cycle_length=1)
    dataset: tfds.Dataset[Any] = builder.as_dataset("train", shuffle_files=True, read_config=config)
    return dataset


# Passes


def test_a_dataset_derived_in_a_loop_shares_the_passes_of_its_parent_as_in_tensorflow_2(tmp_path: Path) -> None:
    ds = shuffled_files(shards_of_one(tmp_path, 1024))
    assert [n_of(ds.take(1)) for _ in range(4)] == [[141], [777], [445], [772]]


def test_a_shuffle_made_in_a_loop_is_new_but_what_it_stands_on_is_not(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    passes = [ds.ids(epoch=i).tolist() for i in range(3)]
    # The buffer of one element changes nothing, so the order is that of the shuffle below.
    assert [n_of(ds.shuffle(1, seed=1).take(2)) for _ in range(3)] == [of[:2] for of in passes]


def test_reading_the_parent_counts_for_what_is_derived_from_it(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    passes = [ds.ids(epoch=i).tolist() for i in range(5)]
    assert n_of(ds) == passes[0]
    assert n_of(ds.map(lambda example: example).take(3)) == passes[1][:3]
    assert [batch["n"].tolist() for batch in ds.batch(20)] == [passes[2]]
    assert next(ds.minibatches(4))["n"].tolist() == passes[3][:4]
    again = pickle.loads(pickle.dumps((ds, ds.take(1))))
    assert n_of(again[1]) == passes[4][:1]


def test_zip_of_a_dataset_with_itself_takes_two_passes(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    passes = [ds.ids(epoch=i).tolist() for i in range(3)]
    assert [(int(a["n"]), int(b["n"])) for a, b in tfds.Dataset.zip(ds, ds)] == list(zip(*passes[:2], strict=True))
    assert n_of(ds) == passes[2]


def test_a_shuffle_that_does_not_reshuffle_gives_one_order(numbers: tfds.Builder) -> None:
    for ds in (numbers.as_dataset("train"), numbers.as_dataset("train").map(lambda example: example)):
        shuffled = ds.shuffle(20, seed=3, reshuffle_each_iteration=False)
        assert n_of(shuffled) == n_of(shuffled.take(-1)) == n_of(shuffled.skip(0))


def test_an_iterator_that_was_resumed_is_followed_by_the_next_pass(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    passes = [ds.ids(epoch=i).tolist() for i in range(3)]
    n_of(ds)
    iterator = iter(ds)
    next(iterator)
    state = iterator.state_dict()
    fresh = numbers.as_dataset("train").shuffle(20, seed=3)
    resumed = iter(fresh)
    resumed.load_state_dict(state)
    assert n_of(resumed) == passes[1][1:]
    assert n_of(fresh.take(3)) == passes[2][:3]


BEGINNINGS: dict[str, tuple[Callable[[tfds.Dataset[Any]], tfds.Dataset[Any]], Callable[[tfds.Dataset[Any]], Any]]] = {
    "examples": (lambda ds: ds.shuffle(20, seed=3), iter),
    "derived": (lambda ds: ds.shuffle(20, seed=3), lambda ds: iter(ds.take(20).map(lambda example: example))),
    "minibatches": (lambda ds: ds.shuffle(20, seed=3), lambda ds: ds.minibatches(20)),
    "ids": (lambda ds: ds.shuffle(20, seed=3), lambda ds: [{"n": ds.ids()}]),
    "elements": (lambda ds: ds.batch(1).shuffle(20, seed=3), iter),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_two_threads_begin_two_passes(numbers: tfds.Builder, name: str) -> None:
    made, begin = BEGINNINGS[name]

    def order(begun: Any) -> list[int]:
        return [int(n) for example in begun for n in np.ravel(example["n"])]

    ds = made(numbers.as_dataset("train"))
    passes = [order(begin(ds)) for _ in range(3)]

    def prepare() -> tuple[Callable[[], Any], Callable[[], Any]]:
        nonlocal ds
        ds = made(numbers.as_dataset("train"))
        return lambda: begin(ds), lambda: begin(ds)

    for begun in interleaved(prepare):
        assert sorted(map(order, begun)) == sorted(passes[:2])
        assert order(begin(ds)) == passes[2]


def two_shuffles(builder: tfds.Builder) -> tuple[tfds.Dataset[Any], Any]:
    """A dataset, and an iterator in its first pass."""
    ds = shuffled_files(builder).shuffle(7, seed=4)
    iterator = iter(ds)
    next(iterator)
    return ds, iterator


def test_a_state_counts_the_pass_that_another_thread_reads_in_all_shuffles_or_in_none(numbers: tfds.Builder) -> None:
    def prepare() -> tuple[Callable[[], Any], Callable[[], Any]]:
        ds, _ = two_shuffles(numbers)
        mapped = iter(ds.map(pair))
        next(mapped)
        return mapped.state_dict, lambda: n_of(ds)

    for state, _ in interleaved(prepare):
        assert state["passes"] in ([2, 2], [3, 3])


def test_a_thread_that_resumes_and_one_that_begins_a_pass_come_one_after_the_other(numbers: tfds.Builder) -> None:
    ds, iterator = two_shuffles(numbers)
    passes = [ds.ids(epoch=i).tolist() for i in range(7)]
    for _ in range(4):
        iterator = iter(ds)
        next(iterator)
    state = iterator.state_dict()

    def prepare() -> tuple[Callable[[], Any], Callable[[], Any]]:
        nonlocal ds
        ds, iterator = two_shuffles(numbers)
        return lambda: iterator.load_state_dict(state), lambda: n_of(ds)

    for _, order in interleaved(prepare):
        assert [order, n_of(ds)] in ([passes[1], passes[5]], [passes[5], passes[6]])


# ds[i]


def test_examples_by_number_of_a_shuffled_dataset_need_an_epoch(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    with pytest.raises(tesson.UsageError, match=r"set_epoch\(epoch\)"):
        ds[0]
    for epoch in (0, 2, 1):
        ds.set_epoch(epoch)
        assert [int(ds[i]["n"]) for i in range(20)] == ds.ids(epoch=epoch).tolist()
    mapped = ds.map(lambda example: int(example["n"]) * 10)
    with pytest.raises(tesson.UsageError, match="set_epoch"):
        mapped[0]
    mapped.set_epoch(1)
    assert [mapped[i] for i in (0, -1)] == [10 * ds.ids(epoch=1)[i] for i in (0, -1)]


def test_examples_by_number_of_an_order_that_stays_need_none(numbers: tfds.Builder) -> None:
    once = numbers.as_dataset("train").shuffle(20, seed=3, reshuffle_each_iteration=False)
    assert [int(once[i]["n"]) for i in range(20)] == once.ids().tolist()
    assert numbers.as_dataset("train").enumerate(5)[3] == (8, {"n": 3, "t": b"3"})
    with pytest.raises(TypeError, match="not known without reading"):
        numbers.as_dataset("train").filter(lambda example: True)[0]
    with pytest.raises(TypeError, match=r"elements of `batch` are not numbered"):
        numbers.as_dataset("train").batch(5)[0]


def test_a_worker_that_was_not_told_of_an_epoch_refuses_to_repeat_the_last_one(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    ds.set_epoch(0)
    assert ds[4] == ds[4]
    # As in a worker process of a data loader: the epoch was set in another one.
    worker = pickle.loads(pickle.dumps(ds))
    assert worker._epoch is not None
    worker._epoch._process += 1
    assert [int(worker[i]["n"]) for i in range(20)] == ds.ids(epoch=0).tolist()
    with pytest.raises(tesson.UsageError, match="persistent_workers=False"):
        worker[0]


# Single operations


def test_map_passes_the_members_of_a_tuple_as_arguments(numbers: tfds.Builder) -> None:
    pairs = numbers.as_dataset("train").take(2).map(lambda example: (example["n"], example["t"]))
    assert list(pairs.map(lambda n, t: t * int(n + 1), num_parallel_calls=4, deterministic=False, name="m")) == [b"0", b"11"]


def test_filter_keeps_the_elements_for_which_it_is_true_and_counts_the_others(numbers: tfds.Builder) -> None:
    iterator = iter(numbers.as_dataset("train").filter(lambda example: example["n"] % 7 == 5, name="f"))
    assert n_of(iterator) == [5, 12, 19]
    assert iterator.state_dict()["passed_over"] == 17
    with pytest.raises(TypeError, match="expected a bool"):
        next(iter(numbers.as_dataset("train").filter(lambda example: example["n"])))


def test_batches_are_elements_like_others(numbers: tfds.Builder) -> None:
    batches = numbers.as_dataset("train").batch(8)

    def of(ds: tfds.Dataset[Any]) -> list[list[int]]:
        return [batch["n"].tolist() for batch in ds]

    one = [list(range(8)), list(range(8, 16)), list(range(16, 20))]
    assert of(batches) == one and of(batches.repeat(2)) == one * 2 and of(batches.take(1)) == one[:1]
    assert of(batches.skip(2)) == one[2:] and of(batches.shard(2, 1)) == one[1:2]
    assert of(numbers.as_dataset("train").batch(8, drop_remainder=True).repeat(2)) == one[:2] * 2
    assert [batch["t"].tolist() for batch in batches.take(1)] == [[b"%d" % i for i in range(8)]]


def test_batches_are_shuffled_by_tf_datas_algorithm_as_numbers_from_the_specification(tmp_path: Path) -> None:
    # Of 0 … 9 with a buffer of 10 and seed 32, and with one of 4 and seed 5 (spec/tfds.md §8.5): two passes each.
    ds = shards_of_one(tmp_path, 10).as_dataset("train").batch(1)
    full, small = ds.shuffle(10, seed=32), ds.shuffle(4, seed=5)
    for shuffled, passes in (
        (full, [[9, 7, 6, 5, 0, 2, 3, 1, 4, 8], [3, 7, 1, 9, 0, 6, 8, 2, 4, 5]]),
        (small, [[1, 4, 5, 6, 2, 7, 0, 3, 9, 8], [0, 4, 5, 1, 7, 6, 2, 9, 8, 3]]),
    ):
        assert [[int(batch["n"][0]) for batch in shuffled] for _ in range(2)] == passes
    assert ds.shuffle(10, seed=32).seeds["ops"] == [32]


def test_a_repeat_begins_a_pass_too_many_unless_it_stands_on_a_shuffle(tmp_path: Path) -> None:
    # spec/tfds.md §8.6, seen when the dataset is traversed again: with a shuffle directly below, passes 0, 1 are
    # followed by 2, 3; with anything in between, prefetch included, pass 2 has been begun and is lost.
    builder = shards_of_one(tmp_path, 10)

    def first_of_second_traversal(make: Callable[[tfds.Dataset[Any]], tfds.Dataset[Any]]) -> int:
        ds = make(builder.as_dataset("train").map(lambda example: int(example["n"])))
        assert len(list(ds)) == 20
        return int(next(iter(ds)))

    of = builder.as_dataset("train").shuffle(10, seed=32)
    passes = [of.ids(epoch=i).tolist() for i in range(4)]
    assert first_of_second_traversal(lambda ds: ds.shuffle(10, seed=32).repeat(2)) == passes[2][0]
    assert first_of_second_traversal(lambda ds: ds.shuffle(10, seed=32).skip(0).repeat(2)) == passes[2][0]
    assert first_of_second_traversal(lambda ds: ds.shuffle(10, seed=32).prefetch(1).repeat(2)) == passes[3][0]
    assert first_of_second_traversal(lambda ds: ds.shuffle(10, seed=32).map(int).repeat(2)) == passes[3][0]


def test_the_plan_knows_prefetch_between_a_shuffle_and_a_repeat(tmp_path: Path) -> None:
    of = shards_of_one(tmp_path, 10).as_dataset("train").shuffle(10, seed=32)
    passes = [of.ids(epoch=i).tolist() for i in range(4)]
    for ds, second in ((of.repeat(2), 2), (of.prefetch(0).repeat(2), 3), (of.prefetch(1).repeat(2), 3)):
        fresh = pickle.loads(pickle.dumps(ds))
        assert n_of(fresh) == passes[0] + passes[1]
        assert n_of(fresh)[:10] == passes[second]


def number(example: dict[str, Any]) -> int:
    return int(example["n"])


# Three passes each, as TensorFlow 2.21 gives them: six files of one number, shuffled with the seed 8.
IDLE_OPERATIONS: dict[str, tuple[Callable[[tfds.Dataset[Any]], tfds.Dataset[Any]], list[str]]] = {
    "repeat-1": (lambda ds: ds.map(number).repeat(1), ["520143", "541302", "145320"]),
    "repeat-1-repeat-2": (lambda ds: ds.map(number).repeat(1).repeat(2), ["520143541302", "124035402531", "350412130245"]),
    "around-a-repeat": (
        lambda ds: ds.map(number).take(-1).repeat(2).skip(0).repeat(1),
        ["520143541302", "124035402531", "350412130245"],
    ),
    "prefetch-0-of-elements": (
        lambda ds: ds.map(number).shuffle(3, seed=1).prefetch(0).repeat(2),
        ["215304435201", "154032120345", "023514132540"],
    ),
    "prefetch-0-of-examples": (
        lambda ds: ds.shuffle(3, seed=1).prefetch(0).repeat(2).map(number),
        ["215304435201", "154032120345", "023514132540"],
    ),
    "on-a-shuffle": (
        lambda ds: ds.map(number).shuffle(3, seed=1).repeat(1).shard(1, 0).repeat(2),
        ["215304435201", "134025142503", "405321413502"],
    ),
}


@pytest.mark.parametrize("name", IDLE_OPERATIONS)
def test_operations_that_change_nothing_are_left_out_as_in_tensorflow(tmp_path: Path, name: str) -> None:
    make, passes = IDLE_OPERATIONS[name]
    ds = make(shuffled_files(shards_of_one(tmp_path, 6), seed=8))
    assert ["".join(map(str, ds)) for _ in range(3)] == passes


def test_elements_of_different_shapes_are_refused_by_batch_and_padded_by_padded_batch(lengths: tfds.Builder) -> None:
    ds = lengths.as_dataset("train")
    mapped = ds.map(lambda example: example)
    for of in (ds.skip(1), mapped.skip(1)):
        iterator = iter(of.batch(2))
        for _ in range(2):
            with pytest.raises(ValueError, match=r"shape \[1\].* has \[2\].*padded_batch"):
                next(iterator)
    for of in (ds, mapped):
        first, second, last = of.padded_batch(2)
        assert first["x"].tolist() == [[0], [0]] and second["x"].tolist() == [[0, 1, 0], [0, 1, 2]]
        assert first["x"].dtype == np.float32 and second["t"].tolist() == [b"aa", b"aaa"]
        assert last["x"].tolist() == [[0]]
        assert len(list(of.padded_batch(2, drop_remainder=True))) == 2
    # After a batch that was refused nothing is lost.
    iterator = iter(ds.skip(1).batch(2))
    with pytest.raises(ValueError):
        next(iterator)
    resumed = iter(ds.skip(1))
    resumed.load_state_dict(iterator.state_dict())
    assert [len(example["x"]) for example in resumed] == [1, 2, 3, 1]


def test_an_incomplete_batch_of_different_shapes_is_left_out_where_it_is_dropped(lengths: tfds.Builder) -> None:
    # As in TensorFlow: nothing is put together of what is not delivered.
    ds = lengths.as_dataset("train")
    for of in (ds, ds.map(lambda example: example)):
        assert list(of.batch(8, drop_remainder=True)) == []
        with pytest.raises(ValueError, match="padded_batch"):
            list(of.batch(8))
    assert [batch["t"].tolist() for batch in ds.take(3).skip(1).batch(1, drop_remainder=True)] == [[b"a"], [b"aa"]]
    assert list(ds.minibatches(8, drop_remainder=True)) == []


def test_padded_batch_pads_to_given_shapes_with_given_values(lengths: tfds.Builder) -> None:
    pairs = lengths.as_dataset("train").map(lambda example: (example["x"], example["t"]))
    (x, t), *_ = pairs.padded_batch(3, padded_shapes=([4], []), padding_values=(-1, b"-"))
    assert x.tolist() == [[-1] * 4, [0, -1, -1, -1], [0, 1, -1, -1]] and t.tolist() == [b"", b"a", b"aa"]
    x, _ = next(iter(pairs.padded_batch(5, padded_shapes=([-1], []))))
    assert x.shape == (5, 3)
    refused = {
        r"\[0\]: an element of the batch reaches \[3\], padded_shapes says \[2\]": {"padded_shapes": ([2], [])},
        r"names 2 dimensions, elements have 1": {"padded_shapes": ([2, 3], [])},
        r"expected the structure of the elements": {"padded_shapes": {"x": [2]}},
    }
    for message, options in refused.items():
        with pytest.raises(ValueError, match=message):
            list(pairs.padded_batch(5, **options))
    with pytest.raises(TypeError, match=r"\[1\]: padding value 7 is none of type string"):
        list(pairs.padded_batch(5, padding_values=7))


def test_zip_keeps_the_structure_and_ends_with_the_shortest(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    a, b = ds.map(lambda example: int(example["n"])), ds.skip(17).map(lambda example: example["t"])
    assert list(tfds.Dataset.zip((a, {"x": (b, a)}), name="z")) == [(i, {"x": (b"%d" % (17 + i), i)}) for i in range(3)]
    assert list(tfds.Dataset.zip(datasets=(b, a))) == [(b"%d" % (17 + i), i) for i in range(3)]
    with pytest.raises(TypeError, match="a list"):
        tfds.Dataset.zip([a, b])
    with pytest.raises(TypeError, match="expected a dataset"):
        tfds.Dataset.zip(a, 3)


def test_enumerate_gives_pairs_of_an_int64_and_the_element(numbers: tfds.Builder) -> None:
    pairs = list(numbers.as_dataset("train").take(2).enumerate(start=5, name="e"))
    assert pairs == [(5, {"n": 0, "t": b"0"}), (6, {"n": 1, "t": b"1"})] and isinstance(pairs[0][0], np.int64)


def test_concatenate_begins_its_second_part_when_the_first_has_ended(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    passes = [ds.ids(epoch=i).tolist() for i in range(2)]
    both = ds.take(2).concatenate(ds.take(3), name="c")
    assert n_of(both) == passes[0][:2] + passes[1][:3] and len(both) == 5


def test_unbatch_gives_the_rows_of_batches_and_refuses_what_has_none(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    assert plain(list(ds.batch(8).unbatch(name="u"))) == plain(list(ds))
    with pytest.raises(ValueError, match="expected rows"):
        next(iter(ds.map(lambda example: example["t"]).unbatch()))
    with pytest.raises(ValueError, match=r"\[1, 2\] rows"):
        next(iter(ds.map(lambda example: ([1], [1, 2])).unbatch()))


def test_a_cache_gives_the_first_complete_pass_for_ever_and_its_own_copies(numbers: tfds.Builder) -> None:
    calls = []

    def seen(example: dict[str, Any]) -> np.ndarray:
        calls.append(int(example["n"]))
        return np.array([example["n"]])

    ds = numbers.as_dataset("train").shuffle(20, seed=3)
    passes = [ds.ids(epoch=i).tolist() for i in range(3)]
    cached = ds.map(seen).cache(name="c")
    assert [int(x[0]) for x in cached.take(2)] == passes[0][:2]
    # That pass was left early, so nothing was cached: the next one is another.
    for x, n in zip(cached, passes[1], strict=True):
        assert x.tolist() == [n]
        x[:] = -1
    assert [int(x[0]) for x in cached] == passes[1] and len(calls) == 22
    assert n_of(ds) == passes[2]
    with pytest.raises(tesson.UsageError, match="in memory only"):
        ds.cache("cache")


def test_a_cache_that_was_complete_when_the_state_was_taken_goes_on_with_its_pass(numbers: tfds.Builder) -> None:
    def dataset() -> tfds.Dataset[Any]:
        return numbers.as_dataset("train").shuffle(20, seed=3).cache()

    ds = dataset()
    order = n_of(ds)
    iterator = iter(ds)
    assert n_of([next(iterator) for _ in range(4)]) == order[:4]
    state = json.loads(json.dumps(iterator.state_dict()))
    fresh = dataset()
    resumed = iter(fresh)
    resumed.load_state_dict(state)
    assert n_of(resumed) == order[4:]
    assert n_of(fresh) == order and n_of(fresh) == order


def test_a_pass_from_a_cache_stays_as_it_is_where_another_iterator_resumes_another(numbers: tfds.Builder) -> None:
    def dataset() -> tfds.Dataset[Any]:
        return numbers.as_dataset("train").shuffle(20, seed=3).cache()

    other = dataset()
    next(iter(other))
    state = iter(other).state_dict()
    ds = dataset()
    order = n_of(ds)
    begun, untouched = iter(ds), iter(ds)
    next(begun)
    resumed = iter(ds)
    resumed.load_state_dict(state)
    assert n_of(resumed) != order
    assert n_of(begun) == order[1:] and n_of(untouched) == order
    # The pass that ended last is the one that is given again, here and where its state is loaded.
    fresh = iter(dataset())
    fresh.load_state_dict(iter(ds).state_dict())
    assert n_of(ds) == n_of(fresh) == order


def test_a_state_of_a_cache_is_that_of_its_pass_where_another_thread_resumes_another(numbers: tfds.Builder) -> None:
    def dataset() -> tfds.Dataset[Any]:
        return numbers.as_dataset("train").shuffle(20, seed=3).take(3).cache()

    other = dataset()
    next(iter(other))
    state = iter(other).state_dict()

    def prepare() -> tuple[Callable[[], Any], Callable[[], Any]]:
        ds = dataset()
        list(ds)

        def resume() -> None:
            iterator = iter(ds)
            iterator.load_state_dict(state)
            list(iterator)

        return lambda: iter(ds), resume

    for iterator, _ in interleaved(prepare):
        fresh = iter(dataset())
        fresh.load_state_dict(iterator.state_dict())
        assert n_of(fresh) == n_of(iterator)


def test_a_function_that_fails_is_tried_again_with_the_same_element(numbers: tfds.Builder) -> None:
    fails = [True]

    def once(example: dict[str, Any]) -> int:
        if int(example["n"]) == 3 and fails.pop():
            raise RuntimeError("no luck")
        return int(example["n"])

    makes: list[Callable[[tfds.Dataset[Any]], tfds.Dataset[Any]]] = [
        lambda ds: ds.map(once),
        lambda ds: ds.map(once).batch(2).unbatch(),
        lambda ds: ds.filter(lambda e: once(e) >= 0).map(lambda e: int(e["n"])),
    ]
    for make in makes:
        fails[:] = [False, True]
        iterator = iter(make(numbers.as_dataset("train").take(6)))
        found: list[int] = []
        for _ in range(2):
            try:
                found.extend(int(n) for n in iterator)
            except RuntimeError:
                with pytest.raises(tesson.UsageError, match="call next"):
                    iterator.state_dict()
        assert found == [0, 1, 2, 3, 4, 5]


# What is known of datasets


def test_cardinalities_are_those_of_tf_data(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    few, endless = ds.filter(lambda example: True), ds.map(lambda example: example).repeat()
    zip_of = tfds.Dataset.zip
    expected = {
        20: [ds, ds.map(plain), ds.cache(), ds.prefetch(1), ds.enumerate(), ds.batch(8).unbatch().take(20).repeat(0).concatenate(ds)],
        3: [ds.batch(8), ds.padded_batch(8), ds.map(plain).batch(8), endless.take(3), zip_of(ds.take(3), endless)],
        2: [ds.batch(8, drop_remainder=True), ds.batch(8).shard(2, 0), ds.batch(8).skip(1), zip_of(ds.take(2), ds)],
        16: [ds.batch(8, drop_remainder=True).unbatch()],
        40: [ds.batch(1).repeat(2), ds.concatenate(ds), ds.batch(1).shuffle(3).repeat(2)],
        0: [ds.batch(8).repeat(0), ds.batch(8).take(0), ds.batch(8).skip(9), ds.batch(8).skip(-1), endless.take(0)],
        tfds.INFINITE_CARDINALITY: [ds.repeat(), endless, endless.batch(3), endless.skip(3), endless.concatenate(few), zip_of(endless, endless)],
        tfds.UNKNOWN_CARDINALITY: [few, few.repeat(2), few.take(3), few.skip(3), few.batch(2), zip_of(few, endless), few.concatenate(ds), ds.batch(8).unbatch()],
    }
    assert (tfds.INFINITE_CARDINALITY, tfds.UNKNOWN_CARDINALITY) == (-1, -2)
    for n, datasets in expected.items():
        for of in datasets:
            found = of.cardinality()
            if "unbatch" in repr(of) and n == 20:
                continue
            assert found == n, of
            if n >= 0:
                assert len(of) == n == len(list(of)), of
            else:
                assert bool(of)
                with pytest.raises(TypeError, match="no end" if n == -1 else "not known"):
                    len(of)


def test_specs_say_shapes_and_types(numbers: tfds.Builder, lengths: tfds.Builder) -> None:
    spec, scalar = tfds.TensorSpec, tfds.TensorSpec((), "int64")
    ds = numbers.as_dataset("train")
    assert ds.element_spec == {"n": scalar, "t": spec((), "string")}
    assert ds.batch(3).element_spec["n"] == spec((None,), "int64")
    assert ds.batch(3, drop_remainder=True).element_spec["n"] == spec((3,), "int64")
    assert ds.batch(3, drop_remainder=True).unbatch().element_spec == ds.element_spec
    assert ds.enumerate().filter(lambda i, example: True).element_spec == (scalar, ds.element_spec)
    assert tfds.Dataset.zip({"a": ds.shuffle(3), "b": ds}).element_spec == {"a": ds.element_spec, "b": ds.element_spec}
    assert ds.map(lambda example: (example["n"], np.zeros((2, 3), "f4"))).element_spec == (scalar, spec((None, None), "float32"))
    assert numbers.as_dataset("train", features=["t"]).element_spec == {"t": spec((), "string")}
    config = tfds.ReadConfig(add_tfds_id=True)
    assert numbers.as_dataset("train", read_config=config).element_spec["tfds_id"] == spec((), "string")
    padded = lengths.as_dataset("train").padded_batch(2, padded_shapes={"x": [7], "t": []})
    assert padded.element_spec == {"x": spec((None, 7), "float32"), "t": spec((None,), "string")}
    with pytest.raises(TypeError, match="not numbered"):
        _ = ds.batch(3).map(lambda batch: batch).element_spec


def test_datasets_and_iterators_show_what_they_hold(numbers: tfds.Builder) -> None:
    def double(example: dict[str, Any]) -> int:
        return 2 * int(example["n"])

    ds = numbers.as_dataset("train[:50%]").shuffle(4, seed=1).prefetch(2).repeat()
    assert repr(ds) == "<Dataset 'train[:50%]'.shuffle(4, seed=1).prefetch().repeat(): endless>"
    mapped = ds.map(double).batch(3, drop_remainder=True).take(2)
    assert repr(mapped) == (
        "<Dataset 'train[:50%]'.shuffle(4, seed=1).prefetch().repeat().map(double).batch(3, drop_remainder=True).take(2): 2 elements>"
    )
    iterator = iter(numbers.as_dataset("train"))
    next(iterator)
    assert repr(iterator) == "<DatasetIterator over 'train': 1 of 20 examples given>"
    assert repr(iter(numbers.as_dataset("train").batch(3))) == "<MinibatchIterator of 3 over 'train': 0 of 20 examples given>"
    assert repr(iter(mapped)).startswith("<iterator over 'train[:50%]'.shuffle(4, seed=1)")


def test_what_only_the_plan_knows_is_refused_after_an_operation_on_elements(numbers: tfds.Builder) -> None:
    mapped = numbers.as_dataset("train").map(plain)
    for call in (mapped.ids, mapped.tfds_ids, lambda: mapped.seek(1), lambda: mapped.minibatches(2)):
        with pytest.raises(tesson.UsageError, match="call it before `map`"):
            call()


def test_arguments_that_mean_nothing_are_refused(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").map(plain)
    for call in (lambda: ds.batch(0), lambda: ds.shuffle(0), lambda: ds.shard(2, 2), lambda: ds.shard(2, -1), lambda: ds.padded_batch(-1)):
        with pytest.raises(ValueError, match="expected"):
            call()
    for dataset in (ds, numbers.as_dataset("train")):
        with pytest.raises(tesson.ConfigError, match="^`buffer_size` of `shuffle` is 0, expected a whole number from 1 on") as error:
            dataset.shuffle(0)
        assert error.value.path == ""
    for wrong in (lambda: ds.take(1.5), lambda: ds.repeat("2"), lambda: ds.batch(2.0)):
        with pytest.raises(TypeError):
            wrong()


# States


def is_odd(example: dict[str, Any]) -> bool:
    return int(example["n"]) % 2 == 1


def pair(example: dict[str, Any]) -> tuple[Any, Any]:
    return example["n"], example["t"]


COMPOSITIONS: dict[str, Callable[[tfds.Dataset[Any]], tfds.Dataset[Any]]] = {
    "map": lambda ds: ds.map(pair),
    "filter": lambda ds: ds.filter(is_odd).map(pair),
    "batch-repeat": lambda ds: ds.batch(6).repeat(2),
    "batch-shuffle-take": lambda ds: ds.batch(3).shuffle(3, seed=1).take(4),
    "batch-shuffle-repeat": lambda ds: ds.batch(3).shuffle(4, seed=1).repeat(2),
    "map-shuffle-once-repeat": lambda ds: ds.map(pair).shuffle(6, seed=2, reshuffle_each_iteration=False).repeat(2).skip(3),
    "filter-batch": lambda ds: ds.filter(is_odd).batch(3, drop_remainder=True),
    "filter-shuffle-batch-repeat-filter": lambda ds: ds.filter(is_odd).shuffle(4, seed=3).batch(2).repeat(2).filter(lambda b: b["n"][0] > 4),
    "padded": lambda ds: ds.map(lambda e: np.arange(int(e["n"]) % 3)).padded_batch(4, padding_values=-1),
    "zip-with-shuffle": lambda ds: tfds.Dataset.zip(ds.map(pair), ds.map(pair).shuffle(4, seed=8)).repeat(2),
    "concatenate-others": lambda ds: ds.map(pair).concatenate(ds.map(pair).shuffle(4, seed=8).shuffle(2, seed=9)),
    "batch-unbatch": lambda ds: ds.batch(6).unbatch().skip(2).batch(4),
    "zip-enumerate": lambda ds: tfds.Dataset.zip({"a": ds, "b": (ds.skip(3), ds.batch(2).unbatch())}).enumerate(2),
    "concatenate": lambda ds: ds.filter(is_odd).concatenate(ds.take(5)).map(pair).repeat(2),
    "shard-prefetch": lambda ds: ds.map(pair).prefetch(2).shard(3, 1).repeat(2),
    "cache-repeat": lambda ds: ds.map(pair).cache().repeat(3).take(45),
    "take-none": lambda ds: ds.map(pair).take(0).concatenate(ds.map(pair).skip(-1)).repeat(2),
    "repeat-of-nothing": lambda ds: ds.filter(lambda example: False).repeat(),
    "shuffles": lambda ds: ds.map(pair).shuffle(5, seed=1).enumerate().shuffle(3, seed=2).shard(2, 0),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_every_composition_is_resumed_after_every_element_and_in_the_passes_that_follow(numbers: tfds.Builder, name: str) -> None:
    def dataset() -> tfds.Dataset[Any]:
        return COMPOSITIONS[name](shuffled_files(numbers).shuffle(7, seed=4))

    whole = dataset()
    passes = [plain(list(whole)) for _ in range(3)]
    assert name == "take-none" or name == "repeat-of-nothing" or len(passes[0]) > 2
    ds = dataset()
    list(ds)
    walked = iter(ds)
    for k in range(len(passes[1]) + 2):
        state = json.loads(json.dumps(walked.state_dict()))
        fresh = dataset()
        resumed = iter(fresh)
        resumed.load_state_dict(state)
        assert json.loads(json.dumps(resumed.state_dict())) == state, k
        assert plain(list(resumed)) == passes[1][k:], k
        assert plain(list(fresh)) == passes[2], k
        if k % 4 == 0 and "<lambda>" not in repr(ds):
            assert plain(list(pickle.loads(pickle.dumps(walked)))) == passes[1][k:], k
        element = next(walked, None)
        assert k >= len(passes[1]) or plain(element) == passes[1][k], k


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_passing_over_elements_is_reading_them(numbers: tfds.Builder, name: str) -> None:
    def dataset() -> tfds.Dataset[Any]:
        return COMPOSITIONS[name](shuffled_files(numbers).shuffle(7, seed=4))

    whole = plain(list(dataset()))
    for k in range(len(whole) + 3):
        iterator = iter(dataset())
        assert iterator.skip(1) + iterator.skip(k) == min(k + 1, len(whole))
        assert plain(list(iterator)) == whole[k + 1 :], k


def test_far_positions_are_sought_and_not_read(tmp_path: Path) -> None:
    shards = [[{"n": 500 * shard + i} for i in range(500)] for shard in range(4)]
    folder = write_dataset(tmp_path / "far" / "1.0.0", {"n": tensor("int64")}, {"train": shards})
    ds = tfds.builder_from_directory(folder).as_dataset("train").shuffle(100, seed=1)
    order = ds.ids(epoch=0).tolist()
    calls = []
    mapped = iter(pickle.loads(pickle.dumps(ds)).map(lambda example: calls.append(1) or int(example["n"])))
    assert mapped.skip(1500) == 1500 and not calls
    assert list(mapped) == order[1500:]
    batches = iter(pickle.loads(pickle.dumps(ds)).batch(300))
    assert batches.skip(5) == 5 and [len(batch["n"]) for batch in batches] == [300, 200]
    assert iter(ds.batch(300)).skip(9) == 7 and iter(ds.batch(300, drop_remainder=True)).skip(9) == 6
    assert iter(ds).skip(5000) == 2000


def test_states_of_other_operations_are_refused(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    mapped, filtered = iter(ds.map(pair)), iter(ds.filter(is_odd))
    with pytest.raises(tesson.ResumeError, match="taken of `filter`, the iterator is one of `map`"):
        mapped.load_state_dict(filtered.state_dict())
    with pytest.raises(tesson.ResumeError, match="taken of `map`, the iterator is one of examples"):
        iter(ds).load_state_dict(mapped.state_dict())
    with pytest.raises(tesson.ResumeError, match="found None as `passed_over`, expected a number"):
        filtered.load_state_dict({"operation": "filter"})
    shuffled = iter(ds.map(pair).shuffle(4, seed=1))
    next(shuffled)
    state = shuffled.state_dict()
    with pytest.raises(tesson.ResumeError, match="not pure"):
        iter(ds.take(2).map(pair).shuffle(4, seed=1)).load_state_dict({**state, "input_at_beginning": iter(ds.take(2).map(pair)).state_dict()})
    with pytest.raises(tesson.ResumeError, match="position in a shuffle"):
        shuffled.load_state_dict({**state, "drawn": 40})


def test_concatenated_datasets_have_one_structure(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    for other in (ds.batch(2).enumerate(), numbers.as_dataset("train", features=["n"])):
        with pytest.raises(TypeError, match="expected elements of one structure"):
            ds.concatenate(other)
    assert len(ds.concatenate(ds.batch(2).unbatch().take(2)).take(3).batch(2).concatenate(ds.batch(3)).take(2).unbatch().take(1).repeat(0)) == 0


def test_operations_of_tf_data_that_are_missing_say_what_to_use(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    with pytest.raises(AttributeError, match="`bucket_by_sequence_length` of tf.data is not available: use `padded_batch`"):
        ds.bucket_by_sequence_length(lambda e: 1, [], [])
    with pytest.raises(AttributeError, match="no attribute 'mapp'"):
        ds.mapp(plain)
    assert not hasattr(ds, "flat_map") and pickle.loads(pickle.dumps(ds)).ids().tolist() == ds.ids().tolist()


def test_arguments_of_another_type_are_refused_by_name(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    for call, message in (
        (lambda: ds.take(1.5), "found count=1.5, expected a whole number"),
        (lambda: ds.shuffle("a"), "found buffer_size='a', expected a whole number"),
        (lambda: ds.map(3), "found map_func=3, expected a function"),
        (lambda: ds.filter(None), "found predicate=None, expected a function"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_threads_share_an_iterator_of_operations(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train").repeat(50).map(lambda example: int(example["n"])).filter(lambda n: True).batch(3).unbatch()
    iterator, interval = iter(ds), sys.getswitchinterval()
    read: list[list[int]] = [[], [], []]
    threads = [threading.Thread(target=lambda mine=mine: mine.extend(iterator)) for mine in read]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(sum(read, [])) == sorted(list(range(20)) * 50)


@pytest.mark.parametrize("at", [0, 1, 2, 3, 7])
def test_an_element_in_whose_middle_an_interrupt_comes_is_the_next_one(numbers: tfds.Builder, at: int) -> None:
    interrupts = [True]

    def stopped(example: dict[str, Any]) -> int:
        if int(example["n"]) == at and interrupts and interrupts.pop():
            raise KeyboardInterrupt
        return int(example["n"])

    ds = numbers.as_dataset("train").map(stopped).filter(lambda n: n != 5).shuffle(3, seed=1).batch(2)
    interrupts.clear()
    start = (iterator := iter(ds.repeat(2))).state_dict()
    straight, read = plain(list(iterator)), []
    iterator = iter(ds.repeat(2))
    iterator.load_state_dict(start)
    interrupts.append(True)
    with pytest.raises(KeyboardInterrupt):
        for batch in iterator:
            read.append(plain(batch))
    state = iterator.state_dict()
    assert read + plain(list(iterator)) == straight
    iterator.load_state_dict(state)
    skipped = iterator.skip(2)
    assert read + straight[len(read) : len(read) + skipped] + plain(list(iterator)) == straight


def test_kept_states_change_nothing(numbers: tfds.Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OperationIterator, "KEPT_EVERY", 3)
    ds = numbers.as_dataset("train").shuffle(5, seed=1).map(lambda example: int(example["n"])).shuffle(4, seed=2).repeat(3)
    straight = list(ds)
    for taken in range(len(straight)):
        ds = numbers.as_dataset("train").shuffle(5, seed=1).map(lambda example: int(example["n"])).shuffle(4, seed=2).repeat(3)
        iterator = iter(ds)
        read = [next(iterator) for _ in range(taken)]
        iterator.put_back()
        assert read[:-1] + list(iterator) == straight


def fails_once_at(number: int) -> Callable[[dict[str, Any]], int]:
    failures = [True]

    def value(example: dict[str, Any]) -> int:
        if int(example["n"]) == number and failures and failures.pop():
            raise OSError("gone for a moment")
        return int(example["n"])

    return value


PASSING_OVER: dict[str, Callable[[tfds.Dataset[Any]], tfds.Dataset[Any]]] = {
    "shard": lambda ds: ds.shard(3, 2),
    "skip": lambda ds: ds.skip(3),
    "take": lambda ds: ds.skip(3).take(2),
}


@pytest.mark.parametrize("operation", list(PASSING_OVER))
def test_an_error_while_elements_are_passed_over_mixes_nothing_up(numbers: tfds.Builder, operation: str) -> None:
    def passing(fails: int) -> tfds.Dataset[Any]:
        value = fails_once_at(fails)
        return PASSING_OVER[operation](numbers.as_dataset("train").filter(lambda example: value(example) >= 0))

    iterator = iter(passing(1))
    state = iterator.state_dict()
    with pytest.raises(OSError, match="gone for a moment"):
        next(iterator)
    for call in (lambda: next(iterator), iterator.state_dict):
        with pytest.raises(tesson.UsageError, match="an error while it passed over elements"):
            call()
    iterator.load_state_dict(state)
    assert [int(example["n"]) for example in iterator] == [int(example["n"]) for example in passing(-1)]


def test_an_element_that_failed_counts_when_it_is_passed_over(numbers: tfds.Builder) -> None:
    mapped = iter(numbers.as_dataset("train").map(fails_once_at(2)))
    batched = iter(numbers.as_dataset("train").map(fails_once_at(5)).batch(4))
    assert [next(mapped), next(mapped)] == [0, 1] and next(batched).tolist() == [0, 1, 2, 3]
    for iterator in (mapped, batched):
        with pytest.raises(OSError, match="gone for a moment"):
            next(iterator)
        assert iterator.skip(1) == 1
    assert next(mapped) == 3 and next(batched).tolist() == [8, 9, 10, 11]


def test_a_state_that_fits_one_input_alone_leaves_all_where_they_were(numbers: tfds.Builder) -> None:
    def pairs() -> Any:
        return iter(tfds.Dataset.zip((numbers.as_dataset("train"), numbers.as_dataset("train").map(pair).batch(1))))

    iterator = pairs()
    first = next(iterator)
    state = json.loads(json.dumps(iterator.state_dict()))
    junk = json.loads(json.dumps(state))
    junk["inputs"][1]["operation"] = "filter"
    other = pairs()
    for _ in range(3):
        next(other)
    before = other.state_dict()
    with pytest.raises(tesson.ResumeError):
        other.load_state_dict(junk)
    assert other.state_dict() == before != state
    other.load_state_dict(state)
    assert next(other)[0]["n"] == first[0]["n"] + 1


def test_a_function_cannot_ask_for_the_state_of_what_calls_it(numbers: tfds.Builder) -> None:
    iterators: list[Any] = []

    def asks(example: dict[str, Any]) -> Any:
        return iterators[0].state_dict()

    iterators.append(iter(numbers.as_dataset("train").map(asks)))
    with pytest.raises(tesson.UsageError, match="`map` is in the middle of an element, where it has no state"):
        next(iterators[0])


def test_what_is_no_state_is_refused(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    mapped = ds.map(pair)
    state = iter(mapped).state_dict()
    for iterator in (iter(ds), iter(mapped), iter(ds.batch(2))):
        for junk in (None, 3, "x", [1]):
            with pytest.raises(tesson.ResumeError, match="expected a state: the dictionary"):
                iterator.load_state_dict(junk)
    for passes in (None, [], [0, 1], [-1], ["0"], [True]):
        with pytest.raises(tesson.ResumeError, match="`passes`, expected 1 numbers"):
            iter(mapped).load_state_dict({**state, "passes": passes})
    shuffled = iter(mapped.shuffle(3, seed=1))
    state = shuffled.state_dict()
    for name, wrong in (("pass", -1), ("pushed", 1.5), ("drawn", "1"), ("has_ended", 0), ("input_at_beginning", 4)):
        with pytest.raises(tesson.ResumeError, match=f"`{name}`, expected"):
            iter(mapped.shuffle(3, seed=1)).load_state_dict({**state, name: wrong})


def test_examples_by_something_else_than_a_number_are_refused(numbers: tfds.Builder) -> None:
    for wrong in ("n", slice(1, 3), 1.0):
        with pytest.raises(TypeError, match="expected a whole number"):
            numbers.as_dataset("train")[wrong]
