"""The work that `cargo xtask instructions` counts under valgrind: steps through Python, again and again.

    python bench/python_instructions.py WAY ROUNDS

Ways: ``text`` (minibatches of dense text and their arrays), ``batches`` and ``examples`` (of TFRecord files, 16 at a time and one by one). Prints how many steps a round has. Data are small and there
is one thread, so that what is counted is what a step costs apart from its data.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tesson import tfds
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

#: Steps of a round: so many that the start of the interpreter, which differs from run to run, is small beside them.
STEPS = 5_000
BATCHES = 10_000
EXAMPLES = 100_000
SAMPLES = 16


def source(file: Path) -> MinibatchSource:
    streams = StreamDefs(x=StreamDef(shape=4), y=StreamDef(shape=10, is_sparse=True))
    return MinibatchSource(CTFDeserializer(file, streams), randomize=False, threads=1)


def text(folder: Path) -> Path:
    file = folder / "small.ctf"
    file.write_text("".join(f"|x {i % 7} {i % 5} {i % 3} 1 |y {i % 10}:1\n" for i in range(4_000)))
    return file


def text_steps(folder: Path) -> Callable[[], int]:
    opened = source(text(folder))

    def steps() -> int:
        for _ in range(STEPS):
            minibatch = opened.next_minibatch(SAMPLES)
            _ = minibatch["x"].samples, minibatch["y"].class_indices
        return STEPS

    return steps


def examples_of(folder: Path, batch: int | None) -> Callable[[], int]:
    with tfds.Writer(folder, "numbers", "1.0.0", {"n": tfds.FeatureInfo((), "int64")}, {"train": 2}) as writer:
        for i in range(4_000):
            writer.write("train", {"n": i})
    dataset = tfds.builder("numbers", data_dir=folder).as_dataset("train", threads=1).repeat()
    elements = iter(dataset if batch is None else dataset.batch(batch))
    n = EXAMPLES if batch is None else BATCHES

    def steps() -> int:
        for _ in range(n):
            next(elements)
        return n

    return steps


WAYS: dict[str, Callable[[Path], Callable[[], int]]] = {
    "text": text_steps,
    "batches": lambda folder: examples_of(folder, SAMPLES),
    "examples": lambda folder: examples_of(folder, None),
}


def main() -> None:
    way, rounds = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        steps = WAYS[way](Path(folder))
        for _ in range(rounds):
            n = steps()
    print("samples", n)


if __name__ == "__main__":
    main()
