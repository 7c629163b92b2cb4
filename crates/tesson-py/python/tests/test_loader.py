"""Datasets and loaders: epochs, ranks, types, resume."""

import pickle
from collections import Counter
from typing import Any, cast

import numpy as np
import pytest
import tesson
import tesson.io
from random_runs import check_runs
from tesson import ConfigError, DataError, Loader, Ragged, Sparse, UserTransform

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


def of_type(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Random bits as values of a type; bools are 0 and 1, floats have no NaN, which equals nothing."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return random.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def keys(loader: Loader) -> list[list[int]]:
    """The keys of the batches of the rest of an epoch."""
    return [list(batch.keys) for batch in loader]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shuffle", [False, True, tesson.Window(chunks=2)])
def test_types_and_values_are_kept(dtype: str, shuffle: Any) -> None:
    scalar, image = of_type(dtype, (50,)), of_type(dtype, (50, 2, 3), 1)
    lists = [of_type(dtype, (n % 4, 2), n) for n in range(50)]
    data = tesson.from_arrays(scalar=scalar, image=image, lists=lists)
    assert [str(field) for field in data.schema.values()] == [
        f"scalar: {dtype} []", f"image: {dtype} [2, 3]", f"lists: ragged {dtype} [2]",
    ]
    seen = 0
    for batch in data.loader(batch_size=7, shuffle=shuffle):
        seen += len(batch)
        assert batch["scalar"].dtype == batch["image"].dtype == batch["lists"].dtype == np.dtype(dtype)
        np.testing.assert_array_equal(batch["scalar"], scalar[batch.keys])
        np.testing.assert_array_equal(batch["image"], image[batch.keys])
        for found, key in zip(batch["lists"].to_list(), batch.keys, strict=True):
            np.testing.assert_array_equal(found, lists[key])
    assert seen == 50


def test_whole_numbers_beyond_a_float_stay_as_they_are() -> None:
    big = [2**60 + 1, 2**63 - 1, -(2**63), 16_777_217]
    batch = tesson.from_arrays(x=np.array(big), y=np.array([2**64 - 1] * 4, np.uint64)).head(4)
    assert batch["x"].tolist() == big
    assert batch["y"].tolist() == [2**64 - 1] * 4


@pytest.mark.parametrize("shuffle", [False, True, tesson.Window(chunks=2)])
def test_a_batch_says_which_file_each_example_is_from(shuffle: Any, tmp_path: Any) -> None:
    files = [tmp_path / f"{letter}.csv" for letter in "abc"]
    for number, file in enumerate(files):
        file.write_text("x\n" + "".join(f"{number}\n" for _ in range(5 + number)))
    pictures = tmp_path / "pictures" / "one"
    pictures.mkdir(parents=True)
    for number in range(3):
        (pictures / f"{number}.ppm").write_bytes(b"P6 1 1 255\n" + bytes([number] * 3))
    counts: Counter[str] = Counter()
    for batch in tesson.read_csv(tmp_path / "*.csv").loader(batch_size=4, shuffle=shuffle):
        assert batch.sources == [str(files[x]) for x in batch["x"]]
        counts.update(batch.sources)
    assert counts == {str(file): 5 + number for number, file in enumerate(files)}
    images = next(iter(tesson.read_images(tmp_path / "pictures", size=(1, 1)).loader(batch_size=3, shuffle=shuffle)))
    assert images.sources == [str(pictures / f"{int(x)}.ppm") for x in images["image"][:, 0, 0, 0]]
    assert next(iter(tesson.from_arrays(x=np.arange(3)).loader(batch_size=3))).sources is None


def test_arrays_of_a_batch_can_be_written_to_and_outlive_it() -> None:
    batch = tesson.from_arrays(x=np.arange(3)).head(3)
    x = batch["x"]
    del batch
    x += 1
    assert x.tolist() == [1, 2, 3]


def test_an_epoch_is_an_epoch() -> None:
    loader = tesson.from_arrays(x=np.arange(61)).loader(batch_size=16, shuffle=True, seed=3)
    epochs = [keys(loader) for _ in range(3)]
    assert [[len(batch) for batch in epoch] for epoch in epochs] == [[16, 16, 16, 13]] * 3
    assert all(sorted(sum(epoch, [])) == list(range(61)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert len(loader) == 4
    assert loader.epoch == 3


def test_a_loop_that_is_left_goes_on_with_the_rest_of_its_epoch() -> None:
    loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=3)
    for batch in loader:
        assert not batch.is_epoch_end
        break
    assert keys(loader) == [[3, 4, 5], [6, 7, 8], [9]]
    assert keys(loader) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def test_an_iterator_that_another_one_has_followed_is_refused() -> None:
    loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=3)
    first = iter(loader)
    next(first)
    assert next(iter(loader)).keys == [3, 4, 5]
    with pytest.raises(tesson.UsageError, match="begun another iteration"):
        next(first)


def test_epochs_that_are_all_read_do_not_end_in_silence() -> None:
    loader = tesson.from_arrays(x=np.arange(4)).loader(batch_size=3, epochs=2)
    assert [keys(loader) for _ in range(2)] == [[[0, 1, 2], [3]]] * 2
    with pytest.raises(tesson.UsageError, match="all 2 epochs have been read"):
        iter(loader)


@pytest.mark.parametrize("shuffle", [False, True, tesson.Window(samples=8)])
@pytest.mark.parametrize("ranks", [(1, 1), (2, 2), (3, 2), (1, 3)])
def test_any_number_of_ranks_resumes_after_any_batch(shuffle: Any, ranks: tuple[int, int]) -> None:
    before, after = ranks
    data = tesson.from_arrays(x=np.arange(23))
    options = {"batch_size": 6, "shuffle": shuffle, "seed": 5}

    def read(size: int, state: Any, steps: int) -> tuple[list[list[int]], Any]:
        """The keys that all ranks together get in each step, and the state after the last one."""
        loaders = [data.loader(rank=rank, world_size=size, **options) for rank in range(size)]
        if state is not None:
            for loader in loaders:
                loader.load_state_dict(state)
        found = []
        iterators = [iter(loader) for loader in loaders]
        while len(found) < steps:
            batches = [next(iterator, None) for iterator in iterators]
            assert len({batch is None for batch in batches}) == 1, "all ranks make the same steps"
            if batches[0] is None:
                iterators = [iter(loader) for loader in loaders]
                continue
            assert all(len(batch) > 0 for batch in batches if batch is not None)
            found.append(sorted(key for batch in batches if batch is not None for key in batch.keys))
        states = [loader.state_dict() for loader in loaders]
        assert all(state == states[0] for state in states)
        return found, states[0]

    # 6, 6, 6 and 5 examples an epoch: no rank is ever without one.
    whole, _ = read(1, None, 8)
    assert [sorted(sum(whole[i : i + 4], [])) for i in (0, 4)] == [list(range(23))] * 2
    for stop in range(8):
        first, state = read(before, None, stop)
        rest, _ = read(after, pickle.loads(pickle.dumps(state)), 8 - stop)
        assert first + rest == whole


def test_a_rank_that_would_get_nothing_repeats_an_example() -> None:
    data = tesson.from_arrays(x=np.arange(5))
    loaders = [data.loader(batch_size=4, rank=rank, world_size=3) for rank in range(3)]
    found = [keys(loader) for loader in loaders]
    assert [len(epoch) for epoch in found] == [2, 2, 2]
    assert all(len(batch) > 0 for epoch in found for batch in epoch)
    assert Counter(sum((epoch[1] for epoch in found), [])) == {4: 3}


def test_launchers_decide_unless_one_rank_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    data = tesson.from_arrays(x=np.arange(8))
    assert keys(data.loader(batch_size=4)) == [[1, 3], [5, 7]]
    assert keys(data.loader(batch_size=4, world=None)) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_sparse_and_ragged_streams_have_the_kind_that_the_schema_says() -> None:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(np.array([[0, 2, 0], [0, 0, 0], [1, 0, 3]], np.int16))
    data = tesson.from_arrays(sparse=matrix, same=[[1.5], [2.5], [3.5]])
    batch = data.head(3)
    assert isinstance(batch["sparse"], Sparse)
    assert batch["sparse"].to_dense().tolist() == matrix.toarray().tolist()
    assert batch["sparse"].to_scipy().dtype == np.int16
    # All examples have one sample here, and the kind stays.
    assert isinstance(batch["same"], Ragged)
    assert batch["same"].to_list() == [[1.5], [2.5], [3.5]]


def test_ragged_examples_are_padded_to_the_longest_or_further() -> None:
    ragged = tesson.from_arrays(x=[[1, 2, 3], [], [4]]).head(3)["x"]
    values, mask = ragged.pad(value=-1)
    assert values.tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1]]
    assert mask.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    assert ragged.pad(to=5).values.shape == (3, 5)
    with pytest.raises(tesson.UsageError, match="the longest example has 3 samples"):
        ragged.pad(to=2)
    assert ragged.lengths.tolist() == [3, 0, 1]
    assert ragged[-1].tolist() == [4]


def test_select_rename_transform_and_join(tmp_path: Any) -> None:
    (tmp_path / "a.ctf").write_text("0 |x 1 2 |z 7\n1 |x 3 4 |z 8\n")
    left = tesson.read_ctf(tmp_path / "a.ctf", x=2, z=1)
    right = tesson.from_arrays(y=np.array([10, 11]))
    data = left.join(right).rename(x="features").select("features", "y").transform(features=lambda x: x * 2)
    batch = data.head(2)
    assert list(batch) == ["features", "y"]
    assert batch["features"].tolist() == [[2, 4], [6, 8]]
    assert batch["y"].tolist() == [10, 11]
    with pytest.raises(KeyError, match="did you mean 'features'"):
        data.select("feature")


def test_several_samples_want_to_be_declared(tmp_path: Any) -> None:
    (tmp_path / "a.ctf").write_text("0 |x 1\n0 |x 2\n1 |x 3\n")
    with pytest.raises(tesson.UsageError, match=r"2 samples in the example with the key 0.*tesson\.ragged"):
        tesson.read_ctf(tmp_path / "a.ctf", x=1).head(2)["x"]
    ragged = tesson.read_ctf(tmp_path / "a.ctf", x=tesson.ragged(1)).head(2)["x"]
    assert [part.tolist() for part in ragged] == [[[1.0], [2.0]], [[3.0]]]


def test_a_dataset_pickles_and_says_what_it_is() -> None:
    data = tesson.from_arrays(x=np.zeros((3, 4), np.uint16))
    again = pickle.loads(pickle.dumps(data))
    assert repr(again) == "<Dataset in memory: x uint16 [4]>"
    loader = again.loader(batch_size=2, shuffle=True)
    assert repr(loader) == "<Loader batch_size=2, shuffle=True: 3 examples, 2 batches an epoch, of <Dataset in memory: x uint16 [4]>>"
    with pytest.raises(TypeError, match="iterate over its loader"):
        iter(data)


def test_misspelt_options_lead_to_those_meant() -> None:
    data = tesson.from_arrays(x=np.zeros(3))
    with pytest.raises(TypeError, match="did you mean `batch_size`"):
        data.loader(batchsize=2)
    with pytest.raises(tesson.ConfigError, match="such as batch_size=32"):
        data.loader()


def test_streams_in_a_mapping_lead_to_keywords() -> None:
    with pytest.raises(tesson.ConfigError, match=r"found a mapping, .* each stream is a keyword of its own"):
        tesson.read_ctf("train.ctf", streams=cast(Any, {"features": {"dim": 784}}))


def test_whole_numbers_beside_an_empty_list_stay_as_they_are() -> None:
    rows: list[Any] = [[2**60 + i] for i in range(200)]
    rows[7] = []
    found = [part.tolist() for part in tesson.from_arrays(x=rows).head(200)["x"]]
    assert found == rows


@pytest.mark.parametrize("rows", [[[2**60 + 1], [0.5]], [np.array([2**60 + 1]), np.array([1], np.uint64)]])
def test_whole_numbers_that_a_common_type_rounds_are_refused(rows: Any) -> None:
    with pytest.raises(tesson.DataError, match="1152921504606846977 is no float64"):
        tesson.from_arrays(x=rows).head(2)


def test_types_that_streams_cannot_have_are_refused() -> None:
    with pytest.raises(tesson.ConfigError, match="expected one of bool, int8"):
        tesson.from_arrays(x=np.zeros(3, np.longdouble))


def test_columns_of_whole_numbers_may_come_in_any_order() -> None:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix((np.array([1, 2, 3]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    assert tesson.from_arrays(x=matrix).head(2)["x"].to_dense().tolist() == [[2, 0, 1], [0, 3, 0]]


def test_arrays_of_the_other_byte_order_are_read() -> None:
    batch = tesson.from_arrays(x=np.array([1, 2**40], ">i8")).head(2)
    assert batch["x"].tolist() == [1, 2**40]


def test_examples_with_faults_are_left_out_up_to_the_budget(tmp_path: Any) -> None:
    (tmp_path / "a.ctf").write_text("".join(f"|x {i if i != 3 else 'bad'}\n" for i in range(6)))
    data = tesson.read_ctf(tmp_path / "a.ctf", x=1)
    assert [batch["x"].ravel().tolist() for batch in data.loader(batch_size=2, max_errors=5)] == [[0, 1], [2], [4, 5]]
    with pytest.raises(tesson.DataError):
        list(data.loader(batch_size=2))


def test_ranks_make_equal_steps_where_examples_are_left_out(tmp_path: Any) -> None:
    (tmp_path / "a.ctf").write_text("".join(f"|x {i if i != 5 else 'bad'}\n" for i in range(8)))
    data = tesson.read_ctf(tmp_path / "a.ctf", x=1)
    ranks = [list(data.loader(batch_size=2, rank=rank, world_size=2, max_errors=5)) for rank in range(2)]
    assert [len(rank) for rank in ranks] == [4, 4]
    assert all(len(batch) == 1 for rank in ranks for batch in rank)


def written(path: Any, values: list[str]) -> tesson.Dataset:
    """A text file with one value an example; text that is no number is invalid."""
    (path / "a.ctf").write_text("".join(f"|x {value}\n" for value in values))
    return tesson.read_ctf(path / "a.ctf", x=1)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("resume", [False, True])
def test_an_epoch_ends_with_its_last_batch_though_the_examples_after_it_are_left_out(
    tmp_path: Any, shuffle: bool, resume: bool
) -> None:
    data = written(tmp_path, [str(i) if i in (0, 1, 4, 5) else "bad" for i in range(10)])
    options: dict[str, Any] = {"batch_size": 2, "max_errors": 100, "shuffle": shuffle}
    loader = data.loader(**options)
    for epoch in range(3):
        ends, examples = [], []
        for batch in loader:
            ends.append(batch.is_epoch_end)
            examples += batch["x"].ravel().tolist()
            if resume:
                state = loader.state_dict()
                assert state["sweep"] == epoch + batch.is_epoch_end
                loader = data.loader(**options)
                loader.load_state_dict(state)
                break
        while resume and not ends[-1]:
            batch = next(iter(loader))
            ends.append(batch.is_epoch_end)
            examples += batch["x"].ravel().tolist()
        assert sorted(examples) == [0, 1, 4, 5]
        assert ends == [False] * (len(ends) - 1) + [True]
        assert loader.epoch == epoch + 1
        if not resume:
            assert loader.epoch_report() == (epoch, len(ends), 4, 0, 0, 6, True)


def test_a_rank_repeats_in_a_step_where_its_examples_are_left_out(tmp_path: Any) -> None:
    # Rank 1 has nothing valid in the first two steps: it repeats what comes then.
    data = written(tmp_path, ["0", "bad", "2", "bad", "4", "5", "6", "bad"])
    ranks = [data.loader(batch_size=2, rank=rank, world_size=2, max_errors=9) for rank in range(2)]
    assert [[batch["x"].ravel().tolist() for batch in loader] for loader in ranks] == [[[0], [2], [4], [6]], [[5]] * 4]
    assert [loader.epoch_report() for loader in ranks] == [(0, 4, 4, 0, 0, 3, True), (0, 4, 4, 3, 0, 3, True)]
    assert len({str(loader.state_dict()) for loader in ranks}) == 1


def test_a_step_that_no_rank_has_examples_for_is_left_out(tmp_path: Any) -> None:
    data = written(tmp_path, ["0", "1", "bad", "bad", "4", "5"])
    ranks = [data.loader(batch_size=2, rank=rank, world_size=2, max_errors=9) for rank in range(2)]
    assert [[batch["x"].ravel().tolist() for batch in loader] for loader in ranks] == [[[0], [4]], [[1], [5]]]


def test_a_rank_without_any_valid_example_is_refused(tmp_path: Any) -> None:
    data = written(tmp_path, ["0", "bad", "2", "bad"])
    loader = data.loader(batch_size=2, rank=1, world_size=2, max_errors=9)
    with pytest.raises(tesson.UsageError, match="rank 1 of 2 in epoch 0 are invalid"):
        next(iter(loader))


@pytest.mark.parametrize("options", [{"shuffle": True}, {"rank": 1, "world_size": 3}, {"batch_samples": 4, "batch_size": None}])
def test_steps_are_counted_from_the_start_of_the_data(options: dict[str, Any]) -> None:
    data = tesson.from_arrays(x=[[i] * (1 + i % 3) for i in range(23)])
    loader = data.loader(**{"batch_size": 6, **options})
    steps = 0
    for _ in range(3):
        for _ in loader:
            steps += 1
            assert loader.step == steps
    again = data.loader(**{"batch_size": 6, **options})
    again.load_state_dict(loader.state_dict())
    assert again.step == steps


def test_a_loader_pickles_with_its_position() -> None:
    loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=3)
    next(iter(loader))
    assert keys(pickle.loads(pickle.dumps(loader))) == [[3, 4, 5], [6, 7, 8], [9]]


def test_a_batch_is_given_again_if_it_could_not_be_used() -> None:
    loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=3)

    def fail(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(loader._epochs.begin(fail))
    assert loader.epoch_report().batches == 0
    assert keys(loader) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"batch_size": 2, "seed": -1}, "seed"),
        ({"batch_size": 2, "epochs": 0}, "epochs"),
        ({"batch_size": 2, "shuffle": None}, "shuffle"),
        ({"batch_size": 2, "shuffle": 0}, "shuffle"),
        ({"batch_size": 2, "bucket_by_length": True}, "bucket_by_length"),
    ],
)
def test_wrong_options_are_named_as_the_caller_gave_them(options: dict[str, Any], path: str) -> None:
    with pytest.raises(tesson.ConfigError) as error:
        tesson.from_arrays(x=np.zeros(3)).loader(**options)
    assert error.value.path == path


@pytest.mark.parametrize("shuffle", [False, True, tesson.Window(chunks=3)])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_the_last_batch_of_each_epoch_is_dropped_where_it_is_short(shuffle: Any, world: int) -> None:
    data = tesson.from_arrays(x=np.arange(61))
    loaders = [data.loader(batch_size=16, shuffle=shuffle, drop_last=True, rank=rank, world_size=world) for rank in range(world)]
    for epoch in range(3):
        found = [[(batch.keys, batch.is_epoch_end) for batch in loader] for loader in loaders]
        of_all = [sum((rank[step][0] for rank in found), []) for step in range(3)]
        assert [len(step) for step in of_all] == [16] * 3
        assert len(set(sum(of_all, []))) == 48, "each example once"
        assert [ends for _, ends in found[0]] == [False, False, True]
        report = loaders[0].epoch_report()
        assert (report.epoch, report.batches, report.dropped, report.is_over) == (epoch, 3, 13, True)
        assert loaders[0].epoch == epoch + 1
    assert len(loaders[0]) == 3


@pytest.mark.parametrize("stop", range(8))
def test_dropping_resumes_after_any_batch(stop: int) -> None:
    data = tesson.from_arrays(x=np.arange(11))
    def steps(loader: Loader, n: int) -> list[Any]:
        return [batch.keys for batch in loader.steps(n)]

    whole = steps(data.loader(batch_size=4, shuffle=True, drop_last=True), 8)
    first = data.loader(batch_size=4, shuffle=True, drop_last=True)
    before = steps(first, stop)
    second = data.loader(batch_size=4, shuffle=True, drop_last=True)
    second.load_state_dict(first.state_dict())
    assert before + steps(second, 8 - stop) == whole
    third = data.loader(batch_size=4, shuffle=True, drop_last=True)
    third.skip_to(stop)
    assert steps(third, 8 - stop) == whole[stop:]


def test_an_epoch_of_less_than_a_batch_is_not_dropped_in_silence() -> None:
    loader = tesson.from_arrays(x=np.arange(3)).loader(batch_size=4, drop_last=True)
    with pytest.raises(tesson.UsageError, match="3 sequences fills no minibatch"):
        next(iter(loader))


def test_an_epoch_that_batches_fill_loses_nothing() -> None:
    loader = tesson.from_arrays(x=np.arange(12)).loader(batch_size=4, drop_last=True, epochs=2)
    assert [len(keys(loader)) for _ in range(2)] == [3, 3]


def test_steps_run_on_from_epoch_to_epoch() -> None:
    loader = tesson.from_arrays(x=np.arange(5)).loader(batch_size=3, shuffle=True, seed=4)
    again = tesson.from_arrays(x=np.arange(5)).loader(batch_size=3, shuffle=True, seed=4)
    found = [batch.keys for batch in loader.steps(5)]
    assert found == [list(batch.keys) for _ in range(3) for batch in again][:5]
    assert [batch.keys for batch in loader] == [list(batch.keys) for batch in again][1:] or loader.step == 6


def test_steps_end_where_the_epochs_end() -> None:
    loader = tesson.from_arrays(x=np.arange(5)).loader(batch_size=3, epochs=2)
    with pytest.raises(tesson.UsageError, match="all 2 epochs have been read"):
        list(loader.steps(5))


@pytest.mark.parametrize("world", [1, 2])
def test_plans_say_what_comes(world: int) -> None:
    data = tesson.from_arrays(x=np.arange(10))
    loaders = [data.loader(batch_size=4, shuffle=True, rank=rank, world_size=world) for rank in range(world)]
    read = [[batch.keys for batch in loader.steps(6)] for loader in loaders]
    planned = [loaders[0].which(step) for step in range(6)]
    assert [sorted(plan.keys) for plan in planned] == [sorted(sum((rank[step] for rank in read), [])) for step in range(6)]
    found = loaders[0].where(7, epoch=1)
    assert [7 in read[place.rank][place.step] for place in found] == [True]


def test_errors_are_skipped_and_counted(tmp_path: Any) -> None:
    (tmp_path / "a.ctf").write_text("".join(f"|x {i if i % 2 else 'bad'}\n" for i in range(6)))
    loader = tesson.read_ctf(tmp_path / "a.ctf", x=1).loader(batch_size=2, on_error="skip")
    assert [batch["x"].ravel().tolist() for batch in loader] == [[1], [3], [5]]
    assert loader.epoch_report().left_out == 3
    with pytest.raises(tesson.ConfigError, match="max_errors a limited one"):
        tesson.read_ctf(tmp_path / "a.ctf", x=1).loader(batch_size=2, on_error="skip", max_errors=3)


def test_a_loader_says_how_much_it_has() -> None:
    loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=4, rank=1, world_size=2)
    _ = len(loader)
    assert repr(loader) == "<Loader batch_size=4, rank=1, world_size=2: 10 examples, 3 batches an epoch, rank 1 of 2, of <Dataset in memory: x int64 []>>"


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda loader: loader.torch(pin_memroy=True), "pin_memory"),
        (lambda loader: loader.where(key=1, epohc=2), "epoch"),
        (lambda loader: next(iter(loader))["y"].pad(valeu=1), "value"),
        (lambda loader: tesson.ragged(3, feild="x"), "field"),
    ],
)
def test_a_wrong_name_in_any_call_leads_to_the_one_meant(call: Any, meant: str) -> None:
    loader = tesson.from_arrays(y=[[1], [2, 3]]).loader(batch_size=2)
    with pytest.raises(TypeError, match=f"did you mean `{meant}`"):
        call(loader)


def test_padding_keeps_the_type() -> None:
    ragged = tesson.from_arrays(x=[[1, 2, 3], [4]]).head(2)["x"]
    assert ragged.pad(value=7, multiple=4).values.tolist() == [[1, 2, 3, 7], [4, 7, 7, 7]]
    for value in (0.5, 2**70, "x", None if False else np.nan):
        with pytest.raises(tesson.UsageError, match="no int64"):
            ragged.pad(value)
    floats = tesson.from_arrays(x=[[1.0], [2.0, 3.0]]).head(2)["x"]
    assert np.isnan(floats.pad(np.nan).values[0, 1])
    assert floats.pad(0.1).values[0, 1] == 0.1


def test_masked_arrays_and_options_are_no_data() -> None:
    with pytest.raises(tesson.ConfigError, match=r"masked array.*filled\(0\)"):
        tesson.from_arrays(x=np.ma.masked_array([1, 2], [False, True]))
    with pytest.raises(tesson.ConfigError, match=r"`shuffle` of the loader"):
        tesson.from_arrays(x=np.arange(3), shuffle=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_transform_values_of_every_type(dtype: str) -> None:
    values = of_type(dtype, (20, 3))
    seen = set()

    def turned(sample: Any) -> Any:
        seen.add(sample.dtype.name)
        return sample[::-1]

    data = tesson.from_arrays(x=values).transform(x=turned)
    assert data.schema["x"].type == f"{dtype} [3]"
    for batch in data.loader(batch_size=6, shuffle=True):
        np.testing.assert_array_equal(batch["x"], values[batch.keys][:, ::-1])
    assert seen == {dtype}


def test_a_function_may_make_another_type() -> None:
    numbers = np.array([2**60 + 1, 3])
    data = tesson.from_arrays(x=numbers).transform(
        x=[UserTransform(lambda x: x % 256, dtype="uint8"), UserTransform(lambda x: x / 2, dtype=np.float64), np.negative]
    )
    assert data.schema["x"].type == "float64 []"
    assert data.head(2)["x"].tolist() == [-0.5, -1.5]
    assert tesson.from_arrays(x=numbers).transform(x=lambda x: x * 2).head(2)["x"].tolist() == [2**61 + 2, 6]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x / 2, r"returned values of type float64, expected int64; say what it makes, as in UserTransform\(function, dtype="),
        (UserTransform(lambda x: x * 100, dtype="int8"), "returned values that it cannot hold, expected int8"),
        (UserTransform(lambda x: x - 100, dtype="uint64"), "returned values that it cannot hold, expected uint64"),
    ],
)
def test_a_function_whose_result_would_lose_something_is_refused(function: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tesson.from_arrays(x=np.array([3, 4])).transform(x=function).head(2)


def test_functions_of_strings_and_unknown_types_are_refused() -> None:
    with pytest.raises(ConfigError, match="takes numbers, this stream has str values"):
        tesson.from_arrays(x=["a", "b"]).transform(x=lambda x: x).head(1)
    with pytest.raises(ConfigError, match="dtype: found 'complex128'"):
        UserTransform(lambda x: x, dtype=complex)


def test_datasets_follow_each_other(tmp_path: Any) -> None:
    from scipy.sparse import csr_matrix

    def made(first: int) -> tesson.Dataset:
        matrix = csr_matrix(np.arange(first, first + 4).reshape(2, 2))
        return tesson.from_arrays(x=np.arange(first, first + 2), y=[[first], [first, first]], z=matrix)

    both = made(1).concat(made(10), made(20)).head(6)
    assert both["x"].tolist() == [1, 2, 10, 11, 20, 21]
    assert [part.tolist() for part in both["y"]] == [[1], [1, 1], [10], [10, 10], [20], [20, 20]]
    assert both["z"].to_dense()[:, 0].tolist() == [1, 3, 10, 12, 20, 22]
    for name in "ab":
        (tmp_path / f"{name}.ctf").write_text(f"|x {ord(name)}\n")
    a, b = (tesson.read_ctf(tmp_path / f"{name}.ctf", x=1) for name in "ab")
    assert a.concat(b).rename(x="y").head(2)["y"].tolist() == [[97], [98]]
    with pytest.raises(tesson.ConfigError, match="float32.*after.*int64"):
        tesson.from_arrays(x=np.arange(2)).concat(tesson.from_arrays(x=np.zeros(2, np.float32)))
    with pytest.raises(tesson.ConfigError, match="found Schema.*concatenate datasets of the same streams"):
        a.join(tesson.from_arrays(y=np.arange(1))).concat(a)
    with pytest.raises(tesson.ConfigError, match="read in different ways"):
        tesson.from_arrays(x=np.zeros((2, 1), np.float32)).concat(a)


def test_a_dataset_says_what_it_has() -> None:
    info = tesson.from_arrays(x=np.zeros((3, 2), np.int8), t=[[1], [], [2]]).info()
    assert info.num_examples == 3
    assert str(info).splitlines()[1:] == ["3 examples", "x: int8 [2]", "t: ragged int64 []"]


def test_the_state_of_one_process_is_merged_as_it_is() -> None:
    data = tesson.from_arrays(x=np.arange(9))
    first = data.loader(batch_size=2, shuffle=True)
    next(iter(first))
    merged = tesson.io.merge_states([first.state_dict()])
    second = data.loader(batch_size=2, shuffle=True)
    second.load_state_dict(merged)
    assert keys(first) == keys(second)


def test_random_runs_are_those_of_one_process() -> None:
    # More of them: `python random_runs.py COUNT`.
    assert check_runs(10) > 100


def test_a_seed_that_is_too_large_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match="seed: found 18446744073709551616, expected a whole number from 0 below 2"):
        tesson.from_arrays(x=np.arange(4)).loader(batch_size=2, seed=2**64)


def test_a_mapping_that_is_no_state_is_refused_in_the_words_of_loaders() -> None:
    loader = tesson.from_arrays(x=np.arange(4)).loader(batch_size=2)
    with pytest.raises(tesson.ResumeError, match=r"a state is what state_dict\(\) returned"):
        loader.load_state_dict({"weight": [1, 2]})
