"""Deserializers and streams as parts of a configuration. No file is opened here."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from tesson import ConfigError
from tesson.io import (
    CBFDeserializer,
    CTFDeserializer,
    HTKFeatureDeserializer,
    HTKMLFBinaryDeserializer,
    HTKMLFDeserializer,
    KaldiAlignmentDeserializer,
    KaldiFeatureDeserializer,
    StreamDef,
    StreamDefs,
    TFDSDeserializer,
)


def test_a_stream_has_its_cntk_spelling_in_the_dict_form() -> None:
    streams = StreamDefs(
        a=StreamDef("x", 3), b=StreamDef(shape=5, is_sparse=True), c=StreamDef(shape=(2, 2), defines_mb_size=True)
    )
    assert CTFDeserializer(Path("d") / "f.ctf", streams).config == {
        "type": "CNTKTextFormatDeserializer",
        "file": "d/f.ctf",
        "input": {
            "a": {"alias": "x", "dim": 3, "format": "dense"},
            "b": {"dim": 5, "format": "sparse"},
            "c": {"dim": 4, "format": "dense", "definesMBSize": True},
        },
    }


def test_the_older_object_style_gives_the_same_configuration() -> None:
    old = CTFDeserializer("f.ctf")
    old.map_input("rois", dim=400, format="dense").map_input("labels", 3, "sparse", alias="y", defines_mb_size=True)
    new = StreamDefs(rois=StreamDef(shape=400), labels=StreamDef("y", 3, True, defines_mb_size=True))
    assert old.config == CTFDeserializer("f.ctf", new).config


@pytest.mark.parametrize("deserializer", [CBFDeserializer, CTFDeserializer])
def test_several_files_are_a_list(deserializer: type[CBFDeserializer | CTFDeserializer]) -> None:
    assert deserializer([Path("d") / "a", "b-*"]).config["file"] == ["d/a", "b-*"]
    assert "['d/a', 'b-*']" in repr(deserializer([Path("d") / "a", "b-*"]))


def test_options_that_are_not_given_are_not_in_the_configuration() -> None:
    assert CTFDeserializer("f").config == {"type": "CNTKTextFormatDeserializer", "file": "f", "input": {}}
    config = CTFDeserializer("f", max_errors=0, skip_sequence_ids=False, chunk_size_in_bytes=64).config
    assert (config["maxErrors"], config["skipSequenceIds"], config["chunkSizeInBytes"]) == (0, False, 64)


@pytest.mark.parametrize("shape", [5, (5,), [5], np.int64(5)])
def test_a_shape_may_be_any_kind_of_whole_number_or_sequence_of_them(shape: int) -> None:
    assert StreamDef(shape=shape).shape == (5,)


def test_a_sparse_stream_has_one_dimension() -> None:
    with pytest.raises(ConfigError, match=r"\(2, 3\) of `x`, a sparse stream, expected one dimension"):
        StreamDef("x", shape=(2, 3), is_sparse=True)
    with pytest.raises(ConfigError, match=r"\(2, 3\) of `labels`, a sparse stream, expected one dimension"):
        StreamDefs(labels=StreamDef(shape=(2, 3), is_sparse=True))


def test_what_is_no_stream_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="stream `x`"):
        StreamDefs(x=3)  # type: ignore[arg-type]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigError, match="`csr`, expected `dense` or `sparse`"):
        CTFDeserializer("f").map_input("x", 3, "csr")


def test_definitions_show_what_would_rebuild_them() -> None:
    deserializer = CTFDeserializer("f", StreamDefs({"a b": StreamDef(shape=2)}, c=StreamDef("x", 3)), rules="cntk")
    assert eval(repr(deserializer)).config == deserializer.config


def test_a_binary_file_says_itself_what_its_streams_are() -> None:
    streams = StreamDefs(a=StreamDef("x", 3), b=StreamDef(shape=(2, 2)))
    deserializer = CBFDeserializer(Path("d") / "f.cbf", streams, skip=["c"], precision="double")
    assert deserializer.config == {
        "type": "CNTKBinaryFormatDeserializer",
        "file": "d/f.cbf",
        "precision": "double",
        "input": {"a": {"alias": "x"}, "b": {}, "c": {"skip": True}},
    }
    assert eval(repr(deserializer)).config == deserializer.config
    with pytest.raises(ConfigError, match="`a` is a stream and is left out"):
        CBFDeserializer("f.cbf", streams, skip="a")


def test_definitions_pickle() -> None:
    deserializer = CTFDeserializer("f", StreamDefs(c=StreamDef("x", 3)))
    assert pickle.loads(pickle.dumps(deserializer)).config == deserializer.config


def test_a_prepared_dataset_has_keys_and_shapes() -> None:
    streams = StreamDefs(image=StreamDef(shape=(28, 28, 3)), y=StreamDef("label", 10, is_sparse=True), z=StreamDef())
    deserializer = TFDSDeserializer("mnist/3.0.1", streams, key="id")
    assert deserializer.config["key"] == "id"
    assert deserializer.config["input"] == {
        "image": {"shape": [28, 28, 3]},
        "y": {"feature": "label", "format": "sparse", "dim": 10},
        "z": {},
    }
    assert eval(repr(deserializer)).config == deserializer.config


def test_labels_of_speech_have_their_cntk_spelling_in_the_dict_form() -> None:
    streams = StreamDefs(labels=StreamDef(mlf=["a.mlf", "b.mlf"], shape=132, defines_mb_size=True))
    section = {"dim": 132, "phoneBoundaries": True, "mlfFileList": ["a.mlf", "b.mlf"], "definesMBSize": True}
    text = HTKMLFDeserializer(Path("d") / "states", streams, phoneBoundaries=True, frame_period=50000)
    assert text.config == {
        "type": "HTKMLFDeserializer",
        "input": {"labels": section | {"labelMappingFile": "d/states", "framePeriod": 50000}},
    }
    binary = HTKMLFBinaryDeserializer(StreamDefs(labels=StreamDef(mlf="a", shape=3)), chunk_size_in_bytes=9)
    assert binary.config == {
        "type": "HTKMLFBinaryDeserializer",
        "chunkSizeInBytes": 9,
        "input": {"labels": {"dim": 3, "phoneBoundaries": False, "mlfFile": "a"}},
    }
    assert repr(binary).startswith("HTKMLFBinaryDeserializer(StreamDefs(labels=")


@pytest.mark.parametrize(
    ("stream", "what"),
    [
        (StreamDef("x", 3, mlf="a"), "streams.l.field: found 'x'"),
        (StreamDef(shape=3), "streams.l.mlf: the label file is missing"),
        (StreamDef(mlf="a"), "streams.l.shape: found None, expected the number of classes"),
    ],
)
def test_a_stream_that_is_none_of_labels_is_refused(stream: StreamDef, what: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(what)):
        HTKMLFDeserializer(None, StreamDefs(l=stream))
    with pytest.raises(ConfigError, match="found 2 streams, expected one of labels"):
        HTKMLFBinaryDeserializer(StreamDefs(a=stream, b=stream))


def test_a_stream_of_features_is_spelt_as_in_cntk() -> None:
    stream = StreamDef(
        shape=33, scp="a.scp", context=(5, 3), broadcast=True, defines_mb_size=True, max_sequence_length=800
    )
    deserializer = HTKFeatureDeserializer({"x": stream}, prefix_path_in_scp="p", byte_order="big", allow_kinds=["LPC"])
    assert deserializer.config == {
        "type": "HTKFeatureDeserializer",
        "byteOrder": "big",
        "allowKinds": ["LPC"],
        "input": {
            "x": {
                "scpFile": "a.scp", "dim": 33, "contextWindow": [5, 3], "prefixPathInSCP": "p",
                "expandToUtterance": True, "definesMBSize": True, "maxSequenceSize": 800,
            }
        },
    }
    assert eval(repr(deserializer)).config == deserializer.config


def test_several_streams_of_features_are_as_many_deserializers() -> None:
    streams = StreamDefs(x=StreamDef(shape=3, scp=["a", "b"]), y=StreamDef(shape=4, scp="c"))
    deserializer = HTKFeatureDeserializer(streams, root="r")
    assert [part.config for part in deserializer.parts] == [
        {"type": "HTKFeatureDeserializer", "root": "r", "input": {"x": {"scpFile": ["a", "b"], "dim": 3}}},
        {"type": "HTKFeatureDeserializer", "root": "r", "input": {"y": {"scpFile": "c", "dim": 4}}},
    ]
    with pytest.raises(ConfigError, match="2 streams are as many deserializers"):
        deserializer.config


def test_a_stream_of_features_lacks_nothing_and_has_nothing_of_others() -> None:
    with pytest.raises(ConfigError, match="streams.x.scp: it is missing"):
        HTKFeatureDeserializer({"x": StreamDef(shape=3)})
    with pytest.raises(ConfigError, match="streams.x.field: a stream of features has none"):
        HTKFeatureDeserializer({"x": StreamDef("x", shape=3, scp="a")})


def test_features_of_kaldi_are_named_by_their_stream_or_by_archives() -> None:
    stream = StreamDef(shape=40, scp=["a.scp", "b.scp"], context=(5, 3), defines_mb_size=True, max_sequence_length=800)
    listed = KaldiFeatureDeserializer({"x": stream}, root="r", chunk_size_in_frames=500)
    assert listed.config == {
        "type": "KaldiFeatureDeserializer",
        "root": "r",
        "chunkSizeInFrames": 500,
        "input": {
            "x": {
                "dim": 40, "contextWindow": [5, 3], "scpFile": ["a.scp", "b.scp"], "definesMBSize": True,
                "maxSequenceSize": 800,
            }
        },
    }
    assert eval(repr(listed)).config == listed.config
    archives = KaldiFeatureDeserializer({"x": StreamDef(shape=40)}, ark=Path("d") / "feats.*.ark")
    assert archives.config["input"] == {"x": {"dim": 40, "arkFile": "d/feats.*.ark"}}
    assert eval(repr(archives)).config == archives.config
    with pytest.raises(ConfigError, match="streams.x.scp: it is missing"):
        KaldiFeatureDeserializer({"x": StreamDef(shape=40)})
    with pytest.raises(ConfigError, match="found 2 streams, expected one of features"):
        KaldiFeatureDeserializer({"x": StreamDef(shape=1), "y": StreamDef(shape=1)}, ark="a")


def test_alignments_of_kaldi_are_named_beside_their_stream() -> None:
    streams = StreamDefs(labels=StreamDef(shape=132))
    one = KaldiAlignmentDeserializer(Path("d") / "ali.ark", streams, length_tolerance=2)
    assert one.config == {
        "type": "KaldiAlignmentDeserializer",
        "input": {"labels": {"dim": 132, "arkFile": "d/ali.ark", "lengthTolerance": 2}},
    }
    several = KaldiAlignmentDeserializer(["a.ark", Path("b.ark")], streams)
    assert several.config["input"]["labels"]["arkFile"] == ["a.ark", "b.ark"]
    assert repr(several).startswith("KaldiAlignmentDeserializer(['a.ark', 'b.ark'], StreamDefs(")
