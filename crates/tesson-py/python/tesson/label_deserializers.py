"""Deserializers of the labels of speech: HTK's master label files, and CNTK's binary form of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _tesson
from .deserializers import Deserializer
from .errors import ConfigError
from .keywords import camel_case, suggests_keywords
from .paths import AnyPath, files_of, optional_text_of, text_of
from .streams import StreamDef, StreamDefs

__all__ = ["HTKMLFBinaryDeserializer", "HTKMLFDeserializer", "KaldiAlignmentDeserializer"]


class _Labels(Deserializer):
    """A base of deserializers of labels: one stream of classes."""

    def __init__(self, streams: Mapping[str, StreamDef], options: Mapping[str, object]) -> None:
        of_file = {row["name"] for row in _tesson.option_table(self.type)}
        super().__init__({name: value for name, value in options.items() if camel_case(name) in of_file})
        of_stream = {camel_case(name): value for name, value in options.items() if camel_case(name) not in of_file}
        self._own = {name: value for name, value in of_stream.items() if value is not None}
        given = StreamDefs(streams)
        if len(given) != 1:
            raise ConfigError(f"streams: found {len(given)} streams, expected one of labels", path="streams")
        for name, stream in given.items():
            self._check(f"streams.{name}", stream)
            self._streams[name] = stream

    def _check(self, path: str, stream: StreamDef) -> None:
        """Refuses a stream that is none of labels."""
        if stream.field is not None:
            what = f"found {stream.field!r}, but label files have one stream without a name; leave it out"
            raise ConfigError(f"{path}.field: {what}", path=f"{path}.field")
        if stream.mlf is None and "arkFile" not in self._own:
            raise ConfigError(f"{path}.mlf: the label file is missing, expected its name or a list of names", path=f"{path}.mlf")
        if stream.dtype not in (None, "int64"):
            what = f"found {stream.dtype}, expected `int64`, the numbers of classes; without it they are sparse and of the source's type"
            raise ConfigError(f"{path}.dtype: {what}", path=f"{path}.dtype")
        is_counted = stream.dtype is not None and stream.shape is None
        if not is_counted and (stream.shape is None or len(stream.shape) != 1):
            raise ConfigError(f"{path}.shape: found {stream.shape}, expected the number of classes", path=f"{path}.shape")

    def _has_type(self, stream: StreamDef) -> bool:
        return True

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        given = {"dim": stream.dim, "dtype": stream.dtype}
        section: dict[str, Any] = {name: value for name, value in given.items() if value is not None} | self._own
        if isinstance(stream.mlf, Sequence) and not isinstance(stream.mlf, (str, bytes)):
            section["mlfFileList"] = [text_of(path) for path in stream.mlf]
        elif stream.mlf is not None:
            section["mlfFile"] = text_of(stream.mlf)
        if stream.defines_mb_size:
            section["definesMBSize"] = True
        return section

    def __repr__(self) -> str:
        arguments = [repr(self.streams)]
        if self.type == HTKMLFDeserializer.type:
            arguments.insert(0, repr(self._own.get("labelMappingFile")))
        if "arkFile" in self._own:
            arguments.insert(0, repr(self._own["arkFile"]))
        shown = {name: value for name, value in self._own.items() if name not in ("arkFile", "labelMappingFile")}
        arguments += [f"{name}={value!r}" for name, value in shown.items()]
        arguments += [f"{name}={value!r}" for name, value in self._options.items()]
        return f"{type(self).__name__}({', '.join(arguments)})"


@suggests_keywords
class HTKMLFDeserializer(_Labels):
    """Reads the labels of speech: HTK's master label files, a class for each frame.

    Labels join the sequences of another deserializer, which comes before this one, by the names of utterances.

    Parameters
    ----------
    label_mapping_file : str or os.PathLike or None
        The names of the classes, one on each line. With None labels are numbers, in the fourth column.
    streams : mapping of str to StreamDef
        The stream of labels: its `shape` is the number of classes, its `mlf` the label file or a list of them.
    phoneBoundaries : bool
        Mark the first frame of each line of the file with the value 2 instead of 1.
    length_tolerance : int, optional
        Number of frames by which labels may be longer or shorter than the sequence that they join: they are cut, or the
        last one is repeated; a larger difference is a fault. By default labels of any length are delivered.
    chunk_size_in_bytes : int, optional
        Size of a chunk, in bytes of a label file. Default 67108864.
    frame_period : int or "auto", optional
        Shift of frames in units of 100 ns, by which times are divided; ``"auto"`` takes that of the features. Default
        100000.
    time_unit : {"auto", "100ns", "frames"}, optional
        Unit of the first two columns: times, or numbers of frames. Default ``"auto"``: times in lines that last for a
        frame or more.
    verbosity : int, optional
        Accepted; has no effect.
    dtype : {"int64"}, optional
        ``int64`` delivers the number of the class of each frame, and needs no number of classes; by default samples are
        sparse, with a 1 in the column of the class.

    Examples
    --------
    >>> HTKMLFDeserializer("states.txt", StreamDefs(labels=StreamDef(mlf="train.mlf", shape=132))).config
    {'type': 'HTKMLFDeserializer', 'input': {'labels': {'dim': 132, 'labelMappingFile': 'states.txt', \
'phoneBoundaries': False, 'mlfFile': 'train.mlf'}}}
    """

    type = "HTKMLFDeserializer"

    def __init__(
        self,
        label_mapping_file: AnyPath | None,
        streams: Mapping[str, StreamDef],
        phoneBoundaries: bool = False,
        *,
        length_tolerance: int | None = None,
        chunk_size_in_bytes: int | None = None,
        frame_period: int | Literal["auto"] | None = None,
        time_unit: Literal["auto", "100ns", "frames"] | None = None,
        verbosity: int | None = None,
        dtype: Literal["int64"] | None = None,
    ) -> None:
        super().__init__(streams, {
            "label_mapping_file": optional_text_of(label_mapping_file),
            "phoneBoundaries": phoneBoundaries,
            "length_tolerance": length_tolerance,
            "frame_period": frame_period,
            "time_unit": time_unit,
            "chunk_size_in_bytes": chunk_size_in_bytes,
            "verbosity": verbosity,
            "dtype": dtype,
        })


@suggests_keywords
class HTKMLFBinaryDeserializer(_Labels):
    """Reads the labels of speech in CNTK's binary form of master label files.

    Labels join the sequences of another deserializer, which comes before this one, by the names of utterances.

    Parameters
    ----------
    streams : mapping of str to StreamDef
        The stream of labels: its `shape` is the number of classes, its `mlf` the label file or a list of them.
    phoneBoundaries : bool
        Mark the first frame of each run of the file with the value 2 instead of 1.
    length_tolerance : int, optional
        Number of frames by which labels may be longer or shorter than the sequence that they join: they are cut, or the
        last one is repeated; a larger difference is a fault. By default labels of any length are delivered.
    chunk_size_in_bytes : int, optional
        Size of a chunk, in bytes of a label file. Default 67108864.
    verbosity : int, optional
        Accepted; has no effect.
    dtype : {"int64"}, optional
        ``int64`` delivers the number of the class of each frame, and needs no number of classes; by default samples are
        sparse, with a 1 in the column of the class.

    Examples
    --------
    >>> HTKMLFBinaryDeserializer(StreamDefs(labels=StreamDef(mlf="train.bin", shape=132))).config
    {'type': 'HTKMLFBinaryDeserializer', 'input': {'labels': {'dim': 132, 'phoneBoundaries': False, 'mlfFile': 'train.bin'}}}
    """

    type = "HTKMLFBinaryDeserializer"

    def __init__(
        self,
        streams: Mapping[str, StreamDef],
        phoneBoundaries: bool = False,
        *,
        length_tolerance: int | None = None,
        chunk_size_in_bytes: int | None = None,
        verbosity: int | None = None,
        dtype: Literal["int64"] | None = None,
    ) -> None:
        super().__init__(streams, {
            "phoneBoundaries": phoneBoundaries,
            "length_tolerance": length_tolerance,
            "chunk_size_in_bytes": chunk_size_in_bytes,
            "verbosity": verbosity,
            "dtype": dtype,
        })


@suggests_keywords
class KaldiAlignmentDeserializer(_Labels):
    """Reads the labels of speech in Kaldi's archives of alignments, in binary or as text: a class for each frame.

    Labels join the sequences of another deserializer, which comes before this one, by the names of utterances.

    Parameters
    ----------
    filename : str or os.PathLike, or a list of them
        The archive; a pattern such as ``"ali.*.ark"``, or a list, for several, in this order.
    streams : mapping of str to StreamDef
        The stream of labels: its `shape` is the number of classes.
    length_tolerance : int, optional
        Number of frames by which labels may be longer or shorter than the sequence that they join: they are cut, or the
        last one is repeated; a larger difference is a fault. By default labels of any length are delivered.
    chunk_size_in_bytes : int, optional
        Bytes of an archive in a chunk. Default 67108864.
    verbosity : int, optional
        Accepted; has no effect.
    dtype : {"int64"}, optional
        ``int64`` delivers the number of the class of each frame, and needs no number of classes; by default samples are
        sparse, with a 1 in the column of the class.

    Examples
    --------
    >>> KaldiAlignmentDeserializer("pdf.ark", StreamDefs(labels=StreamDef(shape=132))).config
    {'type': 'KaldiAlignmentDeserializer', 'input': {'labels': {'dim': 132, 'arkFile': 'pdf.ark'}}}
    """

    type = "KaldiAlignmentDeserializer"

    def __init__(
        self,
        filename: AnyPath | Sequence[AnyPath],
        streams: Mapping[str, StreamDef],
        *,
        length_tolerance: int | None = None,
        chunk_size_in_bytes: int | None = None,
        verbosity: int | None = None,
        dtype: Literal["int64"] | None = None,
    ) -> None:
        super().__init__(streams, {
            "ark_file": files_of(filename),
            "length_tolerance": length_tolerance,
            "chunk_size_in_bytes": chunk_size_in_bytes,
            "verbosity": verbosity,
            "dtype": dtype,
        })
