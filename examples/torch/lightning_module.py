"""Trains the network of ``train.py`` with Lightning.

    python examples/torch/lightning_module.py --checkpoint run.ckpt --stop-after 50
    python examples/torch/lightning_module.py --checkpoint run.ckpt

The second command resumes the run, and ends with the weights of a run that was not stopped.
"""

import argparse
from pathlib import Path

import lightning
import torch
from train import accuracy, loss_of, new_model, open_source

import tesson.torch


class WithStates:
    """Minibatches, each with the state of the data after it.

    Lightning asks for one minibatch more than it has trained on, to know which is the last one. The state that
    belongs to a checkpoint is therefore that of the minibatch trained on last, not that of the dataset. Lightning
    itself knows if an epoch has ended: after its last minibatch it begins the next one.
    """

    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        for batch in self.dataset:
            yield batch, {**self.dataset.state_dict(), "ended": False}


class Digits(lightning.LightningModule):
    """The network. Its checkpoints hold the state of the data, too."""

    def __init__(self):
        super().__init__()
        self.model = new_model()
        self.dataset = tesson.torch.IterableDataset(open_source, minibatch_size=64, layouts={"labels": "classes"})
        self.data_state = self.dataset.state_dict()

    def train_dataloader(self):
        return WithStates(self.dataset)

    def training_step(self, batch, _):
        batch, self.data_state = batch
        return loss_of(self.model, batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def on_save_checkpoint(self, checkpoint):
        checkpoint["data"] = self.data_state

    def on_load_checkpoint(self, checkpoint):
        self.data_state = checkpoint["data"]
        self.dataset.load_state_dict(self.data_state)


class Checkpoints(lightning.Callback):
    """Saves a run while it trains: after `stop_after` steps, where it stops, or else at the end of each epoch."""

    def __init__(self, path, stop_after):
        self.path, self.stop_after = path, stop_after

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step == self.stop_after:
            trainer.save_checkpoint(self.path)
            trainer.should_stop = True

    def on_train_epoch_end(self, trainer, pl_module):
        if not trainer.should_stop:
            trainer.save_checkpoint(self.path)


def main():
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits with Lightning.")
    parser.add_argument("--epochs", type=int, default=5, help="how often each digit is seen (default: 5)")
    parser.add_argument("--checkpoint", type=Path, required=True, help="file to keep the run in, and to resume it from if it is there")
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop when the run has had N steps")
    arguments = parser.parse_args()
    trainer = lightning.Trainer(
        max_epochs=arguments.epochs, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
        callbacks=[Checkpoints(arguments.checkpoint, arguments.stop_after)], enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    digits = Digits()
    trainer.fit(digits, ckpt_path=arguments.checkpoint if arguments.checkpoint.exists() else None)
    print(f"{trainer.global_step} steps: {accuracy(digits.model):.1%} of the test digits are recognized")


if __name__ == "__main__":
    main()
