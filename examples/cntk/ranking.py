"""Ranking: a query is a sequence, its samples are the candidates, each with features and a gain.

Candidates of one query are compared only with each other, so they have to stay together: sequences are never cut. A
minibatch of 4 samples holds the 3 candidates of query 501; the 2 of query 502 do not fit any more, and come next, alone,
because the 3 of query 503 do not fit beside them either. The score is the first feature. Prints:

query 501: 2 of 3 pairs in order
query 502: 1 of 1 pairs in order
query 503: 2 of 3 pairs in order
candidates in each minibatch: [3, 2, 3]
"""

from itertools import combinations
from pathlib import Path

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

queries = CTFDeserializer(
    Path(__file__).with_suffix(".ctf"),
    StreamDefs(features=StreamDef(field="x", shape=2), gain=StreamDef(field="gain", shape=1)),
)


def in_order(scores, gains):
    """How many pairs of candidates with different gains the scores put in the order of the gains, and how many there are."""
    pairs = [(i, j) for i, j in combinations(range(len(gains)), 2) if gains[i] != gains[j]]
    return sum((scores[i] - scores[j]) * (gains[i] - gains[j]) > 0 for i, j in pairs), len(pairs)


sizes = []
with MinibatchSource(queries, randomize=False, max_sweeps=1) as source:
    for minibatch in source.minibatches(4):
        features, gain = minibatch["features"], minibatch["gain"]
        sizes.append(features.num_samples)
        for key, x, g in zip(features.keys, features.as_sequences(), gain.as_sequences()):
            right, pairs = in_order(x[:, 0], g[:, 0])
            print(f"query {key}: {right} of {pairs} pairs in order")
print("candidates in each minibatch:", sizes)
