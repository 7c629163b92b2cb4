"""Deserializers of CNTK that are not available yet.

Scripts import these names; using one raises :class:`UnavailableError`, which says what to use instead.
"""

from __future__ import annotations

from typing import Any

from .errors import UnavailableError

__all__ = ["HTKFeatureDeserializer"]

_INSTEAD = (
    "read the frames in a UserDeserializer, or write them as text once with sequence_to_cntk_text_format "
    "and read them with CTFDeserializer"
)


class _Unavailable:
    """Refuses to be made."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        raise UnavailableError(f"{type(self).__name__} is not available yet: {_INSTEAD}")


class HTKFeatureDeserializer(_Unavailable):
    """Not available yet: features of speech in HTK's parameter files.

    Read the frames in a :class:`UserDeserializer`, or write them as text once with :func:`sequence_to_cntk_text_format` and
    read them with :class:`CTFDeserializer`.
    """
