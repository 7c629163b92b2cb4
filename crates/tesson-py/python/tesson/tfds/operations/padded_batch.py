"""``padded_batch``: consecutive elements stacked into one, padded where they differ in shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .batch import Batch, BatchIterator, arrays_of
from .node import Node, Traversal
from .structure import Keys, TensorSpec, children, is_list_like, like, shown


class PaddedBatch(Batch):
    """Consecutive elements stacked into arrays, padded at their ends to one shape.

    Ragged features and nested datasets are lists with a value for each element.
    """

    name = "padded_batch"
    pads = True

    def __init__(
        self, input: Node, batch_size: int, padded_shapes: Any = None, padding_values: Any = None, drop_remainder: bool = False
    ) -> None:
        super().__init__(input, batch_size, drop_remainder)
        self.padded_shapes: Any = padded_shapes
        self.padding_values: Any = padding_values

    def begin(self) -> Traversal[Any]:
        is_plain = self.padded_shapes is None and self.padding_values is None
        return (self._made_of_examples() if is_plain else None) or BatchIterator(self, self._padded)

    def element_spec(self) -> Any:
        """The padded dimensions are known if they are fixed or were set."""

        def of_value(spec: Any, keys: Keys) -> Any:
            members = children(spec)
            if members is not None:
                return like(spec, {key: of_value(of, (*keys, key)) for key, of in members.items()})
            if not isinstance(spec, TensorSpec):
                return spec
            given = _given(self.padded_shapes, keys, _is_shape)
            rows = spec.shape[:1]
            shape = spec.shape[1:] if given is None else tuple(None if d in (None, -1) else int(d) for d in given)
            return TensorSpec((*rows, *shape), spec.dtype)

        return of_value(super().element_spec(), ())

    def _padded(self, found: list[Any], keys: Keys) -> Any:
        if is_list_like(found[0]):
            return list(found)
        arrays = arrays_of(found, keys)
        shape = self._shape(arrays, keys)
        result = np.full((len(arrays), *shape), self._value(arrays[0].dtype, keys), arrays[0].dtype)
        for row, of in enumerate(arrays):
            corner: tuple[int | slice, ...] = (row, *(slice(n) for n in of.shape))
            result[corner] = of
        return result

    def _shape(self, arrays: list[np.ndarray], keys: Keys) -> tuple[int, ...]:
        """The shape to which arrays are padded: in each dimension that is not set the longest."""
        if len({of.ndim for of in arrays}) > 1:
            raise ValueError(f"{shown(keys)}: elements have {sorted({of.ndim for of in arrays})} dimensions, expected one number")
        longest = tuple(max(of.shape[d] for of in arrays) for d in range(arrays[0].ndim))
        given = _given(self.padded_shapes, keys, _is_shape)
        if given is None:
            return longest
        if len(given) != len(longest):
            raise ValueError(f"{shown(keys)}: padded_shapes names {len(given)} dimensions, elements have {len(longest)}")
        shape = tuple(n if d in (None, -1) else int(d) for d, n in zip(given, longest, strict=True))
        if any(d < n for d, n in zip(shape, longest, strict=True)):
            raise ValueError(
                f"{shown(keys)}: an element of the batch reaches {list(longest)}, padded_shapes says {list(given)}; use "
                "None for dimensions of any length"
            )
        return shape

    def _value(self, dtype: np.dtype[Any], keys: Keys) -> Any:
        """The value with which arrays are padded."""
        value = _given(self.padding_values, keys, lambda of: not isinstance(of, (Mapping, tuple)))
        if value is None:
            return b"" if dtype == object else np.zeros((), dtype)[()]
        if dtype == object:
            fits = isinstance(value, (bytes, str))
        else:
            cast = np.asarray(value)
            fits = cast.shape == () and cast.dtype.kind in "biufc" and cast.astype(dtype) == cast
        if not fits:
            raise TypeError(f"{shown(keys)}: padding value {value!r} is none of type {'string' if dtype == object else dtype}")
        return value

    def arguments(self) -> str:
        given = {"padded_shapes": self.padded_shapes, "padding_values": self.padding_values}
        named = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return ", ".join([super().arguments(), *named])


def _is_shape(of: Any) -> bool:
    return isinstance(of, (list, tuple)) and all(d is None or isinstance(d, (int, np.integer)) for d in of)


def _given(tree: Any, keys: Keys, is_leaf: Callable[[Any], bool]) -> Any:
    """The option for a value: one for all, or the one at the same position of a structure."""
    for key in keys:
        if tree is None or is_leaf(tree):
            return tree
        members = children(tree)
        if members is None or key not in members:
            raise ValueError(f"found {tree!r}, expected the structure of the elements: there is nothing for {key!r}")
        tree = members[key]
    if tree is not None and not is_leaf(tree):
        raise ValueError(f"{shown(keys)}: found {tree!r}, expected one option for one value")
    return tree
