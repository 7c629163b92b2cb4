"""Trains a softmax classifier on the images in ``pictures/``, cropped and mirrored at random, with NumPy alone.

    python examples/train_images.py

shows three things:

1. Each sweep has other crops of the same pictures, and the classifier learns: on pictures it has not seen, in an archive, it
   does far better than chance.
2. A run that is stopped, and resumed by three workers with two threads each, ends with the weights of the run of one worker
   with one thread that is not stopped, to the last bit. The random changes of a picture depend on the seed, the sweep
   and the picture's key alone, and with ``randomize="global"`` all workers together get the minibatches of one.
3. Only this has to be saved: the weights, and one small dictionary, which is the same for all workers.

A run can also be stopped and continued by hand, in two processes::

    python examples/train_images.py --weights a.npz
    python examples/train_images.py --weights b.npz --stop-after 50
    python examples/train_images.py --weights b.npz --resume --workers 3 --threads 2

after which ``a.npz`` and ``b.npz`` hold the same weights.
"""

import argparse
import json
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from tesson.io import ImageDeserializer, MinibatchSource, StreamDef, StreamDefs
from tesson import transforms as t

IMAGES = Path(__file__).parent / "pictures"
SIDE, CLASSES = 16, 3
LEARNING_RATE = 0.5
#: A random part of each image, every other one mirrored, in other colours, all scaled to the same size.
RANDOM = [
    t.crop(crop_type="randomside", side_ratio=(0.85, 1.0), jitter_type="uniratio"),
    t.scale(width=SIDE, height=SIDE, channels=1),
    t.color(brightness_radius=0.1, contrast_radius=0.1),
]
#: The whole image.
WHOLE = [t.scale(width=SIDE, height=SIDE, channels=1)]


def open_source(name, transforms, sweeps, randomize: bool | Literal["global"] = "global", **options):
    """The gray images that a map lists, for a number of sweeps."""
    streams = StreamDefs(
        features=StreamDef(field="image", transforms=transforms),
        labels=StreamDef(field="label", shape=CLASSES),
    )
    images = ImageDeserializer(IMAGES / name, streams, grayscale=True)
    return MinibatchSource(images, max_sweeps=sweeps, randomize=randomize, randomization_seed=1, **options)


@contextmanager
def open_workers(sweeps, workers=1, threads=1, state=None):
    """A source for each worker, optionally resumed from a state. Here one process has them all; in practice each has its own."""
    with ExitStack() as stack:
        sources = []
        for rank in range(workers):
            source = open_source("train_map.txt", RANDOM, sweeps, partition_index=rank, num_data_partitions=workers, threads=threads)
            sources.append(stack.enter_context(source))
            if state is not None:
                source.restore_from_checkpoint(json.loads(state))
        yield sources


def arrays(minibatches):
    """The images of a minibatch from 0 to 1 in rows of contrasts, and their classes, of all workers together.

    Their order is fixed, so that sums have the same last bits with any number of workers.
    """
    images = np.concatenate([minibatch["features"].samples for minibatch in minibatches])
    classes = np.concatenate([minibatch["labels"].class_indices for minibatch in minibatches])
    order = sorted(range(len(images)), key=lambda number: images[number].tobytes())
    rows = images[order].reshape(len(images), -1) / 255
    return rows - rows.mean(axis=1, keepdims=True), classes[order]


def gradient(weights, rows, classes):
    """The gradient of the mean cross entropy. The last row of the weights is the bias."""
    scores = rows @ weights[:-1] + weights[-1]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    error = odds / odds.sum(axis=1, keepdims=True)
    error[np.arange(len(classes)), classes] -= 1
    error /= len(classes)
    return np.vstack([rows.T @ error, error.sum(axis=0)])


def train(sources, weights, minibatch_size, stop_after=None):
    """Trains the weights in place, to the end of the data or for a number of minibatches. `sources` are those of all workers."""
    shares = zip(*(source.minibatches(minibatch_size) for source in sources), strict=True)
    for count, minibatches in enumerate(shares, start=1):
        weights -= LEARNING_RATE * gradient(weights, *arrays(minibatches))
        if count == stop_after:
            break


def accuracy(weights):
    """The share of test images with a correctly recognized shape."""
    with open_source("test_map.txt", WHOLE, sweeps=1, randomize=False) as source:
        rows, classes = arrays([source.next_minibatch(1000)])
    return float(((rows @ weights[:-1] + weights[-1]).argmax(axis=1) == classes).mean())


def new_weights():
    return np.zeros((SIDE * SIDE + 1, CLASSES), dtype=np.float32)


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
    print(f"{arguments.weights}: {accuracy(weights):.0%} of the test pictures are recognized")


def show(arguments):
    """All that the top of this file promises."""
    sweeps, size = arguments.sweeps, arguments.minibatch_size
    weights, resumed = new_weights(), new_weights()
    with open_workers(sweeps) as sources:
        train(sources, weights, size)
    print(f"accuracy on test pictures: {accuracy(weights):.0%}; by chance: {1 / CLASSES:.0%}")

    with open_workers(sweeps, workers=2) as sources:
        train(sources, resumed, size, stop_after=50)
        state = state_of(sources)
    print(f"two workers stopped after 50 minibatches; the state to go on from: {state}")

    with open_workers(sweeps, workers=3, threads=2, state=state) as sources:
        train(sources, resumed, size)
    same = resumed.tobytes() == weights.tobytes()
    print(f"weights after three others went on: {'identical' if same else 'DIFFERENT'} to those of a single one")


def main():
    parser = argparse.ArgumentParser(description="Train a softmax classifier on pictures of shapes.")
    parser.add_argument("--sweeps", type=int, default=40, help="how often each picture is seen (default: 40)")
    parser.add_argument("--minibatch-size", type=int, default=20, help="pictures in a minibatch (default: 20)")
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
