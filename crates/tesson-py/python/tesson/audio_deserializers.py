"""The deserializer of recordings: energies of WAV and FLAC files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .deserializers import Deserializer
from .errors import ConfigError
from .keywords import camel_case, suggests_keywords
from .paths import AnyPath, optional_text_of, text_of
from .streams import StreamDef, StreamDefs

__all__ = ["AudioDeserializer"]


@suggests_keywords
class AudioDeserializer(Deserializer):
    """Reads recordings in WAV and FLAC files as frames of logarithmic mel energies.

    The energies are those of Kaldi's ``fbank`` without dither, of samples from -1 to 1, channels averaged; they are computed
    when minibatches are made.

    Parameters
    ----------
    filename : str or os.PathLike
        The list: a key, a blank and the path of a file in each line. A path that begins with ``...`` starts at the list's
        own folder.
    streams : mapping of str to StreamDef
        The stream, by name. Its ``shape`` is the number of mel filters, 80 without one; ``defines_mb_size`` makes it the one
        that is counted.
    sample_rate : int, optional
        Samples per second, which must be that of all recordings. Default 16000.
    window_seconds : float, optional
        The length of a frame. Default 0.025.
    shift_seconds : float, optional
        The time from the beginning of a frame to that of the next. Default 0.01.
    lowest_frequency : float, optional
        Lower end of the lowest filter, in hertz. Default 20.
    highest_frequency : float, optional
        Upper end of the highest filter, in hertz; by default half the sample rate.
    preemphasis : float, optional
        Share of the preceding sample that is subtracted from each sample. Default 0.97.
    root : str or os.PathLike, optional
        The folder of relative paths in the list, by default the working directory.
    min_seconds, max_seconds : float, optional
        Shorter and longer recordings are left out.
    chunk_size_in_frames : int, optional
        Size of a chunk, the unit of randomization. Default 90000.

    Examples
    --------
    >>> AudioDeserializer("wav.scp", StreamDefs(features=StreamDef(shape=40)), sample_rate=8000).config
    {'type': 'AudioDeserializer', 'file': 'wav.scp', 'input': {'features': {'filters': 40, 'sampleRate': 8000}}}
    """

    type = "AudioDeserializer"

    def __init__(
        self,
        filename: AnyPath,
        streams: Mapping[str, StreamDef],
        *,
        sample_rate: int | None = None,
        window_seconds: float | None = None,
        shift_seconds: float | None = None,
        lowest_frequency: float | None = None,
        highest_frequency: float | None = None,
        preemphasis: float | None = None,
        root: AnyPath | None = None,
        min_seconds: float | None = None,
        max_seconds: float | None = None,
        chunk_size_in_frames: int | None = None,
    ) -> None:
        super().__init__({
            "file": text_of(filename),
            "root": optional_text_of(root),
            "min_seconds": min_seconds,
            "max_seconds": max_seconds,
            "chunk_size_in_frames": chunk_size_in_frames,
        })
        energies = {
            "sample_rate": sample_rate,
            "window_seconds": window_seconds,
            "shift_seconds": shift_seconds,
            "lowest_frequency": lowest_frequency,
            "highest_frequency": highest_frequency,
            "preemphasis": preemphasis,
        }
        self._energies = {name: value for name, value in energies.items() if value is not None}
        self._streams.update(StreamDefs(streams))
        for name, stream in self._streams.items():
            for attribute, none in (("field", None), ("scp", None), ("mlf", None), ("is_sparse", False)):
                if getattr(stream, attribute) != none:
                    path = f"streams.{name}.{attribute}"
                    raise ConfigError(f"{path}: a stream of recordings has none", path=path)

    def _section(self, stream: StreamDef) -> dict[str, Any]:
        section: dict[str, Any] = {}
        if stream.shape is not None:
            section["filters"] = stream.dim
        section.update((camel_case(name), value) for name, value in self._energies.items())
        if stream.defines_mb_size:
            section["definesMBSize"] = True
        return section

    def __repr__(self) -> str:
        options = {name: value for name, value in self._options.items() if name != "file"}
        arguments = [f"{name}={value!r}" for name, value in {**self._energies, **options}.items()]
        return f"AudioDeserializer({', '.join([repr(self._options['file']), repr(self.streams), *arguments])})"
