"""A custom deserializer in Python: a table of comma-separated numbers, a chunk for every four rows.

The engine adds order, workers, saving and resuming, and joining with other files. Prints:

prices in the order of the file: 210 280 150 390 200 110 265 160 480 225
shuffled, worker 0 of 2: 200 390 225 150 480 110 210
goes on after a restart: True
"""

from pathlib import Path

import numpy as np

from tesson import UserDeserializer
from tesson.io import MinibatchSource, StreamInformation


class Table(UserDeserializer):
    def __init__(self, file, streams, rows_in_chunk=4):
        self.header, *self.rows = Path(file).read_text().splitlines()
        self.streams, self.rows_in_chunk = streams, rows_in_chunk

    def stream_infos(self):
        return [StreamInformation(name, i, "dense", np.float32, len(c)) for i, (name, c) in enumerate(self.streams.items())]

    def num_chunks(self):
        return -(-len(self.rows) // self.rows_in_chunk)

    def _rows(self, chunk_id):
        return self.rows[chunk_id * self.rows_in_chunk :][: self.rows_in_chunk]

    # Declared, so that the table need not be read before the first minibatch.
    def sequence_lengths(self, chunk_id):
        return [1] * len(self._rows(chunk_id))

    def get_chunk(self, chunk_id):
        table = np.loadtxt(self._rows(chunk_id), delimiter=",", ndmin=2)
        names = self.header.split(",")
        return {name: table[:, [names.index(c) for c in columns]] for name, columns in self.streams.items()}


def prices(source):
    return [f"{price:.0f}" for minibatch in source.minibatches(3) for price in minibatch["price"].samples[:, 0]]


houses = Table(Path(__file__).with_suffix(".csv"), {"size": ["rooms", "metres"], "price": ["price"]})
houses.composable = True  # Shuffled and shared as files are.
print("prices in the order of the file:", *prices(MinibatchSource(houses, randomize=False, max_sweeps=1)))
print("shuffled, worker 0 of 2:", *prices(MinibatchSource(houses, max_sweeps=1, world=(0, 2))))
with MinibatchSource(houses, max_sweeps=1) as source, MinibatchSource(houses, max_sweeps=1) as again:
    source.next_minibatch(4)
    again.restore_from_checkpoint(source.get_checkpoint_state())
    print("goes on after a restart:", prices(again) == prices(source))
