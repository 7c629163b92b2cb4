"""Prepared TFDS datasets: values, orders, states, errors. What TFDS itself gave is held by the conformance cases."""

from __future__ import annotations

import base64
import gc
import json
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from prepare import node, tensor, write_dataset

import tesson
from tesson import tfds

TEXT = node("text_feature.Text", text={})

# Grey of 100 in 12 by 8 pixels.
GREY_JPEG = base64.b64decode(
    "/9j/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/wAAL"
    "CAAIAAwBAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAAj/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAA/AIfH/9k="
)


def sequence(of: dict, **kind: Any) -> dict:
    return node(kind.get("kind", "sequence_feature.Sequence"), sequence={"feature": of, "length": "-1"})


def number(n: int) -> dict[str, Any]:
    return {"n": n, "t": b"%d" % n}


@pytest.fixture
def numbers(tmp_path: Path) -> tfds.Builder:
    """Twenty numbers in four shards of five, and three more for tests."""
    features = {"n": tensor("int64"), "t": TEXT}
    train = [[number(5 * shard + i) for i in range(5)] for shard in range(4)]
    splits = {"train": train, "test": [[number(100 + i) for i in range(3)]]}
    folder = write_dataset(
        tmp_path / "numbers" / "1.0.0",
        features,
        splits,
        supervisedKeys={"tuple": {"items": [{"featureKey": "t"}, {"featureKey": "n"}]}},
    )
    return tfds.builder_from_directory(folder)


def values(ds: Any) -> list[int]:
    return [int(example["n"]) for example in ds]


def test_scalars_are_numpys_and_texts_are_bytes(numbers: tfds.Builder) -> None:
    first = next(iter(numbers.as_dataset("test")))
    assert isinstance(first["n"], np.int64) and first["n"] == 100
    assert first["t"] == b"100"


def test_what_is_read_is_what_the_order_says(numbers: tfds.Builder) -> None:
    config = tfds.ReadConfig(shuffle_seed=3, interleave_cycle_length=3, interleave_block_length=2)
    ds = numbers.as_dataset("train[:90%]", shuffle_files=True, read_config=config).shuffle(4, seed=1).repeat(2)
    first = values(ds)
    assert first == ds.ids().tolist() and sorted(first) == sorted(list(range(18)) * 2)
    second = values(ds)
    assert second == ds.ids().tolist() and first != second
    assert ds.ids(epoch=0).tolist() == first


def test_an_iterator_goes_on_exactly_where_its_state_was_taken(numbers: tfds.Builder) -> None:
    def dataset() -> tfds.Dataset:
        config = tfds.ReadConfig(shuffle_seed=3, interleave_cycle_length=2, interleave_block_length=3)
        return numbers.as_dataset("train", shuffle_files=True, read_config=config).shuffle(7, seed=1).skip(2)

    whole = dataset()
    passes = [values(whole), values(whole)]
    for k in range(19):
        ds = dataset()
        next(iter(ds))
        ds = dataset()
        assert values(ds) == passes[0]
        iterator = iter(ds)
        assert [int(next(iterator)["n"]) for _ in range(k)] == passes[1][:k]
        state = json.loads(json.dumps(iterator.state_dict()))
        other = iter(dataset())
        other.load_state_dict(state)
        assert values(other) == passes[1][k:]


def test_any_position_of_any_epoch_is_found(numbers: tfds.Builder) -> None:
    def dataset() -> tfds.Dataset:
        config = tfds.ReadConfig(shuffle_seed=3)
        return numbers.as_dataset("train", shuffle_files=True, read_config=config).shuffle(7, seed=4)

    ds = dataset()
    passes = [values(ds) for _ in range(3)]
    assert passes[0] != passes[1]
    for k in (0, 1, 13, 20):
        assert values(dataset().seek(k)) == passes[0][k:]
        assert values(dataset().seek(2, k)) == passes[2][k:]
    other = dataset()
    iterator = other.seek(1, 15)
    assert int(next(iterator)["n"]) == passes[1][15]
    iterator.seek(3)
    assert values(iterator) == passes[1][3:]
    assert values(other) == passes[2]
    batches = dataset().minibatches(6)
    batches.seek(1, 9)
    assert [batch["n"].tolist() for batch in batches] == [passes[1][9:15], passes[1][15:]]


def test_what_shuffles_hold_is_saved_on_request(numbers: tfds.Builder) -> None:
    def dataset() -> tfds.Dataset:
        config = tfds.ReadConfig(shuffle_seed=3)
        return numbers.as_dataset("train", shuffle_files=True, read_config=config).shuffle(7, seed=4).repeat(3)

    whole = values(dataset())
    iterator = iter(dataset())
    for k in (0, 11, 30):
        iterator.seek(k)
        state = json.loads(json.dumps(iterator.state_dict(include_buffers=True)))
        assert state.pop("buffers")["held"] != "" or k == 0
        assert state == iterator.state_dict()
        other = iter(dataset())
        other.load_state_dict(iterator.state_dict(include_buffers=True))
        assert values(other) == whole[k:]
        batches = dataset().minibatches(60)
        batches.load_state_dict(iterator.state_dict(include_buffers=True))
        assert next(batches)["n"].tolist() == whole[k:]
    foreign = {**iterator.state_dict(), "rings": {"held": "00", "hash": "00"}}
    with pytest.raises(tesson.ResumeError, match="rings"):
        iterator.load_state_dict(foreign)
    assert values(iterator) == whole[30:]


def test_shards_that_moved_are_gone_on_with_by_force(numbers: tfds.Builder) -> None:
    iterator = iter(numbers.as_dataset("train").skip(3))
    state = iterator.state_dict()
    state["files"] = "4 files, 0123456789abcdef"
    with pytest.raises(tesson.ResumeError, match="files"):
        iterator.load_state_dict(state)
    iterator.load_state_dict(state, force=True)
    assert int(next(iterator)["n"]) == 3
    state["dataset"] = "numbers 2.0.0"
    with pytest.raises(tesson.ResumeError, match="dataset"):
        iterator.load_state_dict(state, force=True)


def test_positions_that_are_not_there_are_refused(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train")
    with pytest.raises(tesson.TessonError, match="place 21.*has 20"):
        ds.seek(21)
    with pytest.raises(tesson.TessonError, match="no end"):
        ds.repeat().seek(1, 0)
    with pytest.raises(ValueError, match="from 0 on"):
        ds.seek(-1)
    with pytest.raises(TypeError, match="3 numbers"):
        ds.seek(0, 1, 2)


def test_a_state_of_something_else_is_refused(numbers: tfds.Builder) -> None:
    state = iter(numbers.as_dataset("train")).state_dict()
    with pytest.raises(tesson.ResumeError, match="files"):
        iter(numbers.as_dataset("test")).load_state_dict(state)
    config = tfds.ReadConfig(interleave_block_length=2)
    with pytest.raises(tesson.ResumeError, match="order.*block 16"):
        iter(numbers.as_dataset("train", read_config=config)).load_state_dict(state)


def test_the_global_seed_decides_for_shuffles_without_one(numbers: tfds.Builder) -> None:
    def order() -> list[int]:
        return numbers.as_dataset("train", shuffle_files=True).shuffle(20).ids().tolist()

    try:
        tfds.set_random_seed(1234)
        first = [order(), order()]
        tfds.set_random_seed(1234)
        assert [order(), order()] == first and first[0] != first[1]
    finally:
        tfds.set_random_seed(None)
    ds = numbers.as_dataset("train", shuffle_files=True)
    again = numbers.as_dataset("train", shuffle_files=True, read_config=tfds.ReadConfig(**_file_seed(ds)))
    assert ds.ids().tolist() == again.ids().tolist()


def _file_seed(ds: tfds.Dataset) -> dict:
    return {"shuffle_seed": ds.seeds["shuffle_seed"]}


def test_examples_are_had_by_their_places(numbers: tfds.Builder) -> None:
    source = numbers.as_data_source("train[5:15]")
    assert len(source) == 10
    assert [int(source[i]["n"]) for i in (3, 0, -1)] == [8, 5, 14]
    assert [int(e["n"]) for e in source.__getitems__([9, 9, 0])] == [14, 14, 5]
    with pytest.raises(IndexError):
        source[10]
    ds = numbers.as_dataset("train", read_config=tfds.ReadConfig(interleave_block_length=1)).skip(1)
    assert [int(ds[i]["n"]) for i in range(len(ds))] == values(ds)
    with pytest.raises(TypeError, match="no end"):
        len(ds.repeat())


def test_only_what_is_asked_for_is_read(numbers: tfds.Builder) -> None:
    assert next(iter(numbers.as_dataset("test", features=["n"]))).keys() == {"n"}
    partial = tfds.PartialDecoding({"t": True, "n": False})
    assert next(iter(numbers.as_dataset("test", decoders=partial))) == {"t": b"100"}
    text, number = next(iter(numbers.as_dataset("test", as_supervised=True)))
    assert (text, number) == (b"100", 100)
    with pytest.raises(tesson.ConfigError, match="no feature `m`, expected some of n, t"):
        iter(numbers.as_dataset("test", features=["m"]))


def test_raw_features_are_handed_out_as_they_are_stored(tmp_path: Path) -> None:
    image = node("image_feature.Image", image={"dtype": "uint8", "shape": {"dimensions": ["-1", "-1", "3"]}})
    folder = write_dataset(tmp_path / "x" / "1.0.0", {"i": image}, {"train": [[{"i": b"no picture"}]]})
    builder = tfds.builder_from_directory(folder)
    assert list(builder.as_dataset("train", raw=["i"])) == [{"i": b"no picture"}]
    assert list(builder.as_dataset("train", decoders={"i": tfds.SkipDecoding()})) == [{"i": b"no picture"}]
    with pytest.raises(tesson.DataError, match=r"feature `i`.*begins with `no pictu`") as error:
        list(builder.as_dataset("train"))
    assert error.value.key == "x-train.tfrecord-00000-of-00001__0" and error.value.stream == "i"


def test_ragged_and_nested_features_have_types_of_their_own(tmp_path: Path) -> None:
    steps = node("features_dict.FeaturesDict", featuresDict={"features": {"a": tensor("int32")}})
    features = {
        "r": sequence(sequence(tensor("int64"))),
        "s": sequence(TEXT),
        "steps": sequence(steps, kind="dataset_feature.Dataset"),
    }
    stored = {
        "r/ragged_flat_values": [1, 2, 3],
        "r/ragged_row_lengths_0": [2, 0, 1],
        "s": [b"x", b"yz"],
        "steps/a": [7, 8],
    }
    folder = write_dataset(tmp_path / "x" / "1.0.0", features, {"train": [[stored]]})
    builder = tfds.builder_from_directory(folder)
    (example,) = builder.as_dataset("train")
    assert example["r"].to_list() == [[1, 2], [], [3]]
    assert [row.tolist() for row in example["r"]] == [[1, 2], [], [3]]
    assert example["s"].tolist() == [b"x", b"yz"] and example["s"].dtype == object
    assert [int(step["a"]) for step in example["steps"]] == [7, 8] and len(example["steps"]) == 2
    assert builder.info.features["r"] == tfds.FeatureInfo((None, None), "int64", sequence_rank=2)


def test_arrays_are_writable_and_ones_own(tmp_path: Path) -> None:
    features = {"x": tensor("float32", 2)}
    shard = [{"x": np.float32([i, i + 0.5])} for i in range(3)]
    folder = write_dataset(tmp_path / "x" / "1.0.0", features, {"train": [shard]})
    examples = list(tfds.builder_from_directory(folder).as_dataset("train"))
    examples[0]["x"][:] = 9
    assert [e["x"].tolist() for e in examples] == [[9, 9], [1, 1.5], [2, 2.5]]


def test_damage_is_found_at_its_place(numbers: tfds.Builder) -> None:
    file = Path(numbers.info.splits["train"].filepaths[1])
    data = bytearray(file.read_bytes())
    data[-6] ^= 1
    file.write_bytes(data)
    iterator = iter(numbers.as_dataset("train"))
    assert [int(next(iterator)["n"]) for _ in range(9)] == list(range(9))
    for _ in range(2):
        with pytest.raises(tesson.DataError, match="record 4: corrupted record") as error:
            next(iterator)
    assert error.value.key == "numbers-train.tfrecord-00001-of-00004__4"
    iterator = iter(numbers.as_dataset("train", on_damage="skip"))
    assert values(iterator) == [n for n in range(20) if n != 9] and iterator.skipped == 1


def test_missing_shards_are_all_named_before_anything_is_read(numbers: tfds.Builder) -> None:
    for path in numbers.info.splits["train"].filepaths[1:3]:
        Path(path).unlink()
    with pytest.raises(tesson.StoreError, match="00001-of-00004.*and 1 more.*00002-of-00004"):
        iter(numbers.as_dataset("train"))


def test_missing_shards_may_be_told_where_they_are_reached(numbers: tfds.Builder) -> None:
    Path(numbers.info.splits["train"].filepaths[2]).unlink()
    iterator = iter(numbers.as_dataset("train", read_config=tfds.ReadConfig(interleave_cycle_length=1, lazy=True)))
    assert [int(next(iterator)["n"]) for _ in range(10)] == list(range(10))
    with pytest.raises(tesson.StoreError, match="00002-of-00004"):
        next(iterator)


def test_images_may_be_decoded_smaller(tmp_path: Path) -> None:
    image = node("image_feature.Image", image={"dtype": "uint8", "shape": {"dimensions": ["8", "-1", "1"]}})
    features = {"i": image, "s": sequence(image)}
    shard = [{"i": GREY_JPEG, "s": [GREY_JPEG, GREY_JPEG]}]
    ds = tfds.builder_from_directory(write_dataset(tmp_path / "x" / "1.0.0", features, {"train": [shard]}))

    def shapes(**decoders: Any) -> list[tuple[int, ...]]:
        (example,) = ds.as_dataset("train", decoders=decoders)
        assert all((np.abs(pixels.astype(int) - 100) < 3).all() for pixels in example.values())
        return [pixels.shape for pixels in example.values()]

    assert shapes() == [(8, 12, 1), (2, 8, 12, 1)]
    assert shapes(i=tfds.ReducedScale(2), s=tfds.ReducedScale(8)) == [(4, 6, 1), (2, 1, 2, 1)]
    with pytest.raises(ValueError, match="1 to 3 for `i`, expected 2, 4 or 8"):
        shapes(i=tfds.ReducedScale(3))
    with pytest.raises(tesson.ConfigError, match="`x` is no image"):
        shapes(x=tfds.ReducedScale(2))


def test_minibatches_are_arrays_padded_where_examples_differ(tmp_path: Path) -> None:
    features = {"n": tensor("int64"), "x": tensor("float32", -1, 2), "s": sequence(TEXT)}
    shard = [{"n": i, "x": np.full((i, 2), i + 1.0), "s": [b"a"] * i} for i in range(3)]
    folder = write_dataset(tmp_path / "x" / "1.0.0", features, {"train": [shard]})
    ds = tfds.builder_from_directory(folder).as_dataset("train")
    first, last = ds.minibatches(2)
    assert first["n"].tolist() == [0, 1] and first["n"].dtype == np.int64
    assert first["x"].tolist() == [[[0, 0]], [[2, 2]]]
    assert first["s"].tolist() == [[b""], [b"a"]]
    assert last["x"].shape == (1, 2, 2) and last["s"].tolist() == [[b"a", b"a"]]
    assert len(list(ds.minibatches(2, drop_remainder=True))) == 1


def test_datasets_of_batches_begin_a_pass_each_time(numbers: tfds.Builder) -> None:
    ds = numbers.as_dataset("train", shuffle_files=True, read_config=tfds.ReadConfig(shuffle_seed=3))
    batches = ds.batch(8)
    passes = [[batch["n"].tolist() for batch in batches] for _ in range(2)]
    assert [len(batch) for batch in passes[0]] == [8, 8, 4] and len(batches) == 3
    assert [sum(of, []) for of in passes] == [ds.ids(epoch=0).tolist(), ds.ids(epoch=1).tolist()]
    assert len(ds.batch(8, drop_remainder=True)) == len(list(ds.batch(8, drop_remainder=True))) == 2
    with pytest.raises(ValueError, match="batch_size=0"):
        ds.batch(0)


def test_threads_and_memory_change_nothing(numbers: tfds.Builder) -> None:
    def order(**means: Any) -> list[int]:
        config = tfds.ReadConfig(shuffle_seed=3, interleave_block_length=2)
        ds = numbers.as_dataset("train", shuffle_files=True, read_config=config, **means)
        return values(ds.shuffle(5, seed=1).repeat(2))

    plain = order(threads=1)
    assert plain == order() == order(threads=8) == order(threads=2, memory_limit="64KiB") == order(memory_limit=1)
    with pytest.raises(ValueError, match="threads=0"):
        order(threads=0)
    for limit in ("a lot", 0):
        with pytest.raises(tesson.ConfigError, match="expected a size in bytes"):
            order(memory_limit=limit)


def test_a_split_is_had_all_at_once(numbers: tfds.Builder) -> None:
    everything = numbers.as_dataset("train", batch_size=-1)
    assert everything["n"].tolist() == list(range(20)) and everything["t"].tolist()[19] == b"19"
    text, number = numbers.as_dataset("test", batch_size=-1, as_supervised=True)
    assert (text.tolist(), number.tolist()) == ([b"100", b"101", b"102"], [100, 101, 102])
    assert numbers.as_dataset("train[:0]+train[:1]", batch_size=-1)["n"].tolist() == [0]
    assert next(iter(numbers.as_dataset("train", batch_size=4)))["n"].tolist() == [0, 1, 2, 3]


def test_absent_optional_features_are_told_from_small_ones(tmp_path: Path) -> None:
    optional = tensor("int32")
    optional["tensor"]["optional"] = True
    text = tensor("string")
    text["tensor"]["optional"] = True
    smallest = int(np.iinfo("int32").min)
    shard = [{"a": 1, "t": b"x"}, {}, {"a": smallest, "t": b""}]
    folder = write_dataset(tmp_path / "x" / "1.0.0", {"a": optional, "t": text}, {"train": [shard]})
    builder = tfds.builder_from_directory(folder)
    assert values_of(builder.as_dataset("train"), "a") == [1, smallest, smallest]
    marked = builder.as_dataset("train", absent="none")
    assert values_of(marked, "a") == [1, None, smallest] and values_of(marked, "t") == [b"x", None, b""]
    (batch,) = marked.batch(3)
    assert batch["a"].mask.tolist() == [False, True, False] and batch["a"].filled(7).tolist() == [1, 7, smallest]
    assert batch["t"].tolist() == [b"x", None, b""]
    assert not isinstance(next(iter(builder.as_dataset("train").batch(3)))["a"], np.ma.MaskedArray)
    assert builder.as_data_source("train", absent="none")[1] == {"a": None, "t": None}
    with pytest.raises(ValueError, match="absent='mask'"):
        builder.as_dataset("train", absent="mask")


def values_of(ds: Any, name: str) -> list[Any]:
    return [example[name] for example in ds]


def test_elements_of_nested_datasets_are_made_when_they_are_asked_for(tmp_path: Path) -> None:
    inner = node("features_dict.FeaturesDict", featuresDict={"features": {"b": tensor("int32"), "t": TEXT}})
    steps = node(
        "features_dict.FeaturesDict",
        featuresDict={"features": {"a": tensor("int32"), "inner": sequence(inner, kind="dataset_feature.Dataset")}},
    )
    episode = node("features_dict.FeaturesDict", featuresDict={"features": {"x": tensor("int32"), "steps": sequence(steps, kind="dataset_feature.Dataset")}})

    def stored(k: int) -> dict[str, Any]:
        return {
            "episode/x": k,
            "episode/steps/a": [k, k + 1],
            "episode/steps/inner/b/ragged_flat_values": [k, k, k],
            "episode/steps/inner/b/ragged_row_lengths_0": [1, 2],
            "episode/steps/inner/t/ragged_flat_values": [b"u", b"v", b"w"],
            "episode/steps/inner/t/ragged_row_lengths_0": [1, 2],
        }

    shard = [stored(k) for k in range(20)]
    folder = write_dataset(tmp_path / "x" / "1.0.0", {"episode": episode}, {"train": [shard]})
    ds = tfds.builder_from_directory(folder).as_dataset("train")
    kept = [example["episode"]["steps"] for example in ds]
    # Long after the iterator has gone on, and is gone.
    for k, steps in enumerate(kept):
        assert [int(step["a"]) for step in steps] == [k, k + 1] and len(steps) == 2
        assert list(steps[-1]["inner"]) == [{"b": k, "t": b"v"}, {"b": k, "t": b"w"}]
        assert [len(step["inner"]) for step in steps[:2]] == [1, 2]
        with pytest.raises(IndexError, match="element 2 of 2"):
            steps[2]
    (batch,) = ds.batch(20)
    assert [int(steps[0]["a"]) for steps in batch["episode"]["steps"]] == list(range(20))


def test_arrays_stay_valid_when_iterator_and_dataset_are_gone(tmp_path: Path) -> None:
    features = {"x": tensor("float32", -1, 2), "n": tensor("uint8", 3)}
    shard = [{"x": np.full((i % 4, 2), float(i)), "n": [i, i, i]} for i in range(100)]
    folder = write_dataset(tmp_path / "x" / "1.0.0", features, {"train": [shard]})
    ds = tfds.builder_from_directory(folder).as_dataset("train")
    examples, (batch,) = list(ds), list(ds.padded_batch(100))
    del ds
    gc.collect()
    for i, example in enumerate(examples):
        assert example["x"].shape == (i % 4, 2) and (example["x"] == i).all()
        assert example["n"].tolist() == [i, i, i]
        # Nobody else's: neither another example's, nor what comes next.
        example["x"][:], example["n"][:] = -1, 0
    assert batch["n"][:, 0].tolist() == list(range(100)) and batch["n"].flags.writeable and batch["x"].flags.aligned


def test_workers_cannot_share_an_order_that_each_would_draw_for_itself(numbers: tfds.Builder) -> None:
    shares = {"num_data_partitions": 2, "partition_index": 1}
    for drawn in (numbers.as_dataset("train", shuffle_files=True), numbers.as_dataset("train").shuffle(7).repeat(2)):
        with pytest.raises(tesson.UsageError, match="shuffle without a seed"):
            drawn.minibatches(6, **shares)
        with pytest.raises(tesson.UsageError, match="shuffle without a seed"):
            pickle.loads(pickle.dumps(drawn)).minibatches(6, **shares)
        assert len(list(drawn.minibatches(6))) > 0
    tfds.set_random_seed(5)
    try:
        assert len(list(numbers.as_dataset("train", shuffle_files=True).shuffle(7).minibatches(6, **shares))) > 0
    finally:
        tfds.set_random_seed(None)


def test_workers_share_minibatches_and_may_change_in_number(numbers: tfds.Builder) -> None:
    def minibatches(workers: int, rank: int, state: Any = None) -> tfds.MinibatchIterator:
        ds = numbers.as_dataset("train").shuffle(7, seed=1).repeat(2)
        iterator = ds.minibatches(6, num_data_partitions=workers, partition_index=rank)
        if state is not None:
            iterator.load_state_dict(state)
        return iterator

    def dealt(shares: list[Any]) -> list[int]:
        return [int(shares[i % len(shares)]["n"][i // len(shares)]) for i in range(sum(len(s["n"]) for s in shares))]

    whole = [m["n"].tolist() for m in minibatches(1, 0)]
    found, state = [], None
    for workers in (1, 3, 2):
        iterators = [minibatches(workers, rank, state) for rank in range(workers)]
        for _ in range(2 if workers != 2 else 3):
            found.append(dealt([next(iterator) for iterator in iterators]))
        states = [iterator.state_dict() for iterator in iterators]
        assert all(s == states[0] for s in states)
        state = states[0]
    assert found == whole and len(whole) == 7


def test_splits_know_their_files(numbers: tfds.Builder) -> None:
    train = numbers.info.splits["train"]
    assert (train.num_shards, train.num_examples, train.shard_lengths) == (4, 20, [5, 5, 5, 5])
    part = numbers.info.splits["train[7:12]"].file_instructions
    assert [(Path(f.filename).name[-14:], f.skip, f.take, f.examples_in_shard) for f in part] == [
        ("00001-of-00004", 2, 3, 5),
        ("00002-of-00004", 0, 2, 5),
    ]
    with pytest.raises(KeyError):
        numbers.info.splits["validation"]
    thirds = tfds.even_splits("train", 3)
    assert [len(numbers.as_dataset(part)) for part in thirds] == [7, 7, 6]
    assert len(numbers.as_dataset(thirds[0] + "test")) == 10
    instruction = tfds.ReadInstruction("train", from_=50, unit="%")
    assert numbers.as_dataset(instruction).ids().tolist() == list(range(10, 20))
    assert [len(ds) for ds in numbers.as_dataset(["train", "test"])] == [20, 3]
    assert [len(source) for source in numbers.as_data_source(["train", "test"])] == [20, 3]
    assert numbers.as_dataset().keys() == {"train", "test"}


def test_shares_of_jax_processes_are_those_that_jax_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    thirds = tfds.even_splits("train", 3)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(process_index=lambda: 1, process_count=lambda: 3))
    assert tfds.split_for_jax_process("train") == thirds[1]
    assert tfds.split_for_jax_process("train", process_index=2) == thirds[2]
    assert tfds.split_for_jax_process("train", process_index=0, process_count=2) == tfds.even_splits("train", 2)[0]
    # As where it is not installed.
    monkeypatch.setitem(sys.modules, "jax", None)
    assert tfds.split_for_jax_process("train") == tfds.even_splits("train", 1)[0]


def test_a_sort_function_says_what_is_read_of_which_files(numbers: tfds.Builder) -> None:
    def backwards(files: list[tfds.FileInstruction]) -> list[tfds.FileInstruction]:
        return [file.replace(skip=1, take=2) for file in files[::-1]]

    config = tfds.ReadConfig(experimental_interleave_sort_fn=backwards, assert_cardinality=False)
    assert values(numbers.as_dataset("train", read_config=config)) == [16, 17, 11, 12, 6, 7, 1, 2]


def test_files_that_a_sort_function_makes_are_known_by_name(numbers: tfds.Builder) -> None:
    def second(files: list[tfds.FileInstruction]) -> list[tfds.FileInstruction]:
        return [tfds.FileInstruction(files[1].filename, 1, 2, 5), files[0]]

    config = tfds.ReadConfig(experimental_interleave_sort_fn=second)
    assert values(numbers.as_dataset("train", read_config=config)) == [6, 7, 0, 1, 2, 3, 4]
    other = tfds.FileInstruction("other", 0, 1, 1)
    with pytest.raises(ValueError, match="'other', which is no file"):
        numbers.as_dataset("train", read_config=tfds.ReadConfig(experimental_interleave_sort_fn=lambda files: [other]))


def test_cycles_that_the_machine_would_choose_are_refused(numbers: tfds.Builder) -> None:
    for length in (None, -1, 0):
        with pytest.raises(tesson.ConfigError, match="interleave_cycle_length"):
            numbers.as_dataset("train", read_config=tfds.ReadConfig(interleave_cycle_length=length))
    assert repr(tfds.MISSING) == "MISSING" and pickle.loads(pickle.dumps(tfds.MISSING)) is tfds.MISSING
    assert tfds.ReadConfig().interleave_cycle_length is tfds.MISSING


def test_seeds_of_any_size_are_taken(numbers: tfds.Builder) -> None:
    kept = 2**31 - 1

    def orders(seed: int) -> list[list[int]]:
        config = tfds.ReadConfig(shuffle_seed=seed)
        found = [values(numbers.as_dataset("train", shuffle_files=True, read_config=config).shuffle(9, seed=seed))]
        tfds.set_random_seed(seed)
        try:
            return [*found, values(numbers.as_dataset("train").shuffle(9, seed=5))]
        finally:
            tfds.set_random_seed(None)

    for seed in (2**63 + 12345, -(2**63) - 7, 3**70):
        assert orders(seed) == orders(seed % kept) != orders(seed % kept + 1)


def test_datasets_are_found_by_name(numbers: tfds.Builder) -> None:
    root = Path(numbers.data_path).parent.parent
    assert tfds.builder("numbers:1.*.*", data_dir=root).info.full_name == "numbers/1.0.0"
    ds, info = tfds.load("numbers", split="test", data_dir=root, with_info=True)
    assert values(ds) == [100, 101, 102] and info.name == "numbers"
    with pytest.raises(tesson.ConfigError, match="not found"):
        tfds.builder("nothing", data_dir=root)
