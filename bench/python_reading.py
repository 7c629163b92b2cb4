"""The speed of reading a corpus into Python as NumPy views: MB of its text a second.

    python bench/python_reading.py KIND FILE [--randomize] [--threads N] [--rounds N] [--json]

One sweep in minibatches of 256 samples, opening included; the arrays of each stream are fetched, as a training loop
would do before it passes them on. KIND and FILE are those of ``tesson-bench corpus``; ``tesson-bench read`` measures
the same in Rust. Build the extension with ``maturin develop --release`` first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import tesson
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

IMAGES = StreamDefs(features=StreamDef(shape=784), labels=StreamDef(shape=10, is_sparse=True))
STREAMS = {
    "dense": IMAGES,
    "mnist": IMAGES,
    "sparse": StreamDefs(src=StreamDef(shape=95_589, is_sparse=True), tgt=StreamDef(shape=95_589, is_sparse=True)),
    "seq": StreamDefs(word=StreamDef(shape=50_000, is_sparse=True), tag=StreamDef(shape=45, is_sparse=True)),
}


def sweep(kind: str, file: Path, randomize: bool, threads: int | None) -> float:
    """Seconds of one sweep."""
    start = time.perf_counter()
    with MinibatchSource(
        CTFDeserializer(file, STREAMS[kind]), randomize=randomize, max_sweeps=1, threads=threads
    ) as source:
        for minibatch in source.minibatches(256):
            for data in minibatch.values():
                _ = (data.indptr, data.indices, data.values) if data.is_sparse else data.samples
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kind", choices=STREAMS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--randomize", action="store_true", help="the order of CNTK's windows instead of the file's")
    parser.add_argument("--threads", type=int, help="that read and decode; default: one for each core")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a line")
    arguments = parser.parse_args()
    megabytes = arguments.file.stat().st_size / 1e6
    rates = [
        megabytes / sweep(arguments.kind, arguments.file, arguments.randomize, arguments.threads)
        for _ in range(arguments.rounds)
    ]
    best, median = max(rates), statistics.median(rates)
    if arguments.json:
        print(json.dumps({"unit": "MB/s", "package": tesson.__file__, "best": best, "median": median}))
    else:
        print(f"{best:.0f} MB/s at best, {median:.0f} in the middle of {arguments.rounds} rounds")


if __name__ == "__main__":
    main()
