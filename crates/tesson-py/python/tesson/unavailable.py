"""Deserializers of CNTK that are not available yet.

Scripts import these names; using one raises :class:`UnavailableError`, which says what to use instead.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import transforms
from .errors import UnavailableError

__all__ = [
    "Base64ImageDeserializer",
    "HTKFeatureDeserializer",
    "HTKMLFBinaryDeserializer",
    "HTKMLFDeserializer",
    "ImageDeserializer",
]

_PICTURES = (
    "give MinibatchSource a configuration with a deserializer of this type, read a prepared dataset with TFDSDeserializer, "
    "or decode the pictures in a UserDeserializer"
)
_SPEECH = (
    "read the frames in a UserDeserializer, or write them as text once with sequence_to_cntk_text_format "
    "and read them with CTFDeserializer"
)


class _Unavailable:
    """Refuses to be made."""

    _instead: ClassVar[str]

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        raise UnavailableError(f"{type(self).__name__} is not available yet: {self._instead}")


class _Pictures(_Unavailable):
    _instead = _PICTURES

    crop = transforms.crop
    scale = transforms.scale
    mean = transforms.mean
    color = transforms.color


class ImageDeserializer(_Pictures):
    """Not available yet: pictures that a map file lists.

    Read a prepared dataset with :class:`TFDSDeserializer`, or decode the pictures in a :class:`UserDeserializer` or before
    :meth:`MinibatchSource.from_data`.
    """


class Base64ImageDeserializer(_Pictures):
    """Not available yet: pictures in Base64, one on each line of a text.

    For what to use instead see :class:`ImageDeserializer`.
    """


class HTKFeatureDeserializer(_Unavailable):
    """Not available yet: features of speech in HTK's parameter files.

    Read the frames in a :class:`UserDeserializer`, or write them as text once with :func:`sequence_to_cntk_text_format` and
    read them with :class:`CTFDeserializer`.
    """

    _instead = _SPEECH


class HTKMLFDeserializer(_Unavailable):
    """Not available yet: labels of speech in HTK's master label files.

    For what to use instead see :class:`HTKFeatureDeserializer`.
    """

    _instead = _SPEECH


class HTKMLFBinaryDeserializer(_Unavailable):
    """Not available yet: labels of speech in CNTK's binary form.

    For what to use instead see :class:`HTKFeatureDeserializer`.
    """

    _instead = _SPEECH
