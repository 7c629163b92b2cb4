"""Trains the network of ``train.py`` with Hugging Face's Accelerate.

    python examples/torch/accelerate_loop.py --checkpoint run --stop-after 100
    python examples/torch/accelerate_loop.py --checkpoint run

The second command resumes the run, and ends with the weights of a run that was not stopped. ``accelerate launch`` starts it in
several processes.
"""

import argparse
from pathlib import Path

import torch
from accelerate import Accelerator
from train import accuracy, loss_of, new_model, open_source

import tesson.torch


class Progress:
    """Epochs and steps done, saved with the rest."""

    def __init__(self):
        self.epoch, self.steps = 0, 0

    def state_dict(self):
        return {"epoch": self.epoch, "steps": self.steps}

    def load_state_dict(self, state):
        self.epoch, self.steps = state["epoch"], state["steps"]


def train(accelerator, epochs, folder, stop_after):
    """Trains up to this number of epochs or steps, and saves a checkpoint at the end."""
    model = new_model()
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    # Not prepared: the source knows rank and size, and a prepared loader would deal out its minibatches once more.
    dataset = tesson.torch.IterableDataset(open_source, minibatch_size=64, layouts={"labels": "classes"})
    progress = Progress()
    accelerator.register_for_checkpointing(dataset, progress)
    if folder.exists():
        accelerator.load_state(str(folder))
    while progress.epoch < epochs and progress.steps != stop_after:
        for batch in dataset:
            batch = {name: tensor.to(accelerator.device) for name, tensor in batch.items()}
            optimizer.zero_grad()
            accelerator.backward(loss_of(model, batch))
            optimizer.step()
            progress.steps += 1
            if progress.steps == stop_after:
                break
        else:
            progress.epoch += 1
    accelerator.save_state(str(folder))
    return accelerator.unwrap_model(model), progress


def main():
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits with Accelerate.")
    parser.add_argument("--epochs", type=int, default=5, help="how often each digit is seen (default: 5)")
    parser.add_argument("--checkpoint", type=Path, required=True, help="folder to keep the run in, and to resume it from if it is there")
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop when the run has had N steps")
    arguments = parser.parse_args()
    accelerator = Accelerator(cpu=True)
    model, progress = train(accelerator, arguments.epochs, arguments.checkpoint, arguments.stop_after)
    accelerator.print(f"{progress.steps} steps: {accuracy(model):.1%} of the test digits are recognized")
    accelerator.end_training()


if __name__ == "__main__":
    main()
