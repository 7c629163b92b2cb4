"""Reviews as JSON lines: texts, and lists of numbers whose length differs, padded for a model.

Prints:

<Dataset reviews.jsonl: text str [], words ragged int64 [], stars int64 []>
['good' 'not my cup of tea'] [5 2]
[[ 7  0  0  0  0]
 [11  4 23  9 30]]
"""

import json
import tempfile
from pathlib import Path

import tesson

REVIEWS = [
    {"text": "good", "words": [7], "stars": 5},
    {"text": "not my cup of tea", "words": [11, 4, 23, 9, 30], "stars": 2},
    {"text": "fine", "words": [8], "stars": 4},
]

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "reviews.jsonl")
    path.write_text("".join(json.dumps(review) + "\n" for review in REVIEWS))
    data = tesson.read_json(path)
    print(repr(data).replace(f"{folder}/", ""))
    batch = next(iter(data.loader(batch_size=2)))
    print(batch["text"], batch["stars"])
    print(batch["words"].pad().values)
