"""Every conformance case through the Python package, under the rules it names and under lenient ones."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from conformance_cases import Case, Line, cases, compare, flat

import tesson
from tesson.io import Minibatch, MinibatchSource, StreamDef
from tesson.minibatch import MinibatchData


def parameters() -> list[Any]:
    """A test for each case; what is not built yet is skipped and says so."""
    result = []
    for case in cases():
        needs = case.needs()
        marks = [pytest.mark.skip(reason=needs)] if needs else []
        result.append(pytest.param(case, id=case.name, marks=marks))
    return result


@pytest.mark.parametrize("case", parameters())
def test_case(case: Case) -> None:
    compare(case.expected(), Reader(case.source, str(case.folder)).run(case.json["steps"]), case.element)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases() if case.is_random])
def test_own_draws_change_nothing_but_images(case: Case) -> None:
    found = Reader(case.source | {"augmentation": "sequence"}, str(case.folder)).run(case.json["steps"])
    recorded = case.expected()
    assert found != recorded
    # Sizes, labels and the range of values are those recorded.
    for one, other in zip(recorded[:-1], found[:-1]):
        images = np.array(flat(other, "features"))
        assert images.shape == np.array(flat(one, "features")).shape and images.min() >= 0 and images.max() <= 255
        one["streams"]["features"]["sequences"] = other["streams"]["features"]["sequences"]
    compare(recorded, found, case.element)
    transforms = case.source["deserializers"][0]["input"]["features"]["transforms"]
    if transforms[0]["type"] == "Crop":
        # Every crop is a rectangle of the source.
        for line in found[:-1]:
            for values in flat(line, "features"):
                # Pictures are square here; blue counts columns, green rows.
                side = int((len(values) / 3) ** 0.5)
                blue, green, red = np.moveaxis(np.array(values).reshape(side, side, 3), 2, 0)
                assert (blue == blue[0]).all() and (green.T == green[:, 0]).all() and (red == 200).all()
                assert len(set(np.sign(np.diff(blue[0]))) - {0}) == 1 and (np.diff(green[:, 0]) >= 0).all()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases() if "/image/" in case.name])
def test_images_are_the_same_by_keywords(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.folder)
    compare(case.expected(), KeywordReader(case.source, "").run(case.json["steps"]), case.element)


class Reader:
    """Answers steps through a ``MinibatchSource``."""

    def __init__(self, config: Line, folder: str) -> None:
        self.config = config
        self.folder = folder
        self.labels: dict[str, Any] = {}

    def open(self) -> MinibatchSource:
        """A fresh source."""
        return MinibatchSource.from_config(self.config, base_dir=self.folder)

    def run(self, steps: list[Line]) -> list[Line]:
        """All answers, line by line."""
        try:
            self.source = self.open()
        except tesson.TessonError as e:
            return [{"error": str(e)}]
        return [line for step in steps for line in self.answer(step)]

    def answer(self, step: Line) -> list[Line]:
        """The answers to one step."""
        if "next" in step:
            return self.minibatches(step)
        try:
            return [self.state_step(step)]
        except tesson.TessonError as e:
            return [{"error": str(e)}]

    def minibatches(self, step: Line) -> list[Line]:
        """Asks for a number of minibatches, or until the end or an error."""
        if "until" not in step:
            return [self.next(step["next"]) for _ in range(step.get("repeat", 1))]
        answers = [self.next(step["next"])]
        while "streams" in answers[-1]:
            answers.append(self.next(step["next"]))
        return answers

    def next(self, request: Line) -> Line:
        """Asks for a minibatch."""
        if set(request) - {"minibatchSizeInSamples", "numberOfWorkers", "workerRank"}:
            return {"error": "the package has sizes in samples only"}
        try:
            minibatch = self.source.next_minibatch(
                request["minibatchSizeInSamples"],
                num_data_partitions=request.get("numberOfWorkers"),
                partition_index=request.get("workerRank"),
            )
        except tesson.TessonError as e:
            return {"error": str(e)}
        return line(minibatch) if minibatch else {"end": True}

    def state_step(self, step: Line) -> Line:
        """Saves or restores a state, or opens a fresh source."""
        if "reopen" in step:
            self.source.close()
            self.source = self.open()
            return {"reopen": True}
        if "checkpoint" in step:
            state = self.source.get_checkpoint_state()
            self.labels[step["checkpoint"]] = state
            return {"checkpoint": step["checkpoint"], "state": state}
        wanted = step["restore"]
        self.source.restore_from_checkpoint(self.labels[wanted] if isinstance(wanted, str) else wanted)
        return {"restore": wanted, "state": self.source.get_checkpoint_state()}


def line(minibatch: Minibatch) -> Line:
    """A minibatch as a line of answers."""
    return {"sweepEnd": minibatch.sweep_end, "streams": {n: stream(d) for n, d in minibatch.items()}}


def stream(data: MinibatchData) -> Line:
    """A stream as in a line of answers."""
    samples = sparse(data) if data.is_sparse else [sample.ravel().tolist() for sample in data.samples]
    ends = np.cumsum(data.lengths).tolist()
    sequences = [samples[end - n : end] for end, n in zip(ends, data.lengths.tolist())]
    layout = data.layout
    return {
        "numberOfSequences": data.num_sequences,
        "numberOfSamples": data.num_samples,
        "sequences": sequences,
        "layout": {"steps": layout.steps, "rows": layout.rows, "places": layout.places.tolist()},
    }


def sparse(data: MinibatchData) -> list[list[tuple[int, float]]]:
    """The pairs of each sample."""
    pairs = [[i, v] for i, v in zip(data.indices.tolist(), data.values.tolist())]
    return [pairs[a:b] for a, b in zip(data.indptr[:-1].tolist(), data.indptr[1:].tolist())]


class KeywordReader(Reader):
    """Answers steps through a source that is made from the classes of deserializers and the functions of transforms."""

    def open(self) -> MinibatchSource:
        """A fresh source."""
        options = {snake_case(name): value for name, value in self.config.items()}
        if "randomization_window" in options:
            options["randomization_window_in_chunks"] = options.pop("randomization_window")
        return MinibatchSource([deserializer(**part) for part in options.pop("deserializers")], **options)


def deserializer(type: str, file: str, input: Line, **options: Any) -> tesson.Deserializer:
    """A deserializer from its section."""
    streams = tesson.StreamDefs()
    for name, given in input.items():
        if "transforms" in given:
            streams[name] = StreamDef("image", transforms=[transform(**section) for section in given["transforms"]])
        elif "labelDim" in given:
            streams[name] = StreamDef("label", given["labelDim"])
        else:
            streams[name] = StreamDef(given["alias"], given["dim"])
    if type == "CNTKTextFormatDeserializer":
        return tesson.CTFDeserializer(file, streams)
    options = {snake_case(name): value for name, value in options.items()}
    return getattr(tesson, type)(file, streams, layout="HWC", **options)


def transform(type: str, **options: Any) -> Line:
    """A transform from its section. Radii that the function would round, as CNTK's does, stay in their section."""
    if type == "Color" and any(float(np.float32(radius)) != float(radius) for radius in options.values()):
        return {"type": type, **options}
    keywords = {"filename" if name == "meanFile" else snake_case(name): numbers(value) for name, value in options.items()}
    return getattr(tesson.transforms, snake_case(type))(**keywords)


def snake_case(name: str) -> str:
    """The spelling of Python: ``maxSweeps`` is ``max_sweeps``."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()


def numbers(value: Any) -> Any:
    """Numbers in a text as a tuple of them."""
    return tuple(map(json.loads, value.split(":"))) if isinstance(value, str) and ":" in value else value
