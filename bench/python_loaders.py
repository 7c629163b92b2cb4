"""The speed of loaders on the same examples, side by side: examples a second into NumPy's batches, one shuffled epoch, opening included.

    python bench/python_loaders.py [LOADER...] [--examples N] [--rounds N]

Each example has 64 numbers of 32 bits and a label: in memory, in 16 Parquet files, and in 16 archives with two members for each. The loaders take
turns, in one process and without worker processes, but for those that say how many they have. Files are in the page cache. One that is not installed is
skipped. Build the extension with ``maturin develop --release`` first.
"""

import argparse
import functools
import io
import json
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


def huggingface_parquet(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    dataset = huggingface_files(folder, streaming=False).shuffle(seed=1).with_format("numpy")
    return ((batch["x"], batch["label"]) for batch in dataset.iter(BATCH))


def huggingface_streaming(folder: Path, arrays: Arrays) -> Iterator[Arrays]:
    dataset = huggingface_files(folder, streaming=True).shuffle(seed=1, buffer_size=1000).with_format("numpy")
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
    samples = webdataset.WebDataset(files, shardshuffle=FILES).shuffle(1000).decode().to_tuple("npy", "cls")
    return iter(samples.batched(BATCH))


LOADERS: dict[str, Callable[[Path, Arrays], Iterable[Arrays]]] = {
    "Tesson, arrays in memory": tesson_arrays,
    "torch DataLoader, arrays in memory": torch_arrays,
    "torch DataLoader, 2 worker processes": functools.partial(torch_arrays, workers=2),
    "Grain MapDataset, arrays in memory": grain_arrays,
    "Tesson, Parquet, the whole shuffled": tesson_parquet,
    "Tesson, Parquet, window of 8 chunks": tesson_parquet_window,
    "Hugging Face, Parquet as its own cache": huggingface_parquet,
    "Hugging Face, Parquet streamed, buffer of 1,000": huggingface_streaming,
    "WebDataset, archives, buffer of 1,000": webdataset_archives,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loaders", nargs="*", help="the beginning of their names")
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    draw = np.random.default_rng(0)
    arrays = draw.normal(size=(options.examples, WIDTH)).astype(np.float32), draw.integers(0, 10, options.examples)
    chosen = {name: run for name, run in LOADERS.items() if not options.loaders or name.startswith(tuple(options.loaders))}
    rates: dict[str, list[float]] = {name: [] for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), *arrays)
        # The first round imports the libraries and is not counted.
        for counted in [False] + [True] * options.rounds:
            for name, run in list(chosen.items()):
                started = time.perf_counter()
                try:
                    n = sum(len(label) for _, label in run(Path(folder), arrays))
                except ImportError as error:
                    print(json.dumps({"loader": name, "skipped": str(error)}), flush=True)
                    del chosen[name]
                    continue
                assert n == options.examples, f"{name}: {n} examples"
                if counted:
                    rates[name].append(n / (time.perf_counter() - started))
    for name in chosen:
        median, least, largest = statistics.median(rates[name]), min(rates[name]), max(rates[name])
        print(json.dumps({"loader": name, "examples a second": round(median), "least": round(least), "largest": round(largest)}))


if __name__ == "__main__":
    main()
