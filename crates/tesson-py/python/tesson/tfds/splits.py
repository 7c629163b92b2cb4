"""Splits as objects: slices by number, percent or shard, even shares, sums.

Wherever a split is asked for, a string does as well: ``"train[67%:84%]+test"``.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


class _Split(ABC):
    """What splits have in common: they add."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""

    def __add__(self, other: Any) -> SumOfSplits:
        return SumOfSplits([self, other])

    def __radd__(self, other: Any) -> SumOfSplits:
        return SumOfSplits([other, self])


def to_json(split: Any) -> Any:
    """The form of a split that is understood below."""
    if isinstance(split, str):
        return split
    if isinstance(split, _Split):
        return split.to_json()
    raise TypeError(f"found {split!r}, expected a split: a string, ReadInstruction, or what even_splits gives")


@dataclass(frozen=True)
class ReadInstruction(_Split):
    """A slice of a split.

    Parameters
    ----------
    split_name : str
        The split.
    from_, to : int, optional
        The bounds; negative ones count from the end.
    unit : {"abs", "%", "shard"}
        What the bounds count: examples, percent, or shards.
    rounding : {"closest", "pct1_dropremainder"}
        How percents become examples.
    """

    split_name: str
    from_: int | float | None = None
    to: int | float | None = None
    unit: str = "abs"
    rounding: str = "closest"

    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""
        fields = {"split_name": self.split_name, "from": self.from_, "to": self.to}
        return {"read_instruction": {**fields, "unit": self.unit, "rounding": self.rounding}}


@dataclass(frozen=True)
class EvenSplit(_Split):
    """One of several shares of a split, as :func:`even_splits` gives them."""

    split: Any
    n: int
    index: int
    drop_remainder: bool = False

    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""
        fields = {"split": to_json(self.split), "n": self.n, "index": self.index}
        return {"even_splits": {**fields, "drop_remainder": self.drop_remainder}}


@dataclass(frozen=True)
class SumOfSplits(_Split):
    """Several splits, one after the other."""

    parts: list[Any]

    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""
        return {"add": [to_json(part) for part in self.parts]}


def even_splits(split: Any, n: int, *, drop_remainder: bool = False) -> list[EvenSplit]:
    """Share a split.

    The shares' sizes differ by one at most; with ``drop_remainder`` they are the same, and the examples left over are in none.
    """
    if n < 1:
        raise ValueError(f"found n={n}, expected at least one share")
    return [EvenSplit(split, n, index, drop_remainder) for index in range(n)]


def split_for_jax_process(
    split: Any,
    *,
    process_index: int | None = None,
    process_count: int | None = None,
    drop_remainder: bool = False,
) -> EvenSplit:
    """The share of one of several processes: by default of this one, as JAX counts them.

    Where JAX is not installed and nothing is said, there is one process, and the share is everything.
    """
    index, count = _jax_process() if process_index is None or process_count is None else (0, 1)
    index = index if process_index is None else process_index
    count = count if process_count is None else process_count
    return even_splits(split, count, drop_remainder=drop_remainder)[index]


def _jax_process() -> tuple[int, int]:
    """The number of this process, and how many there are."""
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        return 0, 1
    return jax.process_index(), jax.process_count()
