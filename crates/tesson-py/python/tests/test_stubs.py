"""The stubs agree with what was built, and importing the package takes no longer than it has to."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typed_script

import tesson
import tesson.io

PACKAGE = Path(tesson.__file__).parent


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_agree_with_the_built_module() -> None:
    pytest.importorskip("mypy")
    # The stub of the package has names alone, and other modules may import frameworks that are not installed.
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


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement loads in a process of its own that has NumPy already."""
    script = f"import numpy, sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent, check=True)
    return set(done.stdout.split())


def test_the_import_loads_nothing_that_few_programs_need() -> None:
    # NumPy may load some of them itself, which is not up to this package.
    rare = {"hashlib", "jax", "logging", "pathlib", "scipy", "torch", "urllib"}
    loaded = loaded_by("from tesson import *")
    assert "tesson.loader" in loaded
    assert not rare & loaded


def test_the_first_batch_needs_no_modules_that_few_programs_need(tmp_path: Path) -> None:
    (tmp_path / "a.ctf").write_text("|x 1 2\n|x 3 4\n")
    loaded = loaded_by(f"import tesson; next(iter(tesson.read_ctf({str(tmp_path / 'a.ctf')!r}, x=2).loader(batch_size=2)))")
    assert "tesson.loader" in loaded
    assert not {"json", "logging", "numpy.typing", "tesson.jax", "tesson.steps", "tesson.tables", "tesson.torch"} & loaded


def test_modules_are_loaded_when_they_are_asked_for() -> None:
    script = "import sys; import tesson; print('numpy' in sys.modules, *(m for m in sys.modules if 'tesson' in m))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=PACKAGE.parent, check=True)
    assert done.stdout.split() == ["False", "tesson"]
    loaded = loaded_by("import tesson; tesson.errors")
    assert {name for name in loaded if "tesson" in name} == {"tesson", "tesson.errors"}
    assert "tesson.source" in loaded_by("import tesson; tesson.MinibatchSource")
    assert "tesson.world" in loaded_by("import tesson; [getattr(tesson, name) for name in tesson._OLDER]")


@pytest.mark.parametrize("interface", ["io", "tfds", "arrow"])
def test_interfaces_resolve_without_an_import_of_their_own(interface: str) -> None:
    script = f"import tesson; assert tesson.{interface}.__name__ == 'tesson.{interface}'"
    subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=PACKAGE.parent, check=True)


def test_the_stub_of_the_package_has_its_names() -> None:
    imported: dict[str, str] = {}
    exported: list[str] = []
    for statement in ast.parse((PACKAGE / "__init__.pyi").read_text()).body:
        match statement:
            case ast.ImportFrom(module=module, names=names):
                imported |= {alias.name: module or alias.name for alias in names}
            case ast.Assign(value=value):
                exported = ast.literal_eval(value)
    assert sorted(exported) == tesson.__all__
    assert set(imported) == {*tesson.__all__, *tesson._MODULES}
    assert [name for name in dir(tesson) if not name.startswith("_")] == [name for name in tesson.__all__ if not name.startswith("_")]
    for name, module in imported.items():
        of = importlib.import_module(f"tesson.{module}")
        assert getattr(tesson, name) is (of if module == name else getattr(of, name))


def test_the_manual_has_every_public_name() -> None:
    page = (Path(__file__).parents[4] / "docs" / "manual" / "python.md").read_text()
    listed = re.findall(r"^::: tesson\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == [name for name in tesson.__all__ if not name.startswith("_")]


def test_names_of_the_older_interface_resolve_and_are_listed_by_io() -> None:
    older = {name for names in tesson._OLDER.values() for name in names}
    assert not older & set(dir(tesson))
    assert older <= set(tesson.io.__all__)
    assert all(getattr(tesson.io, name) is getattr(tesson, name) for name in older)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tesson' has no attribute 'MinibatchSauce'"):
        getattr(tesson, "MinibatchSauce")  # noqa: B009 - type checkers know that it is missing.
    with pytest.raises(ImportError, match="cannot import name 'MinibatchSauce'"):
        exec("from tesson import MinibatchSauce")
