"""Which sequences a step holds, where a key comes, skipping to a step, and leaving out named keys."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tesson import ConfigError, KeyDelivery, UsageError
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

Open = Callable[..., MinibatchSource]


@pytest.fixture
def source_of(tmp_path: Path) -> Iterator[Open]:
    """Opens sources of 40 sequences of 1 to 3 samples with numbers as keys, in several chunks."""
    path = tmp_path / "data.ctf"
    path.write_text("".join(f"{key} |x {key}\n" * (1 + key % 3) for key in range(40)))
    opened = []

    def open_source(**options: Any) -> MinibatchSource:
        definition = StreamDefs(x=StreamDef(field="x", shape=1))
        options = {"max_sweeps": 2, "randomization_window_in_chunks": 3} | options
        deserializer = CTFDeserializer(path, definition, chunk_size_in_bytes=100)
        opened.append(MinibatchSource(deserializer, **options))
        return opened[-1]

    yield open_source
    for source in opened:
        source.close()


def delivered(source: MinibatchSource, size: int = 7, workers: int = 1, rank: int = 0) -> list[list[int | str]]:
    batches = source.minibatches(size, num_data_partitions=workers, partition_index=rank, sweeps=100)
    return [list(minibatch["x"].keys) for minibatch in batches]


@pytest.mark.parametrize("sharing", ["chunk", "position"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_steps_are_those_that_are_delivered(source_of: Open, sharing: Literal["chunk", "position"], workers: int) -> None:
    planned = source_of(sharing=sharing)
    of_ranks = [delivered(source_of(sharing=sharing), 7, workers, rank) for rank in range(workers)]
    for step in range(max(map(len, of_ranks))):
        found = planned.which(step, 7, num_data_partitions=workers)
        for rank, batches in enumerate(of_ranks):
            expected = batches[step] if step < len(batches) else []
            assert [s.key for s in found.sequences if s.rank == rank] == expected
            if expected:
                assert planned.which(step, 7, num_data_partitions=workers, partition_index=rank).keys == expected
    places = [planned.where(17, sweep, 7, num_data_partitions=workers) for sweep in range(2)]
    assert [len(place) for place in places] == [1, 1]
    for [place] in places:
        assert isinstance(place, KeyDelivery) and 17 in of_ranks[place.rank][place.step]
    with pytest.raises(UsageError, match="the data end after"):
        planned.which(1000, 7, num_data_partitions=workers)


def test_a_sequence_is_told_with_its_file_and_bytes(source_of: Open) -> None:
    source = source_of(randomize=False)
    second = source.which(0, 7).sequences[1]
    assert (second.key, second.samples, second.rank, second.sweep) == (1, (0, 2), 0, 0)
    assert second.file is not None and second.bytes is not None
    assert Path(second.file).read_bytes()[slice(*second.bytes)] == b"1 |x 1\n" * 2


def test_skipping_is_exact_under_resume(source_of: Open) -> None:
    source = source_of()
    whole = delivered(source)
    source = source_of()
    for _ in range(5):
        source.next_minibatch(7)
    state = source.get_checkpoint_state()
    skipped = source_of()
    skipped.skip_to(5, 7)
    assert skipped.get_checkpoint_state() == state
    assert delivered(skipped) == whole[5:]
    source.skip_to(8, 7)
    resumed = source_of()
    resumed.restore_from_checkpoint(source.get_checkpoint_state())
    assert delivered(resumed) == whole[8:]
    with pytest.raises(UsageError, match="no rank is named"):
        source.skip_to(1, 7, num_data_partitions=2)


def test_truncated_minibatches_are_skipped_by_reading_them(source_of: Open) -> None:
    truncated = {"truncation_length": 2, "randomize": False}
    whole = delivered(source_of(**truncated))
    source = source_of(**truncated)
    for step in (5, 2, len(whole)):
        source.skip_to(step, 7)
        state = source.get_checkpoint_state()
        assert delivered(source) == whole[step:]
        resumed = source_of(**truncated)
        resumed.restore_from_checkpoint(state)
        assert delivered(resumed) == whole[step:]
        source.restore_from_checkpoint(state)
    source.skip_to(1, 7)
    with pytest.raises(UsageError, match=f"the data end after {len(whole)} minibatches"):
        source.skip_to(len(whole) + 1, 7)
    assert delivered(source) == whole[1:]


def test_a_schedule_is_followed_over_its_epochs(source_of: Open) -> None:
    batches = [list(minibatch["x"].keys) for minibatch in source_of().minibatches("4:9", sweeps=100)]
    source = source_of()
    assert [source.which(step, "4:9").keys for step in range(len(batches))] == batches


def test_excluded_keys_are_missing_and_a_state_resumes_under_another_list(source_of: Open, tmp_path: Path) -> None:
    whole = delivered(source_of())
    bad = [3, "17"]
    expected = [[key for key in keys if key not in (3, 17)] for keys in whole]
    assert delivered(source_of(exclude_keys=bad)) == expected
    (tmp_path / "bad.txt").write_text("3\n17\n")
    assert delivered(source_of(exclude_keys=tmp_path / "bad.txt")) == expected
    source = source_of()
    for _ in range(4):
        source.next_minibatch(7)
    resumed = source_of(exclude_keys=iter(bad))
    resumed.restore_from_checkpoint(source.get_checkpoint_state())
    assert delivered(resumed) == expected[4:]
    assert resumed.where(3, 0, 7) == []


def test_keys_that_mean_nothing_are_refused(source_of: Open) -> None:
    with pytest.raises(UsageError, match=r"no sequence with the key `400` among 40; one is `\d+`"):
        source_of().where(400)
    with pytest.raises(ConfigError, match="exclude_keys: .*expected a list of keys, or the name of a file"):
        source_of(exclude_keys=[1.5])
    with pytest.raises(UsageError, match="names the keys of all 40"):
        source_of(exclude_keys=range(40))
