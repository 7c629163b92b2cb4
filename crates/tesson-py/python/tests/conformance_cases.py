"""Conformance cases: what they ask, what is to be answered, and whether an answer is that.

The rules are those of ``conformance/src`` (Rust), written a second time so that neither is judged by itself alone.
"""

from __future__ import annotations

import copy
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tesson import StreamInformation, UserDeserializer, register_deserializer

Line = dict[str, Any]

#: Areas that Tesson answers now.
AREAS = ("cntk/cbf", "cntk/ctf", "cntk/engine", "cntk/image", "cntk/speech")
#: Deserializers that it has.
KNOWN = (
    "Base64ImageDeserializer",
    "CNTKBinaryFormatDeserializer",
    "CNTKTextFormatDeserializer",
    "CNTKTextFormatReader",
    "HTKFeatureDeserializer",
    "HTKMLFBinaryDeserializer",
    "HTKMLFDeserializer",
    "ImageDeserializer",
    "UserDeserializer",
)
#: What the sentences of deviations say that change no answer, or have no answer recorded.
AS_RECORDED = (
    "Tesson names the map line too",
    "Tesson treats a file the same wherever it lies",
    "Tesson's default decoder must not",
    "Tesson accepts the same lines but reports",
    "Tesson sets multiViewCrop itself",
    "Tesson refuses a truncated picture",
    "The reference process dies; Tesson reports an error",
    "only an engine compatible with the reference, if built, must reproduce these draws",
)
#: What a sentence says where a value of a picture may be another one.
ONE_OFF = "may differ by at most 1 from the reference"
FITS = "when the reference would fail, so every picture fits every target"
REPOSITORY = Path(__file__).resolve().parents[4]


@register_deserializer("Chunks")
class Chunks(UserDeserializer):
    """The user-defined deserializer of the cases: chunks in a file of JSON."""

    def __init__(self, file: str) -> None:
        self.chunks: list[list[dict[str, list[list[float]]]]] = json.loads(Path(file).read_text())

    def stream_infos(self) -> list[StreamInformation]:
        streams = self.chunks[0][0].items()
        return [
            StreamInformation(name, number, "dense", np.dtype(np.float32), (len(samples[0]),))
            for number, (name, samples) in enumerate(streams)
        ]

    def num_chunks(self) -> int:
        return len(self.chunks)

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        chunk = self.chunks[chunk_id]
        return {name: [np.array(sequence[name], np.float32) for sequence in chunk] for name in self.chunks[0][0]}


@dataclass(frozen=True)
class Case:
    """A case under the rules it names, or, ``lenient``, with those of the reference replaced."""

    name: str
    folder: Path
    lenient: bool
    json: Line

    @property
    def source(self) -> Line:
        """The configuration of the source."""
        source = copy.deepcopy(self.json["source"])
        if self.is_random:
            source["augmentation"] = "cntk"
        for deserializer in source["deserializers"]:
            if self.lenient and deserializer.get("rules") == "cntk":
                deserializer["rules"] = "lenient"
            if deserializer["type"] == "UserDeserializer":
                deserializer |= {"type": "Chunks", "module": "conformance_cases"}
            if deserializer["type"] == "HTKFeatureDeserializer":
                # So are paths in script files.
                deserializer["root"] = str(self.folder)
            if deserializer["type"] == "ImageDeserializer":
                # Paths in maps are relative to the case's folder, as if it were the working directory.
                deserializer["root"] = str(self.folder)
                # "Tesson refuses a truncated picture (it names the file) unless onCorruptImage = "accept"; …"
                if 'unless onCorruptImage = "accept"' in (self.json.get("deviation") or ""):
                    deserializer["onCorruptImage"] = "accept"
        return source

    @property
    def is_random(self) -> bool:
        """True if random numbers were drawn for the recorded lines."""
        # "Random draws: Tesson's own engine differs by design …; only an engine compatible with the reference, if built, must
        # reproduce these draws. …"
        return "Random draws" in (self.json.get("deviation") or "")

    @property
    def element(self) -> type[np.floating[Any]]:
        """The type that the numbers were recorded in."""
        sections = [self.json["source"], *self.json["source"]["deserializers"]]
        given = [str(v).lower() for s in sections for n, v in s.items() if n.lower() == "precision"]
        return np.float64 if "double" in given else np.float32

    def needs(self) -> str | None:
        """Names the missing feature that the case needs; None if Tesson must answer."""
        source = self.json["source"]
        types = [d["type"] for d in source["deserializers"]]
        if unknown := [t for t in types if t not in KNOWN]:
            return f"needs {unknown[0]}"
        return None

    def expected(self, answer: Callable[[Line, list[Line]], list[Line]]) -> list[Line]:
        """The lines to be answered. ``answer`` reads a source by steps, for deviations that are worked out."""
        own = ["lenient.jsonl", "tesson.jsonl"] if self.lenient else ["tesson.jsonl"]
        for name in own:
            if (self.folder / name).exists():
                return lines(self.folder / name)
        recorded = lines(self.folder / "expected.jsonl")
        sentence = self.json.get("deviation")
        return recorded if not sentence else deviate(self, sentence, recorded, answer)


def cases() -> Iterator[Case]:
    """All cases of readers."""
    for area in AREAS:
        for name, folder in case_folders(area):
            content = json.loads((folder / "case.json").read_text())
            yield Case(name, folder, False, content)
            if any(d.get("rules") == "cntk" for d in content["source"]["deserializers"]):
                yield Case(f"{name}/lenient", folder, True, content)


def case_folders(area: str) -> list[tuple[str, Path]]:
    """The cases of an area by name: those of the repository, and those of the folder that ``TESSON_CONFORMANCE`` adds."""
    roots = {"": REPOSITORY / "conformance" / "cases"}
    if added := os.environ.get("TESSON_CONFORMANCE"):
        roots["added/"] = Path(added)
    folders = []
    for prefix, root in roots.items():
        assert root.is_dir(), f"{root}: there is no folder of cases"
        files = sorted((root / area).glob("*/case.json"))
        assert files or prefix, f"{root}: there are no cases of {area}"
        folders += [(f"{prefix}{area}/{file.parent.name}", file.parent) for file in files]
    return folders


def lines(file: Path) -> list[Line]:
    """The lines of a file of answers."""
    return [json.loads(line) for line in file.read_text().splitlines() if line.strip()]


def deviate(
    case: Case, sentence: str, recorded: list[Line], answer: Callable[[Line, list[Line]], list[Line]]
) -> list[Line]:
    """The recorded lines, changed as a deviation's sentence says."""
    # "Tesson restores exactly: the four minibatches after the restore are the four recorded right after the checkpoint."
    exact = re.search(r"restores exactly: the (\w+) minibatches after the restore are the \w+ recorded", sentence)
    if exact:
        return restore_exactly(case, recorded, number(exact[1]))
    # "Where the reference says error, Tesson hands out an empty minibatch (no sequences, sweepEnd as computed) and goes on."
    if "Where the reference says error, Tesson hands out an empty minibatch" in sentence:
        return [empty(case) if "error" in line else line for line in recorded]
    # "Tesson keeps the dealing of an unchanged size: by running number since the start of the data; …"
    if "the dealing" in sentence and "by running number since the start of the data" in sentence:
        return deal(case, answer)
    # "Tesson fails when the pipeline is built, naming both sizes; …"
    if "Tesson fails when the pipeline is built" in sentence:
        return [{"error": "the pipeline cannot be built"}]
    # "Tesson skips blank lines." "Tesson reads the whole file, the frame count coming from its header; …" "Tesson tries the other
    # byte order when the guessed one gives an impossible header, and reads this file."
    # "Tesson separates columns at runs of blanks and tabs and reads this utterance."
    reads = ("skips blank lines", "reads the whole file", "tries the other byte order", "columns at runs of blanks and tabs")
    if any(phrase in sentence for phrase in reads):
        return features(case)
    # "Tesson sees that dim is already the full dimension (the documented meaning) and gives 6 values."
    if full := re.search(r"dim is already the full dimension .* gives (\w+) values", sentence):
        return [first_values(line, number(full[1])) for line in recorded]
    # "Tesson refuses all three lines, naming file and line." "Tesson refuses the utterance (error, or left out under maxErrors): …"
    if "Tesson refuses all three lines" in sentence or "Tesson refuses the utterance" in sentence:
        return [{"error": "lines are refused"}]
    # These differ in pictures, which are compared when they are found.
    if ONE_OFF in sentence or FITS in sentence:
        return recorded
    # What these tell is in options and messages that the reference lacks.
    if any(phrase in sentence for phrase in AS_RECORDED):
        return recorded
    raise AssertionError(f"unknown deviation: {sentence}")


def features(case: Case) -> list[Line]:
    """The lines of a case of features, and perhaps of labels, that one minibatch holds: big-endian files without qualifiers."""
    first, *others = (d["input"] for d in case.json["source"]["deserializers"])
    ((name, given),) = first.items()
    sequences, classes = [], []
    all_classes = classes_of(case, *others[0].values()) if others else None
    for line in filter(str.strip, (case.folder / given["scpFile"]).read_text().splitlines()):
        key = line.partition("=")[0].rpartition(".")[0]
        if all_classes is not None:
            if key not in all_classes:
                continue
            classes.append(all_classes[key])
        file, *ends = re.fullmatch(r"(?:.*=)?([^\[]*)(?:\[(\d+),(\d+)\])?", line).groups()  # type: ignore[union-attr]
        data = (case.folder / file).read_bytes()
        frames = np.frombuffer(data[12:], ">f4").reshape(-1, int.from_bytes(data[8:10]) // 4)
        first, last = map(int, ends) if ends[0] is not None else (0, len(frames) - 1)
        sequences.append(frames[first : last + 1].tolist())
    streams = {name: sequences} | {label: classes for other in others for label in other}
    stream = {n: {"numberOfSequences": len(s), "numberOfSamples": sum(map(len, s)), "sequences": s} for n, s in streams.items()}
    return [{"sweepEnd": True, "streams": stream}, {"end": True}]


def classes_of(case: Case, given: Line) -> dict[str, list[Any]]:
    """The classes of each frame of all utterances of a master label file with times."""
    states = (case.folder / given["labelMappingFile"]).read_text().splitlines()
    classes: dict[str, list[Any]] = {}
    for line in (case.folder / given["mlfFile"]).read_text().splitlines()[1:]:
        if line.startswith('"'):
            last = classes.setdefault(line[1:].partition(".")[0], [])
        elif len(columns := line.split()) == 3:
            frames = int(columns[1]) // 100000 - int(columns[0]) // 100000
            last += [[[states.index(columns[2]), 1]]] * frames
    return classes


def first_values(line: Line, n: int) -> Line:
    """A line whose samples keep their first values alone."""
    line = copy.deepcopy(line)
    for stream in line.get("streams", {}).values():
        stream["sequences"] = [[sample[:n] for sample in sequence] for sequence in stream["sequences"]]
    return line


def with_allowed_pictures(case: Case, expected: list[Line], found: list[Line], own_draws: bool = False) -> list[Line]:
    """The expected lines with the pictures that were found, where these may differ from the recorded ones and do so no
    more than they may. With draws of its own a source gives other pictures of the same size."""
    sentence = case.json.get("deviation") or ""
    inputs = {name: given for d in case.json["source"]["deserializers"] for name, given in d.get("input", {}).items()}
    pictures = {name: given["transforms"] for name, given in inputs.items() if "transforms" in given}
    if FITS in sentence:
        # Nothing was recorded: the pictures have to come, and in the shape that the configuration says.
        (transforms,) = pictures.values()
        size = math.prod(transforms[-1][name] for name in ("width", "height", "channels"))
        assert all(len(values) == size for name in pictures for values in flat(found[0], name))
        return found
    if not own_draws and ONE_OFF not in sentence:
        return expected
    allowed = 255 if own_draws else 1
    result = copy.deepcopy(expected)
    for one, other in zip(result, found):
        for name in pictures if "streams" in one and "streams" in other else ():
            recorded, values = np.array(flat(one, name)), np.array(flat(other, name))
            assert recorded.shape == values.shape
            assert np.abs(recorded - values).max() <= allowed and values.min() >= 0 and values.max() <= 255
            one["streams"][name]["sequences"] = other["streams"][name]["sequences"]
    return result


def flat(line: Line, name: str) -> list[Any]:
    """All samples of a stream in a line, which have one shape."""
    return [sample for sequence in line["streams"][name]["sequences"] for sample in sequence]


def number(word: str) -> int:
    """A count in words or digits."""
    words = "zero one two three four five six seven eight nine ten".split()
    return words.index(word) if word in words else int(word)


def restore_exactly(case: Case, recorded: list[Line], count: int) -> list[Line]:
    """The lines after each checkpoint in the place of those after its restore."""
    result = list(recorded)
    saved = {line["checkpoint"]: i + 1 for i, line in enumerate(recorded) if "checkpoint" in line}
    for i, line in enumerate(recorded):
        if isinstance(line.get("restore"), str):
            start = saved[line["restore"]]
            assert start + count <= i and i + count < len(recorded), f"fewer than {count} minibatches: {case.name}"
            result[i + 1 : i + 1 + count] = recorded[start : start + count]
    return result


def empty(case: Case) -> Line:
    """A minibatch without sequences; a round without own sequences ends only with its sweep."""
    names = case.json["source"]["deserializers"][0]["input"]
    streams = {n: {"numberOfSequences": 0, "numberOfSamples": 0, "sequences": []} for n in names}
    return {"sweepEnd": True, "streams": streams}


def deal(case: Case, answer: Callable[[Line, list[Line]], list[Line]]) -> list[Line]:
    """Sequences dealt to workers by their running number (spec/engine.md §7), from those that one worker reads one at a time."""
    source = case.source
    one_sweep = {n: v for n, v in source.items() if n != "maxSamples"} | {"maxSweeps": 1}
    steps: list[Line] = [{"next": {"minibatchSizeInSamples": 1}}, {"checkpoint": "at"}]
    # One sequence a minibatch; the position behind it says how many samples it counts.
    found = answer(one_sweep, steps * (case.folder / "input.txt").read_bytes().count(b"\n"))
    positions = [0] + [line["state"]["minibatchSourcePosition"] for line in found[1::2]]
    sequences = [line["streams"] for line in found[::2] if "streams" in line]
    counted = [positions[i + 1] - positions[i] for i in range(len(sequences))]
    assert source.get("localTimeline", True) and "maxSweeps" in source, f"not worked out: {case.name}"
    return list(dealt(case, sequences, counted, sum(counted) * source["maxSweeps"]))


def dealt(case: Case, sequences: list[Line], counted: list[int], end: int) -> Iterator[Line]:
    """The lines of a case that only asks for minibatches."""
    position = index = 0
    for step in case.json["steps"]:
        request = step["next"]
        workers, rank = request.get("numberOfWorkers", 1), request.get("workerRank", 0)
        size = request["minibatchSizeInSamples"]
        limit = max(1, size // workers + (rank < size % workers))
        left = step.get("repeat", 1) if "until" not in step else None
        while left is None or left > 0:
            taken: list[int] = []
            own, before = 0, position // sum(counted)
            while own < limit and position < end:
                i, is_own = index % len(counted), index % workers == rank
                if taken and is_own and own + counted[i] > limit:
                    break
                if is_own:
                    taken.append(i)
                    own += counted[i]
                position, index = position + counted[i], index + 1
            if not taken:
                yield {"end": True}
                if left is None:
                    break
            else:
                yield {"sweepEnd": position // sum(counted) != before, "streams": joined(sequences, taken)}
            left = None if left is None else left - 1


def joined(sequences: list[Line], taken: list[int]) -> Line:
    """The streams of a minibatch of these sequences."""
    result = {}
    for name in sequences[0]:
        parts = [sequences[i][name]["sequences"][0] for i in taken]
        samples = sum(map(len, parts))
        result[name] = {"numberOfSequences": len(parts), "numberOfSamples": samples, "sequences": parts}
    return result


def with_later_fault(expected: list[Line], found: list[Line]) -> list[Line]:
    """The expected lines where the reference stops at a fault earlier than Tesson.

    spec/ctf.md §9: "Tesson charges a fault at the minibatch that holds its sequence, in plan order (the reference: when the
    chunk is read, so up to a chunk or a window earlier). Deviation." Minibatches may come in between; the error after
    them must be a fault with a place in the data, which is what the sentence is about.
    """
    between = found[len(expected) - 1 : -1]
    begun_well = len(expected) > 1 and "streams" in expected[-2] and "error" in expected[-1]
    is_fault = " (byte " in found[-1].get("error", "")
    if begun_well and is_fault and all("streams" in line for line in between):
        return [*expected[:-1], *between, expected[-1]]
    return expected


def compare(expected: list[Line], found: list[Line], element: type[np.floating[Any]]) -> None:
    """Asserts that the lines found are those expected."""
    for i, (one, other) in enumerate(zip(expected, found)):
        assert plain(one, one, element) == plain(other, one, element), f"line {i + 1}"
    assert len(expected) == len(found), f"the first line too many or missing: {(expected + found)[-1]}"


def plain(line: Line, expected: Line, element: type[np.floating[Any]]) -> Any:
    """The compared part of a line: of states the recorded fields, of errors nothing, of layouts what is asked for."""
    if "error" in line:
        return "error"
    result = {n: line.get(n) for n in ("sweepEnd", "end", "checkpoint", "restore", "reopen")}
    result["state"] = {n: line.get("state", {}).get(n) for n in expected.get("state", {})}
    result["streams"] = {n: stream(s, "layout" in recorded(expected, n), element) for n, s in line.get("streams", {}).items()}
    return result


def recorded(expected: Line, name: str) -> Line:
    """A stream as it was recorded."""
    return expected.get("streams", {}).get(name, {})


def stream(data: Line, with_layout: bool, element: type[np.floating[Any]]) -> tuple[Any, ...]:
    """The compared part of a stream."""
    sequences = [[sample(s, element) for s in sequence] for sequence in data["sequences"]]
    layout = data["layout"] if with_layout else None
    return data["numberOfSequences"], data["numberOfSamples"], sequences, layout


def sample(values: list[Any], element: type[np.floating[Any]]) -> Any:
    """The compared form of a sample: bits, with one zero and one NaN; pairs added up and without zeros."""
    if not any(isinstance(v, list) for v in values):
        return [bits(element(v)) for v in values]
    sums: dict[int, np.floating[Any]] = {}
    for index, value in values:
        sums[index] = sums.get(index, element(0)) + element(value)
    return [(i, bits(v)) for i, v in sorted(sums.items()) if v != 0]


def bits(value: np.floating[Any]) -> str:
    """A value exactly; -0 is 0."""
    return float(value + 0).hex()
