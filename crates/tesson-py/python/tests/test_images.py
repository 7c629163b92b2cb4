"""Deserializers of pictures and their transforms."""

from __future__ import annotations

import base64
import inspect
import io
import json
import pickle
import re
import struct
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from prepare import tensor, write_dataset

import tesson
from tesson import ConfigError, DataError, UserTransform, _tesson, tfds, transforms
from tesson.io import (
    Base64ImageDeserializer,
    ImageDeserializer,
    MinibatchSource,
    StreamDef,
    StreamDefs,
    StreamInformation,
    TFDSDeserializer,
    TarImageDeserializer,
)
from tesson.keywords import camel_case
from tesson.tfds import Dataset

#: Each function with the type that it stands for, and arguments that it cannot do without.
FUNCTIONS: list[tuple[Callable[..., dict[str, Any]], str, tuple[Any, ...]]] = [
    (transforms.crop, "Crop", ()),
    (transforms.scale, "Scale", (1, 1, 3)),
    (transforms.mean, "Mean", ("mean.xml",)),
    (transforms.color, "Color", ()),
    (transforms.intensity, "Intensity", ()),
    (transforms.normalize, "Normalize", (0.5, 0.25)),
    (transforms.horizontal_flip, "HorizontalFlip", ()),
    (transforms.random_erasing, "RandomErasing", ()),
    (transforms.random_resized_crop, "RandomResizedCrop", ()),
    (transforms.random_rotation, "RandomRotation", (30,)),
    (transforms.transpose, "Transpose", ()),
    (transforms.cast, "Cast", ()),
    (transforms.decode, "Decode", ()),
    (transforms.decode_image, "DecodeImage", ()),
]
NAMES = [name for _, name, _ in FUNCTIONS]


def ppm(image: NDArray[np.uint8]) -> bytes:
    """A picture of rows, columns and the channels blue, green and red as a file."""
    height, width, _ = image.shape
    return f"P6 {width} {height} 255\n".encode() + image[:, :, ::-1].tobytes()


def bmp(image: NDArray[np.uint8]) -> bytes:
    """A picture as a BMP file of a kind that prepared datasets have: rows from below, each of multiples of four bytes."""
    height, width, _ = image.shape
    rows = b"".join(row.tobytes() + bytes(-3 * width % 4) for row in image[::-1])
    header = (b"BM", 54 + len(rows), 0, 54, 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    return struct.pack("<2sIII IiiHHIIIIII", *header) + rows


def image(number: int) -> NDArray[np.uint8]:
    """A picture of four rows and six columns, each value another one."""
    return (np.arange(72) + 80 * number).astype(np.uint8).reshape(4, 6, 3)


@pytest.fixture(autouse=True)
def image_files(files: Path) -> None:
    """Three images, as files in a map, in Base64 and in a tar archive."""
    for number in range(3):
        (files / f"{number}.ppm").write_bytes(ppm(image(number)))
    (files / "map.txt").write_text("".join(f"{number}.ppm\t{number + 1}\n" for number in range(3)))
    encoded = [base64.b64encode(ppm(image(number))).decode() for number in range(3)]
    (files / "map.b64").write_text("".join(f"{number + 1}\t{text}\n" for number, text in enumerate(encoded)))
    with tarfile.open(files / "pictures.tar", "w") as archive:
        for number in range(3):
            for name, data in [("ppm", ppm(image(number))), ("cls", str(number + 1).encode())]:
                member = tarfile.TarInfo(f"{'deep/' * 30}{number}.{name}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def streams(*given: Any, classes: int = 4) -> StreamDefs:
    return StreamDefs(
        features=StreamDef(field="image", transforms=list(given)), labels=StreamDef(field="label", shape=classes)
    )


def read(*deserializers: Any, **options: Any) -> tesson.Minibatch:
    """All three pictures, in their order."""
    with MinibatchSource(list(deserializers), randomize=False, max_sweeps=1, **options) as source:
        return source.next_minibatch(100)


@pytest.mark.parametrize(
    ("maker", "file"),
    [(ImageDeserializer, "map.txt"), (Base64ImageDeserializer, "map.b64"), (TarImageDeserializer, ["pictures.tar"])],
)
def test_images_come_with_their_classes(maker: Any, file: Any) -> None:
    minibatch = read(maker(file, streams()))
    expected = np.stack([image(number).transpose(2, 0, 1) for number in range(3)])
    assert minibatch["features"].samples.dtype == np.float32
    assert np.array_equal(minibatch["features"].samples, expected)
    assert minibatch["labels"].is_sparse
    assert minibatch["labels"].class_indices.tolist() == [1, 2, 3]
    assert minibatch["labels"].shape[-1] == 4


def test_channels_are_last_where_the_layout_says_so() -> None:
    given = ImageDeserializer("map.txt", streams(), layout="HWC")
    assert np.array_equal(read(given)["features"].samples, np.stack([image(number) for number in range(3)]))
    with pytest.raises(ConfigError, match="layout: found 'BGR', expected `CHW` or `HWC`"):
        ImageDeserializer("map.txt", streams(), layout="BGR")  # type: ignore[arg-type]


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_images_stay_bytes_where_the_stream_says_so(layout: Literal["CHW", "HWC"]) -> None:
    given = StreamDefs(
        features=StreamDef(field="image", dtype=np.uint8, transforms=[transforms.scale(5, 3, 3)]),
        labels=StreamDef(field="label", shape=4),
    )
    scaled = streams(transforms.scale(5, 3, 3))
    floats = read(ImageDeserializer("map.txt", scaled, layout=layout))["features"]
    features = read(ImageDeserializer("map.txt", given, layout=layout))["features"]
    for found in (features, pickle.loads(pickle.dumps(features))):
        assert found.dtype == found.samples.dtype == np.uint8
        assert np.array_equal(found.samples, floats.samples)
        assert found.asarray().dtype == np.uint8
        assert np.array_equal(np.from_dlpack(found), floats.asarray())
    assert eval(repr(ImageDeserializer("map.txt", given))).config == ImageDeserializer("map.txt", given).config
    with pytest.raises(ConfigError, match="uint8"):
        read(ImageDeserializer("map.txt", StreamDefs(x=StreamDef("image", transforms=[transforms.color(0.5)], dtype="uint8"))))
    with pytest.raises(ConfigError, match="labels.dtype: found uint8"):
        ImageDeserializer("map.txt", given | {"labels": StreamDef("label", 4, dtype="uint8")})


def test_a_dimension_that_each_minibatch_has_for_itself_is_open(files: Path) -> None:
    (files / "map.txt").write_text("0.ppm\t1\nsmall.ppm\t2\n")
    (files / "small.ppm").write_bytes(ppm(image(1)[:2]))
    with MinibatchSource(ImageDeserializer("map.txt", streams()), randomize=False, max_sweeps=1) as source:
        assert source.streams.features.shape == (3, -1, -1)
        assert [source.next_minibatch(1)["features"].shape for _ in range(2)] == [(1, 1, 3, 4, 6), (1, 1, 3, 2, 6)]
        source.restore_from_checkpoint({"minibatchSourcePosition": 0})
        with pytest.raises(DataError, match="small.ppm.*3x2x6.*3x4x6"):
            source.next_minibatch(2)


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
def test_images_keep_their_shapes_where_the_stream_says_so(files: Path, layout: Literal["CHW", "HWC"]) -> None:
    (files / "map.txt").write_text("0.ppm\t1\nsmall.ppm\t2\n1.ppm\t3\n")
    expected = [image(0), image(1)[:2], image(1)]
    (files / "small.ppm").write_bytes(ppm(expected[1]))
    if layout == "CHW":
        expected = [one.transpose(2, 0, 1) for one in expected]
    given = StreamDefs(features=StreamDef("image", dtype="uint8", ragged=True), labels=StreamDef("label", 4))
    deserializer = ImageDeserializer("map.txt", given, layout=layout)
    assert eval(repr(deserializer)).config == deserializer.config
    with MinibatchSource(deserializer, randomize=False, max_sweeps=1) as source:
        found = source.next_minibatch(3)
        for data in (found["features"], pickle.loads(pickle.dumps(found))["features"]):
            assert (data.is_ragged, data.is_sparse, data.dtype, data.num_samples) == (True, False, np.uint8, 3)
            assert "3 samples, ragged" in repr(data)
            assert [one.shape for one in data.sample_list] == [one.shape for one in expected]
            assert all(np.array_equal(a, b) for a, b in zip(data.sample_list, expected))
            assert [len(sequence) for sequence in data.as_sequences()] == [1, 1, 1]
            # Views on one array, which may be written to.
            data.sample_list[1][0, 0, 0] = 7
            assert data.sample_list[1][0, 0, 0] == 7
            data.sample_list[1][0, 0, 0] = expected[1][0, 0, 0]
            with pytest.raises(AttributeError, match="ragged: it has sample_list instead of samples"):
                data.samples
            with pytest.raises(AttributeError, match="ragged: it has sample_list instead of indptr"):
                data.indices
            with pytest.raises(ValueError, match="sample_list"):
                data.asarray()
            with pytest.raises(BufferError, match="sample_list"):
                np.from_dlpack(data)
    assert not found["labels"].is_ragged
    plain = read(Base64ImageDeserializer("map.b64", streams()))["features"]
    assert [one.tolist() for one in plain.sample_list] == plain.samples.tolist()


def test_shapes_of_their_own_are_for_images_alone() -> None:
    with pytest.raises(ConfigError, match="streams.x.ragged: found True of a stream without images"):
        tesson.CTFDeserializer("x.ctf", StreamDefs(x=StreamDef("x", 1, ragged=True))).config
    with pytest.raises(ConfigError, match="streams.y.ragged"):
        ImageDeserializer("map.txt", StreamDefs(x=StreamDef("image"), y=StreamDef("label", 4, ragged=True))).config


def test_channels_are_put_first_behind_the_last_transform_of_images() -> None:
    def kinds(*given: Any) -> list[Any]:
        listed = ImageDeserializer("map.txt", streams(*given)).config["input"]["features"]["transforms"]
        return [transform["type"] if isinstance(transform, dict) else transform for transform in listed]

    crop, transpose, cast = transforms.crop(), transforms.transpose(), transforms.cast()
    assert kinds() == ["Transpose"]
    assert kinds(crop) == ["Crop", "Transpose"]
    assert kinds(transpose, cast) == ["Transpose", "Cast"]
    assert kinds(crop, cast) == ["Crop", "Transpose", "Cast"]
    assert kinds(crop, abs) == ["Crop", "Transpose", abs]


def test_the_older_object_style_gives_the_same_configuration(files: Path) -> None:
    new = ImageDeserializer("map.txt", streams(transforms.scale(2, 2, 3)))
    old = ImageDeserializer("map.txt").map_features("features", [ImageDeserializer.scale(2, 2, 3)])
    assert old.map_labels(StreamInformation("labels", shape=1), 4).config == new.config
    assert list(old.ignore_labels().streams) == ["features"]
    with MinibatchSource(old) as source:
        assert list(source.streams) == ["features"]
    with pytest.raises(ConfigError, match="streams: found no stream of images, expected StreamDef"):
        MinibatchSource(ImageDeserializer("map.txt").map_labels("labels", 4))


def test_classes_that_nobody_asks_for_are_not_read(files: Path) -> None:
    (files / "map.txt").write_text("0.ppm\tcat\n1.ppm\n")
    only = StreamDefs(image=StreamDef(transforms=[]))
    assert np.array_equal(read(ImageDeserializer("map.txt", only))["image"].samples[1], image(1).transpose(2, 0, 1))


def test_transforms_of_images_run_before_functions() -> None:
    def doubled(sample: NDArray[np.float32]) -> NDArray[np.float32]:
        assert sample.shape == (3, 2, 2)
        return sample * 2

    first_channel = UserTransform(lambda sample: sample[0], shape=(2, 2))
    given = streams(transforms.crop(crop_size=2), transforms.scale(2, 2, 3), doubled)
    minibatch = read(ImageDeserializer("map.txt", given), transforms={"features": first_channel})
    assert np.array_equal(minibatch["features"].samples[0], 2.0 * image(0)[1:3, 2:4, 0])


def test_options_reach_the_deserializer(files: Path) -> None:
    (files / "list.txt").write_text("# pictures\n0.ppm\t3x\n1.ppm\t1\n")
    (files / "elsewhere").mkdir()
    (files / "0.ppm").rename(files / "elsewhere" / "0.ppm")
    only = {"root": files / "elsewhere", "comments": True, "on_corrupt_image": "skip"}
    minibatch = read(ImageDeserializer(files / "list.txt", streams(), grayscale=True, **only))
    assert minibatch["features"].shape[-3:] == (1, 4, 6)
    assert minibatch["labels"].class_indices.tolist() == [3]
    with pytest.raises(DataError, match=r"list.txt:2 .*3x"):
        read(ImageDeserializer("list.txt", streams(), strict_labels=True, comments=True))


@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_maps_may_be_tables_with_classes_by_name(files: Path, name: str) -> None:
    rows = [("0.ppm", "dog"), ("1.ppm", "cat"), ("2.ppm", "dog")]
    if name == "table.csv":
        (files / name).write_text("what,file\n" + "".join(f"{what},{file}\n" for file, what in rows))
    else:
        (files / name).write_text("".join(f'{{"what": "{what}", "file": "{file}"}}\n' for file, what in rows))
    given = StreamDefs(features=StreamDef("image"), labels=StreamDef("label"))
    deserializer = ImageDeserializer(name, given, path_column="file", label_column="what")
    assert read(deserializer)["labels"].class_indices.tolist() == [1, 0, 1]
    with MinibatchSource(deserializer) as source:
        assert source.streams.labels.shape == (2,)
        assert source.streams.labels.classes == ("cat", "dog")
        assert source.streams.features.classes == ()


def test_a_folder_for_each_class_needs_no_map(files: Path) -> None:
    for number, folder in enumerate(["b", "a", "b"]):
        (files / "all" / folder).mkdir(parents=True, exist_ok=True)
        (files / f"{number}.ppm").rename(files / "all" / folder / f"{number}.ppm")
    minibatch = read(ImageDeserializer("all").map_features("x").map_labels("y"))
    assert minibatch["x"].samples[:, 0, 0, 0].tolist() == [80, 0, 160]
    assert minibatch["y"].class_indices.tolist() == [0, 1, 1]


def test_images_of_prepared_datasets_have_the_same_transforms(files: Path) -> None:
    shape = {"dimensions": ["-1", "-1", "3"]}
    features = {"image": {"pythonClassName": "Image", "image": {"shape": shape, "dtype": "uint8"}}, "label": tensor("int64")}
    write_dataset(files / "d" / "1.0.0", features, {"train": [[{"image": bmp(image(1)), "label": 3}]]})

    def first(*given: Any) -> NDArray[Any]:
        streams = StreamDefs(image=StreamDef(transforms=given), label=StreamDef(shape=5, is_sparse=True))
        samples: NDArray[Any] = read(TFDSDeserializer("d/1.0.0", streams, split="train"))["image"].samples[0]
        return samples

    crop = transforms.crop(crop_size=(2, 3))
    cut = image(1)[:3, 2:4]
    assert np.array_equal(first(crop), cut[:, :, ::-1]), "red is first, as TensorFlow has it"
    assert np.array_equal(first(transforms.decode(), crop), cut)
    assert np.array_equal(first(transforms.decode_image(channels=3), crop, transforms.transpose()), cut[:, :, ::-1].transpose(2, 0, 1))


RANDOM = [transforms.random_resized_crop(area_ratio=(0.2, 1)), transforms.scale(3, 2, 3), transforms.random_erasing(), transforms.color(brightness_radius=0.5)]


def prepared(files: Path) -> Dataset[Any]:
    """Three pictures in two shards, in TensorFlow's order of channels."""
    shape = {"dimensions": ["-1", "-1", "3"]}
    features = {"image": {"pythonClassName": "Image", "image": {"shape": shape, "dtype": "uint8"}}, "label": tensor("int64")}
    examples = [{"image": bmp(image(number)), "label": number} for number in range(3)]
    folder = files / "pictures" / "1.0.0"
    if not folder.exists():
        write_dataset(folder, features, {"train": [examples[:2], examples[2:]]})
    return tfds.builder_from_directory(folder).as_dataset("train")


def delivered(minibatches: Iterable[Any]) -> list[NDArray[Any]]:
    return [minibatch["image"] for minibatch in minibatches]


def test_minibatches_of_prepared_datasets_have_transformed_images(files: Path) -> None:
    dataset = prepared(files)
    (minibatch,) = dataset.minibatches(5, transforms={"image": [transforms.crop(crop_size=(2, 3))]})
    assert minibatch["image"].dtype == np.uint8
    assert np.array_equal(minibatch["image"], np.stack([image(number)[:3, 2:4, ::-1] for number in range(3)]))
    assert minibatch["label"].tolist() == [0, 1, 2]
    given = {"image": [transforms.decode(), transforms.normalize([0.0] * 3, [1.0] * 3), transforms.transpose()]}
    (normalized,) = delivered(dataset.minibatches(5, transforms=given))
    assert normalized.dtype == np.float32
    assert np.array_equal(normalized[0], image(0).transpose(2, 0, 1) / np.float32(255))


def test_transformed_minibatches_resume_and_are_shared_exactly(files: Path) -> None:
    dataset = prepared(files).repeat(4)
    iterator = dataset.minibatches(2, transforms={"image": RANDOM}, transform_seed=3)
    state = next(iterator) and iterator.state_dict()
    rest = delivered(iterator)
    assert len({image.tobytes() for batch in rest for image in batch}) == 10, "each repeat draws anew"
    for other in (prepared(files).repeat(4).minibatches(2, transforms={"image": RANDOM}, transform_seed=3), pickle.loads(pickle.dumps(iterator))):
        other.load_state_dict(json.loads(json.dumps(state)))
        assert all(np.array_equal(a, b) for a, b in zip(delivered(other), rest, strict=True))

    def share(rank: int) -> list[NDArray[Any]]:
        sharer = prepared(files).repeat(4)
        return delivered(sharer.minibatches(2, transforms={"image": RANDOM}, transform_seed=3, num_data_partitions=2, partition_index=rank))

    for first, second, both in zip(share(0)[1:], share(1)[1:], rest, strict=True):
        assert np.array_equal(np.concatenate([first, second]), both)
    with pytest.raises(tesson.ResumeError, match="order"):
        prepared(files).repeat(4).minibatches(2, transforms={"image": RANDOM}).load_state_dict(state)


def test_passes_of_transformed_minibatches_are_counted_with_the_dataset(files: Path) -> None:
    dataset = prepared(files)
    first, second = ([*delivered(dataset.minibatches(3, transforms={"image": RANDOM}))] for _ in range(2))
    assert not np.array_equal(first, second)


def test_transforms_of_prepared_datasets_are_refused_by_name(files: Path) -> None:
    dataset = prepared(files)
    for given, what in [
        ({"imge": []}, "did you mean `image`"),
        ({"label": []}, "transforms.label: `label` is int64"),
        ({"image": [transforms.scale(2, 2, 1)]}, "transforms.image"),
        ({"image": [{"type": "Scal"}]}, r"transforms.image\[0\].type"),
    ]:
        with pytest.raises(ConfigError, match=what):
            dataset.minibatches(2, transforms=given)
    with pytest.raises(tesson.UsageError, match="found a function: use `map`"):
        dataset.minibatches(2, transforms={"image": [lambda image: image]})


def test_images_of_prepared_datasets_may_be_delivered_in_8_bits(files: Path) -> None:
    prepared(files)

    def opened(*given: Any) -> tesson.Minibatch:
        streams = StreamDefs(image=StreamDef(transforms=given, dtype="uint8"))
        return read(TFDSDeserializer("pictures/1.0.0", streams, split="train"))

    samples = opened(transforms.crop(crop_size=(2, 3)))["image"].samples
    assert samples.dtype == np.uint8
    assert np.array_equal(samples[1], image(1)[:3, 2:4, ::-1])
    with pytest.raises(ConfigError, match="samples are .* at last, and `dtype` of the stream is uint8"):
        opened(transforms.scale(2, 2, 3), transforms.normalize([0.5] * 3, [0.25] * 3))
    with pytest.raises(ConfigError, match=r"streams.label.dtype: found uint8 of a stream without images"):
        read(TFDSDeserializer("pictures/1.0.0", StreamDefs(label=StreamDef(dtype="uint8")), split="train"))


def test_radii_of_colors_are_in_single_precision_as_those_of_cntk() -> None:
    single = float(np.float32(0.2))
    assert single != 0.2
    assert transforms.color(0.2, 0.5, 0) == {"type": "Color", "brightnessRadius": single, "contrastRadius": 0.5}


def test_ten_views_are_ten_sequences() -> None:
    given = streams(transforms.crop(crop_type="MultiView10", crop_size=(2, 3)))
    assert read(ImageDeserializer("map.txt", given)).num_sequences == 30
    assert read(ImageDeserializer("map.txt", given, multi_view_crop=False)).num_sequences == 3


def test_a_run_goes_on_with_the_same_random_images() -> None:
    random = [
        transforms.random_resized_crop(area_ratio=(0.2, 1)),
        transforms.scale(2, 2, 3),
        transforms.horizontal_flip(),
        transforms.color(brightness_radius=0.5, seed=3),
    ]

    def opened(threads: int) -> MinibatchSource:
        return MinibatchSource(ImageDeserializer("map.txt", streams(*random)), max_sweeps=4, threads=threads)

    with opened(1) as source, opened(2) as other:
        source.next_minibatch(2)
        other.restore_from_checkpoint(source.get_checkpoint_state())
        pairs = list(zip(source.minibatches(2), other.minibatches(2), strict=True))
        assert all(a["features"].samples.tobytes() == b["features"].samples.tobytes() for a, b in pairs)
        assert len(pairs) == 5


@pytest.mark.parametrize(
    ("given", "path", "words"),
    [
        ({"x": StreamDef("picture")}, "streams.x.field", "found the field 'picture', expected `image` or `label`"),
        ({"y": StreamDef("label", 3)}, "streams", "no stream of images"),
        ({"x": StreamDef("image", (3, 2, 2))}, "streams.x.shape", "the shape that their transforms give them"),
        ({"x": StreamDef("image"), "y": StreamDef("label", (2, 3))}, "streams.y.shape", "expected the number of classes"),
        ({"x": StreamDef("image"), "y": StreamDef("image")}, "streams.y.field", "found `x` and `y`"),
        ({"x": StreamDef("image", defines_mb_size=True)}, "streams.x.defines_mb_size", "leave it out"),
    ],
)
def test_streams_are_one_of_images_and_at_most_one_of_classes(given: Any, path: str, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)) as caught:
        ImageDeserializer("map.txt", given)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (transforms.crop(side_ratio=2), "transforms[0].side_ratio"),
        (transforms.scale(0, 2, 3), "transforms[0].width"),
        (transforms.color(brightness_radius=-1), "transforms[0].brightness_radius"),
        (transforms.mean("map.txt"), "transforms[0].filename"),
        ({"type": "Crop", "cropTyp": "center"}, "transforms[0]"),
    ],
)
def test_a_value_is_blamed_where_it_was_given(given: Any, path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(ImageDeserializer("map.txt", streams(given)))
    assert caught.value.path == f"deserializers[0].streams.features.{path}"
    assert str(caught.value).startswith(f"{caught.value.path}: ")


def test_a_class_out_of_range_is_an_error_of_the_map() -> None:
    with pytest.raises(DataError, match="map.txt:3 .*the label .*is 3, expected one below `shape`, 3") as caught:
        read(ImageDeserializer("map.txt", streams(classes=3)))
    assert caught.value.line == 3


def test_deserializers_show_what_would_rebuild_them() -> None:
    given = streams(transforms.crop(crop_size=(2, 3)), transforms.mean(Path("mean.xml")))
    for deserializer in [
        ImageDeserializer(Path("d") / "map.txt", given, layout="HWC", root="r", grayscale=True),
        Base64ImageDeserializer("map.b64", given, max_errors=3),
        ImageDeserializer("map.txt"),
    ]:
        again = eval(repr(deserializer))
        assert repr(again) == repr(deserializer)
        assert not again.streams or again.config == deserializer.config


@pytest.mark.parametrize(("function", "kind", "required"), FUNCTIONS, ids=NAMES)
def test_every_option_of_a_transform_is_a_keyword(function: Any, kind: str, required: tuple[Any, ...]) -> None:
    assert function(*required)["type"] == kind
    # Deserializers of pictures decode by themselves.
    assert kind.startswith("Decode") or getattr(ImageDeserializer, function.__name__) is function
    others = {"filename": "meanFile"}
    keywords = {others.get(name) or camel_case(name) for name in inspect.signature(function).parameters}
    assert keywords == {row["name"] for row in _tesson.transform_table(kind)}


def test_every_transform_has_a_function() -> None:
    assert sorted(function.__name__ for function, _, _ in FUNCTIONS) == transforms.__all__


def test_one_transform_needs_no_list() -> None:
    crop = transforms.crop(crop_size=2)
    assert StreamDef("image", transforms=crop).transforms == (crop,)
    assert StreamDef("x", transforms=abs).transforms == (abs,)


def test_what_is_not_given_is_not_in_the_section() -> None:
    assert transforms.crop("Center", 0, (0.5, 0.5), seed=0) == {"type": "Crop", "cropType": "Center", "sideRatio": [0.5, 0.5], "seed": 0}
    assert transforms.crop() == {"type": "Crop"}
    assert transforms.color(0.25) == {"type": "Color", "brightnessRadius": 0.25}
    assert transforms.random_resized_crop() == {"type": "RandomResizedCrop"}
    assert transforms.random_erasing() == {"type": "RandomErasing"}
    assert transforms.random_erasing(1, 0.1, value=(1, 2, 3))["value"] == [1, 2, 3]
    assert transforms.random_rotation((-5, 10)) == {"type": "RandomRotation", "degrees": [-5, 10]}
    assert transforms.scale(2, 3, 1, ("cubic", "linear-aa"))["interpolations"] == ["cubic", "linear-aa"]
    assert transforms.normalize((1, 2, 3), np.ones(3))["std"] == [1, 1, 1]


@pytest.mark.parametrize(
    ("ratios", "words"),
    [((0.5,), "expected one number or two"), ((0.1, 0.2, 0.3), "one number or two"), ((0.9, 0.5), "the smaller ratio first")],
)
def test_ratios_are_one_number_or_the_smaller_and_the_larger(ratios: Any, words: str) -> None:
    for name in ["side_ratio", "area_ratio", "aspect_ratio"]:
        with pytest.raises(ConfigError, match=f"^{name}: found .*{words}"):
            transforms.crop(**{name: ratios})


@pytest.mark.parametrize(("wrong", "meant"), [("crop_siz", "crop_size"), ("cropSize", "crop_size"), ("hFlip", "hflip")])
def test_a_misspelt_argument_of_a_transform_gets_its_hint(wrong: str, meant: str) -> None:
    message = rf"^crop\(\) has no keyword argument `{wrong}`, did you mean `{meant}`\?$"
    with pytest.raises(TypeError, match=message):
        ImageDeserializer.crop(**{wrong: 3})  # type: ignore[arg-type]


def test_a_misspelt_option_of_a_deserializer_gets_its_hint() -> None:
    with pytest.raises(TypeError, match=r"ImageDeserializer\(\) has no keyword argument `greyscale`, did you mean `grayscale`"):
        ImageDeserializer("map.txt", greyscale=True)  # type: ignore[call-arg]
