"""Loaders: batches of a dataset, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from . import _tesson
from .batch import Batch
from .errors import ConfigError, ResumeError, UsageError
from .keywords import defaults_of, no_attribute, suggests_in_methods, suggests_keywords, suggests_keywords_or
from .paths import AnyPath
from .rank_check import check_same_data
from .schema import Schema
from .source import MinibatchSource
from .values import Value
from .world import World, resolve_world

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .dataset import Dataset
    from .steps import KeyDelivery, PlannedStep

__all__ = ["EpochReport", "Loader", "Window"]


@suggests_keywords
class Window(Value):
    """A shuffle within a moving window: less memory and fewer reads than a shuffle of the whole, and less random."""

    #: Chunks of storage that are shuffled together.
    chunks: int | None
    #: Or samples.
    samples: int | None

    def __init__(self, chunks: int | None = None, samples: int | None = None) -> None:
        if (chunks is None) == (samples is None):
            raise ConfigError("a Window has a size in chunks or in samples: give Window(chunks=128) or Window(samples=100_000)", path="shuffle")
        self._become(chunks=chunks, samples=samples)


class EpochReport(NamedTuple):
    """The outcome of an epoch on this rank, or of the part of it that was read since a state was loaded."""

    #: The number of the epoch, from 0.
    epoch: int
    batches: int
    #: Examples in the batches.
    examples: int
    #: Those of them that another rank has too, or this rank had before: every rank has some in every step.
    repeated: int
    #: Examples that no rank got because they did not fill a batch; under `truncate` those that no rank got to the end.
    dropped: int
    #: Examples that no rank got because they are invalid, and forgiven.
    left_out: int
    #: True if the epoch was read to its end.
    is_over: bool


@suggests_in_methods
@suggests_keywords_or("OF_LOADER_OPTIONS")
class Loader:
    """Batches of a dataset: iterating gives an epoch, and iterating again the next one.

    Each example comes once in an epoch, and the last batch is short. If a loop is left inside an epoch, the next one continues with
    its rest. Batches are made ahead by threads without Python, and the order depends on nothing but the data and these options.

    Parameters
    ----------
    dataset : Dataset
        The data.
    batch_size : int, optional
        Examples in a batch, over all ranks.
    batch_samples : int, optional
        Samples in a batch, over all ranks, of datasets with ragged streams. An example with more is a batch of its own.
    shuffle : bool or Window
        ``True``: a uniform shuffle of the whole dataset, anew in each epoch. ``False``: the order of the data. Or a :class:`Window`.
    seed : int
        The seed of the shuffle: equal seeds give equal orders.
    epochs : int, optional
        The number of epochs; by default there is no end.
    drop_last : bool
        Leave out the last batch of each epoch if it is short.
    bucket_by_length : bool
        Group examples of similar length to reduce padding.
    truncate : int, optional
        Cut examples into pieces of at most this many samples, for models that keep a state. A batch has `batch_size` rows of this many
        steps, in which examples lie one behind the other; a row continues in the next batch. All streams are
        :class:`~tesson.batch.Pieces` and of equal lengths. An epoch ends where all rows have ended, or, of several ranks, where one has
        no row left: what the others still have is dropped, and reported.
    world : "auto", None, (int, int), World or device mesh
        The ranks that share the batches. ``"auto"``: what the launcher says (torchrun, mpirun, Slurm, ...), a single one without a
        launcher. ``None``: this process reads everything, whatever a launcher says.
    rank, world_size : int, optional
        Rank and number of ranks, in place of `world`.
    max_errors : int
        Examples with invalid data, or at which a function raises (:meth:`Dataset.transform`), that may be left out before reading fails.
    on_error : {"raise", "skip"}
        ``"skip"`` leaves out any number of them. Each is logged, and :meth:`epoch_report` counts them.
    memory_limit : int or str, optional
        Bytes that the loader may hold, also as ``"2GiB"``; 4 GiB by default.
    threads : int, optional
        Worker threads; by default one for each core.
    dtype : dtype, optional
        float32 (default) or float64, the type of floating-point values in formats that have none of their own.

    Raises
    ------
    ConfigError
        An invalid option.

    Examples
    --------
    >>> loader = tesson.from_arrays(x=np.arange(5)).loader(batch_size=2, shuffle=True, seed=1)
    >>> [[batch["x"].tolist() for batch in loader] for epoch in range(2)]
    [[[0, 4], [3, 1], [2]], [[2, 4], [1, 3], [0]]]
    >>> loader.epoch, len(loader)
    (2, 3)
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        batch_size: int | None = None,
        batch_samples: int | None = None,
        shuffle: bool | Window = False,
        seed: int = 0,
        epochs: int | None = None,
        drop_last: bool = False,
        bucket_by_length: bool = False,
        truncate: int | None = None,
        world: Any = "auto",
        rank: int | None = None,
        world_size: int | None = None,
        max_errors: int = 0,
        on_error: Literal["raise", "skip"] = "raise",
        memory_limit: int | str | None = None,
        threads: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        if batch_size is None and batch_samples is None:
            raise ConfigError("no batch_size, expected the number of examples in a batch, such as batch_size=32", path="batch_size")
        if bucket_by_length and shuffle is False:
            raise ConfigError("bucket_by_length groups examples within a shuffle; give shuffle=True or a tesson.Window", path="bucket_by_length")
        if truncate is not None:
            _check_truncated(batch_size, batch_samples=batch_samples, drop_last=drop_last, bucket_by_length=bucket_by_length)
        if not isinstance(shuffle, (bool, np.bool_, Window)):
            raise ConfigError(f"shuffle: found {shuffle!r}, expected True, False or a tesson.Window", path="shuffle")
        _check_whole(1, batch_size=batch_size, batch_samples=batch_samples, epochs=epochs, truncate=truncate)
        _check_whole(0, seed=seed, max_errors=max_errors)
        if on_error not in ("raise", "skip"):
            raise ConfigError(f"on_error: found {on_error!r}, expected 'raise' or 'skip'", path="on_error")
        if on_error == "skip" and max_errors:
            raise ConfigError("on_error: 'skip' leaves out any number of examples, max_errors a limited one; leave one of the two out", path="on_error")
        #: The options that differ from the defaults, in order.
        given = {name: value for name, value in locals().items() if name not in ("self", "dataset")}
        defaults = defaults_of(Loader.__init__)
        self._given = {name: value for name, value in given.items() if name not in defaults or value != defaults[name]}
        self._dataset = dataset
        #: Samples of a batch, if that is what it is measured by.
        self._batch_samples = batch_samples if truncate is None or batch_size is None else batch_size * truncate
        self._world = _world(world, rank, world_size)
        if truncate is not None and batch_size is not None and batch_size < self._world.size:
            what = f"batch_size: found {batch_size} rows for {self._world.size} ranks, expected at least one for each"
            raise ConfigError(what, path="batch_size")
        options: dict[str, Any] = {
            "minibatch_size_in_sequences": batch_size if truncate is None else None,
            "truncation_length": truncate,
            "randomize": True if isinstance(shuffle, Window) else "global" if shuffle else False,
            "randomization_seed": seed,
            "max_sweeps": epochs,
            "bucketing": (batch_samples or True) if bucket_by_length else None,
            "drop_last": drop_last or None,
            "max_errors": _ANY_NUMBER if on_error == "skip" else max_errors,
            "memory_limit": memory_limit,
            "threads": threads,
            "dtype": dtype,
            "sharing": "position",
            # Rows of other ranks continue inside examples whose beginning this one has not had: it cannot repeat any.
            "equal_steps": ("repeat" if truncate is None else "drop") if self._world.size > 1 else None,
        }
        if isinstance(shuffle, Window):
            options["randomization_window_in_chunks"] = shuffle.chunks
            options["randomization_window_in_samples"] = shuffle.samples or 0
        self._source = dataset._open(**{name: value for name, value in options.items() if value is not None})
        self._schema = dataset._schema_of(self._source)
        check_same_data(self._world, f"{dataset._shown} ({self._schema})", lambda: self._source.num_sequences)
        self._epochs = self._epochs_of_source()
        self._pass: _tesson.Iteration | None = None
        #: While a pass makes batches ahead: the state after the last one that was yielded.
        self._yielded: dict[str, Any] | None = None

    @property
    def schema(self) -> Schema:
        """The streams of the batches."""
        return self._schema

    @property
    def epoch(self) -> int:
        """The number, from 0, of the epoch that the next batch belongs to."""
        epoch: int = self._epochs.epoch() if self._yielded is None else self._yielded["sweep"]
        return epoch

    @property
    def step(self) -> int:
        """The number of batches before the next one, from the start of the data on."""
        if self._yielded is not None:
            raise UsageError("the step is not known while batches are made ahead; end the iteration")
        return self._epochs.step()

    def epoch_report(self) -> EpochReport:
        """The outcome of the present epoch so far, or of the last one if no other has begun.

        Examples
        --------
        >>> loader = tesson.from_arrays(x=np.arange(5)).loader(batch_size=4, rank=2, world_size=3)
        >>> [batch["x"].tolist() for batch in loader]
        [[2], [4]]
        >>> loader.epoch_report()
        EpochReport(epoch=0, batches=2, examples=2, repeated=1, dropped=0, left_out=0, is_over=True)
        """
        return EpochReport(*self._epochs.report())

    def __iter__(self) -> Iterator[Batch]:
        if self._yielded is not None:
            self.load_state_dict(self._yielded)
        schema = self._schema
        self._pass = self._epochs.begin(lambda batch: Batch(batch, schema))
        return self._pass

    def steps(self, n: int) -> Iterator[Batch]:
        """The next `n` batches, of as many epochs as they take.

        Examples
        --------
        >>> loader = tesson.from_arrays(x=np.arange(5)).loader(batch_size=3)
        >>> [batch["x"].tolist() for batch in loader.steps(3)]
        [[0, 1, 2], [3, 4], [0, 1, 2]]
        """
        _check_whole(0, n=n)
        return self._steps(n)

    def _steps(self, n: int) -> Iterator[Batch]:
        left, was_whole = n, False
        while left > 0:
            before = left
            for batch in self:
                left -= 1
                yield batch
                if left == 0:
                    return
            if left == before and was_whole:
                raise UsageError("an epoch has no batch, as none of its examples is valid; repair the data")
            was_whole = True

    def skip_to(self, step: int) -> None:
        """Go to the beginning of a batch, forwards or back: the next one is number `step`, counted from 0 at the start of the data.

        What lies between is neither read nor counted.

        Examples
        --------
        >>> loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=4, shuffle=True)
        >>> loader.skip_to(4)
        >>> loader.epoch, loader.step
        (1, 4)
        """
        _check_whole(0, step=step)
        self._source.skip_to(step, self._size(), num_data_partitions=self._world.size, partition_index=self._world.rank)
        self._pass, self._yielded = None, None
        self._epochs.moved()

    def which(self, step: int) -> PlannedStep:
        """The examples of a past or future batch of all ranks, with their keys and places in files; `step` is counted from 0 at the start.

        Reads no data, and does not move the loader.

        Examples
        --------
        >>> loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=4, shuffle=True)
        >>> loader.which(1).keys == [batch.keys for batch in loader][1]
        True
        """
        _check_whole(0, step=step)
        return self._source.which(step, self._size(), num_data_partitions=self._world.size)

    def where(self, key: int | str, epoch: int | None = None) -> list[KeyDelivery]:
        """The batches of an epoch, by default the present one, in which the examples with a key come.

        Examples
        --------
        >>> loader = tesson.from_arrays(x=np.arange(10)).loader(batch_size=4)
        >>> [(found.step, found.rank) for found in loader.where(9)]
        [(2, 0)]
        """
        if epoch is not None:
            _check_whole(0, epoch=epoch)
        return self._source.where(key, self.epoch if epoch is None else epoch, self._size(), num_data_partitions=self._world.size)

    def _epochs_of_source(self) -> _tesson.Epochs:
        return _tesson.Epochs(self._source._source, self._size(), self._world.size, self._world.rank)

    def _size(self) -> int:
        """Samples of a batch, at most."""
        return self._batch_samples or self._source._default_size()

    def __len__(self) -> int:
        """The number of batches in an epoch; under `truncate`, where it depends on the shuffle, in the present or next one.

        Raises
        ------
        TypeError
            It is not known without reading.
        """
        return len(self._epochs)

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch, for :meth:`load_state_dict` of a loader of the same data: of any rank, for any number of ranks."""
        return self._epochs.state() if self._yielded is None else self._yielded

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume after the batch after which the state was taken.

        Raises
        ------
        ResumeError
            The state is of other data, another order or another seed.
        """
        if not isinstance(state, Mapping):
            raise ResumeError(f"found {type(state).__name__}, expected what state_dict() returned")
        self._pass = None
        self._source.load_state_dict(state)
        self._epochs.moved()
        self._yielded = None

    def torch(
        self,
        *,
        layouts: Mapping[str, str] | None = None,
        device: Any = None,
        pin_memory: bool = False,
        keys: str | None = None,
        pad_value: Any = None,
        pad_multiple: int = 1,
    ) -> Any:
        """The batches as dictionaries of PyTorch's tensors: an iterable with the loader's epochs, length and states.

        Parameters
        ----------
        layouts : mapping, optional
            For ragged streams ``"padded"`` (the default: values, lengths and a mask) or ``"nested"``; for sparse ones ``"csr"`` (the
            default), ``"coo"``, or ``"classes"`` for the numbers of one-hot samples. Dense streams are tensors ``[examples, *shape]``.
        device : torch.device or str, optional
            The device that tensors are copied to.
        pin_memory : bool
            True if batches are made one ahead in pinned memory, from which a GPU copies while the program continues. Without a GPU
            there is a warning, and batches are made as usual.
        keys : str, optional
            The name under which batches have the list of their examples' keys.
        pad_value, pad_multiple : optional
            The value that padded streams are filled up with, by default 0, and what their length is a multiple of.

        Returns
        -------
        tesson.torch.TorchBatches
        """
        from .torch.batches import TorchBatches

        return TorchBatches(
            self, layouts, device, pin_memory, keys=keys, pad_value=pad_value, pad_multiple=pad_multiple  # type: ignore[arg-type]
        )

    def jax(
        self,
        *,
        sharding: Any = None,
        prefetch: int = 2,
        layouts: Mapping[str, str] | None = None,
        pad_value: Any = None,
        pad_to: int | None = None,
        pad_multiple: int = 1,
    ) -> Any:
        """The batches as dictionaries of :class:`jax.Array`: an iterator with the loader's epochs, length and states.

        A ragged stream ``name`` is padded, and has the lengths of its examples as ``name_lengths``. JAX narrows 64-bit types unless
        ``jax_enable_x64`` is set: values that this would change are refused.

        Parameters
        ----------
        sharding : jax.sharding.Sharding, optional
            The distribution of arrays over devices: each becomes one global array, of which this process supplies its share. By
            default arrays are on JAX's default device.
        prefetch : int
            The number of batches, from 0, that are copied to the devices ahead of the loop.
        layouts : mapping, optional
            For sparse streams ``"dense"``, or ``"classes"`` for the numbers of one-hot samples.
        pad_value, pad_to, pad_multiple : optional
            The value that ragged streams are filled up with, and their length, or what it is a multiple of, so that compiled
            functions are compiled for fewer shapes. Processes that share arrays need `pad_to`.

        Returns
        -------
        tesson.jax_batches.JaxBatches
        """
        from .jax_batches import JaxBatches, LoaderReader, share_of

        reader = LoaderReader(self, layouts or {}, pad_to, pad_value, pad_multiple)  # type: ignore[arg-type]
        reader.is_shared = share_of(sharding, self._world.rank, self._world.size, self._given.get("batch_size"))
        if reader.is_shared and pad_to is None and any(field.is_ragged for field in self.schema.values()):
            raise ConfigError("pad_to: found None, expected the length of ragged streams: processes that share an array need the same", path="pad_to")
        return JaxBatches(reader, sharding, prefetch)

    def report(self, path: AnyPath | None = "report.html", *, all: bool = False) -> dict[str, Any]:
        """Write one page that shows the data and the order of these batches, and return its figures.

        The page needs no other file, no script and no network. The loader stays where it is: its data are opened anew. Figures are
        those of a sample, the same one each time, or of every example with ``all=True``; ``path=None`` writes no page.

        Examples
        --------
        >>> figures = tesson.from_arrays(x=np.arange(8)).loader(batch_size=4, shuffle=True).report("x.html")
        >>> figures["card"]["examples"], figures["streams"][0]["max"]
        (8, 7.0)
        """
        return self._source._report(path, self._dataset._shown, self._size(), self._world.size, all)

    def stats(self) -> Mapping[str, Any]:
        """Counters: bytes read, examples, time waited."""
        return self._source.stats()

    def close(self) -> None:
        """Release the files and memory of the loader."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    if not TYPE_CHECKING:
        __getattr__ = no_attribute("OF_LOADER")

        # PyTorch's DataLoader asks for items of what it is given.
        def __getitem__(self, step):
            raise TypeError("a Loader is iterated over, as in `for batch in loader`; in place of PyTorch's DataLoader, iterate over `loader.torch()`")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_epochs": self.state_dict(), "_pass": None, "_yielded": None}

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self.__dict__ = {**parts, "_epochs": None}
        self._epochs = self._epochs_of_source()
        self.load_state_dict(parts["_epochs"])

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        ranks = f", rank {self._world.rank} of {self._world.size}" if self._world.size > 1 else ""
        counts = "examples not counted yet"
        if self._source._source.is_indexed():
            n = self._source.num_sequences
            counts = f"{n} examples" + (f", {len(self)} batches an epoch" if n <= _COUNTED_AT_ONCE else "")
        return f"<Loader {options}: {counts}{ranks}, of {self._dataset!r}>"


#: Examples whose batches are counted for a repr: planning them takes no time.
_COUNTED_AT_ONCE = 10**6
#: Errors that are all left out.
_ANY_NUMBER = 2**64 - 1


def _check_truncated(batch_size: int | None, **others: Any) -> None:
    """Refuse options that batches of pieces cannot have."""
    if batch_size is None:
        raise ConfigError("truncate: found no batch_size, expected the number of rows in a batch, such as batch_size=32", path="truncate")
    remedies = {
        "batch_samples": "a batch has batch_size rows of truncate samples",
        "drop_last": "all batches have one shape, and the mask says what is padding",
        "bucket_by_length": "pieces have one length",
    }
    for name, remedy in remedies.items():
        if others[name]:
            raise ConfigError(f"{name}: found it beside truncate; {remedy}, leave it out", path=name)


def _check_whole(least: int, **options: Any) -> None:
    """Refuse options that are given and no whole numbers from `least` that the engine can hold."""
    for name, value in options.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value < 2**64):
            raise ConfigError(f"{name}: found {value!r}, expected a whole number from {least} below 2^64", path=name)


def _world(world: Any, rank: int | None, world_size: int | None) -> World:
    """The ranks of a loader."""
    if rank is not None or world_size is not None:
        if rank is None or world_size is None:
            raise ConfigError("found one of `rank` and `world_size`, expected both", path="rank")
        return resolve_world((rank, world_size))
    return World(0, 1, "world=None") if world is None else resolve_world(world)
