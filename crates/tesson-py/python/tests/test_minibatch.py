"""Minibatches, member by member."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tesson import DataError
from tesson.io import CTFDeserializer, Minibatch, MinibatchSource, StreamDef, StreamDefs

Make = Callable[..., MinibatchSource]


@pytest.fixture
def minibatch(sources: tuple[Make, Make]) -> Minibatch:
    """Both sequences of ``tagging.ctf``, three samples and two."""
    return sources[1](randomize=False, max_sweeps=1).next_minibatch(5)


WORDS = [[0, 5, 7], [1, 9]]
TAGS = [[0, 1, 2], [0, 2]]


def test_a_minibatch_is_a_mapping_of_its_streams(minibatch: Minibatch) -> None:
    assert bool(minibatch)
    assert len(minibatch) == 2
    assert list(minibatch) == list(minibatch.keys()) == ["words", "tags"]
    assert [data.num_samples for data in minibatch.values()] == [5, 5]
    assert [name for name, _ in minibatch.items()] == ["words", "tags"]
    assert "tags" in minibatch
    with pytest.raises(KeyError, match="no stream `tag`, there are words, tags"):
        minibatch["tag"]


def opened(folder: Path, text: str, **options: Any) -> MinibatchSource:
    """A source of `x`, one value a sample, and `y`, one-hot of five classes."""
    file = folder / "pairs.ctf"
    file.write_text(text)
    streams = StreamDefs(x=StreamDef(shape=1), y=StreamDef(shape=5, is_sparse=True))
    return MinibatchSource(CTFDeserializer(file, streams, **options), randomize=False, max_sweeps=1)


def test_streams_that_pair_are_given_together(minibatch: Minibatch) -> None:
    words, tags = minibatch.paired("words", "tags")
    assert (words.name, tags.name) == ("words", "tags")
    assert tags.samples is minibatch["tags"].samples


def test_streams_that_do_not_pair_are_an_error_with_the_key(tmp_path: Path) -> None:
    text = "1 |x 1 |y 0:1\n7 |x 2 |y 1:1\n7 |y 2:1\n8 |x 3 |x 4 |y 0:1\n8 |x 5\n"
    minibatch = opened(tmp_path, text, max_errors=9).next_minibatch(9)
    # The totals do not tell.
    assert minibatch["x"].num_samples == minibatch["y"].num_samples + 1
    for wanted in [("x", "y"), ()]:
        with pytest.raises(DataError, match="sequence 7: streams `x` and `y` have 1 and 2 samples") as e:
            minibatch.paired(*wanted)
        assert (e.value.key, e.value.stream) == (7, "y")
    assert len(minibatch.paired("x")) == 1
    with pytest.raises(KeyError, match="no stream `z`"):
        minibatch.paired("x", "z")


def test_nothing_is_paired_at_the_end_of_the_data(tmp_path: Path) -> None:
    source = opened(tmp_path, "1 |x 1 |y 0:1\n")
    source.next_minibatch(9)
    with pytest.raises(KeyError, match="the data have ended"):
        source.next_minibatch(9).paired("x", "y")


def test_the_classes_of_one_hot_samples_are_checked(tmp_path: Path) -> None:
    minibatch = opened(tmp_path, "1 |x 1 |y 3:1\n2 |x 1 |y 0:1\n2 |x 1 |y 4:1\n").next_minibatch(9)
    assert minibatch["y"].class_indices.tolist() == [3, 0, 4]
    assert minibatch["y"].class_indices is minibatch["y"].indices
    with pytest.raises(AttributeError, match="stream `x` is dense"):
        minibatch["x"].class_indices
    for sample, entries in [("|y", 0), ("|y 1:1 2:1", 2)]:
        text = f"1 |x 1 |y 3:1\n2 |x 1 |y 0:1\n2 |x 1 {sample}\n"
        with pytest.raises(DataError, match=f"sequence 2: sample 1 of stream `y` has {entries} entries, expected one"):
            opened(tmp_path, text).next_minibatch(9)["y"].class_indices


def test_rows_with_faults_leave_streams_paired(tmp_path: Path) -> None:
    rows = [f"|x {i} |y {i % 5}:1\n" for i in range(1000)]
    rows[200] = "|x bad |y 0:1\n"
    rows[999] = "|x 999\n"
    with opened(tmp_path, "".join(rows), max_errors=5) as source:
        x, y = source.next_minibatch(1000).paired("x", "y")
    assert x.num_samples == y.num_samples == 998
    assert (x.samples[:, 0] % 5 == y.class_indices).all()


def test_the_end_of_the_data_is_false_and_empty(sources: tuple[Make, Make]) -> None:
    source = sources[1](max_sweeps=1)
    assert source.next_minibatch(100)
    for _ in range(2):
        end = source.next_minibatch(100)
        assert not end
        assert len(end) == 0
        assert list(end.items()) == []
        assert (end.num_sequences, end.sweep_end, end.state) == (0, False, None)
        with pytest.raises(KeyError, match="the data have ended"):
            end["tags"]


def test_an_empty_share_is_true_and_has_its_streams(sources: tuple[Make, Make]) -> None:
    source = sources[1](randomize=False, sharing="position", max_sweeps=1)
    share = source.next_minibatch(3, num_data_partitions=2, partition_index=1)
    assert share
    assert share.num_sequences == 0
    words, tags = share["words"], share["tags"]
    assert tags.samples.shape == (0, 3)
    assert tags.asarray().shape == tags.shape == (0, 0, 3)
    assert tags.mask.shape == (0, 0)
    assert words.indptr.tolist() == [0]
    assert words.as_sequences() == tags.as_sequences() == tags.keys == []
    assert tags.layout.places.shape == (0, 4)


def test_streams_are_found_by_name_and_by_information(sources: tuple[Make, Make]) -> None:
    source = sources[1](randomize=False)
    minibatch = source.next_minibatch(5)
    for stream in ("tags", source.streams.tags, source.streams["tags"], source.stream_info("tags"), source["tags"]):
        assert minibatch[stream].keys == [7, 8]
        assert not minibatch[stream].is_sparse


def test_an_input_map_gives_its_own_keys(sources: tuple[Make, Make]) -> None:
    source = sources[1](randomize=False)
    variable = object()
    minibatch = source.next_minibatch(5, {variable: source.streams.tags, "w": "words"})
    assert list(minibatch) == [variable, "w"]
    assert minibatch[variable].sample_shape == (3,)
    assert minibatch["w"].is_sparse
    with pytest.raises(KeyError):
        minibatch["tags"]
    with pytest.raises(ValueError, match="'tag', there are words, tags"):
        source.next_minibatch(5, {variable: "tag"})


def test_counts(minibatch: Minibatch) -> None:
    for data in minibatch.values():
        assert (data.num_sequences, data.num_samples, data.end_of_sweep) == (2, 5, True)
        assert data.lengths.tolist() == [3, 2]
        assert data.keys == [7, 8]
        assert data.dtype == np.float32
    assert (minibatch.num_sequences, minibatch.sweep_end) == (2, True)


def test_samples_are_all_samples_without_padding(minibatch: Minibatch) -> None:
    samples = minibatch["tags"].samples
    assert samples.dtype == np.float32
    assert samples.shape == (5, 3)
    assert samples.argmax(axis=1).tolist() == [0, 1, 2, 0, 2]


def test_a_padded_array_has_zeros_behind_the_end_of_a_sequence(minibatch: Minibatch) -> None:
    tags = minibatch["tags"]
    array = tags.asarray()
    assert array.shape == tags.shape == (2, 3, 3)
    assert array[1, 2].tolist() == [0, 0, 0]
    assert array[:, :2].argmax(axis=2).tolist() == [[0, 1], [0, 2]]
    words = minibatch["words"].asarray()
    assert words.shape == (2, 3, 10)
    assert [row.nonzero()[1].tolist() for row in words] == WORDS


def test_a_padded_array_keeps_both_axes(sources: tuple[Make, Make]) -> None:
    data = sources[0](randomize=False).next_minibatch(3)["features"]
    assert data.asarray().shape == (3, 1, 4)
    assert data.mask.tolist() == [[2], [2], [2]]
    assert np.shares_memory(data.asarray(), data.samples)


def test_the_mask_tells_first_samples_others_and_padding(minibatch: Minibatch) -> None:
    assert minibatch["words"].mask.tolist() == [[2, 1, 1], [2, 1, 0]]
    assert minibatch["words"].mask.dtype == np.uint8


def test_sequences_of_a_dense_stream_are_views_of_its_samples(minibatch: Minibatch) -> None:
    tags = minibatch["tags"]
    sequences = tags.as_sequences()
    assert [s.argmax(axis=1).tolist() for s in sequences] == TAGS
    assert all(np.shares_memory(s, tags.samples) for s in sequences)


def test_sequences_of_a_sparse_stream_are_rows_of_csr(minibatch: Minibatch) -> None:
    pytest.importorskip("scipy")
    words = minibatch["words"]
    sequences = words.as_sequences()
    assert [(s.format, s.shape) for s in sequences] == [("csr", (3, 10)), ("csr", (2, 10))]
    assert [s.indices.tolist() for s in sequences] == WORDS
    assert all(np.shares_memory(s.data, words.values) for s in sequences)


def test_a_sparse_stream_is_csr_over_all_samples(minibatch: Minibatch) -> None:
    words = minibatch["words"]
    assert words.indptr.tolist() == [0, 1, 2, 3, 4, 5]
    assert words.indices.tolist() == [0, 5, 7, 1, 9]
    assert words.values.tolist() == [1, 1, 1, 1, 1]
    assert (words.indptr.dtype, words.indices.dtype, words.values.dtype) == (np.int32, np.int32, np.float32)


def test_what_a_stream_does_not_have_is_said(minibatch: Minibatch) -> None:
    with pytest.raises(AttributeError, match="`words` is sparse"):
        minibatch["words"].samples
    for name in ("indptr", "indices", "values"):
        with pytest.raises(AttributeError, match="`tags` is dense"):
            getattr(minibatch["tags"], name)


def test_nonsense_written_into_indices_is_told(minibatch: Minibatch) -> None:
    words = minibatch["words"]
    words.indices[0] = 10
    with pytest.raises(IndexError):
        words.asarray()
    words.indices[0] = 0
    words.indptr[1] = -1
    with pytest.raises(IndexError):
        words.asarray()


def test_the_layout_puts_sequences_side_by_side(minibatch: Minibatch, sources: tuple[Make, Make]) -> None:
    layout = minibatch["tags"].layout
    assert (layout.steps, layout.rows) == (3, 2)
    assert layout.places.tolist() == [[0, 0, 0, 3], [1, 1, 0, 2]]
    assert sources[0](randomize=False).next_minibatch(2)["labels"].layout.places.tolist() == [[0, 0, 0, 1], [1, 1, 0, 1]]


def test_data_and_value_are_what_cntk_scripts_expect(minibatch: Minibatch) -> None:
    for value in (minibatch["tags"].data, minibatch["tags"].value):
        assert value.shape == value.asarray().shape == (2, 3, 3)
        assert value.mask.tolist() == [[2, 1, 1], [2, 1, 0]]
        assert [len(s) for s in value.as_sequences(variable=None)] == [3, 2]


def test_a_shape_of_several_dimensions_is_filled_row_by_row(sources: tuple[Make, Make]) -> None:
    source = MinibatchSource(
        CTFDeserializer("train.ctf", StreamDefs(image=StreamDef("x", shape=(1, 2, 2)))), randomize=False
    )
    assert source.streams.image.shape == (1, 2, 2)
    image = source.next_minibatch(2)["image"]
    assert image.samples.tolist() == [[[[0, 1], [2, 3]]], [[[1, 2], [3, 4]]]]
    assert image.asarray().shape == image.shape == (2, 1, 1, 2, 2)


def test_double_precision_comes_as_float64(sources: tuple[Make, Make]) -> None:
    for dtype in ("float64", np.float64, np.dtype("f8"), "double"):
        source = sources[0](randomize=False, dtype=dtype)
        minibatch = source.next_minibatch(2)
        assert minibatch["features"].samples.dtype == np.float64
        assert minibatch["labels"].values.dtype == np.float64
        assert minibatch["labels"].asarray().dtype == np.float64
        assert source.streams.features.dtype == np.float64


def test_text_keys_come_as_text(ctf: Callable[[str], str]) -> None:
    source = MinibatchSource.from_config({
        "deserializers": [{
            "type": "CNTKTextFormatDeserializer",
            "file": ctf("a1|x 1\nb2|x 2\n"),
            "input": {"x": {"dim": 1, "format": "dense"}},
        }],
        "randomize": False,
        "useNumericSequenceKeys": False,
    })
    assert source.next_minibatch(2)["x"].keys == ["a1", "b2"]


def test_the_state_of_a_minibatch_is_the_one_behind_it(sources: tuple[Make, Make]) -> None:
    source = sources[0](max_sweeps=1)
    first = source.next_minibatch(2)
    rest = [minibatch["features"].keys for minibatch in source.minibatches(2)]
    assert first.state is not None
    source.restore_from_checkpoint(first.state)
    assert [minibatch["features"].keys for minibatch in source.minibatches(2)] == rest


def test_the_stream_of_a_sequence_without_samples_has_length_zero(ctf: Callable[[str], str]) -> None:
    streams = StreamDefs(a=StreamDef(shape=1), b=StreamDef(shape=2, is_sparse=True))
    source = MinibatchSource(CTFDeserializer(ctf("1 |a 1\n2 |a 2 |b 1:5\n"), streams), randomize=False)
    b = source.next_minibatch(2)["b"]
    assert b.lengths.tolist() == [0, 1]
    assert b.mask.tolist() == [[0], [2]]
    assert b.asarray().tolist() == [[[0, 0]], [[0, 5]]]
    assert [s.shape for s in b.as_sequences()] == [(0, 2), (1, 2)]


def test_scipy_is_imported_only_when_it_is_asked_for() -> None:
    script = """
import sys
from tesson.io import *
source = MinibatchSource(CTFDeserializer("tagging.ctf", StreamDefs(words=StreamDef("w", 10, is_sparse=True))))
words = source.next_minibatch(5)["words"]
words.asarray(), words.values, words.mask, words.keys, words.layout
assert not [name for name in sys.modules if name.startswith("scipy")]
words.as_sequences()
assert "scipy.sparse" in sys.modules
"""
    pytest.importorskip("scipy")
    subprocess.run([sys.executable, "-c", script], check=True)


def test_representations_say_what_is_inside(minibatch: Minibatch) -> None:
    assert repr(minibatch["words"]) == "<MinibatchData `words`: 2 sequences, 5 samples, sparse (10,)>"
    assert repr(minibatch).startswith("Minibatch({'words': <MinibatchData")
