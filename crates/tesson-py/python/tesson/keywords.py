"""Misspelt keyword arguments: a ``TypeError`` that names the keyword which was probably meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from . import _tesson

__all__ = ["camel_case", "keyword_elsewhere", "nearest_keyword", "suggests_arguments", "suggests_in_methods", "suggests_keywords"]

#: Words of other libraries, and keywords for the same.
_ELSEWHERE = {
    "batch_size": ("minibatch_size",),
    "num_replicas": ("world",),
    "rank": ("world", "partition_index"),
    "seed": ("randomization_seed",),
    "shuffle": ("randomize",),
}

P = ParamSpec("P")
T = TypeVar("T")


def suggests_keywords(maker: type[T]) -> type[T]:
    """Decorate a class: keyword arguments that its constructor has not are refused with the nearest one that it has.

    The name of an option in configurations, such as ``maxErrors`` or ``precision``, leads to its keyword.
    """
    parameters = list(inspect.signature(maker.__init__).parameters)[1:]
    setattr(maker, "__init__", _checked(maker.__init__, maker.__name__, parameters))  # noqa: B010  (an assignment is an error to type checkers)
    return maker


def suggests_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function in the same way."""
    return _checked(function, function.__name__, list(inspect.signature(function).parameters))


def suggests_in_methods(maker: type[T]) -> type[T]:
    """Decorate a class in the same way, with all of its public methods."""
    for name, method in list(vars(maker).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(maker, name, _checked(method, f"{maker.__name__}.{name}", list(inspect.signature(method).parameters)))
    return maker


def _checked(function: Callable[P, T], name: str, parameters: list[str]) -> Callable[P, T]:
    """A function that refuses other keywords than these."""

    # One that takes any keyword has names of its own for them.
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(function).parameters.values()):
        return function

    @functools.wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> T:
        for keyword in keywords:
            if keyword not in parameters:
                meant = nearest_keyword(keyword, parameters)
                hint = f", did you mean `{meant}`?" if meant else ""
                raise TypeError(f"{name}() has no keyword argument `{keyword}`{hint}")
        return function(*args, **keywords)

    return checked


def nearest_keyword(name: str, parameters: list[str]) -> str | None:
    """The keyword that a name was probably meant to be: that of an option, or the one spelt most like it."""
    return keyword_elsewhere(name, parameters) or _tesson.nearest_name(name, parameters)


def keyword_elsewhere(name: str, parameters: list[str]) -> str | None:
    """The keyword for what configurations or another library call so."""
    words = (_tesson.keyword_of(name), *_ELSEWHERE.get(name, ()))
    return next((keyword for keyword in words if keyword in parameters), None)


def camel_case(name: str) -> str:
    """The spelling of configurations: ``max_errors`` is ``maxErrors``."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
