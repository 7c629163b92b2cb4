"""What a call from Python costs, apart from the data: microseconds, the best of several rounds.

    python bench/python_overhead.py [--json]

The corpus is a small file of one-sample sequences, so reading and parsing take next to nothing, and minibatches of one
sequence show the fixed costs. Build the extension with ``maturin develop --release`` first.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tesson
from tesson import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

ROUNDS = 7


def microseconds(call: Callable[[], object], calls: int) -> float:
    """The time of one call, in the fastest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def measure(file: Path) -> dict[str, float]:
    streams = StreamDefs(x=StreamDef(shape=4), y=StreamDef(shape=10, is_sparse=True))

    def opened(**arguments: object) -> MinibatchSource:
        return MinibatchSource(CTFDeserializer(file, streams), **arguments)

    results = {}
    for name, arguments in {
        "as stored": {"randomize": False},
        "randomized": {},
        "randomized, one thread": {"threads": 1},
    }.items():
        with opened(**arguments) as source:
            source.next_minibatch(1)
            results[f"next_minibatch(1), {name}"] = microseconds(lambda: source.next_minibatch(1), 20_000)
    with opened() as source:
        minibatch = source.next_minibatch(256)
        x, y = minibatch["x"], minibatch["y"]
        results["get_checkpoint_state()"] = microseconds(source.get_checkpoint_state, 20_000)
        results["minibatch[name]"] = microseconds(lambda: minibatch["x"], 50_000)
        results["samples, first time, with next_minibatch(1)"] = microseconds(
            lambda: source.next_minibatch(1)["x"].samples, 20_000
        )
        results["samples, again"] = microseconds(lambda: x.samples, 50_000)
        results["asarray(), 256 x 4"] = microseconds(x.asarray, 20_000)
        results["as_sequences(), 256 dense"] = microseconds(x.as_sequences, 200)
        results["as_sequences(), 256 sparse"] = microseconds(y.as_sequences, 20)
        results["keys, 256"] = microseconds(lambda: x.keys, 5_000)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.ctf"
        file.write_text("".join(f"|x {i % 7} {i % 5} {i % 3} 1 |y {i % 10}:1\n" for i in range(10_000)))
        results = measure(file)
    if arguments.json:
        print(json.dumps({"unit": "us", "package": tesson.__file__, "results": results}))
        return
    for name, value in results.items():
        print(f"{value:10.2f} us  {name}")


if __name__ == "__main__":
    main()
