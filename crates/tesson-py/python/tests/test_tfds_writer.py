"""Preparing datasets."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepare import node

import tesson
from tesson import tfds

NUMBERS = {"n": tfds.FeatureInfo((), "int64")}


def values(builder: tfds.Builder) -> list[int]:
    return [int(example["n"]) for example in builder.as_data_source("train")]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    steps = node("features_dict.FeaturesDict", featuresDict={"features": {"a": node("text_feature.Text", text={})}})
    features = {
        "label": tfds.ClassLabel(names=["cat", "dog"]),
        "box": {"corners": tfds.FeatureInfo((2, 2), "float32")},
        "words": tfds.FeatureInfo((None,), "string", sequence_rank=1),
        "deep": tfds.FeatureInfo((None, None), "uint64", sequence_rank=2),
        "maybe": tfds.FeatureInfo((), "int32", optional=True),
        "steps": node("dataset_feature.Dataset", sequence={"feature": steps, "length": "-1"}),
    }
    ragged = tfds.Ragged(np.array([1, 2, 2**64 - 1], np.uint64), [np.array([1, 2])])
    example: dict[str, Any] = {
        "label": 1,
        "box": {"corners": [[0, 1], [2, 3]]},
        "words": ["a", b"bc"],
        "deep": ragged,
        "maybe": None,
        "steps": {"a": ["x", "y"]},
    }
    with tfds.Writer(tmp_path, "things", "1.2.3", features, {"train": 2, "test": None}, supervised_keys=("box", "label")) as writer:
        for _ in range(3):
            writer.write("train", example)
        writer.write("test", {**example, "maybe": -5, "words": []})
    builder = tfds.builder("things", data_dir=tmp_path)
    assert builder.info.splits["train"].shard_lengths == [2, 1]
    assert builder.info.features["label"].names == ["cat", "dog"]
    assert builder.info.features["deep"] == features["deep"]
    found = builder.as_dataset("train")[2]
    assert (found["label"], found["maybe"]) == (1, np.iinfo("int32").min)
    assert found["box"]["corners"].tolist() == [[0, 1], [2, 3]] and found["box"]["corners"].dtype == np.float32
    assert found["words"].tolist() == [b"a", b"bc"]
    assert found["deep"].to_list() == [[1], [2, 2**64 - 1]]
    assert list(found["steps"]) == [{"a": b"x"}, {"a": b"y"}]
    (other,) = builder.as_dataset("test")
    assert other["maybe"] == -5 and other["words"].shape == (0,)
    box, label = builder.as_dataset("train", as_supervised=True)[0]
    assert label == 1 and list(box) == ["corners"]


def test_wrong_values_are_refused_where_they_are_given(tmp_path: Path) -> None:
    features = {**NUMBERS, "text": tfds.FeatureInfo((), "string")}
    writer = tfds.Writer(tmp_path, "numbers", "1.0.0", features, {"train": 1})
    with pytest.raises(TypeError, match="split `train`, example 0, feature `n`: found float64 values, expected whole numbers"):
        writer.write("train", {"n": 1.5})
    with pytest.raises(TypeError, match="split `train`, example 0, feature `text`: found int64 values, expected str or bytes"):
        writer.write("train", {"text": 3})
    with pytest.raises(KeyError, match="no feature `test`, did you mean `text`"):
        writer.write("train", {"test": 1})
    with pytest.raises(tesson.UsageError, match="no split `tran`"):
        writer.write("tran", {"n": 1})
    assert writer.written("train") == 0
    with pytest.raises(tesson.ConfigError, match="three numbers"):
        tfds.Writer(tmp_path, "numbers", "1", NUMBERS, {"train": 1})
    with pytest.raises(tesson.ResumeError, match="features"):
        tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 1})


def test_an_exception_keeps_what_was_written(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 2}) as writer:
        writer.write("train", {"n": 0})
        raise ZeroDivisionError
    assert not (tmp_path / "numbers" / "1.0.0").exists()
    del writer
    again = tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 2})
    for n in range(again.written("train"), 3):
        again.write("train", {"n": n})
    assert values(again.finish()) == [0, 1, 2]
    with pytest.raises(tesson.UsageError, match="finished"):
        again.write("train", {"n": 3})
    with pytest.raises(tesson.UsageError, match="exists already"):
        tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 2})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
def test_a_killed_writer_goes_on_behind_the_last_whole_example(tmp_path: Path) -> None:
    script = f"""
from tesson import tfds
writer = tfds.Writer({str(tmp_path)!r}, "numbers", "1.0.0", {{"n": tfds.FeatureInfo((), "int64")}}, {{"train": 3}})
for n in range(1_000_000_000):
    writer.write("train", {{"n": n}})
    if n == 1000:
        writer.sync()
        print("writing", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    with tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 3}) as writer:
        begun = writer.written("train")
        assert begun > 1000
        for n in range(begun, begun + 10):
            writer.write("train", {"n": n})
    assert values(tfds.builder("numbers", data_dir=tmp_path)) == list(range(begun + 10))


KILLED = {
    # Each script dies after twelve examples; how many of them the next writer finds.
    "flush after each five": ({"flush_every": 5}, "", 10),
    "flush after each": ({"flush_every": 1}, "", 12),
    "flush after seven": ({}, "if n == 6: writer.flush()", 7),
    "no flush": ({}, "", 0),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs SIGKILL")
@pytest.mark.parametrize("name", KILLED)
def test_a_killed_writer_has_what_was_flushed(tmp_path: Path, name: str) -> None:
    options, flush, expected = KILLED[name]
    script = f"""
import os, signal
from tesson import tfds
features = {{"n": tfds.FeatureInfo((), "int64")}}
writer = tfds.Writer({str(tmp_path)!r}, "numbers", "1.0.0", features, {{"train": 3, "test": 1}}, **{options!r})
for n in range(12):
    writer.write("train", {{"n": n}})
    writer.write("test", {{"n": n}})
    {flush or "pass"}
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    with tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 3, "test": 1}) as writer:
        assert [writer.written(split) for split in ("train", "test")] == [expected] * 2
        for n in range(expected, 15):
            writer.write("train", {"n": n})
    assert values(tfds.builder("numbers", data_dir=tmp_path)) == list(range(15))


def test_a_slow_producer_that_is_killed_after_each_example_gets_on(tmp_path: Path) -> None:
    # Writers that are neither finished nor closed, as if their processes were gone.
    killed = []
    for attempt in range(4):
        writer = tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 1}, flush_every=1)
        assert writer.written("train") == attempt
        writer.write("train", {"n": attempt})
        killed.append(writer)
    for wrong in (0, -1, True):
        with pytest.raises(ValueError, match="flush_every="):
            tfds.Writer(tmp_path, "numbers", "1.0.0", NUMBERS, {"train": 1}, flush_every=wrong)


def test_examples_are_checked_where_they_are_written(tmp_path: Path) -> None:
    features = tfds.features.FeaturesDict(
        {
            "image": tfds.features.Image(shape=(None, None, 3)),
            "label": tfds.features.ClassLabel(names=["cat", "dog"]),
            "box": tfds.features.BBoxFeature(),
        }
    )
    writer = tfds.Writer(tmp_path, "pets", "1.0.0", features, {"train": 1}, supervised_keys=("image", "label"))
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    good = {"image": pixels, "label": "dog", "box": tfds.features.BBox(0.0, 0.0, 0.5, 1.0)}
    writer.write("train", good)
    where = "^split `train`, example 1, feature "
    for error, name, value, match in [
        (ValueError, "label", "dogs", "`label`: label `dogs`, expected one of cat, dog, did you mean `dog`"),
        (ValueError, "label", 2, "`label`: label 2, expected 0 to 1"),
        (ValueError, "label", None, "`label`: key `label` is absent.* give a value, or declare"),
        (ValueError, "image", b"no picture", "`image`: .*give the bytes of a PNG, JPEG"),
        (ValueError, "image", pixels.astype(np.int64) + 255, "`image`: found 256, which does not fit uint8"),
        (ValueError, "image", pixels[:, :, :1], r"`image`: the shape is \(2, 3, 1\), declared is \(\?, \?, 3\)"),
        (ValueError, "image", "missing.png", "`image`: .*missing.png"),
        (ValueError, "box", [0.0, 1.0], r"`box`: the shape is \(2\), declared is \(4\)"),
        (ValueError, "box", [[0.0], [1.0, 2.0]], "`box`: found lists of different lengths"),
        (TypeError, "label", 1.5, "`label`: found float64 values, expected whole numbers"),
        (TypeError, "box", {1.0, 2.0}, "`box`: found .*expected an array or a list"),
        (TypeError, "box", np.array(["2026-01-01"], "datetime64[D]"), "`box`: found datetime64"),
    ]:
        with pytest.raises(error, match=where + match):
            writer.write("train", {**good, name: value})
    assert writer.written("train") == 1
    (found,) = writer.finish().as_dataset("train")
    assert found["label"] == 1 and found["image"].tolist() == pixels.tolist() and found["box"].tolist() == [0, 0, 0.5, 1]


def test_nested_values_may_be_lists_of_dictionaries(tmp_path: Path) -> None:
    step = {"action": tfds.features.Tensor(shape=(2,), dtype=np.float32), "info": {"words": tfds.features.Sequence(tfds.features.Text())}}
    features = {
        "steps": tfds.features.Dataset(step),
        "deep": tfds.features.Sequence(tfds.features.Sequence(np.int64)),
        "zipped": tfds.features.Tensor(shape=(None, None), dtype=np.int16, encoding=tfds.features.Encoding.ZLIB),
        "text": tfds.features.Translation(["de", "en"]),
    }
    rows = [{"action": [0, 1], "info": {"words": ["a"]}}, {"action": [2, 3], "info": {"words": []}}]
    values = {"steps": rows, "deep": [[1], [2, 3]], "zipped": [[1, -2]], "text": {"de": "ja", "en": "yes"}}
    with tfds.Writer(tmp_path, "episodes", "1.0.0", features, {"train": 1}) as writer:
        writer.write("train", values)
        writer.write("train", {**values, "steps": [], "deep": []})
        with pytest.raises(ValueError, match="split `train`, example 2, feature `steps`: only some of the dictionaries have `info`"):
            writer.write("train", {**values, "steps": [rows[0], {"action": [2, 3]}]})
    builder = tfds.builder("episodes", data_dir=tmp_path)
    assert builder.info.features == tfds.features.FeaturesDict(features)
    assert isinstance(builder.info.features["text"], tfds.features.Translation)
    first, second = builder.as_dataset("train")
    assert [step["action"].tolist() for step in first["steps"]] == [[0, 1], [2, 3]]
    assert [step["info"]["words"].tolist() for step in first["steps"]] == [[b"a"], []]
    assert first["deep"].to_list() == [[1], [2, 3]] and len(second["steps"]) == len(second["deep"]) == 0
    assert first["zipped"].tolist() == [[1, -2]] and first["text"]["en"] == b"yes"


def test_features_that_cannot_be_written_begin_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'cat' more than once"):
        tfds.features.ClassLabel(names=["cat", "cat"])
    with pytest.raises(tesson.ConfigError, match="x: unknown dtype `int65`, did you mean `int64`"):
        tfds.Writer(tmp_path, "d", "1.0.0", {"x": tfds.features.Tensor(shape=(), dtype="int65")}, {"train": 1})
    with pytest.raises(tesson.ConfigError, match="several unknown dimensions, which needs an encoding"):
        tfds.Writer(tmp_path, "d", "1.0.0", {"x": tfds.features.Tensor(shape=(None, None), dtype=np.int64)}, {"train": 1})
    with pytest.raises(TypeError, match=r"found 3, expected a feature such as `tfds.features.Image\(\)`"):
        tfds.Writer(tmp_path, "d", "1.0.0", {"x": 3}, {"train": 1})
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("shards", [0, -1, 100_000, 2**63, 2**64, 10**30, 1.0, 2.5, math.nan, math.inf, True, "2", [2]])
def test_a_number_of_shards_that_cannot_be_is_refused_at_once(tmp_path: Path, shards: Any) -> None:
    match = rf"splits: split `test` has {re.escape(repr(shards))} shards, expected a whole number from 1 to 99999, or none"
    with pytest.raises(tesson.ConfigError, match=match):
        tfds.Writer(tmp_path / "data", "numbers", "1.0.0", NUMBERS, {"train": 1, "test": shards})
    assert not (tmp_path / "data").exists()


def test_a_data_directory_may_be_bytes(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    with tfds.Writer(folder, "numbers", "1.0.0", NUMBERS, {"train": np.int64(1), "test": None}) as writer:
        writer.write("train", {"n": 3})
    assert tfds.list_builders(data_dir=folder) == ["numbers"]
    for found in (
        tfds.builder("numbers", data_dir=folder),
        tfds.load("numbers", data_dir=folder, with_info=True, split="train")[1],
        tfds.builder_from_directory(folder + b"/numbers/1.0.0"),
        tfds.builder_from_directories([folder + b"/numbers/1.0.0"]),
    ):
        assert found.data_dir == str(tmp_path / "numbers" / "1.0.0")


@pytest.mark.parametrize("held", [200, 400])
def test_unchecked_iterators_skip_what_shards_hold(tmp_path: Path, held: int) -> None:
    def prepared(version: str, *shards: int) -> Path:
        with tfds.Writer(tmp_path, "numbers", version, NUMBERS, {"train": len(shards)}) as writer:
            for n in range(sum(shards)):
                writer.write("train", {"n": n})
        return tmp_path / "numbers" / version

    target, source = prepared("1.0.0", 300, 300), prepared("2.0.0", held, held)
    shard = "numbers-train.tfrecord-00000-of-00002"
    (target / shard).write_bytes((source / shard).read_bytes())
    unchecked = tfds.ReadConfig(assert_cardinality=False, interleave_cycle_length=1)
    dataset = tfds.builder_from_directory(target).as_dataset("train", read_config=unchecked)
    all_of_them = [int(example["n"]) for example in dataset]
    assert all_of_them == [*range(held), *range(300, 600)]
    for skipped in (held - 1, held + 1, 450, 550, 1000):
        examples, minibatches = iter(dataset), dataset.minibatches(10)
        there = min(skipped, len(all_of_them))
        assert examples.skip(skipped) == there
        assert [int(example["n"]) for example in examples] == all_of_them[there:]
        assert minibatches.skip(skipped // 10) == min(skipped // 10, len(all_of_them) // 10)
        assert [int(n) for batch in minibatches for n in batch["n"]] == all_of_them[min(skipped // 10 * 10, len(all_of_them)) :]
