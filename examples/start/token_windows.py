"""Tokens of a language model: windows of a flat file, and the same shifted by one as labels.

Prints:

<Dataset corpus.bin: tokens uint16 [8], labels uint16 [8]>
[10 11 12 13 14 15 16 17] [11 12 13 14 15 16 17 18]
12 windows of 100 tokens
"""

import tempfile
from pathlib import Path

import numpy as np
import tesson

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "corpus.bin")
    np.arange(10, 110, dtype=np.uint16).tofile(path)
    data = tesson.read_tokens(path, length=8)
    print(repr(data).replace(f"{folder}/", ""))
    batches = list(data.loader(batch_size=1))
    print(batches[0]["tokens"][0], batches[0]["labels"][0])
    print(len(batches), "windows of 100 tokens")
