"""Deserializers of images: of files that a map lists, of texts in Base64, and of tar archives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, SupportsIndex, TypeAlias

from . import transforms
from .deserializers import Deserializer
from .errors import ConfigError
from .keywords import suggests_keywords
from .paths import AnyPath, files_of, optional_text_of
from .streams import StreamDef, StreamDefs, StreamInformation
from .transforms import AnyTransform

__all__ = ["Base64ImageDeserializer", "ImageDeserializer", "TarImageDeserializer"]

_Maker: TypeAlias = Callable[..., dict[str, Any]]


class _Images(Deserializer):
    """A base of deserializers of images: a stream of images, and perhaps one of their classes."""

    crop: ClassVar[_Maker] = staticmethod(transforms.crop)
    scale: ClassVar[_Maker] = staticmethod(transforms.scale)
    mean: ClassVar[_Maker] = staticmethod(transforms.mean)
    color: ClassVar[_Maker] = staticmethod(transforms.color)
    intensity: ClassVar[_Maker] = staticmethod(transforms.intensity)
    normalize: ClassVar[_Maker] = staticmethod(transforms.normalize)
    horizontal_flip: ClassVar[_Maker] = staticmethod(transforms.horizontal_flip)
    random_erasing: ClassVar[_Maker] = staticmethod(transforms.random_erasing)
    random_resized_crop: ClassVar[_Maker] = staticmethod(transforms.random_resized_crop)
    random_rotation: ClassVar[_Maker] = staticmethod(transforms.random_rotation)
    transpose: ClassVar[_Maker] = staticmethod(transforms.transpose)
    cast: ClassVar[_Maker] = staticmethod(transforms.cast)

    def __init__(
        self,
        filename: AnyPath | Sequence[AnyPath],
        streams: Mapping[str, StreamDef] | None,
        layout: Literal["CHW", "HWC"],
        options: Mapping[str, object],
    ) -> None:
        if layout not in ("CHW", "HWC"):
            raise ConfigError(f"layout: found {layout!r}, expected `CHW` or `HWC`", path="layout")
        super().__init__({"file": files_of(filename), **options})
        self._layout = layout
        for name, stream in StreamDefs(streams or {}).items():
            self._add(name, stream)
        if streams is not None:
            self._check_images()

    def map_features(self, node: str | StreamInformation, transforms: AnyTransform | Sequence[AnyTransform] = ()) -> Self:
        """Add the stream of images, in the older object style. Returns the deserializer itself.

        Parameters
        ----------
        node : str or StreamInformation
            The stream's name, or what has one.
        transforms : transform or sequence of them
            The transforms of each image, as in :class:`StreamDef`.
        """
        self._add(_name(node), StreamDef("image", transforms=transforms))
        return self

    def map_labels(self, node: str | StreamInformation, num_classes: SupportsIndex | None = None) -> Self:
        """Add the stream of the images' classes, in the older object style. Returns the deserializer itself.

        Parameters
        ----------
        node : str or StreamInformation
            The stream's name, or what has one.
        num_classes : int, optional
            The number of classes, by default as many as a map has.
        """
        self._add(_name(node), StreamDef("label", num_classes))
        return self

    def ignore_labels(self) -> Self:
        """Leave out the classes: they are neither read nor checked, and may be missing. Returns the deserializer itself."""
        self._streams = {name: stream for name, stream in self._streams.items() if stream.field == "image"}
        return self

    @property
    def config(self) -> dict[str, Any]:
        """The deserializer in the dict form of a configuration, with the options' names as the file formats spell them."""
        self._check_images()
        return super().config

    def _transforms_itself(self, stream: StreamDef) -> bool:
        return True

    def _add(self, name: str, stream: StreamDef) -> None:
        """Adds a stream of one of the two kinds that there are."""
        path = f"streams.{name}"
        field = name if stream.field is None else stream.field
        if field not in ("image", "label"):
            what = f"found the field {field!r}, expected `image` or `label`"
            raise ConfigError(f"{path}.field: {what}", path=f"{path}.field")
        if field == "image" and stream.shape is not None:
            what = f"found {stream.shape}, but images have the shape that their transforms give them; leave it out"
            raise ConfigError(f"{path}.shape: {what}", path=f"{path}.shape")
        if field == "label" and stream.shape is not None and len(stream.shape) != 1:
            raise ConfigError(f"{path}.shape: found {stream.shape}, expected the number of classes", path=f"{path}.shape")
        if stream.defines_mb_size:
            what = "found True, but images and classes have one sample in each sequence; leave it out"
            raise ConfigError(f"{path}.defines_mb_size: {what}", path=f"{path}.defines_mb_size")
        if other := [n for n, s in self._streams.items() if s.field == field and n != name]:
            what = f"found `{other[0]}` and `{name}` of the field `{field}`, expected one stream"
            raise ConfigError(f"{path}.field: {what}", path=f"{path}.field")
        if field == "label" and stream.dtype not in (None, "int64"):
            what = f"found {stream.dtype}, expected `int64`, the numbers of classes; without it they are sparse and of the source's type"
            raise ConfigError(f"{path}.dtype: {what}", path=f"{path}.dtype")
        self._streams[name] = StreamDef(
            field, stream.shape, transforms=stream.transforms, dtype=stream.dtype, ragged=stream.ragged
        )

    def _check_images(self) -> None:
        """Refuses a deserializer without images."""
        if not any(stream.field == "image" for stream in self._streams.values()):
            what = 'found no stream of images, expected StreamDef(field="image", transforms=[…])'
            raise ConfigError(f"streams: {what}", path="streams")

    def _has_type(self, stream: StreamDef) -> bool:
        return True

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        section: dict[str, Any]
        if stream.field == "label":
            section = {"labelDim": "auto" if stream.dim is None else stream.dim}
            return section if stream.dtype is None else section | {"dtype": stream.dtype}
        section = {"transforms": self._laid_out(stream)}
        if stream.dtype is not None:
            section["dtype"] = stream.dtype
        if stream.ragged:
            section["ragged"] = True
        return section

    def _laid_out(self, stream: StreamDef) -> list[AnyTransform]:
        """The transforms of the images, with the one that puts channels first where the layout asks for it.

        It stands behind the last transform of images: functions that follow get images as they are delivered.
        """
        given = list(stream.transforms)
        kinds = [transform.get("type") if isinstance(transform, Mapping) else None for transform in given]
        if self._layout == "HWC" or "Transpose" in kinds:
            return given
        last = max((i + 1 for i, kind in enumerate(kinds) if kind not in (None, "Cast")), default=0)
        return [*given[:last], transforms.transpose(), *given[last:]]

    def __repr__(self) -> str:
        options = dict(self._options)
        arguments = [repr(options.pop("file"))]
        if self._streams:
            streams = {name: _shown(stream) for name, stream in self._streams.items()}
            arguments.append(f"{{{', '.join(f'{name!r}: {shown}' for name, shown in streams.items())}}}")
        arguments += ["layout='HWC'"] if self._layout == "HWC" else []
        arguments += [f"{name}={value!r}" for name, value in options.items()]
        return f"{type(self).__name__}({', '.join(arguments)})"


@suggests_keywords
class ImageDeserializer(_Images):
    """Reads images that a map file lists, a line for each: a path and a class, or a key, a path and a class, between tabs.

    Maps in CSV and JSON lines, and folders of images, one for each class, are read, too; there classes may have names.

    Images are arrays of 8 bits with the channels blue, green and red, unless `channel_order` has red first, until a transform needs other values; what is delivered
    has the source's type. Classes are sparse samples with a 1 in the column of the class.

    The functions of :mod:`tesson.transforms` are methods, too: ``ImageDeserializer.scale(32, 32, 3)``.

    Parameters
    ----------
    filename : str or os.PathLike
        The map, relative to the working directory; or a folder with one folder of images for each class.
    streams : mapping of str to StreamDef, optional
        The streams by name: one of the field ``"image"`` with its `transforms`, and perhaps one of the field ``"label"``
        whose `shape` is the number of classes, by default as many as there are. Without it classes are neither read nor
        checked. :meth:`map_features` and :meth:`map_labels` add them, too.
    layout : {"CHW", "HWC"}
        Order of a sample's axes: channels first, as in CNTK's Python, or last. A :func:`tesson.transforms.transpose`
        among the transforms decides by itself. Default ``"CHW"``.
    grayscale : bool, optional
        Decode to one channel. Default False.
    channel_order : {"bgr", "rgb"}, optional
        Order of a pixel's three channels; CNTK has blue first. Default ``"bgr"``.
    multi_view_crop : bool, optional
        Deliver every image as ten sequences, the views of a crop of the type ``"multiview10"``; by default if there is
        such a crop.
    map_format : {"auto", "cntk", "csv", "jsonl"}, optional
        Form of the map: ``"cntk"``, lines with tabs; ``"csv"``, with a header; ``"jsonl"``, one object on each line;
        ``"auto"`` chooses by the extensions ``.csv``, ``.jsonl`` and ``.ndjson``. Default ``"auto"``.
    path_column : str, optional
        The column of CSV, or the field of JSON lines, with the paths of images. Default ``"path"``.
    label_column : str, optional
        The column or field with the classes. Default ``"label"``.
    key_column : str, optional
        The column or field with the keys, by default ``key`` if there is one.
    root : str or os.PathLike, optional
        Folder of relative paths in the map, by default the working directory. A leading ``...`` in a path stands for
        the map's own folder.
    comments : bool, optional
        Ignore lines of the map that begin with ``#``. Default False.
    strict_labels : bool, optional
        Refuse classes with more than a number in them, such as ``3abc``; otherwise they are read as 3 and logged. Default
        False.
    classes : str or os.PathLike, optional
        A text file with the name of a class on each line; classes are numbered in this order, so that several maps or
        folders agree. Other labels are errors.
    on_corrupt_image : {"error", "skip", "accept"}, optional
        How images that cannot be read or decoded are handled: ``"error"`` fails; ``"skip"`` leaves them out and counts
        them; ``"accept"`` delivers the decoded part of a JPEG that was cut off. Default ``"error"``.
    exif_orientation : {"auto", "apply", "ignore"}, optional
        Rotation of JPEGs by their EXIF data: ``"apply"``, ``"ignore"``, or ``"auto"``, which rotates only JPEGs in
        separate files, as CNTK does. Default ``"auto"``.
    jpeg_scaled_decode : int or tuple of two, optional
        A width and a height, such as those of the scale: decode JPEGs to 1/2, 1/4 or 1/8 of their size if the result is
        no smaller, which is faster and gives different pixels; 0, the default, decodes JPEGs in full size.
    max_pixels : int, optional
        Size of the largest image that is decoded, in pixels; a larger one is corrupt. Default 268435456.
    verbosity : int, optional
        Accepted from older configurations; has no effect.

    Examples
    --------
    >>> ImageDeserializer("map.txt", StreamDefs(
    ...     features=StreamDef(field="image", transforms=[transforms.scale(width=32, height=32, channels=3)]),
    ...     labels=StreamDef(field="label", shape=10))).config
    {'type': 'ImageDeserializer', 'file': 'map.txt', \
'input': {'features': {'transforms': [{'type': 'Scale', 'width': 32, 'height': 32, 'channels': 3}, {'type': 'Transpose'}]}, \
'labels': {'labelDim': 10}}}

    The older object style:

    >>> deserializer = ImageDeserializer("map.txt")
    >>> deserializer.ignore_labels().map_features("features", [ImageDeserializer.scale(32, 32, 3)]).streams.features.field
    'image'
    """

    type = "ImageDeserializer"

    def __init__(
        self,
        filename: AnyPath,
        streams: Mapping[str, StreamDef] | None = None,
        *,
        layout: Literal["CHW", "HWC"] = "CHW",
        grayscale: bool | None = None,
        channel_order: Literal["bgr", "rgb"] | None = None,
        multi_view_crop: bool | None = None,
        map_format: Literal["auto", "cntk", "csv", "jsonl"] | None = None,
        path_column: str | None = None,
        label_column: str | None = None,
        key_column: str | None = None,
        root: AnyPath | None = None,
        comments: bool | None = None,
        strict_labels: bool | None = None,
        classes: AnyPath | None = None,
        on_corrupt_image: Literal["error", "skip", "accept"] | None = None,
        exif_orientation: Literal["auto", "apply", "ignore"] | None = None,
        jpeg_scaled_decode: int | tuple[int, int] | None = None,
        max_pixels: int | None = None,
        verbosity: int | None = None,
    ) -> None:
        super().__init__(filename, streams, layout, {
            "grayscale": grayscale,
            "channel_order": channel_order,
            "multi_view_crop": multi_view_crop,
            "map_format": map_format,
            "path_column": path_column,
            "label_column": label_column,
            "key_column": key_column,
            "root": optional_text_of(root),
            "comments": comments,
            "strict_labels": strict_labels,
            "classes": optional_text_of(classes),
            "on_corrupt_image": on_corrupt_image,
            "exif_orientation": exif_orientation,
            "jpeg_scaled_decode": jpeg_scaled_decode,
            "max_pixels": max_pixels,
            "verbosity": verbosity,
        })


@suggests_keywords
class Base64ImageDeserializer(_Images):
    """Reads images in Base64, one on each line of a text: a class and the image, or a key before them, between tabs.

    Streams and methods are those of :class:`ImageDeserializer`.

    Parameters
    ----------
    filename : str or os.PathLike
        The file, relative to the working directory.
    streams : mapping of str to StreamDef, optional
        As in :class:`ImageDeserializer`.
    layout : {"CHW", "HWC"}
        As in :class:`ImageDeserializer`. Default ``"CHW"``.
    grayscale : bool, optional
        Decode to one channel. Default False.
    channel_order : {"bgr", "rgb"}, optional
        Order of a pixel's three channels; CNTK has blue first. Default ``"bgr"``.
    multi_view_crop : bool, optional
        As in :class:`ImageDeserializer`.
    on_corrupt_image : {"error", "skip", "accept"}, optional
        As in :class:`ImageDeserializer`. Default ``"error"``.
    exif_orientation : {"auto", "apply", "ignore"}, optional
        Rotation of JPEGs by their EXIF data; ``"auto"`` rotates none here. Default ``"auto"``.
    jpeg_scaled_decode : int or tuple of two, optional
        As in :class:`ImageDeserializer`.
    max_pixels : int, optional
        Size of the largest image that is decoded, in pixels; a larger one is corrupt. Default 268435456.
    max_errors : int, optional
        Number of images that cannot be decoded to tolerate before reading fails; by default the source's `max_errors`.
    verbosity : int, optional
        Accepted from older configurations; has no effect.
    cache_index : bool, optional
        Accepted for all deserializers alike; has no effect: the file is indexed each time.

    Examples
    --------
    >>> Base64ImageDeserializer("train.b64", StreamDefs(
    ...     features=StreamDef(field="image"), labels=StreamDef(field="label", shape=10)), layout="HWC").config
    {'type': 'Base64ImageDeserializer', 'file': 'train.b64', \
'input': {'features': {'transforms': []}, 'labels': {'labelDim': 10}}}
    """

    type = "Base64ImageDeserializer"

    def __init__(
        self,
        filename: AnyPath,
        streams: Mapping[str, StreamDef] | None = None,
        *,
        layout: Literal["CHW", "HWC"] = "CHW",
        grayscale: bool | None = None,
        channel_order: Literal["bgr", "rgb"] | None = None,
        multi_view_crop: bool | None = None,
        on_corrupt_image: Literal["error", "skip", "accept"] | None = None,
        exif_orientation: Literal["auto", "apply", "ignore"] | None = None,
        jpeg_scaled_decode: int | tuple[int, int] | None = None,
        max_pixels: int | None = None,
        max_errors: int | None = None,
        verbosity: int | None = None,
        cache_index: bool | None = None,
    ) -> None:
        super().__init__(filename, streams, layout, {
            "grayscale": grayscale,
            "channel_order": channel_order,
            "multi_view_crop": multi_view_crop,
            "on_corrupt_image": on_corrupt_image,
            "exif_orientation": exif_orientation,
            "jpeg_scaled_decode": jpeg_scaled_decode,
            "max_pixels": max_pixels,
            "max_errors": max_errors,
            "verbosity": verbosity,
            "cache_index": cache_index,
        })


@suggests_keywords
class TarImageDeserializer(_Images):
    """Reads images in tar archives, as WebDataset packs them: ``cat/7.jpg`` and its class as text, ``cat/7.cls``.

    Members that follow each other and have one name before its first ``.`` are a sample; the name is its key. Archives are read
    where they are, without unpacking, and also where gzip has compressed them as a whole, which is slow in shuffled orders. Streams
    and methods are those of :class:`ImageDeserializer`.

    Parameters
    ----------
    filename : str or os.PathLike, or a list of them
        The archive, relative to the working directory; a pattern such as ``"train-*.tar"`` or ``"train-{000..127}.tar"``, or a list,
        for several.
    streams : mapping of str to StreamDef, optional
        As in :class:`ImageDeserializer`; the number of classes has to be given.
    layout : {"CHW", "HWC"}
        As in :class:`ImageDeserializer`. Default ``"CHW"``.
    image_extension : str, optional
        Part of an image's name after the first ``.``; by default any usual image extension.
    label_extension : str, optional
        Part after the first ``.`` in the names of members that hold a class. Default ``"cls"``.
    grayscale : bool, optional
        Decode to one channel. Default False.
    channel_order : {"bgr", "rgb"}, optional
        Order of a pixel's three channels; CNTK has blue first. Default ``"bgr"``.
    multi_view_crop : bool, optional
        As in :class:`ImageDeserializer`.
    on_corrupt_image : {"error", "skip", "accept"}, optional
        As in :class:`ImageDeserializer`. Default ``"error"``.
    exif_orientation : {"auto", "apply", "ignore"}, optional
        Rotation of JPEGs by their EXIF data; ``"auto"`` rotates none here. Default ``"auto"``.
    jpeg_scaled_decode : int or tuple of two, optional
        As in :class:`ImageDeserializer`.
    max_pixels : int, optional
        Size of the largest image that is decoded, in pixels; a larger one is corrupt. Default 268435456.
    verbosity : int, optional
        Accepted for all deserializers of images alike; has no effect.

    Examples
    --------
    >>> TarImageDeserializer(["0.tar", "1.tar"], StreamDefs(
    ...     features=StreamDef(field="image"), labels=StreamDef(field="label", shape=10)), layout="HWC").config
    {'type': 'TarImageDeserializer', 'file': ['0.tar', '1.tar'], \
'input': {'features': {'transforms': []}, 'labels': {'labelDim': 10}}}
    """

    type = "TarImageDeserializer"

    def __init__(
        self,
        filename: AnyPath | Sequence[AnyPath],
        streams: Mapping[str, StreamDef] | None = None,
        *,
        layout: Literal["CHW", "HWC"] = "CHW",
        image_extension: str | None = None,
        label_extension: str | None = None,
        grayscale: bool | None = None,
        channel_order: Literal["bgr", "rgb"] | None = None,
        multi_view_crop: bool | None = None,
        on_corrupt_image: Literal["error", "skip", "accept"] | None = None,
        exif_orientation: Literal["auto", "apply", "ignore"] | None = None,
        jpeg_scaled_decode: int | tuple[int, int] | None = None,
        max_pixels: int | None = None,
        verbosity: int | None = None,
    ) -> None:
        super().__init__(filename, streams, layout, {
            "image_extension": image_extension,
            "label_extension": label_extension,
            "grayscale": grayscale,
            "channel_order": channel_order,
            "multi_view_crop": multi_view_crop,
            "on_corrupt_image": on_corrupt_image,
            "exif_orientation": exif_orientation,
            "jpeg_scaled_decode": jpeg_scaled_decode,
            "max_pixels": max_pixels,
            "verbosity": verbosity,
        })


def _name(node: str | StreamInformation) -> str:
    """The name of a stream, given as such or as what has it."""
    return node if isinstance(node, str) else node.name


def _shown(stream: StreamDef) -> str:
    """A stream, with its transforms, as Python."""
    dtype = "" if stream.dtype is None else f", dtype={stream.dtype!r}"
    if stream.field == "label":
        return f"StreamDef('label', {stream.dim}{dtype})"
    ragged = ", ragged=True" if stream.ragged else ""
    return f"StreamDef('image', transforms={list(stream.transforms)!r}{dtype}{ragged})"
