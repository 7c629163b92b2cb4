"""Reads with tesson.torch, forks, and reads in the child: what of PyTorch has threads by then hangs there."""

from __future__ import annotations

import os

import numpy as np

from tesson.io import MinibatchSource

ITEMS = 40_000


def read() -> int:
    """Items read, in every layout that copies nothing or is padded."""
    # Not at the top: the files of tests are imported for their doctests where PyTorch is not installed, too.
    import tesson.torch

    lengths = (1, 2) * (ITEMS // 4)
    streams = {name: [np.full((n, 2), i) for i, n in enumerate(lengths)] for name in ("samples", "padded", "nested")}
    source = MinibatchSource.from_data(**streams, max_sweeps=1)
    dataset = tesson.torch.IterableDataset(source, 2 * ITEMS, layouts={name: name for name in streams})
    return sum(len(batch["padded"].lengths) for batch in dataset)


if __name__ == "__main__":
    expected = read()
    child = os.fork()
    if child == 0:
        os._exit(0 if read() == expected > 0 else 1)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status))
