"""The schema of a dataset: what its batches hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .keywords import nearest_keyword
from .values import Value

__all__ = ["Field", "Schema"]


class Field(Value):
    """One stream of a dataset."""

    #: Its name.
    name: str
    #: Its number among the streams.
    number: int
    #: The type of its values.
    dtype: np.dtype[Any]
    #: The shape of a sample, or of a sparse one the number of columns.
    shape: tuple[int, ...]
    #: True if samples are pairs of column and value, in batches a :class:`~tesson.batch.Sparse`.
    is_sparse: bool
    #: True if examples may have any number of samples, in batches a :class:`~tesson.batch.Ragged`.
    is_ragged: bool
    #: True if the loader cuts examples into pieces, in batches a :class:`~tesson.batch.Pieces`.
    is_cut: bool
    #: The names of the classes that its values number, if the data have names.
    classes: tuple[str, ...]
    #: What its whole numbers count, if the data say so: ``"date[day]"``, ``"timestamp[us, UTC]"``, ``"duration[ms]"``, or
    #: ``"decimal(10, 2)"`` for numbers of 10 digits, the last 2 of them behind the point.
    unit: str | None

    def __init__(
        self,
        name: str,
        number: int,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        is_sparse: bool = False,
        is_ragged: bool = False,
        is_cut: bool = False,
        classes: tuple[str, ...] = (),
        unit: str | None = None,
    ) -> None:
        self._become(
            name=name, number=number, dtype=dtype, shape=shape, is_sparse=is_sparse, is_ragged=is_ragged, is_cut=is_cut, classes=classes,
            unit=unit,
        )

    @property
    def type(self) -> str:
        """Type, shape and unit in a few words, such as ``float32 [28, 28]``, ``ragged int64 []`` or ``int64 [] timestamp[us, UTC]``."""
        words = [("pieces", self.is_cut), ("ragged", self.is_ragged and not self.is_cut), ("sparse", self.is_sparse)]
        unit = [] if self.unit is None else [self.unit]
        return " ".join([*(word for word, holds in words if holds), self.dtype.name, str(list(self.shape)), *unit])

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


class Schema(Mapping[str, Field]):
    """The streams of a dataset, by name and in order."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self._fields = dict(fields)

    def __getitem__(self, name: str) -> Field:
        field = self._fields.get(name)
        if field is None:
            near = nearest_keyword(name, list(self._fields)) if isinstance(name, str) else None
            remedy = f"did you mean {near!r}?" if near else f"there are {', '.join(map(repr, self._fields))}"
            raise KeyError(f"no stream {name!r}; {remedy}")
        return field

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Schema({', '.join(map(str, self._fields.values()))})"
