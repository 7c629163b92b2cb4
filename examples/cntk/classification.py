"""Classification: each row is a vector of features and a class.

The file has no ids, so every row is a sequence of one sample, and a minibatch of size 2 is two rows. Prints:

[[0.  1. ]
 [0.5 1.5]] [0 2]
[[1.  2. ]
 [1.5 2.5]] [1 1]
[[2. 3.]] [0]
"""

from pathlib import Path

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

rows = CTFDeserializer(
    Path(__file__).with_suffix(".ctf"),
    StreamDefs(features=StreamDef(field="x", shape=2), labels=StreamDef(field="y", shape=3, is_sparse=True)),
)
with MinibatchSource(rows, randomize=False, max_sweeps=1) as source:
    for minibatch in source.minibatches(2):
        # Row i of the features belongs to row i of the labels, or this is an error.
        features, labels = minibatch.paired("features", "labels")
        # A class is a one-hot vector with a single entry: its column is the class.
        print(features.samples, labels.class_indices)
