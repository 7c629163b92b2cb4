"""Misspelt keyword arguments: a ``TypeError`` that names the keyword which was probably meant."""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

from . import _tesson

__all__ = ["nearest_keyword", "suggests_keywords"]

T = TypeVar("T")


def suggests_keywords(maker: type[T]) -> type[T]:
    """Decorate a class: keyword arguments that its constructor has not are refused with the nearest one that it has.

    The name of an option in configurations, such as ``maxErrors`` or ``precision``, leads to its keyword.
    """
    construct = maker.__init__
    parameters = list(inspect.signature(construct).parameters)[1:]

    @functools.wraps(construct)
    def checked(self: T, *args: Any, **keywords: Any) -> None:
        for name in keywords:
            if name not in parameters:
                meant = nearest_keyword(name, parameters)
                hint = f", did you mean `{meant}`?" if meant else ""
                raise TypeError(f"{maker.__name__}() has no keyword argument `{name}`{hint}")
        construct(self, *args, **keywords)

    setattr(maker, "__init__", checked)  # noqa: B010  (an assignment is an error to type checkers)
    return maker


def nearest_keyword(name: str, parameters: list[str]) -> str | None:
    """The keyword that a name was probably meant to be: that of an option, or the one spelt most like it."""
    # Only here: these modules decorate their classes.
    from .spelling import keywords_of

    meant = next((keyword for keyword in keywords_of(name) if keyword in parameters), None)
    return meant or _tesson.nearest_name(name, parameters)
