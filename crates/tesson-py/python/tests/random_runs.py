"""Random runs of loaders that are saved, killed and resumed on other numbers of ranks: `python random_runs.py COUNT [FIRST]`.

Every run draws data, options, and a series of jobs from its number. A job opens a loader for each of its ranks from the last state,
goes some steps, and is killed after steps whose work is lost: its loaders are dropped in the middle of their loops. Each batch
must be that of one process which never stopped, whatever the jobs were: the ranks have each of its examples, in its epoch and with its
values, and more than that only where the report says that some were repeated.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from typing import Any

import numpy as np
import tesson

#: The epochs of each run.
_EPOCHS = 2


class Run:
    """The data and the options of one run, and what an uninterrupted process reads of them."""

    def __init__(self, number: int) -> None:
        self.chance = chance = random.Random(number)
        count = chance.randint(1, 24)
        self.x = np.array([chance.randrange(-(2**62), 2**62) for _ in range(count)], np.int64)
        self.y = [np.arange(chance.randint(1, 6), dtype=np.uint8) + example for example in range(count)]
        shuffle: Any = chance.choice([False, True, tesson.Window(chunks=chance.randint(1, 3)), tesson.Window(samples=chance.randint(1, 50))])
        size = "batch_size" if chance.random() < 0.7 else "batch_samples"
        self.options: dict[str, Any] = {size: chance.randint(2, 9), "shuffle": shuffle, "seed": chance.randrange(5), "threads": chance.randint(1, 3)}
        if shuffle and chance.random() < 0.3:
            self.options["bucket_by_length"] = True
        # A dataset that fills no batch is refused.
        if self.options.get("batch_size", count + 1) <= count and chance.random() < 0.3:
            self.options["drop_last"] = True
        with self.loader(0, 1) as alone:
            self.steps = [(epoch, batch.keys, batch.is_epoch_end) for epoch in range(_EPOCHS) for batch in alone]

    def loader(self, rank: int, ranks: int) -> tesson.Loader:
        """A loader of one rank."""
        return tesson.from_arrays(x=self.x, y=self.y).loader(**self.options, rank=rank, world_size=ranks)

    def check(self) -> int:
        """Go through the jobs; the number of batches that were compared."""
        chance, step, compared = self.chance, 0, 0
        state: dict[str, Any] | None = None
        while step < len(self.steps):
            ranks, saved_at, lost = chance.randint(1, 4), step + chance.randint(0, 12), chance.randint(0, 3)
            loaders = [self.loader(rank, ranks) for rank in range(ranks)]
            for loader in loaders:
                if state is not None:
                    loader.load_state_dict(state)
            last, saver = min(saved_at + lost, len(self.steps)), chance.randrange(ranks)
            passes = [iter(loader) for loader in loaders]
            for at in range(step, last):
                if at == saved_at:
                    state = json.loads(json.dumps(loaders[saver].state_dict()))
                batches = [next(one) for one in passes]
                self.compare(at, batches, ranks)
                compared += ranks
                if self.steps[at][2]:
                    for one in passes:
                        assert next(one, None) is None, f"step {at}: an epoch goes on after its end"
                    passes = [iter(loader) for loader in loaders]
            if last <= saved_at:
                state = json.loads(json.dumps(loaders[saver].state_dict()))
            step = min(saved_at, len(self.steps))
        return compared

    def compare(self, at: int, batches: list[tesson.Batch], ranks: int) -> None:
        """Compare the batches of all ranks with the one of the uninterrupted process."""
        epoch, keys, is_end = self.steps[at]
        found = Counter(key for batch in batches for key in batch.keys)
        expected = Counter(keys)
        where = f"step {at} on {ranks} ranks"
        assert all(len(batch) for batch in batches), f"{where}: an empty batch"
        assert all(batch.is_epoch_end == is_end for batch in batches), f"{where}: the end of the epoch"
        assert not expected - found, f"{where}: {expected - found} are missing"
        extra = found - expected
        assert set(extra) <= set(keys), f"{where}: {extra} belong to other batches"
        assert not extra or len(keys) < ranks, f"{where}: {extra} are repeated though there are enough"
        if ranks == 1:
            assert batches[0].keys == keys, f"{where}: another order"
        for batch in batches:
            assert np.array_equal(batch["x"], self.x[batch.keys]), f"{where}: other values"
            for key, row in zip(batch.keys, batch["y"], strict=True):
                assert row.dtype == np.uint8 and np.array_equal(row, self.y[key]), f"{where}: other values of {key}"


def check_runs(count: int, first: int = 0) -> int:
    """Check runs by their numbers; the number of batches that were compared."""
    compared = 0
    for number in range(first, first + count):
        run: Run | None = None
        try:
            run = Run(number)
            compared += run.check()
        except Exception as error:
            error.add_note(f"run {number}, with {run.options if run else 'options that are refused'}")
            raise
    return compared


if __name__ == "__main__":
    print(f"{check_runs(*map(int, sys.argv[1:]))} batches compared")
