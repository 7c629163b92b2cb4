"""Scripts written for ``cntk.io`` that only read: with another import they read on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs, sequence_to_cntk_text_format

#: The shape of scripts in CNTK's tutorials and tests; only ``io`` and ``device`` come from elsewhere here.
READING = """
def create_reader(path, is_training, input_dim, num_label_classes):
    return io.MinibatchSource(io.CTFDeserializer(path, io.StreamDefs(
        features=io.StreamDef(field='x', shape=input_dim, is_sparse=False),
        labels=io.StreamDef(field='y', shape=num_label_classes, is_sparse=True)
    )), randomize=is_training, max_sweeps=io.INFINITELY_REPEAT if is_training else 1)

class Variable:
    pass

feature_var, label_var = Variable(), Variable()
reader = create_reader('train.ctf', False, 4, 3)
input_map = {feature_var: reader.streams.features, label_var: reader.streams.labels}
seen = 0
checkpoint = None
while True:
    data = reader.next_minibatch(4, input_map=input_map, device=device)
    if not data:
        break
    seen += data[feature_var].num_samples
    assert data[label_var].num_sequences == data[feature_var].num_sequences
    if checkpoint is None:
        checkpoint = reader.get_checkpoint_state()
        second = None
    elif second is None:
        second = data[feature_var].asarray()
assert seen == 6
reader.restore_from_checkpoint(checkpoint)
again = reader.next_minibatch(4, input_map=input_map)
assert (again[feature_var].asarray() == second).all()

source = create_reader('train.ctf', True, 4, 3)
mb = source.next_minibatch(6)
features = mb[source.streams['features']]
assert features.data.shape == (6, 1, 4)
assert features.data.asarray().shape == (6, 1, 4)
assert features.data.mask.shape == (6, 1)
assert mb[source.stream_info('labels')].is_sparse
assert len(mb[source['labels']].as_sequences(label_var)) == 6
assert len(features) == 6 and np.asarray(features.data).shape == (6, 1, 4)
assert features.end_of_sweep
assert [info.name for info in source.stream_infos()] == ['features', 'labels']
one = io.MinibatchSource([io.CTFDeserializer('train.ctf', io.StreamDefs(x=io.StreamDef('x', 4, False, None)))],
                         max_samples=io.FULL_DATA_SWEEP, randomization_window_in_chunks=0)
assert one.next_minibatch(minibatch_size_in_samples=100, num_data_partitions=2, partition_index=1)['x'].num_samples == 3
"""

#: Pictures, as tutorials train on them, and with regions, in the older object style.
IMAGES = """
def create_reader(map_file, mean_file, train):
    transforms = [io.transforms.crop(crop_type='randomside', side_ratio=0.8)] if train else []
    transforms += [
        io.transforms.scale(width=32, height=32, channels=3, interpolations='linear'),
        io.transforms.mean(mean_file),
    ]
    return io.MinibatchSource(io.ImageDeserializer(map_file, io.StreamDefs(
        features=io.StreamDef(field='image', transforms=transforms),
        labels=io.StreamDef(field='label', shape=3))), randomize=train, max_sweeps=1)

for train in (True, False):
    reader = create_reader(pictures + '/train_map.txt', pictures + '/mean.xml', train)
    data = reader.next_minibatch(20, input_map={'x': reader.streams.features, 'y': reader.streams.labels})
    assert data['x'].asarray().shape == (20, 1, 3, 32, 32) and data['x'].asarray().min() < 0
    assert data['y'].asarray().shape == (20, 1, 3) and data['y'].asarray().sum() == 20

scale = io.ImageDeserializer.scale(width=96, height=96, channels=3, scale_mode="pad", pad_value=114, interpolations='linear')
images = io.ImageDeserializer(pictures + '/scenes_map.txt')
images.ignore_labels()
images.map_features('features', [scale])
regions = io.CTFDeserializer(pictures + '/regions.ctf')
regions.map_input('rois', dim=4, format='dense', alias='r')
labels = io.CTFDeserializer(pictures + '/region_labels.ctf')
labels.map_input('roiLabels', dim=3, format='sparse', alias='c')
joined = io.MinibatchSource([images, regions, labels], max_samples=sys.maxsize, randomize=False).next_minibatch(6)
assert (joined['features'].shape, joined['rois'].shape) == ((3, 1, 3, 96, 96), (3, 3, 4))
"""

#: A table of a user's own, as in CNTK's manual.
USER = """
class CSVDeserializer(io.UserDeserializer):
    def __init__(self, filename, streams, chunksize=16):
        super(CSVDeserializer, self).__init__()
        self._chunksize = chunksize
        self._filename = filename
        self._streams = [io.StreamInformation(s['name'], i, 'dense', np.float32, s['shape']) for i, s in enumerate(streams)]
        self._num_chunks = int(math.ceil(os.stat(filename).st_size / chunksize))

    def stream_infos(self):
        return self._streams

    def num_chunks(self):
        return self._num_chunks

    def get_chunk(self, chunk_id):
        with open(self._filename, 'rb') as fin:
            text = fin.read()
        begin = chunk_id * self._chunksize
        end = min(len(text), begin + self._chunksize)
        if begin > 0:
            begin = text.index(b'\\n', begin - 1) + 1
        end = text.index(b'\\n', end - 1) + 1
        rows = [line.split(b',') for line in text[begin:end].splitlines()]
        mat = np.array(rows, dtype=np.float32).reshape(len(rows), 3)
        result, column = {}, 0
        for stream in self._streams:
            width = stream.shape[0]
            result[stream.name] = np.ascontiguousarray(mat[:, column:column + width])
            column += width
        return result

d = CSVDeserializer('table.csv', [dict(name='x', shape=(2,)), dict(name='y', shape=(1,))])
mbs = io.MinibatchSource([d], randomize=False, max_sweeps=2)
mb = mbs.next_minibatch(20)
assert mb[mbs.streams.x].asarray().shape[0] == 20
state = mbs.get_checkpoint_state()
rest = mbs.next_minibatch(100)
found = np.concatenate([mb[mbs.streams.x].asarray(), rest[mbs.streams.x].asarray()])[:, 0]
assert (found == np.concatenate([table[:, :2], table[:, :2]])).all()
mbs = io.MinibatchSource([d], randomize=False, max_sweeps=2)
mbs.restore_from_checkpoint(state)
assert (mbs.next_minibatch(100)[mbs.streams.y].asarray() == rest[mbs.streams.y].asarray()).all()
"""


def test_what_is_written_as_text_is_read_back(files: Path) -> None:
    sequences = [
        {"d": np.array([[0.1, 2], [3, -4]], np.float32), "s": csr_matrix([[0, 0.5, 7]])},
        {"d": [np.array([5, 6])], "s": [csr_matrix([[1, 0, 0]]), csr_matrix([[0, 0, 2]])]},
    ]
    text = "\n".join(sequence_to_cntk_text_format(i, s) for i, s in enumerate(sequences))
    assert text.splitlines()[2:] == ["1\t|d 5 6 |s 0:1", "1\t|s 2:2"]
    (files / "written.ctf").write_text(text + "\n")
    streams = StreamDefs(d=StreamDef("d", 2), s=StreamDef("s", 3, is_sparse=True))
    source = MinibatchSource(CTFDeserializer("written.ctf", streams), randomize=False)
    minibatch = source.next_minibatch(4)
    assert minibatch["d"].samples.tolist() == np.array([[0.1, 2], [3, -4], [5, 6]], np.float32).tolist()
    assert [s.toarray().tolist() for s in minibatch["s"].as_sequences()] == [[[0, 0.5, 7]], [[1, 0, 0], [0, 0, 2]]]


@pytest.mark.parametrize("script", [READING, IMAGES, USER], ids=["reading", "pictures", "user"])
def test_a_script_for_cntk_runs(script: str, files: Path) -> None:
    table = np.array([[i, 2 * i, 3 * i] for i in range(15)], np.float32)
    (files / "table.csv").write_text("".join(f"{a:g},{b:g},{c:g}\n" for a, b, c in table))
    images = str(Path(__file__).parents[4] / "examples" / "pictures")
    names = {"device": object(), "table": table, "pictures": images}
    exec("import math, os, sys, numpy as np\nimport tesson.io as io\n" + script, names)
