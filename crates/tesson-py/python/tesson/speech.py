"""Datasets of speech: features, recordings, and the classes of their frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from .audio_deserializers import AudioDeserializer
from .dataset import Dataset
from .deserializers import Deserializer
from .errors import ConfigError, StoreError
from .feature_deserializers import HTKFeatureDeserializer, KaldiFeatureDeserializer
from .keywords import suggests_arguments
from .label_deserializers import HTKMLFBinaryDeserializer, HTKMLFDeserializer, KaldiAlignmentDeserializer
from .paths import AnyPath, files_of, text_of
from .streams import StreamDef

__all__ = ["read_audio", "read_htk", "read_kaldi", "read_kaldi_alignments", "read_mlf"]

Source = AnyPath | Sequence[AnyPath]


def _dataset(part: Deserializer, path: Source, name: str) -> Dataset:
    """A dataset of utterances, which have any number of frames."""
    listed = files_of(path)
    shown = listed if isinstance(listed, str) else ", ".join(listed)
    return Dataset((part,), shown, frozenset([name]))


@suggests_arguments
def read_htk(
    scp: Source,
    *,
    name: str = "features",
    context: tuple[int, int] | None = None,
    max_frames: int | None = None,
    root: AnyPath | None = None,
    on_duplicate: Literal["drop", "first", "error"] | None = None,
    byte_order: Literal["auto", "big", "little"] | None = None,
    allow_kinds: str | Sequence[str] | None = None,
    verify: Literal["first", "header", "full"] | None = None,
) -> Dataset:
    """Features of speech in HTK's parameter files, which script files list: a ragged stream of frames.

    Parameters
    ----------
    scp : str, os.PathLike or a list of them
        The script file: ``name=file[first,last]`` or ``name=file`` on each line; or several that are one dataset.
    name : str
        The name of the stream.
    context : (int, int), optional
        Frames before and after each frame that are part of its sample.
    max_frames : int, optional
        Leave out utterances with more frames.
    root : str or os.PathLike, optional
        The folder of relative paths in script files, by default the working directory.
    on_duplicate : {"drop", "first", "error"}, optional
        Utterances whose name occurs again: all of them are left out (the default), the first is read, or opening is an error.
    byte_order : {"auto", "big", "little"}, optional
        Byte order of the files, by default detected from each header.
    allow_kinds : str or sequence of str, optional
        Kinds of files to accept beside MFCC, FBANK, USER and PLP, such as ``"WAVEFORM"``, or ``"all"``.
    verify : {"first", "header", "full"}, optional
        Checks when the data are opened: the first file (the default), all headers, or also the sizes of all files.
    """
    stream = StreamDef(scp=scp, context=context, **_limit(max_frames))
    part = HTKFeatureDeserializer(
        {name: stream}, root=root, on_duplicate=on_duplicate, byte_order=byte_order, allow_kinds=allow_kinds, verify=verify
    )
    return _dataset(part, scp, name)


@suggests_arguments
def read_kaldi(
    scp: Source | None = None,
    *,
    ark: Source | None = None,
    name: str = "features",
    context: tuple[int, int] | None = None,
    max_frames: int | None = None,
    root: AnyPath | None = None,
) -> Dataset:
    """Features of speech in Kaldi's archives of matrices, compressed or not, binary or text: a ragged stream of frames.

    Parameters
    ----------
    scp : str, os.PathLike or a list of them, optional
        The script file: ``key file:offset`` on each line.
    ark : str, os.PathLike or a list of them, optional
        In its place the archive itself; a pattern such as ``"feats.*.ark"`` or a list for several.
    name, context, max_frames, root
        As for :func:`read_htk`.
    """
    if (scp is None) == (ark is None):
        raise ConfigError("found both `scp` and `ark`" if scp is not None else "found neither `scp` nor `ark`; give one of them", path="scp")
    part = KaldiFeatureDeserializer({name: StreamDef(scp=scp, context=context, **_limit(max_frames))}, ark=ark, root=root)
    return _dataset(part, scp if ark is None else ark, name)  # type: ignore[arg-type]


def _limit(max_frames: int | None) -> dict[str, Any]:
    return {} if max_frames is None else {"max_sequence_length": max_frames}


@suggests_arguments
def read_mlf(
    path: Source,
    /,
    *,
    states: AnyPath | None = None,
    name: str = "labels",
    length_tolerance: int | None = None,
    frame_period: int | Literal["auto"] | None = None,
    time_unit: Literal["auto", "100ns", "frames"] | None = None,
) -> Dataset:
    """The class of each frame of speech in HTK's master label files, or CNTK's binary form of them: ragged int64.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The label file, or several that are one dataset.
    states : str or os.PathLike, optional
        The names of the classes, one on each line; without it labels are numbers, in the fourth column.
    name : str
        The name of the stream.
    length_tolerance : int, optional
        Number of frames by which labels may be longer or shorter than the utterance that they join: they are cut, or the last one is
        repeated; a larger difference is a fault.
    frame_period : int or "auto", optional
        Shift of frames in units of 100 ns, by which times are divided; ``"auto"`` takes that of the features. Default 100000.
    time_unit : {"auto", "100ns", "frames"}, optional
        Unit of the first two columns; by default they are times in lines that last for a frame or more.
    """
    stream = StreamDef(mlf=path, dtype="int64")
    if not _is_binary(path):
        part: Deserializer = HTKMLFDeserializer(
            states, {name: stream}, length_tolerance=length_tolerance, frame_period=frame_period, time_unit=time_unit
        )
        return _dataset(part, path, name)
    for option, value in (("states", states), ("frame_period", frame_period), ("time_unit", time_unit)):
        if value is not None:
            raise ConfigError(f"{option}: found {value!r}, but binary label files have numbers of classes and frames; leave it out", path=option)
    return _dataset(HTKMLFBinaryDeserializer({name: stream}, length_tolerance=length_tolerance), path, name)


def _is_binary(path: Source) -> bool:
    """True if the first label file is in CNTK's binary form."""
    listed = files_of(path)
    first = listed if isinstance(listed, str) else listed[0]
    if "://" in first:
        return False
    try:
        with open(first, "rb") as file:
            return file.read(4)[:3] == b"MLF"
    except OSError as e:
        raise StoreError(f"{first}: {e.strerror or e}", file=first, errno=e.errno) from None


@suggests_arguments
def read_kaldi_alignments(path: Source, /, *, name: str = "labels", length_tolerance: int | None = None) -> Dataset:
    """The class of each frame of speech in Kaldi's archives of alignments, binary or text: ragged int64.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The archive; a pattern such as ``"ali.*.ark"`` or a list for several.
    name, length_tolerance
        As for :func:`read_mlf`.
    """
    return _dataset(KaldiAlignmentDeserializer(path, {name: StreamDef(dtype="int64")}, length_tolerance=length_tolerance), path, name)


@suggests_arguments
def read_audio(
    path: AnyPath,
    /,
    *,
    name: str = "features",
    filters: int = 80,
    sample_rate: int | None = None,
    window_seconds: float | None = None,
    shift_seconds: float | None = None,
    lowest_frequency: float | None = None,
    highest_frequency: float | None = None,
    preemphasis: float | None = None,
    root: AnyPath | None = None,
    min_seconds: float | None = None,
    max_seconds: float | None = None,
) -> Dataset:
    """Recordings in WAV and FLAC files as logarithmic mel energies: a ragged stream of frames, computed when batches are made.

    Parameters
    ----------
    path : str or os.PathLike
        The list: a key, a blank and the path of a file on each line. A path that begins with ``...`` starts at the list's own folder.
    name : str
        The name of the stream.
    filters : int
        The number of mel filters.
    sample_rate : int, optional
        Samples per second, which must be that of all recordings. Default 16000.
    window_seconds, shift_seconds : float, optional
        The length of a frame, and the time from the beginning of one to that of the next. Default 0.025 and 0.01.
    lowest_frequency, highest_frequency : float, optional
        The ends of the filters, in hertz. Default 20 and half the sample rate.
    preemphasis : float, optional
        Share of the preceding sample that is subtracted from each sample. Default 0.97.
    root : str or os.PathLike, optional
        The folder of relative paths in the list, by default the working directory.
    min_seconds, max_seconds : float, optional
        Shorter and longer recordings are left out.
    """
    part = AudioDeserializer(
        path, {name: StreamDef(shape=filters)}, sample_rate=sample_rate, window_seconds=window_seconds, shift_seconds=shift_seconds,
        lowest_frequency=lowest_frequency, highest_frequency=highest_frequency, preemphasis=preemphasis, root=root,
        min_seconds=min_seconds, max_seconds=max_seconds,
    )
    return _dataset(part, text_of(path), name)
