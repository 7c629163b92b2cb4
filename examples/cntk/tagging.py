"""Tagging: a sentence is a sequence of words, and every word has a tag.

Rows with the same id are one sequence. The size of a minibatch counts samples, here words: sentences of 3, 2 and 1 words
fill a minibatch of 5 with two sentences. `asarray` pads them to the longest, and `mask` says which cells are words:
2 the first of a sentence, 1 the following ones, 0 padding. Prints:

sentences [0, 1] have [3, 2] words
tags, padded
[[0 2 1]
 [0 0 0]]
mask
[[2 1 1]
 [2 1 0]]
sentences [2] have [1] words
tags, padded
[[2]]
mask
[[2]]
"""

from pathlib import Path

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

sentences = CTFDeserializer(
    Path(__file__).with_suffix(".ctf"),
    StreamDefs(words=StreamDef(field="w", shape=5, is_sparse=True), tags=StreamDef(field="t", shape=3, is_sparse=True)),
)
with MinibatchSource(sentences, randomize=False, max_sweeps=1) as source:
    for minibatch in source.minibatches(5):
        tags = minibatch["tags"]
        print("sentences", tags.keys, "have", [s.shape[0] for s in minibatch["words"].as_sequences()], "words")
        # [sentences, longest, 3] of one-hot vectors; padding is all zeros and would also give 0 here.
        print("tags, padded", tags.asarray().argmax(axis=-1), "mask", tags.mask, sep="\n")
