"""Datasets of images: in folders, lists, archives."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import transforms as of_images
from .dataset import Dataset
from .errors import ConfigError, StoreError
from .image_deserializers import Base64ImageDeserializer, ImageDeserializer, TarImageDeserializer
from .keywords import suggests_arguments
from .paths import AnyPath, files_of, optional_text_of, text_of
from .streams import StreamDef, StreamDefs
from .transforms import AnyTransform

if TYPE_CHECKING:
    from .tables import Column, Nulls

__all__ = ["decoding", "read_images", "read_webdataset"]

#: Bytes of a file by which its format is found.
_BEGINNING = 64 << 10
#: Members of an archive that are looked at for classes.
_MEMBERS = 64
#: How files of images begin in Base64, JPEG, PNG, GIF, BMP, WebP and TIFF, and the characters that any has.
_BASE64_LENGTH = 40
_BASE64 = ("/9j/", "iVBORw0KGgo", "R0lGOD", "Qk", "UklGR", "SUkq", "TU0A")
#: Transforms that cut an image, which precede its resize.
_CUTS = ("Crop", "RandomResizedCrop")
_TAR_NAMES = (".tar", ".tar.gz", ".tgz")

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
    form = _form(path)
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
    if given and form.kind in ("tar", "base64"):
        name = next(iter(given))
        what = f"found {name}={given[name]!r}, but {form.words} have no columns, paths or names of classes; leave it out"
        raise ConfigError(f"{name}: {what}", path=name)
    part: ImageDeserializer | Base64ImageDeserializer | TarImageDeserializer
    if form.kind == "tar":
        part = TarImageDeserializer(path, streams, layout=layout, **options)
    elif form.kind == "base64":
        part = Base64ImageDeserializer(form.path, streams, layout=layout, **options)
    else:
        if form.map_format is not None:
            options["map_format"] = form.map_format
        part = ImageDeserializer(form.path, streams, layout=layout, **options, **given)
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
    return table_files(path, "webdataset", fields, {**{name: Column(None, options) for name in images}, **streams}, {"keyColumn": "__key__", "nulls": nulls})


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


class _Form:
    """The kind of a path, as its content shows it."""

    def __init__(self, kind: Literal["folder", "list", "base64", "tar"], path: str, map_format: str | None = None, text: str = "") -> None:
        self.kind, self.path, self.map_format, self.text = kind, path, map_format, text

    @property
    def words(self) -> str:
        """The kind in the plural."""
        return {"tar": "archives", "base64": "images in Base64", "list": "lists", "folder": "folders"}[self.kind]

    def has_labels(self, column: str) -> bool:
        """True if there are classes."""
        if self.kind == "folder":
            return any(entry.endswith("/") for entry in _entries(self.path))
        if self.kind == "tar":
            return "cls" in _extensions(self.path)
        if self.kind == "base64":
            return True
        line = next((line for line in self.text.splitlines() if line.strip()), "")
        if self.map_format == "csv":
            return column in [name.strip().strip('"') for name in line.split(",")]
        if self.map_format == "jsonl":
            return column in _first_object(line)
        return "\t" in line


def _first_object(line: str) -> dict[str, Any]:
    """The object of a line; what is none is refused when it is read."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _form(path: Source) -> _Form:
    """Finds out what a path is."""
    if not isinstance(path, (str, bytes, os.PathLike)) or re.search(r"[*?\[{]", text_of(path)):
        first = next(iter(_local(path)), None)
        return _Form("tar", first or "")
    name = text_of(path)
    if "://" in name and not os.path.exists(name):
        # Elsewhere than on this machine the name says it.
        kind: Any = "tar" if name.endswith(_TAR_NAMES) else "folder" if name.endswith("/") else "list"
        return _Form(kind, name)
    if os.path.isdir(name):
        return _Form("folder", name)
    try:
        with open(name, "rb") as file:
            begin = file.read(_BEGINNING)
    except OSError as e:
        raise StoreError(f"{name}: {e.strerror or e}", file=name, errno=e.errno) from None
    if begin.startswith(b"PK\x03\x04"):
        return _Form("folder", f"zip://{name}@/{_outermost(name)}")
    if begin[257:262] == b"ustar" or begin.startswith(b"\x1f\x8b"):
        return _Form("tar", name)
    return _text_form(name, begin.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))


def _text_form(name: str, text: str) -> _Form:
    """The kind of a list."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    suffix = os.path.splitext(name)[1].lower()
    if suffix in (".jsonl", ".ndjson") or line.startswith("{"):
        return _Form("list", name, "jsonl", text)
    if suffix == ".csv" or ("\t" not in line and "," in line):
        return _Form("list", name, "csv", text)
    last = line.rsplit("\t", 1)[-1]
    if "\t" in line and last.startswith(_BASE64) and len(last) >= _BASE64_LENGTH:
        return _Form("base64", name, None, text)
    return _Form("list", name, "cntk", text)


def _entries(folder: str) -> Iterable[str]:
    """The names in a folder or an archive; those of folders end with ``/``."""
    if folder.startswith("zip://"):
        archive, _, inside = folder.removeprefix("zip://").partition("@/")
        prefix = f"{inside}/" if inside else ""
        names = (name.removeprefix(prefix) for name in _names(archive) if name.startswith(prefix))
        return (name[: name.find("/") + 1] or name for name in names if name)
    if "://" in folder:
        return ()
    with os.scandir(folder) as entries:
        return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]


def _names(archive: str) -> list[str]:
    import zipfile

    try:
        with zipfile.ZipFile(archive) as opened:
            return [name for name in opened.namelist() if not name.startswith("__MACOSX/")]
    except zipfile.BadZipFile as e:
        raise StoreError(f"{archive}: {e}", file=archive) from None


def _outermost(archive: str) -> str:
    """The folder that an archive has everything in, if that has folders in turn; else none."""
    names = _names(archive)
    outer = {name.split("/", 1)[0] for name in names}
    inner = {name.split("/", 2)[1] for name in names if name.count("/") > 1}
    return outer.pop() if len(outer) == 1 and inner else ""


def _local(path: Source) -> Iterator[str]:
    """The local files of a path or a pattern, in order."""
    import glob

    listed = files_of(path)
    for given in [listed] if isinstance(listed, str) else listed:
        for name in _braces(given):
            yield from sorted(glob.glob(name)) if re.search(r"[*?\[]", name) else [name]


def _braces(name: str) -> Iterator[str]:
    """The names that braces stand for, the first few of them."""
    found = re.search(r"\{([^{}]*)\}", name)
    if found is None:
        yield name
        return
    inside = re.fullmatch(r"(\d+)\.\.(\d+)", found[1])
    choices = [inside[1]] if inside else found[1].split(",")
    for choice in choices:
        yield from _braces(name[: found.start()] + choice + name[found.end() :])


def _extensions(archive: str) -> list[str]:
    """The extensions of the members of the first example, in order."""
    import tarfile

    found: list[str] = []
    key = None
    try:
        with tarfile.open(archive, "r|*") as opened:
            for number, member in enumerate(opened):
                folder, _, file = member.name.rpartition("/")
                stem, dot, extension = file.partition(".")
                if not member.isfile() or not dot or not stem:
                    continue
                if key not in (None, (folder, stem)) or number > _MEMBERS:
                    break
                key = (folder, stem)
                found.append(extension.lower())
    except (OSError, tarfile.TarError) as e:
        raise StoreError(f"{archive}: {e}", file=archive, errno=getattr(e, "errno", None)) from None
    return found


def _fields_of_first(path: Source) -> list[str]:
    first = next(_local(path), None)
    if first is None or "://" in first:
        what = "found no local archive to take them from" if first else f"found no archive of the name {text_of(path)!r}"  # type: ignore[arg-type]
        raise ConfigError(f"fields: {what}; name them, as in fields=['jpg', 'cls']", path="fields")
    return _extensions(first)


def _shown(path: Source) -> str:
    """A path, or several, in a few words."""
    listed = files_of(path)
    return listed if isinstance(listed, str) else f"{listed[0]} and {len(listed) - 1} more" if len(listed) > 1 else listed[0]
