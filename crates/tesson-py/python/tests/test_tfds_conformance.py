"""Every case of prepared datasets through the Python package."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance_cases import case_folders, lines, own_file
from prepare import node, tensor

import tesson
from tesson import tfds
from tesson.tfds.values import NestedDataset, Ragged

Line = dict[str, Any]


def parameters() -> list[Any]:
    """A test for each case; what is not run is skipped and says so."""
    result = []
    for name, folder in case_folders("tfds"):
        case = json.loads((folder / "case.json").read_text())
        is_parquet = "columns" in str(case["dataset"])
        marks = [pytest.mark.skip(reason="the package is built without Parquet")] if is_parquet else []
        result.append(pytest.param(folder, case, id=name, marks=marks))
    return result


def expected(folder: Path) -> list[Line]:
    """The answers expected of Tesson: those of its own where it is meant to differ, or the recorded ones."""
    return lines(own_file(folder, "tesson.jsonl") or folder / "expected.jsonl")


@pytest.mark.parametrize(("folder", "case"), parameters())
def test_case(folder: Path, case: Line, tmp_path: Path) -> None:
    found = answers(case, folder, tmp_path)
    wanted = expected(folder)
    assert len(found) == len(wanted)
    for theirs, ours in zip(wanted, found, strict=True):
        assert ("error" in theirs) == ("error" in ours), ours
        for name in theirs.keys() - {"error"}:
            if name == "examples":
                compare_examples(case, theirs[name], ours.get(name, []))
            elif theirs[name] != [] or name in ours:
                assert ours[name] == theirs[name]


def answers(case: Line, folder: Path, tmp_path: Path) -> list[Line]:
    """A line for each thing asked."""
    ask: dict[str, Callable[..., list[Line]]] = {
        "file_instructions": instructions,
        "info": info,
        "resolve": resolve,
    }
    query = case.get("query", "ids")
    try:
        tfds.set_random_seed(None)
        return ask.get(query, order)(case, folder, tmp_path)
    except (tesson.TessonError, ValueError, KeyError) as error:
        return [{"error": str(error)}]
    finally:
        tfds.set_random_seed(None)


def opened(case: Line, folder: Path, tmp_path: Path) -> tfds.Builder:
    dataset = case["dataset"]
    if "fake" in dataset:
        return tfds.builder_from_directory(fake(dataset["fake"], tmp_path))
    if "dir" in dataset:
        return tfds.builder_from_directory(folder / dataset["dir"])
    if "dirs" in dataset:
        return tfds.builder_from_directories([folder / d for d in dataset["dirs"]])
    return tfds.builder(dataset["name"], data_dir=folder / dataset["data_dir"])


def fake(described: Line, tmp_path: Path) -> Path:
    """A description without data."""
    splits = []
    for name, split in described["splits"].items():
        lengths = split.get("shard_lengths")
        if lengths is None:
            n, shards = split["num_examples"], split["num_shards"]
            ends = [round(n * i / shards) for i in range(shards + 1)]
            lengths = np.diff(ends).tolist()
        splits.append({"name": name, "shardLengths": lengths, "filepathTemplate": described.get("filepath_template", "")})
    info = {
        "name": described.get("name", "fake"),
        "version": described.get("version", "1.0.0"),
        "configName": described.get("config"),
        "disableShuffling": described.get("disable_shuffling"),
        "splits": splits,
    }
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    root = node("features_dict.FeaturesDict", featuresDict={"features": {"id": tensor("int64")}})
    (tmp_path / "features.json").write_text(json.dumps(root))
    return tmp_path


def split_of(split: Any) -> Any:
    """A split as users write it."""
    if split is None or isinstance(split, str):
        return split
    (kind, of), = split.items()
    if kind == "add":
        return tfds.SumOfSplits([split_of(part) for part in of])
    if kind == "even_splits":
        whole = {"n": of["n"], "drop_remainder": of.get("drop_remainder", False)}
        return tfds.even_splits(split_of(of["split"]), **whole)[of["index"]]
    unit = {name: of[name] for name in ("unit", "rounding") if of.get(name) is not None}
    return tfds.ReadInstruction(of["split_name"], from_=of.get("from"), to=of.get("to"), **unit)


def config_of(case: Line) -> tfds.ReadConfig:
    fields = dict(case.get("read_config") or {})
    if context := fields.get("input_context"):
        fields["input_context"] = tfds.InputContext(**context)
    if sort := fields.pop("interleave_sort", None):
        fields["experimental_interleave_sort_fn"] = lambda files: (
            files[::-1] if sort == "reverse" else [files[i].replace(skip=s, take=t) for i, s, t in sort]
        )
    return tfds.ReadConfig(**fields)


def order(case: Line, folder: Path, tmp_path: Path) -> list[Line]:
    builder = opened(case, folder, tmp_path)
    if case.get("backend") == "data_source":
        return data_source(case, builder)
    tfds.set_random_seed(case.get("global_seed"))
    shuffle = case.get("shuffle_files", False)
    ds = builder.as_dataset(split_of(case["split"]), shuffle_files=shuffle, read_config=config_of(case))
    short = [{name: case[name]} for name in ("skip", "take") if case.get(name) is not None]
    for op in [*case.get("ops", []), *short]:
        (name, of), = op.items()
        ds = getattr(ds, name)(**of) if isinstance(of, dict) else getattr(ds, name)(of)
    lines: list[Line] = []
    for _ in range(case.get("epochs", 1)):
        lines.append(epoch(case, ds))
        if "error" in lines[-1]:
            break
    return lines


def epoch(case: Line, ds: tfds.Dataset) -> Line:
    query = case.get("query", "ids")
    if query == "tfds_ids":
        return {"tfds_ids": ds.tfds_ids()}
    if query == "ids":
        return ids_line(ds.ids())
    examples = []
    try:
        for example in ds:
            examples.append(example)
    except tesson.TessonError as error:
        return {"examples": examples, "error": str(error)}
    return {"examples": examples}


def ids_line(ids: np.ndarray) -> Line:
    if len(ids) <= 4000:
        return {"ids": ids.tolist()}
    digest = hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest()
    return {"count": len(ids), "sha256": digest, "first": ids[:40].tolist(), "last": ids[-40:].tolist()}


def data_source(case: Line, builder: tfds.Builder) -> list[Line]:
    source = builder.as_data_source(split_of(case["split"]))
    examples = []
    try:
        for i in case.get("indices", range(len(source))):
            examples.append(source[i])
    except tesson.TessonError as error:
        return [{"examples": examples, "error": str(error)}]
    return [{"examples": examples}]


def instructions(case: Line, folder: Path, tmp_path: Path) -> list[Line]:
    builder = opened(case, folder, tmp_path)
    lines = []
    for split in case.get("splits") or [case["split"]]:
        try:
            files = builder.info.splits[split_of(split)].file_instructions
        except (tesson.TessonError, ValueError, KeyError) as error:
            lines.append({"split": split, "error": str(error)})
            continue
        fields = [
            {
                "filename": Path(f.filename).relative_to(builder.data_path).as_posix(),
                "skip": f.skip,
                "take": f.take,
                "examples_in_shard": f.examples_in_shard,
            }
            for f in files
        ]
        lines.append({"split": split, "file_instructions": fields})
    return lines


def resolve(case: Line, folder: Path, tmp_path: Path) -> list[Line]:
    builder = opened(case, folder, tmp_path)
    root = folder / case["dataset"]["data_dir"]
    return [{"resolved": Path(builder.data_path).relative_to(root).as_posix()}]


def info(case: Line, folder: Path, tmp_path: Path) -> list[Line]:
    builder = opened(case, folder, tmp_path)
    of = builder.info
    labels: dict[str, Any] = {}
    splits = {
        name: {
            "num_examples": split.num_examples,
            "shard_lengths": split.shard_lengths,
            "filenames": [Path(f).relative_to(builder.data_path).as_posix() for f in split.filepaths[:4]],
        }
        for name, split in of.splits.items()
    }
    line = {
        "name": of.name,
        "version": of.version,
        "config": of.config_name,
        "file_format": of.file_format,
        "disable_shuffling": of.disable_shuffling,
        "supervised_keys": of.supervised_keys,
        "splits": splits,
        "features": tree(of.features, "", labels),
    }
    return [{**line, "labels": labels}]


def tree(features: Any, path: str, labels: dict[str, Any], around: tuple[tuple[int | None, ...], int] = ((), 0)) -> Line:
    """The features as the reference lists them: ``around`` has the lengths of sequences around them, and the nested datasets."""
    lengths, level = around
    if isinstance(features, dict):
        join = f"{path}/" if path else ""
        return {"fields": {name: tree(of, join + name, labels, around) for name, of in features.items()}}
    if isinstance(features, tfds.features.Dataset):
        return tree(features.feature, path, labels, (lengths, level + 1))
    if isinstance(features, tfds.features.Sequence):
        return tree(features.feature, path, labels, ((*lengths, features.length), level))
    if isinstance(features, (tfds.ClassLabel, tfds.features.LabeledImage)):
        labels[path] = {"num_classes": features.num_classes, "names": features.names}
    node: Line = {"shape": [*lengths, *features.shape], "dtype": features.dtype}
    more = {"sequence_rank": len(lengths), "dataset_level": level, "optional": features.optional}
    return {**node, **{name: of for name, of in more.items() if of}}


def compare_examples(case: Line, expected: list[Line], found: list[Line]) -> None:
    assert len(found) == len(expected)
    for i, (theirs, ours) in enumerate(zip(expected, found, strict=True)):
        assert ours.keys() == theirs.keys()
        for name, node in theirs.items():
            same_node(node, ours[name], f"example {i}, {name}")


def same_node(node: Line, value: Any, where: str) -> None:
    """Checks that a value equals its recorded node: bit for bit, but for floats that NumPy has no type for."""
    if "fields" in node:
        assert value.keys() == node["fields"].keys(), where
        for name, of in node["fields"].items():
            same_node(of, value[name], f"{where}/{name}")
    elif "dataset" in node:
        assert isinstance(value, NestedDataset) and len(value) == len(node["dataset"]), where
        for of, element in zip(node["dataset"], value, strict=True):
            same_node(of, element, where)
    elif "row_lengths" in node:
        assert isinstance(value, Ragged), where
        assert [lengths.tolist() for lengths in value.row_lengths] == node["row_lengths"], where
        same_node(node["values"], value.values, where)
    elif node["dtype"] == "string":
        strings = [value] if isinstance(value, bytes) else np.ravel(value).tolist()
        assert strings == [base64.b64decode(of["b64"]) if isinstance(of, dict) else of.encode() for of in node["data"]], where
        assert (() if isinstance(value, bytes) else value.shape) == tuple(node["shape"]), where
    else:
        same_numbers(node, value, where)


def same_numbers(node: Line, value: Any, where: str) -> None:
    assert np.shape(value) == tuple(node["shape"]), where
    if node["dtype"] != "bfloat16":
        assert value.dtype == np.dtype(node["dtype"]), where
    if "sha256" in node:
        assert hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() == node["sha256"], where
        return
    data = [complex(*of) for of in node["data"]] if node["dtype"].startswith("complex") else node["data"]
    expected = np.array([float(of) if isinstance(of, str) else of for of in data], value.dtype).reshape(node["shape"])
    assert np.array_equal(value, expected, equal_nan=value.dtype.kind in "fc"), f"{where}: {value}, expected {expected}"
