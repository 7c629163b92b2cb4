"""Custom sources: minibatches that a user's Python code makes."""

from __future__ import annotations

import functools
import inspect
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from .minibatch import MinibatchData
from .source_base import Source
from .streams import StreamInformation, Streams

__all__ = ["UserMinibatchSource"]


class GivenMinibatch(Mapping[Any, MinibatchData]):
    """A minibatch that a user's code has made: looked up by name or :class:`StreamInformation`, false if there is no data."""

    def __init__(
        self,
        data: Mapping[Any, MinibatchData],
        streams: Mapping[Hashable, str],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> None:
        named = {getattr(key, "name", key): value for key, value in data.items()}
        # A value alone does not say which of its axes are those of a sample.
        self._data = {name: value.reshaped(shapes.get(name, value.sample_shape)) for name, value in named.items()}
        #: Every key that is understood beside the names, and the stream's name.
        self._streams = streams

    def __getitem__(self, key: Any) -> MinibatchData:
        return self._data[self._streams.get(key, getattr(key, "name", key))]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._streams or self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"Minibatch({self._data!r})"


class UserMinibatchSource(Source):
    """The base of sources that are written in Python, as in CNTK, to be used in place of a :class:`MinibatchSource`.

    A subclass has ``stream_infos()`` and ``next_minibatch(num_samples, number_of_workers, worker_rank,
    device=None)``, which returns a mapping from :class:`StreamInformation` (or names) to :class:`MinibatchData`,
    empty at the end of the data. If it defines ``get_checkpoint_state()`` and ``restore_from_checkpoint(state)`` it
    can be resumed; otherwise it refuses every state that is not empty.

    A caller may call ``next_minibatch`` as that of a :class:`MinibatchSource`, or as CNTK does; the arguments are
    brought into the order above.

    Examples
    --------
    >>> class Zeros(UserMinibatchSource):
    ...     def stream_infos(self):
    ...         return [StreamInformation("x", 0, "dense", np.float32, (2,))]
    ...     def next_minibatch(self, num_samples, number_of_workers, worker_rank, device=None):
    ...         n = num_samples // number_of_workers
    ...         return {self.streams.x: MinibatchData(np.zeros((n, 2)), n, n, False)}
    >>> Zeros().next_minibatch(6, num_data_partitions=2, partition_index=0)["x"].samples.shape
    (3, 2)
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = cls.__dict__.get("next_minibatch")
        if own is not None:
            cls.next_minibatch = _called_either_way(own)  # type: ignore[method-assign]

    @abstractmethod
    def stream_infos(self) -> Sequence[StreamInformation]:
        """The streams, in order."""

    @abstractmethod
    def next_minibatch(self, *arguments: Any, **keywords: Any) -> Mapping[Any, MinibatchData]:
        """Make the next minibatch.

        Parameters
        ----------
        num_samples : int
            Samples over all workers.
        number_of_workers, worker_rank : int
            Number of workers and which share to return.
        device : object
            The caller's argument, or None.
        """

    @property
    def streams(self) -> Streams:
        """The streams, by name and as attributes: ``source.streams.features``."""
        return Streams({stream.name: stream for stream in self.stream_infos()})

    def is_infinite(self) -> bool:
        """True if the data never end: the default, as in CNTK; a subclass may override it."""
        return True

    def get_checkpoint_state(self) -> dict[str, Any]:
        """The state after the last minibatch delivered; empty unless a subclass has one."""
        return {}

    def restore_from_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        """Resume from a state.

        Raises
        ------
        NotImplementedError
            The state is not empty, and the subclass does not override this method.
        """
        if checkpoint:
            name = type(self).__name__
            raise NotImplementedError(
                f"{name} cannot resume from {dict(checkpoint)!r}: it has no restore_from_checkpoint(checkpoint) of its own; "
                "implement it beside get_checkpoint_state()"
            )

    def minibatches(
        self,
        minibatch_size_in_samples: int = 256,
        input_map: Mapping[Any, StreamInformation | str] | None = None,
        *,
        sweeps: int | None = None,
        **share: Any,
    ) -> Iterator[Mapping[Any, MinibatchData]]:
        """Iterate over minibatches of one size, to the end of the data; of a source without an end, to the end of the sweep.

        `sweeps` is as for :meth:`MinibatchSource.minibatches`; a sweep ends where a stream's ``sweep_end`` is true.
        """
        left = math.inf if sweeps is None and not self.is_infinite() else 1 if sweeps is None else sweeps
        while left > 0 and (minibatch := self.next_minibatch(minibatch_size_in_samples, input_map, **share)):
            left -= any(data.end_of_sweep for data in minibatch.values())
            yield minibatch


def _called_either_way(own: Callable[..., Any]) -> Callable[..., GivenMinibatch]:
    """A user's ``next_minibatch``, which takes the arguments of a source's or of CNTK's."""
    taken = inspect.signature(own).parameters
    variable = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in taken.values())
    room = 4 if variable else len(taken) - 1

    @functools.wraps(own)
    def next_minibatch(
        self: UserMinibatchSource,
        minibatch_size_in_samples: int | None = None,
        input_map: Any = None,
        device: Any = None,
        num_data_partitions: Any = None,
        partition_index: int | None = None,
        **theirs: Any,
    ) -> GivenMinibatch:
        samples = theirs.pop("num_samples", minibatch_size_in_samples)
        workers, rank = theirs.pop("number_of_workers", num_data_partitions), theirs.pop("worker_rank", partition_index)
        if isinstance(input_map, int):
            # CNTK's order: samples, workers, rank, device.
            workers, rank, input_map, device = input_map, device, None, num_data_partitions
        if theirs:
            raise TypeError(f"next_minibatch() got an unexpected keyword argument {next(iter(theirs))!r}")
        arguments = (samples, 1 if workers is None else workers, 0 if rank is None else rank, device)
        data = own(self, *arguments[:room])
        names = {key: getattr(stream, "name", stream) for key, stream in (input_map or {}).items()}
        shapes = {stream.name: stream.shape for stream in self.stream_infos()}
        return GivenMinibatch(data, names, shapes)

    return next_minibatch
