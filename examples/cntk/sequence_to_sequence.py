"""Sequence to sequence: a source and a target of different lengths under one id.

The rows of an id need not hold both. A sequence counts with its rows, unless a stream *defines* the size of minibatches
(``defines_mb_size=True``, ``definesMBSize`` in configurations): then only the samples of that stream are counted. With
minibatches of 5 samples the first pair (3 rows) and the second (2 rows) come together; counting targets alone (2 + 2 + 1)
all three do. Prints:

counting rows: pairs [1, 2], sources 3 1, targets 2 2
counting rows: pairs [3], sources 1, targets 1
counting targets: pairs [1, 2, 3], sources 3 1 1, targets 2 2 1
"""

from pathlib import Path

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

SYMBOLS = 8


def lengths(data):
    return " ".join(str(sequence.shape[0]) for sequence in data.as_sequences())


for counting in ("rows", "targets"):
    pairs = CTFDeserializer(
        Path(__file__).with_suffix(".ctf"),
        StreamDefs(
            source=StreamDef(shape=SYMBOLS, is_sparse=True),
            target=StreamDef(shape=SYMBOLS, is_sparse=True, defines_mb_size=counting == "targets"),
        ),
    )
    with MinibatchSource(pairs, randomize=False, max_sweeps=1) as reader:
        for minibatch in reader.minibatches(5):
            source, target = minibatch["source"], minibatch["target"]
            print(f"counting {counting}: pairs {source.keys}, sources {lengths(source)}, targets {lengths(target)}")
