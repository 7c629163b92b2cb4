"""Deserializers: which files to read, how, and the streams they give."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsIndex, cast

from . import _tesson
from .errors import ConfigError
from .keywords import camel_case, suggests_keywords
from .paths import AnyPath, optional_text_of, text_of
from .streams import StreamConfiguration, StreamDef, StreamDefs
from .transforms import AnyTransform

__all__ = ["CBFDeserializer", "CTFDeserializer", "Deserializer", "TFDSDeserializer"]


class Deserializer:
    """The base of all deserializers: a part of a configuration, written in Python."""

    #: The type in configurations.
    type: str
    def __init__(self, options: Mapping[str, object]) -> None:
        self._options = {name: value for name, value in options.items() if value is not None}
        self._streams: dict[str, StreamDef] = {}

    @property
    def streams(self) -> StreamDefs:
        """The streams, by name."""
        return StreamDefs(self._streams)

    def __setitem__(self, option: str, value: object) -> None:
        """Set an option by its name in configurations, in any case, or its keyword: ``deserializer["grayscale"] = True``, as scripts for CNTK do.

        Raises
        ------
        ConfigError
            There is no such option.
        """
        self._options[self._keyword(option)] = value

    def __getitem__(self, option: str) -> Any:
        """An option that was given, by the same names; None if it was not.

        Raises
        ------
        ConfigError
            There is no such option.
        """
        return self._options.get(self._keyword(option))

    def _keyword(self, option: str) -> str:
        """The keyword of an option."""
        names = [row["name"] for row in _tesson.option_table(self.type) if row["name"] != "input"]
        wanted = option.replace("_", "").lower()
        name = next((name for name in names if name.lower() == wanted), None)
        if name is None:
            near = _tesson.nearest_name(option, names)
            remedy = "streams are given when it is made" if wanted == "input" else f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
            raise ConfigError(f"`{self.type}` has no option `{option}` to set; {remedy}", path=option)
        return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

    @property
    def _source_transforms(self) -> dict[str, list[AnyTransform]]:
        """The transforms by stream that the source applies."""
        listed = {name: stream.transforms for name, stream in self._streams.items() if not self._transforms_itself(stream)}
        return {name: list(transforms) for name, transforms in listed.items() if transforms}

    def _with_streams(self, names: Mapping[str, str]) -> Deserializer | None:
        """A deserializer of these data with other streams: those now called `names.values()`, by their new names. None if it cannot leave any out."""
        return None

    def _has_type(self, stream: StreamDef) -> bool:
        """True if a stream may be of another type than the source's, as images may."""
        return False

    def _transforms_itself(self, stream: StreamDef) -> bool:
        """True if the transforms of a stream are in its section, where those of images run as one."""
        return False

    @property
    def config(self) -> dict[str, Any]:
        """The deserializer in the dict form of a configuration, with the options' names as the file formats spell them."""
        config: dict[str, Any] = {"type": self.type}
        config.update((camel_case(name), value) for name, value in self._options.items() if value is not None)
        for name, stream in self._streams.items():
            if stream.dtype is not None and not self._has_type(stream):
                path = f"streams.{name}.dtype"
                raise ConfigError(f"{path}: found {stream.dtype} of a stream without images; give it to the source", path=path)
        config["input"] = {name: self._section(stream) for name, stream in self._streams.items()}
        for name, stream in self._streams.items():
            if stream.ragged and "ragged" not in config["input"][name]:
                path = f"streams.{name}.ragged"
                raise ConfigError(f"{path}: found True of a stream without images; leave it out", path=path)
        return config

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        """A stream as a section of ``input``."""
        section: dict[str, Any] = {}
        if stream.field is not None:
            section["alias"] = stream.field
        if stream.shape is not None:
            # Dimensions are multiplied out: the file knows only a number of values. The source gives arrays their shape.
            section["dim"] = stream.dim
        elif not stream.is_sparse:
            section["dim"] = "auto"
        section["format"] = "sparse" if stream.is_sparse else "dense"
        if stream.defines_mb_size:
            section["definesMBSize"] = True
        return section


@suggests_keywords
class CTFDeserializer(Deserializer):
    """Reads CNTK's text format: rows of ``|name values``, sequences by id.

    Parameters
    ----------
    filename : str or os.PathLike, or a list of them
        The file, relative to the working directory. A list of files, or a pattern such as ``"part-*.ctf"``, is one
        corpus: the files one after the other (those of a pattern by name); the same id in two files is two sequences.
    streams : mapping of str to StreamDef, or list of StreamConfiguration, optional
        The streams by name, usually :class:`StreamDefs`. :meth:`map_input` adds more.
    rules : {"lenient", "cntk"}, optional
        Which rows count as faults: ``"lenient"`` accepts more, ``"cntk"`` accepts exactly what CNTK 2.7 accepts. Default
        ``"lenient"``.
    empty_inputs : {"keep", "skip", "fault", "error"}, optional
        How the lenient rules handle a sequence that lacks one of the streams: deliver it without samples there
        (``"keep"``, the default in files with ids), leave it out of all streams (``"skip"``), leave it out and charge a
        fault (``"fault"``, the default in files without ids, where each row is a sequence), or fail (``"error"``). A
        sequence that lost all samples of a stream to faults is always left out.
    numbers : {"cntk", "extended"}, optional
        Syntax of numbers: ``"extended"`` also accepts ``.5``, ``1.e5``, ``nan`` and ``inf``, and requires a separator
        between values. Default ``"cntk"``.
    max_errors : int, optional
        Number of faults to tolerate before reading fails with :class:`DataError`. Default 0.
    skip_sequence_ids : bool, optional
        Read every row as a sequence, whatever its id. Default False.
    chunk_size_in_bytes : int, optional
        Size of a chunk, the unit of randomization. Default 33554432.
    cache_index : bool, optional
        Keep an index beside the file for the next time. Default False.
    keep_data_in_memory : bool, optional
        Keep decoded data for the next sweep. Default False.
    trace_level : {0, 1, 2}, optional
        Amount of logging: 0 errors, 1 also warnings, 2 everything. Default 1.
    precision : {"float", "double"}, optional
        The type of values. Default ``"float"``.
    frame_mode : bool, optional
        Accepted from older configurations; the source's ``frame_mode`` decides.
    num_chunks_to_cache : int, optional
        Accepted from older configurations, without effect.

    Examples
    --------
    >>> CTFDeserializer("train.ctf", StreamDefs(features=StreamDef("x", 784)), max_errors=3).config
    {'type': 'CNTKTextFormatDeserializer', 'file': 'train.ctf', 'maxErrors': 3, \
'input': {'features': {'alias': 'x', 'dim': 784, 'format': 'dense'}}}
    """

    type = "CNTKTextFormatDeserializer"

    def __init__(
        self,
        filename: AnyPath | Sequence[AnyPath],
        streams: Mapping[str, StreamDef] | Sequence[StreamConfiguration] | None = None,
        *,
        rules: Literal["lenient", "cntk"] | None = None,
        empty_inputs: Literal["keep", "skip", "fault", "error"] | None = None,
        numbers: Literal["cntk", "extended"] | None = None,
        max_errors: int | None = None,
        skip_sequence_ids: bool | None = None,
        chunk_size_in_bytes: int | None = None,
        cache_index: bool | None = None,
        keep_data_in_memory: bool | None = None,
        trace_level: Literal[0, 1, 2] | None = None,
        precision: Literal["float", "double"] | None = None,
        frame_mode: bool | None = None,
        num_chunks_to_cache: int | None = None,
    ) -> None:
        super().__init__({
            "file": _files(filename),
            "rules": rules,
            "empty_inputs": empty_inputs,
            "numbers": numbers,
            "max_errors": max_errors,
            "skip_sequence_ids": skip_sequence_ids,
            "chunk_size_in_bytes": chunk_size_in_bytes,
            "cache_index": cache_index,
            "keep_data_in_memory": keep_data_in_memory,
            "trace_level": trace_level,
            "precision": precision,
            "frame_mode": frame_mode,
            "num_chunks_to_cache": num_chunks_to_cache,
        })
        self._streams.update(StreamDefs(streams or {}))

    def map_input(
        self,
        name: str,
        dim: SupportsIndex | None = None,
        format: Literal["dense", "sparse"] = "dense",
        alias: str | None = None,
        defines_mb_size: bool = False,
    ) -> CTFDeserializer:
        """Add the stream `name`, in the older object style. Returns the deserializer itself.

        Parameters
        ----------
        name : str
            The stream's name.
        dim : int, optional
            Values in a sample; of sparse streams the number of columns.
        format : {"dense", "sparse"}
            How the file holds the samples.
        alias : str, optional
            The input's name in the file, by default `name`.
        defines_mb_size : bool
            True if only the samples of this stream count for the size of minibatches.

        Examples
        --------
        >>> CTFDeserializer("train.ctf").map_input("rois", dim=400, format="dense").streams
        StreamDefs(rois=StreamDef(field=None, shape=(400,), is_sparse=False, defines_mb_size=False))
        """
        if format.lower() not in ("dense", "sparse"):
            raise ConfigError(f"found format `{format}`, expected `dense` or `sparse`", path=f"streams.{name}.format")
        stream = StreamDef(alias, dim, format.lower() == "sparse", defines_mb_size=defines_mb_size)
        self._streams.update(StreamDefs({name: stream}))
        return self

    def __repr__(self) -> str:
        options = dict(self._options)
        arguments = [repr(options.pop("file")), repr(self.streams)]
        arguments += [f"{name}={value!r}" for name, value in options.items()]
        return f"CTFDeserializer({', '.join(arguments)})"


@suggests_keywords
class CBFDeserializer(Deserializer):
    """Reads CNTK's binary format. The file declares its streams; they need no definition.

    Parameters
    ----------
    filename : str or os.PathLike, or a list of them
        As in :class:`CTFDeserializer`.
    streams : mapping of str to StreamDef, optional
        Streams to be renamed, by their new names: ``StreamDefs(features=StreamDef(field="x"))``. Shapes and forms are
        those of the file; only a shape of several dimensions is kept, for the arrays. All other streams of the file come
        under their own names.
    skip : iterable of str, optional
        Names in the file of streams that are left out. What only they need is not read.
    keep_data_in_memory : bool, optional
        Keep decoded data for the next sweep. Default False.
    trace_level : {0, 1, 2}, optional
        Amount of logging: 0 errors, 1 also warnings, 2 everything. Default 1.
    precision : {"float", "double"}, optional
        The type of values, whatever the file's is. Default ``"float"``.
    cache_index : bool, optional
        Accepted for all deserializers alike, without effect: the file holds its own index.

    Examples
    --------
    >>> CBFDeserializer("train.cbf", StreamDefs(features=StreamDef("x")), skip=["y"]).config
    {'type': 'CNTKBinaryFormatDeserializer', 'file': 'train.cbf', \
'input': {'features': {'alias': 'x'}, 'y': {'skip': True}}}
    """

    type = "CNTKBinaryFormatDeserializer"

    def __init__(
        self,
        filename: AnyPath | Sequence[AnyPath],
        streams: Mapping[str, StreamDef] | None = None,
        *,
        skip: Iterable[str] = (),
        keep_data_in_memory: bool | None = None,
        trace_level: Literal[0, 1, 2] | None = None,
        precision: Literal["float", "double"] | None = None,
        cache_index: bool | None = None,
    ) -> None:
        super().__init__({
            "file": _files(filename),
            "keep_data_in_memory": keep_data_in_memory,
            "trace_level": trace_level,
            "precision": precision,
            "cache_index": cache_index,
        })
        self._streams.update(StreamDefs(streams or {}))
        self._skip = [skip] if isinstance(skip, str) else list(skip)
        if both := [name for name in self._skip if name in self._streams]:
            raise ConfigError(f"`{both[0]}` is a stream and is left out, expected one of the two", path="skip")

    @property
    def config(self) -> dict[str, Any]:
        """The deserializer in the dict form of a configuration, with the options' names as the file formats spell them."""
        config = super().config
        config["input"].update({name: {"skip": True} for name in self._skip})
        return config

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        return {} if stream.field is None else {"alias": stream.field}

    def __repr__(self) -> str:
        options = dict(self._options)
        arguments = [repr(options.pop("file")), repr(self.streams)]
        arguments += [f"skip={self._skip!r}"] if self._skip else []
        arguments += [f"{name}={value!r}" for name, value in options.items()]
        return f"CBFDeserializer({', '.join(arguments)})"


@suggests_keywords
class TFDSDeserializer(Deserializer):
    """Reads a split of a dataset prepared by TensorFlow Datasets; each example is a sequence.

    A feature in a sequence, or whose first dimension is unknown, has as many samples as it has there; any other has one.

    Parameters
    ----------
    directory : str or os.PathLike, optional
        The version directory, with ``dataset_info.json`` in it. Either this or ``name`` is given.
    streams : mapping of str to StreamDef, optional
        The streams by name; ``field`` is the path of the feature, if it is not the name. A sparse stream is the number of a
        class as a sample with a 1 there; its shape is needed only where the dataset does not say how many classes there
        are. The shape of another is needed where the dataset leaves it open, such as that of images; examples of
        another shape are then errors. Images need none that have transforms of :mod:`tesson.transforms`, such as
        a :func:`tesson.transforms.scale`; their channels are red, green and blue. By default every feature of numbers in samples of a known shape is a stream.
    split : str, optional
        Which examples: ``"train"``, ``"train[10%:]+test"``. Default ``"all"``.
    name : str, optional
        The dataset's name, such as ``"mnist"`` or ``"ds/config:1.*.*"``.
    data_dir : str or os.PathLike, optional
        Where the name is looked for. Default: ``TFDS_DATA_DIR``, else ``~/tensorflow_datasets``.
    key : str, optional
        The path of the feature by which examples are joined with other deserializers. Default: the example's number in its
        split, or its ``tfds_id`` where keys are texts.
    max_errors : int, optional
        Damaged records that are left out before reading ends with :class:`DataError`; by default those that the source's
        `max_errors` forgives.
    keep_data_in_memory : bool, optional
        Keep decoded data for the next sweep. Default False.
    keep_types : bool, optional
        Deliver features in their types and shapes, such as int64 and uint8; by default all values have the source's type.
    order : {"stored", "tfds"}, optional
        The order without shuffling: file after file, or that of TensorFlow Datasets, which reads 16 files in turns, 16 examples at a
        time. Default ``"stored"``.
    cache_index : bool, optional
        Where examples differ in length, keep what was counted beside the data, or in the folder that ``TESSON_INDEX_DIR`` names.
        Default: the source's.

    Examples
    --------
    >>> TFDSDeserializer("mnist/3.0.1", StreamDefs(y=StreamDef("label", is_sparse=True)), split="train").config
    {'type': 'TFDSDeserializer', 'directory': 'mnist/3.0.1', 'split': 'train', \
'input': {'y': {'feature': 'label', 'format': 'sparse'}}}
    """

    type = "TFDSDeserializer"

    def __init__(
        self,
        directory: AnyPath | None = None,
        streams: Mapping[str, StreamDef] | None = None,
        *,
        split: str | None = None,
        name: str | None = None,
        data_dir: AnyPath | None = None,
        key: str | None = None,
        max_errors: int | None = None,
        keep_data_in_memory: bool | None = None,
        keep_types: bool | None = None,
        order: Literal["stored", "tfds"] | None = None,
        cache_index: bool | None = None,
    ) -> None:
        super().__init__({
            "directory": optional_text_of(directory),
            "name": name,
            "data_dir": optional_text_of(data_dir),
            "split": split,
            "key": key,
            "max_errors": max_errors,
            "keep_data_in_memory": keep_data_in_memory,
            "keep_types": keep_types,
            "order": order,
            "cache_index": cache_index,
        })
        self._streams.update(StreamDefs(streams or {}))

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        entry: dict[str, Any] = {} if stream.field is None else {"feature": stream.field}
        if stream.is_sparse:
            entry["format"] = "sparse"
        if stream.shape is not None:
            entry |= {"dim": stream.shape[0]} if stream.is_sparse else {"shape": list(stream.shape)}
        if self._transforms_itself(stream):
            entry["transforms"] = list(stream.transforms)
        return entry if stream.dtype is None else entry | {"dtype": stream.dtype}

    def _has_type(self, stream: StreamDef) -> bool:
        return self._transforms_itself(stream)

    def _transforms_itself(self, stream: StreamDef) -> bool:
        return any(isinstance(transform, Mapping) for transform in stream.transforms)

    def __repr__(self) -> str:
        arguments = [f"{name}={value!r}" for name, value in self._options.items()]
        arguments += [f"streams={self.streams!r}"] if self._streams else []
        return f"TFDSDeserializer({', '.join(arguments)})"


def _files(names: AnyPath | Sequence[AnyPath]) -> str | list[str]:
    """A file name, or a list of them, as configurations have it."""
    if isinstance(names, (str, bytes, os.PathLike)):
        return text_of(names)
    if not isinstance(names, Sequence) or not all(isinstance(name, (str, bytes, os.PathLike)) for name in names):
        raise ConfigError(f"filename: found {names!r}, expected a file name or a list of them", path="filename")
    return [text_of(name) for name in cast(Sequence[AnyPath], names)]
