"""Deserializers from outside, which configurations name by type and module."""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import _tesson
from .config import spelt
from .errors import ConfigError
from .paths import text_of

__all__ = ["made", "register_deserializer", "resolved"]

Maker = Callable[..., Any]

_makers: dict[str, Maker] = {}


def register_deserializer(type: str) -> Callable[[Maker], Maker]:
    """Make a custom deserializer known to configurations: a decorator of a class, or of a function that makes one.

    A configuration then has ``"type": type``, and may name the module to import for it with ``"module":
    "package.module"``, so that the module need not be imported before: :meth:`MinibatchSource.from_config` and
    ``python -m tesson`` do that, the command when the rest of the configuration is valid, and not from the working
    directory (set ``PYTHONPATH``). Importing a module runs its code, so a configuration with ``module`` is a program:
    read it only if you would run it. Built-in types never import anything. All other options of the section
    become keyword arguments, ``maxErrors`` as ``max_errors``; the option ``file`` is relative to the configuration's
    folder for files.

    Examples
    --------
    >>> @register_deserializer("Ones")
    ... class Ones(UserDeserializer):
    ...     def __init__(self, dim=1):
    ...         self.dim = dim
    ...     def stream_infos(self):
    ...         return [StreamInformation("x", 0, "dense", np.float32, self.dim)]
    ...     def num_chunks(self):
    ...         return 1
    ...     def get_chunk(self, chunk_id):
    ...         return {"x": np.ones((2, self.dim))}
    >>> source = MinibatchSource.from_config({"deserializers": [{"type": "Ones", "dim": 3}]})
    >>> source.next_minibatch(2)["x"].samples.shape
    (2, 3)
    """

    def register(maker: Maker) -> Maker:
        _makers[type] = maker
        return maker

    return register


def resolved(config: Mapping[str, Any], base_dir: str | None) -> dict[str, Any]:
    """Replace the sections of registered types by deserializers."""
    tree = dict(config)
    for name, value in config.items():
        if name.lower() == "deserializers":
            parts = [value] if isinstance(value, Mapping) else value
            if isinstance(parts, (list, tuple)):
                tree[name] = [_made(part, f"{name}[{i}]", base_dir) for i, part in enumerate(parts)]
    return tree


def made(section: str, path: str, base_dir: str | None) -> dict[str, Any] | None:
    """The replacement for a section in JSON, for the command; None for types that no module has registered."""
    # Like `config`, this module is imported with every source, and few need JSON.
    import json

    options = spelt(json.loads(section))
    instead = _made(options, path, base_dir)
    return None if instead is options else instead


def _made(section: Any, path: str, base_dir: str | None) -> Any:
    """A section of a registered type with its deserializer; any other section unchanged."""
    if not isinstance(section, Mapping):
        return section
    options = {str(name): value for name, value in section.items()}
    type_name, module = _taken(options, "type"), _taken(options, "module")
    maker = _makers.get(type_name)
    # CNTK's own modules occur with misspelt types, too; then the type is the fault.
    if maker is None and module and not _tesson.is_cntk_module(str(module)) and _unknown(type_name):
        maker = _imported(str(module), type_name, path)
    if maker is None:
        return section
    arguments = {_snake_case(name): value for name, value in options.items()}
    composable = arguments.pop("composable", None)
    if base_dir is not None and isinstance(arguments.get("file"), (str, bytes, os.PathLike)):
        # Only here: its import takes a tenth of the package's.
        from pathlib import Path

        arguments["file"] = str(Path(base_dir, text_of(arguments["file"])))
    try:
        instance = maker(**arguments)
    except TypeError as e:
        raise ConfigError(f"{path}: {e}", path=path) from e
    if composable is None:
        composable = getattr(instance, "composable", False)
    return {"type": "UserDeserializer", "instance": instance, "composable": composable}


def _taken(options: dict[str, Any], name: str) -> Any:
    """Takes an option out, whatever the case of its name."""
    for key in [key for key in options if key.lower() == name]:
        return options.pop(key)
    return None


def _imported(module: str, type_name: str, path: str) -> Maker:
    """Import a module and return what it has registered."""
    if not all(part.isidentifier() for part in module.split(".")):
        what = f"found `{module}`, expected the name of a Python module, such as `package.module`: it is imported, not read from a path"
        raise ConfigError(f"{path}.module: {what}", path=f"{path}.module")
    try:
        importlib.import_module(module)
    except ImportError as e:
        what = f"module `{module}` cannot be imported: {e}{_hint(type_name)}{_hidden(module)}"
        raise ConfigError(f"{path}.module: {what}", path=f"{path}.module") from e
    maker = _makers.get(type_name)
    if maker is None:
        what = f"module `{module}` registers no deserializer `{type_name}`"
        known = f", known are {', '.join(sorted(_makers))}" if _makers else ""
        raise ConfigError(f"{path}.type: {what}{known}{_hint(type_name)}", path=f"{path}.type")
    return maker


def _unknown(type_name: Any) -> ConfigError | None:
    """The error of a type that is not built in."""
    try:
        _tesson.option_table(str(type_name))
    except ConfigError as e:
        return e
    return None


def _hint(type_name: Any) -> str:
    """The built-in type that a misspelt one is like."""
    near = re.search(r"did you mean `.*`\?", str(_unknown(type_name)))
    return f"; {near[0]}" if near else ""


def _hidden(module: str) -> str:
    """The remedy if the module is in the working directory, from which the command imports nothing."""
    here = os.getcwd()
    is_searched = any(folder in ("", here) for folder in sys.path)
    if is_searched or importlib.machinery.PathFinder.find_spec(module.split(".")[0], [here]) is None:
        return ""
    return "; it lies in the working directory, which the command does not search: set PYTHONPATH=."


def _snake_case(name: str) -> str:
    """The spelling of Python: ``maxErrors`` is ``max_errors``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
