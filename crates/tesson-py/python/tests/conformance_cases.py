"""Conformance cases: what they ask, what is to be answered, and whether an answer is that.

The rules are those of ``conformance/src`` (Rust), written a second time so that neither is judged by itself alone.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tesson import UserDeserializer, register_deserializer
from tesson.io import StreamInformation

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
        source: Line = copy.deepcopy(self.json["source"])
        if file := own_file(self.folder, "tesson.json"):
            add(source, json.loads(file.read_text()))
        for deserializer in source["deserializers"]:
            if self.lenient and deserializer.get("rules") == "cntk":
                deserializer["rules"] = "lenient"
            if deserializer["type"] == "UserDeserializer":
                deserializer |= {"type": "Chunks", "module": "conformance_cases"}
            if deserializer["type"] in ("ImageDeserializer", "HTKFeatureDeserializer"):
                # Paths in maps and script files are relative to the case's folder, as if it were the working directory.
                deserializer["root"] = str(self.folder)
        return source

    @property
    def is_random(self) -> bool:
        """True if random numbers were drawn for the recorded lines, as CNTK draws them."""
        return self.source.get("augmentation") == "cntk"

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

    def expected(self) -> list[Line]:
        """The lines to be answered: those of Tesson's own where it is meant to differ, or the recorded ones."""
        own = ["lenient.jsonl", "tesson.jsonl"] if self.lenient else ["tesson.jsonl"]
        files = (file for name in own if (file := own_file(self.folder, name)))
        return lines(next(files, self.folder / "expected.jsonl"))


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


def own_file(folder: Path, name: str) -> Path | None:
    """A file that says what Tesson does with a case: beside the case, or, as a folder of further cases may hold recorded
    ones again, beside the repository's case of the same name."""
    ours = (REPOSITORY.joinpath("conformance", "cases", *folder.parts[-n:]) for n in (2, 3))
    return next((file for of in (folder, *ours) if (file := of / name).is_file()), None)


def add(to: Any, added: Any) -> None:
    """Adds members to objects, in lists to the elements of the same places."""
    for name, value in added.items() if isinstance(added, dict) else enumerate(added):
        if isinstance(value, dict | list) and name in (to if isinstance(to, dict) else range(len(to))):
            add(to[name], value)
        else:
            to[name] = value


def flat(line: Line, name: str) -> list[Any]:
    """All samples of a stream in a line, which have one shape."""
    return [sample for sequence in line["streams"][name]["sequences"] for sample in sequence]


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
