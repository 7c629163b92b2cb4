"""Transforms of the user's own, in Python."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import tesson
from tesson import ConfigError, DataError, ResumeError, UsageError, UserTransform
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

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


def pieces(of: MinibatchSource) -> list[tuple[int, list[float]]]:
    """Keys and values of what is left, piece by piece."""
    return [
        (key, values.ravel().tolist())
        for minibatch in of.minibatches(6)
        for key, values in zip(minibatch["x"].keys, minibatch["x"].as_sequences())
    ]


def test_sequences_are_transformed_whole_before_they_are_cut(ctf: Callable[[str], str]) -> None:
    name = ctf("".join(f"{key} |x {t}\n" for key, length in enumerate([5, 2, 4, 7]) for t in range(length)))
    streams = StreamDefs(x=StreamDef("x", 1, transforms=[NOISE]))

    def read(**arguments: Any) -> MinibatchSource:
        return MinibatchSource(
            CTFDeserializer(name, streams), randomize=False, max_samples=22, max_samples_end="inside", **arguments
        )

    def put_together(source: MinibatchSource) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {}
        for key, values in pieces(source):
            found.setdefault(key, []).extend(values)
        return found

    expected = put_together(read())
    assert [len(values) for values in expected.values()] == [9, 2, 4, 7]
    assert put_together(read(truncation_length=3)) == expected
    source = read(truncation_length=3)
    source.next_minibatch(6)
    state = source.get_checkpoint_state()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(pieces, (source,))
    fresh = read(truncation_length=3)
    fresh.restore_from_checkpoint(state)
    assert there == pieces(fresh) == pieces(source)


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
    with pytest.raises(ConfigError, match="`negative`: it transforms dense samples, this stream is sparse; choose"):
        source(transforms={"labels": np.negative})
    with pytest.raises(ConfigError, match="there is no such stream, there are features, labels"):
        source(transforms={"lables": np.negative})


def test_sparse_samples_come_as_rows_or_dense() -> None:
    stored = source().next_minibatch(6)["labels"].asarray()[:, 0]
    doubled = UserTransform(lambda row: row[:, ::-1] * 2, sparse="csr")
    with source(transforms={"labels": [doubled, doubled]}) as rows:
        assert rows.streams.labels.is_sparse
        found = rows.next_minibatch(6)["labels"]
        assert found.asarray()[:, 0].tolist() == (4 * stored).tolist()
    widest = UserTransform(lambda sample: [sample.argmax()], shape=1, sparse="dense")
    with source(transforms={"labels": [doubled, widest]}) as dense:
        assert not dense.streams.labels.is_sparse
        assert dense.next_minibatch(6)["labels"].samples[:, 0].tolist() == stored[:, ::-1].argmax(axis=1).tolist()
    with source(transforms={"labels": UserTransform(np.negative, shape=2, sparse="csr")}) as wrong:
        with pytest.raises(DataError, match=r"a csr_matrix of shape \(1, 3\), expected a sparse matrix of shape \(1, 2\)"):
            wrong.next_minibatch(1)
    with pytest.raises(ValueError, match="expected 'csr' or 'dense'"):
        UserTransform(np.negative, sparse="rows")  # type: ignore[arg-type]


def test_entries_of_sparse_samples_may_be_in_any_order_and_repeated() -> None:
    kept = csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    with source(transforms={"labels": UserTransform(lambda row: kept, sparse="csr")}) as same:
        found = same.next_minibatch(2)["labels"]
        assert found.values.tolist() == [2, 5] * 2 and found.indices.tolist() == [0, 2] * 2
    assert kept.nnz == 3
    empty = UserTransform(lambda row: csr_matrix((1, 7)), shape=7, sparse="csr")
    with source(transforms={"labels": empty}) as nothing:
        assert nothing.streams.labels.shape == (7,)
        assert nothing.next_minibatch(6)["labels"].values.size == 0
    dense = UserTransform(lambda row: row.toarray(), sparse="csr")
    with source(transforms={"labels": dense}) as wrong:
        with pytest.raises(DataError, match=r"returned a ndarray of shape \(1, 3\), expected a sparse matrix"):
            wrong.next_minibatch(1)


def test_random_numbers_of_sparse_samples_are_a_matter_of_the_sequence() -> None:
    def scaled(row: Any, rng: np.random.Generator) -> Any:
        return row * rng.uniform(1, 2)

    def labels(size: int, **arguments: Any) -> list[float]:
        noise = UserTransform(scaled, random=True, sparse="csr")
        with source(transforms={"labels": noise}, max_sweeps=2, randomize=True, **arguments) as of:
            return [value for minibatch in of.minibatches(size) for value in minibatch["labels"].values.tolist()]

    expected = labels(4)
    assert len(set(expected)) == len(expected) > 6
    assert labels(1, threads=4) == expected


def test_what_a_function_gets_of_a_sparse_stream_is_part_of_the_state() -> None:
    def rows(sparse: Any) -> MinibatchSource:
        return source(transforms={"labels": UserTransform(np.negative, sparse=sparse)})

    state = rows("csr").get_checkpoint_state()
    rows("csr").restore_from_checkpoint(state)
    with pytest.raises(ResumeError):
        rows("dense").restore_from_checkpoint(state)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_cannot_use_the_source_that_calls_it(threads: int) -> None:
    own: list[MinibatchSource] = []
    found: list[str] = []

    def curious(sample: Any) -> Any:
        calls: list[Callable[[], Any]] = [
            lambda: own[0].next_minibatch(1),
            lambda: own[0].get_checkpoint_state(),
            lambda: own[0].restore_from_checkpoint(state),
            lambda: own[0].num_sequences(),
            lambda: own[0].skip_failed(),
            lambda: own[0].close(),
        ]
        for call in calls:
            with pytest.raises(UsageError) as raised:
                call()
            found.append(str(raised.value))
        return sample

    with source() as other:
        state = other.get_checkpoint_state()
    with source(curious, threads=threads) as of:
        own.append(of)
        assert sum(minibatch["features"].num_samples for minibatch in of.minibatches(2)) == 6
    assert set(found) == {USED_BY_ITS_OWN} and len(found) == 6 * 6


USED_BY_ITS_OWN = (
    "the source is used by its own transform or deserializer, for which it is waiting; "
    "expected a function that uses only what it is given, or another source"
)


def test_a_function_may_use_another_source() -> None:
    with source() as other, source(lambda sample: sample + other.next_minibatch(1)["features"].samples[0], threads=1) as of:
        expected = [[2 * x for x in row] for row in STORED]
        assert of.next_minibatch(6)["features"].samples.tolist() == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_a_function_that_uses_its_source_names_the_function(threads: int) -> None:
    own: list[MinibatchSource] = []

    def greedy(sample: Any) -> Any:
        return own[0].next_minibatch(1)["features"].samples[0] if own else sample

    with source(greedy, threads=threads) as of:
        own.append(of)
        with pytest.raises(DataError, match="`greedy` raised UsageError: the source is used by its own transform"):
            for _ in of.minibatches(1):
                pass


def loader_of(function: Any, **options: Any) -> tesson.Loader:
    """Twenty examples, of which a function transforms a dense stream beside texts and lists."""
    lists = [list(range(n % 4)) for n in range(20)]
    data = tesson.from_arrays(x=np.arange(20), name=[f"n{n}" for n in range(20)], some=lists)
    return data.transform(x=function).loader(**{"batch_size": 3, "shuffle": True, "seed": 3, **options})


def raises_at_sevens(sample: Any) -> Any:
    if sample % 7 == 0:
        raise ValueError(f"no {sample}")
    return sample * 2


def test_an_example_whose_function_raises_is_left_out_of_all_streams() -> None:
    with loader_of(raises_at_sevens, max_errors=3) as loader:
        batches = list(loader)
        assert loader.epoch_report()[2:] == (17, 0, 0, 3, True)
    numbers = [n for batch in batches for n in (batch["x"] // 2).tolist()]
    assert sorted(numbers) == [n for n in range(20) if n % 7]
    assert [key for batch in batches for key in batch.keys] == numbers
    assert [name for batch in batches for name in batch["name"].tolist()] == [f"n{n}" for n in numbers]
    assert [len(some) for batch in batches for some in batch["some"]] == [n % 4 for n in numbers]


def test_faults_of_functions_beyond_the_budget_are_errors_with_the_key() -> None:
    with loader_of(raises_at_sevens, max_errors=2) as loader, pytest.raises(DataError, match="`raises_at_sevens` raised ValueError: no ") as e:
        list(loader)
    assert (e.value.stream, e.value.key in (0, 7, 14)) == ("x", True)


def test_faults_of_functions_are_in_states() -> None:
    def steps(loader: tesson.Loader) -> list[Any]:
        return [(batch["x"].tolist(), batch.keys, loader.state_dict()) for batch in loader]

    with loader_of(raises_at_sevens, max_errors=3) as whole:
        all_steps = steps(whole)
    # After the last one the next epoch begins.
    for number, (_, _, state) in enumerate(all_steps[:-1]):
        with loader_of(raises_at_sevens, max_errors=3) as resumed:
            resumed.load_state_dict(state)
            assert steps(resumed) == all_steps[number + 1 :]


def test_several_ranks_do_not_forgive_faults_of_functions() -> None:
    with loader_of(raises_at_sevens, max_errors=9, rank=0, world_size=2) as loader, pytest.raises(DataError, match="raised ValueError"):
        list(loader)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_interrupts_in_functions_are_not_forgiven(interrupt: type[BaseException]) -> None:
    def interrupts(sample: Any) -> Any:
        raise interrupt

    with loader_of(interrupts, on_error="skip") as loader, pytest.raises(interrupt):
        list(loader)


def test_sparse_examples_whose_function_raises_are_left_out() -> None:
    matrix = np.arange(45, dtype=np.float32).reshape(9, 5) % 4

    def picky(row: Any) -> Any:
        if np.array_equal(row.toarray()[0], matrix[4]):
            raise ValueError("this one")
        return row

    data = tesson.from_arrays(x=csr_matrix(matrix)).transform(x=tesson.UserTransform(picky, sparse="csr"))
    # Rows 0 and 8 have equal values as well.
    kept = [row for row in range(9) if not np.array_equal(matrix[row], matrix[4])]
    with data.loader(batch_size=9, max_errors=9) as loader:
        (batch,) = loader
        assert batch.keys == kept
        assert np.array_equal(batch["x"].to_dense(), matrix[kept])
