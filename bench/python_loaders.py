"""The speed of loaders on the same examples, side by side: examples a second into NumPy's batches, one shuffled epoch, opening included.

    python bench/python_loaders.py [LOADER...] [--examples N] [--rounds N] [--seconds N]

Each example has 64 numbers of 32 bits and a label: in memory, in 16 Parquet files, in 16 archives with two members for each, in 16 TFRecord files of a
prepared dataset, and in shards of Mosaic. The loaders take turns, in one process and without worker processes, but for those that say how many they
have; a turn ends after some seconds if the epoch has not. Files are in the page cache. One that is not installed is skipped. Install a wheel, or build the
extension with ``maturin develop --release``, first.
"""

import argparse
import functools
import io
import json
import os
import statistics
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

FILES = 16
WIDTH = 64
BATCH = 256

# The examples in a shuffle buffer, for loaders that have one.
BUFFER = 1000

Arrays = tuple[Any, Any]


def write(folder: Path, x: Any, label: Any) -> None:
    """The examples in Parquet files and in archives."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for part in range(FILES):
        rows = range(part, len(x), FILES)
        values = pa.FixedSizeListArray.from_arrays(pa.array(x[part::FILES].ravel()), WIDTH)
        pq.write_table(pa.table({"x": values, "label": label[part::FILES]}), folder / f"{part:02}.parquet")
        with tarfile.open(folder / f"{part:02}.tar", "w") as archive:
            for row in rows:
                np.save(saved := io.BytesIO(), x[row])
                for name, content in [("npy", saved.getvalue()), ("cls", str(label[row]).encode())]:
                    member = tarfile.TarInfo(f"{row:06}.{name}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
    write_prepared(folder, x, label)
    write_mosaic(folder, x, label)


def write_prepared(folder: Path, x: Any, label: Any) -> None:
    from tesson import tfds

    features = {"x": tfds.FeatureInfo((WIDTH,), "float32"), "label": tfds.FeatureInfo((), "int64")}
    with tfds.Writer(folder, "numbers", "1.0.0", features, {"train": FILES}) as writer:
        for row in range(len(x)):
            writer.write("train", {"x": x[row], "label": int(label[row])})


def write_mosaic(folder: Path, x: Any, label: Any) -> None:
    try:
        import streaming
    except ImportError:
        return
    columns = {"x": f"ndarray:float32:{WIDTH}", "label": "int64"}
    with streaming.MDSWriter(out=str(folder / "mds"), columns=columns, size_limit=max(1 << 16, x.nbytes // FILES)) as writer:
        for row in range(len(x)):
            writer.write({"x": x[row], "label": int(label[row])})


def tesson_arrays(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tesson

    loader = tesson.from_arrays(x=arrays[0], label=arrays[1]).loader(batch_size=BATCH, shuffle=True, seed=1)
    return ((batch["x"], batch["label"]) for batch in loader)


def tesson_parquet(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tesson

    data = tesson.read_parquet(folder / "*.parquet")
    return ((batch["x"], batch["label"]) for batch in data.loader(batch_size=BATCH, shuffle=True, seed=1))


def tesson_parquet_window(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tesson

    data = tesson.read_parquet(folder / "*.parquet")
    return ((batch["x"], batch["label"]) for batch in data.loader(batch_size=BATCH, shuffle=tesson.Window(chunks=8), seed=1))


def tesson_prepared(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tesson

    data = tesson.read_tfds(folder / "numbers" / "1.0.0", split="train")
    return ((batch["x"], batch["label"]) for batch in data.loader(batch_size=BATCH, shuffle=True, seed=1))


def tesson_tfds(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    from tesson import tfds

    dataset = tfds.builder_from_directory(folder / "numbers" / "1.0.0").as_dataset(split="train", shuffle_files=True)
    return ((batch["x"], batch["label"]) for batch in dataset.shuffle(BUFFER, seed=1).batch(BATCH))


def tesson_archives(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tesson

    data = tesson.read_webdataset(folder / "*.tar")
    return ((batch["npy"], batch["cls"]) for batch in data.loader(batch_size=BATCH, shuffle=True, seed=1))


def tesson_mosaic(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import streaming  # noqa: F401, it has written the shards
    import tesson

    data = tesson.read_mds(folder / "mds")
    return ((batch["x"], batch["label"]) for batch in data.loader(batch_size=BATCH, shuffle=True, seed=1))


class Rows:
    """The arrays as a dataset of single examples."""

    def __init__(self, arrays: Arrays) -> None:
        self.x, self.label = arrays

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, row: Any) -> Arrays:
        return self.x[row], self.label[row]


def torch_arrays(folder: Path, arrays: Arrays, workers: int = 0) -> Iterator[Arrays]:
    import torch.utils.data

    loader = torch.utils.data.DataLoader(Rows(arrays), BATCH, shuffle=True, num_workers=workers)
    return ((x.numpy(), label.numpy()) for x, label in loader)


def grain_arrays(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import grain

    return iter(grain.MapDataset.source(Rows(arrays)).shuffle(seed=1).batch(BATCH).to_iter_dataset())


def tensorflow_arrays(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices(arrays).shuffle(len(arrays[0]), seed=1)
    return iter(dataset.batch(BATCH).prefetch(tf.data.AUTOTUNE).as_numpy_iterator())


def tensorflow_records(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tensorflow as tf

    spec = {"x": tf.io.FixedLenFeature([WIDTH], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}
    files = tf.data.Dataset.list_files(str(folder / "numbers" / "1.0.0" / "*.tfrecord*"), shuffle=True, seed=1)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=FILES, num_parallel_calls=tf.data.AUTOTUNE)
    batches = records.shuffle(BUFFER, seed=1).batch(BATCH)
    parsed = batches.map(lambda batch: tf.io.parse_example(batch, spec), num_parallel_calls=tf.data.AUTOTUNE)
    return ((batch["x"], batch["label"]) for batch in parsed.prefetch(tf.data.AUTOTUNE).as_numpy_iterator())


def tensorflow_datasets(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import tensorflow as tf
    import tensorflow_datasets

    builder = tensorflow_datasets.builder_from_directory(str(folder / "numbers" / "1.0.0"))
    dataset = builder.as_dataset(split="train", shuffle_files=True).shuffle(BUFFER, seed=1).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return ((batch["x"], batch["label"]) for batch in tensorflow_datasets.as_numpy(dataset))


def mosaic_shards(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import streaming
    import torch.utils.data

    dataset = streaming.StreamingDataset(local=str(folder / "mds"), shuffle=True, shuffle_seed=1, batch_size=BATCH)
    return ((batch["x"].numpy(), batch["label"].numpy()) for batch in torch.utils.data.DataLoader(dataset, BATCH))


def huggingface_parquet(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    dataset = huggingface_files(folder, streaming=False).shuffle(seed=1).with_format("numpy")
    return ((batch["x"], batch["label"]) for batch in dataset.iter(BATCH))


def huggingface_streaming(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    dataset = huggingface_files(folder, streaming=True).shuffle(seed=1, buffer_size=BUFFER).with_format("numpy")
    return ((batch["x"], batch["label"]) for batch in dataset.iter(BATCH))


@functools.cache
def huggingface_files(folder: Path, streaming: bool) -> Any:
    """The dataset before it is shuffled, in the library's cache: its conversion is done once and not counted."""
    import datasets

    files = sorted(str(path) for path in folder.glob("*.parquet"))
    return datasets.load_dataset("parquet", data_files=files, split="train", streaming=streaming, cache_dir=str(folder / "cache"))


def webdataset_archives(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    import webdataset

    files = sorted(str(path) for path in folder.glob("*.tar"))
    samples = webdataset.WebDataset(files, shardshuffle=FILES).shuffle(BUFFER).decode().to_tuple("npy", "cls")
    return iter(samples.batched(BATCH))


LOADERS: dict[str, Callable[[Path, Arrays], Iterable[Arrays]]] = {
    "Tesson, arrays in memory": tesson_arrays,
    "torch DataLoader, arrays in memory": torch_arrays,
    "torch DataLoader, 2 worker processes": functools.partial(torch_arrays, workers=2),
    "Grain MapDataset, arrays in memory": grain_arrays,
    "tf.data, arrays in memory": tensorflow_arrays,
    "Tesson, Parquet, the whole shuffled": tesson_parquet,
    "Tesson, Parquet, window of 8 chunks": tesson_parquet_window,
    "Hugging Face, Parquet as its own cache": huggingface_parquet,
    "Hugging Face, Parquet streamed, buffer of 1,000": huggingface_streaming,
    "Tesson, prepared dataset, the whole shuffled": tesson_prepared,
    "Tesson, prepared dataset as TFDS, buffer of 1,000": tesson_tfds,
    "tf.data, TFRecord files, buffer of 1,000": tensorflow_records,
    "TFDS, prepared dataset, buffer of 1,000": tensorflow_datasets,
    "Tesson, archives, the whole shuffled": tesson_archives,
    "WebDataset, archives, buffer of 1,000": webdataset_archives,
    "Tesson, shards of Mosaic, the whole shuffled": tesson_mosaic,
    "Mosaic, its shards, shuffled": mosaic_shards,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loaders", nargs="*", help="the beginning of their names")
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    draw = np.random.default_rng(0)
    arrays = draw.normal(size=(options.examples, WIDTH)).astype(np.float32), draw.integers(0, 10, options.examples)
    chosen = {name: run for name, run in LOADERS.items() if not options.loaders or name.startswith(tuple(options.loaders))}
    rates: dict[str, list[float]] = {name: [] for name in chosen}
    costs: dict[str, list[float]] = {name: [] for name in chosen}
    whole: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), *arrays)
        print(json.dumps({"examples": options.examples, "cores": os.cpu_count(), "load": os.getloadavg()}), flush=True)
        # The first round imports the libraries and is not counted.
        for counted in [False] + [True] * options.rounds:
            for name, run in list(chosen.items()):
                started, cpu = time.perf_counter(), cpu_seconds()
                try:
                    n, is_whole = turn(run(Path(folder), arrays), options.seconds)
                except ImportError as error:
                    print(json.dumps({"loader": name, "skipped": str(error)}), flush=True)
                    del chosen[name]
                    continue
                assert not is_whole or n == options.examples, f"{name}: {n} examples"
                if is_whole:
                    whole.add(name)
                if counted:
                    rates[name].append(n / (time.perf_counter() - started))
                    costs[name].append(1e6 * (cpu_seconds() - cpu) / n)
        print(json.dumps({"load": os.getloadavg()}))
    for name in chosen:
        median, least, largest = statistics.median(rates[name]), min(rates[name]), max(rates[name])
        figures = {"examples a second": round(median), "least": round(least), "largest": round(largest)}
        cpu = round(statistics.median(costs[name]), 2)
        print(json.dumps({"loader": name, **figures, "µs of CPU an example": cpu, "whole epochs": name in whole}, ensure_ascii=False))


def cpu_seconds() -> float:
    """The time of all cores, of this process and of those that it has waited for: it depends less than the rate on what else the machine does."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def turn(batches: Iterable[Arrays], seconds: float) -> tuple[int, bool]:
    """The examples of an epoch, or of so many seconds of it, and whether it came to its end."""
    n, end = 0, time.perf_counter() + seconds
    for _, label in batches:
        n += len(label)
        if time.perf_counter() > end:
            return n, False
    return n, True


if __name__ == "__main__":
    main()
