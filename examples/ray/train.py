"""Trains a classifier of handwritten digits on Ray. Workers may be killed at any time, and their number may change.

    python examples/ray/train.py --storage runs --workers 1 3      # from one to three, as many as the cluster has room for

Run it again with the same storage, and it resumes where it was, on as many workers as there are then. The state of the data is part
of each checkpoint, so every digit comes once in an epoch, and the weights are those of one undisturbed worker, to the last bit.
"""

import argparse
import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
import ray.train
import torch
import torch.distributed
from ray.train.torch import TorchTrainer

import tesson

DIGITS = Path(__file__).parents[1] / "digits" / "train.ctf"

#: Gradients are summed in these units: sums of whole numbers do not depend on how they are distributed.
UNIT = 2.0**-40


def sum_of_gradients(weights, features, labels):
    """The gradients of all examples that the workers hold together, and how many these are."""
    scores = features @ weights
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[np.arange(len(labels)), labels] -= 1
    each = features[:, :, None] * chances[:, None, :]
    total = torch.from_numpy(np.append((each / UNIT).round().astype(np.int64).sum(axis=0).ravel(), len(labels)))
    torch.distributed.all_reduce(total)
    return total[:-1].numpy().reshape(weights.shape) * UNIT, int(total[-1])


def save(weights, loader, digest):
    """Report a checkpoint. All workers have equal weights and states, so that of the first is enough."""
    metrics = {"epoch": loader.epoch, "digest": digest}
    if ray.train.get_context().get_world_rank() > 0:
        ray.train.report(metrics)
        return
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "weights.npy"), weights)
        Path(folder, "state.json").write_text(json.dumps({"data": loader.state_dict(), "digest": digest}))
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))


def place(loader):
    return f"epoch {loader.epoch}, batch {loader.step}"


def tell(text):
    """Print a text once, whatever the number of workers."""
    if ray.train.get_context().get_world_rank() == 0:
        print(text, flush=True)


def train(options):
    data = tesson.read_ctf(DIGITS, features=64, labels=tesson.sparse(10))
    loader = data.loader(batch_size=64, shuffle=True, seed=1)  # world="auto" asks Ray for rank and number of workers
    weights, digest = np.zeros((64, 10)), ""
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            weights = np.load(Path(folder, "weights.npy"))
            state = json.loads(Path(folder, "state.json").read_text())
        loader.load_state_dict(state["data"])
        digest = state["digest"]
        tell(f"resumed at {place(loader)}")
    steps, noticed = 0, None
    while loader.epoch < options["epochs"]:
        for batch in loader:
            gradients, count = sum_of_gradients(weights, batch["features"].astype(np.float64) / 16, batch["labels"].indices)
            weights = weights - 0.5 * gradients / count
            # Equal in runs whose steps had equal examples.
            digest = hashlib.sha256(digest.encode() + weights.tobytes()).hexdigest()
            steps += 1
            # All workers get the same answer. Nodes that are about to be taken away leave time for a checkpoint.
            notice = ray.train.get_preemption_info()
            if steps % options["save_every"] == 0 or notice != noticed:
                save(weights, loader, digest)
            if notice != noticed:
                # Returns when Ray has taken the checkpoint, so that it outlives the node.
                ray.train.get_all_reported_checkpoints()
                tell(f"saved at {place(loader)}, as nodes will be taken away")
                noticed = notice
    save(weights, loader, digest)


def main():
    parser = argparse.ArgumentParser(description="Train a classifier of handwritten digits on Ray.")
    parser.add_argument("--storage", type=Path, required=True, help="folder of the checkpoints; a run that is there is resumed")
    parser.add_argument("--workers", type=int, nargs="+", default=[1], metavar="N", help="number of workers, or the least and the greatest")
    parser.add_argument("--epochs", type=int, default=3, help="how often each digit is seen (default: 3)")
    parser.add_argument("--save-every", type=int, default=10, metavar="N", help="steps from one checkpoint to the next (default: 10)")
    arguments = parser.parse_args()
    workers = arguments.workers[0] if len(arguments.workers) == 1 else tuple(arguments.workers)
    trainer = TorchTrainer(
        train,
        train_loop_config={"epochs": arguments.epochs, "save_every": arguments.save_every},
        scaling_config=ray.train.ScalingConfig(num_workers=workers),
        run_config=ray.train.RunConfig(
            name="digits",
            storage_path=str(arguments.storage.resolve()),
            failure_config=ray.train.FailureConfig(max_failures=-1),
            checkpoint_config=ray.train.CheckpointConfig(num_to_keep=2),
        ),
    )
    metrics = trainer.fit().metrics
    print(f"{metrics['epoch']} epochs, digest of all steps {metrics['digest'][:16]}")


if __name__ == "__main__":
    main()
