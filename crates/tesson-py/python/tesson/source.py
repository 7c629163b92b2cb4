"""The source of minibatches."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _tesson
from .config import copied, load_reader
from .deserializers import Deserializer
from .errors import ConfigError, ResumeError, UsageError
from .keywords import camel_case, defaults_of, nearest_keyword, parameters_of, suggests_keywords
from .memory import MemoryDeserializer
from .minibatch import Minibatch
from .paths import AnyPath, optional_text_of, text_of
from .plugins import resolved
from .source_base import Source
from .streams import StreamInformation, Streams
from .transforming import as_transform
from .transforms import AnyTransform
from .user import UserDeserializer
from .world import resolve_world

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .steps import KeyDelivery, PlannedStep

__all__ = [
    "DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS",
    "FULL_DATA_SWEEP",
    "INFINITELY_REPEAT",
    "MinibatchSource",
    "MinibatchSourceFromData",
    "merge_states",
]

#: The option that says what keys are.
_NUMERIC_KEYS = "useNumericSequenceKeys"

#: For ``max_samples`` and ``max_sweeps``: no end.
INFINITELY_REPEAT = 2**64 - 1
#: For ``max_samples``: the data once.
FULL_DATA_SWEEP = 2**64 - 2
#: Chunks that are randomized together.
DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS = 128


@suggests_keywords
class MinibatchSource(Source):
    """Reads a corpus in minibatches: in an order that depends on nothing but the data and these arguments.

    A source may be used by several threads: each call returns another minibatch. Reading releases the GIL, and Ctrl-C
    ends a call: its minibatch is delivered by the next call, or after a state that is saved then. Sources pickle as
    their configuration and state: the copy opens the files again and resumes at the position of the original. After
    ``os.fork()`` the child must open its own source.

    Parameters
    ----------
    deserializers : Deserializer, UserDeserializer or a sequence of them
        The deserializer of the data, such as :class:`CTFDeserializer`. Several are joined by sequence key: the first
        one (or `primary`) defines order and chunks, and a sequence that another one lacks is left out.
    max_samples : int
        The number of samples, over all workers, after which the data end; a sequence that starts before is delivered whole.
        ``FULL_DATA_SWEEP`` is one sweep.
    max_sweeps : int
        The number of sweeps after which the data end. Cannot be combined with `max_samples`.
    randomization_window_in_chunks, randomization_window_in_samples : int
        The size of the randomization window, by default 128 chunks. Give one of the two, or the other as 0; both 0
        are the same as ``randomize=False``.
    randomization_seed : int
        Seed of the first sweep; every further sweep has the next one.
    trace_level : int, optional
        The amount of logging: 0 errors, 1 warnings, 2 everything. Records go to the logger ``tesson``.
    multithreaded_deserializer : bool, optional
        Accepted for CNTK's scripts. Never changes a result.
    frame_mode : bool
        Every sequence is a single sample.
    truncation_length : int
        Cut sequences into segments of this many samples, side by side in rows; 0: whole sequences. All streams need
        sequences of equal length; sparse streams become dense.
    randomize : bool or {"global"}
        ``False``: the data as stored. ``True``: CNTK's order. ``"global"``: a shuffle of the whole sweep of any size,
        without the memory that a window of this size takes.
    exclude_keys : iterable of int or str, str or os.PathLike, optional
        Leave out the sequences with these keys, or with those in a file, one in each line. As with invalid sequences,
        all others keep their minibatch, except that the rows of truncated minibatches close up. After a restore the
        list may differ from that of the run that saved the state; it applies from there on.
    max_errors : int
        Number of faults to tolerate before reading fails, such as images that cannot be decoded, recordings that are cut
        off, wrong labels. Faulty sequences are left out. Deserializers with their own budget, such as
        :class:`CTFDeserializer`, count separately.
    max_error_share : float, optional
        Share of the sequences passed so far, from 0 to 1, that may be faulty, even if `max_errors` and the budgets of
        the deserializers tolerate fewer.
    quarantine : str or os.PathLike, optional
        File to which a line of JSON is appended for every tolerated fault: ``fault`` in words, ``file``,
        ``line``, ``offset``, ``stream``, ``key``.
    primary : int or str, optional
        The deserializer that defines order and chunks, instead of the first: its number from 0, its type or one of
        its streams. Its streams then come first.
    strict_keys : bool
        Refuse several deserializers if one lacks a sequence of the first.
    outer_join : bool
        Keep such sequences, without samples in its streams.
    max_missing : float
        Refuse several deserializers if one lacks more than this share of the first one's sequences, from 0 to 1. Default 1.
    unique_keys : bool
        Refuse a key that the only deserializer, or any but the first of several, has more than once; otherwise the first
        sequence of the key is joined.
    max_samples_end : {"after", "before", "inside"}
        The end of the data if `max_samples` lies inside a sequence: after it, before it, or inside, which cuts it.
    drop_last : bool
        Leave out the last minibatch of the data if it is not full.
    minibatch_size_in_sequences : int, optional
        Sequences that a minibatch may hold, over all workers. If a call also gives a size in samples, both limits
        hold; otherwise it gets this many sequences.
    bucketing : bool or int
        Group sequences of similar length within the shuffle window to reduce padding:
        the samples of a bucket, best those of a minibatch. ``True``: the size of minibatches for calls without one.
    keep_sparse : bool
        Keep sparse streams sparse when truncating.
    truncation_slots : int or str
        In place of `truncation_length`: number of segments side by side in each minibatch; their length is the size of
        the minibatch divided by it, also if sizes change. A schedule such as ``"4*2:16"`` has a number for each
        epoch: that of the configuration, or a sweep, whatever `epoch_size` a call has.
    equal_steps : {"drop", "repeat", "empty"}, optional
        Give all workers the same number of minibatches of each sweep, so that none waits for others without end.
        ``"drop"`` leaves out minibatches for which not all workers have data, ``"repeat"`` lets a worker that has run
        out repeat its own sequences of the sweep, ``"empty"`` gives it empty minibatches. Minibatches then end with
        their sweep, and sizes change only with sweeps, unless `sharing` is by position, where ``"drop"`` and
        ``"repeat"`` apply to empty shares.
    sharing : {"chunk", "position"}, optional
        The way in which workers share the data. ``"chunk"`` is CNTK's and the default of its order: each rank reads
        whole chunks and has its own position, and a rank gets nothing if there are fewer chunks than workers. Under
        ``"position"``, the default of ``"global"`` and of `bucketing`, all ranks together get the minibatches of a
        single worker, take the same number of steps and save the same state: choose it unless a run has to reproduce
        CNTK's.
    augmentation : {"sequence", "cntk"}, optional
        The random numbers of transforms: by default those of each sequence; ``"cntk"``, for comparisons, draws
        CNTK's, which depend on all minibatches before. States are then refused, and one minibatch is made at a time.
    memory_limit : int or str, optional
        Bytes that the source may hold, also as ``"512MB"`` or ``"2GiB"``; 4 GiB by default. A minibatch that takes
        more is refused, independent of order and threads; a call for a smaller one starts at the same sequence.
    threads : int, optional
        Worker threads; by default one for each core. Never changes a result.
    dtype : dtype, optional
        Type of all values, ``float32`` (default) or ``float64``.
    store : {"file", "mmap"}, optional
        The way to read files. ``"mmap"`` requires files that do not change while they are read.
    transforms : mapping, optional
        Transforms of each stream, applied after those of its :class:`StreamDef`: a function from array to array, a
        :class:`UserTransform`, which sparse streams need, a transform of images from :mod:`tesson.transforms`, or a
        list of them.
    num_data_partitions, partition_index : int, optional
        Number of workers and the rank of this one, for all calls without their own. If some ranks would get no data,
        every rank warns when it opens the source.
    world : "auto", str, (int, int), World or device mesh, optional
        Instead of these two: rank and number of workers as :func:`tesson.world.resolve_world` finds them. `sharing`
        is then by position by default, so that all ranks take the same number of steps and a state of any rank
        resumes on any number of them.

    Raises
    ------
    ConfigError
        An invalid argument; ``.path`` names it, such as ``deserializers[0].max_errors``.
    DataError, StoreError
        The data are invalid or cannot be read.

    Examples
    --------
    >>> source = MinibatchSource(
    ...     CTFDeserializer("train.ctf", StreamDefs(
    ...         features=StreamDef(field="x", shape=4),
    ...         labels=StreamDef(field="y", shape=3, is_sparse=True))),
    ...     max_sweeps=1)
    >>> while minibatch := source.next_minibatch(4):
    ...     features, labels = minibatch.paired("features", "labels")
    ...     print(features.samples.shape, labels.class_indices)
    (4, 4) [0 2 1 0]
    (2, 4) [1 2]
    """

    #: The remedy for an object that is not a state.
    _state_is = "a state is what get_checkpoint_state() returned, or CNTK's {'minibatchSourcePosition': samples}"

    #: True if columns of keys say whether keys are numbers or texts, where the configuration does not.
    _finds_keys = False

    _source: _tesson.Source
    _streams: Streams
    #: The configuration, shapes of several dimensions by stream, the folder of relative file names, and whether the
    #: configuration was made of keyword arguments.
    _arguments: tuple[dict[str, Any], Mapping[str, tuple[int, ...]], str | None, bool]
    #: Number of workers and rank for calls that name none.
    _share: tuple[int | None, int | None]
    _numbers: dict[Hashable, int]
    _names: tuple[str, ...]

    def __init__(
        self,
        deserializers: Deserializer | UserDeserializer | Sequence[Deserializer | UserDeserializer],
        max_samples: int = INFINITELY_REPEAT,
        max_sweeps: int = INFINITELY_REPEAT,
        randomization_window_in_chunks: int | None = None,
        randomization_window_in_samples: int = 0,
        randomization_seed: int = 0,
        trace_level: int | None = None,
        multithreaded_deserializer: bool | None = None,
        frame_mode: bool = False,
        truncation_length: int = 0,
        randomize: bool | Literal["global"] = True,
        max_errors: int = 0,
        *,
        exclude_keys: Iterable[int | str] | AnyPath | None = None,
        max_error_share: float | None = None,
        quarantine: AnyPath | None = None,
        primary: int | str | None = None,
        strict_keys: bool = False,
        outer_join: bool = False,
        max_missing: float = 1,
        unique_keys: bool = False,
        keep_sparse: bool = False,
        truncation_slots: int | str = "0",
        max_samples_end: Literal["after", "before", "inside"] = "after",
        drop_last: bool = False,
        minibatch_size_in_sequences: int | None = None,
        bucketing: bool | int = False,
        equal_steps: Literal["drop", "repeat", "empty"] | None = None,
        sharing: Literal["chunk", "position"] | None = None,
        augmentation: Literal["sequence", "cntk"] | None = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        dtype: DTypeLike | None = None,
        store: Literal["file", "mmap"] | None = None,
        transforms: Mapping[str, AnyTransform | Sequence[AnyTransform]] | None = None,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
        world: Any = None,
    ) -> None:
        if world is not None:
            num_data_partitions, partition_index = _shares(world, num_data_partitions, partition_index)
            sharing = sharing or "position"
        given = _given(locals())
        parts = _parts(deserializers, max_samples)
        transformed = _transforms(parts, transforms or {})
        special: dict[str, Any] = {
            "deserializers": [_section(part) for part in parts],
            "randomize": randomize,
            "randomizationWindowInChunks": randomization_window_in_chunks,
            # As in CNTK, 0 samples alone are no window of nothing but none in samples.
            "randomizationWindowInSamples": randomization_window_in_samples or None,
            "excludeKeys": _excluded(exclude_keys),
            "precision": None if dtype is None else _precision(dtype),
            "transforms": transformed or None,
        }
        options = given | special
        shapes = {
            name: stream.shape
            for part in parts
            if isinstance(part, Deserializer)
            for name, stream in part.streams.items()
            if stream.shape is not None and len(stream.shape) != 1 and name not in transformed
        }
        self._open({name: value for name, value in options.items() if value is not None}, shapes, None, True)
        self._share_by_default(num_data_partitions, partition_index)

    def _open(
        self,
        config: dict[str, Any],
        shapes: Mapping[str, tuple[int, ...]],
        base_dir: str | None,
        by_keywords: bool = False,
    ) -> None:
        finds_keys = self._finds_keys and _NUMERIC_KEYS not in config
        self._source = _tesson.Source(resolved(config, base_dir), shapes, base_dir, by_keywords, finds_keys)
        if finds_keys and self._source.has_text_keys():
            config = {**config, _NUMERIC_KEYS: False}
        self._arguments = (config, shapes, base_dir, by_keywords)
        self._share = (None, None)
        streams = {
            name: StreamInformation(
                name, number, "sparse" if sparse else "dense", np.dtype(dtype), tuple(dims), False, classes, any_length, unit
            )
            for number, (name, dims, dtype, sparse, classes, unit, any_length) in enumerate(self._source.streams())
        }
        self._streams = Streams(streams)
        self._names = tuple(streams)
        # Both ways to name a stream; made once, looked up at every minibatch.
        self._numbers = {name: stream.stream_id for name, stream in streams.items()}
        self._numbers.update((stream, stream.stream_id) for stream in streams.values())

    def _share_by_default(self, workers: int | None, rank: int | None) -> None:
        """Set the share of calls without their own, and warn if some of the ranks get no data."""
        self._share = (workers, rank)
        if workers is None and rank:
            what = f"found {rank} without num_data_partitions, which says how many workers share the data"
            raise ConfigError(f"partition_index: {what}", path="partition_index")
        if workers is not None or rank is not None:
            self._source.check_share(1 if workers is None else workers, 0 if rank is None else rank)

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any] | AnyPath,
        *,
        section: str | None = None,
        base_dir: AnyPath | None = None,
        overrides: Mapping[str, Any] | None = None,
        arguments: Iterable[str] = (),
        extended_variables: bool = False,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
        world: Any = None,
    ) -> MinibatchSource:
        """Open the source that a configuration describes.

        A deserializer with ``module`` and a custom type imports that Python module, which runs its code: read
        configurations only from people whose code you would run. :func:`resolve_config` and ``tesson config`` import nothing.

        Parameters
        ----------
        config : mapping, str or os.PathLike
            The path of a BrainScript file (``.cntk``), or its text; or the tree of a reader's options, as JSON holds
            it, its JSON text, or the path of a ``.json`` or ``.toml`` file. Options are named as in CNTK's
            configurations. A tree has the defaults of :class:`MinibatchSource`, a BrainScript file those of CNTK, and
            so does a tree with a ``readerType`` of CNTK instead of ``deserializers``.
        section : str, optional
            Path of the reader's section, such as ``"Train/reader"``. By default the first reader of a BrainScript file,
            or the tree itself.
        base_dir : str or os.PathLike, optional
            The folder of relative file names, by default the working directory or the one that the configuration names.
        overrides : mapping, optional
            Values that replace those of the configuration. Paths start from the top of a file, as in
            ``{"DataDir": "data", "Train.reader.randomize": False}``, and of a mapping from its section.
        arguments : iterable of str, optional
            The arguments after a BrainScript file on CNTK's command line: ``["Train=[reader=[randomize=false]]"]``.
        extended_variables : bool
            True if ``$env:NAME$`` and ``$name|value$`` are variables in BrainScript.
        num_data_partitions, partition_index, world : optional
            As in :class:`MinibatchSource`.

        Examples
        --------
        >>> source = MinibatchSource.from_config({
        ...     "deserializers": [{"type": "CNTKTextFormatDeserializer", "file": "train.ctf",
        ...                        "input": {"x": {"dim": 4, "format": "dense"}}}],
        ...     "randomize": False}, overrides={"maxSweeps": 1})
        >>> source.next_minibatch(100)["x"].num_samples
        6
        """
        tree, found_dir = load_reader(config, section, overrides, arguments, extended_variables)
        if world is not None:
            num_data_partitions, partition_index = _shares(world, num_data_partitions, partition_index)
            if not any(name.lower() == "sharing" for name in tree):
                tree = {**tree, "sharing": "position"}
        source = cls.__new__(cls)
        source._open(tree, {}, found_dir if base_dir is None else text_of(base_dir))
        source._share_by_default(num_data_partitions, partition_index)
        return source

    @classmethod
    def from_data(
        cls,
        data: Mapping[str, Any] | None = None,
        /,
        *,
        max_samples: int = INFINITELY_REPEAT,
        max_sweeps: int = INFINITELY_REPEAT,
        randomize: bool | Literal["global"] = False,
        randomization_seed: int = 0,
        randomization_window_in_chunks: int | None = None,
        randomization_window_in_samples: int = 0,
        frame_mode: bool = False,
        truncation_length: int = 0,
        truncation_slots: int | str = "0",
        exclude_keys: Iterable[int | str] | AnyPath | None = None,
        minibatch_size_in_sequences: int | None = None,
        bucketing: bool | int = False,
        drop_last: bool = False,
        equal_steps: Literal["drop", "repeat", "empty"] | None = None,
        sharing: Literal["chunk", "position"] | None = None,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        dtype: DTypeLike | None = None,
        transforms: Mapping[str, AnyTransform | Sequence[AnyTransform]] | None = None,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
        world: Any = None,
        **streams: Any,
    ) -> MinibatchSource:
        """Read data that are in memory, by default in their order.

        Parameters
        ----------
        data : mapping, optional
            Streams with names that are not identifiers, or are those of options.
        max_samples, max_sweeps, randomize, randomization_seed, randomization_window_in_chunks, \
randomization_window_in_samples, frame_mode, truncation_length, truncation_slots, exclude_keys, minibatch_size_in_sequences, bucketing, drop_last, \
equal_steps, sharing, memory_limit, threads, dtype, transforms, num_data_partitions, partition_index, world
            As in :class:`MinibatchSource`. The data have at least 64 chunks, if there are that many sequences.
        **streams
            Each is an array ``[sequences, *shape]`` or a :class:`scipy.sparse.csr_matrix` ``[sequences, columns]``
            with sequences of one sample as rows; or a list of arrays ``[samples, *shape]`` or sparse matrices, each
            of which is a sequence. They are not copied: do not change them while they are read.

        Examples
        --------
        >>> source = MinibatchSource.from_data(x=np.arange(6).reshape(3, 2), y=[np.ones(2), np.ones(1), np.ones(3)])
        >>> minibatch = source.next_minibatch(3)
        >>> minibatch["x"].samples.tolist(), minibatch["y"].lengths.tolist()
        ([[0.0, 1.0], [2.0, 3.0]], [2, 1])
        """
        arguments = locals()
        if data is not None and not isinstance(data, Mapping):
            remedy = "give its columns by name, as in from_data({name: table[name] for name in table.columns})"
            remedy = remedy if hasattr(data, "columns") else "give arrays by name, as in from_data(x=data)"
            raise ConfigError(f"data: found {type(data).__name__}, expected a mapping from streams to data; {remedy}", path="data")
        _check_options(streams)
        options = {name: arguments[name] for name in parameters_of(MinibatchSource.__init__) if name in arguments}
        return cls(MemoryDeserializer({**(data or {}), **streams}), **options)

    def _reopened(self) -> MinibatchSource:
        """Open the source again, at its beginning, for a forked process."""
        source = MinibatchSource.__new__(type(self))
        source._open(*self._arguments)
        source._share = self._share
        return source

    def __getstate__(self) -> tuple[Any, ...]:
        return *self._arguments, self._share, self._source.state()

    def __setstate__(self, parts: tuple[Any, ...]) -> None:
        *arguments, share, state = parts
        self._open(*arguments)
        self._share = share
        self._source.restore(state)

    def next_minibatch(
        self,
        minibatch_size_in_samples: int | None = None,
        input_map: Mapping[Any, StreamInformation | str] | None = None,
        device: object = None,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
    ) -> Minibatch:
        """Read the next minibatch.

        Parameters
        ----------
        minibatch_size_in_samples : int, optional
            Samples over all workers. A longer sequence is delivered alone. By default the size of the configuration,
            or 256; any number of samples if the source has a size in sequences.
        input_map : mapping, optional
            Keys for the result, and for each its stream, as :class:`StreamInformation` or by name.
        device : object, optional
            Accepted for CNTK's scripts, and ignored.
        num_data_partitions, partition_index : int, optional
            Number of workers and which share to return, by default those of the source, else the whole. They may
            change between calls. Under ``sharing="chunk"``, CNTK's way, a rank gets nothing if there are fewer chunks
            than workers: prefer ``sharing="position"`` (see :class:`MinibatchSource`).

        Returns
        -------
        Minibatch
            Empty (and false) at the end of the data.

        Raises
        ------
        DataError
            A sequence could not be read; ``.file``, ``.line`` and ``.offset`` are its location. Every further call repeats the
            error until a state is restored or :meth:`skip_failed` is called.
        StoreError
            A file could not be read; likewise.
        UsageError
            Arguments that can never be valid. The source does not change.

        Examples
        --------
        >>> source.next_minibatch(4, num_data_partitions=2, partition_index=0)["features"].samples.shape
        (2, 4)
        >>> minibatch = source.next_minibatch(4, {"the input": source.streams.features})
        >>> list(minibatch)
        ['the input']
        """
        if minibatch_size_in_samples is None:
            minibatch_size_in_samples = self._default_size()
        if num_data_partitions is None and partition_index is None:
            num_data_partitions, partition_index = self._share
        numbers: Mapping[Hashable, int] = self._numbers
        names: tuple[Hashable, ...] = self._names
        if input_map is not None:
            # Before the minibatch is taken: a stream that there is not would lose it.
            numbers = {key: self._number(stream) for key, stream in input_map.items()}
            names = tuple(numbers)
        batch = None
        try:
            for batch in self._source.minibatches(minibatch_size_in_samples, num_data_partitions, partition_index):
                break
            # Python lets no signal in between this call and the caller's assignment: who asks for a minibatch gets it, or an
            # interrupt and has not taken it.
            return Minibatch(batch, numbers, names)
        except BaseException:
            if batch is not None:
                self._source.put_back(batch)
            raise

    def _put_back(self, minibatch: Minibatch) -> None:
        """Put back the minibatch that was read last, after its conversion failed: the next call returns it again."""
        if minibatch._batch is not None:
            self._source.put_back(minibatch._batch)

    def _default_size(self) -> int:
        """The size for a call without one."""
        schedule = self._source.default_sizes()
        size = schedule.constant()
        return schedule.at(self._epoch(None)) if size is None else size

    def _epoch(self, epoch_size: int | None) -> int:
        """The epoch that comes next, counted from the start of the data."""
        return self._source.position() // self._epoch_samples(epoch_size)

    def _epoch_samples(self, epoch_size: int | None) -> int:
        """Samples of an epoch."""
        return epoch_size or int(self._option("epochSize") or 0) or self.num_samples_per_sweep

    def _number(self, stream: StreamInformation | str) -> int:
        try:
            return self._numbers[stream]
        except KeyError:
            raise UsageError(f"found stream {stream!r}, there are {', '.join(self._streams)}") from None

    def minibatches(
        self,
        minibatch_size_in_samples: int | Iterable[int | tuple[int, int]] | str | None = None,
        input_map: Mapping[Any, StreamInformation | str] | None = None,
        *,
        epoch_size: int | None = None,
        sweeps: int | None = None,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
    ) -> Iterator[Minibatch]:
        """Iterate over minibatches, to the end of the data; of a source without an end, to the end of the sweep. The
        iteration begins at the source's position, so a second one delivers the next sweep, and after a restore the
        rest of one. ``for minibatch in source`` is this iteration without arguments.

        Parameters
        ----------
        minibatch_size_in_samples : int, iterable of int, or str
            One size, or a schedule: the size for each epoch; the last one holds for all later epochs. 128 for two epochs and
            then 1024 is ``[128, 128, 1024]``, or with numbers of epochs ``[(2, 128), (1, 1024)]``, or the text
            ``"128*2:1024"``. By default as for :meth:`next_minibatch`.
        input_map, num_data_partitions, partition_index
            As for :meth:`next_minibatch`.
        epoch_size : int, optional
            Samples of an epoch, over all workers; by default that of the configuration, or one sweep. Epochs are counted from the start of the data,
            not of the iteration, so a restored source continues with the size of its epoch.
        sweeps : int, optional
            Ends of sweeps after which the iteration stops, if the data do not end before: ``INFINITELY_REPEAT`` for
            none. By default 1 if :meth:`is_infinite` is true, otherwise all. A minibatch may also hold the beginning
            of the next sweep, as in CNTK.

        Examples
        --------
        >>> [minibatch["features"].num_samples for minibatch in source.minibatches("2:3", epoch_size=6)]
        [2, 2, 2, 3, 3]
        >>> endless = MinibatchSource.from_data(x=np.arange(6))
        >>> [len(list(endless.minibatches(2))) for epoch in range(2)], len(list(endless.minibatches(2, sweeps=4)))
        ([3, 3], 12)
        """
        if sweeps is None:
            sweeps = 1 if self.is_infinite() else INFINITELY_REPEAT
        if not isinstance(sweeps, int) or sweeps < 0:
            raise UsageError(f"sweeps: found {sweeps!r}, expected a whole number from 0")
        sizes = minibatch_size_in_samples
        schedule = self._source.default_sizes() if sizes is None else _schedule(sizes)
        size = schedule.constant()
        while sweeps > 0:
            due = schedule.at(self._epoch(epoch_size)) if size is None else size
            minibatch = self.next_minibatch(due, input_map, None, num_data_partitions, partition_index)
            # No calls from here on: an interrupt in one would lose the minibatch.
            batch = minibatch._batch
            if batch is None:
                return
            sweeps -= batch.sweeps_ended
            yield minibatch

    def __iter__(self) -> Iterator[Minibatch]:
        """Iterate as :meth:`minibatches` does without arguments."""
        return self.minibatches()

    def is_infinite(self) -> bool:
        """True if the data never end: neither `max_samples` nor `max_sweeps` is set."""
        return self._source.is_endless()

    def _option(self, name: str) -> Any:
        """The value of an option in the configuration, as it is written there."""
        options = self._arguments[0].items()
        return next((value for n, value in options if n.lower() == name.lower()), None)

    @property
    def streams(self) -> Streams:
        """The streams, by name and as attributes: ``source.streams.features``."""
        return self._streams

    def stream_infos(self) -> list[StreamInformation]:
        """All streams, in the order of the configuration."""
        return list(self._streams.values())

    @property
    def config(self) -> dict[str, Any]:
        """The options in the dict form of :meth:`from_config`."""
        tree: dict[str, Any] = copied(self._arguments[0])
        return tree

    def get_checkpoint_state(self) -> dict[str, Any]:
        """The state after the last minibatch delivered: a small dictionary that `json` can write.

        Examples
        --------
        >>> state = source.get_checkpoint_state()
        >>> a = source.next_minibatch(3)["features"].samples
        >>> source.restore_from_checkpoint(state)
        >>> b = source.next_minibatch(3)["features"].samples
        >>> bool((a == b).all())
        True
        """
        return self._source.state()

    def restore_from_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        """Resume from a state of this source, or of another one on the same data with the same options.

        A dictionary that holds nothing but ``minibatchSourcePosition``, as CNTK writes it, is accepted too.

        Raises
        ------
        ResumeError
            The state belongs to other data, another order or another version; ``.what`` names it. The source does not change.
        """
        if not isinstance(checkpoint, Mapping):
            raise ResumeError(f"found {type(checkpoint).__name__}, which is no state; {self._state_is}", code="resume.unreadable")
        try:
            self._source.restore(checkpoint)
        except ResumeError as e:
            if e.code == "resume.unreadable":
                e.args = (f"{e}; {self._state_is}",)
            raise

    @property
    def num_sequences(self) -> int:
        """Number of sequences in the corpus. Indexes it, if that has not been necessary before."""
        return self._source.num_sequences()

    @property
    def num_samples_per_sweep(self) -> int:
        """Number of samples in one sweep. Indexes the corpus, if that has not been necessary before."""
        return self._source.num_samples_per_sweep()

    def steps_per_sweep(
        self,
        minibatch_size_in_samples: int,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
    ) -> int:
        """Number of minibatches in the first sweep, as counted by one worker. Nothing is read but the index."""
        return self._source.steps_per_sweep(minibatch_size_in_samples, num_data_partitions, partition_index)

    def which(
        self,
        step: int,
        minibatch_size_in_samples: int | Iterable[int | tuple[int, int]] | str | None = None,
        *,
        epoch_size: int | None = None,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
    ) -> PlannedStep:
        """Return the sequences of a minibatch, with their keys and positions: of a past or a future one, for any
        number of workers.

        Reads no data and does not move the source; keys are read if the index does not hold them. Takes one division
        if all sequences have one length and all minibatches one size, without buckets, epochs and equal steps, for a
        single worker or ``sharing="position"``. Otherwise the minibatches before it are planned: about 50 ns a
        sequence, for each worker if they share by chunk. Truncated minibatches are planned as if all sequences were
        as long as indexed.

        Parameters
        ----------
        step : int
            Number of the minibatch, counted from 0 at the start of the data, in a run with these sizes and this
            number of workers.
        minibatch_size_in_samples, epoch_size
            As for :meth:`minibatches`.
        num_data_partitions : int, optional
            Number of workers, by default that of the source, else 1.
        partition_index : int, optional
            The worker; by default the sequences of all workers.

        Raises
        ------
        UsageError
            The data end before.

        Examples
        --------
        >>> source = MinibatchSource.from_data(x=np.arange(12), randomize="global", max_sweeps=3)
        >>> source.which(4, 4).keys, [minibatch["x"].keys for minibatch in source.minibatches(4)][4]
        ([11, 0, 8, 2], [11, 0, 8, 2])
        """
        calls = self._calls(minibatch_size_in_samples, epoch_size, num_data_partitions, partition_index)
        sweep_end, sequences = self._source.which(step, calls)
        from .steps import PlannedSequence, PlannedStep

        return PlannedStep(step, sweep_end, [PlannedSequence(*parts) for parts in sequences])

    def where(
        self,
        key: int | str,
        sweep: int | None = None,
        minibatch_size_in_samples: int | Iterable[int | tuple[int, int]] | str | None = None,
        *,
        epoch_size: int | None = None,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
    ) -> list[KeyDelivery]:
        """Find the minibatches of a sweep, by default the current one, that hold the sequences with a key.

        The list is empty if the data end before, or `exclude_keys` names the key. Costs a pass over the order of the
        sweep and over all keys, in addition to the cost of :meth:`which` up to there. Other parameters are those of
        :meth:`which`.

        Raises
        ------
        UsageError
            No sequence has the key.

        Examples
        --------
        >>> source = MinibatchSource.from_data(x=np.arange(12), randomize="global", max_sweeps=3)
        >>> [(found.step, found.rank) for found in source.where(8, 1, 4)]
        [(4, 0)]
        """
        calls = self._calls(minibatch_size_in_samples, epoch_size, num_data_partitions, partition_index)
        from .steps import KeyDelivery

        return [KeyDelivery(*parts) for parts in self._source.where_is(str(key), sweep, calls)]

    def skip_to(
        self,
        step: int,
        minibatch_size_in_samples: int | Iterable[int | tuple[int, int]] | str | None = None,
        *,
        epoch_size: int | None = None,
        num_data_partitions: int | None = None,
        partition_index: int | None = None,
    ) -> None:
        """Go to the beginning of a minibatch, forwards or back, for example past those in which a loss diverged.

        The next minibatch is number `step`, and the state is that of a run that has delivered all before it, except
        for their faults: those of skipped sequences are not charged, and those charged so far stay. After a state of
        :func:`merge_states`, sequences that other workers had delivered are still left out, unless the step lies
        before that state. Parameters and costs are those of :meth:`which`; the share is by default that of the
        source. Truncated minibatches before the step are read, since the contents of rows depend on them, and their
        faults are charged.

        Raises
        ------
        UsageError
            The data end before; or several workers share by chunk and there is no `partition_index`. The source does not change.

        Examples
        --------
        >>> source = MinibatchSource.from_data(x=np.arange(12), max_sweeps=1)
        >>> source.skip_to(2, 4)
        >>> source.next_minibatch(4)["x"].keys
        [8, 9, 10, 11]
        """
        rank = self._share[1] if partition_index is None else partition_index
        self._source.skip_to(step, self._calls(minibatch_size_in_samples, epoch_size, num_data_partitions, rank))

    def _calls(
        self,
        sizes: int | Iterable[int | tuple[int, int]] | str | None,
        epoch_size: int | None,
        workers: int | None,
        rank: int | None,
    ) -> tuple[_tesson.Schedule, int, int, int | None]:
        """The arguments of a run's calls: sizes, by default those of the source, samples of an epoch if sizes need
        them, number of workers and rank."""
        schedule = self._source.default_sizes() if sizes is None else _schedule(sizes)
        epoch = 1 if schedule.constant() else self._epoch_samples(epoch_size)
        return schedule, epoch, (self._share[0] or 1) if workers is None else workers, rank

    def report(
        self,
        path: AnyPath | None = "report.html",
        *,
        minibatch_size_in_samples: int | None = None,
        num_data_partitions: int | None = None,
        all: bool = False,
    ) -> dict[str, Any]:
        """Write one page that shows the data and the order of a run, and return its figures.

        The page needs no other file, no script and no network. The source stays where it is: its data are opened anew.

        Parameters
        ----------
        path : path or None
            The page; an earlier file is replaced. None writes none.
        minibatch_size_in_samples : int, optional
            Samples of a minibatch, over all ranks.
        num_data_partitions : int, optional
            Number of ranks, by default that of the source.
        all : bool
            Look at every example instead of a sample, which is the same one each time.

        Examples
        --------
        >>> with MinibatchSource.from_data(x=np.arange(8, dtype=np.float32)) as source:
        ...     figures = source.report("x.html")
        >>> figures["card"]["examples"], figures["streams"][0]["max"]
        (8, 7.0)
        """
        return self._report(path, type(self).__name__, minibatch_size_in_samples or self._default_size(), num_data_partitions, all)

    def _report(self, path: AnyPath | None, shown: str, size: int, workers: int | None, all: bool) -> dict[str, Any]:
        # Few programs write reports, and importing it takes as long as the first batch.
        import json

        config, _, base_dir, by_keywords = self._arguments
        page = None if path is None else text_of(path)
        workers = workers or self._share[0] or 1
        figures: dict[str, Any] = json.loads(_tesson.report(resolved(config, base_dir), base_dir, by_keywords, page, shown, size, workers, all))
        return figures

    def stats(self) -> dict[str, int]:
        """Counters since the source was opened: minibatches, bytes, stalls, memory and others, by name."""
        return self._source.stats()

    def skip_failed(self) -> None:
        """Leave out a minibatch that failed with :class:`DataError` or :class:`StoreError`."""
        self._source.skip_failed()

    def close(self) -> None:
        """End all threads and close all files. Arrays stay valid; a read waiting in another thread ends with an error.

        Closing twice does nothing.
        """
        self._source.close()

    def __str__(self) -> str:
        streams = ", ".join(f"{s.name} {s.storage_format} {s.shape}" for s in self._streams.values())
        end = "no end" if self.is_infinite() else "an end"
        return f"<{type(self).__name__}: {streams}; {end}>"

    def __repr__(self) -> str:
        config, _, base_dir, _ = self._arguments
        place = "" if base_dir is None else f", base_dir={base_dir!r}"
        return f"MinibatchSource.from_config({config!r}{place})"


class MinibatchSourceFromData(MinibatchSource):
    """CNTK's source of data in memory: in their order, minibatches end with the sweep.

    Parameters
    ----------
    data_streams : mapping
        For each stream the data as for :meth:`MinibatchSource.from_data`, or a tuple of them and their type.
    max_samples : int
        Samples after which the data end.

    Examples
    --------
    >>> source = MinibatchSourceFromData({"x": np.arange(15).reshape(5, 3)})
    >>> [source.next_minibatch(3)["x"].num_samples for _ in range(3)]
    [3, 2, 3]
    """

    def __init__(self, data_streams: Mapping[str, Any], max_samples: int = INFINITELY_REPEAT) -> None:
        config = {
            "deserializers": [_section(MemoryDeserializer(data_streams))],
            "randomize": False,
            "crossSweepEnds": False,
            "maxSamples": max_samples,
        }
        self._open(config, {}, None)


def merge_states(states: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the states of all ranks into one, from which any number of workers can resume.

    Under ``sharing="chunk"`` each rank has its own position; the result records what all of them together have
    consumed. Under ``sharing="position"``, with a single worker and before the first minibatch all states are the
    same, and so is the result.

    Parameters
    ----------
    states : iterable of mapping
        One state of each rank, in any order.

    Raises
    ------
    ResumeError
        The states are not those of all ranks of one run.

    Examples
    --------
    >>> states = []
    >>> for rank in range(2):
    ...     with MinibatchSource.from_data(x=np.arange(8), randomize=True, max_sweeps=1) as source:
    ...         _ = source.next_minibatch(4, num_data_partitions=2, partition_index=rank)
    ...         states.append(source.get_checkpoint_state())
    >>> with MinibatchSource.from_data(x=np.arange(8), randomize=True, max_sweeps=1) as source:
    ...     source.restore_from_checkpoint(merge_states(states))
    ...     source.next_minibatch(8)["x"].num_samples
    4
    """
    if isinstance(states, (Mapping, str, bytes)) or not isinstance(states, Iterable):
        raise TypeError(f"found {type(states).__name__}, expected the states of all workers in a list")
    given = list(states)
    merged = _tesson.merge_states(given)
    # The field that a loop of `tesson.jax` adds after its last minibatch.
    return {**merged, "ended": True} if all(state.get("ended") for state in given) else merged


def _parts(deserializers: Any, following: Any) -> list[Deserializer | UserDeserializer]:
    """The deserializers of a source. A custom one need not be a :class:`UserDeserializer`, only look like it."""
    if isinstance(following, Deserializer) or hasattr(following, "get_chunk"):
        what = f"found {type(following).__name__} as max_samples, expected a number"
        raise TypeError(f"{what}; several deserializers are a list, MinibatchSource([first, second])")
    is_list = isinstance(deserializers, Iterable) and not isinstance(deserializers, (str, bytes, os.PathLike))
    one = isinstance(deserializers, Deserializer) or hasattr(deserializers, "get_chunk") or not is_list
    given = [deserializers] if one else list(deserializers)
    # Several streams of features are as many deserializers.
    parts = [part for several in given for part in getattr(several, "parts", [several])]
    for part in parts:
        if isinstance(part, type):
            raise TypeError(f"found the class {part.__name__}, expected a deserializer: {part.__name__}(…)")
        if not isinstance(part, Deserializer) and not hasattr(part, "get_chunk"):
            raise TypeError(
                f"found {type(part).__name__} {part!r}, "
                'expected a deserializer such as CTFDeserializer("train.ctf", StreamDefs(…))'
            )
    return parts


def _excluded(keys: Iterable[int | str] | AnyPath | None) -> list[int | str] | str | None:
    """Keys to leave out, or the file that holds them, in the form of a configuration."""
    if keys is None or isinstance(keys, (str, bytes, os.PathLike)):
        return optional_text_of(keys)
    if not isinstance(keys, Iterable):
        what = f"found {keys!r}, expected keys in a list, or the name of a file with one in each line"
        raise ConfigError(f"exclude_keys: {what}", path="exclude_keys")
    return list(keys)


def _check_options(streams: Mapping[str, Any]) -> None:
    """Refuse streams that are not data and have names close to those of options."""
    # Without `cls` and `self`.
    options = parameters_of(MinibatchSource.from_data)[1:]
    others = [name for name in parameters_of(MinibatchSource.__init__)[1:] if name not in options]
    for name, value in streams.items():
        if value is None or isinstance(value, (str, bool, int, float, os.PathLike)):
            if name in others:
                what = f"found {value!r}, expected data; that is an option of MinibatchSource, which data in memory do not have here"
                raise ConfigError(f"{name}: {what}; open MinibatchSource(tesson.memory.MemoryDeserializer(…), {name}=…)", path=name)
            if near := nearest_keyword(name, options):
                what = f"found {value!r}, expected data; did you mean the option `{near}`?"
                raise ConfigError(f"{name}: {what}", path=name)


def _transforms(
    parts: Sequence[Deserializer | UserDeserializer],
    further: Mapping[str, AnyTransform | Sequence[AnyTransform]],
) -> dict[str, list[AnyTransform]]:
    """The transforms of each stream: those of its definition, then those of the source."""
    known = [part for part in parts if isinstance(part, Deserializer)]
    all_of = {name: functions for part in known for name, functions in part._source_transforms.items()}
    if not isinstance(further, Mapping):
        what = f"found {further!r}, expected the transforms of each stream by its name, such as {{'x': [function]}}"
        raise ConfigError(f"transforms: {what}", path="transforms")
    for name, given in further.items():
        functions = [given] if _is_transform(given) else given
        if not isinstance(functions, Sequence) or not all(map(_is_transform, functions)):
            what = f"found {given!r}, expected a function, a UserTransform or a list of them"
            raise ConfigError(f"transforms.{name}: {what}", path=f"transforms.{name}")
        all_of[name] = [*all_of.get(name, []), *functions]
    for name, stream in (item for part in known for item in part.streams.items()):
        functions = all_of.get(name, [])
        if functions and callable(functions[0]) and stream.shape is not None and len(stream.shape) != 1:
            # Files know a number of values only; the function takes the shape that was defined.
            functions[0] = as_transform(functions[0]).taking(stream.shape)
    return {name: functions for name, functions in all_of.items() if functions}


def _is_transform(value: Any) -> bool:
    """True if a value is one transform and not several: a function, or a section that names one."""
    return callable(value) or isinstance(value, Mapping)


def _shares(world: Any, workers: int | None, rank: int | None) -> tuple[int, int]:
    """Number of workers and rank of a world, which replaces the two."""
    if workers is not None or rank is not None:
        raise ConfigError("world: num_data_partitions and partition_index say the same; give one or the other")
    found = resolve_world(world)
    return found.size, found.rank


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options among the arguments of a source that are not as by default, under their names in configurations."""
    defaults = defaults_of(MinibatchSource.__init__)
    keywords = {camel_case(name): name for name in defaults}

    def is_default(value: Any, default: Any) -> bool:
        # 0 is no False: it may be refused.
        return value is default or (type(value) is type(default) and bool(value == default))

    given = {}
    for row in _tesson.option_table(""):
        keyword = next((keywords[name] for name in (row["name"], *row["aliases"]) if name in keywords), None)
        if keyword is not None and not is_default(arguments[keyword], defaults[keyword]):
            value = arguments[keyword]
            given[row["name"]] = optional_text_of(value) if row["kind"] == "path" else value
    return given


def _section(part: Deserializer | UserDeserializer) -> dict[str, Any]:
    """A deserializer as a section of a configuration."""
    if isinstance(part, Deserializer):
        return part.config
    section = {"type": "UserDeserializer", "instance": part}
    return section | {"composable": True} if getattr(part, "composable", False) else section


def _precision(dtype: DTypeLike) -> str:
    """A type's name in configurations, which refuse types that are not floating-point."""
    names = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
    # CNTK's spelling of float32, which NumPy takes for float64.
    if isinstance(dtype, str) and dtype == "float":
        return "float"
    try:
        return names.get(np.dtype(dtype), str(dtype))
    except TypeError:
        return str(dtype)


def _schedule(sizes: int | Iterable[int | tuple[int, int]] | str) -> _tesson.Schedule:
    """A schedule from any of its spellings."""
    try:
        if isinstance(sizes, str):
            return _tesson.Schedule.parse(sizes)
        # CNTK's pairs are (epochs, size).
        listed = [sizes] if not isinstance(sizes, Iterable) else list(sizes)
        runs = [(size, epochs) for epochs, size in (s if isinstance(s, tuple) else (1, s) for s in listed)]
        return _tesson.Schedule(runs)
    except (TypeError, OverflowError, ValueError) as e:
        if isinstance(e, ConfigError):
            # The size of a call is none of the configuration.
            e.args = (str(e).replace(e.path, "minibatch_size_in_samples", 1),)
            e.path = "minibatch_size_in_samples"
            raise
        expected = "a size, a list of sizes or of pairs (epochs, size), or a text such as '128*2:1024'"
        raise UsageError(f"minibatch_size_in_samples: found {sizes!r}, expected {expected}") from None
