"""Elements: dictionaries and tuples, nested at will, of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..values import NestedDataset, Ragged

Keys = tuple[Any, ...]
"""The keys and places that lead from an element to one of its values."""


@dataclass(frozen=True)
class TensorSpec:
    """Shape (``None`` for dimensions that are not fixed) and type of arrays or scalars; ``"string"`` are ``bytes``."""

    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class RaggedTensorSpec:
    """Shape and type of a :class:`Ragged`; of its dimensions after the first, ``ragged_rank`` differ from row to row."""

    shape: tuple[int | None, ...]
    dtype: str
    ragged_rank: int


@dataclass(frozen=True)
class DatasetSpec:
    """A :class:`NestedDataset`, by the structure of its elements."""

    element_spec: Any


def children(element: Any) -> dict[Any, Any] | None:
    """The members of a structure by key or place; ``None`` of a value."""
    if isinstance(element, dict):
        return element
    if isinstance(element, tuple):
        return dict(enumerate(element))
    return None


def like(element: Any, members: dict[Any, Any]) -> Any:
    """Members put together as those of an element are."""
    if isinstance(element, dict):
        return {key: members[key] for key in element}
    values = [members[i] for i in range(len(element))]
    return type(element)(*values) if hasattr(element, "_fields") else tuple(values)


def map_values(function: Callable[[Any], Any], element: Any) -> Any:
    """A structure with each value replaced by the function's result."""
    members = children(element)
    if members is None:
        return function(element)
    return like(element, {key: map_values(function, of) for key, of in members.items()})


def values(element: Any) -> Iterator[Any]:
    """All values of a structure."""
    members = children(element)
    if members is None:
        yield element
        return
    for of in members.values():
        yield from values(of)


def shown(keys: Keys) -> str:
    """The keys from an element to one of its values, for errors."""
    return "".join(f"[{key!r}]" for key in keys) or "values"


def together(function: Callable[[list[Any], Keys], Any], elements: list[Any], keys: Keys = ()) -> Any:
    """One structure with the function's results for the values of all elements at the same keys."""
    first = children(elements[0])
    rest = [children(element) for element in elements]
    for i, members in enumerate(rest):
        if (members is None) != (first is None) or (members and first and members.keys() != first.keys()):
            raise ValueError(
                f"{shown(keys)}: elements differ in structure, the first is {outline(elements[0])}, "
                f"element {i} is {outline(elements[i])}"
            )
    if first is None:
        return function(elements, keys)
    found = {}
    for key in first:
        found[key] = together(function, [members[key] for members in rest if members is not None], (*keys, key))
    return like(elements[0], found)


def outline(element: Any) -> str:
    """A structure in a few words."""
    if isinstance(element, dict):
        return "a dictionary of " + (", ".join(map(repr, element)) or "nothing")
    return f"a tuple of {len(element)}" if isinstance(element, tuple) else f"a value of type {type(element).__name__}"


def call(function: Callable[..., Any], element: Any) -> Any:
    """Calls a user's function: as in tf.data, a tuple's members are its arguments."""
    return function(*element) if type(element) is tuple else function(element)


def array(value: Any) -> np.ndarray:
    """A value as an array; byte strings and texts have dtype ``object``."""
    if isinstance(value, (bytes, str)):
        scalar = np.empty((), object)
        scalar[()] = value
        return scalar
    found: np.ndarray = np.asanyarray(value)
    return found.astype(object) if found.dtype.kind in "SU" else found


def is_list_like(value: Any) -> bool:
    """True if values of batches are lists, since no array can hold them."""
    return isinstance(value, (Ragged, NestedDataset))


def spec_of(element: Any) -> Any:
    """The spec of elements like this one: which dimensions others share is not known."""

    def of_value(value: Any) -> Any:
        if isinstance(value, Ragged):
            levels, dtype = len(value.row_lengths), type_name(value.values)
            return RaggedTensorSpec((None,) * (levels + value.values.ndim), dtype, levels)
        if isinstance(value, NestedDataset):
            return DatasetSpec(spec_of(value[0]) if len(value) else None)
        found = array(value)
        return TensorSpec((None,) * found.ndim, type_name(found))

    return map_values(of_value, element)


def type_name(of: np.ndarray) -> str:
    """The name of an array's type."""
    return "string" if of.dtype == object else of.dtype.name


def batched(spec: Any, size: int | None) -> Any:
    """The spec of batches, of one ``size`` if all have it."""

    def of_value(of: Any) -> Any:
        match of:
            case TensorSpec():
                return TensorSpec((size, *of.shape), of.dtype)
            case RaggedTensorSpec():
                return RaggedTensorSpec((size, *of.shape), of.dtype, of.ragged_rank + 1)
            case _:
                return of

    return map_values(of_value, spec)
