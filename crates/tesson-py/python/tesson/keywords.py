"""Misspelt keyword arguments: a ``TypeError`` that names the keyword which was probably meant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from . import _tesson

__all__ = ["camel_case", "defaults_of", "keyword_elsewhere", "nearest_keyword", "no_attribute", "parameters_of", "suggests_arguments", "suggests_in_methods", "suggests_keywords", "suggests_keywords_or"]

#: Words of other libraries, and keywords for the same.
_ELSEWHERE = {
    "batch": ("batch_size",),
    "batch_size": ("minibatch_size",),
    "drop_remainder": ("drop_last",),
    "generator": ("seed",),
    "max_epochs": ("epochs",),
    "num_epochs": ("epochs",),
    "num_replicas": ("world_size", "world"),
    "num_shards": ("world_size",),
    "process_index": ("rank",),
    "random_state": ("seed",),
    "rank": ("world", "partition_index"),
    "seed": ("randomization_seed",),
    "shard_id": ("rank",),
    "shuffle": ("randomize",),
}

#: The flag of code for ``**keywords``.
_TAKES_ANY_KEYWORD = 8

P = ParamSpec("P")
T = TypeVar("T")


def suggests_keywords(maker: type[T]) -> type[T]:
    """Decorate a class: keyword arguments that its constructor has not are refused with the nearest one that it has.

    The name of an option in configurations, such as ``maxErrors`` or ``precision``, leads to its keyword.
    """
    return suggests_keywords_or(None)(maker)


def suggests_keywords_or(elsewhere: str | None) -> Callable[[type[T]], type[T]]:
    """A decorator of classes that does the same, and for keywords of this table of names elsewhere says what to do instead."""

    def decorated(maker: type[T]) -> type[T]:
        parameters = parameters_of(maker.__init__)[1:]
        setattr(maker, "__init__", _checked(maker.__init__, maker.__name__, parameters, elsewhere))  # noqa: B010  (an assignment is an error to type checkers)
        return maker

    return decorated


def suggests_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function in the same way."""
    return _checked(function, function.__name__, parameters_of(function))


def suggests_in_methods(maker: type[T]) -> type[T]:
    """Decorate a class in the same way, with all of its public methods."""
    for name, method in list(vars(maker).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(maker, name, _checked(method, f"{maker.__name__}.{name}", parameters_of(method)))
    return maker


def _checked(function: Callable[P, T], name: str, parameters: list[str], elsewhere: str | None = None) -> Callable[P, T]:
    """A function that refuses other keywords than these, with what the table `elsewhere` says of them or the nearest one."""

    # One that takes any keyword has names of its own for them.
    if _innermost(function).__code__.co_flags & _TAKES_ANY_KEYWORD:
        return function

    @functools.wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> T:
        for keyword in keywords:
            if keyword not in parameters:
                if (remedy := _names_elsewhere(elsewhere).get(keyword)) is not None:
                    hint = f"; {remedy}"
                else:
                    meant = nearest_keyword(keyword, parameters)
                    hint = f", did you mean `{meant}`?" if meant else ""
                raise TypeError(f"{name}() has no keyword argument `{keyword}`{hint}")
        return function(*args, **keywords)

    return checked


def no_attribute(elsewhere: str) -> Callable[[Any, str], Any]:
    """A ``__getattr__`` that refuses with a remedy of this table. Python calls it for what is not found in any other way."""

    def refuse(owner: object, name: str) -> Any:
        from .elsewhere import hinted

        known = [one for one in dir(type(owner)) if not one.startswith("_")]
        hint = hinted(name, _names_elsewhere(elsewhere), known)
        raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=owner)

    return refuse


def _names_elsewhere(table: str | None) -> dict[str, str]:
    """A table of names of other libraries, each with what to do here."""
    # Needed where there is an error alone.
    from . import elsewhere

    names: dict[str, str] = getattr(elsewhere, table) if table else {}
    return names


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters in order, without those of ``*args`` and ``**keywords``.

    Read from its code: :func:`inspect.signature` of all functions that are decorated here takes longer than opening a file.
    """
    code = _innermost(function).__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of a function's parameters, of those that have one."""
    inner = _innermost(function)
    positional = inner.__code__.co_varnames[: inner.__code__.co_argcount]
    defaults = inner.__defaults__ or ()
    return {**dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True)), **(inner.__kwdefaults__ or {})}


def _innermost(function: Any) -> Any:
    """The function that decorators have wrapped."""
    while (wrapped := getattr(function, "__wrapped__", None)) is not None:
        function = wrapped
    return function


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
