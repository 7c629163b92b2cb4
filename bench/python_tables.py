"""The speed of reading tables into Python, beside polars and pyarrow: rows for each second of the processor, in turns.

    python bench/python_tables.py [--rows N] [--rounds N]

Sixteen columns of float32 and one of int64, as CSV and as Parquet; the files are in the page cache. Polars and pyarrow read a whole file into
arrays at once, Tesson gives batches of 1,024 rows. Build the extension with ``maturin develop --release`` first. One JSON line for each row of
the table, with the median and both ends; time of the processor is that of all threads, which repeats on shared machines.
"""

from __future__ import annotations

import os

# Read when polars is imported.
os.environ["POLARS_MAX_THREADS"] = "1"

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet

import tesson

BATCH = 1024


def write(folder: Path, rows: int) -> None:
    random = np.random.default_rng(7)
    columns = {f"x{i}": (random.integers(0, 1 << 20, rows) / 1024).astype("float32") for i in range(16)}
    columns["label"] = random.integers(0, 10, rows)
    table = pyarrow.table(columns)
    pyarrow.csv.write_csv(table, folder / "numbers.csv")
    pyarrow.parquet.write_table(table, folder / "numbers.parquet", row_group_size=1 << 16)


def sweep(data: tesson.Dataset) -> int:
    """Reads all batches, and asks for each array."""
    rows = 0
    for batch in data.loader(batch_size=BATCH, threads=1, epochs=1):
        rows += len(batch)
        for name in batch:
            batch[name]
    return rows


def ways(folder: Path) -> dict[str, dict[str, Callable[[], int]]]:
    text, table = str(folder / "numbers.csv"), str(folder / "numbers.parquet")
    return {
        "csv": {
            "tesson": lambda: sweep(tesson.read_csv(text)),
            "polars": lambda: polars.read_csv(text).height,
            "pyarrow": lambda: int(pyarrow.csv.read_csv(text, read_options=pyarrow.csv.ReadOptions(use_threads=False)).num_rows),
        },
        "parquet": {
            "tesson": lambda: sweep(tesson.read_parquet(table)),
            "polars": lambda: polars.read_parquet(table).height,
            "pyarrow": lambda: int(pyarrow.parquet.read_table(table, use_threads=False).num_rows),
        },
    }


def rate(job: Callable[[], int], rows: int) -> float:
    start = time.process_time()
    found = job()
    seconds = time.process_time() - start
    if found != rows:
        raise AssertionError(f"found {found} rows, expected {rows}")
    return rows / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=1 << 19)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, arguments.rows)
        for kind, jobs in ways(folder).items():
            rates: dict[str, list[float]] = {reader: [] for reader in jobs}
            for _ in range(arguments.rounds):
                for reader, job in jobs.items():
                    rates[reader].append(rate(job, arguments.rows))
            for reader, found in rates.items():
                line = {"kind": kind, "reader": reader, "median": round(statistics.median(found)), "min": round(min(found)), "max": round(max(found))}
                line["of_polars"] = round(max(found) / max(rates["polars"]), 3)
                print(json.dumps(line))


if __name__ == "__main__":
    main()
