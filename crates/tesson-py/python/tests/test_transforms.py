"""Transforms of the user's own, in Python."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tesson import (
    ConfigError,
    CTFDeserializer,
    DataError,
    MinibatchSource,
    ResumeError,
    StreamDef,
    StreamDefs,
    UserTransform,
)

STORED = [[i, i + 1, i + 2, i + 3] for i in range(6)]


def source(*transforms: Callable[..., Any], shape: Any = 4, **arguments: Any) -> MinibatchSource:
    """A source on ``train.ctf`` whose features are transformed."""
    streams = StreamDefs(
        features=StreamDef("x", shape, transforms=transforms), labels=StreamDef("y", 3, is_sparse=True)
    )
    arguments = {"randomize": False, "max_sweeps": 1} | arguments
    return MinibatchSource(CTFDeserializer("train.ctf", streams), **arguments)


def noisy(sample: Any, rng: np.random.Generator) -> Any:
    return sample + rng.normal(size=sample.shape)


NOISE = UserTransform(noisy, random=True)


def features(of: MinibatchSource, size: int = 4, **share: int) -> dict[int, list[list[float]]]:
    """The features of each sequence by key, sweep after sweep."""
    found: dict[int, list[list[float]]] = {}
    for minibatch in of.minibatches(size, **share):
        for key, sample in zip(minibatch["features"].keys, minibatch["features"].samples.tolist()):
            found.setdefault(key, []).append(sample)
    return found


def test_functions_are_applied_in_order() -> None:
    with source(np.negative, lambda sample: sample[:1] * 10 + sample[1:]) as wrong:
        with pytest.raises(DataError, match=r"returned an array of shape \(3,\), expected \(4,\)"):
            wrong.next_minibatch(1)
    last = UserTransform(lambda sample: sample[-1:], shape=1)
    with source(np.negative, last) as right:
        assert right.streams.features.shape == (1,)
        assert right.next_minibatch(6)["features"].samples.tolist() == [[-row[-1]] for row in STORED]


def test_a_function_gets_the_shape_that_was_defined() -> None:
    with source(np.transpose, shape=(2, 2)) as transposed:
        assert transposed.streams.features.shape == (2, 2)
        expected = [np.reshape(row, (2, 2)).T.tolist() for row in STORED]
        assert transposed.next_minibatch(6)["features"].samples.tolist() == expected
    with source(shape=(2, 2), transforms={"features": [UserTransform(np.sum, shape=())]}) as summed:
        assert summed.next_minibatch(6)["features"].samples.tolist() == [sum(row) for row in STORED]


def test_random_numbers_are_a_matter_of_seed_sweep_and_sequence() -> None:
    expected = features(source(NOISE, max_sweeps=2, randomize=True))
    assert all(first != second for first, second in expected.values())
    assert features(source(NOISE, max_sweeps=2, randomize=True, threads=4), size=1) == expected
    shares: dict[int, list[list[float]]] = {}
    for rank in range(2):
        own = source(NOISE, max_sweeps=2, randomize="global", sharing="position")
        for key, samples in features(own, 2, num_data_partitions=2, partition_index=rank).items():
            shares.setdefault(key, []).extend(samples)
    assert {key: sorted(samples) for key, samples in shares.items()} == {k: sorted(s) for k, s in expected.items()}
    assert features(source(NOISE, max_sweeps=2, randomization_seed=1)) != expected
    assert features(source(UserTransform(noisy, random=True, seed=1), max_sweeps=2, randomize=True)) != expected


def test_a_source_pickles_and_goes_on_with_its_transforms() -> None:
    straight = source(NOISE, np.square, max_sweeps=3, randomize=True)
    straight.next_minibatch(4)
    again = pickle.loads(pickle.dumps(straight))
    assert features(again) == features(straight)


def test_a_state_of_other_transforms_is_refused() -> None:
    state = source(np.negative).get_checkpoint_state()
    source(np.negative).restore_from_checkpoint(state)
    for other in (source(), source(np.square), source(np.negative, NOISE)):
        with pytest.raises(ResumeError):
            other.restore_from_checkpoint(state)


def test_an_exception_names_the_function_and_the_sequence_and_is_the_cause() -> None:
    def picky(sample: Any) -> Any:
        if sample[0] == 2:
            raise KeyError("two")
        return sample

    with source(picky) as picked:
        picked.next_minibatch(2)
        with pytest.raises(DataError, match="stream `features`, sequence 2: transform `picky`: `picky` raised KeyError") as e:
            picked.next_minibatch(2)
        assert isinstance(e.value.__cause__, KeyError)
        assert (e.value.stream, e.value.key) == ("features", 2)
        picked.skip_failed()
        assert picked.next_minibatch(2)["features"].samples.tolist() == STORED[4:]


def test_streams_that_cannot_be_transformed_are_refused() -> None:
    with pytest.raises(ConfigError, match="`negative` transforms dense streams, this one is sparse"):
        source(transforms={"labels": np.negative})
    with pytest.raises(ConfigError, match="there is no such stream, there are features, labels"):
        source(transforms={"lables": np.negative})
