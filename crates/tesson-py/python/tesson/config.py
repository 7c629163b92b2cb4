"""Configurations in the dict form: finding the reader's section, and changing single options."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import ConfigError, StoreError

__all__ = ["reader_section"]


def reader_section(
    config: Mapping[str, Any] | str | os.PathLike[str],
    section: str | None,
    overrides: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The reader's part of a configuration, as a tree of its own.

    Parameters
    ----------
    config : mapping, str or os.PathLike
        The tree, its JSON text, or the path of a ``.json`` file.
    section : str, optional
        Path of the reader's section, such as ``"train/reader"``. By default the whole, or its section ``source``.
    overrides : mapping, optional
        Values to put in place of those at their paths within the section, such as ``{"randomize": False}`` or
        ``{"deserializers.0.file": "other.ctf"}``.
    """
    tree = copy.deepcopy(dict(config)) if isinstance(config, Mapping) else _parse(config)
    for name in (section or "").split("/"):
        if name:
            tree = _inside(tree, name, section or "")
    if section is None and "deserializers" not in tree and isinstance(tree.get("source"), dict):
        tree = tree["source"]
    for path, value in (overrides or {}).items():
        _put(tree, path, value)
    return tree


def _parse(config: str | os.PathLike[str]) -> dict[str, Any]:
    """The tree of a JSON text or file."""
    text, name = os.fspath(config), ""
    if not text.lstrip().startswith("{"):
        name = text
        if Path(name).suffix.lower() != ".json":
            raise ConfigError(f"{name}: expected a mapping, JSON text, or the path of a `.json` file")
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as e:
            raise StoreError(f"{name}: {e.strerror}", file=name, errno=e.errno) from e
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as e:
        raise ConfigError(f"{name or 'configuration'}:{e.lineno}:{e.colno}: {e.msg}") from e
    if not isinstance(tree, dict):
        raise ConfigError(f"{name or 'configuration'}: expected a JSON object")
    return tree


def _inside(tree: Mapping[str, Any], name: str, section: str) -> dict[str, Any]:
    inner = tree.get(name)
    if not isinstance(inner, dict):
        there = ", ".join(k for k, v in tree.items() if isinstance(v, dict)) or "none"
        raise ConfigError(f"section `{section}`: there is no section `{name}` (sections here: {there})")
    return inner


def _put(tree: Any, path: str, value: Any) -> None:
    """Puts a value at a dotted path; sections on the way are made where they are missing."""
    *way, last = path.split(".")
    for name in way:
        if isinstance(tree, list):
            tree = tree[_number(tree, name, path)]
        else:
            tree = tree.setdefault(name, {})
        if not isinstance(tree, dict | list):
            raise ConfigError(f"`{name}` is a value, not a section", path=path)
    if isinstance(tree, list):
        tree[_number(tree, last, path)] = value
    else:
        tree[last] = value


def _number(items: list[Any], name: str, path: str) -> int:
    if not name.isdecimal() or int(name) >= len(items):
        raise ConfigError(f"found `{name}`, expected a number from 0 below {len(items)}", path=path)
    return int(name)
