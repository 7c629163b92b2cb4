"""Pairs of bags of words: each row is a query and a document, both sparse.

A sparse stream comes as the three arrays of a CSR matrix over all samples of the minibatch, without padding. Here they
become matrices, and the scores of the pairs are the products of their rows. The first row of the file is a comment,
which is no sequence. Prints:

3 pairs, 6 entries of documents
scores [3. 0. 6.]
"""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

WORDS = 6

pairs = CTFDeserializer(
    Path(__file__).with_suffix(".ctf"),
    StreamDefs(
        query=StreamDef(field="q", shape=WORDS, is_sparse=True),
        document=StreamDef(field="d", shape=WORDS, is_sparse=True),
    ),
)


def matrix(data):
    """The samples of a sparse stream as one matrix ``[samples, words]``, without a copy."""
    return csr_matrix((data.values, data.indices, data.indptr), shape=(data.num_samples, WORDS))


with MinibatchSource(pairs, randomize=False, max_sweeps=1) as source:
    minibatch = source.next_minibatch(100)
    query, document = matrix(minibatch["query"]), matrix(minibatch["document"])
    print(f"{minibatch.num_sequences} pairs, {document.nnz} entries of documents")
    print("scores", np.ravel(query.multiply(document).sum(axis=1)))
