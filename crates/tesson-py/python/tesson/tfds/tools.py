"""TFDS' tools for datasets: values as NumPy, tables, images of examples, the speed of reading."""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .dataset import Dataset, DataSource
from .features import ClassLabel, Image, LabeledImage
from .info import DatasetInfo

T = TypeVar("T")


def as_numpy(dataset: T) -> T:
    """Return the argument: datasets of Tesson deliver NumPy values already, also in dictionaries, lists and tuples of datasets.

    >>> ds = tfds.builder_from_directory("digits/1.0.0").as_dataset("train")
    >>> [int(example["label"]) for example in tfds.as_numpy(ds)]
    [0, 1, 2, 3]
    """
    return dataset


def as_dataframe(ds: Iterable[Any], ds_info: DatasetInfo | None = None) -> Any:
    """All examples as a table of ``pandas``: a row for each, a column for each feature.

    Columns of nested features are named by their paths, ``objects/bbox``. Tuples of ``as_supervised`` need
    ``ds_info``, which names their parts. ``take`` some examples first where there are many.
    """
    pandas = _imported("pandas", "as_dataframe")
    rows = [dict(_flat(_by_name(example, ds_info))) for example in ds]
    return pandas.DataFrame(rows)


@dataclass(frozen=True)
class BenchmarkResult:
    """The measurements of :func:`benchmark`; ``print`` shows them."""

    num_examples: int
    seconds: float
    first_seconds: float
    """Until the first element had come; part of ``seconds``."""

    @property
    def examples_per_second(self) -> float:
        """The rate, the first element included."""
        return self.num_examples / self.seconds if self.seconds > 0 else float("inf")

    def __str__(self) -> str:
        rate = f"{self.examples_per_second:.1f} examples/s"
        return f"{self.num_examples} examples in {self.seconds:.3f} s: {rate}, first element after {self.first_seconds:.3f} s"


def benchmark(
    ds: Iterable[Any], num_iter: int | None = None, *, batch_size: int = 1, num_iter_warmup: int = 0
) -> BenchmarkResult:
    """Iterate over a dataset and measure its speed.

    Parameters
    ----------
    ds : iterable
        A dataset, or any iterable of examples or batches.
    num_iter : int, optional
        The number of elements that are measured; by default all of one pass.
    batch_size : int
        The number of examples in an element.
    num_iter_warmup : int
        The number of elements that are taken before and not measured.
    """
    for name, number, least in (("batch_size", batch_size, 1), ("num_iter_warmup", num_iter_warmup, 0)):
        if number < least:
            raise ValueError(f"found {name}={number}, expected {least} or more")
    elements = iter(ds)
    for _ in itertools.islice(elements, num_iter_warmup):
        pass
    begin = first = time.perf_counter()
    count = 0
    for _ in itertools.islice(elements, num_iter):
        count += 1
        if count == 1:
            first = time.perf_counter()
    return BenchmarkResult(count * batch_size, time.perf_counter() - begin, first - begin)


def show_examples(
    ds: Dataset[Any] | DataSource,
    ds_info: DatasetInfo,
    *,
    rows: int = 3,
    cols: int = 3,
    plot_scale: float = 3.0,
    image_key: str | None = None,
    is_batched: bool = False,
) -> Any:
    """The first images of a dataset with their labels, as a figure of ``matplotlib``.

    Parameters
    ----------
    ds : Dataset
        Examples as dictionaries, or as pairs of image and label.
    ds_info : DatasetInfo
        The description that defines which feature is the image, which the label, and the names of classes.
    rows, cols, plot_scale
        Images of the figure, and the size of each in inches.
    image_key : str, optional
        The image, if the dataset has several.
    is_batched : bool
        True if ``ds`` delivers batches.
    """
    key = _image_key(ds_info, image_key)
    labels = [name for name, of in ds_info.features.items() if isinstance(of, ClassLabel)]
    pyplot = _imported("matplotlib.pyplot", "show_examples")
    figure = pyplot.figure(figsize=(plot_scale * cols, plot_scale * rows))
    for place, example in enumerate(itertools.islice(_unbatched(ds) if is_batched else iter(ds), rows * cols)):
        named = _by_name(example, ds_info)
        axes = figure.add_subplot(rows, cols, place + 1)
        image = np.asarray(named[key])
        axes.imshow(image[..., 0] if image.shape[-1] == 1 else image, cmap="gray" if image.shape[-1] == 1 else None)
        if len(labels) == 1 and labels[0] in named:
            label = int(named[labels[0]])
            name = ds_info.features[labels[0]].int2str(label) if label >= 0 else "no label"
            axes.set_xlabel(f"{name} ({label})")
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def disable_progress_bar() -> None:
    """Does nothing: TFDS' bars are those of downloads and preparation, and Tesson has neither."""


def display_progress_bar(enable: bool) -> None:
    """Does nothing: TFDS' bars are those of downloads and preparation, and Tesson has neither."""


def _imported(module: str, what: str) -> Any:
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"tfds.{what} needs `{package}`, which is not installed: pip install {package}", name=package) from error


def _image_key(info: DatasetInfo, wanted: str | None) -> str:
    images = [
        name for name, of in info.features.items() if isinstance(of, Image) and not isinstance(of, LabeledImage)
    ]
    if wanted is not None:
        if wanted not in images:
            raise ValueError(f"found image_key={wanted!r}, expected one of {', '.join(images) or 'no feature: none is a image'}")
        return wanted
    if len(images) != 1:
        what = "name one by `image_key`" if images else "its examples cannot be shown"
        raise ValueError(f"found {len(images)} images among the features of {info.name}, expected one: {what}")
    return images[0]


def _by_name(example: Any, info: DatasetInfo | None) -> Mapping[str, Any]:
    """An example as a dictionary, also if it is the tuple of ``as_supervised``."""
    if isinstance(example, Mapping):
        return example
    keys = None if info is None else info.supervised_keys
    if not isinstance(example, tuple) or not isinstance(keys, (list, tuple)):
        raise TypeError(f"found examples that are {type(example).__name__}, expected dictionaries, or tuples and `ds_info`")
    return {str(key): value for key, value in zip(keys, example, strict=True)}


def _flat(example: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in example.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name}/")
        else:
            yield path + name, value


def _unbatched(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        parts = list(batch.values() if isinstance(batch, Mapping) else batch)
        for row in range(len(parts[0])):
            if isinstance(batch, Mapping):
                yield {name: of[row] for name, of in batch.items()}
            else:
                yield tuple(of[row] for of in batch)

