"""Immutable objects that are equal if their fields are."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, ClassVar, Never

__all__ = ["Value"]


class Value:
    """A base of immutable classes: what a class annotates are its fields, which `_become` sets.

    The standard library's ``dataclasses`` write these methods as text and compile them for each class: with what they import
    this took more time than opening a file and reading its first minibatch.
    """

    #: The names of a class's fields, those of them that ``repr`` leaves out, and what gets the values of all.
    _fields: ClassVar[tuple[str, ...]] = ()
    _unshown: ClassVar[frozenset[str]] = frozenset()
    _values: ClassVar[attrgetter[Any]]

    def __init_subclass__(cls, unshown: Iterable[str] = (), **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        cls._fields = (*cls._fields, *cls.__annotations__)
        cls._unshown = cls._unshown.union(unshown)
        cls._values = attrgetter(*cls._fields)

    def _become(self, **fields: Any) -> None:
        """Set all fields; for constructors."""
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"cannot assign to field {name!r}", name=name, obj=self)

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"cannot delete field {name!r}", name=name, obj=self)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self._values(self) == self._values(other))

    def __hash__(self) -> int:
        return hash(self._values(self))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._fields if name not in self._unshown)
        return f"{type(self).__qualname__}({', '.join(shown)})"
