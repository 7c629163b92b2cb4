"""TFRecord files without a description, written here as TensorFlow does."""

import gzip
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tesson
from tesson import ConfigError, DataError

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def masked(data: bytes) -> bytes:
    """The checksum of a record."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(n: int) -> bytes:
    n %= 2**64
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features: dict[str, list[Any]]) -> bytes:
    """A `tf.train.Example`: lists of bytes, floats or whole numbers."""
    entries = b""
    for key, values in features.items():
        if not values:
            feature = b""
        elif isinstance(values[0], bytes):
            feature = field(1, b"".join(field(1, value) for value in values))
        elif isinstance(values[0], float):
            feature = field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            feature = field(3, field(1, b"".join(map(varint, values))))
        entries += field(1, field(1, key.encode()) + field(2, feature))
    return field(1, entries)


def record(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return head + masked(head) + data + masked(data)


def rows(draw: random.Random, n: int) -> list[dict[str, list[Any]]]:
    def row(i: int) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {
            "id": [draw.randrange(-(2**63), 2**63)],
            "box": [float(np.float32(draw.gauss(0, 1))) for _ in range(4)],
            "tokens": [draw.randrange(1000) for _ in range(i % 4)],
            "name": [draw.randbytes(draw.randrange(9))],
            "parts": [draw.randbytes(3) for _ in range((i + 1) % 3)],
        }
        keys = list(found)
        draw.shuffle(keys)
        return {key: found[key] for key in keys}

    return [row(i) for i in range(n)]


@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_that_were_written(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    written = rows(draw, draw.randrange(6, 300))
    cut = draw.randrange(1, len(written))
    pack = [bytes, gzip.compress, zlib.compress][seed % 3]
    for number, part in enumerate([written[:cut], written[cut:]]):
        (tmp_path / f"train.tfrecord-{number:05}-of-00002").write_bytes(pack(b"".join(record(example(row)) for row in part)))
    streams = {"id": tesson.column(), "box": tesson.column(), "name": tesson.column()}
    streams |= {"tokens": tesson.column(ragged=True), "parts": tesson.column(ragged=True)}
    data = tesson.read_tfrecords(tmp_path / "train.tfrecord-*", streams=streams)
    assert {name: field.type for name, field in data.schema.items()} == {
        "id": "int64 []", "box": "float32 [4]", "name": "bytes []", "tokens": "ragged int64 []", "parts": "ragged bytes []",
    }
    for shuffle in (False, True):
        found = {}
        with data.loader(batch_size=draw.randrange(1, 40), shuffle=shuffle, seed=seed) as loader:
            for batch in loader:
                lists = {name: values.to_list() if hasattr(values, "to_list") else values for name, values in batch.as_dict().items()}
                found |= {key: {name: lists[name][i] for name in lists} for i, key in enumerate(batch.keys)}
        assert sorted(found) == list(range(len(written)))
        for key, row in enumerate(written):
            assert found[key]["id"] == row["id"][0] and found[key]["name"] == row["name"][0]
            assert found[key]["box"].tolist() == row["box"]
            assert found[key]["tokens"].tolist() == row["tokens"] and list(found[key]["parts"]) == row["parts"]


def test_columns_are_found_out_and_may_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(record(example(row)) for row in rows(random.Random(1), 20)))
    data = tesson.read_tfrecords(path)
    assert repr(data).endswith("box float32 [4], id int64 [], name bytes [], parts ragged bytes [], tokens ragged int64 []>")
    assert list(tesson.read_tfrecords(path, features=["tokens", "id"]).schema) == ["tokens", "id"]
    boxes = tesson.read_tfrecords(path, streams={"corners": tesson.column("box", shape=(2, 2), dtype=np.float64)})
    assert boxes.head(3)["corners"].shape == (3, 2, 2)
    assert boxes.head(3)["corners"].reshape(3, 4).tolist() == data.head(3)["box"].tolist()
    texts = tesson.read_tfrecords(path, streams={"id": tesson.column(), "box": tesson.column(ragged=True)})
    assert texts.head(2)["box"].lengths.tolist() == [4, 4]
    with pytest.raises((ConfigError, DataError), match="no column `tokns`.*did you mean `tokens`"):
        _ = tesson.read_tfrecords(path, features=["tokns"]).schema


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"x": tesson.column(shape=(2,))}, r"^features: found a mapping, expected a list of names, such as \['x'\]; `streams="),
        ("x", r"^features: found the text 'x', expected a list of names, such as \['x'\]"),
    ],
)
def test_features_that_are_no_list_of_names_are_refused(tmp_path: Path, features: Any, message: str) -> None:
    (tmp_path / "a.tfrecord").write_bytes(record(example({"x": [1, 2]})))
    with pytest.raises(ConfigError, match=message):
        tesson.read_tfrecords(tmp_path / "a.tfrecord", features=features)


def test_a_record_of_other_features_is_a_fault_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    good = [{"x": [1], "y": [0.5]}] * 1200
    bad: list[dict[str, list[Any]]] = [{"x": [1, 2], "y": [0.5]}, {"y": [0.5]}, {"x": [0.5], "y": [0.5]}]
    path.write_bytes(b"".join(record(example(row)) for row in [*good, *bad]) + record(b"\xff\xff"))
    data = tesson.read_tfrecords(path)
    with pytest.raises(DataError, match=r"a\.tfrecord .*`x`, sequence 1200: column `x`: found `2 values`, expected int64"):
        sum(len(batch) for batch in data.loader(batch_size=1000))
    loader = data.loader(batch_size=1000, max_errors=4)
    assert sum(len(batch) for batch in loader) == 1200
    assert loader.epoch_report().left_out == 4
    filled = tesson.read_tfrecords(path, nulls=-1).loader(batch_size=2000, max_errors=3)
    assert [batch["x"].tolist()[1200:] for batch in filled] == [[-1]]
    skipped = tesson.read_tfrecords(path, nulls="skip").loader(batch_size=2000, max_errors=3)
    assert [len(batch) for batch in skipped] == [1200]


def test_damage_is_told_with_its_record(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    whole = [record(example({"x": [i]})) for i in range(10)]
    flipped = bytearray(b"".join(whole))
    flipped[len(whole[0]) + 14] ^= 1
    path.write_bytes(flipped)
    data = tesson.read_tfrecords(path)
    with pytest.raises(DataError, match="checksum"):
        data.head(10)
    assert [batch["x"].tolist() for batch in data.loader(batch_size=10, max_errors=1)] == [[0, *range(2, 10)]]
    path.write_bytes(b"".join(whole)[:-3])
    with pytest.raises(DataError, match=r"a\.tfrecord"):
        tesson.read_tfrecords(path).head(10)
    for junk in (b"", b"no records at all, but text", record(b"text, no example")):
        path.write_bytes(junk)
        with pytest.raises(DataError, match=r"a\.tfrecord"):
            _ = tesson.read_tfrecords(path).schema


def test_shards_of_a_prepared_dataset_are_read_without_its_description(tmp_path: Path) -> None:
    rows = [{"i": i, "x": np.full(3, i / 2, np.float32)} for i in range(20)]
    features = {"i": np.int64, "x": tesson.tfds.features.Tensor(shape=(3,), dtype=np.float32)}
    with tesson.tfds.Writer(tmp_path, "numbers", "1.0.0", features, {"train": 2}) as writer:
        for row in rows:
            writer.write("train", row)
    shards = tmp_path / "numbers" / "1.0.0" / "*.tfrecord-*"
    batch = tesson.read_tfrecords(shards).head(20)
    assert sorted(batch["i"].tolist()) == list(range(20))
    assert (batch["x"][:, 0] * 2 == batch["i"]).all()


def array_records(folder: Path, files: dict[str, list[bytes]]) -> None:
    """ArrayRecord files of these records, converted from TFRecord files."""
    for name, records in files.items():
        (folder / "records.tfrecord").write_bytes(b"".join(map(record, records)))
        subprocess.run([sys.executable, "-m", "tesson", "convert", "records.tfrecord", name], cwd=folder, check=True)


@pytest.mark.parametrize("seed", range(3))
def test_array_records_have_the_values_that_were_written(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    written = [{"id": [i], "name": [draw.randbytes(5)], "tokens": [draw.randrange(99) for _ in range(i % 4)]} for i in range(90)]
    records = list(map(example, written))
    shards = {"a.array_record-00000-of-00002": records[:40], "a.array_record-00001-of-00002": records[40:]}
    array_records(tmp_path, shards)
    data = tesson.read_array_records(tmp_path / "a.array_record-*")
    assert {name: field.type for name, field in data.schema.items()} == {"id": "int64 []", "name": "bytes []", "tokens": "ragged int64 []"}
    for shuffle in (False, True):
        for batch in data.loader(batch_size=draw.randrange(1, 40), shuffle=shuffle, seed=seed):
            for key, number, name, tokens in zip(batch.keys, batch["id"], batch["name"], batch["tokens"].to_list(), strict=True):
                assert (key, [name], tokens.tolist()) == (number, written[number]["name"], written[number]["tokens"])
    # Examples are byte strings, too, where that is asked for.
    raw = tesson.read_array_records(tmp_path / "a.array_record-*", features=["record"])
    assert raw.head(90)["record"].tolist() == records


def test_array_records_of_any_kind_are_byte_strings(tmp_path: Path) -> None:
    records = [b"", *(random.Random(1).randbytes(n) for n in range(70))]
    array_records(tmp_path, {"a.array_record": records})
    data = tesson.read_array_records(tmp_path / "a.array_record")
    assert data.schema["record"].type == "bytes []"
    found = {key: value for batch in data.loader(batch_size=7, shuffle=True) for key, value in zip(batch.keys, batch["record"], strict=True)}
    assert [found[i] for i in range(len(records))] == records
    texts = tesson.read_array_records(tmp_path / "a.array_record", streams={"text": tesson.column("record", dtype=str)})
    with pytest.raises(DataError, match="UTF-8"):
        list(texts.loader(batch_size=7))
    with pytest.raises(DataError, match="`id`"):
        _ = tesson.read_array_records(tmp_path / "a.array_record", features=["id"]).schema


def test_a_damaged_array_record_is_a_fault(tmp_path: Path) -> None:
    array_records(tmp_path, {"a.array_record": [bytes([i]) * 1000 for i in range(100)]})
    damaged = bytearray((tmp_path / "a.array_record").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "a.array_record").write_bytes(damaged)
    with pytest.raises(DataError, match=r"a\.array_record \(byte \d+"):
        list(tesson.read_array_records(tmp_path / "a.array_record").loader(batch_size=10))
