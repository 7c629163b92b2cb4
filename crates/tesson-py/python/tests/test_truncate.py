"""Examples cut into pieces: rows that continue from batch to batch."""

import random
from typing import Any

import numpy as np
import pytest

import tesson
from tesson import ConfigError, Loader

Row = list[tuple[int, bool]]


def data(lengths: list[int]) -> tesson.Dataset:
    """Examples whose samples are numbered, the same in two streams of different types."""
    numbers = [np.arange(i * 1000, i * 1000 + n) for i, n in enumerate(lengths)]
    return tesson.from_arrays(x=numbers, y=[part[:, None].astype(np.float32) for part in numbers])


def batches(loader: Loader) -> list[list[Row]]:
    """Of each batch of an epoch the rows: numbers of samples, and whether an example begins with them."""
    found = []
    for batch in loader:
        x, y = batch["x"], batch["y"]
        assert x.values.dtype == np.int64 and y.values.shape == (*x.values.shape, 1)
        assert (x.mask == y.mask).all() and (x.is_start == y.is_start).all() and not (x.is_start & ~x.mask).any()
        assert (y.values[..., 0] == x.values).all()
        rows = zip(x.values.tolist(), x.mask.tolist(), x.is_start.tolist(), strict=True)
        found.append([[(v, s) for v, m, s in zip(*row, strict=True) if m] for row in rows])
    return found


def rows_of(found: list[list[Row]]) -> list[Row]:
    """The rows of an epoch from its first to its last batch."""
    return [[sample for row in rows for sample in row] for rows in zip(*found, strict=True)]


def random_case(draw: random.Random) -> tuple[list[int], dict[str, Any]]:
    lengths = [draw.choice([1, 2, 3, 7, 20]) for _ in range(draw.randrange(1, 30))]
    shuffle = draw.choice([False, True, tesson.Window(samples=20)])
    return lengths, {"batch_size": draw.randrange(1, 6), "truncate": draw.randrange(1, 9), "shuffle": shuffle, "seed": draw.randrange(9)}


@pytest.mark.parametrize("seed", range(30))
def test_an_epoch_has_every_sample_once_and_rows_continue(seed: int) -> None:
    lengths, options = random_case(random.Random(seed))
    loader = data(lengths).loader(**options)
    samples = sorted(1000 * i + k for i, n in enumerate(lengths) for k in range(n))
    for epoch in range(3):
        assert loader.epoch == epoch
        steps = len(loader)
        found = batches(loader)
        rows = rows_of(found)
        assert len(found) == steps
        assert sorted(number for row in rows for number, _ in row) == samples
        for row in rows:
            numbers = [number for number, _ in row]
            starts = [is_start for _, is_start in row]
            assert starts == [number % 1000 == 0 for number in numbers]
            follows = [b == a + 1 or b % 1000 == 0 and a % 1000 == lengths[a // 1000] - 1 for a, b in zip(numbers, numbers[1:])]
            assert all(follows)
        report = loader.epoch_report()
        assert (report.examples, report.dropped, report.is_over) == (len(lengths), 0, True)


@pytest.mark.parametrize("seed", range(20))
def test_resume_is_exact_at_every_step(seed: int) -> None:
    draw = random.Random(100 + seed)
    lengths, options = random_case(draw)
    whole = data(lengths).loader(**options)
    states, expected = [whole.state_dict()], []
    for step in range(1, 12):
        (batch,) = whole.steps(1)
        expected.append((batch["x"].values.tolist(), batch.keys, batch.is_epoch_end))
        states.append(whole.state_dict())
        assert whole.step == step
    for step in {0, 11, *draw.sample(range(12), 3)}:
        resumed = data(lengths).loader(**options)
        resumed.load_state_dict(states[step])
        rest = [(batch["x"].values.tolist(), batch.keys, batch.is_epoch_end) for batch in resumed.steps(11 - step)]
        assert rest == expected[step:]
        assert resumed.state_dict() == states[11]
        resumed.skip_to(step)
        assert resumed.step == step
        assert [batch.keys for batch in resumed.steps(11 - step)] == [keys for _, keys, _ in expected[step:]]
        if step < 11:
            planned = resumed.which(step)
            assert planned.keys == expected[step][1] and planned.sweep_end == expected[step][2]


@pytest.mark.parametrize("seed", range(20))
def test_ranks_make_equally_many_steps_of_the_rows_of_one(seed: int) -> None:
    draw = random.Random(200 + seed)
    lengths, options = random_case(draw)
    n = draw.randrange(2, 4)
    options["batch_size"] *= n
    loaders = [data(lengths).loader(**options, rank=rank, world_size=n) for rank in range(n)]
    single = data(lengths).loader(**options, world=None)
    for _ in range(3):
        steps = {len(loader) for loader in loaders}
        if steps == {0}:
            with pytest.raises(tesson.UsageError, match="too few sequences"):
                batches(loaders[0])
            return
        found = [batches(loader) for loader in loaders]
        whole = batches(single)
        assert {len(parts) for parts in found} == steps
        for step, parts in enumerate(zip(*found, strict=True)):
            assert all(any(part) for part in parts)
            assert [parts[row % n][row // n] for row in range(options["batch_size"])] == whole[step]
        reports = [loader.epoch_report() for loader in loaders]
        ended = sum(number % 1000 == lengths[number // 1000] - 1 for parts in found for rows in parts for row in rows for number, _ in row)
        assert {report.dropped for report in reports} == {len(lengths) - ended}


def test_a_stream_of_another_length_is_an_error_that_names_it() -> None:
    loader = tesson.from_arrays(x=[np.arange(3), np.arange(2)], label=np.arange(2)).loader(batch_size=1, truncate=2)
    with pytest.raises(tesson.DataError, match="label"):
        next(iter(loader))


@pytest.mark.parametrize("option", ["batch_samples", "drop_last", "bucket_by_length"])
def test_options_that_pieces_cannot_have_are_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option}: found it beside truncate; .*leave it out"):
        data([3]).loader(batch_size=2, truncate=2, shuffle=True, **{option: 1})


def test_pieces_need_a_number_of_rows() -> None:
    with pytest.raises(ConfigError, match="truncate: found no batch_size"):
        data([3]).loader(batch_samples=2, truncate=2)
    with pytest.raises(ConfigError, match="truncate"):
        data([3]).loader(batch_size=2, truncate=0)


def test_more_ranks_than_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="batch_size"):
        data([3, 4]).loader(batch_size=1, truncate=2, rank=1, world_size=2)
