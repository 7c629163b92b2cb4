"""The speed of reading examples of a prepared dataset into Python: examples a second, the best of several rounds.

    python bench/python_examples.py [--examples N] [--json]

Examples of one integer each in TFRecord files, every checksum checked; the files are in the page cache. ``one at a time`` is
``for example in dataset``, a dictionary with a NumPy scalar for each example; ``batches`` delivers dictionaries of arrays.
Build the extension with ``maturin develop --release`` first, and compare ratios: other work on the machine shows at once.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable

import tesson
from tesson import tfds

ROUNDS = 5


def rate(n: int, examples: Callable[[], Iterable[object]]) -> float:
    """Examples a second in the fastest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in examples():
            pass
        best = min(best, time.perf_counter() - start)
    return n / best


def scalars(builder: tfds.Builder, n: int) -> float:
    """Measure Python and NumPy alone, which make dictionaries of existing scalars."""
    (column,) = builder.as_dataset("train", batch_size=-1).values()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        deque(({"n": value} for value in column), maxlen=0)
        best = min(best, time.perf_counter() - start)
    return n / best


def measure(folder: str, n: int) -> dict[str, float]:
    features = {"n": tfds.FeatureInfo((), "int64")}
    with tfds.Writer(folder, "numbers", "1.0.0", features, {"train": 16}) as writer:
        for i in range(n):
            writer.write("train", {"n": i})
    builder = tfds.builder("numbers", data_dir=folder)
    ds = builder.as_dataset("train")
    shuffled = builder.as_dataset("train", shuffle_files=True, read_config=tfds.ReadConfig(shuffle_seed=1))
    return {
        "one at a time": rate(n, lambda: ds),
        "one at a time, shuffled with a buffer of 10,000": rate(n, lambda: shuffled.shuffle(10_000, seed=1)),
        "dictionaries and scalars alone, in Python": scalars(builder, n),
        "batches of 256": rate(n, lambda: ds.batch(256)),
        "batches of 4096": rate(n, lambda: ds.batch(4096)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--examples", type=int, default=1_000_000, help="of the dataset that is made")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(folder, arguments.examples)
    if arguments.json:
        print(json.dumps({"unit": "examples/s", "package": tesson.__file__, "results": results}))
        return
    for name, value in results.items():
        print(f"{value / 1e6:10.3f} M/s  {name}")


if __name__ == "__main__":
    main()
