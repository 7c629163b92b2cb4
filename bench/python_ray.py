"""The speed of Ray Data with Tesson's tasks, beside Ray's own readers on the same records: examples a second, of several rounds.

    python bench/python_ray.py [--examples N] [--rounds N] [--json]

Each example has 64 numbers of 32 bits and a label, in 16 Parquet files and in 16 TFRecord files. The rows of a pass are handed to this
process as Arrow's tables. The readers take turns, in one run on as many processors as the machine has; files are in the page cache.
Needs `ray[data]`, pyarrow, aiohttp, and TensorFlow for `read_tfrecords`; build the extension with ``maturin develop --release`` first.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray

import tesson
import tesson.ray
from tesson import tfds

FILES = 16
WIDTH = 64


def write(folder: Path, n: int) -> None:
    """Writes records in both formats."""
    rng = np.random.default_rng(0)
    x, label = rng.normal(size=(n, WIDTH)).astype(np.float32), rng.integers(0, 10, n)
    (folder / "parquet").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(n), FILES)):
        values = pa.FixedSizeListArray.from_arrays(pa.array(x[rows].reshape(-1)), WIDTH)
        pq.write_table(pa.table({"x": values, "label": label[rows]}), folder / "parquet" / f"{number:02}.parquet")
    features = {"x": tfds.FeatureInfo((WIDTH,), "float32"), "label": tfds.FeatureInfo((), "int64")}
    with tfds.Writer(folder, "records", "1.0.0", features, {"train": FILES}) as writer:
        for i in range(n):
            writer.write("train", {"x": x[i], "label": label[i]})


def rate(n: int, open_dataset: Callable[[], Any]) -> float:
    """Examples a second in one pass, from opening on."""
    start = time.perf_counter()
    rows = sum(batch.num_rows for batch in open_dataset().iter_batches(batch_size=None, batch_format="pyarrow"))
    assert rows == n, (rows, n)
    return n / (time.perf_counter() - start)


def readers(folder: Path) -> dict[str, Callable[[], Any]]:
    parquet = sorted(map(str, (folder / "parquet").glob("*.parquet")))
    records = sorted(map(str, folder.glob("records/*/*.tfrecord*")))
    builder = tfds.builder("records", data_dir=folder)
    prepared = builder.as_dataset("train")
    shuffled = builder.as_dataset("train", shuffle_files=True, read_config=tfds.ReadConfig(shuffle_seed=1))
    return {
        "ray.data.read_parquet": lambda: ray.data.read_parquet(parquet),
        "tesson.ray.read of Parquet, as stored": lambda: tesson.ray.read(tesson.read_parquet(parquet)),
        "tesson.ray.read of Parquet, shuffled": lambda: tesson.ray.read(tesson.read_parquet(parquet), shuffle=True, seed=1),
        "ray.data.read_tfrecords": lambda: ray.data.read_tfrecords(records),
        "tesson.ray.read of TFRecord, as stored": lambda: tesson.ray.read(prepared),
        "tesson.ray.read of TFRecord, files shuffled": lambda: tesson.ray.read(shuffled),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Ray Data with Tesson's tasks, beside Ray's own readers.")
    parser.add_argument("--examples", type=int, default=200_000, metavar="N", help="number of examples (default: 200000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="number of rounds (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), arguments.examples)
        rates: dict[str, list[float]] = {}
        # The first turn starts Ray's workers and is not counted.
        for turn in range(arguments.rounds + 1):
            for name, open_dataset in readers(Path(folder)).items():
                found = rate(arguments.examples, open_dataset)
                if turn > 0:
                    rates.setdefault(name, []).append(found)
    if arguments.json:
        versions = {"ray": ray.__version__, "pyarrow": pa.__version__, "tesson": tesson.__version__}
        print(json.dumps({"bench": "ray", "examples": arguments.examples, "versions": versions, "examples_s": rates}))
        return
    for name, found in rates.items():
        print(f"{name:45} {statistics.median(found):12,.0f} examples/s, from {min(found):,.0f} to {max(found):,.0f}")


if __name__ == "__main__":
    main()
