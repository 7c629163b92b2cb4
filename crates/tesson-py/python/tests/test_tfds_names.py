"""The names of TFDS that scripts use."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tesson
from tesson import tfds


@pytest.fixture
def pets(tmp_path: Path) -> tfds.Builder:
    """Eight pictures in three shards of training, two for testing."""
    features = tfds.features.FeaturesDict(
        {
            "image": tfds.features.Image(shape=(4, 4, 3), encoding_format="png"),
            "label": tfds.features.ClassLabel(names=["cat", "dog"]),
            "objects": tfds.features.Sequence({"bbox": tfds.features.BBoxFeature(), "name": tfds.features.Text()}),
        }
    )
    splits = {"train": 3, "test": 1}
    keys = ("image", "label")
    with tfds.Writer(tmp_path, "pets", "1.10.0", features, splits, supervised_keys=keys, description="Pictures.") as writer:
        for n in range(10):
            objects = [{"bbox": [0, 0, 1, 1], "name": f"object {n}"}]
            image = np.full((4, 4, 3), n, np.uint8)
            writer.write("train" if n < 8 else "test", {"image": image, "label": n % 2, "objects": objects})
    return tfds.builder("pets", data_dir=tmp_path)


def data_dir(builder: tfds.Builder) -> Path:
    return Path(builder.data_path).parent.parent


def labels(dataset: Any) -> list[int]:
    return [int(example["label"]) for example in dataset]


def test_load_takes_what_scripts_give(pets: tfds.Builder) -> None:
    where = data_dir(pets)
    (train, test), info = tfds.load(
        "pets",
        split=[tfds.Split.TRAIN, tfds.Split.TEST],
        data_dir=where,
        shuffle_files=False,
        as_supervised=True,
        with_info=True,
        download=False,
        try_gcs=True,
        download_and_prepare_kwargs={"download_dir": "/nowhere"},
        builder_kwargs={"version": "1.*.*"},
        as_dataset_kwargs={"read_config": tfds.ReadConfig(try_autocache=False)},
    )
    assert [int(label) for _, label in train] == [0, 1] * 4 and len(test) == 2
    assert info.features["label"].num_classes == 2
    everything = tfds.load("pets", split="train", data_dir=where, batch_size=-1)
    assert tfds.as_numpy(everything)["label"].tolist() == [0, 1] * 4
    assert list(tfds.load("pets", data_dir=where)) == ["train", "test"]
    assert labels(tfds.load("pets", data_dir=where, as_dataset_kwargs={"split": "test"})) == [0, 1]
    with pytest.raises(ValueError, match="found `split` twice, also in `as_dataset_kwargs`"):
        tfds.load("pets", data_dir=where, split="train", as_dataset_kwargs={"split": "test"})
    with pytest.raises(TypeError, match="builder's argument `flavour`, expected data_dir, config, version, file_format"):
        tfds.load("pets", data_dir=where, builder_kwargs={"flavour": "mild"})
    with pytest.raises(ValueError, match="found version='2.0.0' and `1.10.0` in the name"):
        tfds.builder("pets:1.10.0", data_dir=where, version="2.0.0")
    with pytest.raises(tesson.ConfigError, match="has no array_record files, there are tfrecord"):
        tfds.builder("pets", data_dir=where, file_format="array_record")


def test_a_builder_is_prepared(pets: tfds.Builder) -> None:
    pets.download_and_prepare(download_dir="/nowhere")
    assert pets.is_prepared() and pets.data_dir == pets.data_path and pets.builder_config is None
    assert tfds.list_builders(data_dir=data_dir(pets), with_community_datasets=False) == ["pets"]
    assert "train: 8" in repr(pets)
    assert isinstance(pets, tfds.core.DatasetBuilder) and isinstance(pets.info, tfds.core.DatasetInfo)
    assert tfds.__version__ == importlib.metadata.version("tesson")


def test_data_sources_by_name(pets: tfds.Builder) -> None:
    where = data_dir(pets)
    source = tfds.data_source("pets", split="train[2:]", data_dir=where)
    assert len(source) == 6 and source[0]["label"] == 0
    assert [len(of) for of in tfds.data_source("pets", data_dir=where).values()] == [8, 2]
    with pytest.raises(ValueError, match="shuffle_files=True, expected False: places have a fixed order"):
        pets.as_data_source("train", shuffle_files=True)


def test_an_info_has_what_the_files_say(pets: tfds.Builder) -> None:
    info = pets.info
    assert (info.description, info.citation, info.homepage, info.license) == ("Pictures.", "", "", "")
    assert info.dataset_size == sum(info.splits[name].num_bytes for name in ("train", "test")) > 0
    assert json.loads(info.as_json)["name"] == "pets" and info.metadata is None
    (Path(pets.data_path) / "metadata.json").write_text('{"made": "here"}')
    assert info.metadata == {"made": "here"}
    assert info.version == "1.10.0" and info.version > "1.9.0" and info.version.major == 1
    assert info.supervised_keys == ["image", "label"]
    text = repr(info)
    assert "'label': ClassLabel(shape=(), dtype=int64, num_classes=2)" in text
    assert "'train': <SplitInfo 'train': num_examples=8, num_shards=3>" in text


def test_published_facts_are_read(pets: tfds.Builder) -> None:
    file = Path(pets.data_path) / "dataset_info.json"
    facts = json.loads(file.read_text())
    facts |= {
        "citation": "@article{pets}",
        "location": {"urls": ["https://example.org/pets", "https://example.org/other"]},
        "redistributionInfo": {"license": "CC0"},
        "releaseNotes": {"1.0.0": "First."},
        "downloadSize": "12",
    }
    file.write_text(json.dumps(facts))
    info = tfds.builder_from_directory(pets.data_path).info
    assert (info.citation, info.homepage, info.license) == ("@article{pets}", "https://example.org/pets", "CC0")
    assert (info.release_notes, info.download_size) == ({"1.0.0": "First."}, 12)


def test_features_have_shapes_types_and_classes(pets: tfds.Builder) -> None:
    features = pets.info.features
    assert features.shape == {"image": (4, 4, 3), "label": (), "objects": {"bbox": (None, 4), "name": (None,)}}
    assert features.dtype["image"] == np.uint8 and features.dtype["image"] == "uint8" and features.dtype["label"] != np.int32
    assert features.np_dtype["objects"] == {"bbox": np.dtype("float32"), "name": np.dtype(object)}
    assert isinstance(features["image"], tfds.features.Image) and features["image"].encoding_format == "png"
    assert isinstance(features["objects"], tfds.features.Sequence)
    assert isinstance(features["objects"]["bbox"], tfds.features.BBoxFeature)
    label = features["label"]
    assert label.names == ["cat", "dog"] and label.str2int("dog") == 1 and label.int2str(0) == "cat"
    with pytest.raises(ValueError, match="found label -1, expected 0 to 1"):
        label.int2str(-1)
    with pytest.raises(ValueError, match="found label 'dgo', expected one of cat, dog, did you mean `dog`"):
        label.str2int("dgo")
    assert np.zeros((2, *features["image"].shape), features["image"].dtype).dtype == np.uint8
    again = pickle.loads(pickle.dumps(features))
    assert again == features and again["label"].names == label.names


def test_a_features_class_survives_writing(tmp_path: Path) -> None:
    f = tfds.features
    features = f.FeaturesDict(
        {
            "audio": f.Audio(file_format="wav", sample_rate=8000, encoding=f.Encoding.ZLIB),
            "mask": f.LabeledImage(labels=["sky", "sea"], shape=(2, 2, 1)),
            "clip": f.Video(shape=(None, 2, 2, 3)),
            "steps": f.Dataset({"r": f.Scalar(np.float32)}),
            "bytes": f.Tensor(shape=(2,), dtype=np.uint16, encoding="bytes"),
            "maybe": f.Tensor(shape=(), dtype=np.int32, optional=True),
            "said": f.TranslationVariableLanguages(),
            "words": f.Sequence(f.Text(), length=2),
        }
    )
    builder = tfds.Writer(tmp_path, "all", "1.0.0", features, {"train": 1}).finish()
    found = builder.info.features
    assert found == features
    assert {name: type(of) for name, of in found.items()} == {name: type(of) for name, of in features.items()}
    assert (found["audio"].sample_rate, found["audio"].encoding) == (8000, f.Encoding.ZLIB)
    assert found["mask"].names == ["sky", "sea"] and found["clip"].shape == (None, 2, 2, 3)
    assert found["words"].length == 2 and found["bytes"].encoding.value == "bytes"


def test_splits_say_what_they_hold(pets: tfds.Builder) -> None:
    splits = pets.info.splits
    train = splits[tfds.Split.TRAIN]
    assert train.filenames == [f"pets-train.tfrecord-0000{n}-of-00003" for n in range(3)]
    assert train.num_bytes > splits["test"].num_bytes and splits.total_num_examples == 10
    part = splits["train[:50%]"]
    assert sum(file.num_examples for file in part.file_instructions) == part.num_examples == 4
    with pytest.raises(ValueError, match="expected a whole one"):
        part.num_bytes  # noqa: B018
    assert "train" in splits and "valid" not in splits and splits.get("valid") is None
    for ask in (lambda: splits["tran"], lambda: pets.as_dataset("tran"), lambda: pets.as_data_source("tran")):
        with pytest.raises(ValueError, match="unknown split `tran`, expected one of train, test; did you mean `train`"):
            ask()
    with pytest.raises(KeyError):
        splits["tran"]


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"unit": "percent"}, "unknown unit `percent`, expected one of abs, %, shard"),
        ({"to": 10, "unit": "%", "rounding": "up"}, "unknown rounding `up`, expected one of closest, pct1_dropremainder"),
        ({"to": 101, "unit": "%"}, "found 101%, a number from -100 to 100 is expected"),
        ({"from_": 0.5}, "found 0.5 examples, a whole number is expected"),
        ({"from_": 0.5, "unit": "shard"}, "found 0.5 shards, a whole number is expected"),
        ({"from_": "5"}, "a number is expected"),
        ({"from_": float("nan"), "unit": "%"}, "found NaN, expected a finite number"),
    ],
)
def test_an_instruction_is_checked_when_it_is_made(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        tfds.ReadInstruction("train", **fields)


def test_instructions_of_strings(pets: tfds.Builder) -> None:
    of = tfds.core.ReadInstruction
    assert of.from_spec("train[:25%]") == of("train", to=25.0, unit="%")
    assert of("train", unit=None, rounding=None) == of("train")
    assert [str(of.from_spec(text)) for text in ("train", "train[2:-1]", "train[:1shard]+test")] == [
        "train",
        "train[2:-1]",
        "train[:1shard]+test",
    ]
    for text in ("train[:25%]", "test+train[-1shard]", "all"):
        assert labels(pets.as_dataset(of.from_spec(text))) == labels(pets.as_dataset(text))


def test_that_a_shuffle_of_one_file_changes_nothing_is_said_once(
    pets: tfds.Builder, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tesson"):
        for _ in range(3):
            list(pets.as_dataset("test", shuffle_files=True).skip(1).take(1))
    assert sum("shuffle_files changes nothing" in record.getMessage() for record in caplog.records) == 1


def test_damage_is_said_once_however_often_it_is_met(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tfds.Writer(tmp_path, "numbers", "1.0.0", {"n": np.int64}, {"train": 2}) as writer:
        for n in range(20):
            writer.write("train", {"n": n})
    shard = sorted((tmp_path / "numbers" / "1.0.0").glob("*tfrecord*"))[0]
    os.truncate(shard, shard.stat().st_size - 5)
    for on_damage, what in (("stop_shard", "the file ends here"), ("skip", "left out")):
        caplog.clear()
        data = tfds.load("numbers", split="train", data_dir=tmp_path, shuffle_files=True, on_damage=on_damage)
        with caplog.at_level(logging.WARNING, "tesson"):
            assert [sum(1 for _ in data) for _ in range(4)] == [19] * 4
        assert sum(what in record.getMessage() for record in caplog.records) == 1, on_damage


def test_a_benchmark_counts_examples(pets: tfds.Builder) -> None:
    found = tfds.benchmark(pets.as_dataset("train").batch(2), batch_size=2)
    assert found.num_examples == 8 and 0 <= found.first_seconds <= found.seconds
    assert str(found).startswith("8 examples in ")
    assert tfds.benchmark(pets.as_dataset("train"), 3, num_iter_warmup=2).num_examples == 3
    with pytest.raises(ValueError, match="found batch_size=0, expected 1 or more"):
        tfds.benchmark(pets.as_dataset("train"), batch_size=0)


def test_a_table_has_a_row_for_each_example(pets: tfds.Builder) -> None:
    pandas = pytest.importorskip("pandas")
    table = tfds.as_dataframe(pets.as_dataset("train").take(3), pets.info)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == ["image", "label", "objects/bbox", "objects/name"] and list(table["label"]) == [0, 1, 0]
    table = tfds.as_dataframe(pets.as_dataset("train", as_supervised=True).take(2), pets.info)
    assert list(table.columns) == ["image", "label"]


def test_a_figure_shows_images(pets: tfds.Builder) -> None:
    pytest.importorskip("matplotlib").use("agg")
    figure = tfds.show_examples(pets.as_dataset("train"), pets.info, rows=1, cols=2)
    assert [axes.get_xlabel() for axes in figure.axes] == ["cat (0)", "dog (1)"]
    with pytest.raises(ValueError, match="image_key='label', expected one of image"):
        tfds.show_examples(pets.as_dataset("train"), pets.info, image_key="label")


@pytest.mark.parametrize(("module", "name"), [("pandas", "as_dataframe"), ("matplotlib", "show_examples")])
def test_a_package_that_is_missing_is_named(
    pets: tfds.Builder, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    for known in [known for known in sys.modules if known.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"tfds.{name} needs `{module}`, which is not installed: pip install {module}"):
        getattr(tfds, name)(pets.as_dataset("train"), pets.info)


def test_a_name_that_is_missing_says_why() -> None:
    with pytest.raises(AttributeError, match=r"`tesson.tfds.core` has no attribute `GeneratorBasedBuilder`: .*tfds.Writer"):
        tfds.core.GeneratorBasedBuilder  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute `testing`: there is no mock data"):
        tfds.testing  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute `nonsense`$"):
        tfds.nonsense  # noqa: B018


def test_a_data_source_shows_what_it_holds_and_which_places_it_has(pets: tfds.Builder) -> None:
    source = pets.as_data_source("train")
    assert repr(source) == "<DataSource 'train': 8 examples>"
    for examples in (source, pets.as_dataset("train")):
        with pytest.raises(IndexError, match="found example 8, expected one from -8 to 7"):
            examples[8]


def test_what_is_no_read_config_and_no_decoder_is_refused(pets: tfds.Builder) -> None:
    with pytest.raises(TypeError, match="read_config: found {}, expected tfds.ReadConfig"):
        pets.as_dataset("train", read_config={})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="decoders: found 3, expected a mapping from features to decoders"):
        pets.as_dataset("train", decoders=3)  # type: ignore[arg-type]


def test_states_of_prepared_datasets_say_why_by_their_code(pets: tfds.Builder) -> None:
    examples = iter(pets.as_dataset("train"))
    state = examples.state_dict()
    for wrong, code in [
        ({}, "resume.unreadable"),
        (state | {"stream": {}}, "resume.unreadable"),
        (state | {"requires": ["pace"]}, "resume.other-version"),
        (state | {"dataset": "others 1.0.0"}, "resume.other-source"),
    ]:
        with pytest.raises(tesson.ResumeError) as caught:
            examples.load_state_dict(wrong)
        assert caught.value.code == code
