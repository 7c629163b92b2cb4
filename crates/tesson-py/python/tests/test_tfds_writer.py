"""Preparing datasets."""

from __future__ import annotations

import os
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
        "label": tfds.ClassLabel((), "int64", names=["cat", "dog"]),
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
    with pytest.raises(TypeError, match="float64 values for `n`, expected whole numbers"):
        writer.write("train", {"n": 1.5})
    with pytest.raises(TypeError, match="found 3 for `text`"):
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
