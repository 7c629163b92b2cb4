"""The stub of the native module agrees with what was built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typed_script

import tesson

PACKAGE = Path(tesson.__file__).parent


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_agree_with_the_built_module() -> None:
    pytest.importorskip("mypy")
    # The one module with a stub; others may import frameworks that are not installed.
    run("mypy.stubtest", "tesson._tesson")


def test_a_typed_script_of_a_user_runs() -> None:
    # That it is clean is a matter of `mypy`, which reads it as part of the package's configuration.
    typed_script.main(Path("train.ctf"))


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_tesson.pyi").exists()


def test_a_script_on_prepared_datasets_passes_strict_type_checking() -> None:
    pytest.importorskip("mypy")
    run("mypy", "--strict", str(Path(__file__).parent / "typed_tfds.py"))


def test_the_import_loads_nothing_that_few_programs_need() -> None:
    # NumPy may load some of them itself, which is not up to this package.
    rare = {"hashlib", "jax", "logging", "pathlib", "scipy", "torch", "urllib"}
    script = f"import numpy, sys; before = set(sys.modules); import tesson; print({rare} & (set(sys.modules) - before))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent, check=True)
    assert done.stdout == "set()\n"
