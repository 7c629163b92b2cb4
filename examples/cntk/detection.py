"""Detection: images of any size, the regions of interest in each, and what each region shows.

``images_joined.cntk`` joins three files by key: a map of pictures, and two texts in which a picture has one sample for each of
its regions. Pictures are scaled and padded to squares; regions (left, top, width, height) are shares of the square, so they
stay right at any size. The shapes are dark: how much of its region each fills tells them apart. Prints:

pictures (4, 1, 3, 96, 96), regions (4, 3, 4) of which each picture has [1, 2, 3, 1]
pictures (4, 1, 3, 96, 96), regions (4, 3, 4) of which each picture has [2, 3, 1, 2]
pictures (4, 1, 3, 96, 96), regions (4, 3, 4) of which each picture has [3, 1, 2, 3]
9 regions of a circle are dark in 74% to 82%
5 regions of a square are dark in 100% to 100%
10 regions of a triangle are dark in 47% to 53%
"""

from pathlib import Path

import numpy as np

from tesson.io import MinibatchSource

SHAPES = ("circle", "square", "triangle")


def filled(image, region):
    """The share of a region that is dark. `image` is [channels, height, width], `region` in shares of it."""
    left, top, width, height = region * image.shape[-1]
    rows, columns = slice(round(top), round(top + height)), slice(round(left), round(left + width))
    return float((image[:, rows, columns].mean(axis=0) < 128).mean())


found: dict[str, list[float]] = {shape: [] for shape in SHAPES}
with MinibatchSource.from_config(Path(__file__).with_name("images_joined.cntk")) as source:
    for minibatch in source:
        images, regions = minibatch["features"], minibatch["regions"]
        print(f"pictures {images.shape}, regions {regions.shape} of which each picture has {regions.lengths.tolist()}")
        # `regions` and `regionLabels` have the same samples in the same order; `lengths` has the number of regions of
        # each image.
        image_of = np.repeat(np.arange(minibatch.num_sequences), regions.lengths)
        paired, labels = minibatch.paired("regions", "regionLabels")
        for number, region, label in zip(image_of, paired.samples, labels.class_indices, strict=True):
            found[SHAPES[label]].append(filled(images.samples[number], region))
for shape, shares in found.items():
    print(f"{len(shares)} regions of a {shape} are dark in {min(shares):.0%} to {max(shares):.0%}")
