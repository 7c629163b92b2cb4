"""The speed of PyTorch's loops over a corpus, compared with the Python API's own: steps a second, and each loop's share of them.

    python bench/python_torch.py FILE [--model] [--size N] [--threads N] [--rounds N] [--json]

One sweep in minibatches of 256 samples, opening included. All loops do nothing with a minibatch, or with --model train a
linear classifier on it. FILE is a corpus of ``tesson-bench``, ``dense`` or ``mnist``. Build the extension with
``maturin develop --release`` first.

A share compares sweeps of the same round, some seconds apart, so a machine that is slower for a minute changes no
share. The loops of a round run in a random order. The median share of all rounds, which is not the share of the
medians, comes with its 95 % confidence interval. The Python API runs twice in each round: the share of its second run
shows the resolution of the measurement.

"DataLoader, arrays handed on" is the share that PyTorch's class reaches of the Python API's loop if minibatches are
not converted at all: no dataset can do better in it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

import tesson.torch
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

CLASSES = 10
STREAMS = StreamDefs(features=StreamDef(shape=784), labels=StreamDef(shape=CLASSES, is_sparse=True))
#: The loop with which the others are compared, and its repetition, which shows the noise of the machine.
API = "Python API"
API_AGAIN = "Python API, again"
#: A loop's batches as tensors of samples and classes.
Tensors = Iterator[tuple[torch.Tensor, torch.Tensor]]


class Arrays(IterableDataset[Any]):
    """The Python API's minibatches, with the arrays a loop needs."""

    def __init__(self, source: MinibatchSource, size: int) -> None:
        self.source, self.size = source, size

    def __iter__(self) -> Iterator[Any]:
        for minibatch in self.source.minibatches(self.size):
            yield minibatch["features"].samples, minibatch["labels"].class_indices


def itself(batch: Any) -> Any:
    return batch


def from_arrays(batches: Iterable[Any]) -> Tensors:
    for samples, classes in batches:
        yield torch.from_numpy(samples), torch.from_numpy(classes).long()


def from_dictionaries(batches: Iterable[dict[str, torch.Tensor]]) -> Tensors:
    for batch in batches:
        yield batch["features"], batch["labels"]


def dataset(source: MinibatchSource, size: int) -> tesson.torch.IterableDataset:
    return tesson.torch.IterableDataset(source, size, layouts={"labels": "classes"})


#: The iterable of each loop, and the function by which a step gets its tensors.
LOOPS: dict[str, tuple[Callable[[MinibatchSource, int], Iterable[Any]], Callable[[Iterable[Any]], Tensors]]] = {
    API: (Arrays, from_arrays),
    API_AGAIN: (Arrays, from_arrays),
    "dataset": (dataset, from_dictionaries),
    "tesson.torch.DataLoader": (lambda *given: tesson.torch.DataLoader(dataset(*given)), from_dictionaries),
    "DataLoader": (lambda *given: DataLoader(dataset(*given), batch_size=None), from_dictionaries),
    "DataLoader, arrays handed on": (
        lambda *given: DataLoader(Arrays(*given), batch_size=None, collate_fn=itself),
        from_arrays,
    ),
}


def train(tensors: Tensors) -> int:
    """The steps of one sweep with the smallest model that learns."""
    model = torch.nn.Linear(784, CLASSES)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    steps = 0
    for samples, classes in tensors:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(samples), classes).backward()
        optimizer.step()
        steps += 1
    return steps


def rate(loop: str, file: Path, arguments: argparse.Namespace) -> float:
    """Steps a second of one sweep."""
    batches_of, tensors_of = LOOPS[loop]
    start = time.perf_counter()
    deserializer = CTFDeserializer(file, STREAMS)
    with MinibatchSource(deserializer, randomize=False, max_sweeps=1, threads=arguments.threads) as source:
        batches = batches_of(source, arguments.size)
        steps = train(tensors_of(batches)) if arguments.model else sum(1 for _ in batches)
    return steps / (time.perf_counter() - start)


def interval(values: list[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, whatever the distribution: as many values lie below the median as coins
    show heads. The least and the greatest value where there are too few, five or less, for any interval."""
    ordered, count = sorted(values), len(values)
    outside, tail = 0, 1
    while tail / 2**count <= 0.025:
        outside += 1
        tail += math.comb(count, outside)
    first = max(outside - 1, 0)
    return ordered[first], ordered[count - 1 - first]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", action="store_true", help="train a linear classifier instead of doing nothing")
    parser.add_argument("--size", type=int, default=256, help="samples of a minibatch")
    parser.add_argument("--threads", type=int, help="that read and decode; default: one for each core")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    # PyTorch's own threads would compete with those that decode.
    torch.set_num_threads(1)
    draws = random.Random(0)
    rates: dict[str, list[float]] = {loop: [] for loop in LOOPS}
    for counts in [False] + [True] * arguments.rounds:
        for loop in draws.sample(list(LOOPS), len(LOOPS)):
            steps_a_second = rate(loop, arguments.file, arguments)
            if counts:
                rates[loop].append(steps_a_second)
    medians = {loop: statistics.median(measured) for loop, measured in rates.items()}
    shares = {loop: [one / api for one, api in zip(rates[loop], rates[API], strict=True)] for loop in LOOPS if loop != API}
    found = {loop: (statistics.median(of_rounds), *interval(of_rounds)) for loop, of_rounds in shares.items()}
    if arguments.json:
        names = ("median", "from", "to")
        named = {loop: dict(zip(names, share, strict=True)) for loop, share in found.items()}
        print(json.dumps({"unit": "steps/s", "package": tesson.__file__, "medians": medians, "shares": named}))
        return
    print(f"{medians[API]:8.0f} steps/s  {API}")
    for loop, (share, low, high) in found.items():
        print(f"{medians[loop]:8.0f} steps/s  median share {share:.3f} ({low:.3f} to {high:.3f})  {loop}")


if __name__ == "__main__":
    main()
