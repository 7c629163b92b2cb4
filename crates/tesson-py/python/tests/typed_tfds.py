"""A user's script with prepared datasets: checked by type checkers, not run."""

from __future__ import annotations

import numpy as np

from tesson import tfds


def main() -> None:
    builder = tfds.builder("digits", data_dir="data")
    builder.download_and_prepare()
    train = builder.as_dataset(split=tfds.Split.TRAIN, shuffle_files=True, read_config=tfds.ReadConfig(shuffle_seed=32))
    print(len(train.skip(2).take(3)))
    both = builder.as_dataset(split=["train", "test"])
    print(len(both[0]))
    every = builder.as_dataset()
    print(every["train"])
    ds, info = tfds.load("digits", split="train[:50%]", data_dir="data", with_info=True, as_supervised=True)
    for image, label in ds:
        print(image.shape, label)
    (a, b), info = tfds.load("digits", split=["train", "test"], with_info=True)
    classes: int = info.features["label"].num_classes
    shape = info.features["image"].shape
    n: int = info.splits["train"].num_examples + info.splits.total_num_examples
    print(classes, shape, n, a, b, info.features.shape, info.version > "1.0.0")
    for batch in tfds.load("digits", split="train", batch_size=32):
        print(batch["image"].mean())
    x = tfds.as_numpy(tfds.load("digits", split="train", batch_size=-1))
    print(x["image"])
    source = tfds.data_source("digits", split="train")
    print(source[0], len(source))
    ri = tfds.core.ReadInstruction("train", from_=10, to=20, unit="%")
    print([f.num_examples for f in info.splits[ri].file_instructions])
    features = tfds.features.FeaturesDict({
        "image": tfds.features.Image(shape=(28, 28, 1)),
        "label": tfds.features.ClassLabel(names=["a", "b"]),
        "steps": tfds.features.Dataset({"r": tfds.features.Scalar(np.float32), "t": np.float32}),
    })
    with tfds.Writer("data", "x", "1.0.0", features, {"train": None}, supervised_keys=("image", "label")) as writer:
        writer.write("train", {"image": np.zeros((28, 28, 1), np.uint8), "label": "a", "steps": []})
    print(tfds.benchmark(ds, batch_size=1).examples_per_second)
    lines: tfds.Dataset[dict[str, np.ndarray]] = builder.as_dataset(split="train")
    pairs = lines.map(lambda line: (line["image"], line["label"]), num_parallel_calls=tfds.AUTOTUNE)
    batches = pairs.filter(lambda image, label: label != 0).shuffle(100, seed=1).batch(32, True).prefetch(tfds.AUTOTUNE)
    iterator = iter(batches)
    state: dict[str, object] = iterator.state_dict()
    iterator.load_state_dict(state)
    for line in lines.take(2).cache():
        print(line["image"].shape)
    for number, line in lines.enumerate():
        print(int(number) + 1, line.keys())
    size: int = tfds.Dataset.zip((lines, pairs)).concatenate(batches).unbatch().cardinality()
    print(size == tfds.UNKNOWN_CARDINALITY, lines.element_spec)
