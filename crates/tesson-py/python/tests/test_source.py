"""The source: order, states, workers, schedules and what it tells of itself."""

from __future__ import annotations

import importlib.metadata
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import tesson
from tesson import ConfigError, ResumeError, UsageError, UserDeserializer
from tesson.io import (
    DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS,
    FULL_DATA_SWEEP,
    INFINITELY_REPEAT,
    CTFDeserializer,
    Minibatch,
    MinibatchSource,
    StreamDef,
    StreamDefs,
    StreamInformation,
    merge_states,
    resolve_config,
)

Make = Callable[..., MinibatchSource]


@pytest.fixture
def corpus(ctf: Callable[[str], str]) -> Make:
    """Makes sources on 60 sequences of 1 to 4 samples in many small chunks."""
    rows = [f"{key} |x {key}.{t}\n" for key in range(60) for t in range(1 + key * 7 % 4)]
    file = ctf("".join(rows))

    def make(**arguments: Any) -> MinibatchSource:
        deserializer = CTFDeserializer(file, StreamDefs(x=StreamDef(shape=1)), chunk_size_in_bytes=64)
        return MinibatchSource(deserializer, **arguments)

    return make


def keys(minibatches: Iterable[Minibatch]) -> list[list[int]]:
    return [minibatch["x"].keys for minibatch in minibatches]


def flat(minibatches: Iterable[Minibatch]) -> list[int]:
    return [key for part in keys(minibatches) for key in part]


def test_without_randomization_the_data_come_as_stored(corpus: Make) -> None:
    assert flat(corpus(randomize=False, max_sweeps=1).minibatches(10)) == list(range(60))
    both_zero = corpus(randomization_window_in_chunks=0, randomization_window_in_samples=0, max_sweeps=1)
    assert flat(both_zero.minibatches(10)) == list(range(60))


def test_a_window_is_in_samples_where_its_samples_alone_are_given(corpus: Make) -> None:
    of_samples = corpus(randomization_window_in_samples=20, max_sweeps=1)
    in_full = corpus(randomization_window_in_chunks=0, randomization_window_in_samples=20, max_sweeps=1)
    assert flat(of_samples.minibatches(10)) == flat(in_full.minibatches(10))
    by_default = flat(corpus(max_sweeps=1).minibatches(10))
    assert flat(corpus(randomization_window_in_samples=20, max_sweeps=1).minibatches(10)) != by_default
    assert flat(corpus(randomization_window_in_samples=0, max_sweeps=1).minibatches(10)) == by_default
    assert flat(corpus(randomization_window_in_chunks=128, max_sweeps=1).minibatches(10)) == by_default


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"randomization_seed": 5},
        {"randomization_window_in_chunks": 4},
        {"randomization_window_in_chunks": 0, "randomization_window_in_samples": 40},
        {"randomize": "global"},
    ],
)
def test_a_randomized_sweep_holds_every_sequence_once(corpus: Make, order: dict[str, Any]) -> None:
    first = flat(corpus(max_sweeps=1, **order).minibatches(10))
    assert first != list(range(60))
    assert sorted(first) == list(range(60))
    assert flat(corpus(max_sweeps=1, **order).minibatches(10)) == first


def test_the_order_depends_on_the_seed_and_not_on_threads(corpus: Make) -> None:
    order = keys(corpus(max_sweeps=2).minibatches(10))
    assert keys(corpus(max_sweeps=2, threads=1).minibatches(10)) == order
    assert keys(corpus(max_sweeps=2, threads=5, store="mmap").minibatches(10)) == order
    assert keys(corpus(max_sweeps=2, randomization_seed=1).minibatches(10)) != order


def test_a_size_in_sequences_limits_minibatches_or_is_their_size(corpus: Make) -> None:
    order = {"randomize": False, "max_sweeps": 1}
    source = corpus(minibatch_size_in_sequences=7, **order)
    assert [len(part) for part in keys(source.minibatches())] == [7] * 8 + [4]
    source = corpus(minibatch_size_in_sequences=7, **order)
    assert source.next_minibatch()["x"].num_sequences == 7
    assert source.next_minibatch(1000)["x"].num_sequences == 7
    assert source.next_minibatch(6)["x"].num_samples <= 6
    # Without it a call that gives no size gets 256 samples, here the whole corpus.
    assert corpus(**order).next_minibatch()["x"].num_sequences == 60
    with pytest.raises(ConfigError, match="minibatch_size_in_sequences"):
        corpus(minibatch_size_in_sequences=0)


@pytest.mark.parametrize("order", [{}, {"randomize": "global"}])
def test_buckets_hold_sequences_of_similar_length(corpus: Make, order: dict[str, Any]) -> None:
    def spread(**arguments: Any) -> int:
        lengths = [m["x"].lengths for m in corpus(max_sweeps=1, **order, **arguments).minibatches(8)]
        return sum(int(n.max() * len(n) - n.sum()) for n in lengths)

    assert spread(bucketing=8) * 2 < spread()
    assert sorted(flat(corpus(max_sweeps=1, bucketing=8, **order).minibatches(8))) == list(range(60))
    with pytest.raises(ConfigError, match="bucketing: data that are read as stored"):
        corpus(randomize=False, bucketing=True)
    assert corpus(bucketing=True, **order).config["bucketing"] is True


def test_equal_steps_are_as_many_for_every_worker(corpus: Make) -> None:
    def steps(**arguments: Any) -> list[list[Minibatch]]:
        sources = [corpus(max_sweeps=2, **arguments) for _ in range(4)]
        calls = (s.minibatches(12, num_data_partitions=4, partition_index=rank) for rank, s in enumerate(sources))
        return [list(call) for call in calls]

    assert len({len(share) for share in steps()}) > 1, "the shares of chunks differ"
    for mode in ("drop", "repeat", "empty"):
        shares = steps(equal_steps=mode)
        ends = [[minibatch["x"].end_of_sweep for minibatch in share] for share in shares]
        assert all(end == ends[0] for end in ends) and sum(ends[0]) == 2, mode
        assert any(m["x"].num_sequences == 0 for share in shares for m in share) == (mode == "empty")
    assert sorted(key for share in steps(equal_steps="empty") for key in flat(share)) == sorted([*range(60)] * 2)
    source = corpus(equal_steps="drop")
    source.next_minibatch(12, num_data_partitions=4, partition_index=1)
    state = json.loads(json.dumps(source.get_checkpoint_state()))
    with pytest.raises(UsageError, match="step 2 of"):
        source.next_minibatch(8, num_data_partitions=4, partition_index=1)
    ahead = source.next_minibatch(12, num_data_partitions=4, partition_index=1)["x"].keys
    other = corpus(equal_steps="drop")
    other.restore_from_checkpoint(state)
    assert other.next_minibatch(12, num_data_partitions=4, partition_index=1)["x"].keys == ahead
    with pytest.raises(ConfigError, match="equal_steps"):
        corpus(equal_steps="some")


def test_limits_end_the_data(corpus: Make) -> None:
    samples = corpus().num_samples_per_sweep
    for limit in ({"max_sweeps": 1}, {"max_samples": FULL_DATA_SWEEP}, {"max_samples": samples}):
        assert len(flat(corpus(**limit).minibatches(10))) == 60
    assert len(flat(corpus(max_samples=1).minibatches(10))) == 1
    endless = corpus(max_samples=INFINITELY_REPEAT, max_sweeps=INFINITELY_REPEAT)
    assert sum(endless.next_minibatch(1000).num_sequences for _ in range(5)) > 60 * 5


def test_the_end_of_a_sweep_is_told(corpus: Make) -> None:
    ends = [minibatch.sweep_end for minibatch in corpus(max_sweeps=1).minibatches(10)]
    assert ends == [False] * (len(ends) - 1) + [True]


def spellings(source: MinibatchSource, state: dict[str, Any]) -> list[Callable[[], None]]:
    return [
        lambda: source.restore_from_checkpoint(state),
        lambda: source.load_state_dict(state),
        lambda: setattr(source, "current_position", state),
    ]


def test_a_state_has_three_spellings_and_survives_json(corpus: Make) -> None:
    source = corpus(max_sweeps=2)
    samples = sum(source.next_minibatch(10)["x"].num_samples for _ in range(3))
    state = source.get_checkpoint_state()
    assert source.state_dict() == source.current_position == state
    assert json.loads(json.dumps(state)) == state
    assert state["minibatchSourcePosition"] == samples
    rest = keys(source.minibatches(10))
    for restore in spellings(source, json.loads(json.dumps(state))):
        restore()
        assert source.get_checkpoint_state() == state
        assert keys(source.minibatches(10)) == rest


@pytest.mark.parametrize("order", [{}, {"randomize": False}, {"randomize": "global"}, {"randomization_seed": 3}])
def test_a_source_goes_on_from_every_state_bit_for_bit(corpus: Make, order: dict[str, Any]) -> None:
    source = corpus(max_sweeps=2, **order)
    states, read = [source.state_dict()], []
    for minibatch in source.minibatches(13):
        states.append(source.state_dict())
        assert minibatch.state == states[-1]
        read.append(minibatch["x"].samples.tobytes())
    for n, state in enumerate(states):
        fresh = corpus(max_sweeps=2, **order)
        fresh.load_state_dict(state)
        assert [minibatch["x"].samples.tobytes() for minibatch in fresh.minibatches(13)] == read[n:], n


def test_a_state_of_other_data_or_another_order_is_refused(corpus: Make, sources: tuple[Make, Make]) -> None:
    source = corpus(max_sweeps=1)
    source.next_minibatch(10)
    state = source.get_checkpoint_state()
    for other in (corpus(randomization_seed=1), corpus(randomize=False), sources[0]()):
        before = other.state_dict()
        with pytest.raises(ResumeError) as caught:
            other.restore_from_checkpoint(state)
        assert caught.value.what and caught.value.state != caught.value.source
        assert other.state_dict() == before


def test_a_bare_position_is_accepted_and_what_is_no_state_refused(corpus: Make) -> None:
    source = corpus(max_sweeps=1)
    all_of_it = flat(source.minibatches(10))
    source.restore_from_checkpoint({"minibatchSourcePosition": 0, "unknown": [1, None, 2.5, True, -1]})
    assert flat(source.minibatches(10)) == all_of_it
    with pytest.raises(ResumeError):
        source.restore_from_checkpoint({})
    for nonsense in ("state", {"minibatchSourcePosition": object()}):
        with pytest.raises((ResumeError, TypeError)):
            source.restore_from_checkpoint(nonsense)  # type: ignore[arg-type]


def test_a_state_is_any_mapping(corpus: Make) -> None:
    source = corpus(max_sweeps=1)
    source.next_minibatch(10)
    state = source.get_checkpoint_state()
    rest = flat(source.minibatches(10))
    source.restore_from_checkpoint(MappingProxyType(state))
    assert flat(source.minibatches(10)) == rest


def test_an_interrupt_while_a_state_is_looked_at_is_not_lost(corpus: Make) -> None:
    class Interrupted:
        """Something that is interrupted when it is asked what it is."""

        @property
        def __class__(self) -> Any:
            raise KeyboardInterrupt

        @__class__.setter
        def __class__(self, value: Any) -> None:
            raise NotImplementedError

    with pytest.raises(KeyboardInterrupt):
        corpus().restore_from_checkpoint({"minibatchSourcePosition": Interrupted()})


@pytest.mark.parametrize("sharing", ["chunk", "position"])
@pytest.mark.parametrize("randomize", [False, True, "global"])
def test_the_shares_of_workers_add_up(corpus: Make, sharing: str, randomize: bool | str) -> None:
    shares = [
        flat(
            corpus(max_sweeps=1, sharing=sharing, randomize=randomize).minibatches(
                30, num_data_partitions=3, partition_index=rank
            )
        )
        for rank in range(3)
    ]
    assert all(shares)
    assert sorted(sum(shares, [])) == list(range(60))


def test_sharing_by_position_resumes_on_another_number_of_workers(corpus: Make) -> None:
    def read(source: MinibatchSource, workers: int, rank: int, steps: int) -> list[list[int]]:
        return [source.next_minibatch(20, None, None, workers, rank)["x"].keys for _ in range(steps)]

    whole = corpus(sharing="position")
    expected = read(whole, 1, 0, 6)
    ranks = [corpus(sharing="position") for _ in range(2)]
    for rank, source in enumerate(ranks):
        read(source, 2, rank, 3)
    assert ranks[0].state_dict() == ranks[1].state_dict()
    alone = corpus(sharing="position")
    alone.load_state_dict(ranks[0].state_dict())
    assert read(alone, 1, 0, 3) == expected[3:]


def test_merged_states_lose_and_repeat_nothing(corpus: Make) -> None:
    seen, states = [], []
    for rank in range(2):
        source = corpus(max_sweeps=1)
        for _ in range(3):
            seen += source.next_minibatch(20, num_data_partitions=2, partition_index=rank)["x"].keys
        states.append(source.state_dict())
    source = corpus(max_sweeps=1)
    source.restore_from_checkpoint(json.loads(json.dumps(tesson.merge_states(states))))
    rest = flat(source.minibatches(20))
    assert rest
    assert sorted(seen + rest) == list(range(60))
    with pytest.raises(ResumeError):
        tesson.merge_states(states[:1])


def test_a_schedule_gives_each_epoch_its_size(corpus: Make) -> None:
    spelled = ["8*2:16", [8, 8, 16], [8] * 2 + [16], [(2, 8), (1, 16)]]
    read = [keys(corpus(max_sweeps=3).minibatches(schedule)) for schedule in spelled]  # type: ignore[arg-type]
    assert read[0] == read[1] == read[2] == read[3]
    by_hand = corpus(max_sweeps=3)
    samples = by_hand.num_samples_per_sweep
    expected = []
    while minibatch := by_hand.next_minibatch(8 if by_hand.state_dict()["minibatchSourcePosition"] < 2 * samples else 16):
        expected.append(minibatch["x"].keys)
    assert read[0] == expected
    assert max(map(len, read[0][-4:])) > max(map(len, read[0][:4]))


def test_a_schedule_goes_on_with_the_size_due(corpus: Make) -> None:
    source = corpus(max_sweeps=1)
    read = list(source.minibatches([4, 12], epoch_size=60))
    middle = read[9].state
    assert middle is not None
    source.restore_from_checkpoint(middle)
    assert keys(source.minibatches([4, 12], epoch_size=60)) == keys(read[10:])


def test_a_schedule_without_sizes_is_refused(corpus: Make) -> None:
    for schedule in ([], "", "8:x", [0]):
        with pytest.raises(ValueError):
            next(corpus().minibatches(schedule))


def test_sizes_of_the_corpus_are_known_from_the_start(corpus: Make) -> None:
    for order in ({}, {"randomize": False}, {"randomize": "global"}):
        source = corpus(max_sweeps=1, **order)
        assert source.num_sequences == 60
        assert source.num_samples_per_sweep == sum(1 + key * 7 % 4 for key in range(60))
        assert source.steps_per_sweep(10) == len(list(source.minibatches(10)))
        assert source.steps_per_sweep(20, 2, 1) == len(
            list(corpus(max_sweeps=1, **order).minibatches(20, num_data_partitions=2, partition_index=1))
        )


def test_counters_count_what_was_delivered(corpus: Make) -> None:
    source = corpus(max_sweeps=1)
    assert source.stats()["minibatches"] == 0
    n = len(list(source.minibatches(10)))
    stats = source.stats()
    assert (stats["minibatches"], stats["sequences"]) == (n, 60)
    assert stats["bytes_read"] > 0
    assert all(isinstance(value, int) for value in stats.values())


def test_streams_tell_their_facts(sources: tuple[Make, Make]) -> None:
    streams = sources[0]().streams
    assert list(streams) == ["features", "labels"]
    features, labels = streams.values()
    assert (features.name, features.stream_id, features.storage_format, features.shape) == ("features", 0, "dense", (4,))
    assert (labels.stream_id, labels.storage_format, labels.is_sparse) == (1, "sparse", True)
    assert sources[0]().stream_infos() == [features, labels]
    with pytest.raises(AttributeError, match="no stream `feature`, there are features, labels"):
        streams.feature
    with pytest.raises(KeyError, match="no stream `feature`, there are features, labels"):
        sources[0]().stream_info("feature")


@pytest.mark.parametrize(
    ("maker", "keyword", "meant"),
    [
        (MinibatchSource, "randomisation_seed", "randomization_seed"),
        (MinibatchSource, "randomizationSeed", "randomization_seed"),
        (MinibatchSource, "precision", "dtype"),
        (MinibatchSource, "seed", "randomization_seed"),
        (MinibatchSource, "shuffle", "randomize"),
        (CTFDeserializer, "max_error", "max_errors"),
        (CTFDeserializer, "file", "filename"),
        (tesson.CBFDeserializer, "skips", "skip"),
        (tesson.TFDSDeserializer, "datadir", "data_dir"),
        (StreamDef, "dim", "shape"),
        (StreamDef, "is_sparce", "is_sparse"),
        (tesson.tfds.ReadConfig, "shuffle_sed", "shuffle_seed"),
    ],
)
def test_a_misspelt_keyword_is_refused_with_the_right_one(maker: Any, keyword: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"^{maker.__name__}\(\) has no keyword argument `{keyword}`, did you mean `{meant}`\?$"):
        maker(**{keyword: 1})
    with pytest.raises(TypeError, match="has no keyword argument `nothing_like_it`$"):
        maker(nothing_like_it=1)


def test_the_package_says_its_version() -> None:
    assert tesson.__version__ == importlib.metadata.version("tesson")


def test_every_keyword_is_an_option_of_configurations() -> None:
    names = {row["name"] for row in tesson._tesson.option_table("")}
    source = MinibatchSource(
        CTFDeserializer("train.ctf", StreamDefs(x=StreamDef(shape=4))),
        max_sweeps=2,
        randomization_window_in_chunks=0,
        randomization_window_in_samples=9,
        randomization_seed=1,
        trace_level=0,
        multithreaded_deserializer=True,
        frame_mode=True,
        max_errors=1,
        sharing="position",
        memory_limit="64MiB",
        threads=1,
        dtype="float32",
        store="file",
    )
    assert set(source.config) <= names
    assert MinibatchSource.from_config(source.config).config == source.config


def test_a_closed_source_says_so(sources: tuple[Make, Make]) -> None:
    with sources[0]() as source:
        assert source.next_minibatch(2)
    source.close()
    for call in (lambda: source.next_minibatch(2), source.get_checkpoint_state, lambda: source.num_sequences):
        with pytest.raises(UsageError, match="closed"):
            call()
    assert DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS == 128


def test_deserializers_are_joined_by_key(files: Path) -> None:
    (files / "left.ctf").write_text("1 |a 1\n2 |a 2\n2 |a 3\n3 |a 4\n")
    (files / "right.ctf").write_text("3 |b 9\n1 |b 8\n1 |b 7\n")
    left = CTFDeserializer("left.ctf", StreamDefs(a=StreamDef("a", 1)))
    right = CTFDeserializer("right.ctf", StreamDefs(b=StreamDef("b", 1)))
    minibatch = MinibatchSource([left, right], randomize=False, max_sweeps=1).next_minibatch(10)
    assert minibatch["a"].keys == [1, 3]
    assert [s.tolist() for s in minibatch["b"].as_sequences()] == [[[8.0], [7.0]], [[9.0]]]
    outer = MinibatchSource([left, right], randomize=False, max_sweeps=1, outer_join=True).next_minibatch(10)
    assert [len(s) for s in outer["b"].as_sequences()] == [2, 0, 1]
    with pytest.raises(ConfigError, match="strict_keys"):
        MinibatchSource([left, right], strict_keys=True)
    for primary in (1, "b"):
        by_right = MinibatchSource([left, right], randomize=False, max_sweeps=1, primary=primary)
        assert list(by_right.streams) == ["b", "a"]
        assert by_right.next_minibatch(10)["a"].keys == [3, 1]


def test_truncated_sequences_lie_in_rows_and_go_on_behind_any_minibatch(ctf: Callable[[str], str]) -> None:
    rows = [(key, t) for key, length in enumerate([5, 2, 4]) for t in range(length)]
    name = ctf("".join(f"{key} |x {100 * key + t} |y {t}:1\n" for key, t in rows))
    streams = StreamDefs(x=StreamDef("x", 1), y=StreamDef("y", 5, is_sparse=True))

    def make(**arguments: Any) -> MinibatchSource:
        return MinibatchSource(
            CTFDeserializer(name, streams), randomize=False, max_sweeps=1, truncation_length=3, **arguments
        )

    source = make()
    first = source.next_minibatch(6)
    assert [s.ravel().tolist() for s in first["x"].as_sequences()] == [[0, 1, 2], [100, 101], [200]]
    assert first["x"].layout.places.tolist() == [[0, 0, 0, 5], [1, 1, 0, 2], [2, 1, 2, 6]]
    assert first["y"].samples.shape == (6, 5)
    other = make(keep_sparse=True)
    assert other.next_minibatch(6)["y"].is_sparse
    state = json.loads(json.dumps(source.state_dict()))
    fresh = make()
    fresh.load_state_dict(state)
    second = fresh.next_minibatch(6)
    assert second["x"].mask.tolist() == [[1, 1, 0], [1, 1, 1]]
    assert second["x"].asarray()[..., 0].tolist() == [[3, 4, 0], [201, 202, 203]]
    assert not fresh.next_minibatch(6)


def test_paths_may_be_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.ctf").write_text("|x 1\n")
    config: dict[str, Any] = {
        "deserializers": [{"type": "CNTKTextFormatDeserializer", "file": b"a.ctf", "input": {"x": {"dim": 1, "format": "dense"}}}],
        "quarantine": b"faults.jsonl",
        "maxSweeps": 1,
    }
    folder = os.fsencode(tmp_path)
    with MinibatchSource.from_config(config, base_dir=folder) as source:
        assert source.next_minibatch(1)["x"].samples.tolist() == [[1]]
    (tmp_path / "a.json").write_text(json.dumps({**config, "deserializers": [{**config["deserializers"][0], "file": "a.ctf"}], "quarantine": None}))
    assert "readers" in resolve_config(folder + b"/a.json")
    with MinibatchSource.from_config(folder + b"/a.json", base_dir=folder) as source:
        assert source.next_minibatch(1)["x"].samples.tolist() == [[1]]


def test_a_stream_has_a_name_of_bounded_length(tmp_path: Path) -> None:
    (tmp_path / "a.ctf").write_text("|x 1\n")
    fits, too_long = "n" * 1024, "n" * 1_000_000
    expected = "the name of stream `nnnnnnnnnnnnnnnnnnnn…` has 1000000 bytes, expected 1024 at most"

    class Rows(UserDeserializer):
        def stream_infos(self) -> list[StreamInformation]:
            return [StreamInformation(too_long, 0, "dense", np.float32, (1,))]

        def num_chunks(self) -> int:
            return 1

        def get_chunk(self, chunk_id: int) -> dict[str, Any]:
            return {too_long: np.zeros((1, 1), np.float32)}

    def text(name: str) -> CTFDeserializer:
        return CTFDeserializer(tmp_path / "a.ctf", StreamDefs({name: StreamDef("x", 1)}))

    for refused in (lambda: MinibatchSource(text(too_long)), lambda: MinibatchSource(Rows()), lambda: from_data(too_long)):
        with pytest.raises(ConfigError) as raised:
            refused()
        assert expected in str(raised.value) and len(str(raised.value)) < 300
    with MinibatchSource(text(fits), max_sweeps=1) as source:
        assert source.next_minibatch(1)[fits].num_samples == 1


def from_data(name: str) -> MinibatchSource:
    return MinibatchSource.from_data({name: np.zeros((2, 3), np.float32)})


def nested(depth: int, is_list: bool = False) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if is_list else {"more": value}
    return value


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("depth", [127, 10_000, 200_000])
def test_values_that_are_nested_too_deep_are_refused(corpus: Make, depth: int, is_list: bool) -> None:
    source = corpus()
    state = {**source.get_checkpoint_state(), "more": nested(depth, is_list)}
    for call in (source.restore_from_checkpoint, source.load_state_dict, lambda state: merge_states([state, state])):
        with pytest.raises(ResumeError, match="more than 127 deep, expected at most 127"):
            call(state)
    with pytest.raises(ConfigError, match="more than 127 deep"):
        MinibatchSource.from_config({"deserializers": [], "more": nested(depth, is_list)})
    looped: dict[str, Any] = {}
    looped["more"] = looped
    with pytest.raises(ResumeError, match="127 deep"):
        source.restore_from_checkpoint(looped)


def test_a_state_of_a_later_version_is_refused_with_both_versions(corpus: Make) -> None:
    source = corpus()
    source.next_minibatch(2)
    state = {**source.get_checkpoint_state(), "stateVersion": 99}
    with pytest.raises(ResumeError, match="the version of the state is 99, expected 3 or an earlier one"):
        source.restore_from_checkpoint(state)
