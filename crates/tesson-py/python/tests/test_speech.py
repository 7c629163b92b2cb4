"""Features of speech that Python opens."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tesson.io import (
    HTKMLFDeserializer,
    KaldiAlignmentDeserializer,
    KaldiFeatureDeserializer,
    MinibatchSource,
    StreamDef,
)


def test_a_matrix_of_kaldi_is_read_from_python(tmp_path: Path) -> None:
    (tmp_path / "f.ark").write_bytes(b"u1  [\n  1 2\n  3 4 ]\nu2  [\n  5 6 ]\n")
    deserializer = KaldiFeatureDeserializer({"x": StreamDef(shape=2)}, ark=tmp_path / "f.ark")
    source = MinibatchSource(deserializer, randomize=False, max_sweeps=1)
    minibatch = next(iter(source.minibatches(3)))
    assert minibatch["x"].samples.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert minibatch["x"].keys == ["u1", "u2"]


def test_labels_of_cntk_do_not_define_the_size_of_minibatches_and_those_of_kaldi_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Two frames and one label in each utterance.
    (tmp_path / "f.ark").write_bytes(b"u1  [\n  1\n  2 ]\nu2  [\n  3\n  4 ]\n")
    (tmp_path / "l.mlf").write_text('#!MLF!#\n"u1"\n0 100000 s 0\n.\n"u2"\n0 100000 s 1\n.\n')
    (tmp_path / "l.ark").write_text("u1 0\nu2 1\n")
    features = KaldiFeatureDeserializer({"x": StreamDef(shape=1)}, ark=tmp_path / "f.ark")

    def keys(labels: HTKMLFDeserializer | KaldiAlignmentDeserializer) -> list[str]:
        source = MinibatchSource([features, labels], randomize=False, max_sweeps=1)
        return list(source.next_minibatch(2)["x"].keys)

    cntk = {"y": StreamDef(mlf=tmp_path / "l.mlf", shape=2, defines_mb_size=True)}
    kaldi = {"y": StreamDef(shape=2, defines_mb_size=True)}
    with caplog.at_level(logging.WARNING, "tesson"):
        assert keys(HTKMLFDeserializer(None, cntk)) == ["u1"]
    assert caplog.text.count("stream `y`: `defines_mb_size` is ignored, since CNTK 2.7 does not read it") == 1, caplog.text
    assert keys(KaldiAlignmentDeserializer(tmp_path / "l.ark", kaldi)) == ["u1", "u2"]
