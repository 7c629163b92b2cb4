"""Trains a small network on the handwritten digits in ``../digits/``, with PyTorch.

    python examples/torch/train.py

stops a run, resumes it, and compares its weights with those of a run that was not stopped: they are the same to the last bit.

A run can also be stopped and continued by hand, or killed at any time::

    python examples/torch/train.py --checkpoint run.pt --stop-after 100
    python examples/torch/train.py --checkpoint run.pt
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tesson.torch
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

DIGITS = Path(__file__).parents[1] / "digits"
PIXELS, CLASSES = 64, 10
#: Pixels are whole numbers from 0 to 16.
BRIGHTEST = 16


def open_source(name="train.ctf", world: Any = "auto", **options):
    """The digits of one file. Under a launcher such as torchrun each rank gets its share."""
    streams = StreamDefs(features=StreamDef(shape=PIXELS), labels=StreamDef(shape=CLASSES, is_sparse=True))
    return MinibatchSource(CTFDeserializer(DIGITS / name, streams), world=world, **options)


def new_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(PIXELS, 32), nn.ReLU(), nn.Linear(32, CLASSES))


def loss_of(model, batch):
    """The mean cross entropy of a minibatch."""
    return nn.functional.cross_entropy(model(batch["features"] / BRIGHTEST), batch["labels"])


def accuracy(model):
    """The share of test digits that are recognized."""
    with open_source("test.ctf", world=(0, 1), randomize=False, max_sweeps=1) as source:
        test = tesson.torch.IterableDataset(source, 100_000, layouts={"labels": "classes"})
        (batch,) = test
    with torch.no_grad():
        found = model(batch["features"] / BRIGHTEST).argmax(1)
    return (found == batch["labels"]).float().mean().item()


class Run:
    """A model, its optimizer and its data, which are saved and loaded together."""

    def __init__(self):
        self.model = new_model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.dataset = tesson.torch.IterableDataset(open_source, minibatch_size=64, layouts={"labels": "classes"})
        self.epoch = 0

    def train(self, epochs, checkpoint=None, save_every=None, stop_after=None):
        """Trains up to this number of epochs, or for a number of steps. Saves a checkpoint every few steps, after
        each epoch and at the end."""
        loader = tesson.torch.DataLoader(self.dataset)
        steps = 0
        while self.epoch < epochs:
            # The first iteration after a resume delivers the rest of the epoch.
            for batch in loader:
                self.step(batch)
                steps += 1
                if steps == stop_after:
                    self.save(checkpoint)
                    return
                if save_every and steps % save_every == 0:
                    self.save(checkpoint)
            self.epoch += 1
            self.save(checkpoint)

    def step(self, batch):
        self.optimizer.zero_grad()
        loss_of(self.model, batch).backward()
        self.optimizer.step()

    def state_dict(self):
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "dataset")}
        return {**parts, "epoch": self.epoch}

    def load_state_dict(self, state):
        self.epoch = state["epoch"]
        for name in ("model", "optimizer", "dataset"):
            getattr(self, name).load_state_dict(state[name])

    def save(self, path):
        """Writes everything to one file, which is either the old one or the new one, whenever the process is killed."""
        if path is not None:
            torch.save(self.state_dict(), f"{path}.new")
            os.replace(f"{path}.new", path)

    def load(self, path):
        self.load_state_dict(torch.load(path, weights_only=True))


def show(epochs):
    """A run that is stopped and resumed, beside one that is not."""
    straight = Run()
    straight.train(epochs)
    print(f"accuracy on test digits: {accuracy(straight.model):.1%}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        Run().train(epochs, path, stop_after=50)
        resumed = Run()
        resumed.load(path)
    resumed.train(epochs)
    pairs = zip(straight.model.parameters(), resumed.model.parameters(), strict=True)
    same = all(torch.equal(one, other) for one, other in pairs)
    print(f"weights after resuming: {'identical' if same else 'DIFFERENT'} to those of the run that did not stop")


def main():
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits with PyTorch.")
    parser.add_argument("--epochs", type=int, default=10, help="how often each digit is seen (default: 10)")
    parser.add_argument("--checkpoint", type=Path, help="file to keep the run in, and to resume it from if it is there")
    parser.add_argument("--save-every", type=int, metavar="N", help="save it every N steps, too, not only after each epoch")
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop after N steps")
    arguments = parser.parse_args()
    if arguments.checkpoint is None:
        if arguments.stop_after is not None or arguments.save_every is not None:
            parser.error("--stop-after and --save-every need --checkpoint")
        show(arguments.epochs)
        return
    run = Run()
    if arguments.checkpoint.exists():
        run.load(arguments.checkpoint)
    run.train(arguments.epochs, arguments.checkpoint, arguments.save_every, arguments.stop_after)
    print(f"{run.epoch} epochs: {accuracy(run.model):.1%} of the test digits are recognized")


if __name__ == "__main__":
    main()
