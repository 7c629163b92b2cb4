"""Datasets of images: in folders, lists, archives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import transforms as of_images
from ._tesson import ImageForm, extensions_in_tar, first_file
from .dataset import Dataset
from .errors import ConfigError
from .image_deserializers import Base64ImageDeserializer, ImageDeserializer, TarImageDeserializer
from .keywords import suggests_arguments
from .paths import AnyPath, files_of, optional_text_of, text_of
from .streams import StreamDef, StreamDefs
from .transforms import AnyTransform

if TYPE_CHECKING:
    from .tables import Column, Nulls

__all__ = ["decoding", "read_images", "read_webdataset"]

#: Transforms that cut an image, which precede its resize.
_CUTS = ("Crop", "RandomResizedCrop")
#: Kinds of paths that are no lists, in the plural.
_WITHOUT_COLUMNS = {"tar": "archives", "base64": "images in Base64"}

Source = AnyPath | Sequence[AnyPath]
OnCorruptImage = Literal["error", "skip", "accept"]
Size = int | tuple[int, int]


@suggests_arguments
def read_images(
    path: Source,
    /,
    *,
    size: Size | None = None,
    labels: bool | None = None,
    transforms: AnyTransform | Sequence[AnyTransform] = (),
    dtype: Literal["uint8", "float32"] | None = None,
    layout: Literal["HWC", "CHW"] = "HWC",
    grayscale: bool = False,
    ragged: bool = False,
    classes: AnyPath | None = None,
    root: AnyPath | None = None,
    path_column: str | None = None,
    label_column: str | None = None,
    key_column: str | None = None,
    on_corrupt_image: OnCorruptImage | None = None,
) -> Dataset:
    """Images and their classes, as the streams ``image`` and ``label``.

    Colours are red, green, blue; JPEGs are turned as their EXIF data say. Classes are int64; the schema has their names
    (``data.schema["label"].classes``).

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        What it is, is found by content: a folder with one folder of images for each class; a ``.zip`` of such a folder; a list of
        images, as CSV or JSON lines with the columns ``path`` and ``label``, or as lines of ``path<TAB>label``; lines of
        ``label<TAB>image`` with images in Base64; or tar archives as WebDataset packs them, also by a pattern such as
        ``"train-{000..127}.tar"``.
    size : int or (int, int), optional
        Height and width to which images are resized. Without it all images must have one shape, unless `ragged` is True.
    labels : bool, optional
        True if classes are read, by default where there are any. They are looked for in the first archive of several.
    transforms : transform or sequence of them
        Of :mod:`tesson.transforms`, or functions from array to array. Crops at the beginning precede the resize, all others follow.
    dtype : {"uint8", "float32"}, optional
        The type of the values, which are from 0 to 255 if no transform changes that. By default ``uint8`` without transforms, else
        ``float32``.
    layout : {"HWC", "CHW"}
        The order of the axes: height, width, channels; or channels first.
    grayscale : bool
        True for one channel.
    ragged : bool
        True if images may differ in shape: batches then have a list of arrays.
    classes : str or os.PathLike, optional
        A text file with the name of a class on each line, which numbers them in this order.
    root : str or os.PathLike, optional
        The folder of relative paths in a list, by default the working directory.
    path_column, label_column, key_column : str, optional
        The columns of a list.
    on_corrupt_image : {"error", "skip", "accept"}, optional
        How images that cannot be decoded are handled: ``"error"`` fails, ``"skip"`` leaves them out and counts them, ``"accept"``
        delivers the decoded part of a JPEG that was cut off.
    """
    form = ImageForm(_names(path))
    kind = form.kind()
    options: dict[str, Any] = {"on_corrupt_image": on_corrupt_image, "exif_orientation": "apply", "channel_order": "rgb"}
    options |= {"grayscale": True} if grayscale else {}
    of_lists = {
        "classes": optional_text_of(classes), "root": optional_text_of(root),
        "path_column": path_column, "label_column": label_column, "key_column": key_column,
    }
    given: dict[str, Any] = {name: value for name, value in of_lists.items() if value is not None}
    has_labels = form.has_labels(label_column or "label") if labels is None else labels
    streams = {"image": decoding(size, transforms, dtype, grayscale, ragged)}
    if has_labels:
        streams["label"] = StreamDef("label", dtype="int64")
    if given and kind in _WITHOUT_COLUMNS:
        name = next(iter(given))
        what = f"found {name}={given[name]!r}, but {_WITHOUT_COLUMNS[kind]} have no columns, paths or names of classes; leave it out"
        raise ConfigError(f"{name}: {what}", path=name)
    part: ImageDeserializer | Base64ImageDeserializer | TarImageDeserializer
    if kind == "tar":
        part = TarImageDeserializer(path, streams, layout=layout, **options)
    elif kind == "base64":
        part = Base64ImageDeserializer(form.path(), streams, layout=layout, **options)
    else:
        if map_format := form.map_format():
            options["map_format"] = map_format
        part = ImageDeserializer(form.path(), streams, layout=layout, **options, **given)
    return Dataset((part,), _shown(path), frozenset())


@suggests_arguments
def read_webdataset(
    path: Source,
    /,
    *,
    fields: Sequence[str] | None = None,
    size: Size | None = None,
    transforms: AnyTransform | Sequence[AnyTransform] = (),
    dtype: Literal["uint8", "float32"] | None = None,
    layout: Literal["HWC", "CHW"] = "HWC",
    ragged: bool = False,
    on_corrupt_image: OnCorruptImage | None = None,
    streams: Mapping[str, Column] | None = None,
    nulls: Nulls | None = None,
) -> Dataset:
    """Tar archives as WebDataset packs them: members with one name before its first ``.`` are an example, a stream for each extension.

    Images, such as ``7.jpg``, are arrays; ``.cls``, ``.index``, ``.id`` are int64; ``.txt`` and ``.json`` are str; ``.npy`` is an array of
    one type and shape, or ragged if the first ones differ in their first dimension; other members are bytes. Archives are read in their order and where they are, without unpacking;
    those that gzip has compressed are slow in shuffled orders. The key of an example is the name that its members have in common.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The archive; a pattern such as ``"train-*.tar"`` or ``"train-{000..127}.tar"``; or a list of them.
    fields : sequence of str, optional
        The extensions that are read, and perhaps ``"__key__"``, the name that the members have in common. By default all extensions
        of the first example.
    size, transforms, dtype, layout, ragged, on_corrupt_image
        As for :func:`read_images`, for all images.
    streams : mapping of str to Column, optional
        Extensions whose streams differ from that, as :func:`column` and :func:`image_column` make them: ``{"npy": tesson.column(ragged=True)}``,
        or ``dtype=bytes`` for files as they are.
    nulls : {"refuse", "skip", "nan"} or float, optional
        What it is that an example lacks one of the members: an error, the default; a reason to leave the example out; or this value.

    Examples
    --------
    >>> import io, tarfile
    >>> with tarfile.open("captions.tar", "w") as archive:
    ...     for name, data in [("0.txt", b"a cat"), ("0.cls", b"3"), ("1.txt", b"a dog"), ("1.cls", b"4")]:
    ...         member = tarfile.TarInfo(name)
    ...         member.size = len(data)
    ...         archive.addfile(member, io.BytesIO(data))
    >>> tesson.read_webdataset("captions.tar")
    <Dataset captions.tar: txt str [], cls int64 []>
    """
    if isinstance(fields, (str, Mapping)):
        kind = "the text" if isinstance(fields, str) else "a mapping"
        raise ConfigError(f"fields: found {kind} {fields!r}, expected a list of extensions, such as ['jpg', 'cls']", path="fields")
    found = _fields_of_first(path) if fields is None else [field.lstrip(".").lower() for field in fields]
    pickles = [field for field in found if field.rsplit(".", 1)[-1] in _PICKLES]
    if pickles:
        choice = f"name those to read, as in fields={[field for field in found if field not in pickles]!r}"
        raise ConfigError(f"fields: found `.{pickles[0]}`, which is a pickle: reading it would run its code; {choice}", path="fields")
    images = [field for field in found if field.rsplit(".", 1)[-1] in _IMAGES]
    if len(images) != 1 or any(field not in (images[0], "cls") for field in found) or nulls is not None or streams:
        if on_corrupt_image not in (None, "error"):
            choice = "read one image and `.cls` alone, or set `max_errors` of the loader"
            raise ConfigError(f"on_corrupt_image: found {on_corrupt_image!r} with the members {', '.join(found)}; {choice}", path="on_corrupt_image")
        return _members_of_archives(path, found, images, decoding(size, transforms, dtype, False, ragged), layout, streams or {}, nulls)
    defined = {images[0]: decoding(size, transforms, dtype, False, ragged)}
    if "cls" in found:
        defined["cls"] = StreamDef("label", dtype="int64")
    part = TarImageDeserializer(
        path, defined, layout=layout, image_extension=images[0], channel_order="rgb", exif_orientation="apply",
        on_corrupt_image=on_corrupt_image,
    )
    return Dataset((part,), _shown(path), frozenset())


def _members_of_archives(path: Source, fields: Sequence[str], images: Sequence[str], decoded: StreamDef, layout: str, streams: Mapping[str, Column], nulls: Nulls | None) -> Dataset:
    """Archives as tables, whose columns are the extensions."""
    from .tables import Column, table_files

    steps = [{"type": "Decode", "channelOrder": "rgb", "exifOrientation": "apply", "grayscale": False}, *decoded.transforms]
    if layout == "CHW":
        steps.append(of_images.transpose())
    options: dict[str, Any] = {"transforms": steps}
    if decoded.dtype is not None:
        options["dtype"] = decoded.dtype
    if decoded.ragged:
        options["ragged"] = True
    return table_files(path, "webdataset", fields, {**{name: Column(None, options) for name in images}, **streams}, key_column="__key__", nulls=nulls)


#: The extensions of members.
_IMAGES = ("jpg", "jpeg", "jpe", "png", "bmp", "dib", "ppm", "pgm", "pbm", "pnm", "gif", "tif", "tiff", "webp")
_PICKLES = ("pth", "pt", "pyd", "pickle", "pkl")


def decoding(
    size: Size | None,
    transforms: AnyTransform | Sequence[AnyTransform],
    dtype: str | None,
    grayscale: bool,
    ragged: bool,
) -> StreamDef:
    """The definition of a stream of images."""
    steps: list[AnyTransform] = [transforms] if callable(transforms) or isinstance(transforms, Mapping) else list(transforms)
    if dtype not in ("uint8", "float32", None):
        raise ConfigError(f"dtype: found {dtype!r}, expected 'uint8' or 'float32'", path="dtype")
    kind = dtype or ("float32" if steps else "uint8")
    if size is not None:
        if ragged:
            raise ConfigError("ragged: images of one `size` have one shape; leave one of the two out", path="ragged")
        kinds = [_kind(step) for step in steps]
        if "Scale" in kinds:
            raise ConfigError("size: found a scale among the transforms, too; leave one of the two out", path="size")
        height, width = _height_and_width(size)
        at = next((i for i, step in enumerate(kinds) if step not in _CUTS), len(steps))
        steps.insert(at, of_images.scale(width, height, 1 if grayscale else 3))
    return StreamDef("image", transforms=steps, dtype="uint8" if kind == "uint8" else None, ragged=ragged)


def _kind(step: AnyTransform) -> str | None:
    return step.get("type") if isinstance(step, Mapping) else None


def _height_and_width(size: Size) -> tuple[int, int]:
    sides = (size, size) if isinstance(size, int) else tuple(size)
    if len(sides) != 2 or not all(isinstance(side, int) and not isinstance(side, bool) and side > 0 for side in sides):
        raise ConfigError(f"size: found {size!r}, expected a height and a width, such as (224, 224)", path="size")
    return sides


def _names(path: Source) -> list[str]:
    """The names and patterns that were given."""
    listed = files_of(path)
    return [listed] if isinstance(listed, str) else listed


def _fields_of_first(path: Source) -> list[str]:
    first = first_file(_names(path))
    if first is None or "://" in first:
        what = "found no local archive to take them from" if first else f"found no archive of the name {text_of(path)!r}"  # type: ignore[arg-type]
        raise ConfigError(f"fields: {what}; name them, as in fields=['jpg', 'cls']", path="fields")
    return extensions_in_tar(first)


def _shown(path: Source) -> str:
    """A path, or several, in a few words."""
    listed = files_of(path)
    return listed if isinstance(listed, str) else f"{listed[0]} and {len(listed) - 1} more" if len(listed) > 1 else listed[0]
