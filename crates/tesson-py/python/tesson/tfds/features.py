"""Features: the parts of an example. The same classes describe a dataset that is read and one that is written.

>>> from tesson import tfds
>>> features = tfds.features.FeaturesDict({
...     "image": tfds.features.Image(shape=(28, 28, 1)),
...     "label": tfds.features.ClassLabel(names=["cat", "dog"]),
... })
>>> features["label"].num_classes, features["image"].shape
(2, (28, 28, 1))
>>> features.dtype
{'image': 'uint8', 'label': 'int64'}
"""

from __future__ import annotations

import difflib
import enum
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ..paths import AnyPath, text_of
from . import values

__all__ = [
    "Audio",
    "BBox",
    "BBoxFeature",
    "ClassLabel",
    "DType",
    "Dataset",
    "Encoding",
    "FeatureConnector",
    "FeatureInfo",
    "FeaturesDict",
    "Image",
    "LabeledImage",
    "Scalar",
    "Sequence",
    "Tensor",
    "TensorInfo",
    "Text",
    "Translation",
    "TranslationVariableLanguages",
    "Video",
]

Shape: TypeAlias = tuple[int | None, ...]
"""Dimensions; those that differ from example to example are ``None``."""

_MODULE = "tensorflow_datasets.core.features"


class DType(str):
    """The name of a type of values; equal also to NumPy's type of that name.

    >>> DType("uint8") == "uint8" == DType(np.uint8), DType("uint8") == np.uint8
    (True, True)
    """

    __slots__ = ()

    def __new__(cls, dtype: Any) -> DType:
        return super().__new__(cls, _dtype_name(dtype))

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type; byte strings are objects."""
        if self == "string":
            return np.dtype(object)
        if self == "bfloat16":
            if values.bfloat16 is None:
                raise ImportError("NumPy has no bfloat16: install `ml_dtypes`")
            bfloat16: np.dtype[Any] = np.dtype(values.bfloat16)
            return bfloat16
        return np.dtype(str(self))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        try:
            return str.__eq__(self, _dtype_name(other))
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


def _dtype_name(dtype: Any) -> str:
    """The name that features.json has for a type: of NumPy, Python, JAX, TensorFlow, or a name."""
    if isinstance(dtype, str):
        return {"str": "string", "object": "string", "bytes": "string"}.get(dtype, str(dtype))
    if dtype is None:
        raise TypeError("found None, expected a type of values such as `np.uint8`")
    name = getattr(dtype, "name", None)
    if isinstance(name, str) and not isinstance(dtype, (type, np.dtype)):
        return name
    found = np.dtype(dtype)
    return "string" if found.kind in "SUO" else found.name


@dataclass(frozen=True)
class TensorInfo:
    """Shape and type of the values of a feature."""

    shape: Shape
    dtype: DType


class FeatureConnector:
    """A feature. Features are equal if their values have the same shape, type and names of classes."""

    @property
    def shape(self) -> Any:
        """The shape of its values; of a dictionary of features a dictionary of shapes."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """The type of its values; of a dictionary of features a dictionary of types."""
        raise NotImplementedError

    @property
    def np_dtype(self) -> Any:
        """The type as NumPy has it."""
        return self.dtype.numpy

    numpy_dtype = np_dtype

    @property
    def sequence_rank(self) -> int:
        """Number of sequences around the values; their lengths are the first dimensions of the shape."""
        return 0

    @property
    def dataset_level(self) -> int:
        """Number of nested datasets around the values."""
        return 0

    @property
    def optional(self) -> bool:
        """True if an example may lack it."""
        return False

    def get_tensor_info(self) -> Any:
        """Shape and type together."""
        return TensorInfo(self.shape, self.dtype)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        raise NotImplementedError

    def _leaves(self) -> list[tuple[Any, ...]]:
        """The properties that equality compares for each array: path, shape, type, sequences, datasets, optional or
        not, classes."""
        return [((), self.shape, self.dtype, self.sequence_rank, self.dataset_level, self.optional, None)]

    def _classes(self) -> Iterator[tuple[tuple[str, ...], list[str]]]:
        """The keys to each feature of classes with names, and the names."""
        return iter(())

    def __eq__(self, other: object) -> bool:
        return self._leaves() == other._leaves() if isinstance(other, FeatureConnector) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self._leaves()))


class _Array(FeatureConnector):
    """A feature with one array as its value."""

    def __init__(self, shape: Iterable[int | None], dtype: Any, optional: bool) -> None:
        self._shape, self._dtype, self._optional = _shape(shape), DType(dtype), optional

    @property
    def shape(self) -> Shape:
        """The dimensions, those of sequences first."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._dtype

    @property
    def optional(self) -> bool:
        """True if an example may lack it."""
        return self._optional


class FeatureInfo(_Array):
    """A feature by its shape and type alone, with all sequences around it: ``FeatureInfo((None, 4), "float32", 1)`` is the
    same as ``Sequence(Tensor(shape=(4,), dtype="float32"))``."""

    def __init__(
        self,
        shape: Iterable[int | None],
        dtype: Any,
        sequence_rank: int = 0,
        dataset_level: int = 0,
        optional: bool = False,
    ) -> None:
        super().__init__(shape, dtype, optional)
        if not 0 <= sequence_rank <= len(self._shape):
            what = f"0 to {len(self._shape)}, the dimensions of its shape"
            raise ValueError(f"found sequence_rank={sequence_rank}, expected {what}")
        self._ranks = (sequence_rank, dataset_level)

    @property
    def sequence_rank(self) -> int:
        """Number of sequences around the values."""
        return self._ranks[0]

    @property
    def dataset_level(self) -> int:
        """Number of nested datasets around the values."""
        return self._ranks[1]

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        rank = self.sequence_rank
        of: FeatureConnector = Tensor(shape=self.shape[rank:], dtype=self.dtype, optional=self.optional)
        if self.dtype == "string" and len(self.shape) == rank and not self.optional:
            of = Text()
        for length in reversed(self.shape[:rank]):
            of = Sequence(of, length=length)
        for _ in range(self.dataset_level):
            of = Dataset(of)
        return of.to_json()

    def __repr__(self) -> str:
        names = ("sequence_rank", "dataset_level", "optional")
        more = "".join(f", {name}={getattr(self, name)}" for name in names if getattr(self, name))
        return f"FeatureInfo(shape={self.shape}, dtype={self.dtype}{more})"


class Encoding(enum.Enum):
    """How the values of a tensor are stored: in a list, as memory, or as compressed memory."""

    NONE = "none"
    BYTES = "bytes"
    ZLIB = "zlib"


EncodingWord: TypeAlias = Encoding | Literal["none", "bytes", "zlib"]


class Tensor(_Array):
    """An array of one type.

    Parameters
    ----------
    shape : tuple of int or None
        Its dimensions; ``None`` for those that differ from example to example.
    dtype : type or str
        The type of its values.
    encoding : {"none", "bytes", "zlib"}
        The way in which they are stored. More than one unknown dimension needs an encoding.
    optional : bool
        True if an example may lack it.
    doc : str
        A description.
    """

    def __init__(
        self,
        *,
        shape: Iterable[int | None],
        dtype: Any,
        encoding: EncodingWord = "none",
        optional: bool = False,
        doc: Any = None,
    ) -> None:
        super().__init__(shape, dtype, optional)
        self.encoding: Encoding = Encoding(encoding)
        self.doc = doc

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        return self._node("tensor_feature.Tensor", tensor=self._tensor())

    def _tensor(self) -> dict[str, Any]:
        content = {"shape": _dimensions(self.shape), "dtype": str(self.dtype), "encoding": self.encoding.value}
        return {**content, "optional": True} if self.optional else content

    def _node(self, name: str, **content: Any) -> dict[str, Any]:
        return _node(name, self.doc, **content)

    def __repr__(self) -> str:
        encoding = "" if self.encoding is Encoding.NONE else f", encoding={self.encoding.value}"
        optional = ", optional=True" if self.optional else ""
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}{encoding}{optional})"


class Scalar(Tensor):
    """A single value."""

    def __init__(self, dtype: Any, *, optional: bool = False, doc: Any = None) -> None:
        super().__init__(shape=(), dtype=dtype, optional=optional, doc=doc)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        return self._node("scalar.Scalar", tensor=self._tensor())


class Text(Tensor):
    """A byte string; ``str`` is written as UTF-8."""

    def __init__(self, encoder: None = None, encoder_config: None = None, *, doc: Any = None) -> None:
        if encoder is not None or encoder_config is not None:
            raise ValueError("found a text encoder, expected none: TFDS has removed them, write the encoded text as a Tensor")
        super().__init__(shape=(), dtype="string", doc=doc)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        return self._node("text_feature.Text", text={})


class _Classes(FeatureConnector):
    """A feature with numbers of classes as values."""

    _num_classes: int
    _names: list[str] | None

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return self._num_classes

    @property
    def names(self) -> list[str]:
        """The names of the classes."""
        return [str(n) for n in range(self.num_classes)] if self._names is None else list(self._names)

    def _leaves(self) -> list[tuple[Any, ...]]:
        (leaf,) = super()._leaves()
        return [(*leaf[:-1], tuple(self.names))]

    def _classes(self) -> Iterator[tuple[tuple[str, ...], list[str]]]:
        if self._names is not None:
            yield (), self._names


class ClassLabel(_Classes, Tensor):
    """A class: its number, or in examples that are written also its name. -1 means no label.

    Parameters
    ----------
    num_classes : int, optional
        The number of classes; with names they are counted.
    names : iterable of str, optional
        Their names, in the order of their numbers. Without any, classes have their numbers for names.
    names_file : path, optional
        A text file with a name in each line.
    """

    def __init__(
        self,
        *,
        num_classes: int | None = None,
        names: Iterable[str] | None = None,
        names_file: AnyPath | None = None,
        doc: Any = None,
    ) -> None:
        super().__init__(shape=(), dtype="int64", doc=doc)
        self._num_classes, self._names = _class_names(num_classes, names, names_file)

    def int2str(self, int_value: int) -> str:
        """The name of a class."""
        if not 0 <= int_value < self.num_classes:
            raise ValueError(f"found label {int_value}, expected 0 to {self.num_classes - 1}")
        return self.names[int_value]

    def str2int(self, str_value: str) -> int:
        """The number of a class."""
        names = self.names
        if str_value not in names:
            near = difflib.get_close_matches(str(str_value), names, 1)
            hint = f", did you mean `{near[0]}`?" if near else ""
            raise ValueError(f"found label {str_value!r}, expected one of {', '.join(names[:10])}{hint}")
        return names.index(str_value)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        return self._node("class_label_feature.ClassLabel", classLabel={"numClasses": str(self.num_classes)})

    def __repr__(self) -> str:
        return f"ClassLabel(shape=(), dtype=int64, num_classes={self.num_classes})"


class BBox(NamedTuple):
    """A box in an image, in parts of its height and width."""

    ymin: float
    xmin: float
    ymax: float
    xmax: float


class BBoxFeature(Tensor):
    """A box in an image: four numbers."""

    def __init__(self, *, bbox_format: Any = None, doc: Any = None) -> None:
        super().__init__(shape=(4,), dtype="float32", doc=doc)
        self.bbox_format = bbox_format

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        word = getattr(self.bbox_format, "value", self.bbox_format)
        return self._node("bounding_boxes.BBoxFeature", boundingBox={} if word is None else {"bboxFormat": word})


class Image(Tensor):
    """An image.

    An example to be written has an array of its pixels, which is stored as PNG, or the file of a PNG, JPEG, GIF or BMP image: its
    bytes as they are stored, or its path.

    Parameters
    ----------
    shape : tuple of int or None
        Height, width, channels.
    dtype : {"uint8", "uint16", "float32"}
        The type of a pixel's values.
    encoding_format : {"png", "jpeg"}, optional
        How the files are encoded; a note for readers. Arrays are stored without loss, so ``"jpeg"`` takes only files.
    """

    def __init__(
        self,
        *,
        shape: Iterable[int | None] | None = None,
        dtype: Any = None,
        encoding_format: Literal["png", "jpeg"] | None = None,
        use_colormap: bool = False,
        doc: Any = None,
    ) -> None:
        shape = (None, None, 3) if shape is None else shape
        super().__init__(shape=shape, dtype="uint8" if dtype is None else dtype, doc=doc)
        self.encoding_format: str | None = _encoding_format(encoding_format)
        self.use_colormap = use_colormap

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        return self._node("image_feature.Image", image=self._image())

    def _image(self) -> dict[str, Any]:
        content: dict[str, Any] = {"shape": _dimensions(self.shape), "dtype": str(self.dtype)}
        if self.encoding_format is not None:
            content["encodingFormat"] = self.encoding_format
        return {**content, "useColormap": True} if self.use_colormap else content


class LabeledImage(_Classes, Image):
    """An image with numbers of classes as pixels."""

    def __init__(
        self,
        *,
        labels: int | Iterable[str] | AnyPath | None = None,
        shape: Iterable[int | None] | None = None,
        dtype: Any = None,
        encoding_format: Literal["png", "jpeg"] | None = None,
        use_colormap: bool = False,
        doc: Any = None,
    ) -> None:
        shape = (None, None, 1) if shape is None else shape
        super().__init__(shape=shape, dtype=dtype, encoding_format=encoding_format, use_colormap=use_colormap, doc=doc)
        if isinstance(labels, (str, bytes, os.PathLike)):
            found = _class_names(None, None, labels)
        elif labels is None or isinstance(labels, int):
            found = _class_names(labels or 0, None, None)
        else:
            found = _class_names(None, labels, None)
        self._num_classes, self._names = found

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        content = {**self._image(), "label": {"numClasses": str(self.num_classes)}}
        return self._node("labeled_image.LabeledImage", image=content)


class Audio(Tensor):
    """Sound: samples, or with ``lazy_decode`` the file of a recording."""

    def __init__(
        self,
        *,
        file_format: str | None = None,
        shape: Iterable[int | None] = (None,),
        dtype: Any = "int64",
        sample_rate: int | None = None,
        encoding: EncodingWord = "none",
        lazy_decode: bool = False,
        doc: Any = None,
    ) -> None:
        super().__init__(shape=shape, dtype=dtype, encoding=encoding, doc=doc)
        self.file_format: str | None = file_format
        self.sample_rate: int | None = sample_rate
        self.lazy_decode: bool = lazy_decode

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        content = {**self._tensor(), "encoding": self.encoding.name, "lazyDecode": self.lazy_decode}
        if self.file_format is not None:
            content["fileFormat"] = self.file_format
        if self.sample_rate is not None:
            content["sampleRate"] = str(self.sample_rate)
        return self._node("audio_feature.Audio", audio=content)


class FeaturesDict(dict[str, Any], FeatureConnector):  # type: ignore[misc]
    """Features by name."""

    def __init__(self, feature_dict: Mapping[str, Any], *, doc: Any = None) -> None:
        super().__init__({name: to_feature(feature) for name, feature in feature_dict.items()})
        self.doc = doc

    @property
    def shape(self) -> dict[str, Any]:
        """The shape of each feature."""
        return {name: feature.shape for name, feature in self.items()}

    @property
    def dtype(self) -> dict[str, Any]:
        """The type of each feature."""
        return {name: feature.dtype for name, feature in self.items()}

    @property
    def np_dtype(self) -> dict[str, Any]:
        """The type of each feature as NumPy has it."""
        return {name: feature.np_dtype for name, feature in self.items()}

    numpy_dtype = np_dtype

    def get_tensor_info(self) -> dict[str, Any]:
        """Shape and type of each feature."""
        return {name: feature.get_tensor_info() for name, feature in self.items()}

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        members = {name: feature.to_json() for name, feature in self.items()}
        return _node("features_dict.FeaturesDict", self.doc, featuresDict={"features": members})

    def _leaves(self) -> list[tuple[Any, ...]]:
        return [((name, *leaf[0]), *leaf[1:]) for name in sorted(self) for leaf in self[name]._leaves()]

    def _classes(self) -> Iterator[tuple[tuple[str, ...], list[str]]]:
        for name, feature in self.items():
            yield from (((name, *keys), names) for keys, names in feature._classes())

    def __eq__(self, other: object) -> bool:
        return self._leaves() == to_feature(other)._leaves() if isinstance(other, Mapping) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        members = "".join(f"    {name!r}: {_indented(feature)},\n" for name, feature in self.items())
        return f"{type(self).__name__}({{\n{members}}})"


class Translation(FeaturesDict):
    """One text in several languages."""

    def __init__(self, languages: Iterable[str], encoder: None = None, encoder_config: None = None, *, doc: Any = None) -> None:
        self.languages: list[str] = list(languages)
        super().__init__({language: Text(encoder, encoder_config) for language in self.languages}, doc=doc)

    def __reduce__(self) -> tuple[Any, ...]:
        return Translation, (self.languages,)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        content = {"languages": self.languages, "variableLanguagesPerExample": False}
        return _node("translation_feature.Translation", self.doc, translation=content)


class Sequence(FeatureConnector):
    """A sequence of one feature, of any length or of ``length``. Attributes that it lacks are those of the feature in it."""

    _class = "sequence_feature.Sequence"

    def __init__(self, feature: Any, length: int | None = None, *, doc: Any = None) -> None:
        self._feature = to_feature(feature)
        self.length: int | None = None if length is None or length < 0 else int(length)
        self.doc = doc

    @property
    def feature(self) -> Any:
        """The feature of the sequence's items."""
        return self._feature

    @property
    def shape(self) -> Any:
        """The shapes with the length in front."""
        return _deep(self._feature.shape, lambda shape: (self.length, *shape))

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self._feature.dtype

    @property
    def np_dtype(self) -> Any:
        """The type as NumPy has it."""
        return self._feature.np_dtype

    numpy_dtype = np_dtype

    def get_tensor_info(self) -> Any:
        """Shape and type together."""
        of = self._feature.get_tensor_info()
        return _deep(of, lambda info: TensorInfo((self.length, *info.shape), info.dtype))

    @property
    def sequence_rank(self) -> int:
        """Number of sequences around the values."""
        return 1 + int(self._feature.sequence_rank)

    @property
    def dataset_level(self) -> int:
        """Number of nested datasets around the values."""
        return int(self._feature.dataset_level)

    @property
    def optional(self) -> bool:
        """True if an example may lack the values."""
        return bool(self._feature.optional)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        length = str(-1 if self.length is None else self.length)
        return _node(self._class, self.doc, sequence={"feature": self._feature.to_json(), "length": length})

    def _leaves(self) -> list[tuple[Any, ...]]:
        def within(leaf: tuple[Any, ...]) -> tuple[Any, ...]:
            keys, shape, dtype, rank, level, *more = leaf
            return (keys, (self.length, *shape), dtype, rank + 1, level, *more)

        return [within(leaf) for leaf in self._feature._leaves()]

    def _classes(self) -> Iterator[tuple[tuple[str, ...], list[str]]]:
        yield from self._feature._classes()

    def __getattr__(self, name: str) -> Any:
        # While a pickle is loaded there is no feature yet.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._feature, name)

    def __getitem__(self, key: str) -> Any:
        return self._feature[key]

    def __contains__(self, key: object) -> bool:
        return key in self._feature

    def __iter__(self) -> Iterator[Any]:
        return iter(self._feature)

    def __repr__(self) -> str:
        length = "" if self.length is None else f", length={self.length}"
        return f"{type(self).__name__}({self._feature!r}{length})"


class Dataset(Sequence):
    """A dataset in an example: RLDS' episodes have their steps so."""

    _class = "dataset_feature.Dataset"

    @property
    def shape(self) -> Any:
        """The shapes of an element."""
        return self._feature.shape

    def get_tensor_info(self) -> Any:
        """Shape and type of an element."""
        return self._feature.get_tensor_info()

    @property
    def sequence_rank(self) -> int:
        """Number of sequences around the values of an element."""
        return int(self._feature.sequence_rank)

    @property
    def dataset_level(self) -> int:
        """Number of nested datasets around the values."""
        return 1 + int(self._feature.dataset_level)

    def _leaves(self) -> list[tuple[Any, ...]]:
        leaves = self._feature._leaves()
        return [(*leaf[:4], leaf[4] + 1, *leaf[5:]) for leaf in leaves]


class Video(Sequence):
    """Pictures one after the other: frames, height, width, channels."""

    def __init__(
        self,
        shape: Iterable[int | None] = (None, None, None, 3),
        encoding_format: Literal["png", "jpeg"] | None = None,
        *,
        dtype: Any = "uint8",
        ffmpeg_extra_args: Iterable[str] = (),
        use_colormap: bool = False,
        doc: Any = None,
    ) -> None:
        frames, *frame = _shape(shape)
        if list(ffmpeg_extra_args):
            raise ValueError("found `ffmpeg_extra_args`, expected none: videos are written from their frames, not by ffmpeg")
        image = Image(shape=frame, dtype=dtype, encoding_format=encoding_format, use_colormap=use_colormap)
        super().__init__(image, length=frames, doc=doc)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        content = {**self._feature._image(), "shape": _dimensions(self.shape)}
        return _node("video_feature.Video", self.doc, video=content)

    def __repr__(self) -> str:
        return f"Video(shape={self.shape}, dtype={self.dtype})"


class TranslationVariableLanguages(Sequence):
    """Texts, each with its language; examples differ in their languages."""

    def __init__(self, languages: Iterable[str] | None = None, *, doc: Any = None) -> None:
        super().__init__({"language": Text(), "translation": Text()}, doc=doc)
        self.languages: list[str] | None = None if languages is None else sorted(languages)

    def to_json(self) -> dict[str, Any]:
        """The node of features.json."""
        content = {"languages": self.languages or [], "variableLanguagesPerExample": True}
        return _node("translation_feature.TranslationVariableLanguages", self.doc, translation=content)


class _Node(FeatureConnector):
    """A node of features.json as it is written there."""

    def __init__(self, node: dict[str, Any]) -> None:
        self._written = node

    def to_json(self) -> dict[str, Any]:
        return self._written


def to_feature(feature: Any) -> Any:
    """Convert to a feature: a mapping, a type such as ``np.int64``, a node of features.json."""
    if isinstance(feature, FeatureConnector):
        return feature
    if isinstance(feature, Mapping):
        is_node = isinstance(feature.get("pythonClassName", feature.get("type")), str)
        return _Node(dict(feature)) if is_node else FeaturesDict(feature)
    try:
        return Scalar(feature)
    except TypeError:
        what = "a feature such as `tfds.features.Image()`, a mapping of features, or a type such as `np.int64`"
        raise TypeError(f"found {feature!r}, expected {what}") from None


def from_description(node: dict[str, Any], labels: Mapping[str, list[str]], path: str = "") -> Any:
    """The feature of a description, which has its class and its parts."""
    fields = {name: of for name, of in node.items() if name != "class"}
    cls = _CLASSES[node["class"]]
    if cls is FeaturesDict:
        join = f"{path}/" if path else ""
        return FeaturesDict({name: from_description(of, labels, join + name) for name, of in fields["features"].items()})
    if "feature" in fields:
        fields["feature"] = from_description(fields["feature"], labels, path)
    if cls is ClassLabel:
        return ClassLabel(names=labels[path]) if path in labels else ClassLabel(num_classes=0)
    if cls is LabeledImage:
        return LabeledImage(labels=labels.get(path), **fields)
    return cls(**fields)


def arrays(tree: dict[str, Any]) -> Any:
    """The arrays of an example: dictionaries with a :class:`FeatureInfo` at each leaf, sequences folded into the shapes."""
    if "fields" in tree:
        return {name: arrays(of) for name, of in tree["fields"].items()}
    return FeatureInfo(**tree)


_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        Audio,
        BBoxFeature,
        ClassLabel,
        Dataset,
        FeaturesDict,
        Image,
        LabeledImage,
        Scalar,
        Sequence,
        Tensor,
        Text,
        Translation,
        TranslationVariableLanguages,
        Video,
    )
}


def _node(name: str, doc: Any, **content: Any) -> dict[str, Any]:
    described = {"description": doc} if isinstance(doc, str) and doc else {}
    return {"pythonClassName": f"{_MODULE}.{name}", **content, **described}


def _shape(shape: Iterable[int | None]) -> Shape:
    def dim(size: Any) -> int | None:
        if size is None or (isinstance(size, (int, np.integer)) and size >= -1):
            return None if size is None or size == -1 else int(size)
        raise ValueError(f"found {size!r} in a shape, expected a size, or None for one that varies")

    if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
        raise TypeError(f"found shape={shape!r}, expected a tuple such as (28, 28, 1)")
    return tuple(map(dim, shape))


def _dimensions(shape: Shape) -> dict[str, list[str]]:
    return {"dimensions": [str(-1 if dim is None else dim) for dim in shape]}


def _encoding_format(word: str | None) -> str | None:
    if word not in (None, "png", "jpeg"):
        raise ValueError(f"found encoding_format={word!r}, expected 'png' or 'jpeg'")
    return word


def _class_names(
    num_classes: int | None, names: Iterable[str] | None, names_file: AnyPath | None
) -> tuple[int, list[str] | None]:
    """Number and names of classes; at most one of the arguments may be set."""
    given = [word for word in (num_classes, names, names_file) if word is not None]
    if len(given) > 1:
        raise ValueError("found several of num_classes, names and names_file, expected one of them")
    if names_file is not None:
        lines = Path(text_of(names_file)).read_text(encoding="utf-8").splitlines()
        names = [line.strip() for line in lines if line.strip()]
    if names is None:
        return num_classes or 0, None
    if isinstance(names, (str, bytes)):
        raise TypeError(f"found names={names!r}, expected a list of names")
    listed = [str(name) for name in names]
    twice = {name for name in listed if listed.count(name) > 1} if len(set(listed)) < len(listed) else set()
    if twice:
        raise ValueError(f"found {min(twice)!r} more than once among the names of classes, expected different names")
    return len(listed), listed


def _deep(tree: Any, change: Any) -> Any:
    """A tree of dictionaries with the leaves replaced."""
    if isinstance(tree, dict):
        return {name: _deep(of, change) for name, of in tree.items()}
    return change(tree)


def _indented(feature: Any) -> str:
    return repr(feature).replace("\n", "\n    ")
