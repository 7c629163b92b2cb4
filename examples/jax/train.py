"""Trains a softmax classifier on the handwritten digits in ``../digits/``, with JAX, in one process or in several.

    python examples/jax/train.py --checkpoint run.npz

keeps a run in a file. It may be killed at any time: the same command resumes it, and it ends with the weights of a run that was not
killed, to the last bit. Two processes share each minibatch; start both::

    python examples/jax/train.py --coordinator localhost:1234 --processes 2 --process 0 --checkpoint run.npz
    python examples/jax/train.py --coordinator localhost:1234 --processes 2 --process 1 --checkpoint run.npz

Under Slurm, Open MPI and on Cloud TPUs ``jax.distributed.initialize()`` finds these three by itself.
"""

import argparse
import json
import os
from functools import partial
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import tesson.jax
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

DIGITS = Path(__file__).parents[1] / "digits"
PIXELS, CLASSES = 64, 10
#: Pixels are whole numbers from 0 to 16.
BRIGHTEST = 16
LEARNING_RATE = 0.5


def open_source(name="train.ctf", **options):
    """The digits of one file."""
    streams = StreamDefs(features=StreamDef(shape=PIXELS), labels=StreamDef(shape=CLASSES, is_sparse=True))
    return MinibatchSource(CTFDeserializer(DIGITS / name, streams), **options)


def scores(weights, features):
    return features / BRIGHTEST @ weights["matrix"] + weights["bias"]


def loss_of(weights, batch):
    """The mean cross entropy of a minibatch."""
    right = jax.nn.one_hot(batch["labels"], CLASSES)
    return -(right * jax.nn.log_softmax(scores(weights, batch["features"]))).sum(axis=1).mean()


@partial(jax.jit, donate_argnums=0)
def updated(weights, batch):
    """The weights after a step of gradient descent."""
    gradients = jax.grad(loss_of)(weights, batch)
    return jax.tree.map(lambda weight, gradient: weight - LEARNING_RATE * gradient, weights, gradients)


class Run:
    """Weights and data, which are saved and loaded together. Rows of a minibatch are spread over all devices of all processes."""

    def __init__(self):
        mesh = Mesh(np.array(jax.devices()), "data")
        self.everywhere = NamedSharding(mesh, PartitionSpec())
        self.weights = self.replicated({"matrix": np.zeros((PIXELS, CLASSES), np.float32), "bias": np.zeros(CLASSES, np.float32)})
        # Minibatches of one size, which devices share equally: the last one of a sweep takes some of the next.
        source = open_source(randomize="global", sharing="position")
        rows = NamedSharding(mesh, PartitionSpec("data"))
        self.batches = tesson.jax.minibatches(source, minibatch_size=64, sharding=rows, classes=["labels"])
        self.steps = 0

    def replicated(self, arrays):
        """A copy of the values on each device."""
        return {name: jax.make_array_from_process_local_data(self.everywhere, array) for name, array in arrays.items()}

    def train(self, steps, checkpoint=None, save_every=None):
        """Trains up to this number of steps. Saves a checkpoint every few steps, and at the end."""
        while self.steps < steps:
            # Each loop is a sweep of the digits in another order; the first one after a resume is the rest of one.
            for batch in self.batches:
                self.step(batch)
                self.steps += 1
                if self.steps == steps or (save_every and self.steps % save_every == 0):
                    self.save(checkpoint)
                if self.steps == steps:
                    return

    def step(self, batch):
        self.weights = updated(self.weights, batch)

    def state(self):
        """The arrays of a checkpoint by name. The state of the data counts the minibatches trained on, not those prefetched."""
        data = json.dumps({"steps": self.steps, "batches": self.batches.get_state()})
        return {**{name: np.asarray(array) for name, array in self.weights.items()}, "data": np.array(data)}

    def set_state(self, state):
        data = json.loads(str(state["data"]))
        self.steps = data["steps"]
        self.batches.set_state(data["batches"])
        self.weights = self.replicated({name: state[name] for name in self.weights})

    def save(self, path):
        """Writes one file for all processes, which is either the old one or the new one, whenever one is killed."""
        if path is not None and jax.process_index() == 0:
            with open(f"{path}.new", "wb") as file:
                np.savez(file, **self.state())
            os.replace(f"{path}.new", path)

    def load(self, path):
        with np.load(path) as saved:
            self.set_state(dict(saved))


def accuracy(weights):
    """The share of test digits that are recognized."""
    weights = {name: np.asarray(array) for name, array in weights.items()}
    with open_source("test.ctf", randomize=False, max_sweeps=1) as source:
        features, labels = source.next_minibatch(100_000).paired("features", "labels")
    return (scores(weights, features.samples).argmax(axis=1) == labels.class_indices).mean()


def main():
    parser = argparse.ArgumentParser(description="Train a softmax classifier on handwritten digits with JAX.")
    parser.add_argument("--steps", type=int, default=200, help="minibatches of 64 to train on (default: 200)")
    parser.add_argument("--checkpoint", type=Path, help="file to keep the run in, and to resume it from if it is there")
    parser.add_argument("--save-every", type=int, metavar="N", help="save it every N steps, too, not only at the end")
    parser.add_argument("--coordinator", metavar="HOST:PORT", help="where the first of several processes listens")
    parser.add_argument("--processes", type=int, metavar="N", help="how many processes there are")
    parser.add_argument("--process", type=int, metavar="I", help="which of them this is, from 0")
    arguments = parser.parse_args()
    if arguments.coordinator is not None:
        jax.distributed.initialize(arguments.coordinator, arguments.processes, arguments.process)
    run = Run()
    if arguments.checkpoint is not None and arguments.checkpoint.exists():
        run.load(arguments.checkpoint)
    run.train(arguments.steps, arguments.checkpoint, arguments.save_every)
    if jax.process_index() == 0:
        print(f"{run.steps} steps: {accuracy(run.weights):.1%} of the test digits are recognized")


if __name__ == "__main__":
    main()
