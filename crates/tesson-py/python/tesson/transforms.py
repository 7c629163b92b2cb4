"""Transforms of pictures, as ``cntk.io.transforms`` names them. None of them is available yet.

Calling one raises :class:`UnavailableError`. Streams of numbers have transforms of their own:
``StreamDef(transforms=[function])`` and :class:`UserTransform`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import UnavailableError

__all__ = ["color", "crop", "mean", "scale"]


def _refuse(name: str) -> NoReturn:
    instead = "give StreamDef(transforms=[function]) a function from array to array, or a UserTransform"
    raise UnavailableError(f"transforms.{name} is not available yet: {instead}")


def crop(
    crop_type: str = "center",
    crop_size: Any = 0,
    side_ratio: Any = 0.0,
    area_ratio: Any = 0.0,
    aspect_ratio: Any = 1.0,
    jitter_type: str = "none",
) -> NoReturn:
    """Not available yet: a rectangle cut out of the picture."""
    _refuse("crop")


def scale(
    width: int,
    height: int,
    channels: int,
    interpolations: str = "linear",
    scale_mode: str = "fill",
    pad_value: int = -1,
) -> NoReturn:
    """Not available yet: the picture in another size."""
    _refuse("scale")


def mean(filename: str) -> NoReturn:
    """Not available yet: the picture less the mean of all pictures."""
    _refuse("mean")


def color(
    brightness_radius: float = 0.0, contrast_radius: float = 0.0, saturation_radius: float = 0.0
) -> NoReturn:
    """Not available yet: brightness, contrast and saturation changed at random."""
    _refuse("color")
