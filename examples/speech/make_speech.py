"""Makes the corpus of spoken digits in this folder: features in HTK archives, and the labels of all frames.

    python examples/speech/make_speech.py

needs NumPy, the speech synthesizer espeak-ng (made with 1.51; another version speaks a little differently) and the encoder
flac. Nothing was recorded: every digit is spoken by the synthesizer in several voices, pitches and speeds, so the corpus has
the project's licence.

- ``train.fbank``, ``held.fbank``: one HTK file each, kind FBANK, compressed (``_C``): 33 log energies of mel filters every
  10 ms, over 25 ms. The utterances follow each other; the lists say which frames belong to which.
- ``train.scp``, ``held.scp``: the lists, a line for each utterance.
- ``train.mlf``, ``held.mlf``: the labels, in units of 100 ns. ``a.mlf`` and ``b.mlf`` are the halves of ``train.mlf``.
- ``recordings/``, ``recordings.scp``: the sounds themselves of one speaker, in FLAC, one in WAV too, and their list.
- ``states.list``: the names of the 31 classes: silence, and the first, middle and last third of each digit.
"""

import io
import subprocess
import wave
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
#: Voice, pitch (0 to 99) and words a minute.
SPEAKERS = {
    "train": [("en-us+m1", 40, 140), ("en-us+m3", 30, 170), ("en-us+m7", 55, 150), ("en-us+f1", 60, 160), ("en-us+f2", 50, 145), ("en-us+f4", 70, 175)],
    "held": [("en-us+m4", 45, 155), ("en-us+f3", 60, 150)],
}
FILTERS, WINDOW_SECONDS, SHIFT_SECONDS = 33, 0.025, 0.010
UNIT = 1e-7  # seconds: HTK counts time in 100 ns
FRAME_UNITS = round(SHIFT_SECONDS / UNIT)
FBANK, COMPRESSED = 7, 0o2000
#: Frames of silence that are kept before and after a word.
MARGIN = 8


def speak(word, voice, pitch, speed):
    """A spoken word, as a WAV file."""
    command = ["espeak-ng", "-v", voice, "-p", str(pitch), "-s", str(speed), "--stdout", word]
    return subprocess.run(command, check=True, capture_output=True).stdout


def samples_of(sound):
    """The samples of a WAV file from -1 to 1, and how many there are in a second."""
    with wave.open(io.BytesIO(sound)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
        return samples / 32768, file.getframerate()


def mel(hertz):
    return 1127 * np.log1p(hertz / 700)


def filters(bins, rate):
    """A row of weights over the bins of a spectrum for each filter: triangles, evenly spaced in mel from 64 Hz up."""
    edges = np.linspace(mel(64), mel(rate / 2), FILTERS + 2)
    place = mel(np.arange(bins) * rate / (2 * (bins - 1)))
    rising = (place - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - place) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rising, falling))


def log_energies(samples, rate, noise):
    """One row of log filter energies for every 10 ms. A little noise keeps silence from being minus infinity."""
    width, shift = round(WINDOW_SECONDS * rate), round(SHIFT_SECONDS * rate)
    silence = np.zeros(rate // 5)
    samples = np.concatenate([silence, samples, silence])
    samples = samples + noise.normal(scale=1e-3, size=len(samples))
    windows = np.lib.stride_tricks.sliding_window_view(samples, width)[::shift] * np.hamming(width)
    power = np.abs(np.fft.rfft(windows, n=1024)) ** 2
    return np.log(power @ filters(power.shape[1], rate).T)


def spoken_part(frames):
    """The first and the last frame that are clearly louder than silence."""
    loudness = frames.max(axis=1)
    loud = np.flatnonzero(loudness > loudness[:MARGIN].max() + 2)
    return loud[0], loud[-1]


def segments(digit, frames):
    """The frames with a margin of silence around the word, and its parts as (first frame, frame after the last, state)."""
    first, last = spoken_part(frames)
    start, end = max(0, first - MARGIN), min(len(frames), last + 1 + MARGIN)
    bounds = np.linspace(first, last + 1, 4).round().astype(int) - start
    states = [(bounds[part], bounds[part + 1], f"{digit}_{part + 1}") for part in range(3)]
    return frames[start:end], [(0, bounds[0], "sil"), *states, (bounds[3], end - start, "sil")]


def write_features(path, frames):
    """An HTK file of compressed frames, in HTK's byte order: each value is (integer + B) / A with A and B of its filter."""
    lowest, highest = frames.min(axis=0), frames.max(axis=0)
    scale = (65534 / (highest - lowest)).astype(">f4")
    offset = (32767 * (highest + lowest) / (highest - lowest)).astype(">f4")
    integers = np.rint(frames * scale - offset).clip(-32767, 32767).astype(">i2")
    header = np.array([(len(frames) + 4, FRAME_UNITS, 2 * FILTERS, FBANK | COMPRESSED)], dtype=">i4,>i4,>u2,>u2")
    path.write_bytes(header.tobytes() + scale.tobytes() + offset.tobytes() + integers.tobytes())


def write_labels(path, labels):
    """A master label file of utterances: their names and parts."""
    lines = ["#!MLF!#"]
    for name, parts in labels:
        lines.append(f'"*/{name}.lab"')
        lines += [f"{start * FRAME_UNITS} {end * FRAME_UNITS} {state}" for start, end, state in parts]
        lines.append(".")
    path.write_text("\n".join(lines) + "\n")


def make(name, speakers, noise):
    """One part of the corpus."""
    features, labels, scp, place = [], [], [], 0
    for speaker, (voice, pitch, speed) in enumerate(speakers):
        for digit in DIGITS:
            frames, parts = segments(digit, log_energies(*samples_of(speak(digit, voice, pitch, speed)), noise))
            utterance = f"{digit}_{name}{speaker}"
            scp.append(f"{utterance}.fbank=.../{name}.fbank[{place},{place + len(frames) - 1}]")
            features.append(frames)
            labels.append((utterance, parts))
            place += len(frames)
    write_features(HERE / f"{name}.fbank", np.concatenate(features))
    (HERE / f"{name}.scp").write_text("\n".join(scp) + "\n")
    write_labels(HERE / f"{name}.mlf", labels)
    return labels


def make_recordings(speaker):
    """The sounds of one speaker in FLAC, the first in WAV too, and their list."""
    folder, lines = HERE / "recordings", []
    folder.mkdir(exist_ok=True)
    for digit in DIGITS:
        sound = file_of(*samples_of(speak(digit, *speaker)))
        command = ["flac", "--silent", "--force", "--best", "--no-padding", "--no-seektable", "-o", folder / f"{digit}.flac", "-"]
        subprocess.run(command, input=sound, check=True)
        if digit == DIGITS[0]:
            (folder / f"{digit}.wav").write_bytes(sound)
        lines.append(f"{digit} .../recordings/{digit}.flac")
    (HERE / "recordings.scp").write_text("\n".join(lines) + "\n")


def file_of(samples, rate):
    """Samples as a WAV file with their number in the header: a synthesizer that writes to a pipe does not know it."""
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 32768).astype("<i2").tobytes())
    return sound.getvalue()


def main():
    noise = np.random.default_rng(1)
    labels = make("train", SPEAKERS["train"], noise)
    make("held", SPEAKERS["held"], noise)
    make_recordings(SPEAKERS["held"][0])
    write_labels(HERE / "a.mlf", labels[: len(labels) // 2])
    write_labels(HERE / "b.mlf", labels[len(labels) // 2 :])
    states = ["sil", *(f"{digit}_{part}" for digit in DIGITS for part in (1, 2, 3))]
    (HERE / "states.list").write_text("\n".join(states) + "\n")


if __name__ == "__main__":
    main()
