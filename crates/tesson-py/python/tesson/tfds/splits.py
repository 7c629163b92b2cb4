"""Splits as objects: slices by number, percent or shard, even shares, sums.

Every argument for a split also accepts a string: ``"train[67%:84%]+test"``.
"""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .. import _tesson


class Split(str):
    """The names that splits usually have: ``tfds.Split.TRAIN`` is ``"train"``."""

    __slots__ = ()

    TRAIN: Split
    VALIDATION: Split
    TEST: Split
    ALL: Split

    def __repr__(self) -> str:
        return f"Split({str(self)!r})"


Split.TRAIN, Split.VALIDATION, Split.TEST = Split("train"), Split("validation"), Split("test")
Split.ALL = Split("all")


class _Split(ABC):
    """The base of splits: they can be added."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""

    def __add__(self, other: Any) -> SumOfSplits:
        return SumOfSplits([self, other])

    def __radd__(self, other: Any) -> SumOfSplits:
        return SumOfSplits([other, self])


SplitLike: TypeAlias = str | _Split
"""Any form of a split: ``"train[67%:84%]"``, ``tfds.Split.TRAIN``, a :class:`ReadInstruction`, a share, a sum."""


def to_json(split: Any) -> Any:
    """The form of a split that is understood below."""
    if isinstance(split, str):
        return str(split)
    if isinstance(split, os.PathLike):
        raise TypeError(f"found the path {os.fspath(split)!r}, expected a split such as 'train'")
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
        The unit of the bounds: examples, percent, or shards.
    rounding : {"closest", "pct1_dropremainder"}
        The rounding of percents to examples.
    """

    split_name: str
    from_: int | float | None = None
    to: int | float | None = None
    unit: Literal["abs", "%", "shard"] | None = "abs"
    rounding: Literal["closest", "pct1_dropremainder"] | None = "closest"

    def __post_init__(self) -> None:
        # Leaving a field out is `None` in many scripts.
        object.__setattr__(self, "unit", self.unit or "abs")
        object.__setattr__(self, "rounding", self.rounding or "closest")
        # A slice that is invalid for every dataset is refused here, not when it is read.
        _tesson.check_split(self.to_json())

    @staticmethod
    def from_spec(spec: SplitLike) -> _Split:
        """Parse a string such as ``"train[:20%]+test"``; objects are returned unchanged.

        >>> ReadInstruction.from_spec("train[:20%]")
        ReadInstruction(split_name='train', from_=None, to=20.0, unit='%', rounding='closest')
        """
        return _of_spec(_tesson.parse_split(spec)) if isinstance(spec, str) else spec

    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""
        fields = {"split_name": self.split_name, "from": self.from_, "to": self.to}
        return {"read_instruction": {**fields, "unit": self.unit, "rounding": self.rounding}}

    def __str__(self) -> str:
        if self.from_ is None and self.to is None:
            return self.split_name
        bounds = ":".join("" if bound is None else f"{bound:g}" for bound in (self.from_, self.to))
        return f"{self.split_name}[{bounds}{'' if self.unit == 'abs' else self.unit}]"


@dataclass(frozen=True)
class EvenSplit(_Split):
    """One of several shares of a split, made by :func:`even_splits`."""

    split: Any
    n: int
    index: int
    drop_remainder: bool = False

    def __str__(self) -> str:
        return f"even_splits({self.split!s}, n={self.n})[{self.index}]"

    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""
        fields = {"split": to_json(self.split), "n": self.n, "index": self.index}
        return {"even_splits": {**fields, "drop_remainder": self.drop_remainder}}


@dataclass(frozen=True)
class SumOfSplits(_Split):
    """Several splits, one after the other."""

    parts: list[Any]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))

    def to_json(self) -> dict[str, Any]:
        """The form that is understood below."""
        return {"add": [to_json(part) for part in self.parts]}


def _of_spec(spec: Any) -> _Split:
    """The objects for a string that the native half has parsed."""
    match spec:
        case {"read_instruction": fields}:
            return ReadInstruction(**{"from_" if name == "from" else name: of for name, of in fields.items()})
        case {"add": parts}:
            return SumOfSplits([part if isinstance(part, str) else _of_spec(part) for part in parts])
        case _:
            return SumOfSplits([spec])


def even_splits(split: Any, n: int, *, drop_remainder: bool = False) -> list[EvenSplit]:
    """Divide a split into shares.

    The sizes of shares differ by one at most; with ``drop_remainder`` they are equal, and the remaining examples are in none.
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

    If JAX is not installed and the arguments are missing, there is one process, and its share is everything.
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
