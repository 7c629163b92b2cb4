"""Deserializers of speech: features in HTK's parameter files, and in Kaldi's archives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .deserializers import Deserializer
from .errors import ConfigError
from .keywords import suggests_keywords
from .paths import AnyPath, files_of, optional_text_of
from .streams import StreamDef, StreamDefs

__all__ = ["HTKFeatureDeserializer", "KaldiFeatureDeserializer"]

#: The length of utterances that a definition has by default, as in CNTK: it leaves none out.
_ANY_LENGTH = 65535


@suggests_keywords
class HTKFeatureDeserializer(Deserializer):
    """Reads features of speech: HTK parameter files, which script files list, an utterance a line.

    Several streams are as many deserializers, in their order: they are joined by the names of utterances.

    Parameters
    ----------
    streams : mapping of str to StreamDef
        The streams by name, each with its script file (``scp``, or a list of them) and its ``shape``: the values of one frame,
        or those of all frames of its window, by default those of the first file. ``context`` is the frames before and after each frame; ``broadcast`` repeats
        utterances of one frame for each sample of the first deserializer; ``defines_mb_size`` makes the stream the one
        that is counted; ``max_sequence_length`` leaves longer utterances out, where it is not 65535, the default.
    root : str or os.PathLike, optional
        The folder of relative paths in script files, by default the working directory.
    prefix_path_in_scp : str, optional
        Put before the paths in script files.
    on_duplicate : {"drop", "first", "error"}, optional
        Utterances whose name occurs again in a list: all of them are left out, the first is read, or opening is an error.
        Default ``"drop"``.
    chunk_size_in_frames : int, optional
        Size of a chunk, the unit of randomization. Default 90000.
    byte_order : {"auto", "big", "little"}, optional
        Byte order of the files; ``"auto"`` detects it from each header. Default ``"auto"``.
    allow_kinds : str or sequence of str, optional
        Kinds of files to accept beside MFCC, FBANK, USER and PLP, such as ``"WAVEFORM"``, or ``"all"``.
    verify : {"first", "header", "full"}, optional
        Checks when a source is opened: the first file, the headers of all files, or also their sizes. Default ``"first"``.
    verbosity : int, optional
        Accepted from older configurations; has no effect.

    Examples
    --------
    >>> HTKFeatureDeserializer(StreamDefs(features=StreamDef(shape=33, scp="train.scp", context=(5, 5)))).config
    {'type': 'HTKFeatureDeserializer', \
'input': {'features': {'dim': 33, 'scpFile': 'train.scp', 'contextWindow': [5, 5]}}}
    """

    type = "HTKFeatureDeserializer"

    def __init__(
        self,
        streams: Mapping[str, StreamDef],
        *,
        root: AnyPath | None = None,
        prefix_path_in_scp: str | None = None,
        on_duplicate: Literal["drop", "first", "error"] | None = None,
        chunk_size_in_frames: int | None = None,
        byte_order: Literal["auto", "big", "little"] | None = None,
        allow_kinds: str | Sequence[str] | None = None,
        verify: Literal["first", "header", "full"] | None = None,
        verbosity: int | None = None,
    ) -> None:
        kinds = allow_kinds if allow_kinds is None or isinstance(allow_kinds, str) else list(allow_kinds)
        super().__init__({
            "root": optional_text_of(root),
            "on_duplicate": on_duplicate,
            "chunk_size_in_frames": chunk_size_in_frames,
            "byte_order": byte_order,
            "allow_kinds": kinds,
            "verify": verify,
            "verbosity": verbosity,
        })
        self._prefix = prefix_path_in_scp
        self._streams.update(StreamDefs(streams))
        for name, stream in self._streams.items():
            _check(name, stream, "scp")

    @property
    def config(self) -> dict[str, Any]:
        """The deserializer in the dict form of a configuration; several streams have one for each (:attr:`parts`)."""
        if len(self._streams) != 1:
            what = f"{len(self._streams)} streams are as many deserializers: take the configurations of `parts`"
            raise ConfigError(f"streams: {what}", path="streams")
        return super().config

    @property
    def parts(self) -> list[Deserializer]:
        """Deserializers of one stream each, which are this one together."""
        parts: list[Deserializer] = []
        for name, stream in self._streams.items():
            part = HTKFeatureDeserializer(StreamDefs({name: stream}))
            part._options, part._prefix = self._options, self._prefix
            parts.append(part)
        return parts

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        section: dict[str, Any] = {"dim": "auto" if stream.dim is None else stream.dim}
        if stream.scp is not None:
            section["scpFile"] = files_of(stream.scp)
        if stream.context is not None:
            section["contextWindow"] = list(stream.context)
        if self._prefix is not None:
            section["prefixPathInSCP"] = self._prefix
        if stream.broadcast:
            section["expandToUtterance"] = True
        if stream.defines_mb_size:
            section["definesMBSize"] = True
        if stream.max_sequence_length != _ANY_LENGTH:
            section["maxSequenceSize"] = stream.max_sequence_length
        return section

    def __repr__(self) -> str:
        options = {} if self._prefix is None else {"prefix_path_in_scp": self._prefix}
        arguments = [f"{name}={value!r}" for name, value in {**self._options, **options}.items()]
        streams = ", ".join(f"{name!r}: {_definition(stream)}" for name, stream in self._streams.items())
        return f"HTKFeatureDeserializer({', '.join([f'{{{streams}}}', *arguments])})"


@suggests_keywords
class KaldiFeatureDeserializer(Deserializer):
    """Reads features of speech in Kaldi's archives of matrices, compressed or not, in binary or as text.

    Parameters
    ----------
    streams : mapping of str to StreamDef
        The stream: its ``shape`` is the values in a frame, by default those of the first matrix, its ``scp`` the script file or
        a list of them; ``context`` is the
        frames before and after each frame; ``defines_mb_size`` makes the stream the one that is counted;
        ``max_sequence_length`` leaves longer utterances out, where it is not 65535, the default.
    ark : str or os.PathLike, or a list of them, optional
        In place of ``scp`` the archive itself; a pattern such as ``"feats.*.ark"``, or a list, for several, in this order.
    root : str or os.PathLike, optional
        The folder of relative paths in script files, by default the working directory.
    chunk_size_in_frames : int, optional
        Size of a chunk, the unit of randomization. Default 90000.
    verbosity : int, optional
        Accepted; has no effect.

    Examples
    --------
    >>> KaldiFeatureDeserializer(StreamDefs(features=StreamDef(shape=40, scp="feats.scp", context=(5, 5)))).config
    {'type': 'KaldiFeatureDeserializer', \
'input': {'features': {'dim': 40, 'contextWindow': [5, 5], 'scpFile': 'feats.scp'}}}
    """

    type = "KaldiFeatureDeserializer"

    def __init__(
        self,
        streams: Mapping[str, StreamDef],
        *,
        ark: AnyPath | Sequence[AnyPath] | None = None,
        root: AnyPath | None = None,
        chunk_size_in_frames: int | None = None,
        verbosity: int | None = None,
    ) -> None:
        super().__init__({
            "root": optional_text_of(root),
            "chunk_size_in_frames": chunk_size_in_frames,
            "verbosity": verbosity,
        })
        self._ark = None if ark is None else files_of(ark)
        self._streams.update(StreamDefs(streams))
        if len(self._streams) != 1:
            raise ConfigError(f"streams: found {len(self._streams)} streams, expected one of features", path="streams")
        for name, stream in self._streams.items():
            _check(name, stream, *([] if ark is not None else ["scp"]))

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        section: dict[str, Any] = {"dim": "auto" if stream.dim is None else stream.dim}
        if stream.context is not None:
            section["contextWindow"] = list(stream.context)
        if stream.scp is not None:
            section["scpFile"] = files_of(stream.scp)
        if self._ark is not None:
            section["arkFile"] = self._ark
        if stream.defines_mb_size:
            section["definesMBSize"] = True
        if stream.max_sequence_length != _ANY_LENGTH:
            section["maxSequenceSize"] = stream.max_sequence_length
        return section

    def __repr__(self) -> str:
        options = {} if self._ark is None else {"ark": self._ark}
        arguments = [f"{name}={value!r}" for name, value in {**options, **self._options}.items()]
        streams = ", ".join(f"{name!r}: {_definition(stream)}" for name, stream in self._streams.items())
        return f"KaldiFeatureDeserializer({', '.join([f'{{{streams}}}', *arguments])})"


def _definition(stream: StreamDef) -> str:
    """The expression that defines the stream; its own ``repr`` leaves out the options of speech."""
    names = ("shape", "scp", "context", "broadcast", "defines_mb_size", "max_sequence_length")
    default = StreamDef()
    values = {name: getattr(stream, name) for name in names}
    given = {name: value for name, value in values.items() if value != getattr(default, name)}
    return f"StreamDef({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def _check(name: str, stream: StreamDef, *wanted: str) -> None:
    """Refuses what is missing, and what only streams of other files have."""
    for attribute in wanted:
        if getattr(stream, attribute) is None:
            path = f"streams.{name}.{attribute}"
            raise ConfigError(f"{path}: it is missing, a stream of features has `{'` and `'.join(wanted)}`", path=path)
    for attribute, none in (("field", None), ("mlf", None), ("is_sparse", False)):
        if getattr(stream, attribute) != none:
            path = f"streams.{name}.{attribute}"
            raise ConfigError(f"{path}: a stream of features has none", path=path)
