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
    """What stands for a field that is left out, where ``None`` says something else."""

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = _Missing()


@suggests_keywords
@dataclass
class ReadConfig:
    """How a split is read.

    Parameters
    ----------
    add_tfds_id : bool
        Each example has ``"tfds_id"``: its file, and its number in that, as bytes.
    shuffle_seed : int, optional
        The seed of the file shuffle. Without it, :func:`set_random_seed` decides, or chance.
    shuffle_reshuffle_each_iteration : bool, optional
        Whether each iteration shuffles files anew; ``None`` is the same as true.
    interleave_cycle_length : int, optional
        Files that are read in turns; left out it is 16, or 1 for datasets whose order means something. ``None`` and -1, by
        which TensorFlow chooses as the machine pleases, are refused.
    interleave_block_length : int, optional
        Examples of a turn.
    input_context : InputContext, optional
        This pipeline among several that share the files.
    experimental_interleave_sort_fn : callable, optional
        Takes the list of :class:`FileInstruction` and gives back the ones to read, in their order; ``replace`` changes what is
        read of one.
    repeat_filenames : bool
        Files are read again and again.
    enable_ordering_guard : bool
        Whether datasets whose order means something refuse to be shuffled.
    assert_cardinality : bool
        Whether the files must hold as many examples as the dataset says.
    file_format : str, optional
        Which of the formats that there are is read.
    lazy : bool
        Whether missing files are told where they are reached, as in TFDS, and not all of them at the beginning.
    options, try_autocache, skip_prefetch, num_parallel_calls_for_decode, num_parallel_calls_for_interleave_files,
    override_buffer_size
        Accepted, and without effect: nothing of it changes examples or their order.
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
        """The same but for some fields."""
        return dataclasses.replace(self, **changes)

    def to_json(self, plan: Callable[[], list[FileInstruction]]) -> dict[str, Any]:
        """The form that is understood below; ``plan`` gives what the sort function takes."""
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
