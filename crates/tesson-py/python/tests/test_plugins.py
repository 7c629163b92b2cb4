"""Deserializers that configurations name by type and module."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tesson import ConfigError
from tesson.io import MinibatchSource

MODULE = """
import numpy as np
from tesson import UserDeserializer, register_deserializer
from tesson.io import StreamInformation

@register_deserializer("Numbered")
class Numbered(UserDeserializer):
    def __init__(self, file, rows_in_chunk=2):
        self.rows = [float(line) for line in open(file)]
        self.rows_in_chunk = rows_in_chunk
    def stream_infos(self):
        return [StreamInformation("x", 0, "dense", np.float32, 1)]
    def num_chunks(self):
        return -(-len(self.rows) // self.rows_in_chunk)
    def get_chunk(self, chunk_id):
        begin = chunk_id * self.rows_in_chunk
        return {"x": np.array(self.rows[begin : begin + self.rows_in_chunk])}
"""

CONFIG = {
    "deserializers": [{"type": "Numbered", "module": "plug.numbered", "file": "numbers.txt", "rowsInChunk": 3}],
    "randomize": False,
    "maxSweeps": 1,
}


@pytest.fixture(autouse=True)
def plug(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package ``plug`` with the module above."""
    (files / "plug").mkdir()
    (files / "plug" / "__init__.py").write_text("")
    (files / "plug" / "numbered.py").write_text(MODULE)
    (files / "numbers.txt").write_text("1\n2\n3\n4\n")
    monkeypatch.syspath_prepend(str(files))


def numbers(source: MinibatchSource) -> list[float]:
    return [x for minibatch in source.minibatches(2) for x in minibatch["x"].samples.ravel().tolist()]


def test_a_module_is_imported_for_the_type_that_it_registers() -> None:
    source = MinibatchSource.from_config(CONFIG)
    assert source.config == CONFIG
    assert numbers(pickle.loads(pickle.dumps(source))) == numbers(source) == [1, 2, 3, 4]


def test_a_module_is_named_in_a_brainscript_file_too(files: Path) -> None:
    (files / "plug.cntk").write_text(
        "Train = [ reader = [ randomize = false ; maxSweeps = 1 ; deserializers = ([\n"
        '  type = "Numbered" ; module = "plug.numbered" ; file = "numbers.txt" ; rowsInChunk = 3 ]) ] ]\n'
    )
    assert numbers(MinibatchSource.from_config("plug.cntk")) == [1, 2, 3, 4]


def test_a_file_is_relative_to_the_folder_for_files(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "elsewhere").mkdir()
    monkeypatch.chdir(files / "elsewhere")
    assert numbers(MinibatchSource.from_config(CONFIG, base_dir=files)) == [1, 2, 3, 4]


def test_a_fresh_process_goes_on(files: Path) -> None:
    source = MinibatchSource.from_config(CONFIG)
    source.next_minibatch(3)
    (files / "saved.json").write_text(json.dumps([CONFIG, source.get_checkpoint_state()]))
    script = """
import json
from tesson.io import MinibatchSource
config, state = json.load(open("saved.json"))
source = MinibatchSource.from_config(config)
source.restore_from_checkpoint(state)
print(source.next_minibatch(9)["x"].samples.ravel().tolist())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=files, timeout=60)
    assert run.stdout == "[4.0]\n", run.stderr


@pytest.mark.parametrize(
    "change, what",
    [
        ({"type": "Unnumbered"}, "module `plug.numbered` registers no deserializer `Unnumbered`, known are .*Numbered"),
        ({"type": "Other", "module": "plug.missing"}, r"deserializers\[0\].module: module `plug.missing` cannot be imported"),
        ({"type": "Other", "module": None}, "unknown type `Other`"),
        ({"rows": 3}, "unexpected keyword argument 'rows'"),
    ],
)
def test_what_cannot_be_made_is_an_error_of_the_configuration(change: dict[str, object], what: str) -> None:
    section = {**CONFIG["deserializers"][0], **change}  # type: ignore[index, dict-item]
    with pytest.raises(ConfigError, match=what):
        MinibatchSource.from_config({**CONFIG, "deserializers": [section]})


@pytest.mark.parametrize(
    "change, what",
    [
        ({"type": "HTKFeatureDeserialiser", "module": "HTKDeserializers"}, "did you mean `HTKFeatureDeserializer`"),
        ({"type": "CNTKTextFormatDeserialize", "module": "CNTKTextFormatReader"}, "did you mean `CNTKTextFormatDeserializer`"),
        ({"type": "LatticeDeserializer", "module": "HTKDeserializers"}, "lattices are not supported"),
    ],
)
def test_a_module_of_cntk_is_not_imported(change: dict[str, object], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        MinibatchSource.from_config({"deserializers": [{**change, "input": {}}]})


def test_a_module_beside_a_built_in_type_is_not_imported() -> None:
    section = {"type": "CNTKTextFormatDeserializer", "module": "no.such.module", "file": "train.ctf"}
    config = {"deserializers": [{**section, "input": {"x": {"dim": 4, "format": "dense"}}}], "maxSweeps": 1}
    assert MinibatchSource.from_config(config).next_minibatch(6)["x"].num_samples == 6


def command(files: Path, name: str, *options: str, pythonpath: str = ".") -> subprocess.CompletedProcess[str]:
    """``python -m tesson`` where the package ``plug`` lies, which the command finds by its path alone."""
    line = [sys.executable, "-m", "tesson", "read", name, "--minibatch-size", "3", "--json", *options]
    environment = {**os.environ, "PYTHONPATH": pythonpath}
    return subprocess.run(line, capture_output=True, text=True, cwd=files, timeout=60, env=environment)


def test_the_command_imports_modules(files: Path) -> None:
    (files / "plug.json").write_text(json.dumps(CONFIG))
    (files / "plug.cntk").write_text(
        "reader = [ randomize = false ; maxSweeps = 1 ; deserializers = ([\n"
        '  type = "Numbered" ; module = "plug.numbered" ; file = "numbers.txt" ; rowsInChunk = 3 ]) ]\n'
    )
    for name in ("plug.json", "plug.cntk"):
        first = command(files, name, "--take", "1", "--save-state", "state.json")
        assert json.loads(first.stdout)["streams"]["x"]["sequences"] == [[[1]], [[2]], [[3]]], first.stderr
        rest = [json.loads(line) for line in command(files, name, "--state", "state.json").stdout.splitlines()]
        assert rest[0]["streams"]["x"]["sequences"] == [[[4]]] and rest[1:] == [{"end": True}]


def test_the_command_says_where_a_module_is_named_that_cannot_be_imported(files: Path) -> None:
    (files / "bad.cntk").write_text('reader = [ deserializers = ([\n  type = "A"\n  module = "plug.none" ]) ]\n')
    done = command(files, "bad.cntk")
    assert done.returncode == 2
    assert "bad.cntk:3:3: deserializers[0].module: module `plug.none` cannot be imported" in done.stderr


def test_the_command_imports_nothing_from_the_working_directory(files: Path) -> None:
    (files / "plug.json").write_text(json.dumps(CONFIG))
    done = command(files, "plug.json", pythonpath="elsewhere")
    assert done.returncode == 2
    assert "module `plug.numbered` cannot be imported" in done.stderr
    assert "it lies in the working directory, which the command does not search: set PYTHONPATH=." in done.stderr


@pytest.mark.parametrize("name", ["read", "info", "check", "plan"])
@pytest.mark.parametrize(
    "change, what",
    [
        ({"randomize": "globl"}, "randomize: found `globl`"),
        ({"maxSweps": 1}, "unknown option `maxSweps`"),
        ({"deserializers": [CONFIG["deserializers"][0], {"type": "CNTKTextFormatDeserializer", "file": 3}]}, "found `3`"),
    ],
)
def test_the_command_imports_nothing_for_a_configuration_that_is_not_valid(
    files: Path, name: str, change: dict[str, object], what: str
) -> None:
    (files / "trap.py").write_text("open('imported', 'w')\n")
    config = json.loads(json.dumps({**CONFIG, **change}).replace("plug.numbered", "trap"))
    (files / "bad.json").write_text(json.dumps(config))
    line = [sys.executable, "-m", "tesson", name, "bad.json"]
    environment = {**os.environ, "PYTHONPATH": "."}
    done = subprocess.run(line, capture_output=True, text=True, cwd=files, timeout=60, env=environment)
    assert done.returncode == 2 and what in done.stderr, done.stderr
    assert not (files / "imported").exists()


def test_the_command_shows_what_a_module_raises(files: Path) -> None:
    (files / "plug.json").write_text(json.dumps(CONFIG).replace("numbers.txt", "missing.txt"))
    done = command(files, "plug.json")
    assert done.returncode == 2
    assert "deserializers[0]: `Numbered(…)` raised FileNotFoundError" in done.stderr
