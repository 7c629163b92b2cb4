"""The digits of `digits.py` in JAX: a step that is compiled once, as the last batch is padded to its size.

Prints:

[epoch 0] 23 batches, 1437 digits, most right: True
[epoch 1] 23 batches, 1437 digits, most right: True
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import tesson

SIZE = 64


@jax.jit
def step(weights, x, y, is_real):
    def loss(weights):
        return -(jax.nn.log_softmax(x @ weights)[jnp.arange(SIZE), y] * is_real).sum() / is_real.sum()

    right = ((x @ weights).argmax(1) == y) & is_real
    return weights - 1e-3 * jax.grad(loss)(weights), right.sum()


data = tesson.read_ctf(Path(__file__).parents[1] / "digits" / "train.ctf", features=64, labels=tesson.sparse(10))
loader = data.loader(batch_size=SIZE, shuffle=True, seed=1)
weights = jnp.zeros((64, 10))
for epoch in range(2):
    right = 0
    for batch in loader:
        padding = SIZE - len(batch)
        x = np.pad(batch["features"], ((0, padding), (0, 0)))
        weights, more = step(weights, x, np.pad(batch["labels"].indices, (0, padding)), np.arange(SIZE) < len(batch))
        right += int(more)
    report = loader.epoch_report()
    print(f"[epoch {epoch}] {report.batches} batches, {report.examples} digits, most right: {2 * right > report.examples}")
