"""The digits of `digits.py` in PyTorch: tensors by name, epochs, and a position that is saved with the model.

Prints:

[epoch 0] 23 batches
[epoch 1] 23 batches
resumes in epoch 2
"""

from pathlib import Path

import tesson
import torch

DIGITS = Path(__file__).parents[1] / "digits" / "train.ctf"

data = tesson.read_ctf(DIGITS, features=64, labels=tesson.sparse(10))
batches = data.loader(batch_size=64, shuffle=True, seed=1).torch(layouts={"labels": "classes"})
model = torch.nn.Linear(64, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

for epoch in range(2):
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batch["features"]), batch["labels"]).backward()
        optimizer.step()
    print(f"[epoch {epoch}] {number + 1} batches")

state = {"model": model.state_dict(), "data": batches.state_dict()}  # for torch.save
again = data.loader(batch_size=64, shuffle=True, seed=1)
again.load_state_dict(state["data"])
print("resumes in epoch", again.epoch)
