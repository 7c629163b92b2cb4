"""Trains a softmax classifier on the handwritten digits in ``digits/``, with NumPy alone.

    python examples/train_softmax.py

shows three things:

1. The classifier learns: on digits it has not seen it does far better than one trained on shuffled labels.
2. A run that is stopped and resumed ends with the weights of a run that is not, to the last bit.
3. Only this has to be saved: the weights, and a small dictionary from the source.

A run can also be stopped and continued by hand, in two processes::

    python examples/train_softmax.py --weights a.npz
    python examples/train_softmax.py --weights b.npz --stop-after 100
    python examples/train_softmax.py --weights b.npz --resume

after which ``a.npz`` and ``b.npz`` hold the same weights.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

DIGITS = Path(__file__).parent / "digits"
PIXELS, CLASSES = 64, 10
#: Pixels are whole numbers from 0 to 16.
BRIGHTEST = 16
LEARNING_RATE = 0.5


def open_source(name, sweeps, randomize=True, seed=1):
    """The digits of one file, for a number of sweeps."""
    streams = StreamDefs(
        features=StreamDef(shape=PIXELS),
        labels=StreamDef(shape=CLASSES, is_sparse=True),
    )
    return MinibatchSource(
        CTFDeserializer(DIGITS / name, streams), max_sweeps=sweeps, randomize=randomize, randomization_seed=seed
    )


def arrays(minibatch):
    """The images of a minibatch as ``[samples, 64]`` from 0 to 1, and their digits."""
    features, labels = minibatch.paired("features", "labels")
    return features.samples / BRIGHTEST, labels.class_indices


def gradient(weights, images, digits):
    """The gradient of the mean cross entropy. The last row of the weights is the bias."""
    scores = images @ weights[:-1] + weights[-1]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    error = odds / odds.sum(axis=1, keepdims=True)
    error[np.arange(len(digits)), digits] -= 1
    error /= len(digits)
    return np.vstack([images.T @ error, error.sum(axis=0)])


def train(source, weights, minibatch_size, relabel=None, stop_after=None):
    """Trains the weights in place, to the end of the data or for a number of minibatches.

    `relabel` is a table from a sequence's key (the line of its image, from 0) to the digit to learn instead.
    """
    for count, minibatch in enumerate(source.minibatches(minibatch_size), start=1):
        images, digits = arrays(minibatch)
        if relabel is not None:
            digits = relabel[minibatch["labels"].keys]
        weights -= LEARNING_RATE * gradient(weights, images, digits)
        if count == stop_after:
            break


def accuracy(weights):
    """The share of test images with a correctly recognized digit."""
    with open_source("test.ctf", sweeps=1, randomize=False) as source:
        images, digits = arrays(source.next_minibatch(100_000))
    found = (images @ weights[:-1] + weights[-1]).argmax(axis=1)
    return float((found == digits).mean())


def new_weights():
    return np.zeros((PIXELS + 1, CLASSES), dtype=np.float32)


def shuffled_labels():
    """A digit for each training image that has nothing to do with it."""
    with open_source("train.ctf", sweeps=1, randomize=False) as source:
        digits = arrays(source.next_minibatch(100_000))[1]
    return np.random.default_rng(1).permutation(digits)


def save(path, weights, source):
    """Writes weights and state to one file, so that both are of the same moment."""
    np.savez(path, weights=weights, state=json.dumps(source.get_checkpoint_state()))


def load(path, source):
    """The weights of a saved run; the source resumes at its position."""
    with np.load(path) as saved:
        source.restore_from_checkpoint(json.loads(str(saved["state"])))
        return saved["weights"]


def run(arguments):
    """One run, or a part of one, with its weights in a file."""
    with open_source("train.ctf", arguments.sweeps) as source:
        weights = load(arguments.weights, source) if arguments.resume else new_weights()
        train(source, weights, arguments.minibatch_size, stop_after=arguments.stop_after)
        save(arguments.weights, weights, source)
    print(f"{arguments.weights}: {accuracy(weights):.1%} of the test digits are recognized")


def show(arguments):
    """All that the top of this file promises."""
    size = arguments.minibatch_size

    def trained(**options):
        weights = new_weights()
        with open_source("train.ctf", arguments.sweeps) as source:
            train(source, weights, size, **options)
            state = json.dumps(source.get_checkpoint_state())
        return weights, state

    weights, _ = trained()
    by_chance, _ = trained(relabel=shuffled_labels())
    print(f"accuracy on test digits: {accuracy(weights):.1%}; trained on shuffled labels: {accuracy(by_chance):.1%}")

    resumed, state = trained(stop_after=100)
    print(f"stopped after 100 minibatches; the state to go on from: {state}")
    with open_source("train.ctf", arguments.sweeps) as source:
        source.restore_from_checkpoint(json.loads(state))
        train(source, resumed, size)
    same = resumed.tobytes() == weights.tobytes()
    print(f"weights after going on: {'identical' if same else 'DIFFERENT'} to those of the run that did not stop")


def main():
    parser = argparse.ArgumentParser(description="Train a softmax classifier on handwritten digits.")
    parser.add_argument("--sweeps", type=int, default=10, help="how often each digit is seen (default: 10)")
    parser.add_argument("--minibatch-size", type=int, default=64, help="images in a minibatch (default: 64)")
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
