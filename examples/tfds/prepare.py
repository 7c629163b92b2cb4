"""Writes small prepared datasets: TFRecord files of ``tf.train.Example``, and their descriptions."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np


def _table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ 0x82F63B78 if n & 1 else n >> 1
        table.append(n)
    return table


_TABLE = _table()


def _masked_crc(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(n: int) -> bytes:
    n &= 2**64 - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _feature(value: Any) -> bytes:
    values = [value] if isinstance(value, bytes) else value
    if isinstance(values, list) and not values:
        # An empty value has no kind; a feature without a list is an absent one.
        return b""
    if isinstance(values, list) and isinstance(values[0], bytes):
        return _field(1, b"".join(_field(1, v) for v in values))
    numbers = np.ravel(values)
    if numbers.dtype.kind == "f":
        return _field(2, _field(1, numbers.astype("<f4").tobytes()))
    return _field(3, _field(1, b"".join(_varint(int(v)) for v in numbers)))


def example(features: dict[str, Any]) -> bytes:
    """A ``tf.train.Example``: bytes, floats and integers by key, or lists or arrays of them."""
    entries = (_field(1, key.encode()) + _field(2, _feature(value)) for key, value in features.items())
    return _field(1, b"".join(_field(1, entry) for entry in entries))


def tfrecord(records: list[bytes]) -> bytes:
    """A TFRecord file."""
    parts = []
    for record in records:
        length = struct.pack("<Q", len(record))
        parts += [length, _masked_crc(length), record, _masked_crc(record)]
    return b"".join(parts)


def tensor(dtype: str, *dims: int) -> dict:
    """A feature of features.json."""
    shape = {"dimensions": [str(d) for d in dims]}
    return node("tensor_feature.Tensor", tensor={"dtype": dtype, "shape": shape, "encoding": "none"})


def node(name: str, **content: Any) -> dict:
    """A node of features.json."""
    return {"pythonClassName": f"tensorflow_datasets.core.features.{name}", **content}


def write_dataset(
    folder: Path,
    features: dict[str, dict],
    splits: dict[str, list[list[dict[str, Any]]]],
    **info: Any,
) -> Path:
    """Writes a dataset: for each split the examples of each shard."""
    folder.mkdir(parents=True)
    name = info.setdefault("name", folder.parent.name)
    described = []
    for split, shards in splits.items():
        described.append({"name": split, "shardLengths": [str(len(shard)) for shard in shards]})
        for i, shard in enumerate(shards):
            file = f"{name}-{split}.tfrecord-{i:05}-of-{len(shards):05}"
            (folder / file).write_bytes(tfrecord([example(e) for e in shard]))
    info = {"version": folder.name, "fileFormat": "tfrecord", "splits": described, **info}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    root = node("features_dict.FeaturesDict", featuresDict={"features": features})
    (folder / "features.json").write_text(json.dumps(root))
    return folder
