"""Frames of speech with the states that they belong to: ragged streams, joined by the name of the utterance.

Prints:

Schema(features: ragged float32 [363], labels: ragged int64 [])
seven_train3 [69 70 70] (7, 72, 363) 98% [0 0 0 0]
9 batches an epoch
"""

from pathlib import Path

import tesson

SPEECH = Path(__file__).parents[1] / "speech"

features = tesson.read_htk(SPEECH / "train.scp", context=(5, 5))
states = tesson.read_mlf([SPEECH / "a.mlf", SPEECH / "b.mlf"], states=SPEECH / "states.list")
data = features.join(states)
print(data.schema)

loader = data.loader(batch_samples=500, shuffle=True, seed=1, bucket_by_length=True)
for batch in loader:
    frames, labels = batch["features"], batch["labels"]
    padded, mask = frames.pad()
    print(batch.keys[0], frames.lengths[:3], padded.shape, f"{mask.mean():.0%}", labels.values[:4])
    break
print(len(loader), "batches an epoch")
