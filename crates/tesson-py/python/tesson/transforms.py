"""Transforms of images, as ``cntk.io.transforms`` names them, and those that it has not.

Each function gives a section of a configuration, whose names are those of configurations. A list of such sections says what
is done with each image, in this order; functions and :class:`UserTransform` may stand among them.

>>> crop(crop_type="randomside", side_ratio=(0.5, 0.875), jitter_type="uniratio")
{'type': 'Crop', 'cropType': 'randomside', 'sideRatio': [0.5, 0.875], 'jitterType': 'uniratio'}
>>> features = StreamDef(field="image", transforms=[
...     crop(crop_type="randomside", side_ratio=0.8), scale(width=32, height=32, channels=3), mean("mean.xml")])

Random numbers depend on the source's seed, the sweep, the sequence's key, the transform's place in the list and its own
`seed` alone: not on threads, workers, minibatches or where a run was resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .errors import ConfigError
from .keywords import camel_case, defaults_of, suggests_arguments
from .paths import AnyPath, optional_text_of, text_of

__all__ = [
    "cast",
    "color",
    "crop",
    "decode",
    "decode_image",
    "horizontal_flip",
    "intensity",
    "mean",
    "normalize",
    "random_erasing",
    "random_resized_crop",
    "random_rotation",
    "scale",
    "transpose",
]

#: A transform among those of a stream: a section, or a function from sample to sample.
AnyTransform: TypeAlias = Mapping[str, Any] | Callable[..., Any]


@suggests_arguments
def crop(
    crop_type: str = "center",
    crop_size: int | tuple[int, int] = 0,
    side_ratio: float | tuple[float, float] = 0.0,
    area_ratio: float | tuple[float, float] = 0.0,
    aspect_ratio: float | tuple[float, float] = 1.0,
    jitter_type: str = "none",
    *,
    hflip: bool | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Cut a rectangle out of the image.

    Parameters
    ----------
    crop_type : {"center", "randomside", "randomarea", "multiview10"}
        Position of the rectangle: in the middle, at random, or in each of ten views, which are ten sequences. Default
        ``"center"``. Capital letters make no difference.
    crop_size : int or (int, int)
        Width and height in pixels; one number stands for both, 0 leaves it to the ratios. Default 0.
    side_ratio : float or (float, float)
        Smallest and largest share of the image's shorter side, which becomes that of a square; 0: not given. Not
        together with `area_ratio`. Default 0.
    area_ratio : float or (float, float)
        Smallest and largest share of the image's area, likewise. Default 0.
    aspect_ratio : float or (float, float)
        Smallest and largest ratio of width to height; every other rectangle lies on its side. Default 1.
    jitter_type : {"none", "uniratio"}
        Choice of ratios: always the smallest, or drawn evenly from smallest to largest. Default ``"none"``.
    hflip : bool, optional
        Mirror half of the images, at random; by default true for random crops. CNTK's Python has no such argument.
    seed : int, optional
        Seed that lets two equal transforms draw different numbers. CNTK's Python has no such argument.
    """
    return _section(
        crop,
        locals(),
        crop_size=_pair("crop_size", crop_size),
        side_ratio=_range("side_ratio", side_ratio),
        area_ratio=_range("area_ratio", area_ratio),
        aspect_ratio=_range("aspect_ratio", aspect_ratio),
    )


@suggests_arguments
def scale(
    width: int,
    height: int,
    channels: int,
    interpolations: str | Sequence[str] = "linear",
    scale_mode: str = "fill",
    pad_value: int | Sequence[int] = -1,
    *,
    seed: int | None = None,
) -> dict[str, Any]:
    """Scale the image to a width and a height.

    Parameters
    ----------
    width, height : int
        The size in pixels.
    channels : int
        Channels of the images: 3, or 1 of a deserializer with `grayscale`. They are not converted.
    interpolations : {"nearest", "linear", "cubic", "lanczos", "linear-aa", "cubic-aa", "lanczos-aa"} or sequence of these
        Methods to compute pixels; one of several is drawn for each image. Methods with ``-aa`` are antialiased and give
        Pillow's pixels, the others OpenCV's. Default ``"linear"``.
    scale_mode : {"fill", "crop", "pad"}
        How the shape is matched: ``"fill"`` changes the aspect ratio, ``"crop"`` cuts off the excess, ``"pad"`` adds a
        border. Default ``"fill"``.
    pad_value : int or sequence of int
        Value of the padding: one for all channels, one for each, or -1 to repeat the edge. Default -1.
    seed : int, optional
        As in :func:`crop`.
    """
    return _section(
        scale,
        locals(),
        interpolations=interpolations if isinstance(interpolations, str) else list(interpolations),
        pad_value=_listed(pad_value),
    )


@suggests_arguments
def mean(
    filename: AnyPath,
) -> dict[str, Any]:
    """Subtract a mean image.

    Parameters
    ----------
    filename : str or os.PathLike
        The mean image, as OpenCV stores matrices (XML or YAML); one of a single pixel is a mean of each channel.
    """
    return {"type": "Mean", "meanFile": text_of(filename)}


@suggests_arguments
def color(
    brightness_radius: float = 0.0,
    contrast_radius: float = 0.0,
    saturation_radius: float = 0.0,
    *,
    seed: int | None = None,
) -> dict[str, Any]:
    """Change brightness, contrast and saturation at random.

    Radii are rounded to single precision, as CNTK's function does; configurations keep them as they are.

    Parameters
    ----------
    brightness_radius : float
        Largest change of brightness, from 0 to 1: by a share of the image's mean. Default 0.
    contrast_radius : float
        Largest change of contrast, from 0 to 1. Default 0.
    saturation_radius : float
        Largest change of saturation, from 0 to 1. Default 0.
    seed : int, optional
        As in :func:`crop`.
    """
    return _section(
        color,
        locals(),
        brightness_radius=_single(brightness_radius),
        contrast_radius=_single(contrast_radius),
        saturation_radius=_single(saturation_radius),
    )


@suggests_arguments
def intensity(
    intensity_file: AnyPath | None = None,
    intensity_std_dev: float = 0.0,
    *,
    seed: int | None = None,
) -> dict[str, Any]:
    """Add noise to an image along the principal axes of its colours. CNTK's Python has no such function.

    Parameters
    ----------
    intensity_file : str or os.PathLike, optional
        The axes, ``EigVal`` and ``EigVec``, as OpenCV stores matrices; nothing happens without them.
    intensity_std_dev : float
        Standard deviation of the noise. Default 0.
    seed : int, optional
        As in :func:`crop`.
    """
    return _section(intensity, locals(), intensity_file=optional_text_of(intensity_file))


@suggests_arguments
def normalize(
    mean: float | Sequence[float],
    std: float | Sequence[float],
    divisor: float = 255.0,
) -> dict[str, Any]:
    """Divide values, subtract the mean and divide by the standard deviation, channel by channel.

    Parameters
    ----------
    mean : float or sequence of float
        The mean of each channel, in the order of the channels (blue, green, red), of values that have been divided by
        `divisor`. One number is for all channels.
    std : float or sequence of float
        Standard deviation of each channel, likewise.
    divisor : float
        Number by which values are divided first. Default 255.
    """
    return _section(normalize, locals(), mean=_listed(mean), std=_listed(std))


@suggests_arguments
def horizontal_flip(
    probability: float = 0.5,
    *,
    seed: int | None = None,
) -> dict[str, Any]:
    """Mirror the image left to right, at random.

    Parameters
    ----------
    probability : float
        Share of images that are mirrored, from 0 to 1. Default 0.5.
    seed : int, optional
        As in :func:`crop`.
    """
    return _section(horizontal_flip, locals())


@suggests_arguments
def random_erasing(
    probability: float = 0.5,
    area_ratio: float | tuple[float, float] = (0.02, 0.33),
    aspect_ratio: float | tuple[float, float] = (0.3, 3.3),
    value: float | Sequence[float] = 0.0,
    *,
    seed: int | None = None,
) -> dict[str, Any]:
    """Cover a random rectangle of the image, as torchvision does.

    Parameters
    ----------
    probability : float
        Share of images that get such a rectangle, from 0 to 1. Default 0.5.
    area_ratio : float or (float, float)
        Smallest and largest share of the image's area. Default 0.02 to 0.33.
    aspect_ratio : float or (float, float)
        Smallest and largest ratio of width to height. Default 0.3 to 3.3.
    value : float or sequence of float
        Fill value of the rectangle: one number for all channels, or one for each; whole numbers from 0 to 255 keep
        8-bit images in 8 bits. Default 0.
    seed : int, optional
        As in :func:`crop`.
    """
    return _section(
        random_erasing,
        locals(),
        area_ratio=_range("area_ratio", area_ratio),
        aspect_ratio=_range("aspect_ratio", aspect_ratio),
        value=_listed(value),
    )


@suggests_arguments
def random_rotation(
    degrees: float | tuple[float, float],
    interpolation: str = "nearest",
    value: float | Sequence[float] = 0.0,
    *,
    seed: int | None = None,
) -> dict[str, Any]:
    """Turn the image about its centre by a random angle; its size stays.

    Parameters
    ----------
    degrees : float or (float, float)
        Smallest and largest angle in degrees, counterclockwise; one number is the largest angle to either side.
    interpolation : {"nearest", "linear"}
        Method to compute pixels: take the nearest one, or blend the four around a position. Default ``"nearest"``.
    value : float or sequence of float
        Fill value outside of the image: one number for all channels, or one for each; whole numbers from 0 to 255 keep
        8-bit images in 8 bits. Default 0.
    seed : int, optional
        As in :func:`crop`.
    """
    return _section(random_rotation, locals(), degrees=_listed(degrees), value=_listed(value))


@suggests_arguments
def random_resized_crop(
    area_ratio: float | tuple[float, float] = (0.08, 1.0),
    aspect_ratio: float | tuple[float, float] = (3 / 4, 4 / 3),
    *,
    seed: int | None = None,
) -> dict[str, Any]:
    """Cut out a random rectangle as torchvision does, to be followed by :func:`scale`.

    Parameters
    ----------
    area_ratio : float or (float, float)
        Smallest and largest share of the image's area. Default 0.08 to 1.
    aspect_ratio : float or (float, float)
        Smallest and largest ratio of width to height. Default 3/4 to 4/3.
    seed : int, optional
        As in :func:`crop`.
    """
    return _section(
        random_resized_crop,
        locals(),
        area_ratio=_range("area_ratio", area_ratio),
        aspect_ratio=_range("aspect_ratio", aspect_ratio),
    )


@suggests_arguments
def decode(
    *,
    grayscale: bool = False,
    channel_order: str = "bgr",
    exif_orientation: str = "auto",
    max_pixels: int = 268435456,
    truncated: bool = False,
    jpeg_scaled_decode: int | tuple[int, int] = 0,
) -> dict[str, Any]:
    """Decode files of images to the pixels of CNTK, as the first transform of images in a prepared dataset.

    Deserializers of images do so by themselves.

    Parameters
    ----------
    grayscale : bool
        Decode to one channel. Default False.
    channel_order : {"bgr", "rgb"}
        The order of a pixel's three channels. Default ``"bgr"``.
    exif_orientation : {"auto", "apply", "ignore"}
        Rotation of JPEGs by their EXIF data: ``"apply"``, ``"ignore"``, or ``"auto"``, which rotates only JPEGs in
        separate files. Default ``"auto"``.
    max_pixels : int
        Size of the largest image that is decoded, in pixels; a larger one is a fault. Default 268435456.
    truncated : bool
        Decode a JPEG that was cut off as far as possible, rather than treat it as a fault. Default False.
    jpeg_scaled_decode : int or tuple of two
        A width and a height, such as those of a later :func:`scale`: decode JPEGs to 1/2, 1/4 or 1/8 of their size if
        the result is no smaller, which is faster and gives different pixels; 0 decodes JPEGs in full size. Default 0.
    """
    return _section(decode, locals(), jpeg_scaled_decode=_listed(jpeg_scaled_decode))


@suggests_arguments
def decode_image(
    channels: int = 0,
    *,
    max_pixels: int = 268435456,
) -> dict[str, Any]:
    """Decode files of images to the pixels of ``tf.io.decode_image``, as the first transform of a stream.

    Images of prepared datasets are decoded so by themselves.

    Parameters
    ----------
    channels : int
        Channels of a pixel: 1 gray, 3 colour, 4 colour and alpha; 0 keeps those of each file. Default 0.
    max_pixels : int
        As in :func:`decode`. Default 268435456.
    """
    return _section(decode_image, locals())


def transpose() -> dict[str, Any]:
    """Put channels first: from height, width, channels to channels, height, width.

    Deserializers of images transpose by default; `layout` changes that.
    """
    return {"type": "Transpose"}


def cast() -> dict[str, Any]:
    """Make the values those of the stream's type, as is done at the end in any case."""
    return {"type": "Cast"}


def _section(function: Callable[..., Any], arguments: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    """The section of a function's transform: its arguments that differ from the defaults, in the form of configurations."""
    defaults = {name: _listed(default) for name, default in defaults_of(function).items()}
    given = {**arguments, **changed}
    options = {camel_case(name): value for name, value in given.items() if value is not None and (name not in defaults or value != defaults[name])}
    return {"type": "".join(word.capitalize() for word in function.__name__.split("_")), **options}


def _single(radius: float) -> float:
    """A number in single precision."""
    return float(np.float32(radius))


def _listed(numbers: Any) -> Any:
    """One number, or a list of them."""
    return list(numbers) if isinstance(numbers, Iterable) and not isinstance(numbers, str) else numbers


def _pair(name: str, given: Any) -> Any:
    """One number, or a list of two."""
    pair = _listed(given)
    if isinstance(pair, list) and len(pair) != 2:
        raise ConfigError(f"{name}: found {given!r}, expected one number or two", path=name)
    return pair


def _range(name: str, given: Any) -> Any:
    """One number or two, of which the first one, the smallest ratio, is not above the largest."""
    pair = _pair(name, given)
    if isinstance(pair, list) and not pair[0] <= pair[1]:
        raise ConfigError(f"{name}: found {given!r}, expected the smaller ratio first", path=name)
    return pair
