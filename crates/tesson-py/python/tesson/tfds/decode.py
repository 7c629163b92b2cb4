"""What is not decoded, or not read at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SkipDecoding:
    """A feature whose stored value is handed out: the bytes of a picture's file, say."""


@dataclass(frozen=True)
class PartialDecoding:
    """Only some features are read.

    Parameters
    ----------
    features : mapping or collection of str
        Names, or a nested mapping of names to true or false or to a mapping or set of what is read below.
    decoders : mapping, optional
        :class:`SkipDecoding` by feature.
    """

    features: Any
    decoders: Mapping[str, Any] | None = None


def selection(decoders: Any) -> tuple[list[str] | None, list[str]]:
    """The paths of features that are read (``None``: all), and of those that are not decoded."""
    if decoders is None:
        return None, []
    if isinstance(decoders, PartialDecoding):
        return paths(decoders.features), skipped(decoders.decoders or {})
    return None, skipped(decoders)


def paths(features: Any, path: str = "") -> list[str]:
    """Paths of a nested selection."""
    if features is True:
        return [path]
    if features is False or features is None:
        return []
    if isinstance(features, Mapping):
        join = f"{path}/" if path else ""
        return [found for name, of in features.items() for found in paths(of, join + name)]
    return [f"{path}/{name}" if path else name for name in features]


def skipped(decoders: Mapping[str, Any], path: str = "") -> list[str]:
    """Paths of features that are not decoded."""
    found = []
    for name, of in decoders.items():
        here = f"{path}/{name}" if path else name
        if isinstance(of, Mapping):
            found += skipped(of, here)
        elif isinstance(of, SkipDecoding):
            found.append(here)
        else:
            raise TypeError(f"found {of!r} for `{here}`, expected SkipDecoding() or a mapping")
    return found
