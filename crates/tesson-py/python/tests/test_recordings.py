"""Energies of recordings, against the same formula in NumPy."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from tesson import ConfigError, DataError
from tesson.io import AudioDeserializer, MinibatchSource, StreamDef, StreamDefs

SPEECH = Path(__file__).parents[4] / "examples" / "speech"
RATE, FILTERS = 22050, 40


def energies(samples: np.ndarray, window: int, shift: int) -> np.ndarray:
    """Kaldi's ``fbank`` without dither, in 64 bits."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, window)[::shift]
    frames = frames - frames.mean(axis=1, keepdims=True)
    frames = frames - 0.97 * np.hstack([frames[:, :1], frames[:, :-1]])
    frames = frames * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / (window - 1))) ** 0.85
    padded = 1 << (window - 1).bit_length()
    power = np.abs(np.fft.rfft(frames, n=padded)[:, :-1]) ** 2
    place = 1127 * np.log1p(np.arange(padded // 2) * RATE / padded / 700)
    corners = np.linspace(1127 * np.log1p(20 / 700), 1127 * np.log1p(RATE / 2 / 700), FILTERS + 2)
    step = corners[1] - corners[0]
    weights = np.maximum(0, 1 - np.abs(place - corners[1:-1, None]) / step)
    return np.log(np.maximum(power @ weights.T, np.finfo(np.float32).eps))


def open_source(**options: object) -> MinibatchSource:
    streams = StreamDefs(energies=StreamDef(shape=FILTERS))
    recordings = AudioDeserializer(SPEECH / "recordings.scp", streams, sample_rate=RATE, **options)  # type: ignore[arg-type]
    return MinibatchSource(recordings, randomize=False, max_sweeps=1)


def test_energies_are_those_of_the_formula_within_a_thousandth() -> None:
    with wave.open(str(SPEECH / "recordings" / "zero.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2") / 32768
    with open_source() as source:
        found = source.next_minibatch(1)["energies"].asarray()
    expected = energies(samples, 551, 221)
    assert found.shape == (1, *expected.shape)
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-3)


def test_the_options_are_those_of_configurations() -> None:
    deserializer = AudioDeserializer(
        "l.scp",
        StreamDefs(x=StreamDef(shape=7, defines_mb_size=True)),
        sample_rate=8000, window_seconds=0.03, shift_seconds=0.02, lowest_frequency=50.0, highest_frequency=3000.0,
        preemphasis=0.9, root="r", min_seconds=1.0, max_seconds=9.0, chunk_size_in_frames=10,
    )
    assert deserializer.config == {
        "type": "AudioDeserializer", "file": "l.scp", "root": "r", "minSeconds": 1.0, "maxSeconds": 9.0, "chunkSizeInFrames": 10,
        "input": {
            "x": {
                "filters": 7, "sampleRate": 8000, "windowSeconds": 0.03, "shiftSeconds": 0.02, "lowestFrequency": 50.0,
                "highestFrequency": 3000.0, "preemphasis": 0.9, "definesMBSize": True,
            }
        },
    }
    assert "sample_rate=8000" in repr(deserializer)
    with pytest.raises(ConfigError, match="streams.x.scp: a stream of recordings has none"):
        AudioDeserializer("l.scp", StreamDefs(x=StreamDef(shape=7, scp="a")))


def test_another_rate_is_said_with_the_file_and_the_line_that_lists_it() -> None:
    recordings = AudioDeserializer(SPEECH / "recordings.scp", StreamDefs(x=StreamDef()))
    with pytest.raises(DataError, match=r"zero\.flac.*22050 samples a second, expected 16000"):
        MinibatchSource(recordings, randomize=False).next_minibatch(1)


def test_the_budget_of_the_source_forgives_a_recording_that_is_cut_off(tmp_path: Path) -> None:
    whole = (SPEECH / "recordings" / "zero.wav").read_bytes()
    for name, length in (("whole.wav", len(whole)), ("cut.wav", len(whole) // 2), ("header.wav", 30)):
        (tmp_path / name).write_bytes(whole[:length])
    listed = tmp_path / "all.scp"
    listed.write_text("a .../header.wav\nb .../whole.wav\nc .../cut.wav\n")
    recordings = AudioDeserializer(listed, StreamDefs(x=StreamDef(shape=FILTERS)), sample_rate=RATE)
    with MinibatchSource(recordings, randomize=False, max_sweeps=1, max_errors=2) as source:
        assert [list(minibatch["x"].keys) for minibatch in source.minibatches(10_000)] == [["b"]]
    with MinibatchSource(recordings, randomize=False, max_sweeps=1, max_errors=1) as source:
        with pytest.raises(DataError, match=r"cut\.wav.* one more than the 1 faults"):
            source.next_minibatch(10_000)
    with pytest.raises(DataError, match=r"header\.wav"):
        MinibatchSource(recordings, randomize=False).next_minibatch(1)
