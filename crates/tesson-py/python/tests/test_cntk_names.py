"""Names and behaviour of ``cntk.io`` that scripts rely on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import tesson
import tesson.io
import tesson.io.transforms
from tesson import ConfigError, ResumeError, UserDeserializer
from tesson.io import (
    CTFDeserializer,
    MinibatchData,
    MinibatchSource,
    MinibatchSourceFromData,
    StreamConfiguration,
    StreamDef,
    StreamDefs,
    StreamInformation,
    UserMinibatchSource,
    resolve_config,
    sequence_to_cntk_text_format,
)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ({"A": [{3: 1, 1: 2.5}, {}]}, "0\t|A 1:2.5 3:1\n0\t|A "),
        ({"W": np.array([])}, ""),
        ({"W": np.array([[[1, 0], [1, 0]], [[5, 6], [7, 8]]]), "L": [[[2]]]}, "0\t|L 2 |W 1 0 1 0\n0\t|W 5 6 7 8"),
        ({"A": csr_matrix([[0, 2.0], [1.0, 0]])}, "0\t|A 1:2.0\n0\t|A 0:1.0"),
        ({"A": [[1, 2], [3]], "B": [[True, False]]}, "0\t|A 1 2 |B 1 0\n0\t|A 3"),
    ],
)
def test_samples_of_all_kinds_become_text(samples: dict[str, Any], expected: str) -> None:
    assert sequence_to_cntk_text_format(0, samples) == expected


@pytest.mark.parametrize("samples", [object(), [object()], "abc", ["a"], {1: 2}, np.array(3), [{1: "x"}], [None]])
def test_what_is_no_sample_is_not_written_as_text(samples: Any) -> None:
    with pytest.raises(ValueError, match="input `A`: found .*, expected arrays of numbers, sparse matrices"):
        sequence_to_cntk_text_format(0, {"A": samples})


class Sequences(UserDeserializer):
    """Four sequences: of `x` two samples each, of `y` one."""

    def __init__(self, *counted: str, chunks: int = 1) -> None:
        self.counted, self.chunks = counted, chunks

    def stream_infos(self) -> list[StreamInformation]:
        names = ("x", "y")
        return [StreamInformation(n, i, "dense", np.float32, (1,), n in self.counted) for i, n in enumerate(names)]

    def num_chunks(self) -> int:
        return self.chunks

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        return {"x": np.arange(8).reshape(4, 2, 1), "y": np.arange(4).reshape(4, 1)}


@pytest.mark.parametrize(("counted", "sequences"), [((), 2), (("x",), 2), (("y",), 4)])
def test_the_stream_that_defines_the_size_alone_is_counted(counted: tuple[str, ...], sequences: int) -> None:
    with MinibatchSource(Sequences(*counted), randomize=False) as source:
        assert source.next_minibatch(4).num_sequences == sequences
        assert source.num_samples_per_sweep == (4 if counted == ("y",) else 8)
        state = source.get_checkpoint_state()
    if counted == ("y",):
        with MinibatchSource(Sequences(), randomize=False) as other, pytest.raises(ResumeError):
            other.restore_from_checkpoint(state)


def test_two_streams_that_define_the_size_are_refused() -> None:
    with pytest.raises(ConfigError, match="`x` and `y` have defines_mb_size, expected one at most"):
        MinibatchSource(Sequences("x", "y"))


def test_a_joined_deserializer_may_define_the_size(files: Path) -> None:
    text = CTFDeserializer("train.ctf", StreamDefs(features=StreamDef("x", 4)))
    for counted, sequences in [((), 2), (("y",), 4)]:
        with MinibatchSource([text, Sequences(*counted)], randomize=False) as source:
            assert source.next_minibatch(4).num_sequences == sequences


def test_sparse_streams_of_several_axes_take_matrices_of_all_their_columns() -> None:
    class Sparse(UserDeserializer):
        def stream_infos(self) -> list[StreamInformation]:
            return [StreamInformation("x", 0, "sparse", np.float32, (1, 3))]

        def num_chunks(self) -> int:
            return 1

        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            return {"x": [csr_matrix([[10, 0, 11]]), csr_matrix([[0, 7, 0], [0, 0, 8]])]}

    with MinibatchSource(Sparse(), randomize=False, max_sweeps=1) as source:
        assert source.streams.x.sample_shape == (1, 3)
        x = source.next_minibatch(9)["x"]
        assert x.shape == (2, 2, 1, 3)
        assert x.asarray().tolist() == [[[[10, 0, 11]], [[0, 0, 0]]], [[[0, 7, 0]], [[0, 0, 8]]]]
        assert [part.toarray().tolist() for part in x.as_sequences()] == [[[10, 0, 11]], [[0, 7, 0], [0, 0, 8]]]
    with MinibatchSourceFromData({"x": (csr_matrix([[10, 0, 11]]), (1, 3))}, 1) as source:
        assert source.next_minibatch(1)["x"].asarray().tolist() == [[[[10, 0, 11]]]]


class Given(UserMinibatchSource):
    """One minibatch of a given value."""

    def __init__(self, value: Any, n: int, shape: tuple[int, ...]) -> None:
        self.data, self.shape = MinibatchData(value, n, n, True), shape

    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("x", 0, "dense", np.float32, self.shape)]

    def next_minibatch(
        self, num_samples: int, number_of_workers: int, worker_rank: int, device: object = None
    ) -> Mapping[Any, MinibatchData]:
        return {"x": self.data}


@pytest.mark.parametrize(
    ("value", "shape", "sample_shape"),
    [((2, 1, 5), (5,), (5,)), ((2, 5), (5,), (5,)), ((2, 1, 3, 3), (1, 3, 3), (1, 3, 3)), ((2, 1, 1, 3, 3), (1, 3, 3), (1, 3, 3))],
)
def test_sequences_of_one_sample_gain_no_axis(
    value: tuple[int, ...], shape: tuple[int, ...], sample_shape: tuple[int, ...]
) -> None:
    array = np.arange(np.prod(value), dtype=np.float32).reshape(value)
    x = Given(array, 2, shape).next_minibatch(2, 1, 0)["x"]
    assert x.sample_shape == sample_shape
    assert x.asarray().shape == (2, 1, *sample_shape)
    assert x.samples.ravel().tolist() == array.ravel().tolist()


def test_a_value_with_an_axis_for_samples_stays_as_it_is() -> None:
    value = np.arange(10.0).reshape(2, 1, 5)
    assert np.array_equal(MinibatchData(value, 2, 2).asarray(), value)


def test_a_state_that_cannot_be_restored_is_not_dropped() -> None:
    source = Given(np.ones((2, 5)), 2, (5,))
    assert source.get_checkpoint_state() == {}
    source.restore_from_checkpoint({})
    with pytest.raises(NotImplementedError, match="Given cannot resume from {'position': 3}.*implement it"):
        source.load_state_dict({"position": 3})


def test_minibatch_data_have_the_names_of_cntk() -> None:
    data = MinibatchData(np.ones((3, 2)), 3, 3, True)
    assert (data.number_of_sequences, data.number_of_samples, data.sweep_end) == (3, 3, True)


def test_streams_have_the_names_of_cntk() -> None:
    info = StreamInformation("x", 0, "dense", np.float32, (2,), True)
    assert (info.m_name, info.sample_shape, info.defines_mb_size) == ("x", (2,), True)
    # The order of the arguments is CNTK's.
    stream = StreamDef("f", 40, False, None, (5, 5), "a.scp", "a.mlf", True, True, 100)
    assert (stream.stream_alias, stream.dim, stream.context, stream.scp) == ("f", 40, (5, 5), "a.scp")
    assert (stream.mlf, stream.broadcast, stream.defines_mb_size, stream.max_sequence_length) == ("a.mlf", True, True, 100)
    assert StreamDef("f").dim is None


def test_older_scripts_list_their_streams(files: Path) -> None:
    streams = [StreamConfiguration("features", 4, False, "x"), StreamConfiguration("y", 3, True)]
    with MinibatchSource(CTFDeserializer("train.ctf", streams), randomize=False) as source:
        assert list(source.streams) == ["features", "y"]
        assert source.next_minibatch(2)["y"].indices.tolist() == [0, 1]


def test_a_source_says_whether_it_ends() -> None:
    assert MinibatchSource.from_data(x=np.eye(2)).is_infinite()
    assert not MinibatchSource.from_data(x=np.eye(2), max_samples=5).is_infinite()
    assert not MinibatchSource.from_data(x=np.eye(2), max_sweeps=5).is_infinite()
    assert Given(np.ones((2, 5)), 2, (5,)).is_infinite()


def test_a_resolved_configuration_says_that_it_is_truncated() -> None:
    config = {"deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "f", "input": {"x": {"dim": 1, "format": "dense"}}}]}
    for options, expected in [({"truncationLength": 20}, True), ({}, False), ({"truncated": False, "truncationLength": 20}, False)]:
        (reader,) = resolve_config(json.dumps(config | options))["readers"].values()
        assert reader["truncated"] is expected, options


@pytest.mark.parametrize("name", ["color", "crop", "mean", "scale"])
def test_transforms_of_images_have_the_names_of_cntk(name: str) -> None:
    maker = getattr(tesson.transforms, name)
    assert getattr(tesson.io.transforms, name) is maker
    assert getattr(tesson.ImageDeserializer, name) is maker


def test_the_names_of_cntk_io_are_those_of_the_package() -> None:
    assert all(getattr(tesson.io, name) is getattr(tesson, name) for name in tesson.io.__all__ if name != "transforms")
