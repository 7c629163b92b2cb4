"""A split that TensorFlow Datasets has prepared, without TensorFlow.

Prints:

Schema(n: int64 [], name: bytes [])
{'n': [0, 1, 2], 'name': [b'zero', b'one', b'two']} False
{'n': [8, 9, 10], 'name': [b'eight', b'nine', b'ten']} True
"""

from pathlib import Path

import tesson

NUMBERS = Path(__file__).parents[1] / "tfds" / "numbers" / "1.0.0"

data = tesson.read_tfds(NUMBERS, split="train[:75%]")
print(data.schema)
loader = data.loader(batch_size=8)
for batch in loader:
    print({name: batch[name][:3].tolist() for name in batch}, batch.is_epoch_end)
