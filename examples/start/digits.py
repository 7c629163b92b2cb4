"""Softmax regression on handwritten digits: text in, NumPy in the loop.

Prints:

[epoch 0] 23 batches, 1437 digits, most right: True
[epoch 1] 23 batches, 1437 digits, most right: True
[epoch 2] 23 batches, 1437 digits, most right: True
[epoch 3] 23 batches, 1437 digits, most right: True
"""

from pathlib import Path

import numpy as np
import tesson

DIGITS = Path(__file__).parents[1] / "digits" / "train.ctf"

data = tesson.read_ctf(DIGITS, features=64, labels=tesson.sparse(10))
loader = data.loader(batch_size=64, shuffle=True, seed=1)
weights = np.zeros((64, 10), np.float32)

for epoch in range(4):
    right = 0
    for batch in loader:
        x, y = batch["features"], batch["labels"].indices
        scores = x @ weights
        right += int((scores.argmax(1) == y).sum())
        slopes = np.exp(scores - scores.max(1, keepdims=True))
        slopes /= slopes.sum(1, keepdims=True)
        slopes[np.arange(len(y)), y] -= 1
        weights -= 1e-3 * x.T @ slopes / len(y)
    report = loader.epoch_report()
    print(f"[epoch {epoch}] {report.batches} batches, {report.examples} digits, most right: {2 * right > report.examples}")
