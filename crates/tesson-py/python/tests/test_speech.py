"""Features of speech that Python opens."""

from __future__ import annotations

from pathlib import Path

from tesson import KaldiFeatureDeserializer, MinibatchSource, StreamDef


def test_a_matrix_of_kaldi_is_read_from_python(tmp_path: Path) -> None:
    (tmp_path / "f.ark").write_bytes(b"u1  [\n  1 2\n  3 4 ]\nu2  [\n  5 6 ]\n")
    deserializer = KaldiFeatureDeserializer({"x": StreamDef(shape=2)}, ark=tmp_path / "f.ark")
    source = MinibatchSource(deserializer, randomize=False, max_sweeps=1)
    minibatch = next(iter(source.minibatches(3)))
    assert minibatch["x"].samples.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert minibatch["x"].keys == ["u1", "u2"]
