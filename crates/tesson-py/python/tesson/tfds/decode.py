"""Decoders: features that are not decoded, decoded at a smaller scale, or not read at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SkipDecoding:
    """Delivers a feature as it is stored, such as the bytes of an image's file."""


@dataclass(frozen=True)
class PartialDecoding:
    """Reads only some features.

    Parameters
    ----------
    features : mapping or collection of str
        Names, or a nested mapping of names to true or false or to a mapping or set of the features below.
    decoders : mapping, optional
        :class:`SkipDecoding` or :class:`ReducedScale` by feature.
    """

    features: Any
    decoders: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ReducedScale:
    """A JPEG image that is decoded at a part of its size, which takes as much less time.

    Parameters
    ----------
    denominator : {2, 4, 8}
        How many pixels in a row become one. Heights and widths are rounded up; those that the feature declares are as much
        smaller. Images of other kinds are errors.
    """

    denominator: int


@dataclass
class Selection:
    """The features that are read, and how they are decoded, by their paths."""

    features: list[str] | None = None
    """Those that are read; all without it."""
    raw: list[str] = field(default_factory=list)
    """Those that are not decoded."""
    scales: list[tuple[str, int]] = field(default_factory=list)
    """Pictures that are decoded at a reduced scale."""


def selection(decoders: Any) -> Selection:
    """The selection that decoders describe."""
    if decoders is None:
        return Selection()
    if isinstance(decoders, Mapping):
        return decoded(decoders, Selection())
    if not isinstance(decoders, PartialDecoding):
        raise TypeError(f"decoders: found {decoders!r}, expected a mapping from features to decoders or PartialDecoding(…)")
    return decoded(decoders.decoders or {}, Selection(paths(decoders.features)))


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


def decoded(decoders: Mapping[str, Any], into: Selection, path: str = "") -> Selection:
    """Add the decoders of single features."""
    for name, of in decoders.items():
        here = f"{path}/{name}" if path else name
        if isinstance(of, Mapping):
            decoded(of, into, here)
        elif isinstance(of, SkipDecoding):
            into.raw.append(here)
        elif isinstance(of, ReducedScale):
            into.scales.append((here, of.denominator))
        else:
            raise TypeError(f"found {of!r} for `{here}`, expected SkipDecoding(), ReducedScale() or a mapping")
    return into
