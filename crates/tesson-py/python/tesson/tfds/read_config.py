"""How a split is read: the fields of TFDS' ``ReadConfig`` that change examples or their order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..keywords import suggests_keywords
from .info import FileInstruction


@dataclass(frozen=True)
class InputContext:
    """One of several pipelines that share the files among them."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0


class _Missing:
    """The value of a field that is left out, if ``None`` has another meaning."""

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = _Missing()


@suggests_keywords
@dataclass
class ReadConfig:
    """The options for reading a split.

    Parameters
    ----------
    add_tfds_id : bool
        True if each example has ``"tfds_id"``: its file, and its number there, as bytes.
    shuffle_seed : int, optional
        The seed of the file shuffle. Without it the seed is drawn from that of :func:`set_random_seed`, or at random.
    shuffle_reshuffle_each_iteration : bool, optional
        True if each iteration shuffles the files again; ``None`` is the same as true.
    interleave_cycle_length : int, optional
        The number of files that are read in turns; by default 16, or 1 for datasets with a meaningful order. ``None``
        and -1, with which TensorFlow chooses by the machine, are refused.
    interleave_block_length : int, optional
        The number of examples in a turn.
    input_context : InputContext, optional
        This pipeline among several that share the files.
    experimental_interleave_sort_fn : callable, optional
        A function that takes the list of :class:`FileInstruction` and returns the ones to read, in their order;
        ``replace`` changes the range that is read of one.
    repeat_filenames : bool
        True if files are repeated without end.
    enable_ordering_guard : bool
        True if datasets with a meaningful order refuse to be shuffled.
    assert_cardinality : bool
        True if the files must hold as many examples as the dataset declares.
    file_format : str, optional
        The format to read, if there are several.
    lazy : bool
        ``True``: missing files are reported when they are reached, as in TFDS; ``False``: all of them at the beginning.
    options, try_autocache, skip_prefetch, num_parallel_calls_for_decode, num_parallel_calls_for_interleave_files,
    override_buffer_size
        Accepted and ignored: they change neither examples nor their order.
    """

    options: Any = None
    try_autocache: bool = True
    repeat_filenames: bool = False
    add_tfds_id: bool = False
    shuffle_seed: int | None = None
    shuffle_reshuffle_each_iteration: bool | None = None
    interleave_cycle_length: int | None | _Missing = MISSING
    interleave_block_length: int | None = 16
    input_context: InputContext | None = None
    experimental_interleave_sort_fn: Callable[[list[FileInstruction]], Sequence[FileInstruction]] | None = None
    skip_prefetch: bool = False
    num_parallel_calls_for_decode: int | None = None
    num_parallel_calls_for_interleave_files: int | None = None
    enable_ordering_guard: bool = True
    assert_cardinality: bool = True
    override_buffer_size: int | None = None
    file_format: str | None = None
    lazy: bool = False

    def replace(self, **changes: Any) -> ReadConfig:
        """A copy with some fields replaced."""
        return dataclasses.replace(self, **changes)

    def to_json(self, plan: Callable[[], list[FileInstruction]]) -> dict[str, Any]:
        """The form of the native half; ``plan`` returns the argument of the sort function."""
        fields: dict[str, Any] = {
            "repeat_filenames": self.repeat_filenames,
            "add_tfds_id": self.add_tfds_id,
            "shuffle_seed": self.shuffle_seed,
            "interleave_block_length": self.interleave_block_length,
            "enable_ordering_guard": self.enable_ordering_guard,
            "assert_cardinality": self.assert_cardinality,
            "lazy": self.lazy,
        }
        if self.shuffle_reshuffle_each_iteration is not None:
            fields["shuffle_reshuffle_each_iteration"] = self.shuffle_reshuffle_each_iteration
        if self.interleave_cycle_length is not MISSING:
            fields["interleave_cycle_length"] = self.interleave_cycle_length
        if self.input_context is not None:
            fields["input_context"] = dataclasses.asdict(self.input_context)
        if self.experimental_interleave_sort_fn is not None:
            files = plan()
            chosen = self.experimental_interleave_sort_fn(list(files))
            fields["interleave_sort"] = [[_place(file, files), file.skip, file.take] for file in chosen]
        return fields


def _place(file: FileInstruction, plan: list[FileInstruction]) -> int:
    """Which file of the plan it is."""
    if file.position is not None:
        return file.position
    for place, known in enumerate(plan):
        if known.filename == file.filename:
            return place
    raise ValueError(f"the sort function gives {file.filename!r}, which is no file of the split")
