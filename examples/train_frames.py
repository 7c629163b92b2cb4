"""Trains a classifier of frames on the spoken digits in ``speech/``, which sees 11 frames at a time, with NumPy alone.

    python examples/train_frames.py

shows three things:

1. Features come from an HTK archive, labels from a master label file; the two are paired by the names of the utterances. Each
   frame is a sample with the five frames before and after it, and the classifier learns: for speakers it has not
   heard, it finds the third of a digit for most frames, while the commonest class would be right for a quarter.
2. A run that is stopped, and resumed by three workers with two threads each, ends with the weights of the run of one worker
   with one thread that is not stopped, to the last bit: with ``randomize="global"`` all workers together get the minibatches
   of one.
3. Only this has to be saved: the weights, and one small dictionary, which is the same for all workers.

A run can also be stopped and continued by hand, in two processes::

    python examples/train_frames.py --weights a.npz
    python examples/train_frames.py --weights b.npz --stop-after 300
    python examples/train_frames.py --weights b.npz --resume --workers 3 --threads 2

after which ``a.npz`` and ``b.npz`` hold the same weights.
"""

import argparse
import json
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from tesson.io import HTKFeatureDeserializer, HTKMLFDeserializer, MinibatchSource, StreamDef, StreamDefs

SPEECH = Path(__file__).parent / "speech"
FILTERS, CONTEXT, CLASSES = 33, 5, 31
INPUTS = FILTERS * (2 * CONTEXT + 1)
LEARNING_RATE = 0.05


def open_source(name, sweeps, randomize: bool | Literal["global"] = "global", **options):
    """The frames of one part of the corpus, each with its neighbours and its label, for a number of sweeps."""
    features = StreamDef(scp=SPEECH / f"{name}.scp", shape=FILTERS, context=(CONTEXT, CONTEXT))
    labels = StreamDef(mlf=SPEECH / f"{name}.mlf", shape=CLASSES)
    deserializers = [
        HTKFeatureDeserializer(StreamDefs(features=features)),
        HTKMLFDeserializer(SPEECH / "states.list", StreamDefs(labels=labels)),
    ]
    return MinibatchSource(
        deserializers, frame_mode=True, max_sweeps=sweeps, randomize=randomize, randomization_seed=1, **options
    )


@contextmanager
def open_workers(sweeps, workers=1, threads=1, state=None):
    """A source for each worker, optionally resumed from a state. Here one process has them all; in practice each has its own."""
    with ExitStack() as stack:
        sources = []
        for rank in range(workers):
            source = stack.enter_context(open_source("train", sweeps, partition_index=rank, num_data_partitions=workers, threads=threads))
            sources.append(source)
            if state is not None:
                source.restore_from_checkpoint(json.loads(state))
        yield sources


def arrays(minibatches):
    """The frames of a minibatch around zero, and their classes, of all workers together.

    Their order is fixed, so that sums have the same last bits with any number of workers.
    """
    frames = np.concatenate([minibatch["features"].samples for minibatch in minibatches])
    classes = np.concatenate([minibatch["labels"].class_indices for minibatch in minibatches])
    order = sorted(range(len(frames)), key=lambda number: (frames[number].tobytes(), classes[number]))
    return (frames[order] + 2) / 4, classes[order]


def gradient(weights, frames, classes):
    """The gradient of the mean cross entropy. The last row of the weights is the bias."""
    scores = frames @ weights[:-1] + weights[-1]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    error = odds / odds.sum(axis=1, keepdims=True)
    error[np.arange(len(classes)), classes] -= 1
    error /= len(classes)
    return np.vstack([frames.T @ error, error.sum(axis=0)])


def train(sources, weights, minibatch_size, stop_after=None):
    """Trains the weights in place, to the end of the data or for a number of minibatches. `sources` are those of all workers."""
    shares = zip(*(source.minibatches(minibatch_size) for source in sources), strict=True)
    for count, minibatches in enumerate(shares, start=1):
        weights -= LEARNING_RATE * gradient(weights, *arrays(minibatches))
        if count == stop_after:
            break


def accuracy(weights):
    """The share of frames of other speakers that are recognized, and that of the commonest class."""
    with open_source("held", sweeps=1, randomize=False) as source:
        frames, classes = arrays([source.next_minibatch(100_000)])
    right = (frames @ weights[:-1] + weights[-1]).argmax(axis=1) == classes
    return float(right.mean()), float(np.bincount(classes).max() / len(classes))


def new_weights():
    return np.zeros((INPUTS + 1, CLASSES), dtype=np.float32)


def state_of(sources):
    """The state of all workers, who have the same."""
    (state,) = {json.dumps(source.get_checkpoint_state()) for source in sources}
    return state


def run(arguments):
    """One run, or a part of one. Its weights are kept in a file together with the state of the same moment."""
    weights, state = new_weights(), None
    if arguments.resume:
        with np.load(arguments.weights) as saved:
            weights, state = saved["weights"], str(saved["state"])
    with open_workers(arguments.sweeps, arguments.workers, arguments.threads, state) as sources:
        train(sources, weights, arguments.minibatch_size, arguments.stop_after)
        np.savez(arguments.weights, weights=weights, state=state_of(sources))
    print(f"{arguments.weights}: {accuracy(weights)[0]:.0%} of the other speakers' frames are recognized")


def show(arguments):
    """All that the top of this file promises."""
    sweeps, size = arguments.sweeps, arguments.minibatch_size
    weights, resumed = new_weights(), new_weights()
    with open_workers(sweeps) as sources:
        train(sources, weights, size)
    right, commonest = accuracy(weights)
    print(f"accuracy on frames of other speakers: {right:.0%}; of the commonest class alone: {commonest:.0%}")

    with open_workers(sweeps, workers=2) as sources:
        train(sources, resumed, size, stop_after=300)
        state = state_of(sources)
    print(f"two workers stopped after 300 minibatches; the state to go on from: {state}")

    with open_workers(sweeps, workers=3, threads=2, state=state) as sources:
        train(sources, resumed, size)
    same = resumed.tobytes() == weights.tobytes()
    print(f"weights after three others went on: {'identical' if same else 'DIFFERENT'} to those of a single one")


def main():
    parser = argparse.ArgumentParser(description="Train a classifier of speech frames on spoken digits.")
    parser.add_argument("--sweeps", type=int, default=20, help="how often each frame is seen (default: 20)")
    parser.add_argument("--minibatch-size", type=int, default=100, help="frames in a minibatch (default: 100)")
    parser.add_argument("--workers", type=int, default=1, help="workers that share each minibatch (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each worker (default: 1)")
    parser.add_argument("--weights", type=Path, help="file (.npz) to keep weights and state in")
    parser.add_argument("--stop-after", type=int, metavar="N", help="stop after N minibatches")
    parser.add_argument("--resume", action="store_true", help="resume from the weights and state in --weights")
    arguments = parser.parse_args()
    if arguments.weights is None:
        if arguments.resume or arguments.stop_after is not None:
            parser.error("--resume and --stop-after need --weights")
        show(arguments)
    else:
        run(arguments)


if __name__ == "__main__":
    main()
