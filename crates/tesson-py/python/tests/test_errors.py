"""Errors: classes, attributes, and what they do to the source."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import tesson
from tesson import ConfigError, DataError, ResumeError, StoreError, TessonError, UsageError
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs


def dense(file: str, **options: object) -> MinibatchSource:
    return MinibatchSource(
        CTFDeserializer(file, StreamDefs(A=StreamDef("a", 2)), **options), randomize=False, max_sweeps=1
    )


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (ConfigError, ValueError),
        (DataError, ValueError),
        (ResumeError, ValueError),
        (StoreError, OSError),
        (UsageError, ValueError),
    ],
)
def test_errors_are_built_in_ones_too(kind: type[Exception], base: type[Exception]) -> None:
    assert issubclass(kind, TessonError)
    assert issubclass(kind, base)


def test_bad_data_say_where_they_are(ctf: Callable[[str], str]) -> None:
    source = dense(ctf("10 |a 1 2\n11 |a 1 x\n"))
    with pytest.raises(DataError) as caught:
        source.next_minibatch(2)
    error = caught.value
    assert (error.file, error.line, error.stream, error.key) == ("input.ctf", 2, "A", 11)
    assert 10 <= error.offset < 20
    assert "input.ctf:2" in str(error) and "x" in str(error)


def test_an_error_of_data_is_repeated_until_it_is_skipped_or_a_state_restored(ctf: Callable[[str], str]) -> None:
    source = dense(ctf("1 |a 1 2\n2 |a x x\n3 |a 5 6\n"))
    assert source.next_minibatch(1)["A"].keys == [1]
    state = source.get_checkpoint_state()
    for _ in range(3):
        with pytest.raises(DataError):
            source.next_minibatch(1)
        assert source.get_checkpoint_state() == state
    source.skip_failed()
    assert source.next_minibatch(1)["A"].keys == [3]
    assert not source.next_minibatch(1)

    source.restore_from_checkpoint(state)
    with pytest.raises(DataError):
        source.next_minibatch(1)
    source.restore_from_checkpoint({"minibatchSourcePosition": 0})
    assert source.next_minibatch(1)["A"].keys == [1]


def test_forgiven_faults_are_reported_as_lines_of_json(ctf: Callable[[str], str], tmp_path: Path) -> None:
    report = tmp_path / "faults.jsonl"
    file = CTFDeserializer(ctf("10 |a 1 2\n11 |a 1 x\n"), StreamDefs(A=StreamDef("a", 2)))
    source = MinibatchSource(file, randomize=False, max_sweeps=1, max_error_share=0.5, quarantine=report)
    # The other sequence is left with no sample at all, which lenient rules leave out.
    assert source.next_minibatch(2)["A"].keys == [10]
    (line,) = report.read_text().splitlines()
    fault = json.loads(line)
    assert (fault["file"], fault["line"], fault["stream"], fault["key"]) == ("input.ctf", 2, "A", 11)


def test_an_error_when_opening_names_the_file(ctf: Callable[[str], str]) -> None:
    with pytest.raises(DataError) as caught:
        dense(ctf(" \n"))
    assert caught.value.file == "input.ctf"
    with pytest.raises(StoreError) as missing:
        dense("missing.ctf")
    assert (missing.value.file, missing.value.errno) == ("missing.ctf", 2)
    assert isinstance(missing.value, OSError)


def test_a_call_that_can_never_be_right_changes_nothing(ctf: Callable[[str], str]) -> None:
    source = dense(ctf("|a 1 2\n|a 3 4\n"))
    state = source.get_checkpoint_state()
    for size, workers, rank in [(0, None, None), (-1, None, None), (2**64, None, None), (1, 0, 0), (1, 2, 2), (1, 2, -1)]:
        with pytest.raises(UsageError):
            source.next_minibatch(size, num_data_partitions=workers, partition_index=rank)
    with pytest.raises(TypeError):
        source.next_minibatch(1.5)  # type: ignore[arg-type]
    assert source.get_checkpoint_state() == state
    assert source.next_minibatch(2)["A"].num_samples == 2


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"max_samples": 5, "max_sweeps": 5}, "max"),
        ({"randomization_window_in_chunks": 3, "randomization_window_in_samples": 5}, "randomization_window_in_samples: "),
        ({"truncation_length": 5, "frame_mode": True}, "frame_mode: "),
        ({"sharing": "fair"}, "sharing"),
        ({"dtype": "int32"}, "dtype: "),
        ({"store": "tape"}, "store"),
        ({"randomize": "maybe"}, "randomize"),
        ({"memory_limit": "much"}, "memory_limit: "),
    ],
)
def test_arguments_that_mean_nothing_are_refused_by_name(arguments: dict[str, object], path: str) -> None:
    streams = StreamDefs(features=StreamDef("x", 4))
    with pytest.raises(ConfigError) as caught:
        MinibatchSource(CTFDeserializer("train.ctf", streams), **arguments)
    assert path in str(caught.value)


def test_deserializers_that_cannot_go_together_and_none_are_refused() -> None:
    one = CTFDeserializer("train.ctf", StreamDefs(a=StreamDef("x", 4)))
    for several in ([one, one], []):
        with pytest.raises(ConfigError):
            MinibatchSource(several)
    with pytest.raises(TypeError, match="found str"):
        MinibatchSource(["train.ctf"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("m", path="a.b"),
        DataError("m", file="f", offset=3, line=2, stream="s", key="k"),
        ResumeError("m", what="w", state="1", source="2"),
        StoreError("m", file="f", offset=3, errno=5),
        UsageError("m"),
    ],
)
def test_errors_pickle_with_their_attributes(error: TessonError) -> None:
    error.code = "finder.what-was-found"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert again.code == error.code
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert getattr(again, "errno", None) == getattr(error, "errno", None)


def test_all_errors_are_in_the_package() -> None:
    assert all(getattr(tesson, name) is getattr(tesson.errors, name) for name in tesson.errors.__all__)
