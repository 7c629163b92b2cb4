"""A script as users write it: type checkers find nothing in it, and ``test_stubs.py`` runs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from tesson import DataError, UserDeserializer, UserTransform, transforms
from tesson.io import (
    INFINITELY_REPEAT,
    CTFDeserializer,
    ImageDeserializer,
    Minibatch,
    MinibatchData,
    MinibatchSource,
    StreamDef,
    StreamDefs,
    StreamInformation,
    UserMinibatchSource,
)
from tesson import io as cntk_io


def opened(path: Path, rank: int, world: int) -> MinibatchSource:
    streams = StreamDefs(
        features=StreamDef(field="x", shape=4, transforms=[UserTransform(np.negative)]),
        labels=StreamDef(field="y", shape=3, is_sparse=True),
    )
    deserializer = CTFDeserializer(path, streams, rules="lenient", numbers="extended", max_errors=0)
    return MinibatchSource(
        deserializer,
        randomize="global",
        sharing="position",
        equal_steps="drop",
        dtype=np.float32,
        memory_limit="1GiB",
        num_data_partitions=world,
        partition_index=rank,
    )


def images(path: Path) -> ImageDeserializer:
    streams = StreamDefs(
        features=StreamDef(field="image", transforms=[transforms.crop(side_ratio=(0.5, 1)), np.negative]),
        labels=StreamDef(field="label", shape=10),
    )
    assert_type(ImageDeserializer(path).ignore_labels(), ImageDeserializer)
    return ImageDeserializer(path, streams, on_corrupt_image="skip", layout="HWC")


def train(source: MinibatchSource) -> float:
    total = 0.0
    for minibatch in source:
        assert_type(minibatch, Minibatch)
        features = minibatch["features"]
        assert_type(features, MinibatchData)
        samples: NDArray[np.float32] = features.samples
        total += float(samples.sum())
        labels = minibatch[source.streams.labels]
        total += float(labels.values.sum()) + len(labels.indices) + labels.lengths.tolist()[0]
        assert_type(minibatch.num_sequences, int)
    for minibatch in source.minibatches("128*2:1024", epoch_size=6, sweeps=1):
        total += minibatch["features"].num_samples
    return total


def resumed(source: MinibatchSource, path: Path) -> MinibatchSource:
    state: dict[str, Any] = source.state_dict()
    other = opened(path, 0, 1)
    other.load_state_dict(state)
    return other


class Squares(UserDeserializer):
    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("x", 0, "dense", np.float32, (2,), defines_mb_size=True)]

    def num_chunks(self) -> int:
        return 3

    def get_chunk(self, chunk_id: int) -> Mapping[str, NDArray[np.int64]]:
        return {"x": np.array([[i, i * i] for i in range(2 * chunk_id, 2 * chunk_id + 2)])}


class Zeros(UserMinibatchSource):
    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("x", 0, "dense", np.float32, (2,))]

    def next_minibatch(
        self, num_samples: int, number_of_workers: int, worker_rank: int, device: object = None
    ) -> dict[StreamInformation, MinibatchData]:
        return {self.streams.x: MinibatchData(np.zeros((num_samples, 2)), num_samples, num_samples, True)}


def main(path: Path) -> None:
    with opened(path, rank=0, world=1) as source:
        train(resumed(source, path))
        try:
            source.next_minibatch(4)
        except DataError as e:
            print(e.file, e.line, e.stream, e.key)
    with cntk_io.MinibatchSource([Squares()], max_sweeps=cntk_io.INFINITELY_REPEAT) as squares:
        minibatch = squares.next_minibatch(2, input_map={"input": squares.streams.x})
        print(minibatch["input"].asarray().shape, np.asarray(minibatch["input"]).dtype, INFINITELY_REPEAT)
    with MinibatchSource.from_data(x=np.arange(6), y=[np.ones(2)] * 6, randomize="global") as memory:
        print(memory.steps_per_sweep(2), memory.is_infinite(), memory.streams["x"].shape)
    print(images(Path("map.txt")).config)
    for data in Zeros():
        print(data["x"].num_samples)


if __name__ == "__main__":
    main(Path("train.ctf"))
