"""Classification of sequences: a sequence of words with a single label, on any of its rows.

Streams of one sequence may have different lengths: `words` has as many samples as the sentence has words, `class` has
one. The longest counts for the size of the minibatch. A network would run over the words and compare its last output
with the label; here an average of the words stands in for it. Prints:

3 sequences: 6 words, 3 labels
10 [0.   0.33 0.   0.33 0.33] class 1
11 [1. 0. 0. 0. 0.] class 0
12 [0. 0. 1. 0. 0.] class 1
"""

from pathlib import Path

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

sentences = CTFDeserializer(
    Path(__file__).with_suffix(".ctf"),
    StreamDefs(
        words=StreamDef(field="w", shape=5, is_sparse=True),
        label=StreamDef(field="class", shape=2, is_sparse=True),
    ),
)
with MinibatchSource(sentences, randomize=False, max_sweeps=1) as source:
    minibatch = source.next_minibatch(100)
    words, label = minibatch["words"], minibatch["label"]
    print(f"{words.num_sequences} sequences: {words.num_samples} words, {label.num_samples} labels")
    # Streams of different lengths are paired by sequence.
    for key, sentence, one_hot in zip(words.keys, words.as_sequences(), label.as_sequences()):
        (digit,) = one_hot.indices
        print(key, sentence.mean(axis=0).A1.round(2), "class", digit)
