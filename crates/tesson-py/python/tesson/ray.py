"""Datasets of Ray Data, read in an order that does not depend on the number of tasks.

::

    data = tesson.read_ctf("train.ctf", x=64, y=10)
    ds = tesson.ray.read(data, shuffle=True, seed=1, tasks=64)
    ds.map_batches(...).write_parquet(...)

A task reads a range of positions of the order. Which examples these are is planned from the index, so that tasks, rows and bytes are
known before data are read. The column ``position`` says where each row stands: Ray keeps the order of tasks only with
``DataContext.get_current().execution_options.preserve_order = True``, and ``ds.sort("position")`` restores it anywhere.

In training functions of Ray Train, ``world="auto"`` of a loader finds the rank, and its ``state_dict()`` belongs into the
checkpoint that ``ray.train.report`` takes. """

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]
import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]
from ray.data import Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata

from .batch import Batch, Ragged, Sparse
from .dataset import Dataset
from .errors import ConfigError, DataError
from .paths import AnyPath
from .schema import Field, Schema
from .source import MinibatchSource
from .tfds.dataset import Dataset as PreparedDataset

__all__ = ["read"]

#: The columns that all rows have: their number in the order, and the key of their example.
POSITION, KEY = "position", "key"

#: Rows of a block, at most.
_LARGEST_BLOCK = 4096

#: Bytes of a sparse sample, where the size of a row is estimated.
_GUESSED_BYTES = 256


def read(
    data: Dataset | MinibatchSource | PreparedDataset[Any] | AnyPath,
    *,
    shuffle: Any = False,
    seed: int = 0,
    epoch: int = 0,
    tasks: int | None = None,
    max_errors: int = 0,
    memory_limit: int | str | None = None,
    **read_options: Any,
) -> Any:
    """One epoch of a dataset as a ``ray.data.Dataset``.

    Parameters
    ----------
    data : Dataset, MinibatchSource, tesson.tfds.Dataset or path
        What is read. A path is that of a configuration. A source and a prepared dataset have an order of their own, which is
        kept: `shuffle`, `seed` and `max_errors` are for a :class:`tesson.Dataset`.
    shuffle : bool or Window
        As of :class:`tesson.Loader`.
    seed : int
        The seed of the shuffle.
    epoch : int
        The number of the epoch, from 0.
    tasks : int, optional
        The number of tasks, by default what Ray proposes for its resources. It changes no row and no position.
    max_errors : int
        Faults in the data that are forgiven over all tasks, as of :class:`tesson.Loader`: examples that have some are left out.
    memory_limit : int or str, optional
        Bytes that the reader of a task may hold, also as ``"512MB"``; 4 GiB by default.
    **read_options
        Options of ``ray.data.read_datasource``, such as `concurrency` and `ray_remote_args`.

    Returns
    -------
    ray.data.Dataset
        A row for each example: ``position``, ``key``, and a column for each stream. A sample of fixed shape is a number or a tensor,
        several samples are a list, sparse samples are lists of ``index`` and ``value``.

    Raises
    ------
    ConfigError
        An option that `data` cannot have, or a stream named ``position`` or ``key``.
    """
    order: _Order
    if isinstance(data, PreparedDataset):
        _refuse_order(shuffle, seed, max_errors, memory_limit, "a prepared dataset")
        order = _PreparedOrder(data, epoch)
    elif isinstance(data, Dataset):
        order = _SourceOrder(partial(_open_dataset, data, shuffle, seed, max_errors, memory_limit), epoch, max_errors)
    else:
        _refuse_order(shuffle, seed, max_errors, memory_limit, "a source")
        source = data if isinstance(data, MinibatchSource) else MinibatchSource.from_config(data)
        config = source.config
        order = _SourceOrder(partial(_open_source, source._arguments), epoch, int(config.get("maxErrors", 0)))
    if tasks is not None:
        read_options["override_num_blocks"] = tasks
    return ray.data.read_datasource(_Positions(order), **read_options)


def _refuse_order(shuffle: Any, seed: int, max_errors: int, memory_limit: Any, what: str) -> None:
    """Refuse options that the data decide."""
    given = {"shuffle": shuffle is not False, "seed": seed != 0, "max_errors": max_errors != 0, "memory_limit": memory_limit is not None}
    for name in (name for name, is_given in given.items() if is_given):
        raise ConfigError(f"{name}: {what} has options of its own; give it there, or read a tesson.Dataset", path=name)


def _open_dataset(
    data: Dataset, shuffle: Any, seed: int, max_errors: int, memory_limit: int | str | None, rows: int
) -> tuple[MinibatchSource, Schema]:
    loader = data.loader(
        batch_size=rows, shuffle=shuffle, seed=seed, world=None, max_errors=max_errors, memory_limit=memory_limit
    )
    return loader._source, loader.schema


def _open_source(arguments: tuple[Any, ...], rows: int) -> tuple[MinibatchSource, Schema]:
    config, *others = arguments
    source = MinibatchSource.__new__(MinibatchSource)
    source._open({**config, "minibatchSizeInSequences": rows, "crossSweepEnds": False}, *others)
    source._share = (None, None)
    several = source.num_samples_per_sweep != source.num_sequences
    fields = {
        s.name: Field(s.name, s.stream_id, s.dtype, s.shape, s.is_sparse, several) for s in source.streams.values()
    }
    return source, Schema(fields)


class _Order(Protocol):
    """One epoch of examples that can be read from any position on. It pickles, for tasks."""

    @property
    def max_errors(self) -> int:
        """Faults that are forgiven over all tasks."""

    def facts(self) -> _Facts:
        """Facts that are known before data are read."""

    def files(self, positions: Sequence[range]) -> list[list[str] | None]:
        """The files with the examples of each range; None where that is not known."""

    def blocks(self, begin: int, end: int, rows: int, charge: Callable[[int], None]) -> Iterator[dict[str, Any]]:
        """Columns of `rows` examples at a time, from a multiple of `rows` on. `charge` takes the number of faults so far."""


class _Facts(NamedTuple):
    """Facts about an order that are known before data are read."""

    num_rows: int
    #: Bytes of a row in memory, estimated.
    row_size: int


#: Rows of an order whose files are looked up, at most: it takes about 2 µs a row.
_LISTED_ROWS = 500_000


@dataclass(frozen=True)
class _SourceOrder:
    """The order of a source."""

    #: Opens a source whose minibatches have a number of sequences.
    open: Callable[[int], tuple[MinibatchSource, Schema]]
    epoch: int
    max_errors: int

    def facts(self) -> _Facts:
        source, schema = self.open(1)
        with source:
            for name in sorted({POSITION, KEY} & set(schema)):
                raise ConfigError(f"a stream is called `{name}`, as is a column that rows have anyway; rename the stream", path="streams")
            num_rows = source.num_sequences
            samples = -(-source.num_samples_per_sweep // max(num_rows, 1))
            row_size = sum(_size(field) * (samples if field.is_ragged else 1) for field in schema.values())
            return _Facts(num_rows, row_size)

    def files(self, positions: Sequence[range]) -> list[list[str] | None]:
        if not positions or positions[-1].stop > _LISTED_ROWS:
            return [None] * len(positions)
        source, _ = self.open(len(positions[0]))
        with source:
            first = self.epoch * source.steps_per_sweep(source._default_size())
            planned = (source.which(first + task) for task in range(len(positions)))
            found = [{s.file for s in step.sequences if s.file is not None} for step in planned]
            return [sorted(files) or None for files in found]

    def blocks(self, begin: int, end: int, rows: int, charge: Callable[[int], None]) -> Iterator[dict[str, Any]]:
        source, schema = self.open(rows)
        with source:
            step = self.epoch * source.steps_per_sweep(source._default_size()) + begin // rows
            source.skip_to(step)
            for first in range(begin, end, rows):
                minibatch = source.next_minibatch()._batch
                assert minibatch is not None, "positions lie within an epoch"
                batch = Batch(minibatch, schema)
                charge(source.stats()["faults"])
                yield _columns(batch, first + _delivered(source, step, batch.keys, min(rows, end - first)))
                step += 1


@dataclass(frozen=True)
class _PreparedOrder:
    """A pass over a prepared dataset."""

    dataset: PreparedDataset[Any]
    epoch: int
    max_errors: int = 0

    def facts(self) -> _Facts:
        first: dict[str, Any] = next(iter(self.dataset.seek(self.epoch, 0)), {})
        return _Facts(len(self.dataset), sum(np.asarray(value).nbytes for value in first.values()))

    def files(self, positions: Sequence[range]) -> list[list[str] | None]:
        return [None] * len(positions)

    def blocks(self, begin: int, end: int, rows: int, charge: Callable[[int], None]) -> Iterator[dict[str, Any]]:
        for first in range(begin, end, rows):
            examples = list(islice(self.dataset.seek(self.epoch, first), min(rows, end - first)))
            columns = {name: _stacked([example[name] for example in examples]) for name in examples[0]}
            yield {POSITION: np.arange(first, first + len(examples)), **columns}


class _Positions(Datasource):  # type: ignore[misc, unused-ignore]
    """Tasks for ranges of positions."""

    def __init__(self, order: _Order) -> None:
        super().__init__()
        self._projection_map: dict[str, str] | None = None
        self._order, self._facts = order, order.facts()
        # An actor costs a process: it is started for reads that may leave something out.
        self._budget = ray.remote(num_cpus=0)(_Budget).remote() if order.max_errors else None

    def get_name(self) -> str:
        return "Tesson"

    def estimate_inmemory_data_size(self) -> int:
        return self._facts.num_rows * self._facts.row_size

    def supports_projection_pushdown(self) -> bool:
        return True

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None) -> list[ReadTask]:
        num_rows, row_size = self._facts
        rows = min(max(-(-num_rows // parallelism), 1), _LARGEST_BLOCK)
        # Whole blocks for each task.
        share = rows * -(-num_rows // (rows * parallelism)) if num_rows else rows
        columns = self._get_data_columns()
        positions = [range(begin, min(begin + share, num_rows)) for begin in range(0, num_rows, share)]
        tasks = []
        for part, files in zip(positions, self._order.files(positions), strict=True):
            # Rows that are left out are known only afterwards.
            counted = None if self._budget else len(part)
            metadata = BlockMetadata(num_rows=counted, size_bytes=len(part) * row_size, exec_stats=None, input_files=files)
            task = partial(_read, self._order, part, rows, columns, self._budget)
            tasks.append(ReadTask(task, metadata, per_task_row_limit=per_task_row_limit))
        return tasks


def _read(order: _Order, positions: range, rows: int, columns: list[str] | None, budget: Any) -> Iterator[pa.Table]:
    """The blocks of a task."""

    def charge(faults: int) -> None:
        total = ray.get(budget.charge.remote(positions.start, faults)) if budget else 0
        if total > order.max_errors:
            raise DataError(f"{total} faults in the data over all tasks, max_errors forgives {order.max_errors}; give more, or repair the data")

    for block in order.blocks(positions.start, positions.stop, rows, charge):
        chosen = block if columns is None else {name: block[name] for name in columns}
        yield BlockAccessor.batch_to_arrow_block(chosen)


class _Budget:
    """Counts the faults that tasks find, once for a task that Ray runs again."""

    def __init__(self) -> None:
        self._faults: dict[int, int] = {}

    def charge(self, task: int, faults: int) -> int:
        """Take the number of faults that a task has found so far, and return that of all tasks."""
        self._faults[task] = max(faults, self._faults.get(task, 0))
        return sum(self._faults.values())


def _delivered(source: MinibatchSource, step: int, keys: Sequence[int] | Sequence[str], planned: int) -> Any:
    """The places of the delivered examples among those that are planned for a step: fewer where some were left out."""
    if len(keys) == planned:
        return np.arange(planned)
    places = iter(enumerate(source.which(step).keys))
    return np.array([next(place for place, key in places if key == delivered) for delivered in keys], np.int64)


def _columns(batch: Batch, positions: Any) -> dict[str, Any]:
    return {POSITION: positions, KEY: np.array(batch.keys), **{name: _column(batch[name]) for name in batch}}


def _column(values: Any) -> Any:
    """A stream as a column: an array, or Arrow's lists."""
    if isinstance(values, Sparse):
        entries = pa.StructArray.from_arrays([pa.array(values.indices), pa.array(values.values)], ["index", "value"])
        return pa.LargeListArray.from_arrays(pa.array(values.indptr.astype(np.int64)), entries)
    if isinstance(values, Ragged):
        return pa.LargeListArray.from_arrays(pa.array(values.offsets), _samples(values.values))
    return values


def _samples(values: Any) -> Any:
    """Samples of ragged streams as Arrow's values: nested lists, for those of several dimensions."""
    if isinstance(values, Sparse):
        return _column(values)
    flat = pa.array(values.reshape(-1))
    for size in reversed(values.shape[1:]):
        flat = pa.FixedSizeListArray.from_arrays(flat, size)
    return flat


def _stacked(values: list[Any]) -> Any:
    """Values of several examples in an array: one of objects, if their shapes differ."""
    arrays = [np.asarray(value) for value in values]
    if len({array.shape for array in arrays}) == 1:
        return np.stack(arrays)
    stacked = np.empty(len(arrays), object)
    stacked[:] = arrays
    return stacked


def _size(field: Field) -> int:
    """Bytes of a sample."""
    return _GUESSED_BYTES if field.is_sparse else int(np.prod(field.shape, dtype=np.int64)) * field.dtype.itemsize
