"""Errors in the words of Python's callers: the native half names options as configurations do."""

from __future__ import annotations

import inspect
import re

from . import deserializers, image_deserializers, label_deserializers, transforms
from .keywords import camel_case

__all__ = ["keywords_of", "respell"]

#: Options of streams, and those with another word as their keyword.
_STREAM = {"dim": "shape", "alias": "field", "feature": "field", "format": "is_sparse", "definesMBSize": "defines_mb_size"}
_SECTION = {"file": "filename", "input": "streams"}
_SOURCE = {"precision": "dtype"}
#: A text in backticks: a name, perhaps with a proposed value.
_QUOTED = re.compile(r"(stream )?`(\w+)(?: = ([^`]*))?`")

#: Made when the first error asks.
_known: dict[str, str] = {}


def _keywords() -> dict[str, str]:
    """The keyword of each option that has one; options that are no keywords are missing."""
    if _known:
        return _known
    # Only here: sources import this module's neighbours.
    from .source import MinibatchSource

    modules = (deserializers, image_deserializers, label_deserializers, transforms)
    makers = [MinibatchSource, *(getattr(module, name) for module in modules for name in module.__all__)]
    names = {name for maker in makers for name in inspect.signature(maker).parameters}
    _known.update({camel_case(name): name for name in names})
    _known.update(definesMBSize="defines_mb_size", labelDim="shape", meanFile="filename")
    return _known


def keywords_of(option: str) -> list[str]:
    """The keywords for an option of configurations: of the source, its deserializers and their streams."""
    found = [names.get(option) for names in (_keywords(), _SOURCE, _SECTION, _STREAM)]
    return [keyword for keyword in found if keyword is not None]


def respell(error: Exception) -> None:
    """Brings an error of a source that was made from keyword arguments into their spelling."""
    message = str(error)
    path = getattr(error, "path", "")
    is_config = hasattr(error, "path")
    if path:
        error.path = _path(path)  # type: ignore[attr-defined]
        if message.startswith(path):
            message = error.path + _text(message[len(path) :], is_config)  # type: ignore[attr-defined]
    else:
        message = _text(message, is_config)
    error.args = (message,)


def spelt(message: str) -> str:
    """A message in the spelling of keyword arguments."""
    return _text(message, False)


def _path(path: str) -> str:
    """The path of an option as a caller would find it: ``deserializers[0].streams.x.shape``."""
    first, *others = path.split(".")
    if not others:
        return _SOURCE.get(first, _keywords().get(first, first))
    inner = others[0]
    if inner == "input" and len(others) > 2:
        # The names of streams between are the caller's own, and may hold dots.
        *name, option = others[1:]
        return ".".join([first, "streams", *name, _STREAM.get(option, _keywords().get(option, option))])
    if not first.startswith("deserializers"):
        return path
    return ".".join([first, _SECTION.get(inner, _keywords().get(inner, inner)), *others[1:]])


def _text(text: str, is_config: bool) -> str:
    def keyword(match: re.Match[str]) -> str:
        stream, name, value = match.groups()
        if stream is not None:
            return match[0]
        if name == "format" and value is not None:
            return f"`is_sparse={'sparse' in value}`"
        if name in ("true", "false") and is_config:
            return f"`{name.capitalize()}`"
        # Names without a capital may be those of streams and values.
        known = _keywords().get(name) if value is not None or not name.islower() else None
        if known is None and is_config:
            known = _SOURCE.get(name) or _SECTION.get(name) or _STREAM.get(name)
        if known is None:
            return match[0]
        shown = {"true": "True", "false": "False"}.get(value or "", value)
        return f"`{known}`" if value is None else f"`{known}={shown}`"

    return _QUOTED.sub(keyword, text)
