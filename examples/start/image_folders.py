"""Images in a folder for each class, resized, as batches of one array.

Prints:

image: uint8 [16, 16, 3] ('circle', 'cross', 'square')
(25, 16, 16, 3) uint8 [1 2 0 0 2]
(5, 16, 16, 3) uint8 [0 2 1 2 1]
"""

import tempfile
import zipfile
from pathlib import Path

import tesson

PICTURES = Path(__file__).parents[1] / "pictures" / "test.zip"

with tempfile.TemporaryDirectory() as folder:
    with zipfile.ZipFile(PICTURES) as archive:
        for number, name in enumerate(archive.namelist()):
            image = Path(folder, ("circle", "cross", "square")[number % 3], name)
            image.parent.mkdir(exist_ok=True)
            image.write_bytes(archive.read(name))
    data = tesson.read_images(folder, size=(16, 16))
    print(data.schema["image"], data.schema["label"].classes)
    for batch in data.loader(batch_size=25, shuffle=True, seed=1):
        print(batch["image"].shape, batch["image"].dtype, batch["label"][:5])
