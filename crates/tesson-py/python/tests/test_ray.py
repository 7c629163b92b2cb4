"""Ray Data: rows and positions do not depend on the number of tasks, nor do the examples that are left out."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import tesson  # noqa: E402
import tesson.ray  # noqa: E402
from tesson import ConfigError, tfds
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

N = 1000
LENGTHS = np.random.default_rng(0).integers(0, 4, N)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    # Ray writes pages of it.
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def data() -> tesson.Dataset:
    lists = [np.arange(length) for length in LENGTHS]
    return tesson.from_arrays(image=np.arange(N * 6).reshape(N, 2, 3), id=2**60 + np.arange(N), lists=lists)


def rows(ds: Any) -> Any:
    return ds.to_pandas().sort_values("position")


@pytest.mark.parametrize("tasks", [1, 3, 7])
def test_rows_are_those_of_a_loader_whatever_the_number_of_tasks(data: tesson.Dataset, tasks: int) -> None:
    ds = tesson.ray.read(data, shuffle=True, seed=3, tasks=tasks)
    assert ds.count() == N
    found = rows(ds)
    loader = data.loader(batch_size=N, shuffle=True, seed=3, world=None)
    expected = next(iter(loader))
    assert found["position"].tolist() == list(range(N))
    assert found["key"].tolist() == expected.keys
    assert found["id"].tolist() == expected["id"].tolist()
    np.testing.assert_array_equal(np.stack(found["image"]), expected["image"])
    assert [list(values) for values in found["lists"]] == [values.tolist() for values in expected["lists"].to_list()]


def test_an_epoch_is_chosen(data: tesson.Dataset) -> None:
    loader = data.loader(batch_size=100, shuffle=True, seed=3, world=None)
    epochs = [[key for batch in loader for key in batch.keys] for _ in range(3)]
    assert rows(tesson.ray.read(data, shuffle=True, seed=3, epoch=2, tasks=2))["key"].tolist() == epochs[2]


def test_columns_that_are_not_asked_for_are_not_made(data: tesson.Dataset) -> None:
    ds = tesson.ray.read(data, tasks=2).select_columns(["id"])
    assert ds.take(2) == [{"id": 2**60}, {"id": 2**60 + 1}]
    assert "Project" not in str(ds.explain() or "").split("Optimized")[-1]


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Fifty rows of text in two files, of which every tenth is invalid."""
    for part in range(2):
        numbers = range(part * 25, part * 25 + 25)
        text = "".join(f"|x {'bad' if i % 10 == 5 else i}\n" for i in numbers)
        (tmp_path / f"{part}.ctf").write_text(text)
    return tmp_path


@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_left_out_examples_and_their_budget_do_not_depend_on_the_number_of_tasks(broken: Path, tasks: int) -> None:
    data = tesson.read_ctf([broken / "0.ctf", broken / "1.ctf"], x=1)
    # A row has two faults: that of its number, and that it holds nothing else.
    found = rows(tesson.ray.read(data, max_errors=10, tasks=tasks))
    whole = [i for i in range(50) if i % 10 != 5]
    assert found["position"].tolist() == whole
    assert found["x"].tolist() == [[float(i)] for i in whole]
    with pytest.raises(Exception, match="max_errors forgives 9|more than the 9 faults"):
        tesson.ray.read(data, max_errors=9, tasks=tasks).materialize()


def test_files_of_tasks_are_known_before_anything_is_read(broken: Path) -> None:
    data = tesson.read_ctf([broken / "0.ctf", broken / "1.ctf"], x=1)
    ds = tesson.ray.read(data, tasks=2)
    assert sorted(Path(file).name for file in ds.input_files()) == ["0.ctf", "1.ctf"]


@pytest.mark.parametrize("order", ["global", True, False])
def test_a_source_keeps_its_order(tmp_path: Path, order: Any) -> None:
    path = tmp_path / "x.ctf"
    path.write_text("".join(f"|x {i}\n" for i in range(40)))
    streams = StreamDefs(x=StreamDef("x", 1))
    source = MinibatchSource(CTFDeserializer(path, streams), randomize=order, randomization_seed=4, max_sweeps=1)
    expected = [key for minibatch in source.minibatches(7) for key in minibatch["x"].keys]
    for tasks in (1, 3):
        found = rows(tesson.ray.read(source, tasks=tasks))
        assert found["key"].tolist() == expected
        assert found["x"].tolist() == [[float(key)] for key in expected]


def test_a_prepared_dataset_keeps_its_order() -> None:
    folder = Path(__file__).parents[4] / "examples" / "tfds" / "numbers" / "1.0.0"
    ds = tfds.builder_from_directory(folder).as_dataset(
        split="train", shuffle_files=True, read_config=tfds.ReadConfig(shuffle_seed=1)
    )
    expected = [int(example["n"]) for example in ds.seek(0, 0)]
    for tasks in (1, 3):
        assert rows(tesson.ray.read(ds, tasks=tasks))["n"].tolist() == expected


def test_options_that_the_data_decide_are_refused(data: tesson.Dataset) -> None:
    source = MinibatchSource.from_data(x=np.arange(4))
    with pytest.raises(ConfigError, match="seed: a source has options of its own"):
        tesson.ray.read(source, seed=1)
    with pytest.raises(ConfigError, match="called `position`.*rename"):
        tesson.ray.read(data.rename(id="position"))
