"""The cost of a call from Python apart from the data: microseconds, the best of several rounds.

    python bench/python_overhead.py [--json]

The corpus is a small file of one-sample sequences, so reading and parsing take next to nothing, and minibatches of
one sequence show the fixed costs. Build the extension with ``maturin develop --release`` first. If PyTorch or JAX is
installed, the cost of a step there follows, compared with that of the framework for the same arrays without a source.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tesson
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

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


def small(file: Path, **arguments: object) -> MinibatchSource:
    """A source of a dense stream and one of classes."""
    streams = StreamDefs(x=StreamDef(shape=4), y=StreamDef(shape=10, is_sparse=True))
    return MinibatchSource(CTFDeserializer(file, streams), **arguments)


def forever(batches: Iterable[object]) -> Iterator[object]:
    """Pass after pass."""
    return itertools.chain.from_iterable(itertools.repeat(batches))


def step(batches: Iterable[object]) -> float:
    iterator = forever(batches)
    return microseconds(lambda: next(iterator), 5_000)


def measure_torch(file: Path) -> dict[str, float]:
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    import tesson.torch

    class Nothing(IterableDataset):
        """One batch, repeated."""

        def __iter__(self) -> Iterator[object]:
            return itertools.repeat({"x": torch.zeros(1, 4), "y": torch.zeros(1, dtype=torch.int64)})

    dataset = tesson.torch.IterableDataset(small(file, randomize=False), 1, layouts={"y": "classes"})
    return {
        "torch, a step": step(dataset),
        "torch, a step in tesson.torch.DataLoader": step(tesson.torch.DataLoader(dataset)),
        "torch, a step in DataLoader": step(DataLoader(dataset, batch_size=None)),
        "torch, a step in DataLoader, without a source": step(DataLoader(Nothing(), batch_size=None)),
    }


def measure_jax(file: Path) -> dict[str, float]:
    import jax

    import tesson.jax

    source = small(file, randomize=False)

    def by_hand() -> object:
        minibatch = source.next_minibatch(1)
        return jax.device_put([minibatch["x"].samples, minibatch["y"].class_indices])

    batches = tesson.jax.minibatches(small(file, randomize=False), 1, classes=["y"])
    return {
        "jax, a step": step(batches),
        "jax, next_minibatch(1) and device_put by hand": microseconds(by_hand, 5_000),
    }


def measure(file: Path) -> dict[str, float]:
    def opened(**arguments: object) -> MinibatchSource:
        return small(file, **arguments)

    results = {}
    for name, arguments in {
        "as stored": {"randomize": False},
        "randomized": {},
        "randomized, one thread": {"threads": 1},
    }.items():
        with opened(**arguments) as source:
            source.next_minibatch(1)
            results[f"next_minibatch(1), {name}"] = microseconds(lambda: source.next_minibatch(1), 20_000)
    with opened(randomize=False) as source:

        def arrays() -> object:
            minibatch = source.next_minibatch(1)
            return minibatch["x"].samples, minibatch["y"].class_indices

        results["next_minibatch(1) and the arrays of two streams"] = microseconds(arrays, 20_000)
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
    for framework, measured in (("torch", measure_torch), ("jax", measure_jax)):
        if importlib.util.find_spec(framework):
            results |= measured(file)
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
