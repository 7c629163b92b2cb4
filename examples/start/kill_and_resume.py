"""A run that is killed with `kill -9` after every tenth batch, and one that is not, see the same: their hashes are equal.

Prints:

4a234c57eb197324 after 0 kills
4a234c57eb197324 after 13 kills
"""

import hashlib
import json
import multiprocessing
import os
import tempfile
from pathlib import Path

import tesson


def train(checkpoint: Path, batches: int) -> None:
    digits = tesson.read_ctf(Path(__file__).parents[1] / "digits" / "train.ctf", features=64)
    loader, seen = digits.loader(batch_size=32, shuffle=True, seed=7, world=None), ""
    if checkpoint.exists():
        seen, state = json.loads(checkpoint.read_text())
        loader.load_state_dict(state)
    for batch in loader.steps(135 - loader.step):
        seen = hashlib.sha256(seen.encode() + batch["features"].tobytes()).hexdigest()
        checkpoint.with_suffix(".new").write_text(json.dumps([seen, loader.state_dict()]))
        checkpoint.with_suffix(".new").replace(checkpoint)
        (batches := batches - 1) or os.kill(os.getpid(), 9)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for checkpoint, batches in [(Path(folder, "whole"), 0), (Path(folder, "killed"), 10)]:
            runs, code = 0, -9
            while code == -9:
                child = multiprocessing.get_context("spawn").Process(target=train, args=(checkpoint, batches))
                child.start(), child.join()
                runs, code = runs + 1, child.exitcode
            print(json.loads(checkpoint.read_text())[0][:16], f"after {runs - 1} kills")
