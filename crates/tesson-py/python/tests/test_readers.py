"""Datasets of images, speech and prepared data: formats found by content, types kept."""

from __future__ import annotations

import base64
import gzip
import io
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import wave
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prepare import node, tensor, write_dataset

import tesson
from tesson import ConfigError, DataError, Dataset, StoreError, tfds, transforms

CLASSES = ("cat", "dog")


def png(width: int, height: int, rgb: tuple[int, int, int]) -> bytes:
    """An image of one colour."""
    lines = b"".join(b"\0" + bytes(rgb) * width for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def image(number: int) -> bytes:
    return png(4, 3, (200 + number, 100, number))


def folder(at: Path) -> Path:
    """Six images in folders of two classes, three in each."""
    for number in range(6):
        place = at / CLASSES[number // 3]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.png").write_bytes(image(number))
    return at


def zipped(at: Path) -> Path:
    folder(at / "photos")
    with zipfile.ZipFile(at / "photos.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((at / "photos").rglob("*.png")):
            archive.write(file, file.relative_to(at))
    return at / "photos.zip"


def tar(at: Path, members: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(at, "w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return at


def packed(at: Path) -> Path:
    members = [(f"{number}.{kind}", data) for number in range(6) for kind, data in [("png", image(number)), ("cls", b"%d" % (number // 3))]]
    return tar(at / "photos.tar", members)


def compressed(at: Path) -> Path:
    (at / "photos.tar.gz").write_bytes(gzip.compress(packed(at).read_bytes()))
    return at / "photos.tar.gz"


def listed(name: str, line: Callable[[str, int], str], header: str = "") -> Callable[[Path], Path]:
    def write(at: Path) -> Path:
        folder(at / "photos")
        lines = [line(f"photos/{CLASSES[number // 3]}/{number}.png", number // 3) for number in range(6)]
        (at / name).write_text(header + "".join(f"{line}\n" for line in lines))
        return at / name

    return write


def in_base64(at: Path) -> Path:
    lines = [f"{number // 3}\t{base64.b64encode(image(number)).decode()}\n" for number in range(6)]
    (at / "photos.b64").write_text("".join(lines))
    return at / "photos.b64"


FORMS = {
    "folder": lambda at: folder(at / "photos"),
    "zip": zipped,
    "tar": packed,
    "tar.gz": compressed,
    "map": listed("map.txt", lambda path, label: f"{path}\t{label}"),
    "csv": listed("map.csv", lambda path, label: f"{path},{CLASSES[label]}", "path,label\n"),
    "jsonl": listed("map.jsonl", lambda path, label: f'{{"path": "{path}", "label": "{CLASSES[label]}"}}'),
    "base64": in_base64,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_images_in_any_form_are_the_same_examples(tmp_path: Path, form: str, layout: Any) -> None:
    data = tesson.read_images(FORMS[form](tmp_path), layout=layout)
    data = pickle.loads(pickle.dumps(data))
    assert data.schema["image"].dtype == np.uint8
    assert data.schema["label"].type == "int64 []"
    has_names = form in ("folder", "zip", "csv", "jsonl")
    assert data.schema["label"].classes == (CLASSES if has_names else ())
    batch = data.head(6)
    images = batch["image"] if layout == "HWC" else batch["image"].transpose(0, 2, 3, 1)
    assert images.shape == (6, 3, 4, 3)
    assert images[:, 1, 2].tolist() == [[200 + number, 100, number] for number in range(6)]
    assert batch["label"].dtype == np.int64
    assert batch["label"].tolist() == [0, 0, 0, 1, 1, 1]


def test_images_without_classes_have_one_stream(tmp_path: Path) -> None:
    flat = folder(tmp_path / "photos") / "cat"
    assert list(tesson.read_images(flat).schema) == ["image"]
    assert list(tesson.read_images(tmp_path / "photos", labels=False).schema) == ["image"]
    (tmp_path / "list.csv").write_text("path\nphotos/cat/1.png\n")
    os.chdir(tmp_path)
    assert tesson.read_images("list.csv").head(1)["image"].shape == (1, 3, 4, 3)


def test_a_resize_follows_crops_and_precedes_other_transforms(tmp_path: Path) -> None:
    photos = folder(tmp_path / "photos")
    data = tesson.read_images(photos, size=(2, 5))
    assert data.schema["image"].type == "uint8 [2, 5, 3]"
    steps = [transforms.crop(crop_size=(2, 2)), transforms.normalize(mean=0, std=1)]
    data = tesson.read_images(photos, size=7, transforms=steps)
    assert data.schema["image"].type == "float32 [7, 7, 3]"
    np.testing.assert_allclose(data.head(1)["image"][0, 3, 3], np.array([200, 100, 0]) / 255, rtol=1e-6)
    data = tesson.read_images(photos, grayscale=True, dtype="float32")
    assert data.head(6)["image"].shape == (6, 3, 4, 1)


def test_images_of_several_shapes_are_a_list_where_that_is_said(tmp_path: Path) -> None:
    photos = folder(tmp_path / "photos")
    (photos / "cat" / "9.png").write_bytes(png(9, 8, (1, 2, 3)))
    shapes = [image.shape for image in tesson.read_images(photos, ragged=True).head(4)["image"]]
    assert shapes == [(3, 4, 3)] * 3 + [(8, 9, 3)]
    with pytest.raises(tesson.DataError, match="9.png.*8x9x3"):
        tesson.read_images(photos).head(7)


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"size": 0}, "size"),
        ({"size": (1, 2, 3)}, "size"),
        ({"size": 2, "ragged": True}, "ragged"),
        ({"size": 2, "transforms": transforms.scale(1, 1, 3)}, "size"),
        ({"dtype": "int8"}, "dtype"),
    ],
)
def test_options_of_images_that_cannot_be_are_named(tmp_path: Path, options: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as error:
        tesson.read_images(folder(tmp_path / "photos"), **options)
    assert error.value.path == path


def test_options_of_lists_are_refused_of_archives(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="archives have no columns"):
        tesson.read_images(packed(tmp_path), label_column="x")


def test_a_path_that_does_not_exist_and_a_wrong_option_say_so() -> None:
    with pytest.raises(StoreError, match="nothing.csv"):
        tesson.read_images("nothing.csv")
    with pytest.raises(TypeError, match="did you mean `labels`"):
        tesson.read_images("nothing.csv", label=True)  # type: ignore[call-arg]


def test_archives_of_a_webdataset_have_a_stream_for_each_extension(tmp_path: Path) -> None:
    packed(tmp_path).rename(tmp_path / "a-0.tar")
    compressed(tmp_path).rename(tmp_path / "a-1.tar")
    data = tesson.read_webdataset(tmp_path / "a-{0..1}.tar")
    assert [str(field) for field in data.schema.values()] == ["png: uint8 [-1, -1, 3]", "cls: int64 []"]
    batch = data.head(12)
    assert batch["cls"].tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert batch["png"][:, 0, 0, 2].tolist() == list(range(6)) * 2


def test_members_that_are_not_read_are_said_and_pickles_are_refused(tmp_path: Path) -> None:
    archive = tar(tmp_path / "a.tar", [("0.png", image(0)), ("0.cls", b"1"), ("0.pth", b"cos\nsystem\n")])
    with pytest.raises(ConfigError, match=r"`\.pth`, which is a pickle.*fields=\['png', 'cls'\]"):
        tesson.read_webdataset(archive)
    assert tesson.read_webdataset(archive, fields=["png", "cls"]).head(1)["cls"].tolist() == [1]


def npy(array: np.ndarray) -> bytes:
    into = io.BytesIO()
    np.save(into, array)
    return into.getvalue()


def test_arrays_of_an_archive_that_differ_in_length_are_ragged(tmp_path: Path) -> None:
    arrays = [np.arange(2 * n, dtype=np.float32).reshape(n, 2) for n in (3, 1, 0, 2)]
    archive = tar(tmp_path / "a.tar", [(f"{number}.npy", npy(array)) for number, array in enumerate(arrays)])
    data = tesson.read_webdataset(archive)
    assert str(data.schema["npy"]) == "npy: ragged float32 [2]"
    assert all(np.array_equal(found, array) for found, array in zip(data.head(4)["npy"], arrays, strict=True))
    alike = tar(tmp_path / "b.tar", [("0.npy", npy(arrays[0])), ("1.npy", npy(arrays[0]))])
    assert str(tesson.read_webdataset(alike).schema["npy"]) == "npy: float32 [3, 2]"
    declared = tesson.read_webdataset(alike, streams={"npy": tesson.column(ragged=True)})
    assert str(declared.schema["npy"]) == "npy: ragged float32 [2]"
    assert declared.head(2)["npy"].lengths.tolist() == [3, 3]


def test_arrays_of_an_archive_whose_inner_shapes_differ_are_faults_and_can_be_read_as_bytes(tmp_path: Path) -> None:
    arrays = [np.zeros((2, 3)), np.zeros((2, 4))]
    archive = tar(tmp_path / "a.tar", [(f"{number}.npy", npy(array)) for number, array in enumerate(arrays)])
    with pytest.raises(DataError, match=r"found `float64 \[2x4\]`, expected float64 \[2x3\]"):
        tesson.read_webdataset(archive).head(2)
    files = tesson.read_webdataset(archive, streams={"npy": tesson.column(dtype=bytes)}).head(2)["npy"]
    assert [np.load(io.BytesIO(file)).shape for file in files] == [(2, 3), (2, 4)]


def test_members_of_any_kind_keep_their_types_and_values_in_any_order(tmp_path: Path) -> None:
    vectors = np.arange(24, dtype=">i8").reshape(6, 2, 2) + 2**60
    for part in range(2):
        members = []
        for number in range(3 * part, 3 * part + 3):
            key = f"a.b/{number}"
            texts = [(f"{key}.txt", f"caption {number} é".encode()), (f"{key}.json", b'{"id": %d}' % number), (f"{key}.left.Bin", bytes([number, 0]))]
            numbers = [(f"{key}.cls", b" %d\n" % (number - 1)), (f"{key}.npy", npy(vectors[number])), (f"{key}.png", image(number))]
            members += [*texts, *numbers, (f"{key}.mask.png", image(number + 10))]
        tar(tmp_path / f"a-{part:03}.tar", members)
    data = tesson.read_webdataset(tmp_path / "a-{000..001}.tar", layout="CHW", size=(2, 4))
    types = ["txt: str []", "json: str []", "left.bin: bytes []", "cls: int64 []", "npy: int64 [2, 2]", "png: uint8 [3, 2, 4]", "mask.png: uint8 [3, 2, 4]"]
    assert [str(field) for field in data.schema.values()] == types
    batch = data.head(6)
    assert batch["txt"].tolist() == [f"caption {number} é" for number in range(6)]
    assert batch["json"].tolist() == [f'{{"id": {number}}}' for number in range(6)]
    assert batch["left.bin"].tolist() == [bytes([number, 0]) for number in range(6)]
    assert batch["cls"].tolist() == list(range(-1, 5))
    assert np.array_equal(batch["npy"], vectors)
    assert batch["png"][:, 2, 0, 0].tolist() == list(range(6))
    assert batch["mask.png"][:, 2, 0, 0].tolist() == list(range(10, 16))
    named = tesson.read_webdataset([tmp_path / "a-001.tar", tmp_path / "a-000.tar"], fields=["cls", "__key__"])
    assert named.head(4)["__key__"].tolist() == ["a.b/3", "a.b/4", "a.b/5", "a.b/0"]
    shuffled = [(int(n), key) for batch in named.loader(batch_size=4, shuffle=True, seed=3) for n, key in zip(batch["cls"], batch["__key__"], strict=True)]
    assert sorted(shuffled) == [(number - 1, f"a.b/{number}") for number in range(6)]
    assert shuffled != sorted(shuffled)


def test_members_that_are_missing_or_of_another_type_are_named(tmp_path: Path) -> None:
    first = [("0.txt", b"a"), ("0.cls", b"1"), ("0.npy", npy(np.zeros(2, np.float32)))]
    for name, data, what in [
        ("cls", b"one", r"column `cls`: found `one`, expected int64"),
        ("txt", b"\xff", r"column `txt`"),
        ("npy", npy(np.zeros(2, np.int16)), r"column `npy`: found `int16 \[2\]`, expected float32 \[2\]"),
        ("npy", b"\x93NUMPY\x01\0", r"column `npy`: found `the file ends within it`"),
        ("npy", npy(np.zeros(2, np.dtype([]))), r"column `npy`"),
        (None, b"", r"column `txt` has no value in row 1"),
    ]:
        second = {"txt": b"b", "cls": b"2", "npy": npy(np.zeros(2, np.float32)), name: data} if name else {"cls": b"2"}
        archive = tar(tmp_path / "a.tar", [*first, *((f"1.{kind}", data) for kind, data in second.items())])
        with pytest.raises(tesson.DataError, match=r"a\.tar.*" + what):
            tesson.read_webdataset(archive).head(2)
    cut = tmp_path / "cut.tar"
    cut.write_bytes(archive.read_bytes()[:1100])
    with pytest.raises(tesson.DataError, match=r"cut\.tar"):
        tesson.read_webdataset(cut, fields=["txt", "cls"]).head(2)
    assert tesson.read_webdataset(archive, fields=["txt", "cls"], nulls="skip").head(2)["txt"].tolist() == ["a"]
    for name in ["b.tar.gz", "b.tgz", "b.bin"]:
        packed = tmp_path / name
        packed.write_bytes(gzip.compress(archive.read_bytes()))
        found = tesson.read_webdataset(packed, fields=["cls", "__key__"]).head(2)
        assert (found["cls"].tolist(), found["__key__"].tolist()) == ([1, 2], ["0", "1"])


def parameters(frames: np.ndarray) -> bytes:
    """A parameter file of HTK, of the kind USER."""
    header = struct.pack(">iihh", len(frames), 100_000, 4 * frames.shape[1], 9)
    return header + frames.astype(">f4").tobytes()


@pytest.fixture
def utterances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Features of two utterances in HTK's and in Kaldi's form, and their labels."""
    monkeypatch.chdir(tmp_path)
    features = [np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(10, 14, dtype=np.float32).reshape(2, 2)]
    for name, frames in zip("ab", features, strict=True):
        Path(f"{name}.mfc").write_bytes(parameters(frames))
    Path("train.scp").write_text("a=a.mfc[0,2]\nb=b.mfc[0,1]\n")
    Path("states.txt").write_text("sil\naa\nbb\n")
    Path("train.mlf").write_text('#!MLF!#\n"a"\n0 2 bb\n2 3 sil\n.\n"b"\n0 2 aa\n.\n')
    rows = [" [ " + "\n ".join(" ".join(map(str, frame)) for frame in frames.tolist()) + " ]\n" for frames in features]
    Path("train.ark").write_text(f"a {rows[0]}b {rows[1]}")
    Path("second.scp").write_text(f"b train.ark:{len(f'a {rows[0]}b ')}\n")
    Path("ali.ark").write_text("a 2 2 0\nb 1 1\n")
    return features


def lists(batch: tesson.Batch, stream: str) -> list[Any]:
    return [part.tolist() for part in batch[stream]]


@pytest.mark.parametrize("labels", [lambda: tesson.read_mlf("train.mlf", states="states.txt"), lambda: tesson.read_kaldi_alignments("ali.ark")])
@pytest.mark.parametrize("features", [lambda: tesson.read_htk(scp="train.scp"), lambda: tesson.read_kaldi(ark="train.ark")])
def test_speech_and_the_classes_of_its_frames_are_ragged(
    utterances: list[np.ndarray], features: Callable[[], Dataset], labels: Callable[[], Dataset]
) -> None:
    data = features().join(labels())
    assert [str(field) for field in data.schema.values()] == ["features: ragged float32 [2]", "labels: ragged int64 []"]
    batch = data.head(2)
    assert lists(batch, "features") == [frames.tolist() for frames in utterances]
    assert lists(batch, "labels") == [[2, 2, 0], [1, 1]]
    assert batch["labels"].dtype == np.int64
    assert lists(labels().head(2), "labels") == [[2, 2, 0], [1, 1]], "labels alone are data, too"


def test_states_have_their_names_and_frames_their_context(utterances: list[np.ndarray]) -> None:
    assert tesson.read_mlf("train.mlf", states="states.txt").schema["labels"].classes == ("sil", "aa", "bb")
    htk, kaldi = tesson.read_htk("train.scp", context=(1, 0)), tesson.read_kaldi("second.scp", context=(1, 0))
    assert htk.schema["features"].shape == kaldi.schema["features"].shape == (4,)
    assert lists(htk.head(2), "features")[1] == lists(kaldi.head(1), "features")[0] == [[10, 11, 10, 11], [10, 11, 12, 13]]


def test_recordings_are_energies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with wave.open("a.wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(np.random.default_rng(1).integers(-9999, 9999, 1600, np.int16).tobytes())
    Path("wav.scp").write_text("a a.wav\n")
    data = tesson.read_audio("wav.scp", filters=24)
    assert str(data.schema["features"]) == "features: ragged float32 [24]"
    assert data.head(1)["features"].lengths.tolist() == [8]


def prepared(at: Path, shards: list[int]) -> tuple[Path, list[dict[str, Any]]]:
    """A dataset of several shards whose features have many types."""
    examples = [
        {"id": 2**60 + i, "half": [0.5 * i], "flag": i % 2, "pair": [i, -i], "words": list(range(i % 3)), "label": i % 2, "text": b"x" * i, "nested/ragged_flat_values": [1], "nested/ragged_row_lengths_0": [1]}
        for i in range(sum(shards))
    ]
    features = {
        "id": tensor("int64"),
        "half": tensor("float16", 1),
        "flag": tensor("bool"),
        "pair": node("sequence_feature.Sequence", sequence={"feature": tensor("int16"), "length": "2"}),
        "words": node("sequence_feature.Sequence", sequence={"feature": tensor("int32"), "length": "-1"}),
        "label": node("class_label_feature.ClassLabel", classLabel={"numClasses": "2"}),
        "text": node("text_feature.Text", text={}),
        "nested": node("sequence_feature.Sequence", sequence={"feature": node("sequence_feature.Sequence", sequence={"feature": tensor("int32"), "length": "-1"}), "length": "-1"}),
    }
    split, first = [], 0
    for length in shards:
        split.append(examples[first : first + length])
        first += length
    at = write_dataset(at / "many" / "1.0.0", features, {"train": split})
    (at / "label.labels.txt").write_text("no\nyes\n")
    return at, examples


def test_features_keep_their_types_and_shapes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    at, examples = prepared(tmp_path, [3, 2])
    data = tesson.read_tfds(at, split="train")
    assert "features nested are no streams" in caplog.text
    assert [str(field) for field in data.schema.values()] == [
        "flag: bool []", "half: float16 [1]", "id: int64 []", "label: int64 []", "pair: int16 [2]", "text: bytes []", "words: ragged int32 []",
    ]
    assert data.schema["label"].classes == ("no", "yes")
    batch = data.head(5)
    assert batch["id"].tolist() == [example["id"] for example in examples]
    assert batch["half"].tolist() == [example["half"] for example in examples]
    assert batch["pair"].tolist() == [example["pair"] for example in examples]
    assert batch["flag"].tolist() == [bool(example["flag"]) for example in examples]
    assert lists(batch, "words") == [example["words"] for example in examples]
    assert batch["text"].tolist() == [example["text"] for example in examples]
    assert list(tesson.read_tfds(at, split="train", features=["id"]).schema) == ["id"]


@pytest.mark.parametrize("shards", [[40], [40, 17], [3] * 20, [16, 16, 32, 1, 50]])
@pytest.mark.parametrize("split", ["train", "train[10%:90%]"])
def test_examples_are_in_the_order_of_tfds(tmp_path: Path, shards: list[int], split: str) -> None:
    at, _ = prepared(tmp_path, shards)
    expected = [int(example["id"]) for example in tfds.builder_from_directory(at).as_dataset(split=split, shuffle_files=False)]
    found = [i for batch in tesson.read_tfds(at, split=split, features=["id"]).loader(batch_size=7) for i in batch["id"].tolist()]
    assert found == expected


def test_the_binary_format_declares_its_streams(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tesson", "convert", "--stream", "w:10:sparse", "--stream", "t:3", "tagging.ctf", "tagging.cbf"], check=True)
    data = tesson.read_cbf("tagging.cbf", ragged=["w", "t"])
    assert [field.type for field in data.schema.values()] == ["ragged sparse float32 [10]", "ragged float32 [3]"]
    assert data.head(2)["t"].lengths.tolist() == [3, 2]


@pytest.mark.parametrize("fields", ["txt", {"txt": "utf-8"}])
def test_fields_of_a_webdataset_are_a_list(fields: Any) -> None:
    with pytest.raises(ConfigError, match=r"fields: found .*, expected a list of extensions"):
        tesson.read_webdataset("a.tar", fields=fields)
