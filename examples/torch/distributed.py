"""Trains the network of ``train.py`` in several processes; their number may change each time that the run is resumed.

    torchrun --nproc-per-node 2 examples/torch/distributed.py --checkpoint run.pt --stop-after 50
    mpirun -n 3 python examples/torch/distributed.py --checkpoint run.pt --stop-after 50
    python examples/torch/distributed.py --checkpoint run.pt

A run may also be killed at any time, in one of its processes or in all. For ``torchrun --max-restarts`` set
``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1``: otherwise new processes may find the address of one that was killed. Every digit still comes once in each epoch, and the weights
are those of a run of one process that was not stopped, to the last bit.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from train import Run, accuracy, loss_of

from tesson.world import resolve_world

#: Gradients are summed in these units. Sums of whole numbers do not depend on their order.
UNIT = 2.0**-40


def sum_of_gradients(model, batch):
    """The gradients of all samples that the processes hold together, and how many these are.

    ``DistributedDataParallel`` is faster, and takes the same samples in each step. But its sum of floats depends on
    how they are distributed, so that weights differ in their last bits between numbers of processes. Here each sample
    has its own gradient, in whichever process it is computed, and gradients are summed as whole numbers.
    """
    parameters = list(model.parameters())
    sums = [torch.zeros_like(parameter, dtype=torch.int64) for parameter in parameters]
    for features, label in zip(batch["features"].split(1), batch["labels"].split(1), strict=True):
        loss = loss_of(model, {"features": features, "labels": label})
        for total, gradient in zip(sums, torch.autograd.grad(loss, parameters), strict=True):
            total += (gradient.double() / UNIT).round().long()
    count = torch.tensor(len(batch["labels"]))
    if dist.is_initialized():
        for total in (*sums, count):
            dist.all_reduce(total)
    return sums, int(count)


class DistributedRun(Run):
    """A run that all processes take part in. All have the same weights and states, so the first one saves for all."""

    def step(self, batch):
        sums, count = sum_of_gradients(self.model, batch)
        for parameter, total in zip(self.model.parameters(), sums, strict=True):
            parameter.grad = (total.double() * UNIT / count).float()
        self.optimizer.step()

    def save(self, path):
        if not dist.is_initialized() or dist.get_rank() == 0:
            super().save(path)


def join_others():
    """Makes the process group for the launcher that was used: torchrun, mpirun, srun, or none."""
    # One thread for each process; small networks gain nothing by more.
    torch.set_num_threads(1)
    world = resolve_world()
    if world.size > 1:
        # Only torchrun sets these. Processes on several machines need the address of the first.
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29500")
        dist.init_process_group("gloo", rank=world.rank, world_size=world.size)
    return world


def main():
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits in several processes.")
    parser.add_argument("--epochs", type=int, default=3, help="how often each digit is seen (default: 3)")
    parser.add_argument("--checkpoint", type=Path, help="file to keep the run in, and to resume it from if it is there")
    parser.add_argument("--save-every", type=int, metavar="N", help="save it every N steps, too, not only after each epoch")
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop after N steps")
    arguments = parser.parse_args()
    world = join_others()
    run = DistributedRun()
    if arguments.checkpoint is not None and arguments.checkpoint.exists():
        run.load(arguments.checkpoint)
    run.train(arguments.epochs, arguments.checkpoint, arguments.save_every, arguments.stop_after)
    if world.rank == 0:
        print(f"{run.epoch} epochs: {accuracy(run.model):.1%} of the test digits are recognized")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
