"""BrainScript configurations: what they mean, and opening what they describe."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance_cases import case_folders

import tesson
from tesson import ConfigError, StoreError
from tesson.io import MinibatchSource, resolve_config

TRAIN = """
DataDir = "."
Train = [
    SGD = [ minibatchSize = 2*1:3 ; epochSize = 4 ; maxEpochs = 2 ]
    reader = [
        file = "$DataDir$/train.ctf" ; randomize = false
        input = [ features = [ alias = "x" ; dim = 4 ; format = "dense" ] ]
    ]
]
Test = [ reader = [ file = "train.ctf" ; maxSweeps = 1
    input = [ features = [ alias = "x" ; dim = 4 ; format = "dense" ] ] ] ]
"""


def keys(source: MinibatchSource, size: int | None = None) -> list[list[int]]:
    return [list(minibatch["features"].keys) for minibatch in source.minibatches(size)]


def cases() -> list[Any]:
    return [pytest.param(folder, id=name) for name, folder in case_folders("brainscript")]


@pytest.mark.parametrize("folder", cases())
def test_case(folder: Path) -> None:
    arguments = json.loads((folder / "case.json").read_text())["arguments"]
    expected = json.loads((folder / "expected.json").read_text())
    if "error" in expected:
        with pytest.raises(ConfigError):
            resolve_config(folder / "config.cntk", arguments)
    else:
        assert resolve_config(folder / "config.cntk", arguments) == expected


def test_a_file_and_its_text_mean_the_same(files: Path) -> None:
    (files / "train.cntk").write_text(TRAIN)
    assert resolve_config("train.cntk") == resolve_config(TRAIN)
    assert list(resolve_config(TRAIN)["readers"]) == ["Train/reader", "Test/reader"]


def test_sizes_and_epochs_come_from_the_trainer() -> None:
    assert keys(MinibatchSource.from_config(TRAIN)) == [[0, 1], [2, 3], [4, 5], [0, 1]]
    assert keys(MinibatchSource.from_config(TRAIN), 3) == [[0, 1, 2], [3], [4, 5], [0, 1]]


def test_a_section_is_named_by_its_path_or_by_the_section_around_it() -> None:
    for section in ("Test/reader", "test", "Test.reader"):
        found = keys(MinibatchSource.from_config(TRAIN, section=section), 100)
        assert [sorted(minibatch) for minibatch in found] == [[0, 1, 2, 3, 4, 5]]
    with pytest.raises(ConfigError, match=r"found no such reader, expected one of .*; did you mean `Test/reader`"):
        MinibatchSource.from_config(TRAIN, section="Tst/reader")


def test_overrides_change_variables_and_options(files: Path) -> None:
    (files / "inner").mkdir()
    os.rename("train.ctf", "inner/train.ctf")
    overrides = {"DataDir": "inner", "Train.reader.input.features.alias": "x", "Train.SGD.maxEpochs": 1}
    assert keys(MinibatchSource.from_config(TRAIN, overrides=overrides), 4) == [[0, 1, 2, 3]]
    source = MinibatchSource.from_config(TRAIN, arguments=["DataDir=inner", "Train=[SGD=[maxEpochs=1]]"])
    assert keys(source, 4) == [[0, 1, 2, 3]]
    with pytest.raises(StoreError) as caught:
        MinibatchSource.from_config(TRAIN)
    assert caught.value.file == "./train.ctf"


def test_names_may_be_relative_to_the_configuration(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "train.cntk").write_text("pathsRelativeTo = config\n" + TRAIN)
    monkeypatch.chdir(files.parent)
    assert keys(MinibatchSource.from_config(files / "train.cntk"), 4) == [[0, 1, 2, 3], [4, 5], [0, 1]]


def test_errors_say_where() -> None:
    with pytest.raises(ConfigError) as caught:
        MinibatchSource.from_config(TRAIN.replace("dim = 4", "dim = four", 1))
    assert caught.value.path == "Train.reader.input.features.dim"
    assert (caught.value.file, caught.value.line, caught.value.column) == ("configuration", 7, 46)
    with pytest.raises(ConfigError, match="configuration:2:5: no variable"):
        resolve_config("a = 1\nb = $c$")
    with pytest.raises(StoreError) as missing:
        MinibatchSource.from_config("none.cntk")
    assert (missing.value.file, missing.value.errno) == ("none.cntk", 2)


def test_unused_options_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tesson"):
        MinibatchSource.from_config(TRAIN, arguments=["Train=[reader=[skipSequenceId=true]]"])
    assert "unused option `skipSequenceId`, did you mean `skipSequenceIds`?" in caplog.text


def test_older_readers_of_speech_name_the_files_that_are_missing() -> None:
    text = "T = [ reader = [ readerType = HTKMLFReader ; frameMode = false ; f = [ dim = 4 ; scpFile = a.scp ]"
    text += " ; l = [ mlfFile = a.mlf ; labelDim = 2 ; labelMappingFile = a.list ] ] ]"
    assert resolve_config(text)["readers"]["T/reader"]["source"] == "HTKMLFReader"
    with pytest.raises(StoreError, match="a.scp"):
        MinibatchSource.from_config(text)


def test_the_older_reader_of_images_scales_and_transposes(files: Path) -> None:
    (files / "a.ppm").write_bytes(b"P6 2 2 255\n" + bytes(range(12)))
    (files / "map.txt").write_text("a.ppm\t1\n")
    text = "T = [ reader = [ readerType = ImageReader ; file = map.txt ; f = [ width = 2 ; height = 2 ; channels = 3 ]"
    text += " ; l = [ labelDim = 2 ] ] ]"
    minibatch = MinibatchSource.from_config(text).next_minibatch(1)
    pixels = minibatch["f"].samples.reshape(3, 4)
    # Red, green, blue in the file; blue comes first, channel by channel.
    assert pixels.tolist() == [[2, 5, 8, 11], [1, 4, 7, 10], [0, 3, 6, 9]]
    assert minibatch["l"].indices.tolist() == [1]


def test_older_readers_mean_the_same_in_a_dictionary(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = resolve_config(TRAIN)["tree"]
    in_file = MinibatchSource.from_config(TRAIN)
    reader = {**text["Train"]["reader"], "file": Path("train.ctf"), "readerType": "CNTKTextFormatReader"}
    config = {**text, "Train": {**text["Train"], "reader": reader}}
    (files / "old.json").write_text(json.dumps(config, default=str))
    for source in (
        MinibatchSource.from_config(config, section="Train/reader"),
        MinibatchSource.from_config("old.json", section="Train/reader"),
    ):
        assert keys(source, 3) == keys(MinibatchSource.from_config(TRAIN), 3)
        assert source.streams.keys() == in_file.streams.keys()
    with caplog.at_level(logging.WARNING, "tesson"):
        MinibatchSource.from_config(config, section="Train/reader", overrides={"skipSequenceId": np.int64(1)})
    assert "unused option `skipSequenceId`, did you mean `skipSequenceIds`?" in caplog.text
    with pytest.raises(ConfigError, match="did you mean `CNTKTextFormatReader`"):
        MinibatchSource.from_config({"readerType": "CNTKTextFormatReaders"})


def test_json_and_toml_have_the_same_meaning(files: Path) -> None:
    config = {"deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "train.ctf",
              "input": {"features": {"alias": "x", "dim": 4, "format": "dense"}}}], "randomize": False, "maxSweeps": 1}
    (files / "reader.json").write_text(json.dumps(config))
    (files / "reader.toml").write_text(
        'randomize = false\nmaxSweeps = 1\n[[deserializers]]\ntype = "CNTKTextFormatDeserializer"\n'
        'file = "train.ctf"\ninput.features = {alias = "x", dim = 4, format = "dense"}\n'
    )
    assert keys(MinibatchSource.from_config("reader.toml"), 4) == keys(MinibatchSource.from_config(config), 4)
    assert resolve_config("reader.toml") == resolve_config("reader.json")


def test_errors_of_files_have_places(files: Path) -> None:
    (files / "odd.json").write_text('{"deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "train.ctf",\n "inputs": {}}]}')
    (files / "odd.toml").write_text("randomise = false\n")
    for name, line, column in [("odd.json", 2, 2), ("odd.toml", 1, 1)]:
        with pytest.raises(ConfigError, match="did you mean") as refused:
            MinibatchSource.from_config(name)
        assert (refused.value.file, refused.value.line, refused.value.column) == (name, line, column)


def test_variables_of_the_environment_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSON_TEST_DIR", "here")
    text = "a = $env:TESSON_TEST_DIR$/$b|c$"
    assert resolve_config(text)["tree"] == {"a": "$env:TESSON_TEST_DIR$/$b|c$"}
    assert tesson.resolve_config(text, extended_variables=True)["tree"] == {"a": "here/c"}
